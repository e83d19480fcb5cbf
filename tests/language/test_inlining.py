"""The depth of inlining: bodies within bodies, as far as Python's stack takes them."""

from __future__ import annotations

import pytest

from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.inlining import definitions_of, used_by

STEPS = {
    "one rule": "i{k}(x) :- {below}(x).",
    "two rules": "i{k}(x) :- {below}(x). i{k}(x) :- a(x), x > {k}.",
    "a disjunction": "i{k}(x) :- {below}(x) ; a(x), x > {k}.",
    "a negation": "i{k}(x) :- a(x), !{below}(x).",
    "an aggregate": "i{k}(x) :- a(x), 1 = count : {{ {below}(x) }}.",
}


def chain(step: str, length: int) -> str:
    rules = (
        f".decl i{k}(x: number) inline\n" + STEPS[step].format(k=k, below=f"i{k - 1}" if k else "a")
        for k in range(length)
    )
    return ".decl a(x: number)\n.decl z(x: number)\n" + "\n".join(rules) + f"\nz(x) :- i{length - 1}(x).\n"


@pytest.mark.parametrize("step", STEPS)
def test_a_long_chain_of_inline_relations_is_an_error(step: str) -> None:
    check(read(chain(step, 4)))
    with pytest.raises(ProgramError, match=r"E0106.*inlining is nested in more than 100 levels"):
        check(read(chain(step, 300)))


def test_a_long_cycle_of_inline_relations_is_found_once() -> None:
    rules = "".join(f".decl i{k}(x: number) inline\ni{k}(x) :- i{(k + 1) % 300}(x).\n" for k in range(300))
    with pytest.raises(ProgramError) as raised:
        check(read(rules))
    (problem,) = raised.value.problems
    assert problem.code == "E0240"
    assert len(problem.notes) == 299


def test_a_rule_names_what_is_inlined_into_it_and_nothing_below_the_deepest_level() -> None:
    """So long chains take time in proportion to their length."""
    rules = check(read(chain("one rule", 90))).written
    definitions = definitions_of(frozenset(f"i{k}" for k in range(90)), rules)
    assert [used_by(rule, definitions) for rule in rules[:-1]] == [()] * 90
    assert used_by(rules[-1], definitions) == rules[-2::-1]
    *_, last = read(chain("one rule", 1000)).rules
    long = definitions_of(frozenset(f"i{k}" for k in range(1000)), read(chain("one rule", 1000)).rules)
    assert len(used_by(last, long)) == 100
