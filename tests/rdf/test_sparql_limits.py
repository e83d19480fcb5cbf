"""The limits of a view in SPARQL: its text is refused before the work begins, and exactly at the limit it works."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.rdf.stores import stored
from tidelog import LimitError, UsageError
from tidelog.rdf import Store
from tidelog.rdf.sparql.texts import Word, words
from tidelog.rdf.sparql.views import program

EXAMPLE = "http://example.org/"
DATA = "@prefix : <http://example.org/> . :a :p :b, :c, 1 ; :q :d .  :b :p :d ; :n 1, 2.5 ."
EITHER = "(?y = :b || ?y = :c)"
SIX = ["?a", "?b", "?c", "?d", "?e", "?f"]


def store_of() -> Store:
    return stored(DATA, prefix=EXAMPLE, rules=None)


def unions(count: int, last: str = "{ ?x :p ?y }") -> str:
    """Return a union of so many parts, of which the last one alone has rows."""
    return " UNION ".join([*(f"{{ ?x :none_{i} ?y }}" for i in range(count - 1)), last])


def optional(names: list[str]) -> str:
    return " ".join(f"OPTIONAL {{ ?x :q {name} }}" for name in names)


def choice(count: int) -> str:
    return f"({' || '.join([*(f'?y = :n{i}' for i in range(count - 1)), '?y = :b'])})"


AT_THE_LIMIT = [
    f"SELECT DISTINCT ?x ?y {{ ?x :p ?y FILTER({' && '.join([EITHER] * 6)}) }}",
    f"SELECT DISTINCT ?x ?y {{ ?x :p ?y FILTER({choice(8)} && {choice(8)}) }}",
    f"SELECT DISTINCT ?x ?y {{ ?x :p ?y FILTER(!({' || '.join(['(?y != :b && ?y != :c)'] * 6)})) }}",
    f"SELECT DISTINCT ?x ?y {{ {unions(150)} }}",
    f"SELECT DISTINCT ?x ?y {{ ?x :p ?y MINUS {{ {unions(100, '{ ?x :q ?y }')} }} }}",
    f"SELECT DISTINCT ?x ?y {{ ?x :p ?y FILTER EXISTS {{ {unions(64)} }} }}",
    f"SELECT DISTINCT ?x ?y {{ {unions(8)} . {unions(8)} }}",
    f"SELECT DISTINCT ?x ?y ?z {{ {unions(32)} OPTIONAL {{ ?y :p ?z }} }}",
    f"SELECT DISTINCT ?x ?y ?z {{ {unions(32)} BIND(?y + 1 AS ?z) }}",
    f"SELECT DISTINCT ?x {' '.join(SIX)} {{ ?x :p ?y {optional(SIX)} }}",
    f"SELECT DISTINCT ?x ?a ?f {{ ?x :p ?y {{ SELECT DISTINCT ?x {' '.join(SIX)} {{ ?x :p ?y {optional(SIX)} }} }} }}",
    f"SELECT ?x {' '.join(f'(SUM(?y) AS ?s{i})' for i in range(6))} {{ ?x :p ?y }} GROUP BY ?x",
    f"SELECT ?x {' '.join(f'(COUNT(?y + {i}) AS ?s{i})' for i in range(6))} {{ ?x :n ?y }} GROUP BY ?x",
]
WAYS = "it has more than 64 ways to match"
ALTERNATIVES = "a filter has more than 64 alternatives"
ABOVE = [
    (f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER({' && '.join([EITHER] * 7)}) }}", ALTERNATIVES),
    (f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER({choice(5)} && {choice(13)}) }}", ALTERNATIVES),
    (f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER({choice(5)}) FILTER({choice(13)}) }}", ALTERNATIVES),
    (f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER({' && '.join(['!isIRI(?y)'] * 7)}) }}", ALTERNATIVES),
    (f"SELECT DISTINCT ?x {{ ?x :p ?y OPTIONAL {{ ?y :p ?z FILTER({' && '.join([EITHER] * 300)}) }} }}", ALTERNATIVES),
    (f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER EXISTS {{ {unions(65)} }} }}", WAYS),
    (f"SELECT DISTINCT ?x {{ {unions(5)} . {unions(13)} }}", WAYS),
    (f"SELECT DISTINCT ?x {{ {unions(33)} OPTIONAL {{ ?y :p ?z }} }}", WAYS),
    (f"SELECT DISTINCT ?x {{ {unions(33)} BIND(?y + 1 AS ?z) }}", WAYS),
    (
        "SELECT DISTINCT ?x { ?x :p ?y { SELECT DISTINCT * { { ?x :p ?x } UNION "
        f"{{ {' '.join(f'?y :p ?z{i} .' for i in range(6))} }} }} }} }}",
        WAYS,
    ),
    (f"SELECT ?x {' '.join(f'(SUM(?y) AS ?s{i})' for i in range(7))} {{ ?x :p ?y }} GROUP BY ?x", WAYS),
    (f"SELECT ?x {' '.join(f'(COUNT(?y + {i}) AS ?s{i})' for i in range(30))} {{ ?x :p ?y }} GROUP BY ?x", WAYS),
]


@pytest.mark.parametrize("text", AT_THE_LIMIT)
def test_a_view_at_the_limit_equals_its_query(text: str) -> None:
    store = store_of()
    store.view("found", text)
    store.commit()
    assert set(store["found"]) == set(store.query(text))
    assert len(store["found"])
    store.delete([(EXAMPLE + "a", EXAMPLE + "p", EXAMPLE + "b")])
    store.commit()
    assert set(store["found"]) == set(store.query(text))
    store.check()


def refused(text: str, sentence: str) -> None:
    """Expect that a view is refused with a sentence, its place and a hint, and that nothing has begun."""
    store = store_of()
    with pytest.raises(UsageError) as caught:
        store.view("nope", text)
    (problem,) = caught.value.problems
    assert problem.message == f"the view nope cannot be maintained: {sentence}"
    assert (problem.code, problem.place) == ("E0663", "<view>")
    assert problem.hint
    assert not store.has_pending
    assert "nope" not in store.database


@pytest.mark.parametrize(("text", "sentence"), ABOVE)
def test_a_view_above_the_limit_is_refused(text: str, sentence: str) -> None:
    refused(text, sentence)


def rules_of(text: str) -> int:
    return sum(":-" in line for line in program("v", text, {"": EXAMPLE}).splitlines())


def rows(count: int) -> str:
    return f"SELECT DISTINCT ?x {{ ?x :p ?y VALUES ?x {{ {' '.join(f':n{i}' for i in range(count))} }} }}"


def test_a_view_has_at_most_2000_rules() -> None:
    assert rules_of(rows(1999)) == 2000
    refused(rows(2000), "it needs more than 2,000 rules")
    numbers = ", ".join(map(str, range(200)))
    refused(f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER(?y IN ({numbers})) }}", "it needs more than 2,000 rules")


def test_a_view_has_at_most_200_triple_patterns() -> None:
    items = " ".join([":n"] * 99)
    assert rules_of(f"SELECT DISTINCT ?x {{ ?x :p ({items}) ; :q ?y }}") == 1
    refused(f"SELECT DISTINCT ?x {{ ?x :p ({items}) ; :q ?y, ?z }}", "it has more than 200 triple patterns")


def test_a_view_has_at_most_50000_characters() -> None:
    text = "SELECT DISTINCT ?x { ?x :p ?y }"
    assert rules_of(text.ljust(50_000)) == 1
    refused(text.ljust(50_001), "it has more than 50,000 characters")


LONG = {
    "or": f"FILTER({'||'.join(['?x = :a'] * 2_500)})",
    "in": f"FILTER(?x IN ({','.join([':a'] * 2_600)}))",
    "sum": f"BIND({'+'.join(['?y'] * 2_600)} AS ?z)",
    "filters": "FILTER(?x) " * 2_600,
}


@pytest.mark.parametrize("part", LONG.values(), ids=LONG)
def test_a_view_has_at_most_2500_operators(part: str) -> None:
    refused(f"SELECT DISTINCT ?x {{ ?x :p ?y {part} }}", "it has more than 2,500 operators, commas and brackets")


def test_operators_in_strings_names_and_comments_do_not_count() -> None:
    long = "((,+||" * 1_000
    assert rules_of(f"SELECT DISTINCT ?x {{ ?x :p '{long}' ; <http://a/{'-' * 3_000}> ?y # {long}\n }}") == 1


PARTS = {
    "not in": f"FILTER(?y NOT IN ({', '.join(f':n{i}' for i in range(301))}))",
    "and": f"FILTER({' && '.join(f'?x != :n{i}' for i in range(301))})",
    "sum": f"BIND({' + '.join(['?y'] * 160)} AS ?z)",
    "sums": " ".join(f"BIND({' + '.join(['?y'] * 100)} AS ?z{i})" for i in range(4)),
}


if sys.version_info < (3, 12):  # Later ones call functions in one another more often.
    PARTS["shorter sum"] = f"BIND({' + '.join(['?y'] * 148)} AS ?z)"


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_rule_that_would_be_too_large_is_refused_in_the_words_of_sparql(part: str) -> None:
    refused(f"SELECT DISTINCT ?x {{ ?x :p ?y {part} }}", "a filter or an expression of it has too many parts")


def test_brackets_stand_in_at_most_a_hundred_others() -> None:
    too_deep = "its parts are nested too deeply, or too many"
    refused(f"SELECT ?x {'{' * 100} ?x :p ?y {'}' * 100}", too_deep)
    for opening, closing in ("{}", ("FILTER EXISTS {", "}"), ("FILTER(", ")"), ("?x :p [", "]"), ("?x :p (", ")")):
        for depth in (100, 2_000):
            text = f"SELECT DISTINCT ?x {{ {opening * depth} ?x :p ?y {closing * depth} }}"
            refused(text, "it has more than 100 brackets in one another")
    refused(f"SELECT DISTINCT ?x {{ ?x :p ?y {'. ?x :p ?y' * 500} }}", too_deep)


@pytest.mark.parametrize("sort", ["FILTER EXISTS", "FILTER NOT EXISTS"])
def test_patterns_in_patterns_do_not_multiply_without_end(sort: str) -> None:
    alike = " UNION ".join(["{ ?x :p ?y }"] * 8)

    def nested(depth: int) -> str:
        return f"SELECT DISTINCT ?x {{ {alike} {f'{sort} {{ {alike} ' * depth} {'}' * depth} }}"

    refused(nested(9), "its patterns, one in another, have too many ways to match")
    assert rules_of(nested(2))


def test_optional_parts_and_minus_are_compiled_once() -> None:
    """They do not depend on the bodies before them: each level would double the work."""
    minus = f"MINUS {{ {unions(2)} " * 12 + "}" * 12
    assert rules_of(f"SELECT DISTINCT ?x {{ {unions(2)} {minus} }}") < 100


def test_values_are_one_way_to_match_for_each_choice_of_variables() -> None:
    store = store_of()
    many = " ".join(f"(:n{i} {i})" for i in range(70))
    texts = [
        f"SELECT DISTINCT ?x ?n {{ VALUES (?x ?n) {{ {many} (:a 5) (:a UNDEF) (UNDEF 1) }} ?x :p ?y }}",
        f"SELECT DISTINCT ?x {{ ?x :p ?y MINUS {{ VALUES (?x ?y) {{ {many} (:a :b) }} }} }}",
        "SELECT DISTINCT ?x ?n { VALUES (?x ?n) { (:a 5) (:b 7) (:a 1.5) } ?x :p ?y FILTER(?n > 2) }",
        "SELECT ?x ?y { VALUES ?x { :a :b } ?x :p ?y }",
        "SELECT ?x (COUNT(*) AS ?k) { VALUES (?x ?z) { (:a 1) (:a 2) (:b 1) } ?x :p ?y } GROUP BY ?x",
    ]
    for number, text in enumerate(texts):
        store.view(f"view_{number}", text)
    store.commit()
    for number, text in enumerate(texts):
        assert set(store[f"view_{number}"]) == set(store.query(text)), text
    refused("SELECT ?x ?y { VALUES ?x { :a :a } ?x :p ?y }", "it gives some rows several times")


HOSTILE = ["1" * 100_000, "a-" * 50_000, '"' + '\\"' * 50_000, "'''" + "\\'''" * 20_000, "<a" * 50_000, ":a.." * 25_000]


@pytest.mark.parametrize("text", HOSTILE)
def test_words_are_found_in_one_pass(text: str) -> None:
    assert len(words(text)) <= len(text)


def test_words_are_those_of_sparql() -> None:
    def shown(found: list[Word]) -> list[Any]:
        return [(word.kind, word.text) for word in found]

    text = "1.5 true.SERVICE a.b:c-d. :e.f 2x \"a\\\"b\" '''it's''' _:n @en-GB ?v [ \"open"
    assert shown(words(text)) == [
        ("word", "true"), ("word", "SERVICE"), ("name", "a.b:c-d"), ("name", ":e.f"), ("word", "x"),
        ("string", '"a\\"b"'), ("string", "'''it's'''"), ("name", "_:n"), ("language", "@en-GB"), ("variable", "?v"),
        ("mark", "["), ("string", '"open'),
    ]  # fmt: skip


DEEP_TEXTS = {
    "groups": "SELECT * WHERE " + "{" * 20_000 + "?x :p ?y" + "}" * 20_000,
    "brackets": f"SELECT * WHERE {{ ?x :p ?y FILTER({'(' * 40_000}?x = ?y{')' * 40_000}) }}",
    "sum": f"SELECT (1{'+1' * 40_000} AS ?z) WHERE {{ ?x :p ?y }}",
    "choice": f"SELECT * WHERE {{ ?x :p ?y FILTER(?x = :a{' || ?x = :b' * 40_000}) }}",
    "path": f"SELECT * WHERE {{ ?x {'(' * 40_000}:p{')' * 40_000} ?y }}",
}


@pytest.mark.parametrize(
    "name", ["groups", "sum", *(pytest.param(name, marks=pytest.mark.deep) for name in ("brackets", "choice", "path"))]
)
def test_a_text_that_would_end_the_process_is_an_error_without_a_time_limit(name: str) -> None:
    store = store_of()
    with pytest.raises(LimitError, match="nest the text less deeply") as caught:
        store.query(DEEP_TEXTS[name])
    assert caught.value.code == "E0503"
    assert list(store.query("SELECT ?y { :a :q ?y }")) == [(f"{EXAMPLE}d",)]


def test_a_deep_update_is_an_error_without_a_time_limit() -> None:
    store = store_of()
    before = set(store.triples())
    with pytest.raises(LimitError, match="nest the text less deeply"):
        store.update("INSERT { ?x :new ?y } WHERE " + "{" * 20_000 + "?x :p ?y" + "}" * 20_000)
    assert set(store.triples()) == before


def test_a_long_query_and_a_long_update_have_the_same_results_without_a_time_limit() -> None:
    store, many = store_of(), " ".join(f"{EXAMPLE}{i}".join("<>") for i in range(1_000))
    assert list(store.query(f"SELECT ?y {{ VALUES ?y {{ {many} :d }} :a :q ?y }}")) == [(f"{EXAMPLE}d",)]
    change = store.update(f"INSERT {{ ?x :new ?y }} WHERE {{ VALUES ?y {{ {many} :d }} ?x :q ?y }}")
    assert list(change.inserted) == [(f"{EXAMPLE}a", f"{EXAMPLE}new", f"{EXAMPLE}d")]


def test_a_view_with_too_many_negations_in_a_row_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 5,000 negations") as caught:
        store_of().view("v", f"SELECT DISTINCT ?x {{ ?x :p ?y FILTER({'!' * 30_000}(?x = ?y)) }}")
    assert caught.value.code == "E0663"


ENDLESS = """
from tidelog.rdf import connect
from tidelog.rdf.sparql.processes import QueryProcess
ask = QueryProcess.ask
def asked(*arguments):
    ask(*arguments)
    print("begun", flush=True)
QueryProcess.ask = asked
store = connect(rules=None)
store.insert("<a:a> <a:p> <a:b> .")
store.commit()
store.query("SELECT * { ?x <a:p>" + "/<a:p>" * 3_000 + " ?y }"%s)
"""


@pytest.mark.parametrize("limit", ["", ", timeout=1000"])
def test_the_process_of_a_query_ends_with_that_of_the_store(limit: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS % limit], stdout=subprocess.PIPE, text=True) as store:
        assert store.stdout is not None
        assert store.stdout.readline() == "begun\n"
        store.kill()
        rest, _ = store.communicate(timeout=60)  # The output ends when both processes have.
    assert rest == ""
