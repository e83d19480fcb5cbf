"""CSV files with bad lines through a Spark pipeline: views as Spark DataFrames, bad rows in a quarantine."""

from pathlib import Path

from pyspark.sql import SparkSession

from tidelog.spark import Pipeline, session

HERE = Path(__file__).parent


def main(spark: SparkSession) -> None:
    with Pipeline(spark, HERE / "fraud.dl") as pipeline:
        pipeline.read_csv("account", HERE / "data/accounts.csv", header=True)
        pipeline.read_csv("transfer", HERE / "data/transfers.csv", header=True)
        result = pipeline.run()
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
