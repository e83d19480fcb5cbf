"""How Sphinx builds the documentation: MyST Markdown, the public API from docstrings, colours for program text."""

import importlib.metadata

from sphinx.application import Sphinx

from tidelog.editors.colours import TidelogLexer

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


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("datalog", TidelogLexer)
