"""Faults of closures, planted by `tests/plant_faults.py`: of their reach sets and pairs, of changes, and of folds."""

from __future__ import annotations

from tests.fault import Fault

REACH, RUNS, DIFFERENCES = "kernels/reach.py", "kernels/runs.py", "kernels/differences.py"
CLOSED, FOLDS, CLOSURE = "kernels/closed.py", "kernels/folds.py", "storage/closure.py"
CLOSURES, PAIRS = "maintain/state.py", "maintain/strategies/closures.py"
KEPT_AS = "maintain/strategies/closures.py"
SHAPES, FOLDING = "tests/storage/test_closure_shapes.py", "tests/storage/test_folding.py"
FOLDED = "tests/maintain/test_closures_folded.py"

OF_CLOSURES = (
    Fault(
        "a new edge concerns only what it begins at",
        REACH,
        "m = before(pool, lists, component, x, queue, m, marks[2], now)",
        "pass",
    ),
    Fault("components on a new cycle stay apart", REACH, "cycle = reaches(pool, lists, b, a)", "cycle = False"),
    Fault(
        "a component is never parted",
        REACH,
        "if still_leads(pool, lists, component, u, v, scratch[0], scratch[1], marks, clock[0], stop):",
        "if True:",
    ),
    Fault(
        "parts that no longer reach each other keep their pairs",
        DIFFERENCES,
        "    if own >= 0:\n",
        "    if False:\n",
    ),
    Fault(
        "members of components of before are looked up among those of now",
        DIFFERENCES,
        "    if lists[family + SAVED, c, ROOM] > 0:\n",
        "    if family == REACH and lists[family + SAVED, c, ROOM] > 0:\n",
        SHAPES,
    ),
    Fault(
        "a pair of a node with itself is looked for where loops change only",
        DIFFERENCES,
        "    candidates[:n] = nodes\n",
        "    candidates[:n] = nodes\n    former_size[nodes] = 0\n",
        SHAPES,
    ),
    Fault(
        "a union forgets runs that overlap",
        RUNS,
        "if high > top:\n",
        "if False:\n",
        SHAPES,
    ),
    Fault(
        "numbers inside of a run are not found",
        RUNS,
        "(values[place] == number or values[place] < 0)",
        "values[place] == number",
        SHAPES,
    ),
    Fault(
        "pairs of a change are those of components of now",
        CLOSURE,
        "known.keep()",
        "pass",
        SHAPES,
    ),
    Fault(
        "parts of a component take numbers that others have",
        REACH,
        "parts[i] = label[own[0]]",
        "parts[i] = own[0]",
        SHAPES,
    ),
    Fault(
        "an edge between components goes and nothing else",
        REACH,
        "if not leads(pool, lists, component, a, b):",
        "if False:",
    ),
    Fault(
        "what lies before a lost pair is not looked at again",
        REACH,
        "m = before(pool, lists, component, x, queue, ZERO, marks[3], now)",
        "m = ZERO",
    ),
    Fault("a parallel edge goes with the other", REACH, "loops[u] -= 1\n", "loops[u] = 0\n"),
    Fault(
        "pairs that die and come back are changes",
        DIFFERENCES,
        "lost, gained = apart(row, other, old_pool, i, end, pool, j, until)",
        "lost, gained = apart(row, other, old_pool, i, end, pool, j, j)[0], "
        "apart(found, other, old_pool, i, i, pool, j, until)[1]",
        SHAPES,
    ),
    Fault(
        "pairs of a closure are all born at once",
        CLOSURES,
        "numbers = 2 * graph.lengths(rows, look)",
        "numbers = 2 + 0 * rows[:, 0]",
    ),
    Fault(
        "an edge turned round is as old as the edge",
        CLOSURES,
        "numbers[short[along.find(rows[short].astype(numpy.int64)) >= 0]] = 1",
        "pass",
    ),
    Fault(
        "what showed a closure takes over pairs of the same epoch",
        PAIRS,
        "_store(state, state.history(state.mirrors[name]).before())",
        "_store(state, state.history(state.mirrors[name]).now())",
    ),
    Fault(
        "joins with a closure as it was see pairs that came",
        CLOSED,
        "if changed and state in (AT_START, KEPT):",
        "if 0:",
    ),
    Fault(
        "joins with a closure as it was miss pairs that went",
        CLOSED,
        "gone = changed and state not in (KEPT, NOW)",
        "gone = False",
    ),
    Fault(
        "a closure is not asked for pairs that went", CLOSED, "return state in (AT_START, EVER, GONE)", "return False"
    ),
    Fault(
        "what is before a node is kept for another one",
        CLOSED,
        "if load64(asked, ASKED) != c:",
        "if load64(asked, ASKED) < 0:",
    ),
    Fault(
        "facts of a linear closure are edges",
        KEPT_AS,
        "and not (node.closure.linear and len(state.asserted[node.relations[0]]))",
        "",
    ),
    Fault(
        "a node counts among those that it reaches",
        FOLDS,
        "if loops[x] == 0 and (lists[MEMBER, c, LENGTH] == 1 or irreflexive):",
        "if False:",
        f"{FOLDED}::test_values_of_groups",
    ),
    Fault(
        "the last component of a block is not folded",
        FOLDS,
        "for d in range(block * BLOCK, block * BLOCK + BLOCK):",
        "for d in range(block * BLOCK, block * BLOCK + BLOCK - 1):",
        FOLDING,
    ),
    Fault(
        "what blocks have been handed is lost",
        FOLDS,
        "others = joined(what, words, flip, behind[c], behind[lists.shape[1] + c // BLOCK], w)",
        "others = behind[c]",
        FOLDING,
    ),
    Fault(
        "members of another closure are taken for the same",
        "maintain/strategies/situation.py",
        "return before.closure is not now.closure or before.backward != now.backward",
        "return False",
        f"{FOLDED}::test_a_rule_of_the_same_name_folds_another_closure",
    ),
    Fault(
        "groups of second ends follow the first ones",
        "maintain/strategies/aggregates.py",
        "column = 1 if members.backward else 0",
        "column = 0",
        f"{FOLDED}::test_a_store_is_reopened_with_members_of_groups",
    ),
)

MEMORY, SPILLING = "storage/memory.py", "tests/storage/test_spilling.py"

OF_FILES = (
    Fault(
        "a block that goes into a file leaves its contents behind",
        MEMORY,
        "            file.write(self.address, self.size)\n",
        "            pass\n",
        f"{SPILLING}::test_a_commit_finishes_in_files_and_leaves_no_names",
    ),
    Fault(
        "a cold block keeps its memory",
        MEMORY,
        "_SHARED | _FIXED, file.number, 0)\n",
        "_SHARED, file.number, 0)\n",
        f"{SPILLING}::test_an_array_that_moves_gives_its_memory_back",
    ),
    Fault(
        "a forked process goes on with the files of its parent",
        "storage/room.py",
        "return self._process != os.getpid() and self.in_files > 0",
        "return False",
        f"{SPILLING}::test_a_forked_process_does_not_share_files",
    ),
    Fault(
        "relations that a hyper-node reads are cold",
        "maintain/walk.py",
        "if name in node.relations or position in readers:",
        "if name in node.relations:",
        f"{SPILLING}::test_relations_that_a_hyper_node_does_not_need_are_cold",
    ),
    Fault(
        "files get their place on the disk when pages are written",
        "storage/room.py",
        "os.posix_fallocate(self.number, self.size, size - self.size)",
        "os.ftruncate(self.number, size)",
        f"{SPILLING}::test_a_full_disk_is_an_error_with_place_and_hint",
    ),
    Fault(
        "rows that wait are left behind when a round ends",
        "kernels/fixpoint.py",
        "if D[relations[i], R_WAITING_N] > 0:",
        "if False:",
        "tests/storage/test_waiting.py::test_programs_whose_rows_wait",
    ),
    Fault(
        "rows that wait count as those of an earlier round",
        "storage/waiting.py",
        "rows, since, hashes = self._ordered.address, fields[layout.R_NEW], catalog.hashes",
        "rows, since, hashes = self._ordered.address, 1 << 40, catalog.hashes",
        "tests/storage/test_waiting.py::test_waiting_rows_are_inserted_as_others",
    ),
)
