"""The lexer of Pygments: each construct of the language has its colour."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from tidelog.editors.colours import TidelogLexer


@pytest.mark.parametrize(
    ("text", "part", "kind"),
    [
        (".decl a(x: number) brie", ".decl", Keyword.Declaration),
        (".decl a(x: number) brie", "a", Name.Function),
        (".decl a(x: number) brie", "number", Keyword.Type),
        (".decl a(x: number) brie", "brie", Keyword),
        (".decl a(x: number) choice-domain x", "choice-domain", Keyword),
        ("far: a(x) :- b(x).", "far", Name.Label),
        ("far: a(x) :- b(x).", ":-", Operator),
        ("a(n) :- n = count : { b(_) }.", "count", Keyword),
        ("a(x) :- x = strlen(y), match(y, z).", "strlen", Name.Builtin),
        ("a(x) :- x = strlen(y), match(y, z).", "match", Name.Builtin),
        ("a(x) :- x = y band 0x1F.", "band", Operator.Word),
        ("a(x) :- x = y band 0x1F.", "0x1F", Number),
        ("a(1.5e-3).", "1.5e-3", Number.Float),
        ("a(@f(x), $Cons(1, nil)).", "@f", Name.Function),
        ("a(@f(x), $Cons(1, nil)).", "$Cons", Name.Class),
        ("a(@f(x), $Cons(1, nil)).", "nil", Keyword.Constant),
        ("a(x, y) :- part.edge+(x, y).", "part.edge", Name.Function),
        ('a("x\\n").', "\\n", String.Escape),
        ("/// doc\n.decl a()", "/// doc", String.Doc),
        ("// note", "// note", Comment.Single),
        ("/* a\n b */", "/* a\n b */", Comment.Multiline),
        ('#include "a.dl"', '#include "a.dl"', Comment.Preproc),
        ('@[owner = "me"]\n.decl a()', '@[owner = "me"]', Name.Decorator),
        ("a(?x).", "?x", Name),
    ],
)
def test_a_construct_has_its_colour(text: str, part: str, kind: _TokenType) -> None:
    assert (kind, part) in list(TidelogLexer().get_tokens(text))


def test_it_is_registered() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["tidelog"].partition(":")
    lexer = getattr(importlib.import_module(module), name)
    assert (lexer, lexer.aliases, lexer.filenames) == (TidelogLexer, ("datalog-tidelog",), ("*.dl",))
