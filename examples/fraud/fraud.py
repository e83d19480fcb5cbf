"""CSV files with bad lines through a Spark pipeline: views as Spark DataFrames, bad rows in a quarantine.

`pipeline.toml` beside this file describes the same for `tidelog pipeline run`, with tables as sinks.
"""

from pathlib import Path

from pyspark.sql import SparkSession

from tidelog.spark import Pipeline, Source, session

HERE = Path(__file__).parent
HEADER = {"header": True}


def main(spark: SparkSession) -> None:
    sources = [
        Source("account", HERE / "data/accounts.csv", options=HEADER),
        Source("transfer", HERE / "data/transfers.csv", options=HEADER),
    ]
    with Pipeline(HERE / "fraud.dl", sources).run(spark) as result:
        for name, count in result.counts.items():
            print(f"{name}: {count.read} read = {count.accepted} accepted + {count.quarantined} quarantined")
        for row in result.quarantine.orderBy("reason").collect():
            print(f"  {row.relation}: {row.reason}: {row.row}")
        for account, steps in result["round_trip"].orderBy("account").collect():
            print(f"money of {account} comes back after {steps} steps")
        for owner, accounts, euros in result["suspect"].orderBy("owner").collect():
            print(f"{owner}: {accounts} account(s) on a round trip, {euros:.2f} euros received")


if __name__ == "__main__":
    spark = session(brief=True)
    main(spark)
    spark.stop()
