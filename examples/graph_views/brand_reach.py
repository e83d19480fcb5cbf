"""The people that a brand reaches, before and after a change of the network: a view and a picture."""

import sys
from pathlib import Path

from pictures import State, Style, draw, pairs
from pyarrow import csv

import tidelog

HERE = Path(__file__).parent
FACTS = ("likes", "advertises", "follows")
STYLES = {
    "follows": Style("#1565c0"),
    "likes": Style("#ef6c00", "dotted"),
    "advertises": Style("#6a1b9a", "dashed"),
    "exposed": Style("#a5d6a7", width=8),
    "endorses": Style("#ffcc80", width=8),
}


def main(picture: Path) -> None:
    db = tidelog.connect()
    db.load(HERE / "brand_reach.dl")
    for name in FACTS:
        db.insert(name, csv.read_csv(HERE / f"brand/{name}.csv"))
    db.commit()
    before = state(db, "before")
    tell(db)

    with db.transaction() as transaction:
        transaction.insert("advertises", [("ben", "agency")])
        transaction.delete("follows", [("eve", "ada")])
        transaction.insert("follows", [("gus", "ida")])
    change = transaction.change
    assert change is not None, "the block has ended"
    print("ben hires the agency, eve no longer follows ada, gus follows ida:")
    for sign, rows in (("-", change["exposed"].deleted), ("+", change["exposed"].inserted)):
        for who, brand in sorted(rows):
            print(f"  {sign} {who} is exposed to {brand}")
    tell(db)
    draw(picture, [before, state(db, "after")], STYLES)
    print(f"drawn: {picture.name}")


def tell(db: tidelog.Database) -> None:
    exposed = sorted(str(who) for who, _ in db["exposed"])
    print(f"exposed: {', '.join(exposed)}; {len(db['reach'])} pairs of clients")


def state(db: tidelog.Database, title: str) -> State:
    marked = {kind: [str(who) for who, _ in db[kind]] for kind in ("exposed", "endorses")}
    return State(title, {name: pairs(db[name]) for name in FACTS}, marked)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "brand_reach.svg"))
