"""Random programs have all features, mostly have something in their views, and are the same for the same seed."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from tests.generate import Case, generate
from tests.suite import FIRST_SEED, evaluate_naive, random_cases, reductions

PROGRAMS = 500


@cache
def cases() -> list[Case]:
    return [generate(random.Random(seed)) for seed in range(PROGRAMS)]


def size(case: Case) -> int:
    parts = sum(len(clause.heads) + len(clause.body) for clause in case.clauses)
    return len(case.declarations) + parts + sum(map(len, case.facts.values()))


def test_most_views_are_not_empty() -> None:
    evaluated, derived, filled, fruitful = 150, 0, 0, 0
    for case in random_cases(evaluated, FIRST_SEED):
        found = evaluate_naive(case.text, case.facts)
        not_empty = sum(bool(found[name]) for name in case.derived)
        derived += len(case.derived)
        filled += not_empty
        fruitful += not_empty > 0
    assert fruitful >= 0.95 * evaluated
    assert filled >= 0.8 * derived


@pytest.mark.parametrize(
    "feature",
    [
        *(rf" {re.escape(op)} " for op in ("<", "<=", ">", ">=", "=", "!=", "+", "-", "*", "/", "%", "^")),
        *(rf" {word} " for word in ("band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")),
        *(rf"\b{word}\(" for word in ("bnot", "lnot", "min", "max", "cat", "strlen", "substr", "ord", "range", "as")),
        *(rf"\b{word}\(" for word in ("itof", "itou", "ftoi", "utoi", "to_number", "to_string", "to_float")),
        *(rf"\b!?{word}\(" for word in ("match", "contains", "starts_with", "ends_with")),
        *(rf"\b{word}\(" for word in ("lower", "upper", "trim", "replace", "index_of", "positions", "split", "groups")),
        *(rf"\b{op} \w+ : \{{" for op in ("any", "collect")),
        *(rf"\b{op}\(\w+, [^)]*\) : \{{" for op in ("argmin", "argmax")),
        *(rf"\b{op} \w+( \* 2 \+ 1)? : \{{" for op in ("sum", "min", "max", "mean", "median")),
        r"\bcount : \{",
        r"= \w+ ?\w* : \{[^}]* = \w+ ?\w* : \{",  # an aggregate in an aggregate
        r"^p\w+\(.*\), p\w+\(.*\) :-",  # several heads
        r"\(.* ; .*\)",
        r"!\w+\([^)]*_",
        r"\[\w+, \[",
        r"\bnil\b",
        r"^rule_\d+: ",
        r"\(\)",
        r"^e\d\(",  # a fact in the text
        r"\btrue\b",
        r"[^!]<.*[+?|/^].*>\(",
        r"<[^>]*\*[^>]*>\(",
        r"!<.*>\(",
        r"^p\w+\(x, z\) :- p\w+\(x, y\), p\w+\(y, z\)\.",
        r"\{[^}]*<[^ ]+>\([^}]*\}",
    ],
)
def test_programs_have_each_feature(feature: str) -> None:
    pattern = re.compile(feature, re.MULTILINE)
    assert sum(bool(pattern.search(case.text)) for case in cases()) >= 3


def test_programs_recur() -> None:
    direct = re.compile(r"^(?:rule_\d+: )?(p\w+)\(.*:-.*(?<![!\w])\1\(", re.MULTILINE)
    assert sum(bool(direct.search(case.text)) for case in cases()) >= PROGRAMS / 5


def test_a_seed_gives_the_same_case_again() -> None:
    assert generate(random.Random(7)) == generate(random.Random(7))
    assert generate(random.Random(7)) != generate(random.Random(8))


def test_reductions_leave_out_one_part_each() -> None:
    case = cases()[3]
    assert {size(smaller) for smaller in reductions(case)} <= set(range(size(case)))
