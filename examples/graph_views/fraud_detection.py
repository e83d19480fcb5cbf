"""Transfers that may be fraud, before and after a change of the network: two views and a picture."""

import sys
from pathlib import Path

from pictures import State, Style, draw, pairs
from pyarrow import csv

import tidelog

HERE = Path(__file__).parent
FACTS = ("transfer", "connected", "monitors", "accredited")
STYLES = {
    "connected": Style("#b0bec5", "dotted"),
    "monitors": Style("#90a4ae", "dashed", 1.0),
    "transfer": Style("#1565c0"),
    "secured transfer": Style("#2e7d32", width=2.4),
    "suspect transfer": Style("#c62828", width=2.4),
}


def main(picture: Path) -> None:
    db = tidelog.connect()
    db.load(HERE / "fraud_detection.dl")
    for name in FACTS:
        db.insert(name, csv.read_csv(HERE / f"fraud/{name}.csv"))
    db.commit()
    before = state(db, "before")
    tell(db)

    with db.transaction() as transaction:
        transaction.insert("transfer", [("brewery", "harbour")])
        transaction.delete("monitors", [("regulator", "north")])
    change = transaction.change
    assert change is not None, "the block has ended"
    print("the brewery pays the harbour, and north is no longer monitored:")
    for name in ("suspect", "stransfer", "detectable"):
        print(f"  {name}: {len(change[name].inserted)} come, {len(change[name].deleted)} go")
    tell(db)
    draw(picture, [before, state(db, "after")], STYLES)
    print(f"drawn: {picture.name}")


def tell(db: tidelog.Database) -> None:
    print(f"money may come back to {', '.join(sorted({str(x) for x, _ in db['suspect']}))}")
    print(f"secured: {', '.join(f'{x} to {y}' for x, y in sorted(db['stransfer'])) or 'nothing'}")
    print(f"one pair of eyes sees {', '.join(f'{x} to {y}' for x, y in sorted(db['detectable']) if x != y)}")


def state(db: tidelog.Database, title: str) -> State:
    transfers = set(db["transfer"])
    secured, suspect = transfers & set(db["stransfer"]), transfers & set(db["suspect"])
    edges = {
        "connected": set(db["connected"]),
        "monitors": set(db["monitors"]),
        "transfer": transfers - secured - suspect,
        "secured transfer": secured,
        "suspect transfer": suspect,
    }
    return State(title, {kind: pairs(some) for kind, some in edges.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "fraud_detection.svg"))
