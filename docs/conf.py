"""How Sphinx builds the documentation: MyST Markdown, the public API from docstrings, a lexer for program text."""

import importlib.metadata
import re

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from sphinx.application import Sphinx

from tidelog.language.aggregates import SPELLINGS

project = "tidelog"
copyright = "the tidelog authors"
release = version = importlib.metadata.version("tidelog")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Datalog whose views follow facts and rules", "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Docstrings are prose with `names` in backquotes; with this, those become code and not roles of Sphinx.
default_role = "code"


class DatalogLexer(RegexLexer):
    """Colours for program text."""

    name = "Datalog"
    aliases = ("datalog",)
    flags = re.MULTILINE
    tokens = {  # noqa: RUF012 (this is how a lexer of Pygments is written)
        "root": [
            (r"//.*?$|^#.*?$", Comment.Single),
            (r"/\*.*?\*/", Comment.Multiline),
            (r'"(\\.|[^"\\])*"', String),
            (r"\.[a-z]+\b", Keyword.Declaration),
            (words(tuple(SPELLINGS), r"\b", r"\b"), Keyword),
            (words(("number", "unsigned", "float", "symbol", "nil", "true", "false"), r"\b", r"\b"), Keyword.Type),
            (r"\b0x[0-9a-fA-F]+u?|\b0b[01]+u?|\b\d+(\.\d+)?u?", Number),
            (r"[A-Za-z_?][\w?]*", Name),
            (r":-|[-+*/%^=!<>@$|&]+", Operator),
            (r"[\[\](){}.,;:]", Punctuation),
            (r"\s+|.", Text),
        ]
    }


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("datalog", DatalogLexer)
