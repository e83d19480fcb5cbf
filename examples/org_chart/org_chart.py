"""An org chart as facts from Python, and what changes in the views when somebody moves."""

from pathlib import Path

import tidelog

REPORTS = [("ben", "ada"), ("cleo", "ada"), ("dan", "ben"), ("eve", "ben"), ("fay", "cleo")]
SALARIES = {"ada": 120_000, "ben": 80_000, "cleo": 95_000, "dan": 60_000, "eve": 88_000, "fay": 70_000}


def main() -> None:
    db = tidelog.connect()
    db.load(Path(__file__).with_name("org_chart.dl"))
    db.insert("reports_to", REPORTS)
    db.insert("salary", list(SALARIES.items()))
    db.commit()
    for boss, people, cost in sorted(db["team"]):
        print(f"{boss} has {people} people for {cost} euros")
    for person, boss, amount in sorted(db["earns_more_than_boss"]):
        print(f"{person} earns {amount} euros more than {boss}")

    db.delete("reports_to", [("eve", "ben")])
    db.insert("reports_to", [("eve", "cleo")])
    change = db.commit()
    print("eve moves from ben to cleo:")
    for name in ("team", "earns_more_than_boss"):
        for sign, rows in (("-", change[name].deleted), ("+", change[name].inserted)):
            for row in sorted(rows):
                print(f"  {sign} {name}{row}")


if __name__ == "__main__":
    main()
