"""Faults of `blame` in networks, planted by `tests/plant_faults.py`: of stamps, and of the answer."""

from __future__ import annotations

from tests.fault import Fault

BLAME = "tests/network/test_blame.py"


def fault(name: str, module: str, right: str, wrong: str) -> Fault:
    """Return a fault of a module of `network`."""
    return Fault(name, f"network/{module}.py", right, wrong, BLAME)


OF_STAMPS = (
    fault(
        "a fact that is there gets the stamp of a later change",
        "node_state",
        "if (BASE in self.offers.get(fact, {})) == present:",
        "if not (present or BASE in self.offers.get(fact, {})):",
    ),
    fault("the store of a node loses stamps", "wire", "*([stamp] if stamp else [])", ""),
    fault(
        "a state loses stamps",
        "journal",
        "support_to_json(given.support), given.seq]",
        "support_to_json(given.support), given.seq * (sender in state.peers)]",
    ),
    fault("an earlier version reads a journal with stamps", "journal", "if not is_current(stored):", "if False:"),
    fault(
        "facts of the program come again with the stamp of the beginning",
        "node_state",
        "self._base(fact, True, stamp)",
        "self._base(fact, True, 0)",
    ),
    fault(
        "each fact of a change has a stamp of its own",
        "simulation",
        "change([fact], present, stamp)",
        "change([fact], present, self._next_change())",
    ),
    fault(
        "a deletion that is undone makes a fact young",
        "node",
        "Base(fact, not present, stamps.get(fact, 0))",
        "Base(fact, not present, stamp)",
    ),
    fault(
        "a rule that comes again is as old as the first time",
        "gathering",
        "self._since[change.name] = stamp",
        "self._since.setdefault(change.name, stamp)",
    ),
    fault(
        "a clock goes back with the time",
        "messages",
        "max(time.time_ns() // 1_000, self._last + 1)",
        "time.time_ns() // 1_000",
    ),
    fault("a node begins with a clock of its own", "node", "WallClock(self.state.last_stamp)", "WallClock()"),
    fault(
        "facts get each other's stamps",
        "proofs",
        "epochs[stored.find(encode(rows, db.workspace.relation(name), db.dictionary))]",
        "epochs[:]",
    ),
    fault("facts of every node have a stamp", "gathering", "db.numbered = 0", "db.numbered = 1"),
)
