"""Runs the extracted checker on certificates of small programs, sound ones and corrupted ones.

    python -m proofs.corpus CHECKER FOLDER

The programs are random rules, programs of tests/generate.py without the rules that the proofs do not cover, and those
written by hand, here, in tests/scripts.py, tests/selecting.py and tests/choosing.py; all after some epochs in which
facts and rules come and go. Each certificate is saved as users save theirs, in a folder of its own below FOLDER. The
checker has to accept every sound one and to reject every corrupted one, both as `tidelog.check_certificate` does, and
for a condition that it names. It also has to reject texts with forged strata or declared relations, which a check of
the folder computes.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import tidelog
from proofs.corruptions import CORRUPTIONS, FORGERIES
from proofs.export import covered, text_of
from tests.choosing import FAMILIES as CHOOSING
from tests.choosing import script_for as choosing_script
from tests.generate import Row
from tests.scripts import Follower, Script, script_for, scripted
from tests.selecting import FAMILIES
from tests.selecting import script_for as selecting_script
from tests.suite import compiled, random_cases
from tidelog.certificate import Certificate, certificate_of, load, program_text, save
from tidelog.errors import CertificateRejected, ProgramError

CODES = {
    "facts": {"E0801"},
    "closed": {"E0802"},
    "founded": {"E0803"},
    "selected": {"E0803", "E0805"},
}
"""The names of the conditions in driver.ml, and the codes of `db.check()`. Minima of groups are aggregates for it."""
RANDOM, GENERATED = 36, 16
"""How many programs come from tests/scripts.py and from tests/generate.py."""
CORRUPTED = 2
"""How many corruptions of each certificate there are."""

HAND: dict[str, tuple[str, dict[str, list[Row]]]] = {
    "symbols and their order": (
        """
        .decl before(x: symbol, y: symbol)
        .decl path(x: symbol, y: symbol)
        .decl first(x: symbol)
        .decl reached(x: symbol)
        path(x, y) :- before(x, y), x < y.
        path(x, z) :- path(x, y), path(y, z), x != "".
        first(x) :- path(x, _), !path(_, x).
        reached(x) :- first(x), x >= "b".
        reached(y) :- reached(x), path(x, y).
        """,
        {"before": [(x, y) for x in ("", "a", "ab", "é") for y in ("a", "b", "é", "B")]},
    ),
    "unsigned numbers at their ends": (
        """
        .decl given(x: unsigned, y: unsigned)
        .decl up(x: unsigned, y: unsigned)
        .decl top(x: unsigned)
        up(x, y) :- given(x, y), x < y.
        up(x, y) :- given(y, x), x <= y.
        up(x, z) :- up(x, y), up(y, z).
        top(y) :- up(_, y), !up(y, _).
        top(x) :- given(x, 18446744073709551615), x > 1.
        """,
        {"given": [(x, y) for x in (0, 1, 2**63, 2**64 - 1) for y in (0, 2, 2**63 - 1, 2**64 - 1)]},
    ),
    "records and nil": (
        """
        .type Pair = [a: number, b: number]
        .decl next(x: Pair, y: Pair)
        .decl far(x: Pair, y: Pair)
        .decl end(x: Pair)
        far(x, y) :- next(x, y), x != y.
        far(x, z) :- far(x, y), far(y, z).
        end(x) :- far(_, x), !far(x, nil).
        """,
        {"next": [(x, y) for x in ((0, 1), (1, 0), (1, 1)) for y in ((1, 0), (1, 1), None)]},
    ),
    "no columns, and facts of derived relations": (
        """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        .decl circle()
        .decl straight()
        .decl start(x: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
        circle() :- path(x, x).
        straight() :- !circle().
        start(x) :- straight(), edge(x, _).
        """,
        {"edge": [(x, y) for x in range(4) for y in range(4)], "path": [(3, 0), (7, 7)], "circle": [()]},
    ),
    "the largest numbers": (
        """
        .decl e(x: number, y: number)
        .decl t(x: number, y: number)
        .decl least(x: number)
        t(x, y) :- e(x, y), x <= 9223372036854775806.
        t(x, z) :- t(x, y), e(y, z).
        t(x, y) :- t(y, x), y < 0.
        least(x) :- t(x, _), !t(_, x), x > -9223372036854775808.
        """,
        {"e": [(x, y) for x in (-(2**63), -1, 2**63 - 1) for y in (-(2**63), 0, 2**62, 2**63 - 1)]},
    ),
    "minima and maxima of groups": (
        """
        .decl edge(x: number, y: number, w: number)
        .decl path(x: number, y: number, w: number)
        .decl far(w: number)
        .decl fewest(x: number, n: number)
        path(x, y, w) :- edge(x, y, w).
        path(x, z, v + w) :- path(x, y, v), edge(y, z, w), v < 4.
        far(w) :- w = max v : { path(_, _, v) }.
        fewest(x, w) :- path(x, _, _), w = min v : { path(x, _, v), !far(v) }.
        """,
        {"edge": [(x, y, w) for x in range(4) for y in range(4) for w in (0, 1, 3)]},
    ),
    "minima in recursion": (
        """
        .decl edge(x: number, y: number, w: number)
        .decl dist(x: number, d: number) min(d)
        .decl route(x: number, cost: unsigned, hops: number) min(cost), max(hops)
        dist(x, 0) :- edge(x, _, _).
        dist(y, d + w) :- dist(x, d), edge(x, y, w), d < 9.
        dist(y, max(d, w)) :- dist(x, d), edge(y, x, w).
        route(x, 7, d) :- dist(x, d).
        route(x, 18446744073709551615, 1) :- edge(x, _, _).
        """,
        {"edge": [(x, y, w) for x in range(4) for y in range(4) for w in (0, 1, 3)], "dist": [(7, 5), (7, 4), (1, -1)]},
    ),
    "fronts": (
        """
        .decl step(x: number, y: number, cost: number, time: number)
        .decl way(x: number, cost: number, time: number)
        .decl slow(x: number)
        way(x, c1, t1) <= way(x, c2, t2) :- c2 <= c1, t2 <= t1.
        way(0, 0, 0) :- step(0, _, _, _).
        way(y, c + k, max(t, m)) :- way(x, c, t), step(x, y, k, m), c < 8.
        slow(x) :- way(x, _, t), t > 2.
        """,
        {"step": [(x, y, k, m) for x in range(3) for y in range(3) for k in (1, 2) for m in (1, 3)]},
    ),
}
"""Programs with types and values that the random ones lack, and the facts to draw from."""


@dataclass(frozen=True)
class Trial:
    """A certificate and the text of its program; `fault` names its corruption, "" if it is sound."""

    name: str
    certificate: Certificate
    program: str
    fault: str = ""


def main(checker: str, folder: Path) -> int:
    """Run all trials and print the results; return 0 if all are right."""
    folder.mkdir(parents=True)
    faults: dict[Path, str] = {}
    forged: dict[Path, str] = {}
    rng = random.Random("forgeries")
    for number, trial in enumerate(trials(random.Random("corpus"))):
        place = folder / f"{number:03} {trial.name} {trial.fault or 'sound'}".replace(" ", "-")
        save(trial.certificate, trial.program, place)
        text = text_of(load(place))
        text_beside(place).write_text(text, encoding="utf-8")
        faults[place] = trial.fault
        for condition, forge in FORGERIES.items() if not trial.fault else ():
            forgery = forge(rng, text)
            if forgery is not None:
                forged[place.with_name(f"{place.name}-{condition}")] = condition
                text_beside(place.with_name(f"{place.name}-{condition}")).write_text(forgery, encoding="utf-8")
    verdicts = verdicts_of(checker, [*faults, *forged])
    slipped = [
        f"{place}: {verdicts[place]}" for place, condition in forged.items() if reason(verdicts[place]) != condition
    ]
    wrong = [f"{place}: {each}" for place, fault in faults.items() if (each := mistake(place, fault, verdicts[place]))]
    print("\n".join([*wrong, *slipped]), end="\n" if wrong or slipped else "")
    counts = Counter(faults.values())
    sound = counts.pop("")
    corrupted = sum(counts.values())
    accepted = sum(verdicts[place] == "accepted" for place in faults)
    print(f"accepted {accepted}, of {sound} sound certificates")
    print(f"rejected {len(faults) - accepted}, of {corrupted} corrupted ones: {listing(counts)}")
    print(f"right are {len(faults) - len(wrong)} of {len(faults)} verdicts, and they are those of db.check()")
    print(f"rejected {len(forged) - len(slipped)} of {len(forged)} forged texts: {listing(Counter(forged.values()))}")
    few = sound < 50 or corrupted < 50 or min(map(list(forged.values()).count, FORGERIES)) < 10
    return 1 if wrong or slipped or few else 0


def text_beside(place: Path) -> Path:
    """Return the text for the extracted checker, which does not belong into the folder of the certificate."""
    return place.with_name(f"{place.name}.txt")


def reason(verdict: str) -> str:
    """Return the condition for which a certificate was rejected."""
    return verdict.removeprefix("rejected: ").split(":")[0]


def listing(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} with {fault}" for fault, count in sorted(counts.items()))


def verdicts_of(checker: str, places: list[Path]) -> dict[Path, str]:
    """Return the verdict of the extracted checker on each certificate."""
    paths = [str(text_beside(place)) for place in places]
    lines = subprocess.run([checker, *paths], capture_output=True, text=True, check=False).stdout.splitlines()
    found = dict(line.split(": ", 1) for line in lines)
    return {place: found[path] for place, path in zip(places, paths, strict=True)}


def mistake(place: Path, fault: str, verdict: str) -> str:
    """Return the error of a verdict, or ""."""
    try:
        tidelog.check_certificate(place)
        codes = set()
    except CertificateRejected as error:
        codes = {problem.code for problem in error.problems}
    if fault:
        right = verdict.startswith("rejected: ") and bool(CODES.get(reason(verdict), set()) & codes)
    else:
        right = verdict == "accepted" and not codes
    return "" if right else f"{verdict}; db.check() says {sorted(codes) or 'nothing'}"


# --- the trials ------------------------------------------------------------------------------------------------------


def trials(rng: random.Random) -> Iterator[Trial]:
    """Yield each sound certificate, and some corruptions of it, the rarest ones first."""
    counts = dict.fromkeys(CORRUPTIONS, 0)
    for sound in sound_trials(rng):
        yield sound
        corruptions = (
            (fault, CORRUPTIONS[fault](rng, sound.certificate)) for fault in sorted(counts, key=counts.__getitem__)
        )
        possible = ((fault, corrupted) for fault, corrupted in corruptions if corrupted is not None)
        for fault, corrupted in islice(possible, CORRUPTED):
            counts[fault] += 1
            yield replace(sound, certificate=corrupted, fault=fault)


def sound_trials(rng: random.Random) -> Iterator[Trial]:
    """Yield the certificate of each program at the end of its script, if the proofs are about that program."""
    written = ((name, by_hand(rng, *parts)) for name, parts in HAND.items() for _ in range(2))
    generated = ((f"generated {seed}", script) for seed in range(200) if (script := generated_script(seed)))
    others = ((f"script {seed}", script_for(seed)) for seed in range(RANDOM * 8 // 7) if seed % 8)
    selecting = ((f"selecting {seed}", selecting_script(seed)) for seed in range(len(FAMILIES)))
    choosing = ((f"choosing {seed}", choosing_script(seed)) for seed in range(2 * len(CHOOSING)))
    for name, script in chain(written, islice(generated, GENERATED), selecting, choosing, others):
        follower = Follower(script)
        for epoch in script.epochs:
            follower.follow(epoch)
        certificate = certificate_of(follower.db.engine, follower.db.workspace.committed.checked)
        if covered(certificate.program):
            follower.db.check()
            yield Trial(name, certificate, program_text(follower.db.workspace.committed.programs))


def by_hand(rng: random.Random, text: str, pool: dict[str, list[Row]]) -> Script:
    lines = [line.strip() for line in text.strip().splitlines()]
    declarations = "\n".join(line for line in lines if line.startswith("."))
    return scripted(rng, declarations, [line for line in lines if not line.startswith(".")], pool)


def generated_script(seed: int) -> Script | None:
    """Return a script over the part of a program of tests/generate.py that the proofs cover, if it derives anything."""
    (case,) = random_cases(1, 7_000_000 + seed)
    types, *relations = case.declarations
    declarations = "\n".join([types, *(text for text in relations if "float" not in text)])
    clauses = [replace(clause, name=None) for clause in case.clauses if clause.body]
    rules = [str(clause) for clause in clauses if is_covered(f"{declarations}\n{clause}")]
    pool: dict[str, list[Row]] = {
        name: sorted(rows, key=repr) for name, rows in case.facts.items() if f".decl {name}(" in declarations
    }
    return scripted(random.Random(seed), declarations, rules, pool) if len(rules) > 1 else None


def is_covered(text: str) -> bool:
    """Return True if the text is a program that the proofs cover."""
    try:
        return covered(compiled(text))
    except ProgramError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
