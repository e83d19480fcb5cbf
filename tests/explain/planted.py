"""Faults of explanations, planted by `tests/plant_faults.py`: of the search for proofs, for each kind of step, and of
the check of proofs, for each thing that it looks at."""

from __future__ import annotations

from tests.fault import Fault

CHECK, STEPS, WALKS, INSTANCES = "checking", "explainer", "walks", "instances"
CHECKING = "tests/explain/test_checking.py::test_every_altered_step_is_rejected"
RANDOM = "tests/explain/test_random_proofs.py"
LIMITS = "tests/explain/test_limits.py::test_a_limit_leaves_the_rest_open"
TRIPLES = "tests/rdf/test_explanations.py::test_conclusions_have_proofs_by_the_tables"
ALTERED_TRIPLES = "tests/rdf/test_explanations.py::test_every_altered_step_of_a_conclusion_is_rejected"
CONTRADICTIONS = "tests/rdf/test_explanations.py::test_every_altered_step_of_a_contradiction_is_rejected"


def fault(name: str, module: str, right: str, wrong: str, tests: str) -> Fault:
    """Return a fault of a module of `explain`, or of another room if it names one."""
    return Fault(name, f"{module}.py" if "/" in module else f"explain/{module}.py", right, wrong, tests)


OF_PROOFS = (
    fault(
        "premises of a proof come in the reverse order",
        STEPS,
        "tuple([numbers[premise] for premise in way.premises])",
        "tuple([numbers[premise] for premise in reversed(way.premises)])",
        CHECKING,
    ),
    fault(
        "a proof ends at tuples that nobody has asserted",
        "views",
        "= stored.find(rows) >= 0",
        "= stored.find(rows) >= -1",
        CHECKING,
    ),
    fault(
        "variables of an instance get each other's values",
        STEPS,
        "zip(flat.variables, bound, strict=True)",
        "zip(flat.variables, bound[1:] + bound[:1], strict=True)",
        RANDOM,
    ),
    fault(
        "instances of a rule do not look at its negations",
        INSTANCES,
        "body = renamed_literals(flat.literals, renamed)",
        "body = renamed_literals([each for each in flat.literals if not hasattr(each, 'atom')], renamed)",
        RANDOM,
    ),
    fault(
        "instances of a rule do not compare",
        INSTANCES,
        "body = renamed_literals(flat.literals, renamed)",
        "body = renamed_literals([each for each in flat.literals if getattr(each, 'op', '=') == '='], renamed)",
        RANDOM,
    ),
    fault(
        "variables of inlined bodies are shown",
        INSTANCES,
        "written = set(variables(whole(text)))",
        "written = set(variables(whole(rule)))",
        "tests/explain/test_conditions.py",
    ),
    fault(
        "the first tuple of a walk is left out",
        WALKS,
        "return tuple(walk[::-1])",
        "return tuple(walk[:-1][::-1])",
        CHECKING,
    ),
    fault(
        "a walk ends in any state of its path",
        WALKS,
        "while not any(end in nodes.get(state, ()) for state in automaton.ends):",
        "while not any(end in each for each in nodes.values()):",
        CHECKING,
    ),
    fault(
        "the members of a group are those of all groups",
        "instances",
        "given = tuple(name for name in variables([aggregate]) if name in flat.variables)",
        "given = ()",
        CHECKING,
    ),
    fault(
        "a group counts a member too many",
        "steps",
        "return len(answers), tuple(",
        "return len(answers) + 1, tuple(",
        CHECKING,
    ),
    fault(
        "any member is the witness of a least value",
        INSTANCES,
        "body = renamed_literals(flat.literals, renamed)",
        "body = renamed_literals([x for x in flat.literals if '#witness' not in str(getattr(x, 'left', ''))], renamed)",
        "tests/explain/test_conditions.py",
    ),
    fault(
        "a dominated candidate is shown as a tuple of its relation",
        STEPS,
        "return replace(step, is_candidate=True, better=better)",
        "return step",
        CHECKING,
    ),
    fault(
        "a candidate is preferred to itself",
        "absence",
        "return min(rows, key=order_of, default=None)",
        "return self.derivations.values(key)",
        CHECKING,
    ),
    fault(
        "a chosen tuple is its own rival",
        "absence",
        "if (each := Key(name, tuple(row))).words != key.words)",
        "if (each := Key(name, tuple(row))).words)",
        "tests/explain/test_conditions.py",
    ),
    fault(
        "a limit leaves a tuple without a reason as a fact",
        STEPS,
        'sort: StepSort = "fact" if key in found.chosen else "open"',
        'sort: StepSort = "fact"',
        LIMITS,
    ),
    fault(
        "proofs of triples leave out the axioms of lists",
        "rdf/proofs",
        "return tuple(number for number in found if number not in used)",
        "return tuple(number for number in found if number not in used and not self.steps[number].of_list)",
        TRIPLES,
    ),
    fault(
        "a specialised rule rests on no axiom",
        "rdf/derivations",
        "found[tuple(axiom for axiom in used if axiom not in body)] = None\n        if not found:",
        "found[()] = None\n        if not found:",
        TRIPLES,
    ),
)

OF_CHECKS = (
    fault(
        "a check takes any height",
        CHECK,
        'if step.height != max((each.height for each in below), default=0) + (step.sort in ("rule", "walk")):',
        "if step.height < 0:",
        CHECKING,
    ),
    fault(
        "a check lets a fact have conditions",
        CHECK,
        "(below or step.conditions or step.rule is not None)",
        "(below or step.rule is not None)",
        CHECKING,
    ),
    fault(
        "a check takes any fact",
        CHECK,
        "if views is not None and not views.is_fact(step.relation, step.values):",
        "if not step:",
        CHECKING,
    ),
    fault(
        "a check takes any tuple of a relation that selects",
        CHECK,
        "if step.is_candidate == views.shows(step.relation, step.values):",
        "if not step.is_candidate and not views.shows(step.relation, step.values):",
        CHECKING,
    ),
    fault(
        "a check takes any tuple as preferred",
        CHECK,
        "if step.better is not None and (not step.is_candidate or step.better == step.values):",
        "if step.better is not None and not step.is_candidate:",
        CHECKING,
    ),
    fault("a check takes rules of nobody", CHECK, "not (views.has(flat) and", "not (flat and", CHECKING),
    fault(
        "a check takes any text of a rule",
        CHECK,
        '(views.has(flat) and step.text == views.texts.get(step.rule or "", str(flat.rule)))',
        "views.has(flat)",
        CHECKING,
    ),
    fault(
        "a check takes any values that a step shows for variables",
        CHECK,
        " or not _same(shown, bound):",
        ":",
        CHECKING,
    ),
    fault(
        "a check takes another head of a rule",
        CHECK,
        "if not _is_row(step, flat.head, instance):",
        "if not step:",
        CHECKING,
    ),
    fault(
        "a check takes any premises of a rule",
        CHECK,
        "if not _is_row(found, premise, instance):",
        "if not found:",
        CHECKING,
    ),
    fault(
        "a check computes no value, and looks up no absent tuple",
        CHECK,
        "if next(_solutions(literal, instance, tables), None) is None:",
        "if not literal:",
        CHECKING,
    ),
    fault(
        "a check looks up no absent tuple",
        CHECK,
        "needs_tables = isinstance(literal, Negation) or any(True for _ in outermost([literal]))\n"
        "        if isinstance(literal, Atom)",
        "needs_tables = any(True for _ in outermost([literal]))\n        if isinstance(literal, Atom | Negation)",
        "tests/explain/test_checking.py",
    ),
    fault(
        "a check computes no aggregate",
        CHECK,
        "if isinstance(literal, Atom) or (needs_tables and views is None):",
        "if isinstance(literal, Atom) or (needs_tables and not isinstance(literal, Negation)):",
        "tests/explain/test_checking.py",
    ),
    fault(
        "a check takes any text of a condition",
        CHECK,
        "if replace(shown, members=None, first=(), node=None) != replace(plain, witness=expected.get(i, ())):",
        "if shown.witness != expected.get(i, ()):",
        CHECKING,
    ),
    fault(
        "a check takes any witness of a value",
        CHECK,
        "replace(plain, witness=expected.get(i, ()))",
        "replace(plain, witness=shown.witness)",
        CHECKING,
    ),
    fault(
        "a check lets a comparison have members",
        CHECK,
        'if shown.sort != "aggregate" or len(shown.first) > shown.members:',
        "if len(shown.first) > shown.members:",
        CHECKING,
    ),
    fault(
        "a check does not count members",
        CHECK,
        "if sum(texts.values()) != shown.members or Counter",
        "if Counter",
        CHECKING,
    ),
    fault(
        "a check takes any members",
        CHECK,
        'if sum(texts.values()) != shown.members or Counter(shown.first) - texts - Counter([""]):',
        "if sum(texts.values()) != shown.members:",
        CHECKING,
    ),
    fault(
        "a check lets a walk end anywhere",
        CHECK,
        "if not any(_same(node, end) and state in walk.automaton.ends for node, state in states):",
        "if not states:",
        CHECKING,
    ),
    fault(
        "a check lets a walk end in any state",
        CHECK,
        "if not any(_same(node, end) and state in walk.automaton.ends for node, state in states):",
        "if not any(node == end for node, state in states):",
        CHECKING,
    ),
    fault(
        "a check lets a walk follow any edges of its path",
        CHECK,
        "if any(_same(node, source) and state == edge.source for node, state in states):",
        "if source in {node for node, _ in states}:",
        CHECKING,
    ),
    fault(
        "a check takes a walk of any automaton",
        CHECK,
        "or walk.automaton != automaton_of(views.tables.paths[step.relation]):",
        "or not walk.automaton:",
        CHECKING,
    ),
    fault(
        "a check takes any walk for a closure",
        CHECK,
        "if not is_derived(step.relation, step.values, [(each.relation, each.values) for each in below], rules):",
        "if not rules:",
        CHECKING,
    ),
    fault(
        "a check takes any premises for a rule of a table",
        "rdf/proofs",
        "if step.rule is None or not follows(step.rule, goal_of(step), premises):",
        "if step.rule is None or not premises:",
        ALTERED_TRIPLES,
    ),
    fault(
        "a check takes any rule for a contradiction",
        "rdf/proofs",
        'if step.sort != "rule" or (step.relation != TRIPLES and step.rule != step.values[0]):',
        'if step.sort != "rule":',
        CONTRADICTIONS,
    ),
    fault(
        "a check takes any triples for the axiom of a list",
        "rdf/proofs",
        'step.sort == "axiom" and shown == found',
        'step.sort == "axiom"',
        ALTERED_TRIPLES,
    ),
)
