"""`tidelog` without a command: a prompt on a terminal, and statements from standard input in a pipe.

`Session` does the work of one statement and returns the text to print; `execute` reads statements. The prompt itself,
with its history, completion and colours, is prompt_toolkit's; without that package, it is Python's `input`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.explain import goal_of, why_or_why_not
from tidelog.cli.facts import inputs_of, read_inputs
from tidelog.cli.report import change_lines, table
from tidelog.cli.shared import hints
from tidelog.common.cache_folder import cache_folder
from tidelog.errors import TidelogError, is_installed

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from tidelog.explain.steps import Removal
    from tidelog.workspace.change import Change

QUIT = ".quit", "quit", "exit"
MOST_SHOWN = 20
"""Changed tuples that are printed after a statement."""
WELCOME = """\
tidelog: views that follow facts and rules. Three things to try:
  type here        .decl edge(x: number, y: number)  edge(1, 2).
  run a program    tidelog run PROG.dl -D -
  serve a store    tidelog serve my.tide
Here `help` shows what to type, `quit` or Ctrl-D ends."""
HELP = """\
edge(1, 2).                  a fact          .delete edge(1, _)   retract facts
path(x, y) :- edge(x, y).    a rule          .rules               the rules
.decl edge(x: number, …)     a declaration   .remove r1           remove a rule
path(1, y), y > 2            a query         .load FILE           load a program
.explain path(1, 3)          why it holds    .why-not path(3, 1)  why it does not
.ways-to-remove path(1, 3)   what ends it    .ways-to-derive …    what would begin it
.profile                     where time went
help                         this text       quit                 the end"""


class Session:
    """A database in memory, and the statements that change and read it."""

    def __init__(self) -> None:
        from tidelog.database.database import Database

        self.db = Database()
        self.db.options(profile=True)
        self.commands: dict[str, Callable[[str], str]] = {
            ".delete": self._delete,
            ".explain": lambda text: str(why_or_why_not(self.db, *goal_of(text, self.db))),
            ".help": lambda _: HELP,
            ".load": lambda path: self._add_program(Path(path)),
            ".profile": lambda _: str(self.db.profile()),
            ".remove": self._remove,
            ".rules": lambda _: repr(self.db.rules),
            ".ways-to-derive": self._ways_to_derive,
            ".ways-to-remove": lambda text: _sets(self.db.ways_to_remove(*goal_of(text, self.db))),
            ".why-not": lambda text: str(self.db.why_not(*goal_of(text, self.db))),
        }
        self.commands["help"] = self.commands[".help"]  # Newcomers leave the full stop out.

    def execute(self, statement: str) -> str:
        """Do what a statement or a command says, and return the text to print. Whatever this raises has changed
        nothing; it raises what the verbs of databases raise."""
        word, _, rest = statement.partition(" ")
        try:
            if word in self.commands:
                with hints(E0670="ask `.why-not` for the reason", E0672="ask `.explain` for a proof"):
                    return self.commands[word](rest.strip())
            if is_query(statement):
                return self._query(statement)
            return self._add_program(f"{statement}\n")  # With a line break it is no path.
        except BaseException:
            self.db.rollback()
            raise

    def _query(self, text: str) -> str:
        from tidelog.io.relation import sorted_rows
        from tidelog.storage.record_text import format_value

        found = self.db.query(text)
        if not len(found):
            return "nothing found"
        rows = sorted_rows(found)
        cells = [[each if isinstance(each, int | float) else format_value(each) for each in row] for row in rows]
        return table([column.name for column in found.columns], cells)

    def _delete(self, atom: str) -> str:
        self.db.delete(atom)
        return _change_text(self.db.commit())

    def _remove(self, name: str) -> str:
        self.db.rules.remove(name)
        return _change_text(self.db.commit())

    def _add_program(self, program: str | Path) -> str:
        """Add a program, and the facts of its `.input`."""
        before, reading = self.db.program.directives, self.db.workspace.read_program(program)
        self.db.load(reading, replace=True)
        inputs = inputs_of(self.db.program.directives)  # Those of instances of components are not in the program.
        stated = reading.program.directives
        read_inputs(self.db, Path(), [each for each in inputs if each in stated or each not in before])
        return _change_text(self.db.commit())

    def _ways_to_derive(self, text: str) -> str:
        from tidelog.explain.steps import Removal

        return _sets(map(Removal, self.db.ways_to_derive(*goal_of(text, self.db))))


def _sets(found: Iterable[Removal]) -> str:
    """Return the first sets of facts as text."""
    return "\n\n".join(map(str, islice(found, 3))) or "nothing found"


def is_query(statement: str) -> bool:
    """Return True if a statement is the body of a rule, not a rule, a fact or a directive."""
    return not (statement.startswith(".") or statement.endswith((".", "}")) or ":-" in statement)


def is_complete(text: str) -> bool:
    """Return True if no line has to follow: of a rule, up to its full stop, of anything else its parentheses."""
    if any(text.count(left) > text.count(right) for left, right in ("()", "[]", "{}")):
        return False
    return ":-" not in text or text.endswith((".", "}")) or text.startswith(".")


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Return the statements that stand on one or more lines."""
    text = ""
    for line in lines:
        text = f"{text}\n{line}".strip()
        if text and not text.startswith("//") and is_complete(text):
            yield text
            text = ""
        elif text.startswith("//"):
            text = ""
    if text:
        yield text


def _change_text(change: Change) -> str:
    lines = list(change_lines(change))
    more = len(lines) - MOST_SHOWN
    return "\n".join(lines[:MOST_SHOWN] + ([f"  and {more:,} more"] if more > 0 else []))


def execute() -> int:
    """Read statements from standard input, and print what each of them gives. On a terminal, errors are printed and
    the next statement follows; in a pipe, the first one ends it."""
    if sys.stdin.isatty():
        print(WELCOME)
        session = Session()
        return _read_and_run(session, reader(session))
    session = Session()
    statement = None
    for statement in statements(sys.stdin):
        if statement in QUIT:
            break
        if text := session.execute(statement):
            print(text)
    if statement is None:
        print(WELCOME, file=sys.stderr)
    return 0


def reader(session: Session) -> Callable[[str], str]:
    """Return a function that shows a prompt and returns a line: that of `prompt_session`, or Python's own without the
    extra `prompt`."""
    return prompt_session(session).prompt if all(map(is_installed, ("prompt_toolkit", "pygments"))) else input


def prompt_session(session: Session) -> PromptSession[str]:
    """Return the prompt: with history between runs, the names of relations, rules and commands, and colours."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.lexers import PygmentsLexer

    from tidelog.editors.colours import TidelogLexer

    def words() -> list[str]:
        return [*session.commands, *QUIT, ".decl", ".type", *session.db.relations, *session.db.rules]

    cache_folder().mkdir(parents=True, exist_ok=True)
    completer = WordCompleter(words, pattern=re.compile(r"\.?[\w.-]+"))
    history = FileHistory(str(cache_folder() / "prompt_history"))
    return PromptSession(history=history, completer=completer, lexer=PygmentsLexer(TidelogLexer))


def _read_and_run(session: Session, read: Callable[[str], str]) -> int:
    while True:
        try:
            text = read("tidelog> ").strip()
            while text and not is_complete(text):
                text = f"{text}\n{read('     ... ')}".strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        if text in QUIT:
            return 0
        try:
            shown = session.execute(text) if text else ""
        except TidelogError as error:
            shown = str(error)
        except KeyboardInterrupt:
            shown = "tidelog: interrupted"
        if shown:
            print(shown)
