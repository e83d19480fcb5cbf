"""Views of selections that the extracted checker has to accept, and the corruptions that it has to find (proofs/)."""

from __future__ import annotations

import random

import pytest

from proofs.selecting import NOT_MONOTONE, PROGRAMS, Program, dominates, founded, is_free, parsed, selected, trials


def program(name: str, edges: list[tuple[int, int, int]]) -> Program:
    lines = [line.strip() for line in PROGRAMS[name].strip().splitlines()]
    return parsed(["declared 0 0 edge", *lines, *(f"fact 0 {x} {y} {w}" for x, y, w in edges)])


CYCLE = [(0, 1, 5), (0, 2, 1), (2, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shortest paths from a node", {(1, 0, 0), (1, 1, 2), (1, 2, 1)}),
        ("cheapest, then shortest paths", {(1, 0, 0, 0), (1, 1, 2, 2), (1, 2, 1, 1)}),
        (
            "cheap paths and wide paths",
            {
                (1, 0, 0, 9),
                (1, 1, 2, 1),
                (1, 1, 5, 5),
                (1, 2, 1, 1),
                (2, 0),
                (2, 1),
                (2, 2),
                (3, 0, -9),
                (3, 1, 0),
                (3, 2, 0),
            },
        ),
        ("spanning tree, whose edges come once", {(1, 0, 0), (1, 1, 0), (1, 2, 0), (3, 0), (3, 1), (3, 2)}),
        ("components by least label", {(1, 0, 0), (1, 1, 0), (1, 2, 0), (2, 0)}),
        ("widest paths, and who has them", {(1, 0, 1), (1, 1, 5), (1, 2, 1), (2, 1), (3, 0), (3, 2)}),
    ],
)
def test_the_evaluator_finds_the_best_tuples(name: str, expected: set[tuple[int, ...]]) -> None:
    visible = selected(program(name, CYCLE))
    assert {each for each in visible if each[0]} == expected


def test_births_grow_along_derivations() -> None:
    paths = program("shortest paths from a node", CYCLE)
    births = founded(paths, selected(paths))
    assert [births[each] for each in ((1, 0, 0), (1, 2, 1), (1, 1, 2))] == [0, 1, 2]


def test_columns_compare_in_their_order_and_the_others_are_the_key() -> None:
    routes = program("cheapest, then shortest paths", [])
    assert dominates(routes, (1, 7, 2, 9), (1, 7, 3, 1))
    assert dominates(routes, (1, 7, 2, 1), (1, 7, 2, 9))
    assert not dominates(routes, (1, 7, 2, 1), (1, 7, 2, 1))
    assert not dominates(routes, (1, 6, 2, 1), (1, 7, 3, 1))
    assert not dominates(routes, (0, 1, 1), (0, 1, 2))


def test_columns_of_a_front_count_alike() -> None:
    ways = program("cheap paths and wide paths", [])
    assert dominates(ways, (1, 7, 2, 5), (1, 7, 2, 4))
    assert dominates(ways, (1, 7, 1, 5), (1, 7, 2, 4))
    assert not dominates(ways, (1, 7, 1, 3), (1, 7, 2, 4))
    assert not dominates(ways, (1, 7, 2, 4), (1, 7, 2, 4))


def test_a_choice_has_one_tuple_for_each_of_its_keys() -> None:
    pairs = program("pairs that share no end", [])
    assert is_free(pairs, (1, 3, 4), {(1, 4, 3), (0, 3, 4, 1)})
    assert not is_free(pairs, (1, 3, 4), {(1, 3, 5)})
    assert not is_free(pairs, (1, 3, 4), {(1, 5, 4)})
    assert selected(program("pairs that share no end", [(0, 1, 1), (0, 2, 1), (2, 1, 1)])) > {(1, 0, 1)}


def test_each_program_has_each_corruption() -> None:
    faults = {(trial.name, trial.fault) for trial in trials(random.Random(1))}
    assert {name for name, _ in faults} == set(PROGRAMS) == set(NOT_MONOTONE)
    assert len(faults) == 6 * len(PROGRAMS)
