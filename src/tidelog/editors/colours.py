"""Colours for Pygments: the lexer `datalog-tidelog`, for documentation and for programs that show code.

It goes by the words of the language as `tidelog.language` lists them, and never rejects a text.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

from tidelog.language.aggregates import SPELLINGS
from tidelog.language.lexer import DIRECTIVES, FUNCTIONS, QUALIFIERS
from tidelog.language.syntax import PRIMITIVES

_NAME = r"\??[^\W\d](?:\w|\?(?=\w))*"
_HEAD = rf"{_NAME}(?:\.\w+)*\s*\([^)]*\)\s*(?::-|,|<=)"
"""Begins a rule, so that a name and a colon before it name the rule."""
_OPERATORS = ("band", "bor", "bxor", "bnot", "bshl", "bshr", "bshru", "land", "lor", "lxor", "lnot")
_TESTS = ("match", "contains", "starts_with", "ends_with")
_CALLED = r"(?=\s*\()"


class TidelogLexer(RegexLexer):  # type: ignore[misc]  # Pygments publishes no types
    """A lexer of Pygments for programs of tidelog."""

    name = "tidelog"
    aliases = ("datalog-tidelog",)
    filenames = ("*.dl",)
    mimetypes = ("text/x-datalog",)
    url = ""
    flags = re.MULTILINE
    tokens = {  # noqa: RUF012 (this is how a lexer of Pygments is written)
        "root": [
            (r"\s+", Whitespace),
            (r"^[^\S\n]*#(?:.*\\\n)*.*", Comment.Preproc),
            (r"//[/<].*|/\*\*(?![*/])(?s:.*?)\*/", String.Doc),
            (r"//.*", Comment.Single),
            (r"/\*(?s:.*?)\*/", Comment.Multiline),
            (r'"', String, "string"),
            (r"@!?\[[^\]\n]*\]", Name.Decorator),
            (words(tuple(DIRECTIVES), suffix=r"\b"), Keyword.Declaration),
            (
                rf"({_NAME})(\s*)(:)(?=\s*{_HEAD})",
                bygroups(Name.Label, Whitespace, Punctuation),
            ),
            (r"choice-domain\b", Keyword),
            (words(tuple(QUALIFIERS - {"input", "output", "printsize"}), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(PRIMITIVES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words(("nil", "true", "false"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(_OPERATORS, prefix=r"\b", suffix=r"\b"), Operator.Word),
            (rf"\b(?:as|{'|'.join(_TESTS)}){_CALLED}", Name.Builtin),
            (rf"\b(?:{'|'.join(sorted(FUNCTIONS - SPELLINGS.keys()))}){_CALLED}", Name.Builtin),
            (rf"\b(?:{'|'.join(SPELLINGS)})\b(?!\s*(?::\s*\w+\s*[,)]))", Keyword),
            (rf"@@?{_NAME}", Name.Function),
            (rf"\$\s*{_NAME}(?:\.\w+)*", Name.Class),
            (r"\d+\.\d+\.\d+\.\d+\b", Number),
            (r"0x[0-9a-fA-F]+u?|0b[01]+u?", Number),
            (r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+u?", Number.Integer),
            (rf"{_NAME}(?:\.[^\W\d]\w*)*(?=[+*?]*\s*\()", Name.Function),
            (rf"_\b|{_NAME}|_\?+", Name),
            (r":-|<=|>=|!=|<:|[-+*/%^=!<>@$|?]", Operator),
            (r"[\[\](){}.,;:]", Punctuation),
            (r".", Text),
        ],
        "string": [
            (r'[^"\\\n]+', String),
            (r"\\.", String.Escape),
            (r'"|$', String, "#pop"),
        ],
    }
