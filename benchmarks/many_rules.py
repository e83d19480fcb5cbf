"""A program of 2,500 rules in 81 files, as large analyses are: what checking it, starting it and adding a rule take.

Each file is a module of an imaginary analysis: relations with three to five attributes, rules that join two to five of
them, some with negation, aggregates, alternatives and records. Every fourth file declares a component, which its
neighbours inherit from and initialise. `write` makes the files, the same ones each time.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tidelog
from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Stopwatch, Target, in_child, measure
from tidelog.language import check, read
from tidelog.rules import compile_program

FILES = 81
RULES = 2_500
_TYPES = ("Method", "Variable", "Heap", "Field", "Site")
_PER_FILE = RULES // (FILES - 1)
_RELATIONS = 7
_SECONDS = {"check": 2.0, "start": 2.0, "rule": 0.02}
_TIMES = 10
_ADDED = "r40_2(field, site, method) :- r40_2(field, site, method), r39_2(heap, field, site)."


def write(folder: Path, seed: int = 1) -> Path:
    """Write the program into `folder`; return the path of the file that includes the others."""
    rng = random.Random(seed)
    names = [f"module{number:02}.dl" for number in range(FILES - 1)]
    types = "\n".join(f".type {name} <: symbol" for name in _TYPES)
    pair = ".type Context = [site: Site, rest: Context]"
    includes = "\n".join(f'#include "{name}"' for name in names)
    main = folder / "main.dl"
    main.write_text(
        f"#define BOUND 3\n{types}\n{pair}\n{includes}\n.output r00_5, {_name(len(names) - 1, 5)}\n", encoding="utf-8"
    )
    for number, name in enumerate(names):
        (folder / name).write_text(_module(number, rng), encoding="utf-8")
    return main


def _module(number: int, rng: random.Random) -> str:
    """Return the text of a module: a component for every fourth, else an instance of it among plain rules."""
    if number % 4 == 0:
        return _component(number, rng)
    parent = number - number % 4
    text = [f"// module {number}", f".init part{number:02} = Part{parent:02}<Variable>"]
    text.append(f"part{number:02}.edge(x, y) :- part{number:02}.given(x, y), !part{number:02}.closed(x).")
    return "\n".join([*text, *_relations(number, rng, _PER_FILE - 8)]) + "\n"


def _component(number: int, rng: random.Random) -> str:
    rules = _relations(number, rng, _PER_FILE - 10)
    own = f"""\
.comp Part{number:02}<T> {{
  .decl given(x: T, y: T)
  .decl closed(x: T)
  .decl hidden(x: T)
  .decl edge(x: T, y: T)
  .decl path(x: T, y: T) overridable
  .decl degree(x: T, n: number)
  .decl stack(x: T, c: Context)
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  degree(x, n) :- edge(x, _), n = count : {{ edge(x, _) }}, n < BOUND.
  degree(x, 0) :- closed(x), !edge(x, _).
  edge(x, y) :- given(y, x), !closed(y).
  stack(x, [as(x, Site), nil]) :- given(x, _), !hidden(x).
  stack(y, [as(y, Site), c]) :- stack(x, c), edge(x, y), c = [s, nil], s != as(y, Site).
  hidden(x) :- given(x, x) ; given(_, x), degree(x, 2).
}}
.init part{number:02} = Part{number:02}<Method>"""
    return "\n".join([f"// module {number}", own, *rules]) + "\n"


def _relations(number: int, rng: random.Random, rules: int) -> Iterator[str]:
    """Yield declarations and rules. A rule reads relations of its own module and of the one before it."""
    for i, shape in enumerate(_shapes(number)):
        columns = ", ".join(f"{type_.lower()}: {type_}" for type_ in shape)
        yield f".decl {_name(number, i)}({columns})"
    yield f".input {_name(number, 0)}, {_name(number, 1)}"
    yield f".decl {_name(number, _RELATIONS)}(x: {_shapes(number)[2][0]}, n: number)"
    atom = f"{_name(number, 2)}(x, _, _)"
    yield f"{_name(number, _RELATIONS)}(x, n) :- {atom}, n = count : {{ {atom} }}."
    for i in range(rules - 1):
        yield _rule(number, 2 + i % (_RELATIONS - 2), rng)


def _rule(number: int, head: int, rng: random.Random) -> str:
    """Return a rule whose body binds a variable of each type for each column of the head."""
    shape = _shapes(number)[head]
    near = [(number, i) for i in range(min(head + 2, _RELATIONS))]
    near += [(number - 1, i) for i in range(_RELATIONS) if number]
    body: list[str] = []
    bound: set[str] = set()
    rng.shuffle(near)
    for module, i in near:
        columns = _shapes(module)[i]
        if len(body) >= 2 and bound >= {*shape}:
            break
        if not bound or bound & {*columns}:
            bound |= {*columns}
            body.append(f"{_name(module, i)}({', '.join(map(str.lower, columns))})")
    if rng.random() < 0.2:
        arguments = [name.lower() if name in bound else "_" for name in _shapes(number)[0]]
        body.append(f"!{_name(number, 0)}({', '.join(arguments)})")
    if rng.random() < 0.2:
        body.append(f'({shape[0].lower()} != "main" ; {shape[1].lower()} = "init")')
    return f"{_name(number, head)}({', '.join(map(str.lower, shape))}) :-\n    " + ",\n    ".join(body) + "."


def _name(module: int, relation: int) -> str:
    return f"r{module:02}_{relation}"


def _shapes(module: int) -> list[list[str]]:
    """Return the types of the columns of each relation of a module."""
    firsts = (0, 1, 3, *range(_RELATIONS - 3))
    return [[_TYPES[(module + i + j) % len(_TYPES)] for j in range(3 + i % 3)] for i in firsts]


def evaluation(what: str, runs: int | None) -> Measured:
    """Measure `what` with the program: to "check" it, to "start" a database with it, or to add a "rule"."""
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        main = write(Path(name))
        return measure(lambda: _once(what, main), runs)


def _once(what: str, main: Path) -> Run:
    with Stopwatch() as checking:
        checked = check(read(main))
        compile_program(checked, as_written=True)
    if what == "check":
        return Run({"rules": len(checked.rules)}, checking.wall, checking.cpu)
    db = tidelog.connect()
    with Stopwatch() as starting:
        db.load(main)
        db.commit()
    with Stopwatch() as adding:
        for number in range(_TIMES):
            db.rules.add(f"added{number}: {_ADDED}")
    stopwatch, times = (starting, 1) if what == "start" else (adding, _TIMES)
    return Run({"rules": len(db.program.rules) - _TIMES}, stopwatch.wall / times, stopwatch.cpu / times)


def lines(options: Options) -> Iterator[Line]:
    """Yield one line for each of the three."""
    for what, title in (("check", "check them"), ("start", "start without facts"), ("rule", "add a rule to them")):
        measured = in_child(evaluation, what, options.runs)
        yield Line(
            "many rules",
            f"{RULES:,} rules in {FILES} files: {title}",
            measured,
            {"rules": RULES},
            (Target("seconds", _SECONDS[what]),),
        )
