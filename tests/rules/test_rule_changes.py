"""Programs that change: `Checker` and `Compiler`, which remember, against a check and a compilation from scratch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pytest

from tests.depth import cases
from tests.scripts import script_for
from tidelog import ProgramError
from tidelog.language import Checker, check, read, warnings
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.rules import Compiler, compile_program
from tidelog.rules.core import AnyRule, CoreAtom, CoreProgram, CoreRule, HyperNode, RelationInfo
from tidelog.rules.graph import Graph, graph_of, hyper_nodes
from tidelog.workspace.workspace import without

T = TypeVar("T")

MISTAKES = (
    "nowhere(1).",
    "r0: sound(1). r0: sound(2).",
    "sound(x) :- !sound(x).",
    "sound(x) :- sound(_), !sound(x), x = 1.",
    "sound(c) :- c = count : { sound(_) }.",
    "sound(x) :- sound(y).",
    'sound("text").',
    ".decl sound(x: number)",
    "sound(x) :- <step*>(x, _). step(x, x + 1) :- step(x, _).",
)
CHANGES = (
    "sound(1). sound(2). sound(x) :- sound(y), x = y + 1, x < 5.",
    ".decl besides(x: number, y: number)\nbesides(x, x + 1) :- sound(x).\nsound(x) :- <besides+>(x, _).",
    ".type Sound = [x: number]\n.decl recorded(x: Sound)\nrecorded([x]) :- sound(x). recorded(nil).",
    "sound(c) :- sound(x), c = count : { step(x, _) }, step(x, c).",
    "step(x, y) :- <step?/step*>(x, y), !sound(x).",
    ".input step",
)
FIRST = ".decl sound(x: number)\n.decl step(x: number, y: number)\n"


def outcome(checked: CheckedProgram, core: CoreProgram) -> list[object]:
    """All that can be told apart, the places that messages show included."""
    rules = [rule for node in core.nodes for rule in node.rules]
    places = [rule.span for rule in [*checked.rules, *checked.facts, *rules]]
    relations = list(core.relations.items())
    return [checked, checked.domains, [rule.kinds for rule in checked.rules], core, relations, places,
            [rule.origin for rule in rules], warnings(checked)]  # fmt: skip


def from_scratch(programs: tuple[Program, ...]) -> list[object] | str:
    try:
        checked = check(*programs)
        return outcome(checked, compile_program(checked))
    except ProgramError as error:
        return str(error)


class Remembering:
    """The texts and rules of a database, as they come and go."""

    def __init__(self) -> None:
        self.checker, self.compiler = Checker(), Compiler()
        self.programs: tuple[Program, ...] = ()
        self.refused = 0

    def add(self, text: str) -> None:
        programs = (*self.programs, read(text))
        assert self.result(programs) == from_scratch(programs)

    def result(self, programs: tuple[Program, ...]) -> list[object] | str:
        try:
            checked = self.checker.check(*programs)
            found = outcome(checked, self.compiler.compile(checked))
        except ProgramError as error:
            self.refused += 1
            return str(error)
        self.programs = self.checker.programs
        return found

    def remove(self, name: str) -> None:
        checked = check(*self.programs)
        kept = tuple(rule for rule in self.checker.check(*self.programs).rules if rule.name != name)
        self.programs = without(self.programs, [name])
        now = replace(checked, rules=kept)
        assert outcome(now, self.compiler.compile(now)) == outcome(now, compile_program(now))

    def names(self) -> list[str]:
        return [rule.name for program in self.programs for rule in program.rules if rule.name]


def steps(rng: random.Random, seed: int) -> Iterator[str]:
    """Texts to add: those of a script, in any order, among others, some of them wrong."""
    script = script_for(seed)
    yield FIRST
    yield script.declarations
    rules = [text if rng.random() < 0.5 else text.split(": ", 1)[1] for text in script.rules.values()]
    texts = [*rules, *rules, *MISTAKES, *rng.sample(CHANGES, 3)]
    for text in rng.sample(texts, min(len(texts), 14)):
        yield " ".join([text, *rng.sample(rules, rng.choice((0, 0, 1, 2)) if len(rules) > 1 else 0)])


@pytest.mark.parametrize("seed", range(cases(96)))
def test_what_is_remembered_makes_no_difference(seed: int) -> None:
    rng = random.Random(f"rule changes {seed}")
    database = Remembering()
    for text in steps(rng, seed):
        before = database.programs
        database.add(text)
        if rng.random() < 0.1:
            database.programs = before  # rolled back
        while (names := database.names()) and rng.random() < 0.4:
            database.remove(rng.choice(names))
    assert database.refused


def test_what_a_change_leaves_alone_stays_the_same_object() -> None:
    checker, compiler = Checker(), Compiler()
    text = "total(x, c) :- sound(x), c = count : { step(x, _) }. sound(x) :- step(x, _)."
    first = checker.check(read(f"{FIRST}.decl total(x: number, n: number)\n{text}"))
    old = {node.relations: node for node in compiler.compile(first).nodes}
    second = checker.check(
        *checker.programs, read(".decl third(x: number) step(x, y) :- step(y, x). third(1) :- sound(1).")
    )
    new = {node.relations: node for node in compiler.compile(second).nodes}
    assert all(a is b for a, b in zip(first.rules, second.rules, strict=False))
    assert set(new) - set(old) == {("step",), ("third",)}
    assert all(node is new[name] for name, node in old.items())


def test_a_rule_with_an_aggregate_follows_what_becomes_recursive_with_it() -> None:
    database = Remembering()
    database.add(FIRST + "step(x, c) :- sound(x), c = count : { odd(x, _) }.\n.decl odd(x: number, y: number)")
    database.add("sound(x) :- step(x, _).")
    database.remove("r2")


SEQUENCES = {
    "a relation that was read first gets rules": (
        ".decl a, b, c, d(x: number)\nb(x) :- d(x).",
        "a(x) :- c(x).",
        "c(x) :- b(x).",
        "d(x) :- a(x), x > 3.",
    ),
    "paths, and relations with nodes of their type": (
        ".type N <: symbol\n.decl e, r(x: N, y: N)\nr(x, y) :- <e?>(x, y).",
        ".decl f(x: N, y: N)\nf(x, y) :- e(y, x).",
        ".decl g(x: N, y: N)\n.input g\nr(x, y) :- <g/e*>(x, y).",
        "r(x, y) :- <e?>(y, x).",
    ),
    "groups through the recursion": (
        ".decl t(s: number, e: number)\n.decl h(s: number, e: number)\nh(0, e) :- t(0, e).",
        "h(s, e) :- h(_, n), s = min z : { t(z, _), z >= n }, t(s, e).",
        ".decl u(s: number)\nu(s) :- h(s, _).",
        "h(s, e) :- t(e, s), s > 100.",
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_rules_that_come_one_after_the_other(name: str) -> None:
    database = Remembering()
    for text in SEQUENCES[name]:
        database.add(text)
    assert not database.refused


@pytest.mark.parametrize("changed", [".decl a(x: symbol)", ".type T = symbol", ".type T = T"])
def test_what_has_passed_is_checked_again_under_other_declarations(changed: str) -> None:
    parts = [read(text) for text in (".decl a(x: number)", ".type T = number", ".decl b(x: T)", "b(x) :- a(x).")]
    checker = Checker()
    checker.check(*parts)
    position = 0 if "decl" in changed else 1
    programs = (*checker.programs[:position], read(changed), *checker.programs[position + 1 :])
    with pytest.raises(ProgramError) as refused:
        checker.check(*programs)
    assert str(refused.value) == from_scratch(programs)


def test_places_are_those_of_the_declarations_that_count() -> None:
    """A declaration that was rolled back and comes again elsewhere."""
    checker = Checker()
    checker.check(read(".decl a(x: number)"))
    again = read("// a line before\n.decl a(x: number)")
    assert checker.check(again).relations["a"].span == again.declarations[0].span
    with pytest.raises(ProgramError) as refused:
        checker.check(again, read("a(1, 2)."))
    with pytest.raises(ProgramError) as expected:
        check(again, read("a(1, 2)."))
    assert str(refused.value) == str(expected.value)


def test_rules_that_come_and_go_leave_the_rest_of_the_graph_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is never made anew as a whole, not even where hyper-nodes merge and split."""
    made: list[int] = []

    def watched(rules: Sequence[AnyRule], *others: Any) -> tuple[HyperNode, ...]:
        made.append(len(rules))
        return hyper_nodes(rules, *others)

    database = Remembering()
    database.add(FIRST + "step(1, 2). sound(x) :- step(x, _). sound(x) :- step(_, x), x > 0.")
    monkeypatch.setattr("tidelog.rules.graph.hyper_nodes", watched)
    checker, compiler = database.checker, database.compiler
    for text in (
        "sound(x) :- step(x, x).",
        ".decl third(x: number) third(x) :- sound(x), !step(x, x).",
        "third(x) :- third(y), x = y - 1, x > 0.",
        "back: step(x, x) :- sound(x).",
    ):
        core = compiler.compile(checker.check(*checker.programs, read(text)))
    assert [node.relations for node in core.nodes] == [("sound", "step"), ("third",)]
    core = compiler.compile(checker.check(*without(checker.programs, ["back"])))
    assert [node.relations for node in core.nodes] == [("sound",), ("third",)]
    assert not made


def ring(name: str, head: int, *body: int, negated: bool = False) -> CoreRule:
    """A rule between relations p0, p1, …, without columns."""
    atoms = tuple(CoreAtom(f"p{each}", (), negated and each == body[-1]) for each in body)
    return CoreRule(name, name, CoreAtom(f"p{head}", ()), atoms)


def or_error(make: Callable[[], T]) -> T | str:
    try:
        return make()
    except ProgramError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(cases(24)))
def test_a_graph_that_follows_its_rules_is_the_one_from_scratch(seed: int) -> None:
    """Also the objects that stay are the same. Rules come at any place, a few or many at once; some make an error."""
    rng = random.Random(f"rule graphs {seed}")
    relations = {f"p{i}": RelationInfo(f"p{i}", ()) for i in range(30)}
    size, upward = rng.choice((4, 8, 16, 30)), rng.random() / 2
    names = (f"r{i}" for i in itertools.count())
    rules, last = list[AnyRule](), Graph()
    for _ in range(60):
        now = list(rules)
        for _ in range(min(rng.choice((0, 1, 1, 2, 4)), len(now))):
            now.pop(rng.randrange(len(now)))
        for _ in range(rng.choice((0, 1, 1, 2, 6))):
            head = rng.randrange(size)
            highest = (size if rng.random() < upward else max(head, 1) for _ in range(rng.choice((0, 1, 1, 2, 3))))
            rule = ring(next(names), head, *map(rng.randrange, highest), negated=rng.random() < 0.08)
            now.insert(rng.choice((len(now), len(now), rng.randrange(len(now) + 1))), rule)
        if rng.random() < 0.03:
            rng.shuffle(now)
        expected = or_error(partial(hyper_nodes, now, relations, last.by_relations))
        found = or_error(partial(graph_of, now, relations, last))
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected
            continue
        assert found.nodes == expected
        before = {id(node) for node in last.nodes}
        assert [id(node) in before for node in found.nodes] == [id(node) in before for node in expected]
        assert found.places == {name: i for i, node in enumerate(found.nodes) for name in node.relations}
        rules, last = now, found


@pytest.mark.parametrize(
    ("before", "gone", "added", "order"),
    [
        ([(1, 0), (2, 1), (3, 0)], [1], [], ["p1", "p3"]),
        ([(1, 0), (2, 1), (3, 0)], [0], [], ["p2", "p3"]),
        ([(3, 1), (1, 0), (2, 0)], [1], [], ["p3", "p2"]),  # p3 need not wait for p1 any more
        ([(1, 0), (2, 0)], [], [(1, 2)], ["p2", "p1"]),
        ([(1, 0), (2, 1), (3, 2)], [], [(1, 3)], ["p1 p2 p3"]),
        ([(1, 3), (2, 1), (3, 2), (4, 0)], [0], [], ["p2", "p3", "p4"]),
        ([(1, 4), (2, 0)], [], [(4, 0)], ["p2", "p4", "p1"]),  # p4 gets its first rule
        ([(1, 4), (2, 0), (4, 2)], [], [(2, 1), (3, 2)], ["p1 p2 p4", "p3"]),
    ],
)
def test_hyper_nodes_merge_split_and_change_places(
    before: list[tuple[int, int]], gone: list[int], added: list[tuple[int, int]], order: list[str]
) -> None:
    rules = [ring(f"r{i}", *each) for i, each in enumerate(before)]
    last = graph_of(rules, {}, Graph())
    now = [rule for i, rule in enumerate(rules) if i not in gone]
    now += [ring(f"a{i}", *each) for i, each in enumerate(added)]
    assert [" ".join(sorted(node.relations)) for node in graph_of(now, {}, last).nodes] == order


@pytest.mark.parametrize(
    "later",
    [
        "a(x) :- c(x).",  # c depends on a: a cycle
        "a(x) :- a(x), base(x).",
        "b(x) :- d(x). d(x) :- a(x).",
        "b(x) :- d(x). d(x) :- c(x).",
        "d(x) :- e(x). e(x) :- d(x), b(x). c(x) :- e(x).",
        "base(x) :- c(x).",
        "d(x) :- c(x). early(x) :- d(x).",
        "a(n) :- base(n), n = count : { c(_) }.",
        "c(n) :- base(n), n = count : { a(_) }.",
        "c(x) :- base(x), !a(x).",
    ],
)
def test_rules_added_beside_others(later: str) -> None:
    database = Remembering()
    names = "base", "a", "b", "c", "d", "e", "early"
    declared = " ".join(f".decl {name}(x: number)" for name in names)
    database.add(f"{declared} a(x) :- base(x). b(x) :- a(x). c(x) :- b(x), !early(x). c(x) :- c(y), x = y % 3.")
    database.add(later)
    database.add("c(x) :- a(x), base(x).")
    database.add("e(x) :- b(x). b(n) :- base(n), n = count : { a(_) }.")
