"""Names that all databases have: over a process, Spark, triples, a network and a server."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

import tidelog
from tests.client.test_database import connected
from tidelog import UsageError
from tidelog.errors import PendingWarning
from tidelog.network import Simulation
from tidelog.rdf import connect as connect_triples

DECLARED = ".decl e(x: number, y: number) .decl p(x: number, y: number)\n"
LOCATED = ".decl e(@x: symbol, y: symbol) .decl p(@x: symbol, y: symbol)\n"


@dataclass
class Site:
    """A database with the rule `base`, from which `p` gets what `e` has, and a row of `e` with its reverse."""

    db: Any
    commit: Callable[[], object]
    found: Callable[[], set[tuple[Any, ...]]]
    row: tuple[Any, Any]
    texts: tuple[str, ...]
    """The rule `base`; `back`, which gives the reverse; and another rule `back`, which gives pairs of equal values."""
    more: Any = None
    """Facts that `e` does not have."""
    raises_late: bool = False
    """True if the commit refuses what a database refuses at once."""


TEXTS = "base: p(x, y) :- e(x, y).", "back: p(y, x) :- e(x, y).", "back: p(x, x) :- e(x, _)."


def filled(db: Any, **options: Any) -> Site:
    db.load(DECLARED + TEXTS[0])
    db.insert("e", [(1, 2)])
    db.commit()
    rows = getattr(db, "local", db.__getitem__)
    return Site(db, db.commit, lambda: set(rows("p")), (1, 2), TEXTS, ["e", [(5, 6)]], **options)


@contextmanager
def embedded(_: Callable[[], Any]) -> Iterator[Site]:
    with tidelog.connect() as db:
        yield filled(db)


@contextmanager
def over_spark(session: Callable[[], Any]) -> Iterator[Site]:
    with tidelog.connect(spark=session()) as db:
        yield filled(db)


@contextmanager
def behind_a_server(_: Callable[[], Any]) -> Iterator[Site]:
    with connected() as (db, _server):
        db.rules.remove(*db.rules)
        yield filled(db, raises_late=True)


@contextmanager
def of_triples(_: Callable[[], Any]) -> Iterator[Site]:
    prefix, row = "@prefix : <http://example.org/> .\n", ("http://example.org/a", "http://example.org/b")
    texts = tuple(text.replace("e(x", ":e(x") for text in TEXTS)
    with connect_triples(rules=[f"{prefix}.decl p(x: symbol, y: symbol)\n{texts[0]}"]) as store:
        store.insert(f"{prefix}:a :e :b .")
        store.commit()
        yield Site(store, store.commit, lambda: set(store["p"]), row, texts, [f"{prefix}:b :e :c ."])


@contextmanager
def of_a_network(_: Callable[[], Any]) -> Iterator[Site]:
    texts = tuple(text.replace("p(x", "p(@x").replace("p(y", "p(@y").replace("e(x", "e(@x") for text in TEXTS)
    network = Simulation(LOCATED + texts[0], seed=1)
    network.insert("e", [("a", "b")])
    network.run()
    yield Site(network, network.run, lambda: network["p"], ("a", "b"), texts, ["e", [("b", "c")]])


SITES = [
    embedded,
    pytest.param(over_spark, marks=pytest.mark.spark),
    behind_a_server,
    of_triples,
    of_a_network,
]


OPTIONS = {"timeout": 2.5}


def test_options_show_themselves(site: Site) -> None:
    if not hasattr(site.db, "options"):
        return  # Those of a server are the server's.
    before = site.db.options()
    assert before["timeout"] is None
    site.db.options(**OPTIONS)
    assert site.db.options() == {**before, **OPTIONS}
    site.db.options(**before)
    assert site.db.options() == before


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with request.param(lambda: request.getfixturevalue("spark")) as found:
        yield found


def test_rules_come_change_and_go(site: Site) -> None:
    rules, (one, two), (base, back, other) = site.db.rules, site.row, site.texts
    assert dict(rules) == {"base": base}
    rules.add(back)
    site.commit()
    rules = site.db.rules
    assert rules.names == tuple(rules) == ("base", "back")
    assert len(rules) == 2
    assert rules["back"] == back
    assert rules.get("back") == back
    assert rules.get("none") is None
    assert "back" in rules
    assert "none" not in rules
    assert repr(rules).splitlines()[-1] == back
    assert site.found() == {(one, two), (two, one)}
    rules.replace(other)
    site.commit()
    assert site.db.rules["back"] == other
    assert site.found() == {(one, two), (one, one)}
    site.db.rules.remove("base", "back")
    site.commit()
    assert list(site.db.rules) == []
    assert repr(site.db.rules) == "<no rules>"
    assert site.found() == set()


def test_what_is_refused_changes_nothing(site: Site) -> None:
    for call in (site.db.rules.add, site.db.rules.replace):
        with pytest.raises(UsageError, match=r"E0635.*the text of a program"):
            call(3)
    with pytest.raises(UsageError, match="E0608"):
        site.db.rules["none"]
    with pytest.raises(UsageError, match=r"E0608.*none"):  # noqa: PT012  # A server says so at the commit.
        site.db.rules.remove("base", "none")
        site.commit()
    if site.raises_late:
        site.db.rollback()
    site.commit()
    assert dict(site.db.rules) == {"base": site.texts[0]}
    assert site.found() == {site.row}


def test_an_earlier_text_goes_where_one_is_known(site: Site) -> None:
    base, back, _ = site.texts
    if isinstance(site.db, (Simulation, tidelog.rdf.Store)):
        with pytest.raises(UsageError, match=r"E0635.*`earlier`"):
            site.db.rules.replace(back, base)
        return
    site.db.rules.replace(back, base)
    site.commit()
    assert dict(site.db.rules) == {"back": back}
    assert site.found() == {site.row[::-1]}


def warnings_of(act: Callable[[], object]) -> list[str]:
    """Return the beginnings of the warnings that a call gives, where this file gives them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    assert {each.filename for each in found} <= {__file__}
    assert {each.category for each in found} <= {PendingWarning}
    return [str(each.message).splitlines()[0].partition(" while")[0] for each in found]


def test_a_read_while_changes_wait_is_warned_of_once(site: Site) -> None:
    if isinstance(site.db, Simulation):
        return  # Its changes do not wait.
    assert warnings_of(lambda: site.db["p"]) == []
    site.db.load(".decl more(x: number)\n")
    site.commit()
    site.db.insert(*site.more)
    for _ in range(2):
        with ThreadPoolExecutor(1) as pool:
            assert warnings_of(pool.submit(lambda: site.db["p"]).result) == []
    read = "warning[E0617]: views are read"
    assert warnings_of(lambda: site.db["p"]) == [read]
    assert warnings_of(lambda: site.db["p"]) == []
    assert site.found() == {site.row}
    site.commit()


def test_queries_are_reads_and_transactions_may_read(site: Site) -> None:
    if isinstance(site.db, Simulation):
        return
    with site.db.transaction() as found:
        found.insert(*site.more)
        assert warnings_of(lambda: site.db["p"]) == []
    site.db.delete(*site.more)
    assert warnings_of(lambda: site.db.query("p(x, y)")) == ["warning[E0617]: views are read"]
    site.commit()


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda db: None, ["warning[E0617]: the block ends"]),
        (lambda db: db.commit(), []),
        (lambda db: db.rollback(), []),
        (lambda db: {"a": 1}["gone"], []),
    ],
    ids=["forgotten", "committed", "dropped", "raised"],
)
def test_the_end_of_a_block_is_warned_of_changes_that_go(
    site: Site, end: Callable[[Any], object], expected: list[str]
) -> None:
    def block() -> None:
        with suppress(KeyError), site.db:
            site.db.insert(*site.more)
            end(site.db)

    if not isinstance(site.db, Simulation):
        assert warnings_of(block) == expected


TYPED = """
.type Pair = [a: number, b: symbol]
.type List = [head: number, tail: List]
.type Shape = Circle { r: float } | Box { p: Pair, deep: Shape } | Dot {}
.decl v(n: number, u: unsigned, f: float, s: symbol, p: Pair, l: List, x: Shape)
.decl w(s: symbol) .decl unit()
w(s) :- v(_, _, _, s, _, _, _). unit() :- v(_, _, _, _, _, _, _).
"""


def test_relations_and_changes_of_a_server_are_those_of_a_database() -> None:
    with tidelog.connect() as own, connected() as (db, _):
        for each in (own, db):
            each.load(TYPED)
            each.commit()
        circle, box, dot = map(own.branch, ("Circle", "Box", "Dot"))
        assert [db.branch(name) for name in ("Circle", "Box", "Dot")] == [circle, box, dot]
        with pytest.raises(UsageError, match="E0616"):
            db.branch("Square")
        rows = [
            (-1, 2**64 - 1, 0.5, 'a"\n', (3, "x"), (1, (2, None)), box((4, "y"), circle(-float("inf")))),
            (2**62, 0, float("inf"), "", None, None, dot()),
        ]
        changes = []
        for each in (own, db):
            each.insert("v", rows)
            changes.append(each.commit())
        mine, found = changes
        assert list(found) == list(mine)
        assert "v" in found
        assert (len(found["edge"].inserted), found["v"].deleted) == (0, set())
        assert found.report.duplicates == {}
        for name in ("v", "w", "unit"):
            for one, other in ((own[name], db[name]), (mine[name].inserted, found[name].inserted)):
                assert other.columns == one.columns
                assert other.schema == one.schema
                assert other == one == set(other)
                assert sorted(other.arrow().to_pylist(), key=repr) == sorted(one.arrow().to_pylist(), key=repr)
                assert sorted(repr(other).splitlines()) == sorted(repr(one).splitlines())
                assert pickle.loads(pickle.dumps(other)) == one
        assert db.query("v(n, _, _, _, p, _, _)") == own.query("v(n, _, _, _, p, _, _)")
        assert db["v"].head(1).rows()[0] in own["v"]
        assert (db["v"] - own["v"]).rows() == []
        for each in (own, db):
            each.delete("v", list(db["v"]))
            each.commit()
        assert len(own["v"]) == len(db["v"]) == 0


def test_of_many_rows_a_server_sends_the_number() -> None:
    with connected() as (db, _):
        db.insert("edge", [(n, n + 1_000_000) for n in range(20_000)])
        change: Any = db.commit()["edge"]
        assert (len(change.inserted), len(change.deleted), change.has_rows) == (20_000, 0, False)
        assert change.to_dict() == {"inserted": 20_000, "deleted": 0}
        for act in (list, repr, set, lambda rows: rows.df(), lambda rows: (1, 2) in rows, lambda rows: rows.head()):
            with pytest.raises(UsageError, match="E0688"):
                act(change.inserted)


EARLIER = {"undo": "ways_to_remove", "repair": "ways_to_derive"}


def test_earlier_names_warn_and_work(site: Site) -> None:
    for name, later in EARLIER.items():
        with pytest.warns(DeprecationWarning, match=f"`{name}` is `{later}` now"):
            assert getattr(site.db, name) == getattr(site.db, later)
        assert name not in dir(site.db)
        assert later in dir(site.db)
    with pytest.raises(AttributeError, match="no attribute 'undone'"):
        _ = site.db.undone


def test_functions_of_a_module_have_a_verb_of_another_name_than_one_function() -> None:
    db = tidelog.connect()
    with pytest.warns(DeprecationWarning, match="`functors` is `import_functions` now"):
        assert db.functors == db.import_functions  # type: ignore[attr-defined]
    with connected() as (client, _), pytest.raises(AttributeError, match="no attribute 'functors'"):
        _ = client.functors  # type: ignore[attr-defined]
