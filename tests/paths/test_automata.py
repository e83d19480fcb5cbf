"""The evaluator by automata itself, on paths whose meaning is plain."""

from __future__ import annotations

import random

import pytest

from tests.paths.automata import pairs, random_path

GRAPH = {"a": {(1, 2), (2, 3)}, "b": {(3, 1), (4, 2)}, "c": {(5, 5)}}
NODES = {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", {(1, 2), (2, 3)}),
        ("^a", {(2, 1), (3, 2)}),
        ("a/b", {(2, 1)}),
        ("^(a/b)", {(1, 2)}),
        ("^b/^a", {(1, 2)}),
        ("a|c", {(1, 2), (2, 3), (5, 5)}),
        ("a+", {(1, 2), (2, 3), (1, 3)}),
        ("^a+", {(2, 1), (3, 2), (3, 1)}),
        ("a/a|b/a", {(1, 3), (3, 2), (4, 3)}),
        ("a?/b", {(3, 1), (4, 2), (2, 1)}),
        ("c*", {(v, v) for v in NODES}),
        ("(a|b)*/c", {(5, 5)}),
        ("b/(a/b)*", {(3, 1), (4, 2), (4, 1)}),
    ],
)
def test_meaning(text: str, expected: set[tuple[int, int]]) -> None:
    assert pairs(text, GRAPH, NODES) == expected


def test_only_nodes_may_leave_a_part_out() -> None:
    assert pairs("a*", GRAPH, {1}) == {(1, 1), (1, 2), (1, 3), (2, 3)}
    assert pairs("a?/b", GRAPH, {4}) == {(4, 2), (2, 1)}


def test_random_paths_have_everything() -> None:
    texts = " ".join(random_path(random.Random(seed), "abc") for seed in range(50))
    assert all(sign in texts for sign in "abc/|^+*?()")
