"""Queries that are bodies of rules: what they answer, on views that change, beside the reference evaluator."""

from __future__ import annotations

import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.language import check, read
from tidelog.queries.evaluation import Evaluation
from tidelog.reference.naive import evaluate

PROGRAM = """\
.type P = [a: number, b: symbol]
.decl e, t, v(x: number, y: number)
.decl s(name: symbol, x: number)
.decl p(p: P, w: float, u: unsigned)
.decl flag()
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
v(x, n) :- e(x, _), n = count : { t(x, _) }.
"""
BODIES = [
    "e(x, y), e(y, z)",
    "e(k, y), t(y, z), z > j",
    "e(x, x), true",
    "e(x, k)",
    "t(k, y), !e(k, y)",
    "t(x, y), !e(_, x), y != j",
    "v(x, n), e(k, x), n >= j",
    "n = count : { t(k, _) }",
    "e(x, _), n = sum y + j : { t(x, y), y < k }",
    "e(x, y), m = max z : { t(y, z) }",
    "(e(x, y), x < k ; t(y, x), w = x + 1, y = w)",
    "<e/e>(k, y), s(name, y)",
    "e+(x, y), x = y",
    "e*(k, y), !e(y, _)",
    "<^e|t>(k, y), y != k",
    "s(name, x), s(name, y), x < y",
    's(name, x), contains("a", name), e(x, y)',
    "s(cat(c, d), x), d = to_string(k), s(c, x)",
    "e(x, y), z = 3000000000 * x, z > k",
    "e(x, y), f = to_float(x) / 2.0, f < 1.5",
    "p([x, name], w, u), e(x, y), u > 1",
    "p(r, w, _), r = [_, name], s(name, _), w < 2.5",
    "p(r, _, _), r != nil",
    "x = range(0, k), !e(x, _)",
    "flag(), e(x, k)",
    "!flag()",
    "e(k, j), t(j, k)",
    "true, e(x, y), e(y, x)",
]  # fmt: skip


def random_facts(rng: random.Random) -> dict[str, list[tuple[Any, ...]]]:
    """Return facts for each relation without rules."""
    return {
        "e": [(rng.randrange(6), rng.randrange(6)) for _ in range(rng.randrange(1, 8))],
        "s": [(rng.choice(["a", "ab", "b", "a1", "c"]), rng.randrange(6)) for _ in range(rng.randrange(6))],
        "p": [((rng.randrange(4), "a"), float(rng.randrange(4)), rng.randrange(3)) for _ in range(rng.randrange(3))],
        "flag": [()] * rng.randrange(2),
    }


def ask(db: tidelog.Database, body: str, values: dict[str, int]) -> tidelog.Relation:
    """Return the answer to a body with those parameters that it has."""
    return db.query(body, **{name: value for name, value in values.items() if re.search(rf"\b{name}\b", body)})


def as_rule(number: int, body: str, columns: tuple[Any, ...], values: dict[str, int]) -> str:
    """Return a body with constants for its parameters as a rule of a relation of its own."""
    attributes = ", ".join(f"{column.name}: {column.kind}" for column in columns)
    head = ", ".join(column.name for column in columns)
    text = re.sub(r"\b[kj]\b", lambda match: str(values[match[0]]), body)
    return f".decl q{number}({attributes})\nq{number}({head}) :- {text}.\n"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(5)))
def test_answers_are_those_of_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    db = tidelog.connect()
    db.load(PROGRAM)
    db.commit()
    facts: dict[str, set[tuple[Any, ...]]] = {"e": set(), "s": set(), "p": set(), "flag": set()}
    for epoch in range(5):
        for name, rows in random_facts(rng).items():
            gone = {row for row in facts[name] if rng.random() < 0.4}
            db.delete(name, gone)
            db.insert(name, rows)
            facts[name] = facts[name] - gone | set(rows)
        db.commit()
        sizes = {name: len(stored) for name, stored in db.engine.views.items()}
        values = {"k": rng.randrange(6), "j": rng.randrange(6)}
        answers = [ask(db, body, values) for body in BODIES]
        assert {name: len(stored) for name, stored in db.engine.views.items()} == sizes
        rules = [as_rule(i, body, answers[i].columns, values) for i, body in enumerate(BODIES)]
        model = evaluate(check(read(PROGRAM + "".join(rules))), facts)
        for i, (body, found) in enumerate(zip(BODIES, answers, strict=True)):
            assert set(found) == model[f"q{i}"], f"seed {seed}, epoch {epoch}, {body}, {values}"
            assert len(found) == len(set(found))
    db.check()


@pytest.fixture
def db() -> tidelog.Database:
    found = tidelog.connect()
    found.load(PROGRAM + ".type node <: symbol\n.decl n(who: node, age: number)\n")
    found.insert("e", [(1, 2), (2, 3), (3, 4)])
    found.insert("n", [("ann", 30), ("bob", 40)])
    found.commit()
    return found


def test_columns_are_the_variables_in_the_order_of_their_occurrence(db: tidelog.Database) -> None:
    answer = db.query("e(y, x), t(_, y), n(who, age), age > limit, z = cat(who, '!')".replace("'", '"'), limit=30)
    columns = [(column.name, column.type) for column in answer.columns]
    expected = [("y", "number"), ("x", "number"), ("who", "node"), ("age", "number"), ("z", "symbol")]
    assert columns == expected
    assert set(answer) == {(2, 3, "bob", 40, "bob!"), (3, 4, "bob", 40, "bob!")}


def test_one_atom_answers_with_tuples_and_with_parameters_with_variables(db: tidelog.Database) -> None:
    assert set(db.query("e(1, y)")) == {(1, 2)}
    assert set(db.query("e(k, y)", k=1)) == {(2,)}


def test_a_query_without_variables_is_a_question(db: tidelog.Database) -> None:
    assert list(db.query("e(1, 2), t(1, 4)")) == [()]
    assert list(db.query("e(1, 2), t(4, 1)")) == []


def test_constants_of_all_kinds_in_texts_that_are_otherwise_alike(db: tidelog.Database) -> None:
    for _ in range(3):
        assert set(db.query("e(1, y)")) == {(1, 2)}
        assert set(db.query("e(2, y)")) == {(2, 3)}
        assert set(db.query("e(-1, y)")) == set()
        assert set(db.query('n("ann", a)')) == {("ann", 30)}
        assert set(db.query('n("nobody", a)')) == set()
        for wrong in ('e("1", y)', "e(1.5, y)", "e(99999999999999999999, y)", "n(1, a)"):
            with pytest.raises(tidelog.ProgramError):
                db.query(wrong)


def test_a_query_follows_declarations_and_rules(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.ProgramError):
        db.query("later(x), e(x, y)")
    db.load(".decl later(x: number)\nlater(2).")
    assert set(db.query("later(x), e(x, y)")) == set()
    db.commit()
    assert set(db.query("later(x), e(x, y)")) == {(2, 3)}
    assert set(db.query("e*(k, y), e(_, y)", k=3)) == {(3,), (4,)}
    db.rules.add("n9: e(x, y) :- later(x), y = x + 7.")
    db.commit()
    assert set(db.query("later(x), e(x, y)")) == {(2, 3, ), (2, 9)}  # fmt: skip
    assert set(db.query("e*(k, y), e(_, y)", k=5)) == set()


def test_queries_see_the_last_epoch_inside_of_a_transaction(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("e", [(4, 5)])
        assert set(db.query("e(3, y), e(y, z)")) == set()
    assert set(db.query("e(3, y), e(y, z)")) == {(4, 5)}


def test_a_query_changes_nothing(db: tidelog.Database) -> None:
    db.insert("e", [(i, i + 1) for i in range(10, 3_000)])
    db.commit()
    before = db.stats()
    indexes = {name: set(stored.indexes) for name, stored in db.engine.views.items()}
    assert len(db.query("e(x, y), v(y, n), e(y, z)")) == 2_991
    assert {name: set(stored.indexes) for name, stored in db.engine.views.items()} == indexes
    after = db.stats()
    assert {**after, "derivations": 0, "memory": 0} == {**before, "derivations": 0, "memory": 0}
    assert not db.has_pending


def test_plans_and_indexes_stay_for_a_query_that_is_asked_again(
    db: tidelog.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    evaluated = Evaluation._evaluate

    def counted(self: Evaluation, *arguments: Any) -> None:
        made.append(self)
        evaluated(self, *arguments)

    monkeypatch.setattr(Evaluation, "_evaluate", counted)
    for key in (1, 2, 3, 1, 2):
        assert set(db.query("e(k, y), e(y, z)", k=key)) == ({(key + 1, key + 2)} if key < 3 else set())
    assert len(made) == 1
    db.delete("e", [(2, 3)])
    db.insert("e", [(2, 4), (4, 9)])
    db.commit()
    assert set(db.query("e(k, y), e(y, z)", k=1)) == {(2, 4)}
    assert set(db.query("e(k, y), e(y, z)", k=2)) == {(4, 9)}


def test_plans_are_released_with_the_relations_that_an_epoch_replaces(db: tidelog.Database) -> None:
    for _ in range(3):
        db.query("t(k, y), t(y, z)", k=1)
    db.options(strategy="bootstrap")
    db.insert("e", [(4, 5)])
    db.commit()
    assert set(db.query("t(k, y), t(y, z)", k=3)) == {(4, 5)}


def test_answers_of_different_lengths() -> None:
    """The memory of a query's answer is used again."""
    db = tidelog.connect()
    db.load(".decl r(x: number, y: number)\n")
    lengths = [0, 1, 3, 500, 511, 700, 900, 1_023, 1_024, 1_025, 5_000]
    db.insert("r", [(x, y) for x, length in enumerate(lengths) for y in range(length)])
    db.commit()
    rng = random.Random(3)
    for _ in range(60):
        x, least = rng.randrange(len(lengths)), rng.choice([0, 0, 400])
        assert set(db.query("r(k, y), y >= least", k=x, least=least)) == {(y,) for y in range(least, lengths[x])}


def test_a_query_with_many_answers_is_asked_again_and_again() -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number)")
    db.insert("e", [(i % 100, i) for i in range(60_000)])
    db.commit()
    expected = [(i, i % 100, i) for i in range(0, 60_000, 2)]
    for _ in range(4):
        assert sorted(db.query("e(x, y), y = 2 * (y / 2), z = y")) == sorted((x, y, z) for y, x, z in expected)


def test_words_that_were_given_back_are_not_met_again() -> None:
    db = tidelog.connect()
    db.load(".decl s(a: symbol, b: symbol)\n")
    for epoch in range(8):
        db.insert("s", [(f"{epoch}.{i}", f"{epoch}.{i + 1}") for i in range(2_000)])
        if epoch:
            db.delete("s", [(f"{epoch - 1}.{i}", f"{epoch - 1}.{i + 1}") for i in range(2_000)])
        db.commit()
        for name, found in (
            ("0.5", {("0.6", "0.7")} if not epoch else set()),
            (f"{epoch}.1", {(f"{epoch}.2", f"{epoch}.3")}),
        ):
            assert set(db.query("s(k, b), s(b, c)", k=name)) == found
            assert set(db.query(f's("{name}", b), s(b, c)')) == found
            assert {b for _, b in db.query(f's("{name}", b)')} == {b for b, _ in found}


@pytest.mark.parametrize("size", [3, 5_000])
def test_a_bound_key_is_found_with_and_without_an_index(size: int) -> None:
    db = tidelog.connect()
    db.load(".decl r(x: number, y: number, z: number)\n")
    db.insert("r", [(i % 7, i, i % 3) for i in range(size)])
    db.commit()
    for turn in range(40):
        if turn == 20:
            db.delete("r", [(1, 1, 1)])
            db.insert("r", [(1, size, 0)])
            db.commit()
        rows = set(db["r"])
        key = turn % 8
        assert set(db.query(f"r({key}, Y, Z)")) == {row for row in rows if row[0] == key}
        assert set(db.query(f"r({key}, Y, 1)")) == {row for row in rows if row[0] == key and row[2] == 1}
        assert set(db.query(f"r({key}, {turn}, {turn % 3})")) == rows & {(key, turn, turn % 3)}
        assert set(db.query(f"r(X, X, {turn % 3})")) == {row for row in rows if row[0] == row[1] and row[2] == turn % 3}


def test_relations_that_stand_for_others() -> None:
    """Inline relations are replaced; equivalences and selections are read as views, not derived again."""
    db = tidelog.connect()
    db.load("""
    .decl e(x: number, y: number)
    .decl two(x: number, y: number) inline
    .decl same(x: number, y: number) eqrel
    .decl least(x: number, y: number) min(y)
    two(x, z) :- e(x, y), e(y, z).
    same(x, y) :- e(x, y).
    least(x, y) :- e(x, y).
    """)
    db.insert("e", [(1, 2), (2, 3), (1, 5)])
    db.insert("least", [(1, 1), (1, 7), (4, 4)])
    db.commit()
    for _ in range(3):
        assert set(db.query("two(1, x)")) == {(3,)}
        assert set(db.query("two(k, x), same(k, x)", k=1)) == {(3,)}
        assert set(db.query("same(k, y), y != k", k=3)) == {(1,), (2,), (5,)}
        assert set(db.query("least(x, y), x < 3")) == {(1, 1), (2, 3)}
        assert set(db.query("least(1, y)")) == {(1, 1)}
    db.delete("least(x, 1)")
    db.commit()
    assert set(db.query("least(1, y)")) == {(1, 2)}
    assert set(db.query("least(k, y)", k=1)) == {(2,)}
    db.clear("least")
    db.commit()
    assert set(db["least"]) == {(1, 2), (2, 3)}
    for call, argument in ((db.clear, "two"), (db.delete, "two(1, _)")):
        with pytest.raises(tidelog.UsageError) as raised:
            call(argument)
        assert raised.value.code == "E0611"
    db.rules.add("more: two(x, y) :- least(x, y).")
    assert set(db.query("two(1, x)")) == {(3,), (2,)}


def test_limits_hold(db: tidelog.Database) -> None:
    db.insert("e", [(i, i + 1) for i in range(10, 1000)])
    db.commit()
    db.options(max_rows=1000)
    with pytest.raises(tidelog.LimitError) as raised:
        db.query("e(x, _), e(y, _), x < y")
    assert raised.value.code == "E0502"
    db.options(max_rows=None, timeout=1e-9)
    with pytest.raises(tidelog.LimitError) as raised:
        db.query("e(x, _), e(y, _), x < y")
    assert raised.value.code == "E0501"
    assert "the query was stopped" in str(raised.value)
    db.options(timeout=None)
    assert set(db.query("e(1, y), e(y, z)")) == {(2, 3)}


def test_threads_ask_while_another_one_commits(db: tidelog.Database) -> None:
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = set(db.query("e(k, y), e(y, z)", k=50))
            if found not in (set(), {(51, 52)}):
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        db.insert("e", [(50, 51), (51, 52)])
        db.commit()
        db.delete("e", [(50, 51), (51, 52)])
        db.commit()
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("query", "values", "code"),
    [
        ("e(x, y), y > limit", {}, "E0217"),
        ("e(x, y), y > limit", {"limi": 3}, "E0612"),
        ("e(x, y), y > limit", {"limit": "three"}, "E0401"),
        ("e(x, y), y > limit", {"limit": True}, "E0401"),
        ("e(x, y), y > limit", {"limit": None}, "E0403"),
        ("e(x, y), y > limit", {"limit": 2**63}, "E0402"),
        ("p(_, w, _), w > limit", {"limit": float("nan")}, "E0404"),
        ("p(r, _, _)", {"r": (1,)}, "E0401"),
        ("e(x, y), !t(y, z)", {}, "E0216"),
        ("e(x, y), nobody(y)", {}, "E0201"),
        ("e(x, y), s(y, _)", {}, "E0211"),
        ("e(x, y), s(k, _), e(k, _)", {"k": 1}, "E0211"),
        ("e(x, y, z), e(x, y)", {}, "E0208"),
        ("e(x, y) e(y, x)", {}, "E0101"),
        ("e(x, y), e(y", {}, "E0101"),
        ("", {}, "E0101"),
        ("e(x, y), e(y, x). e(x, x)", {}, "E0607"),
        ("q(x) :- e(x, y)", {}, "E0607"),
        ("e(x, y), s\0(y)", {}, "E0109"),
        (".decl q(x: number)", {}, "E0101"),
    ],
)  # fmt: skip
def test_wrong_queries(db: tidelog.Database, query: str, values: dict[str, Any], code: str) -> None:
    with pytest.raises(tidelog.TidelogError) as raised:
        db.query(query, **values)
    assert raised.value.code == code
    assert "#" not in str(raised.value).replace("<query>", "")


def test_a_query_includes_no_file(db: tidelog.Database, tmp_path: Path) -> None:
    file = tmp_path / "file.dl"
    file.write_text("e(x, y) :- e(y, x).")  # In a query this is E0607.
    for line in (f'#include "{file}"', f'  .include "{file}"', f'e(x, y)\n# include "{file}"'):
        with pytest.raises(tidelog.ProgramError, match=r"E010[12]"):
            db.query(line)


def test_messages_show_the_text_of_the_query(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.ProgramError) as raised:
        db.query("e(x, y), y > limit")
    assert str(raised.value) == (
        "<query>:1:14: error[E0217]: variable `limit` of this query is not grounded: `>` only compares\n"
        "    1 | e(x, y), y > limit\n"
        "      |              ^^^^^\n"
        "  hint: use `limit` in a positive atom of the body, or give it a value with `limit = …`, or pass its value: "
        "db.query(…, limit=…)"
    )
