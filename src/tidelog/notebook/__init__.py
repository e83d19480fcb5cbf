"""tidelog in notebooks: the IPython extension, and tables that follow a relation.

cells      `%load_ext tidelog`: cells of rules, bars for long work, short messages for Ctrl-C, names as you type
following  a table of a relation that changes with it
"""

from tidelog.notebook.cells import load_ipython_extension
from tidelog.notebook.following import follow

__all__ = ["follow", "load_ipython_extension"]
