"""Trees to source text that parses back to an equal tree.

This holds for trees as `read` builds them: negation at atoms only, no disjunction of one alternative, none directly in
another. Of checked trees the text is the same program; number literals then lose the kind that they were given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tidelog.language.aggregates import AGGREGATES, SPELLINGS
from tidelog.language.functors import LEVELS, POWER, PRIMARY, SIGN, TESTS
from tidelog.language.syntax import (
    About,
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
    Attribute,
    BranchDeclaration,
    Cast,
    Comparison,
    Component,
    ComponentType,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    Functor,
    FunctorDeclaration,
    Instance,
    Inverse,
    Literal,
    Negation,
    Override,
    Path,
    Program,
    Record,
    Repeat,
    Rule,
    SelectionClause,
    Sequence,
    Step,
    SyntaxNode,
    Term,
    Truth,
    TypeDeclaration,
    Variable,
)
from tidelog.language.token_types import SOFT_WORDS

_PREFIX = {"neg": "-", "bnot": "bnot ", "lnot": "lnot "}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def source_text(node: SyntaxNode) -> str:
    match node:
        case Program():
            return "\n".join(map(documented_text, statements_of(node)))
        case Component():
            parents = f" : {_list(node.parents)}" if node.parents else ""
            body = [*map(source_text, node.overrides), *map(documented_text, statements_of(node.body))]
            return "\n".join([f".comp {source_text(node.type)}{parents} {{", *body, "}"])
        case ComponentType():
            return node.name + (f"<{', '.join(node.parameters)}>" if node.parameters else "")
        case Instance():
            return f".init {node.name} = {source_text(node.component)}"
        case Override():
            return f".override {node.relation}"
        case Rule():
            return _rule(node)
        case Declaration():
            return " ".join([f".decl {node.name}({_list(node.attributes)})", *node.qualifiers, *_selections(node)])
        case SelectionClause():
            return f"{node.op}({node.attributes[0]})" if node.op != "choice" else _domain(node.attributes)
        case TypeDeclaration():
            return _type(node)
        case BranchDeclaration():
            return f"{node.name} {{ {_list(node.fields)} }}" if node.fields else f"{node.name} {{}}"
        case Attribute():
            return f"{'@' if node.located else ''}{node.name}: {node.type}"
        case FunctorDeclaration():
            parameters = (f"{each.name}: {each.type}" if each.name else each.type for each in node.parameters)
            word = "aggregate" if node.aggregate else "functor"
            stateful = " stateful" if node.stateful else ""
            return f".{word} {node.name}({', '.join(parameters)}): {node.result}{stateful}"
        case Directive():
            options = ", ".join(f"{key}={_option(value)}" for key, value in node.options.items())
            return f".{node.name} {node.relation}" + (f"({options})" if options else "")
        case Atom() | Negation() | Comparison() | Truth() | Disjunction():
            return _literal(node)
        case Step() | Inverse() | Repeat() | Sequence() | Alternation():
            return _path(node)[0]
        case _:
            return _term(node)[0]  # type: ignore[arg-type]


def statements_of(program: Program) -> tuple[SyntaxNode, ...]:
    """Return the statements of a program by their sorts."""
    return (
        *program.types,
        *program.functors,
        *program.declarations,
        *program.directives,
        *program.rules,
        *program.components,
        *program.instances,
    )


def documented_text(statement: SyntaxNode) -> str:
    """Return the text of a statement, behind its documentation comments and annotations."""
    about: About = getattr(statement, "about", About())
    lines = [f"/// {line}".rstrip() for line in about.doc.split("\n") if about.doc]
    lines += [f"@{annotation}" for annotation in about.annotations]
    return "\n".join([*lines, source_text(statement)])


def _list(nodes: Iterable[SyntaxNode]) -> str:
    return ", ".join(map(source_text, nodes))


def _rule(rule: Rule) -> str:
    name = f"{rule.name}: " if rule.name is not None else ""
    heads = (" <= " if rule.subsumes else ", ").join(map(source_text, rule.heads))
    body = f" :- {_list(rule.body)}" if rule.body else ""
    orders = ", ".join(f"{order.version}: ({', '.join(map(str, order.atoms))})" for order in rule.plan)
    return f"{name}{heads}{body}." + (f" .plan {orders}" if orders else "")


def _selections(declaration: Declaration) -> Iterator[str]:
    """Yield the text of the selections of a declaration, if it has any."""
    if declaration.selections:
        choice = "choice-domain " if declaration.selections[0].op == "choice" else ""
        yield f"{choice}{_list(declaration.selections)}"


def _domain(attributes: tuple[str, ...]) -> str:
    return attributes[0] if len(attributes) == 1 else f"({', '.join(attributes)})"


def _type(type_: TypeDeclaration) -> str:
    match type_.form:
        case "sub":
            return f".type {type_.name} <: {type_.members[0]}"
        case "record":
            return f".type {type_.name} = [{_list(type_.fields)}]"
        case "branches":
            return f".type {type_.name} = {' | '.join(map(source_text, type_.branches))}"
        case _:
            return f".type {type_.name} = {' | '.join(type_.members)}"


def _option(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote_string(value) if isinstance(value, str) else str(value)


def _literal(literal: Literal) -> str:
    match literal:
        case Atom(relation, args, location):
            selects = dict(literal.selects)
            shown = [
                f"{selects[i]}({source_text(arg)})" if i in selects else source_text(arg) for i, arg in enumerate(args)
            ]
            if location is not None:
                # `@f(` begins a call, also where `f` is a soft word or an aggregate of the program, and `@@f` a fold.
                text = shown[location]
                apart = isinstance(args[location], Aggregate) or text[0] == "@" or text.partition("(")[0] in SOFT_WORDS
                shown[location] = f"@({text})" if apart else f"@{text}"
            return f"{relation}({', '.join(shown)})"
        case Negation():
            return f"!{_literal(literal.atom)}"
        case Comparison(op, left, right):
            if op.lstrip("!") in TESTS:
                return f"{op}({source_text(left)}, {source_text(right)})"
            return f"{source_text(left)} {op} {source_text(right)}"
        case Truth():
            return "true" if literal.value else "false"
        case Disjunction():
            return f"({'; '.join(map(_list, literal.alternatives))})"


def path_name(path: Path) -> str:
    """Return the name of an atom with a path: in brackets, unless the path is one relation with signs."""
    inner = path
    while isinstance(inner, Inverse):
        inner = inner.path
    while isinstance(inner, Repeat):
        inner = inner.path
    return str(path) if isinstance(inner, Step) and inner is not path else f"<{path}>"


_CHOICE, _SEQUENCE, _INVERSE, _REPEAT = range(4)


def _path(path: Path) -> tuple[str, int]:
    """Return the text and the precedence of its outermost operator."""
    match path:
        case Step():
            return path.relation, _REPEAT
        case Repeat():
            return f"{_path_part(path.path, _REPEAT)}{path.op}", _REPEAT
        case Inverse():
            return f"^{_path_part(path.path, _INVERSE)}", _INVERSE
        case Sequence():
            return "/".join([_path_part(part, _INVERSE) for part in path.parts]), _SEQUENCE
        case Alternation():
            return "|".join([_path_part(part, _SEQUENCE) for part in path.parts]), _CHOICE


def _path_part(path: Path, level: int) -> str:
    """Return the text of an operand, in parentheses if it binds less strongly than `level`."""
    text, own = _path(path)
    return text if own >= level else f"({text})"


def _term(term: Term) -> tuple[str, int]:
    """Return the text and the precedence of its outermost operator."""
    match term:
        case Variable():
            return term.name, PRIMARY
        case Anonymous():
            return "_", PRIMARY
        case Constant():
            return _constant(term)
        case Functor():
            return _functor(term)
        case Record(fields=None):
            return "nil", PRIMARY
        case Record(fields=parts, branch=None):
            return f"[{_list(parts or ())}]", PRIMARY
        case Record(fields=parts, branch=name):
            return f"${name}({_list(parts)})" if parts else f"${name}", PRIMARY
        case Cast():
            return f"as({source_text(term.term)}, {term.type})", PRIMARY
        case Aggregate(target=Record(fields=tuple(operands)), called=str(name)) if name:
            start = "" if term.start is None else f"{source_text(term.start)}, "
            shown = f"({_list(operands)})" if term.start is None else f" {_list(operands)}"
            return f"{term.word}{shown} : {start}{{ {_list(term.body)} }}", PRIMARY
        case Aggregate():
            target = "" if term.target is None else f"{source_text(term.target)} "
            if isinstance(term.target, Record) and term.target.fields and AGGREGATES[term.op].arguments:
                return f"{term.op}({_list(term.target.fields)}) : {{ {_list(term.body)} }}", PRIMARY
            if _ENDS_IN_AGGREGATE.search(target):  # in `sum count : {` the target would be an aggregate of its own
                target = f"({target.rstrip()}) "
            return f"{term.op} {target}: {{ {_list(term.body)} }}", PRIMARY


_ENDS_IN_AGGREGATE = re.compile(rf"\b({'|'.join(SPELLINGS)}) $")


def _constant(constant: Constant) -> tuple[str, int]:
    value = constant.value
    if isinstance(value, str):
        return quote_string(value), PRIMARY
    text = f"{value}u" if constant.kind == "unsigned" else repr(value)
    return text, SIGN if text.startswith("-") else PRIMARY


def _functor(functor: Functor) -> tuple[str, int]:
    name, args = functor.name, functor.args
    if name in _PREFIX:
        inner = args[0]
        bare = name == "neg" and isinstance(inner, Constant) and not source_text(inner).startswith("-")
        return _PREFIX[name] + (f"({source_text(inner)})" if bare else _operand(inner, SIGN)), SIGN
    if name == "^":
        return f"{_operand(args[0], PRIMARY)} ^ {_operand(args[1], SIGN)}", POWER
    if name in LEVELS:
        level = LEVELS[name]
        return f"{_operand(args[0], level)} {name} {_operand(args[1], level + 1)}", level
    return f"{name}({_list(args)})", PRIMARY


def _operand(term: Term, level: int) -> str:
    """Return the text of an operand, in parentheses if it binds less strongly than `level`."""
    text, own = _term(term)
    return text if own >= level else f"({text})"


def quote_string(text: str) -> str:
    """Return the string literal whose value is `text`, with the escapes that it needs."""
    if text.isprintable() and '"' not in text and "\\" not in text:  # Mostly so, and much faster.
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(c, c if c.isprintable() else _escape(c)) for c in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else character
