"""Runs the extracted checker on views of programs that select or choose, sound ones and corrupted ones.

    python -m proofs.selecting CHECKER FOLDER

The programs are those below, in the text that driver.ml reads, over random graphs. A small evaluator for such texts
finds the visible tuples and their births; it knows no conditions of certificates. The checker has to accept each sound
text, and to reject each corrupted one for a condition that the corruption breaks.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

Entry = tuple[int, ...]
"""The number of a relation, and the values."""
Births = dict[Entry, int]

OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__,
    "<=": int.__le__,
    "=": int.__eq__,
    "!=": int.__ne__,
}
FUNCTORS: dict[str, Callable[[int, int], int]] = {"+": int.__add__, "-": int.__sub__, "min": min, "max": max}
GRAPHS, SIZE = 12, 6
"""How many graphs each program gets, and how many nodes a graph has."""

PROGRAMS = {
    "shortest paths from a node": """
        declared 1 1 dist
        select 1 min 1
        rule step
        head 1 x2 +,x1,x3
        body 1 x0 x1
        body 0 x0 x2 x3
        fact 1 0 0
        """,
    "shortest paths, doubled": """
        declared 1 1 dist
        select 1 min 2
        rule edge
        head 1 x0 x1 x2
        body 0 x0 x1 x2
        rule double
        head 1 x0 x3 +,x2,x4
        body 1 x0 x1 x2
        body 1 x1 x3 x4
        test < x2 100
        """,
    "cheapest, then shortest paths": """
        declared 1 1 route
        select 1 min 1 min 2
        rule step
        head 1 x3 +,x1,x4 +,x2,1
        body 1 x0 x1 x2
        body 0 x0 x3 x4
        fact 1 0 0 0
        """,
    "cheap paths and wide paths": """
        declared 1 1 way
        front 1 min 1 max 2
        declared 2 1 near
        declared 3 1 cost
        select 3 min 1
        rule step
        head 1 x3 +,x1,x4 min,x2,x4
        body 1 x0 x1 x2
        body 0 x0 x3 x4
        test < x1 50
        rule near
        head 2 x0
        body 1 x0 x1 x2
        test <= x1 7
        rule cost
        head 3 x0 -,x1,x2
        body 1 x0 x1 x2
        body 2 x0
        fact 1 0 0 9
        """,
    "widest paths, and who has them": """
        declared 1 1 width
        select 1 max 1
        declared 2 1 reached
        declared 3 2 narrow
        rule first
        head 1 x1 x2
        body 0 x0 x1 x2
        test = x0 0
        rule step
        head 1 x2 min,x1,x3
        body 1 x0 x1
        body 2 x0
        body 0 x0 x2 x3
        rule reached
        head 2 x0
        body 1 x0 x1
        test <= 2 x1
        rule narrow
        head 3 x0
        body 1 x0 x1
        not 2 x0
        """,
    "components by least label": """
        declared 1 1 label
        select 1 min 1
        declared 2 2 largest
        select 2 max 0
        rule own
        head 1 x0 x0
        body 0 x0 x1 x2
        rule there
        head 1 x2 x1
        body 1 x0 x1
        body 0 x0 x2 x3
        rule back
        head 1 x0 x1
        body 1 x2 x1
        body 0 x0 x2 x3
        rule largest
        head 2 x1
        body 1 x0 x1
        """,
    "spanning tree, whose edges come once": """
        declared 1 1 tree
        choice 1 0
        declared 2 1 inside
        declared 3 2 leaf
        rule step
        head 1 x2 x0
        body 1 x0 x1
        body 0 x0 x2 x3
        rule inside
        head 2 x1
        body 1 x0 x1
        test < x0 x1
        rule leaf
        head 3 x0
        body 1 x0 x1
        not 2 x0
        fact 1 0 0
        """,
    "pairs that share no end": """
        declared 1 1 pair
        choice 1 0
        choice 1 1
        rule first
        head 1 x0 x1
        body 0 x0 x1 x2
        test <= x2 5
        rule next
        head 1 x2 +,x2,x1
        body 1 x0 x1
        body 0 x1 x2 x3
        """,
}
NOT_MONOTONE = {
    "shortest paths from a node": [("+,x1,x3", "-,x3,x1"), ("head 1 x2 +,x1,x3", "head 1 x1 x3")],
    "shortest paths, doubled": [("test < x2 100", "test < 1 x2"), ("test < x2 100", "test != x2 7")],
    "cheapest, then shortest paths": [("+,x2,1", "-,x4,x2"), ("+,x1,x4 +,x2,1", "x2 x1")],
    "cheap paths and wide paths": [
        ("+,x1,x4", "+,x1,x2"),
        ("test < x1 50", "test < x2 50"),
        ("head 3 x0 -,x1,x2", "head 3 x0 -,x2,x1"),
    ],
    "widest paths, and who has them": [("test <= 2 x1", "test <= x1 2"), ("min,x1,x3", "-,x3,x1")],
    "components by least label": [("head 1 x2 x1", "head 1 x1 x2"), ("body 1 x2 x1", "body 1 x1 x1")],
    "spanning tree, whose edges come once": [("declared 2 1 inside", "declared 2 1 inside\nselect 2 min 0")],
    "pairs that share no end": [("choice 1 0", "choice 1 0\nselect 1 max 1")],
}
"""Changes of the programs that make a rule not monotone, or that let a choice and a selection meet."""


@dataclass(frozen=True)
class Rule:
    head: list[str]
    body: list[list[str]]
    negated: list[list[str]]
    tests: list[list[str]]


@dataclass(frozen=True)
class Program:
    """The lines of a text but for its tuples, and what they say: `orders` as columns, each with 1 or -1, and which of
    them are `fronts`; `keys` as columns, for each choice-domain."""

    lines: list[str]
    rules: list[Rule]
    facts: list[Entry]
    strata: dict[int, int]
    orders: dict[int, list[tuple[int, int]]]
    fronts: set[int]
    keys: dict[int, list[list[int]]]


@dataclass(frozen=True)
class Trial:
    """A text with its tuples; `fault` names its corruption, and `reasons` are the conditions that may find it."""

    name: str
    lines: list[str]
    births: Births
    fault: str = ""
    reasons: tuple[str, ...] = ("accepted",)


def main(checker: str, folder: Path) -> int:
    """Run all trials and print the results; return 0 if all are right."""
    folder.mkdir(parents=True)
    found = {folder / f"{number:03}.txt": trial for number, trial in enumerate(trials(random.Random("selecting")))}
    for path, trial in found.items():
        tuples = (" ".join(map(str, ["tuple", birth, *each])) for each, birth in trial.births.items())
        path.write_text("".join(f"{line}\n" for line in [*trial.lines, *tuples]), encoding="utf-8")
    printed = subprocess.run([checker, *map(str, found)], capture_output=True, text=True, check=False).stdout
    verdicts = dict(line.split(": ", 1) for line in printed.splitlines())
    wrong = 0
    for path, trial in found.items():
        verdict = verdicts[str(path)]
        if verdict.removeprefix("rejected: ").split(":")[0] not in trial.reasons:
            wrong += 1
            print(f"{path}: {trial.name}, {trial.fault or 'sound'}: {verdict}")
    counts = Counter(trial.fault for trial in found.values())
    sound = counts.pop("")
    listed = ", ".join(f"{count} with {fault}" for fault, count in sorted(counts.items()))
    print(f"right are {len(found) - wrong} of {len(found)} verdicts on views that select: {sound} sound, {listed}")
    return 1 if wrong or sound < GRAPHS * len(PROGRAMS) or len(counts) < 5 or min(counts.values()) < 10 else 0


# --- the trials ------------------------------------------------------------------------------------------------------


def trials(rng: random.Random) -> Iterator[Trial]:
    for name, text in PROGRAMS.items():
        for _ in range(GRAPHS):
            edges = sorted({(0, 1), *((rng.randrange(SIZE), rng.randrange(SIZE)) for _ in range(12))})
            graph = [f"fact 0 {x} {y} {rng.randint(1, 9)}" for x, y in edges]
            lines = ["declared 0 0 edge", *(line.strip() for line in text.strip().splitlines()), *graph]
            program = parsed(lines)
            visible = selected(program)
            births = founded(program, visible)
            assert set(births) == visible, f"{name}: no births for {visible - set(births)}"
            sound = Trial(name, lines, births)
            yield sound
            yield from corruptions(rng, program, sound)


def corruptions(rng: random.Random, program: Program, sound: Trial) -> Iterator[Trial]:
    births = sound.births
    gone = rng.choice(sorted(births))
    fewer = {each: birth for each, birth in births.items() if each != gone}
    yield replace(sound, births=fewer, fault="a tuple removed", reasons=("facts", "closed"))
    worse = sorted({head for head, _ in derivations(program, set(births))} - set(births))
    if worse:
        more = {**births, rng.choice(worse): max(births.values()) + 1}
        yield replace(sound, births=more, fault="a worse tuple added", reasons=("closed", "selected"))
    best = rng.choice(sorted(each for each in births if each[0] in {*program.orders, *program.keys}))
    better = [*best]
    column, sign = program.orders.get(best[0], [(1, -99)])[0]
    better[column + 1] -= sign
    swapped = {tuple(better) if each == best else each: birth for each, birth in births.items()}
    yield replace(sound, births=swapped, fault="a better tuple instead", reasons=("closed", "founded"))
    if any(births.values()):
        yield replace(sound, births=dict.fromkeys(births, 0), fault="births forged", reasons=("founded",))
    for before, after in NOT_MONOTONE[sound.name]:
        lines = "\n".join(sound.lines).replace(before, after).split("\n")
        assert lines != sound.lines
        yield replace(sound, lines=lines, fault="a rule that is not monotone", reasons=("monotone", "mixed"))


# --- the evaluator ---------------------------------------------------------------------------------------------------


def parsed(lines: list[str]) -> Program:
    program = Program(lines, [], [], {}, {}, set(), {})
    for line in lines:
        kind, *words = line.split()
        match kind:
            case "declared":
                program.strata[int(words[0])] = int(words[1])
            case "select" | "front":
                program.fronts.update([int(words[0])] if kind == "front" else [])
                signs = [1 if word == "min" else -1 for word in words[1::2]]
                program.orders[int(words[0])] = list(zip(map(int, words[2::2]), signs, strict=True))
            case "choice":
                program.keys.setdefault(int(words[0]), []).append([*map(int, words[1:])])
            case "rule":
                program.rules.append(Rule([], [], [], []))
            case "fact":
                program.facts.append(tuple(map(int, words)))
            case "head":
                program.rules[-1].head.extend(words)
            case _:
                parts = {
                    "body": program.rules[-1].body,
                    "not": program.rules[-1].negated,
                    "test": program.rules[-1].tests,
                }
                parts[kind].append(words)
    return program


def selected(program: Program) -> set[Entry]:
    """Return the visible tuples: in each stratum, derive from the best tuples known until these do not change, or take
    one free tuple after the other."""
    visible = set[Entry]()
    for stratum in sorted(set(program.strata.values())):
        known = {each for each in program.facts if program.strata[each[0]] == stratum}
        if any(program.strata[relation] == stratum for relation in program.keys):
            while True:
                known |= {head for head, _ in derivations(program, visible) if program.strata[head[0]] == stratum}
                free = sorted(each for each in known if is_free(program, each, visible))
                if not free:
                    break
                visible.add(free[0])
            continue
        while True:
            best = visible | {each for each in known if not any(dominates(program, other, each) for other in known)}
            heads = {head for head, _ in derivations(program, best) if program.strata[head[0]] == stratum}
            if heads <= known:
                break
            known |= heads
        visible = best
    return visible


def founded(program: Program, visible: set[Entry]) -> Births:
    """Return births of the visible tuples, the round in which each follows from older ones."""
    births = dict.fromkeys(visible & set(program.facts), 0)
    instances = [(head, own) for head, own in derivations(program, visible) if head in visible]
    for birth in count():
        born = {head for head, own in instances if all(births.get(each, birth) < birth for each in own)} - births.keys()
        births.update(dict.fromkeys(born, birth))
        if birth and not born:
            return births
    raise AssertionError


def is_free(program: Program, one: Entry, visible: set[Entry]) -> bool:
    keys = [[one[column + 1] for column in key] for key in program.keys.get(one[0], [])]
    return one not in visible and not any(
        values == [other[column + 1] for column in key]
        for other in visible
        if other[0] == one[0]
        for key, values in zip(program.keys.get(one[0], []), keys, strict=True)
    )


def dominates(program: Program, one: Entry, other: Entry) -> bool:
    orders = program.orders.get(one[0], [])
    compared = {column + 1 for column, _ in orders}
    if any(x != y for column, (x, y) in enumerate(zip(one, other, strict=False)) if column not in compared):
        return False
    better, worse = ([sign * each[column + 1] for column, sign in orders] for each in (one, other))
    if one[0] in program.fronts:
        return better != worse and all(x <= y for x, y in zip(better, worse, strict=True))
    return better < worse


def derivations(program: Program, visible: set[Entry]) -> Iterator[tuple[Entry, list[Entry]]]:
    """Yield the head of each rule instance over the visible tuples, with its body tuples of the same stratum."""
    for rule in program.rules:
        stratum = program.strata[int(rule.head[0])]
        for values in bindings(rule.body, visible, {}):
            if all(OPERATORS[op](valued(x, values), valued(y, values)) for op, x, y in rule.tests) and not any(
                instance(atom, values) in visible for atom in rule.negated
            ):
                body = [instance(atom, values) for atom in rule.body]
                yield instance(rule.head, values), [each for each in body if program.strata[each[0]] == stratum]


def bindings(atoms: list[list[str]], visible: set[Entry], values: dict[str, int]) -> Iterator[dict[str, int]]:
    if not atoms:
        yield values
        return
    for each in visible:
        if each[0] == int(atoms[0][0]):
            bound = dict(values)
            if all(bound.setdefault(x, value) == value for x, value in zip(atoms[0][1:], each[1:], strict=True)):
                yield from bindings(atoms[1:], visible, bound)


def instance(atom: list[str], values: dict[str, int]) -> Entry:
    return (int(atom[0]), *(valued(term, values) for term in atom[1:]))


def valued(term: str, values: dict[str, int]) -> int:
    """Return the value of a term: an integer, a variable, or a functor of two such."""
    functor, *operands = term.split(",")
    if operands:
        left, right = (valued(operand, values) for operand in operands)
        return FUNCTORS[functor](left, right)
    return values[term] if term in values else int(term)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
