"""Questions to a small flight plan, with parameters, while flights come and go."""

import tidelog

PROGRAM = """
.decl flight(from: symbol, to: symbol, leaves: number, lands: number)
.decl closed(airport: symbol)
.decl reach(from: symbol, to: symbol)
reach(x, y) :- flight(x, y, _, _), !closed(y).
reach(x, z) :- reach(x, y), flight(y, z, _, _), !closed(z).
"""
FLIGHTS = [
    ("Lima", "Quito", 6, 8),
    ("Quito", "Bogota", 9, 10),
    ("Quito", "Panama", 8, 10),
    ("Bogota", "Panama", 12, 13),
    ("Lima", "Bogota", 7, 10),
    ("Panama", "Miami", 14, 17),
]
CONNECTION = """
flight(start, via, leaves, t), flight(via, goal, u, lands), u >= t + pause, !closed(via)
"""
COUNT = "reach(start, _), n = count : { reach(start, _) }"


def connections(db: tidelog.Database, start: str, goal: str) -> None:
    print(f"{start} to {goal} with one change:")
    for via, leaves, t, u, lands in sorted(db.query(CONNECTION, start=start, goal=goal, pause=1)):
        print(f"  {leaves}-{t} {via} {u}-{lands}")


def main() -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("flight", FLIGHTS)
    db.commit()
    connections(db, "Lima", "Panama")
    print("places to go from Lima:", [n for (n,) in db.query(COUNT, start="Lima")])

    before = db["reach"].copy()
    db.insert("closed", [("Bogota",)])
    db.delete('flight("Quito", _, leaves, _)', leaves=8)
    db.commit()
    print("Bogota is closed, and the flight from Quito at 8 is cancelled:")
    connections(db, "Lima", "Panama")
    print("  lost:", sorted(before - db["reach"]))

    db.clear("closed")
    db.commit()
    print("Bogota is open, still lost:", sorted(before - db["reach"]))


if __name__ == "__main__":
    main()
