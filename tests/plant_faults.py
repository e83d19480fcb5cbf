"""Do the tests find faults? `python tests/plant_faults.py [NAME…]` plants them one by one in a copy of the engine.

Each fault replaces one piece of source text. The tests that have to find it then run on the copy, first as `make test`
runs them, then as `make test-all` does, until one fails: change scripts, or the tests that the fault names. A fault
whose text is no longer there ends the run, so that the list follows the source. The end says how many of the faults
each target finds. docs/testing.md shows a run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.explain.planted import OF_CHECKS, OF_PROOFS
from tests.fault import Fault
from tests.network.planted import OF_STAMPS
from tests.storage.planted import CLOSURE, KEPT_AS, OF_CLOSURES, OF_FILES

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = "tests/maintain/test_scripts.py tests/maintain/test_aggregates.py tests/maintain/test_large_groups.py"
"""Where change scripts run; groups of one member count as large ones in the last two."""
TARGETS = {
    "make test": ("0.1", "smoke or not (spark or docs or deep)"),
    "make test-all": ("0.25", "(spark and not smoke) or docs or deep"),
}
"""The depth and the marks of the tests of each target, as the Makefile has them."""

CHANGES, LIVE, UPDATE = "kernels/changes.py", "kernels/live.py", "maintain/update.py"
UPDATE_PLANS = "maintain/update_plans.py"
RULES, AGGREGATES = "maintain/strategies/rules.py", "maintain/aggregates.py"
MARKS, IN_PLACE = "storage/marks.py", "storage/changes.py"
GROUPS = "maintain/large_groups.py"
SETS, LISTS, LOCAL = "kernels/sets.py", "kernels/lists.py", "durable/local.py"
IN_CHANGE = "tests/storage/test_changes.py"
SELECTIONS, SELECTING = "kernels/selections.py", "tests/maintain/test_selections.py"
SEARCHING = "tests/maintain/test_searching.py"
REPORTS, AGES = "tests/maintain/test_reports.py", "tests/database/test_snapshots_at_random.py"
SNAPSHOTS = "tests/database/test_snapshots.py"
SHARING = "tests/maintain/test_threads.py::test_any_interleaving_of_an_update"
GRIDS = "tests/maintain/test_grids.py"
EARLY = "tests/maintain/test_early_projections.py tests/rules/test_early_projections.py"
CHOICES, CHOOSING = "kernels/choices.py", "tests/maintain/test_choices.py"

FAULTS = (
    Fault(
        "deltas of the first atom of a body are dropped",
        UPDATE_PLANS,
        "for i, literal in enumerate(rule.body) if isinstance(literal, CoreAtom)]",
        "for i, literal in enumerate(rule.body) if i and isinstance(literal, CoreAtom)]",
    ),
    Fault(
        "a rule that gets its plans late has none for what changed before",
        UPDATE_PLANS,
        "lists if wakes else kept.settled | lists",
        "kept.settled | lists",
        "tests/maintain/test_needed_plans.py",
    ),
    Fault(
        "another candidate takes the place of a dead one during deletions",
        SELECTIONS,
        "if inserting and node[N_PART] == 0:\n            if node[N_ROUND] == 0 and",
        "if node[N_PART] == 0:\n            node[N_CURSOR] = 0\n"
        "            if (not inserting or node[N_ROUND] == 0) and",
        SELECTING,
    ),
    Fault(
        "derivations from beaten rows are not charged",
        "maintain/selecting.py",
        "self.run(self.machine, TIDY, False, False, self.deaths)",
        "self.deaths += 1",
        SELECTING,
    ),
    Fault(
        "a candidate keeps its birth when it is shown",
        SELECTIONS,
        "store32(D[candidates, R_BIRTH], r, current)",
        "store32(D[candidates, R_BIRTH], r, load32(D[candidates, R_BIRTH], r))",
        SELECTING,
    ),
    Fault(
        "a search forgets rows that get better than those that they follow from",
        "kernels/frontier.py",
        "    if value < least:\n        store64(queue, F_TURNS, 1)",
        "    if value < least:\n        return",
        SEARCHING,
    ),
    Fault(
        "indexes of a search remember values that have got better",
        "maintain/searching.py",
        "found.overwritten = selects",
        "pass",
        SEARCHING,
    ),
    Fault(
        "a row that has become better is not read once more",
        "kernels/frontier.py",
        "store32(birth_of(D, relation, r, w), 0, UNREAD)",
        "pass",
        SEARCHING,
    ),
    Fault(
        "births of a search are taken that do not found their rows",
        "maintain/searching.py",
        "if all(bool((found.marks.counts_in_place() > 0).all()) for found in search.found.values()):",
        "if search.found:",
        SEARCHING,
    ),
    Fault(
        "derivations from rows that gave way to better ones stay counted",
        "maintain/searching.py",
        "        _take_back(search)\n",
        "        pass\n",
        SEARCHING,
    ),
    Fault(
        "a row that gives way to a better one loses derivations",
        "kernels/frontier.py",
        "weight = load32(support_of(D, relation, r, w), 0) if better else 1",
        "weight = 1",
        SEARCHING,
    ),
    Fault(
        "derivations that another thread has met are lost",
        "maintain/threads.py",
        "for block, count in zip(self.blocks, entries[:, owner].tolist(), strict=True):",
        "for block, count in [(self.blocks[owner], int(entries[owner, owner]))]:",
        SHARING,
    ),
    Fault(
        "two threads list their changes in the same places",
        "maintain/threads.py",
        "starts = [sum(sizes[:owner]) for owner in range(len(sizes))]",
        "starts = [0 for _ in sizes]",
        SHARING,
    ),
    Fault(
        "rows that threads insert are not listed as born",
        "maintain/threads.py",
        "if self._ledgers is not None and self._head.rows > first:",
        "if self._ledgers is not None and self._head.rows < first:",
        SHARING,
    ),
    Fault(
        "a row that moves into a gap leaves its birth behind",
        "kernels/threads.py",
        "store32(births, n, load32(births, r))",
        "pass",
        SHARING,
    ),
    Fault(
        "rows that no earlier one derives are shown all the same",
        "maintain/selecting.py",
        "raise UnsettledError(tuple(each.shown for each in node.selects))\n    return last",
        "pass\n    return last",
        SEARCHING,
    ),
    Fault(
        "another candidate is chosen in the place of a dead one during deletions",
        CHOICES,
        "            status = lose_shown(D, choice, node, st, w)\n",
        "            status = lose_shown(D, choice, node, st, w)\n"
        "            from tidelog.kernels.layout import R_N\n"
        "            for r in range(D[candidates, R_N] if status == DONE else 0):\n"
        "                if load32(D[candidates, R_COUNT], r) > 0 and not taken(\n"
        "                    D, choice, D[candidates, R_ROWS], r, D[candidates, R_ARITY], w\n"
        "                ):\n"
        "                    show(D, choice, r, st[S_ROUND], w)\n",
        CHOOSING,
    ),
    Fault(
        "a lesser candidate takes the place of a chosen one",
        CHOICES,
        "            alive = other >= 0 and load32(D[shown, R_COUNT], other) > 0\n",
        "            alive = other >= 0 and load32(D[shown, R_COUNT], other) > 0\n"
        "            if alive and load(rows, r * k + k - 1, w) < load(D[shown, R_ROWS], other * k + k - 1, w):\n"
        "                from tidelog.kernels.selections import hide\n"
        "                hide(D, shown, other, 0)\n"
        "                alive = False\n",
        CHOOSING,
    ),
    Fault(
        "a candidate keeps its birth when it is chosen",
        SELECTIONS,
        "store32(D[candidates, R_BIRTH], r, current)",
        "store32(D[candidates, R_BIRTH], r, load32(D[candidates, R_BIRTH], r))",
        CHOOSING,
    ),
    Fault(
        "what was chosen before does not come first",
        CHOICES,
        "wanted = not former or row_like(D, shown, rows, r, k, w) >= 0",
        "wanted = True",
        CHOOSING,
    ),
    Fault(
        "candidates are chosen whatever their age",
        "maintain/choosing.py",
        'return numbers[numpy.argsort(candidates.marks.births()[numbers], kind="stable")]',
        "return numbers",
        CHOOSING,
    ),
    Fault(
        "candidates of a round are chosen in any order",
        "maintain/choosing.py",
        "free[:] = self.in_order(free, selection, stored)",
        "free[:] = free.copy()",
        CHOOSING,
    ),
    Fault(
        "a key in the second domain does not count",
        CHOICES,
        "for _ in range(load64(choice, X_DOMAINS)):\n        index = load64(choice, at)\n        first",
        "for _ in range(1):\n        index = load64(choice, at)\n        first",
        CHOOSING,
    ),
    Fault(
        "a derivation of equal birth is credited", CHANGES, "birth < load32(births, r)", "birth <= load32(births, r)"
    ),
    Fault(
        "a derivation of equal birth is charged",
        CHANGES,
        "load(largest, i, w) < load32(births, r)",
        "load(largest, i, w) <= load32(births, r)",
    ),
    Fault(
        "births of merged hyper-nodes are not shifted",
        RULES,
        "stored.marks.shift_births(offset)",
        "stored.marks.shift_births(0)",
    ),
    Fault("rounds do not go on behind merged births", RULES, "inputs = replace(inputs, round=state.round)", "pass"),
    Fault("dead tuples are not born again", UPDATE, "bear_supported(stored, current)", "pass"),
    Fault(
        "derivations that did not count support what they no longer derive",
        CHANGES,
        "if counted or D[head, R_SUPPORT] != 0:",
        "if counted:",
    ),
    Fault(
        "derivations that do not count support nothing",
        CHANGES,
        "if counted or D[relation, R_SUPPORT] != 0:",
        "if counted:",
    ),
    Fault(
        "taking back forgets supports",
        CHANGES,
        "store32(D[relation, R_SUPPORT], r, load64(D[relation, R_JOURNAL], 4 * e + 3))",
        "pass",
    ),
    Fault("tuples that die together are charged twice", UPDATE_PLANS, "AFTER if j < i else WITH", "WITH"),
    Fault("tuples born together are credited twice", UPDATE_PLANS, "BEFORE if j < i else UP_TO", "UP_TO"),
    Fault(
        "EVER for KEPT before a deletion",
        UPDATE_PLANS,
        "lambda j: KEPT if j < i else AT_START",
        "lambda j: EVER if j < i else AT_START",
    ),
    Fault(
        "EVER for KEPT before an insertion",
        UPDATE_PLANS,
        "lambda j: KEPT if j < i else NOW",
        "lambda j: EVER if j < i else NOW",
    ),
    Fault("a second derivation is not counted", CHANGES, "store32(D[relation, R_COUNT], r, count + 1)", "pass"),
    Fault("a lost derivation is not charged", CHANGES, "store32(D[relation, R_COUNT], r, count - 1)", "pass"),
    Fault("a tuple born again keeps its birth", CHANGES, "store32(D[relation, R_BIRTH], r, current)", "pass"),
    Fault(
        "taking back forgets counts",
        CHANGES,
        "store32(D[relation, R_COUNT], r, load64(D[relation, R_JOURNAL], 4 * e + 1))",
        "pass",
    ),
    Fault("removed rules keep what they derived", UPDATE, "if change.dropped:", "if not change:"),
    Fault("retracted facts keep their derivation", UPDATE, "retract(self.derived[name], words)", "pass"),
    Fault("tuples of a new birth die too late", LIVE, "most = LOW - current", "most = LOW - 1 - current"),
    Fault(
        "a negated atom dies by deletions",
        UPDATE_PLANS,
        "Sight(layout.IN if atom.negated else layout.OUT, tuple(states))",
        "Sight(layout.OUT, tuple(states))",
    ),
    Fault(
        "a bootstrap keeps old births",
        MARKS,
        "if self.runs or new.runs or new.keeps_births:\n            self.keep_births()",
        "if False:\n            self.keep_births()",
    ),
    Fault("what was derived again is a change", IN_PLACE, "born >= stored.fields[layout.R_START]\n", "born >= 0\n"),
    Fault(
        "members that went stay counted",
        AGGREGATES,
        "numpy.subtract.at(values, change.died_in, 1 if count else change.died[:, rule.groups])",
        "pass",
    ),
    Fault(
        "a group that is no longer asked for keeps its value",
        AGGREGATES,
        "has[has] = outer.marks.alive(asked[has])",
        "pass",
    ),
    Fault(
        "a window goes on when its place has moved out",
        GROUPS,
        "if low < below or high >= below + len(values):",
        "if not len(values):",
    ),
    *OF_CLOSURES,
    *OF_FILES,
    Fault(
        "taking back forgets births",
        CHANGES,
        "store32(D[relation, R_BIRTH], r, load64(D[relation, R_JOURNAL], 4 * e + 2))",
        "pass",
        IN_CHANGE,
    ),
    Fault(
        "rows that were taken back keep their slots",
        CHANGES,
        "store64(D[relation, R_SLOTS], s, h & HIGH if (h & HIGH) != 0 else 1 << 32)",
        "pass",
        IN_CHANGE,
    ),
    Fault(
        "bindings take the longer way where the other index has fewer keys",
        "kernels/probes.py",
        "if turned:\n            a, b",
        "if 0:\n            a, b",
        "tests/maintain/test_cyclic.py",
    ),
    Fault(
        "a row that dies hides those behind it",
        SETS,
        "store64(slots, s, h & HIGH if (h & HIGH) != 0 else 1 << 32)",
        "store64(slots, s, h & HIGH)",
        IN_CHANGE,
    ),
    Fault(
        "a list that moves takes too little along",
        LISTS,
        "for i in range(length):\n            pool[moved + i] = pool[start + i]",
        "for i in range(length - 1):\n            pool[moved + i] = pool[start + i]",
        "tests/kernels/test_lists.py",
    ),
    Fault(
        "numbers of counters are used again",
        "maintain/strategies/aggregates.py",
        "first = state.next_number\n    state.next_number += len(rows)",
        "first = 0\n    state.next_number = len(rows)",
        "tests/database/test_counters.py",
    ),
    Fault(
        "rows are selected by their first eight columns only",
        "storage/stored.py",
        "return near[positions(groups.astype(numpy.int64), rows) >= 0]",
        "return near",
        "tests/storage/test_stored.py",
    ),
    Fault(
        "a change of a closure that is taken back takes the one before along",
        CLOSURE,
        "self.keep()\n        self._tidy()",
        "self._tidy()",
        "tests/storage/test_closure_taken_back.py::test_a_change_makes_the_one_before_it_last",
    ),
    Fault(
        "the name of a new folder is lost with the machine",
        LOCAL,
        "folder.mkdir(exist_ok=True)\n            _sync_names_in(above)",
        "folder.mkdir(exist_ok=True)",
        "tests/durable/test_local.py",
    ),
    Fault(
        "a child keeps the locks of its parent",
        LOCAL,
        "self.held.add(self)",
        "pass",
        "tests/durable/test_local.py",
    ),
    Fault(
        "an epoch does not report the relations that it changes",
        "maintain/epoch.py",
        "self.engine.readers.begin(stored)",
        "pass",
        REPORTS,
    ),
    Fault(
        "births are shifted before anybody knows",
        RULES,
        "            state.open(stored)\n            stored.marks.keep_births()\n",
        "            stored.marks.keep_births()\n",
        REPORTS,
    ),
    Fault(
        "a closure changes before readers have a copy",
        KEPT_AS,
        "state.engine.readers.begin_closure(graph)",
        "pass",
        REPORTS,
    ),
    Fault(
        "rows die before readers know their numbers",
        "storage/readers.py",
        "stored.note_deaths(died)",
        "pass",
        AGES,
    ),
    Fault(
        "readers look for rows while slots move",
        "storage/stored.py",
        "self._splitting = True",
        "self._splitting = False",
        SNAPSHOTS,
    ),
    Fault(
        "readers find rows of a later epoch",
        "kernels/frozen.py",
        "0 <= r < end and",
        "0 <= r and",
        AGES,
    ),
    Fault(
        "a snapshot does not keep its words",
        "maintain/frozen.py",
        "self.dictionary.keepers.add(self)",
        "pass",
        SNAPSHOTS,
    ),
    Fault(
        "memory that readers have is given back",
        "storage/memory.py",
        "lease.keep(self._array)",
        "lease.keep(None)",
        SNAPSHOTS,
    ),
    Fault(
        "an early projection drops a variable that the rest of the body reads",
        "rules/early_projections.py",
        "used = head.union(*map(variables_of, outside))",
        "used = head.union(*map(variables_of, outside[1:]))",
        EARLY,
    ),
    Fault(
        "threads do not count the bindings of plans that they share",
        "maintain/threads.py",
        "lane.tried[0] += int(",
        "lane.tried[0] += 0 * int(",
        EARLY,
    ),
    Fault(
        "a store forgets its early projections",
        "store/checkpoint.py",
        "sorted(engine.program.relations.keys() - engine.source_program.relations.keys())",
        "[]",
        EARLY,
    ),
    Fault(
        "the bits of a grid stand for pairs outside of it",
        "kernels/grids.py",
        "if 0 <= x < height and 0 <= y < breadth:",
        "if 0 <= x < height:",
        GRIDS,
    ),
    Fault(
        "a grid outlasts its bootstrap",
        "storage/grids.py",
        "stored.fields[layout.R_GRID] = 0",
        "pass",
        GRIDS,
    ),
    *OF_PROOFS,
    *OF_CHECKS,
    *OF_STAMPS,
)


def planted(fault: Fault, folder: Path) -> None:
    """Put a copy of the engine with the fault into `folder`."""
    shutil.copytree(ROOT / "src/tidelog", folder / "tidelog", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "tidelog" / fault.file
    path.write_text(with_fault(fault, path.read_text(encoding="utf-8")), encoding="utf-8")


def with_fault(fault: Fault, text: str) -> str:
    """Return the text of the fault's file with the fault in it. LookupError where the right text is not there once."""
    if text.count(fault.right) != 1:
        raise LookupError(f"{fault.name}: {fault.file} does not have this text once:\n{fault.right}")
    return text.replace(fault.right, fault.wrong)


def hunt(fault: Fault) -> tuple[str, str]:
    """Return the first target that finds a fault, and the test that fails, both "" if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        planted(fault, Path(folder))
        environment = os.environ | {"PYTHONPATH": folder}
        if fault.file.startswith("kernels/"):  # to compile them takes longer than to run them in Python
            environment["NUMBA_DISABLE_JIT"] = "1"
        for target, (depth, marks) in TARGETS.items():
            options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore:overflow encountered", "-m", marks]
            ran = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *(fault.tests or SCRIPTS).split()],
                cwd=ROOT,
                env=environment | {"TIDELOG_TEST_DEPTH": depth},
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode not in (0, 5):  # all passed, none selected
                found = re.search(r"^(?:FAILED|ERROR) \S*?(?:::)?(\w+)(?:\[|\s|$)", ran.stdout, re.MULTILINE)
                return target, found[1] if found else f"exit status {ran.returncode}"
    return "", ""


def main() -> None:
    sys.stdout.write("| fault | found by | test |\n|---|---|---|\n")
    count = dict.fromkeys([*TARGETS, ""], 0)
    for fault in FAULTS:
        if not sys.argv[1:] or fault.name in sys.argv[1:]:
            target, test = hunt(fault)
            count[target] += 1
            sys.stdout.write(f"| {fault.name} | {target} | {test} |\n")
            sys.stdout.flush()
    total = sum(count.values())
    sys.stdout.write(f"\nmake test finds {count['make test']} of {total} faults, make test-all {total - count['']}.\n")


if __name__ == "__main__":
    main()
