"""`ord` is a number of the value: other for each value, and the same on every engine, in any order and after a restart.

`ONE` and `OTHER` are two texts with one number, which a search through some billions of hashes has found.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tests.certificate.test_functors import Bench
from tests.depth import cases
from tests.generate import Row
from tests.spark.cluster.harness import evaluated
from tests.suite import FIRST_SEED, Facts, Views, evaluate_embedded, evaluate_naive, evaluate_seminaive, views
from tidelog.errors import DataError, UsageError
from tidelog.language.branches import branch_class
from tidelog.semantics.ordinals import ordinals

ONE, OTHER = "ccimolgligcfhoae", "mnfbbcbbicjmhmfc"
TYPES = """
.type Pair = [left: symbol, right: number]
.type List = [head: Pair, tail: List]
.type Shape = Dot {} | Line {length: float} | Text {text: symbol} | Both {first: Shape, list: List}
"""
PROGRAM = f"""{TYPES}
.decl s(@at: symbol, x: symbol)
.decl p(@at: symbol, x: Pair)
.decl l(@at: symbol, x: List)
.decl t(@at: symbol, x: Shape)
""" + "".join(
    f"""
.decl {name}_number(@at: symbol, x: {type_}, n: number)
.decl {name}_least(@at: symbol, x: {type_})
.decl {name}_before(@at: symbol, x: {type_}, y: {type_})
{name}_number(@a, x, ord(x)) :- {name}(@a, x).
{name}_least(@a, x) :- {name}(@a, x), m = min ord(k) : {{ {name}(a, k) }}, ord(x) = m.
{name}_before(@a, x, y) :- {name}(@a, x), {name}(@a, y), ord(x) < ord(y).
"""
    for name, type_ in {"s": "symbol", "p": "Pair", "l": "List", "t": "Shape"}.items()
)
CENTRAL = PROGRAM.replace("@", "")
DOT, LINE = branch_class("Dot", ()), branch_class("Line", ("length",))
TEXT, BOTH = branch_class("Text", ("text",)), branch_class("Both", ("first", "list"))


def some_text(rng: random.Random) -> str:
    return rng.choice(("", "a", "prefix")) + "".join(rng.choices("ab\0é😀ß ", k=rng.randrange(4)))


def some_pair(rng: random.Random) -> tuple[str, int] | None:
    return (some_text(rng), rng.choice((0, 1, -1, 2**63 - 1))) if rng.random() < 0.9 else None


def some_list(rng: random.Random) -> Row | None:
    return (some_pair(rng), some_list(rng)) if rng.random() < 0.6 else None


def some_shape(rng: random.Random, depth: int = 2) -> Row:
    match rng.randrange(4 if depth else 3):
        case 0:
            return DOT()
        case 1:
            return LINE(rng.choice((0.0, 1.0, -0.5, 1e300)))
        case 2:
            return TEXT(some_text(rng))
    return BOTH(some_shape(rng, depth - 1), some_list(rng))


def some_facts(rng: random.Random) -> dict[str, list[Row]]:
    makers: dict[str, Callable[[random.Random], object]] = {
        "s": some_text,
        "p": some_pair,
        "l": some_list,
        "t": some_shape,
    }
    return {name: [("n", make(rng)) for _ in range(rng.randrange(1, 8))] for name, make in makers.items()}


def simulated(text: str, facts: Facts) -> Views:
    network = tidelog.network.Simulation(text, seed=1)
    for name, rows in facts.items():
        network.insert(name, list(rows))
    network.run()
    return {name: network[name] for name in evaluate_naive(CENTRAL, {})}


def test_values_have_numbers_of_their_own_that_are_the_same_everywhere(tmp_path: Path) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(3)):
        rng = random.Random(f"ordinals {seed}")
        facts = some_facts(rng)
        found = evaluate_embedded(CENTRAL, facts)
        for name in facts:
            numbers = {x: n for _, x, n in found[f"{name}_number"]}
            assert len({*numbers.values()}) == len(numbers) == len({*facts[name]}), f"seed {seed}: {name}"
            assert found[f"{name}_least"] == {("n", min(numbers, key=numbers.__getitem__))}, f"seed {seed}"
        assert evaluate_naive(CENTRAL, facts) == found, f"seed {seed}"
        assert evaluate_seminaive(CENTRAL, facts) == found, f"seed {seed}"
        assert evaluated(CENTRAL, facts) == found, f"seed {seed}"
        assert simulated(PROGRAM, facts) == found, f"seed {seed}"
        db = tidelog.connect(tmp_path / str(seed))
        db.load(CENTRAL)
        changes = [(name, row) for name in facts for row in facts[name]]
        rng.shuffle(changes)
        for name, row in changes:
            db.insert(name, [row])
            db.commit()
        assert views(db) == found, f"seed {seed}, one by one"
        db.check()
        db.close()
        db = tidelog.connect(tmp_path / str(seed))
        db.insert("s", [("n", "another")])
        db.commit()
        db.delete("s", [("n", "another")])
        db.commit()
        assert views(db) == found, f"seed {seed}, opened again"
        db.close()


def test_long_lists_have_numbers() -> None:
    chain: Row | None = None
    for number in range(2_000):
        chain = (("x", number), chain)
    found = evaluate_embedded(CENTRAL, {"l": [("n", chain)]})
    assert {n for _, _, n in found["l_number"]} == {*ordinals([chain])}


NUMBERS = ".decl s(x: symbol) .decl n(x: symbol, n: number) r: n(x, ord(x)) :- s(x)."


def test_two_values_with_one_number_are_an_error() -> None:
    db = tidelog.connect()
    db.load(NUMBERS)
    db.insert("s", [(ONE,), ("a",)])
    db.commit()
    db.insert("s", [(OTHER,), ("b",)])
    with pytest.raises(DataError, match=f"two values, '{ONE}' and '{OTHER}'") as caught:
        db.commit()
    assert caught.value.code == "E0409"
    db.delete("s", [(OTHER,)])
    db.commit()
    assert {x for x, _ in db["n"]} == {ONE, "a", "b"}
    both = tidelog.connect()
    both.load(NUMBERS)
    both.insert("s", [(ONE,), (OTHER,)])
    with pytest.raises(DataError, match="E0409"):
        both.commit()


def test_a_number_may_come_back_when_its_value_has_gone() -> None:
    """The words of symbols are given back and used for others, which have numbers of their own."""
    db = tidelog.connect()
    db.load(NUMBERS)
    names = [(f"x{number}",) for number in range(6_000)]
    db.insert("s", [*names, (ONE,)])
    db.commit()
    db.delete("s", [*names, (ONE,)])
    db.commit()
    db.insert("s", [("kept",)])
    db.commit()
    others = [(f"y{number}",) for number in range(6_000)]
    db.insert("s", [*others, (OTHER,)])
    db.commit()
    assert len(db["n"]) == 6_002
    assert set(db["n"]) == set(evaluate_embedded(NUMBERS, {"s": list(db["s"])})["n"])


def test_nodes_report_two_values_with_one_number() -> None:
    network = tidelog.network.Simulation(
        ".decl s(@a: symbol, x: symbol) .decl n(@a: symbol, n: number)\nn(@a, ord(x)) :- s(@a, x).", seed=1
    )
    network.insert("s", [("n", ONE)])
    network.run()
    with pytest.raises(UsageError, match="E0409"):
        network.insert("s", [("n", OTHER)])


def test_the_checker_reports_two_values_with_one_number() -> None:
    with Bench() as bench:
        call = bench.functors.call("ord", ["symbol"], "number", ["c0"])
        assert len(bench.evaluate(call, [(ONE,), ("a",), (ONE,)], ["symbol"])) == 3
        with pytest.raises(Exception, match="E0409"):
            bench.evaluate(call, [(OTHER,)], ["symbol"])
        assert isinstance(bench.functors.failure, DataError)


def test_a_store_of_another_meaning_is_evaluated_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, `ord` was the code of the first character; a checkpoint has views with that."""
    with monkeypatch.context() as before:
        before.setattr("tidelog.version.MEANING", 0)
        before.setattr("tidelog.maintain.functors.text_ordinal", lambda text: ord(text[0]))
        db = tidelog.connect(tmp_path / "s")
        db.load(NUMBERS)
        db.insert("s", [("a",)])
        db.commit()
        db.keeper.write_checkpoint(db.engine)
        assert set(db["n"]) == {("a", 97)}
        db.close()
    db = tidelog.connect(tmp_path / "s")
    assert set(db["n"]) == {("a", 3405396810240292928)}
    db.close()
