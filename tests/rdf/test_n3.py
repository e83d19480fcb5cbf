"""Rules in N3: patterns, built-ins, names, and what rules do not have."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.rdf.stores import stored
from tests.texts import cases_of, python
from tidelog import DataError, ProgramError, UsageError
from tidelog.rdf import Store, connect, literal
from tidelog.rdf.n3 import test as holds
from tidelog.rdf.n3 import value

PREFIXES = """@prefix : <http://example.org/> . @prefix math: <http://www.w3.org/2000/10/swap/math#> .
@prefix log: <http://www.w3.org/2000/10/swap/log#> . @prefix string: <http://www.w3.org/2000/10/swap/string#> .
@prefix list: <http://www.w3.org/2000/10/swap/list#> .
"""
DATA = """@prefix : <http://example.org/> . :a :parent :b ; :age 17 ; :name "Ann" .
:b :parent :c ; :age 41 ; :name "Bob" .
:c :age 70.5 ; :knows [ :name "Dan" ] ; :items (1 2) . :married a :Symmetric . :b :married :e ."""
RULES = cases_of(__file__, "rules", str, python)


def followed(rules: str) -> list[str]:
    """Return the triples that follow from the data by rules in N3, in short."""
    store = connect()
    store.load_n3(PREFIXES + rules + " .")
    store.insert(DATA)
    store.commit()
    return sorted(" ".join(map(short, triple)) for triple in store.inferred())


def short(term: object) -> str:
    """Return a term without its beginning and its datatype."""
    text = str(term)
    return text[1 : text.index('"', 1)] if text.startswith('"') else text.removeprefix("http://example.org/")


@pytest.mark.parametrize(("rules", "expected"), RULES)
def test_rules_derive_triples(rules: str, expected: list[str]) -> None:
    assert followed(rules) == expected


def test_rules_have_names_by_which_they_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "family-tree.n3"
    path.write_text(PREFIXES + "{ ?x :parent ?y } => { ?y :child ?x } . { ?x :child ?y } => { ?x :older ?y } .")
    store = stored(DATA, rules=path)
    assert len(store.inferred()) == 4
    assert store.load_n3(path, "again") == ("again_1", "again_2")
    store.commit()
    assert store.load_n3(PREFIXES + "{ ?x :parent ?y } => { ?x :p ?y } .") == ("n3_1",)
    assert store.load_n3(PREFIXES + "{ ?x :parent ?y } => { ?x :p ?y } .") == ("n3_2",)
    store.commit()
    for name in ("n3_1", "n3_2", "again_1", "again_2", "family_tree_2"):
        store.rules.remove(name)
    store.commit()
    assert sorted(short(row[1]) for row in store.inferred()) == ["child", "child"]
    store.load(str(path))
    store.commit()
    assert len(store.inferred()) == 4


def test_rules_follow_changes() -> None:
    store = connect()
    with store.transaction() as block:
        block.load_n3(PREFIXES + "{ ?x :parent ?y . ?y :age ?a . (?a 1) math:sum ?b } => { ?x :q ?b } .")
        block.insert(DATA)
    store.delete("@prefix : <http://example.org/> . :b :age 41 .")
    store.insert("@prefix : <http://example.org/> . :b :age 1 .")
    change = store.commit()
    assert sorted(short(row[2]) for row in change.deleted) == ["41", "42"]
    assert sorted(short(row[2]) for row in change.inserted) == ["1", "2"]
    assert change.bootstraps == 0
    store.check()


@pytest.mark.parametrize(
    ("name", "one", "other", "expected"), cases_of(__file__, "built ins test two terms", str, str, str, int)
)
def test_built_ins_test_two_terms(name: str, one: str, other: str, expected: int) -> None:
    assert holds(name, _literal(one), _literal(other)) == expected


@pytest.mark.parametrize(
    ("name", "one", "expected"),
    [
        ("math:negation", "3", "-3"),
        ("math:absoluteValue", "-3.5", "3.5"),
        ("math:absoluteValue", "x", None),
        ("string:length", "four", "4"),
        ("string:upperCase", "Ab", "AB"),
        ("string:lowerCase", "Ab", "ab"),
        ("log:uri", "http://example.org/a", "http://example.org/a"),
    ],
)
def test_built_ins_compute_of_a_term(name: str, one: str, expected: str | None) -> None:
    found = value(name, one if name == "log:uri" else _literal(one), "")
    assert (None if found is None else found[1 : found.index('"', 1)]) == expected


def _literal(text: str) -> str:
    try:
        return literal(int(text))
    except ValueError:
        return literal(Decimal(text)) if "." in text else literal(text)


@pytest.mark.parametrize(("rules", "message"), cases_of(__file__, "other rules are refused at their place"))
def test_other_rules_are_refused_at_their_place(rules: str, message: str) -> None:
    text = PREFIXES.replace("\n", " ") + "\n" + rules + " ."
    with pytest.raises(UsageError, match=message.replace("?", r"\?")) as caught:
        connect().load_n3(text)
    assert caught.value.problems[0].code == "E0678"


def test_broken_n3_has_its_place() -> None:
    with pytest.raises(DataError, match=r"<n3>:2:\d+: error\[E0460\]"):
        connect().load_n3("@prefix : <http://e/> .\n{ ?x :p ?y } => { ?x :q .")
    with pytest.raises(ProgramError, match="E0110"):
        connect().load("nowhere.n3")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ ?)x <urn:p> ?y } => { ?y <urn:p> 1 } .", "variable with empty string"),
        ("@prefix : </a> . { ?x :p ?y } => { ?y :p 1 } .", "no slash after colon"),
        ('{ ?x <urn:p> "R" } => {"?x <urn:p> 1 } .', "Quote expected"),
        ('{ ?x <urn:p> "\ud800" } => { ?x <urn:p> 1 } .', "not valid Unicode"),
    ],
)
def test_whatever_rdflib_raises_for_a_text_is_an_error_of_the_text(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=rf"<n3>:1:\d+: error\[E0460\].*{reason}") as caught:
        connect().load_n3(text)
    assert caught.value.problems[0].hint


def test_a_term_that_rdflib_cannot_write_is_shown_in_a_message() -> None:
    with pytest.raises(UsageError, match=r'E0678.*http://"e"/x'):
        connect().load_n3('@prefix : <http://"e"/> . :x :p 1 . { ?x :p ?y } => { ?y :p 1 } .')


@pytest.mark.parametrize(("opening", "closing"), [("( ", " )"), ("[ :p ", " ]"), ("{ :a :p ", " }")])
def test_n3_that_is_nested_too_deeply_is_refused(opening: str, closing: str) -> None:
    rule = f"{{ ?x :p {opening * 5_000}1{closing * 5_000} }} => {{ ?x :q 1 }} ."
    with pytest.raises(DataError, match=r"E0460.*nested too deeply"):
        connect().load_n3(f"@prefix : <http://e/> . {rule}")


def test_a_rule_may_not_depend_on_its_own_absence() -> None:
    store: Store = connect(rules="@prefix : <http://e/> .\nr: :p(x, y) :- :q(x, y), !:s(x, y).")
    with pytest.raises(ProgramError, match="E0301"):
        store.load_n3("@prefix : <http://e/> . { ?x :p ?y } => { ?x :s ?y } .")
