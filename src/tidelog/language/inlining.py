"""`inline`: an atom of an inline relation stands for the bodies of the relation's rules.

For `.decl between(x: number, y: number) inline` and `between(x, y) :- x < z, z < y, point(z).` the rule
`r: a(x) :- b(x), between(x, 9).` becomes `a(x) :- b(x), x < z_1, z_1 < 9, point(z_1).` Several rules become the
alternatives of a disjunction, so that each rule stays one rule. Variables of an inlined rule get new names.

`!between(x, 9)` holds where no rule's body holds. That is a disjunction of negated literals if the rule brings no
variables, or if each of them occurs once, in an atom: there `_` stands for it.

Rules have their kinds already, because the declaration of an inline relation says types that its rules alone may not.
They are not grounded yet, because an inline relation may be grounded only where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.errors import Problem, ProgramError
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.bodies import either, negate
from tidelog.language.declarations import Scheme
from tidelog.language.paths import readings, steps
from tidelog.language.problems import note
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Body,
    Comparison,
    Constant,
    Directive,
    Disjunction,
    Functor,
    Kind,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import (
    FreshNames,
    Replacement,
    Tree,
    atoms,
    is_simple,
    occurrences,
    rebuild,
    rebuild_atom,
    rebuild_term,
    variables,
    walk,
    whole,
)

INLINE = "inline"
_MOST = 3_000
"""The most literals that inlining may make of one rule."""
_DEEPEST = 100
"""Most bodies within each other. Each takes four frames of Python, and a deep term in the innermost its own."""


@dataclass(frozen=True)
class Definition:
    """A rule of an inline relation: one of its heads, and the rule."""

    head: Atom
    rule: Rule


Definitions = Mapping[str, tuple[Definition, ...]]
"""The inline relations of a program with their rules, in the order of the text."""


def inlined_relations(scheme: Scheme) -> frozenset[str]:
    return frozenset(name for name, relation in scheme.relations.items() if INLINE in relation.qualifiers)


def definitions_of(relations: frozenset[str], rules: Iterable[Rule]) -> Definitions:
    found: dict[str, list[Definition]] = {name: [] for name in sorted(relations)}
    for rule in rules:
        for head in rule.heads:
            if head.relation in relations:
                found[head.relation].append(Definition(head, rule))
    return {name: tuple(each) for name, each in found.items()}


def reads_inline(rule: Rule, relations: frozenset[str]) -> bool:
    return bool(relations) and any(each.relation in relations for atom in atoms(whole(rule)) for each in readings(atom))


def used_by(rule: Rule, definitions: Definitions) -> tuple[Rule, ...]:
    """Return the rules that are inlined into a rule, directly or into others; none for a rule of inline relations only.
    Those below the deepest level are left out: `inline_bodies` refuses such a rule."""
    found: dict[str, None] = {}
    level = [rule] if any(head.relation not in definitions for head in rule.heads) else []
    for _ in range(_DEEPEST):
        names = dict.fromkeys(atom.relation for each in level for atom in atoms(each.body))
        new = [name for name in names if name in definitions and name not in found]
        found |= dict.fromkeys(new)
        level = [each.rule for name in new for each in definitions[name]]
    return tuple(each.rule for name in found for each in definitions[name])


def conflicts(definitions: Definitions, scheme: Scheme, directives: Iterable[Directive]) -> Iterator[Problem]:
    """Yield the problems of inline relations that cannot be replaced (E0240, E0241)."""
    for directive in directives:
        if directive.relation in definitions:
            message = f"`.{directive.name} {directive.relation}`: an inline relation has no tuples"
            yield Problem("E0241", message, directive.span, hint="remove `inline` from its declaration")
    for name in definitions:
        relation = scheme.relations[name]
        others = [word for word in relation.qualifiers if word in ("eqrel", "magic")]
        if others:
            message = f"the relation `{name}` cannot be `inline` and `{others[0]}`"
            yield Problem("E0241", message, relation.span, hint="remove one of the two")
    yield from _cycles(definitions)


def paths_over_inline(rule: Rule, relations: frozenset[str]) -> Iterator[Problem]:
    """Yield the problems of paths along inline relations (E0241)."""
    for atom in atoms(rule.body):
        for step in steps(atom.path):
            if step.relation in relations:
                message = f"a path cannot lead along the inline relation `{step.relation}`"
                yield Problem("E0241", message, step.span, hint="remove `inline` from its declaration")


def _cycles(definitions: Definitions) -> Iterator[Problem]:
    """Yield a problem for each inline relation that is defined by itself."""
    reads = _reading_in_cycles({name: _read_by(own, definitions) for name, own in definitions.items()})
    reported: set[str] = set()
    for name in reads:
        way = () if name in reported else _way_back(name, reads)
        if way and reported.isdisjoint(way):
            reported.update(way)
            first, *_ = definitions[name]
            chain = " → ".join(f"`{each}`" for each in (*way, name))
            message = f"the inline relation `{name}` is defined by itself: {chain}"
            notes = tuple((d.rule.span, f"through `{n}`") for n in way[1:] for d in definitions[n][:1] if d.rule.span)
            hint = "remove `inline` from the declaration of one of them"
            yield Problem("E0240", message, first.rule.span, notes, hint)


def _read_by(own: Iterable[Definition], definitions: Definitions) -> tuple[str, ...]:
    """Return the inline relations that rules read, each once."""
    names = (atom.relation for each in own for atom in atoms(each.rule.body))
    return tuple(dict.fromkeys(name for name in names if name in definitions))


def _reading_in_cycles(reads: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return what relations read, without those from which no way leads into a cycle. So long chains cost no search."""
    readers: dict[str, list[str]] = {name: [] for name in reads}
    open_reads = {name: len(own) for name, own in reads.items()}
    for name, own in reads.items():
        for each in own:
            readers[each].append(name)
    ends = [name for name, number in open_reads.items() if not number]
    for name in ends:
        for reader in readers[name]:
            open_reads[reader] -= 1
            if not open_reads[reader]:
                ends.append(reader)
    done = frozenset(ends)
    return {name: [each for each in own if each not in done] for name, own in reads.items() if name not in done}


def _way_back(name: str, reads: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the relations on a shortest way from a relation back to itself, itself first; empty without a cycle."""
    queue = [name]
    reached_from: dict[str, str] = {}
    for reader in queue:
        for each in reads[reader]:
            if each == name:
                way = [reader]
                while way[-1] != name:
                    way.append(reached_from[way[-1]])
                return tuple(reversed(way))
            if each not in reached_from:
                reached_from[each] = reader
                queue.append(each)
    return ()


def inline_bodies(rule: Rule, definitions: Definitions, scheme: Scheme) -> tuple[Rule | None, dict[str, str]]:
    """Return a rule with the bodies of inline relations in place of their atoms, None if all of its heads are inline;
    and for each new name of a variable the one in the text. Raise ProgramError (E0242, E0106, E0114)."""
    heads = tuple(head for head in rule.heads if head.relation not in definitions)
    if not heads:
        return None, {}
    work = _Inlining(rule, definitions, scheme, FreshNames(rule), dict(rule.kinds))
    body = work.body(rule.body)
    heads = tuple(rebuild_atom(head, work.aggregate) for head in heads)
    return replace(rule, heads=heads, body=body, kinds=work.kinds), work.names.written


@dataclass
class _Inlining:
    """The rewriting of one rule."""

    rule: Rule
    definitions: Definitions
    scheme: Scheme
    names: FreshNames
    kinds: dict[str, Kind]
    size: int = 0
    depth: int = 0

    def body(self, body: Body, *, apart: bool = False) -> Body:
        """Return a body with inline relations replaced. With `apart`, variables that an inlined rule brings take no
        part in the substitutions of the body, over which an aggregate ranges."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._too_large("E0106", f"inlining is nested in more than {_DEEPEST} levels here")
        found: list[Literal] = []
        for literal in body:
            self.size += 1
            match literal:
                case Atom(path=None) if literal.relation in self.definitions:
                    found += self._atom(literal, apart=apart)
                case Negation(atom=atom) if atom.relation in self.definitions:
                    found += self._negation(literal)
                case Disjunction(alternatives=alternatives):
                    parts = tuple(self.body(each, apart=apart) for each in alternatives)
                    found.append(replace(literal, alternatives=parts))
                case _:
                    found.append(rebuild(literal, self.aggregate))
            if self.size > _MOST:
                raise self._too_large("E0114", f"inlining makes more than {_MOST:,} literals of this rule")
        self.depth -= 1
        return tuple(found)

    def _too_large(self, code: str, message: str) -> ProgramError:
        hint = "remove `inline` from the declaration of a relation that it uses"
        return ProgramError(Problem(code, message, self.rule.span, hint=hint))

    def aggregate(self, term: Term) -> Term | None:
        """Return an aggregate with inline relations replaced in its body; None for other terms."""
        if not isinstance(term, Aggregate):
            return None
        target = term.target and rebuild_term(term.target, self.aggregate)
        body = self.body(term.body, apart=not AGGREGATES[term.op].selective)
        return replace(term, target=target, body=body)

    def _atom(self, atom: Atom, *, apart: bool) -> Body:
        """Return what an atom of an inline relation stands for; a relation without rules stays, and is empty."""
        own = self.definitions[atom.relation]
        if not own:
            return (atom,)
        if apart:
            columns = self.scheme.relations[atom.relation].columns
            args = tuple(self._name_anonymous(arg, column.kind) for arg, column in zip(atom.args, columns, strict=True))
            atom = replace(atom, args=args)
        bodies = [self._body_of(each, atom) for each in own]
        if len(bodies) == 1 and apart and self._has_own_variables(own[0], atom):
            # An aggregate ranges over the variables that all alternatives bind; equal alternatives say no more.
            bodies.append(self._body_of(own[0], atom))
        if len(bodies) == 1:
            return bodies[0]
        return (Disjunction(tuple(bodies), span=atom.span),)

    def _name_anonymous(self, term: Term, kind: Kind) -> Term:
        """Return an argument with variables for its `_`, which takes part in the substitutions of the body around."""
        match term:
            case Anonymous():
                return Variable(self._fresh("value", kind), span=term.span)
            case Record(fields=fields, branch=branch) if fields:
                columns = self.scheme.records[term.kind or kind].parts(branch)
                named = tuple(
                    self._name_anonymous(part, column.kind) for part, column in zip(fields, columns, strict=True)
                )
                return replace(term, fields=named)
        return term

    def _has_own_variables(self, definition: Definition, atom: Atom) -> bool:
        """Return True if a rule has variables or `_` besides those of its head."""
        given = {
            term.name
            for term, argument in zip(definition.head.args, atom.args, strict=True)
            if isinstance(term, Variable) and not isinstance(argument, Anonymous)
        }
        nodes = (*definition.head.args, *definition.rule.body)
        inner = any(isinstance(node, Anonymous) or self._is_inline(node) for node in walk(nodes))
        return inner or not given.issuperset(variables(nodes))

    def _is_inline(self, node: Tree) -> bool:
        return isinstance(node, Atom) and node.relation in self.definitions

    def _body_of(self, definition: Definition, atom: Atom) -> Body:
        """Return the body of a rule whose head is `atom`, with new names for its variables."""
        body, equations = self._match_head(definition, atom, given=False)
        return self.body((*equations, *body)) or (Truth(True, span=atom.span),)

    def _match_head(self, definition: Definition, atom: Atom, *, given: bool) -> tuple[Body, Body]:
        """Return the body of a rule for an atom, and equations between the arguments of both heads. Arguments stand in
        place of the head's variables where they are variables or constants, or all of them where they are `given`."""
        names: dict[str, Term] = {}
        columns = self.scheme.relations[atom.relation].columns
        left: list[tuple[Term, Term, Kind]] = []
        for term, argument, column in zip(definition.head.args, atom.args, columns, strict=True):
            simple = isinstance(argument, Variable | Constant) or (given and not isinstance(argument, Anonymous))
            if isinstance(term, Variable) and term.name not in names and simple:
                names[term.name] = argument
            elif not isinstance(argument, Anonymous):
                left.append((term, argument, column.kind))
            elif not is_simple(term):  # A term without a value makes no tuple.
                left.append((term, Variable(self._fresh("value", column.kind)), column.kind))
        nodes = whole(replace(definition.rule, heads=(definition.head,)))
        for name in variables(nodes):
            if name not in names:
                names[name] = Variable(self._fresh(name, definition.rule.kinds.get(name)))
        change = _replacement(names)
        body = tuple(rebuild(literal, change) for literal in definition.rule.body)
        equations = tuple(
            Comparison("=", rebuild_term(term, change), argument, kind=kind, span=atom.span)
            for term, argument, kind in left
        )
        return body, equations

    def _negation(self, negation: Negation) -> Body:
        """Return literals that hold where no rule derives a tuple of an inline relation."""
        atom = negation.atom
        if not self.definitions[atom.relation]:
            return (negation,)
        found: list[Literal] = []
        for definition in self.definitions[atom.relation]:
            body, equations = self._match_head(definition, atom, given=True)
            literals = self._hide_variables(self.body((*equations, *body)), definition, negation)
            if not literals:
                literals = (Truth(True, span=negation.span),)
            found.append(either(tuple(negate(literal) for literal in literals), negation.span))
        return tuple(found)

    def _hide_variables(self, body: Body, definition: Definition, negation: Negation) -> Body:
        """Return a body with `_` in place of the variables that it brings into a negation. Raise ProgramError (E0242)
        where that says something else."""
        own = {*variables([negation.atom])}
        counts = Counter(variable.name for variable in occurrences(body))
        in_atoms = {v.name for literal in body if isinstance(literal, Atom) for v in occurrences([literal])}
        computed = {
            variable.name
            for literal in body
            if isinstance(literal, Atom)
            for variable in occurrences(_computed_terms(literal.args))
        }
        for name in counts:
            if name not in own and (counts[name] > 1 or name not in in_atoms - computed):
                shown = self.names.written.get(name, name)
                message = f"`{negation}` negates an inline relation whose rule brings the variable `{shown}`"
                notes = note(definition.rule.span, "this rule")
                hint = f"remove `inline` from the declaration of `{negation.atom.relation}`"
                raise ProgramError(Problem("E0242", message, negation.span, notes, hint))
        hidden: dict[str, Term] = {name: Anonymous() for name in counts if name not in own}
        return tuple(rebuild(literal, _replacement(hidden)) for literal in body)

    def _fresh(self, name: str, kind: Kind | None) -> str:
        new = self.names.fresh(name, name)
        if kind is not None:
            self.kinds[new] = kind
        return new


def _replacement(names: Mapping[str, Term]) -> Replacement:
    def change(term: Term) -> Term | None:
        new = names.get(term.name) if isinstance(term, Variable) else None
        return new if new is None or new.span is not None else replace(new, span=term.span)

    return change


def _computed_terms(terms: Iterable[Term]) -> Iterator[Term]:
    return (term for term in terms if isinstance(term, Functor | Aggregate))
