"""All errors of tidelog as one tree, and the display of a message with source lines.

    TidelogError
    ├── ProgramError     the program text is wrong           E01xx syntax, E02xx declarations, types, E03xx rules
    ├── DataError        the data do not fit the program     E04xx
    ├── LimitError       a limit of time or size was reached E05xx
    ├── UsageError       the call is wrong                   E06xx
    ├── SetupError       the machine lacks something         E07xx
    ├── CertificateRejected  a certificate proves nothing    E0801 to E0806
    ├── ProofRejected        a proof does not show its tuple E0820
    └── InternalError    tidelog is wrong                    E09xx

An error carries one `Problem` or several; each has a code, a message, the place, and a hint. `CODES` names every code;
`docs/reference/errors.md` explains each.
"""

from __future__ import annotations

import os
import traceback
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from operator import index
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.common.source import Span

CODES: dict[str, str] = {
    # E01xx syntax
    "E0101": "syntax error",
    "E0102": "unexpected character",
    "E0103": "a string or a comment is not closed",
    "E0104": "unknown escape in a string",
    "E0105": "malformed number, or one beyond 64 bits",
    "E0106": "nested too deeply",
    "E0107": "unknown directive",
    "E0108": "a wrong value of an option of a directive",
    "E0109": "the program is not valid text",
    "E0110": "the program cannot be read",
    "E0111": "malformed preprocessor line",
    "E0112": "an included file cannot be read",
    "E0113": "a path lacks a step",
    "E0114": "a rule is too large",
    "E0115": "a brace, or an override, stands outside of a component",
    "E0116": "a plan follows no rule",
    "E0117": "qualifiers of a relation contradict each other",
    "E0190": "not supported yet",
    # E02xx declarations, types, safety
    "E0201": "undeclared relation",
    "E0202": "a relation is declared twice",
    "E0203": "undeclared type",
    "E0204": "a type is declared twice",
    "E0205": "a type is defined in terms of itself",
    "E0206": "a union mixes types of different kinds",
    "E0207": "two attributes have the same name",
    "E0208": "wrong number of arguments of a relation",
    "E0209": "wrong number of fields of a record or branch",
    "E0210": "wrong number of arguments of a functor",
    "E0211": "types do not fit",
    "E0212": "a value has too wide a type",
    "E0213": "the record type is unknown",
    "E0214": "a number does not fit its type",
    "E0215": "a variable in a head is not grounded",
    "E0216": "a variable in a negated atom is not grounded",
    "E0217": "a variable is not grounded",
    "E0218": "a variable is grounded only inside an aggregate",
    "E0219": "`_` where a value is needed",
    "E0220": "a cast between incompatible types",
    "E0221": "two rules have the same name",
    "E0222": "malformed or unsupported regular expression",
    "E0223": "a path needs relations with two columns",
    "E0224": "the types along a path do not fit",
    "E0225": "an equivalence relation needs two attributes of one type",
    "E0226": "a subtype of a union or of a record",
    "E0230": "a component is declared twice",
    "E0231": "undeclared component",
    "E0232": "a component inherits from itself",
    "E0233": "wrong number of parameters of a component",
    "E0234": "a component contains an instance of itself",
    "E0235": "an override of a relation that is not inherited, or not overridable",
    "E0236": "an instance is initialised twice",
    "E0237": "too many instances of components",
    "E0240": "an inline relation is defined by itself",
    "E0241": "an inline relation where tuples are needed",
    "E0242": "a negated inline relation brings a variable",
    "E0250": "a selection by an attribute that does not exist, or twice by one",
    "E0251": "a selection by an attribute that has no order",
    "E0252": "a subsumption between different relations",
    "E0253": "a relation selects in two ways",
    "E0260": "an unknown branch",
    "E0261": "a branch is declared twice",
    "E0270": "undeclared functor or aggregate",
    "E0271": "a functor or an aggregate is declared twice",
    "E0275": "a counter where nothing can be numbered",
    "E0289": "warning: an aggregate with `_` has other members in Soufflé",
    "E0290": "warning: a directive has no such option",
    "E0291": "warning: a relation has no facts, rules or input",
    "E0292": "warning: a variable occurs once",
    "E0293": "warning: a type has no values",
    "E0294": "warning: a deprecated form",
    "E0295": "warning: nothing reads a relation",
    "E0296": "warning: a rule never derives anything",
    "E0297": "warning: a variable whose name begins with `_` occurs more than once",
    "E0298": "warning: a recursion reads dominated tuples",
    "E0299": "warning: a plan does not fit its rule",
    # E03xx rule graph
    "E0301": "negation through recursion",
    "E0302": "aggregation through recursion",
    "E0303": "recursion through the groups of an aggregate",
    "E0304": "too many combinations of alternatives",
    "E0305": "a path with `*` may not terminate",
    "E0306": "a counter in a recursive rule",
    "E0310": "two columns of a relation are marked as its location",
    "E0311": "the location has a type that cannot name a node",
    "E0312": "the program has no locations",
    "E0313": "a rule cannot be made local",
    "E0314": "a negation or an aggregate has no location",
    "E0315": "a head has no location",
    "E0316": "nodes cannot evaluate a construct",
    # E04xx data
    "E0401": "a value has the wrong type",
    "E0402": "a value is out of range",
    "E0403": "a value is missing",
    "E0404": "NaN cannot be stored",
    "E0405": "a row has the wrong number of values",
    "E0406": "the columns do not match",
    "E0407": "unsupported kind of data",
    "E0408": "a text is not UTF-8",
    "E0409": "two values have one number",
    "E0410": "a file or table does not exist",
    "E0411": "a file cannot be read",
    "E0412": "a file cannot be written",
    "E0413": "an input or output option is wrong",
    "E0414": "a row would not read back as it is",
    "E0415": "a word encodes no value",
    "E0416": "the store of a node cannot be read",
    "E0417": "warning: values of a file keep the quotes around them",
    "E0418": "warning: nobody has read the files of `.input`",
    "E0460": "an RDF text cannot be parsed",
    "E0461": "a relative IRI has no base",
    "E0462": "a literal does not fit its datatype",
    "E0463": "triples to delete contain a blank node",
    "E0464": "a term that rdflib or a format lacks",
    "E0465": "not an RDF term or triple",
    "E0480": "a Spark frame lacks a column of the relation",
    "E0481": "the type of a Spark column does not fit the declared type",
    "E0482": "Spark cannot read a source",
    "E0483": "Spark cannot write a view",
    "E0484": "a streaming frame where a batch is expected",
    "E0485": "a mapping names a column that does not exist",
    "E0486": "a declaration does not match the stored facts",
    "E0487": "different rows have one key",
    "E0488": "a table does not fit a sink",
    # E05xx limits
    "E0501": "the time limit was reached",
    "E0502": "the row limit was reached",
    "E0503": "out of memory",
    "E0504": "the size limit of a relation was reached",
    "E0505": "a search for explanations was cut short",
    "E0506": "a selection has no end",
    "E0507": "a rule or tuple is too large for a network",
    "E0508": "no room on the disk for arrays",
    "E0509": "work for somebody who has left was cancelled",
    # E06xx usage
    "E0601": "unknown relation",
    "E0602": "the database or the snapshot is closed",
    "E0603": "unknown option, or a wrong value",
    "E0604": "encoded rows have the wrong shape",
    "E0605": "a tuple has the wrong length",
    "E0606": "a transaction begins while changes are pending",
    "E0607": "a query is not the body of a rule",
    "E0608": "unknown rule or instance",
    "E0609": "a callback is not a function",
    "E0610": "wrong arguments of connect",
    "E0611": "an inline relation has no tuples",
    "E0612": "a parameter is no variable of the query",
    "E0613": "a pattern of facts to delete is not one atom",
    "E0614": "no snapshots of this database",
    "E0615": "a change of a snapshot",
    "E0616": "unknown branch",
    "E0617": "warning: changes wait for `commit`",
    "E0618": "the births of a snapshot are gone",
    "E0620": "rules for a network contain facts",
    "E0621": "facts of a relation without a location",
    "E0622": "a fact belongs to another node",
    "E0623": "a node cannot use this store",
    "E0624": "a network's configuration is wrong",
    "E0625": "a call is not allowed inside a transaction",
    "E0626": "a transaction is used outside its block or thread",
    "E0627": "a database or store belongs to another process",
    "E0628": "the lock file of a store was removed",
    "E0629": "an object cannot be copied or pickled",
    "E0635": "an argument has the wrong type",
    "E0640": "unknown code of a warning",
    "E0642": "a library of functors cannot be used",
    "E0643": "a function whose results are not remembered is not pure",
    "E0644": "the inverse or the merge of an aggregate disagrees with its step",
    "E0645": "a functor or an aggregate has no function",
    "E0646": "a functor has a function already, or one of other types",
    "E0647": "the function of a functor raised an error",
    "E0648": "the function of a functor takes or returns a value that does not fit",
    "E0649": "a function or module cannot be imported by its name",
    "E0650": "the command line cannot use a file",
    "E0651": "the facts folder does not exist",
    "E0652": "the output folder is not a folder",
    "E0653": "the folder contains a store already",
    "E0654": "the folder contains no store",
    "E0655": "the store is open for reading only",
    "E0656": "the folder for files of arrays cannot be used",
    "E0657": "a store of RDF has other rules",
    "E0658": "a certificate or a key of TLS cannot be used",
    "E0659": "warning: a part of shapes is not validated",
    "E0660": "unknown RDF format",
    "E0661": "an undeclared prefix, or an invalid one",
    "E0662": "unknown rules for RDF",
    "E0663": "a SPARQL view cannot be maintained",
    "E0664": "a SPARQL text cannot be parsed",
    "E0665": "SPARQL is switched off",
    "E0666": "SPARQL that asks another server",
    "E0667": "a triple to delete follows from others",
    "E0668": "queries cannot be stopped here",
    "E0669": "unknown graph",
    "E0670": "a tuple to explain does not hold",
    "E0671": "explanations of an earlier epoch",
    "E0672": "a tuple whose absence is asked for holds",
    "E0673": "not a tuple to explain",
    "E0674": "ill-formed shapes",
    "E0675": "shapes beyond SHACL",
    "E0676": "a proof that another checker has no form for",
    "E0677": "an explanation that nodes cannot give",
    "E0678": "N3 that no rule can have",
    "E0679": "not for inferences per graph",
    "E0680": "a state folder is in use",
    "E0681": "a state folder cannot be used",
    "E0682": "a state folder is damaged",
    "E0683": "the checkpoint of a stream is ahead of the facts",
    "E0684": "not a stream, or one that runs already",
    "E0685": "a mapping of a stream or source is wrong",
    "E0686": "the description of a pipeline is wrong",
    "E0687": "a frame outlived its epoch",
    "E0688": "too many rows for the driver",
    "E0689": "not a Spark session",
    "E0690": "a picture has an unknown file ending",
    "E0691": "driver and executors do not share a folder",
    "E0692": "a request that the server cannot read",
    "E0693": "a request that is not allowed",
    "E0694": "no such format of a request or an answer",
    "E0695": "the body of a request is too large",
    "E0696": "the server cannot listen",
    "E0697": "a cursor has expired",
    "E0698": "an idempotency key of another request",
    "E0699": "a server that does not answer, or another one",
    # E07xx machine
    "E0701": "PySpark is missing or too old",
    "E0702": "Spark finds no Java runtime",
    "E0703": "Spark does not start",
    "E0704": "Spark's workers run another Python",
    "E0705": "the Spark session has been stopped",
    "E0706": "a session of Spark Connect cannot do this",
    "E0707": "the session has no Delta Lake",
    "E0708": "Spark failed to evaluate an epoch or to answer a question",
    "E0709": "the cluster engine cannot evaluate a construct",
    "E0710": "no server of Spark Connect answers",
    "E0790": "an optional package is not installed",
    "E0791": "the process of a node ended",
    # E08xx certificates
    "E0801": "a fact is not in the view",
    "E0802": "the view is not closed",
    "E0803": "the view is not founded",
    "E0804": "the strata are wrong",
    "E0805": "the view is not selected",
    "E0806": "a number of a counter is missing, or given twice",
    "E0810": "not a certificate",
    "E0811": "the manifest of a certificate cannot be read",
    "E0812": "the program of a certificate is wrong",
    "E0813": "the program does not match the manifest",
    "E0814": "a file of a certificate cannot be read",
    "E0815": "a file of a certificate has the wrong content",
    "E0816": "a certificate cannot be written",
    "E0817": "a certificate contains an unexpected file",
    "E0818": "a file of a certificate unpacks to too much",
    # E09xx internal
    "E0820": "a proof does not show its tuple",
    "E0901": "internal error",
}


@dataclass(frozen=True)
class Problem:
    """One problem: `code` of CODES, `message`, the `span` of the text to underline (None without a place), `notes` as
    further places with a label each, and `hint`, the advice. `place` names a place outside of program texts
    ("facts/e.csv:17:2", "table e, column x, row 4")."""

    code: str
    message: str
    span: Span | None = None
    notes: tuple[tuple[Span, str], ...] = ()
    hint: str | None = None
    place: str | None = None
    severity: str = "error"

    @property
    def places(self) -> tuple[tuple[Span, str], ...]:
        """The notes, and the instances of components and the files through which the place comes into the program."""
        if self.span is None:
            return self.notes
        including: list[tuple[Span, str]] = []
        place = self.span.source.included
        while place is not None:
            including.append((place, "included here"))
            place = place.source.included
        return (*self.notes, *self.span.via, *including)

    def __str__(self) -> str:
        head = f"{self.severity}[{self.code}]: {self.message}"
        if self.span is not None:
            lines = [f"{position(self.span)}: {head}", *_excerpt(self.span)]
        else:
            lines = [f"{self.place}: {head}" if self.place else head]
        for span, label in self.places:
            lines += [f"{position(span)}: note: {label}", *_excerpt(span)]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON has it: with `file`, `line` and `column` (from 1) where it has a place in a
        program, and `place` for other places."""
        document: dict[str, Any] = {"code": self.code, "severity": self.severity, "message": self.message}
        if self.span is not None:
            document |= _place(self.span)
        notes = [{"message": label, **_place(span)} for span, label in self.places]
        return document | {"place": self.place, "hint": self.hint, "notes": notes}


MOST_SHOWN = 20
"""The problems that the text of an error shows; `problems` has them all."""


class TidelogError(Exception):
    """The root of all errors that a user can meet. `problems` has at least one entry."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    @property
    def code(self) -> str:
        """The code of the first problem."""
        return self.problems[0].code

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if more := len(self.problems) - len(shown):
            shown.append(f"{more} more {'error' if more == 1 else 'errors'}")
        return "\n".join(shown)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: no traceback, except of faults of tidelog."""
        if isinstance(self, InternalError):
            return traceback.format_exception(self)
        return [str(self)]


class ProgramError(TidelogError):
    """The program text is wrong; `problems` lists everything found in one run."""


class DataError(TidelogError):
    """Facts do not fit the declarations, or a file or table cannot be read."""


class LimitError(TidelogError):
    """A limit set with `options` was reached; nothing has changed."""


class UsageError(TidelogError):
    """A call with wrong arguments, or at the wrong time."""


class SetupError(TidelogError):
    """The machine lacks something, such as a Java runtime."""


class CertificateRejected(TidelogError):
    """A view does not follow from its facts and rules, or its certificate does not prove it."""


class ProofRejected(TidelogError):
    """A step of a proof does not follow from the steps before it."""


class InternalError(TidelogError):
    """A bug of tidelog."""


class KernelCacheWarning(UserWarning):
    """The compiled kernels cannot be kept, so that each process compiles them anew."""


class InputWarning(UserWarning):
    """A relation with `.input` gets no facts by a commit (E0418): `load` reads no files of facts."""


class PendingWarning(UserWarning):
    """Changes wait for `commit` while views are read, or at the end of a `with` block (E0617)."""


class ShapesWarning(UserWarning):
    """A part of shapes of SHACL is not validated (E0659): tidelog does not know it, or cannot validate it."""


def quote(value: object) -> str:
    """Return the text of a value for a message, cut to a length that fits on a line."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, (str, bytes)) and len(value) > 60:
        return f"{value[:45]!r}… ({len(value)} characters)"
    try:
        text = repr(value)
    except Exception:  # a repr of the user's own, or of something nested too deeply, must not hide the real problem
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:45]}… ({len(text)} characters)"


def quote_name(name: object) -> str:
    """Return a name for a message, or the text of what stands in the place of one."""
    return name if isinstance(name, str) else quote(name)


def wrong_argument(what: str, expected: str, found: object) -> UsageError:
    """Return the error (E0635) about an argument other than `expected`; `what` names the argument."""
    text = quote(found) if isinstance(found, (int, float)) else f"a value of type {type(found).__name__}"
    message = f"expected {expected} as {what}, found {text}"
    return UsageError(Problem("E0635", message, hint=f"pass {expected}"))


def path_problem(path: str | os.PathLike[str]) -> str | None:
    """Return why no file or folder can have a path, None if one can."""
    text = os.fspath(path)
    if "\0" in text:
        return "the path has a NUL character"
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return "the path has an unpaired surrogate"
    return None


def surrogate_in(text: str) -> int | None:
    """Return the place of the first unpaired surrogate of a text, which UTF-8 cannot express, None if it has none."""
    try:
        str.encode(text)
    except UnicodeEncodeError as error:
        return error.start
    return None


def flag(name: str, value: object) -> bool:
    """Return the value of an option that is True or False. Raise UsageError (E0603) for another one."""
    if not isinstance(value, bool):
        message = f"{name} must be True or False, found {quote(value)}"
        raise UsageError(Problem("E0603", message, hint="pass True or False"))
    return value


def whole(name: str, value: object) -> int:
    """Return the value of an argument that is a number of things, of 63 bits at most. Raise UsageError (E0635) for
    another one."""
    with suppress(TypeError):
        number = index(value)  # type: ignore[arg-type]
        if not isinstance(value, bool) and 0 <= number < 2**63:
            return number
    raise wrong_argument(f"`{name}`", "a number, 0 or more", value)


def how_to_install(*extras: str) -> str:
    """Return the hint about optional packages that are missing."""
    return f"run `pip install '.[{','.join(extras)}]'` in your checkout of tidelog"


def is_installed(module: str) -> bool:
    """Return whether a module can be found, without loading it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def position(span: Span) -> str:
    line, column = locate(span)
    name, line = span.source.origin(line)
    return f"{name}:{line}:{column}"


def locate(span: Span) -> tuple[int, int]:
    """Return the line and column, both from 1, of the first character of `span`."""
    starts = span.source.line_starts
    line = bisect_right(starts, span.start)
    return line, span.start - starts[line - 1] + 1


def _place(span: Span) -> dict[str, Any]:
    line, column = locate(span)
    name, line = span.source.origin(line)
    return {"file": name, "line": line, "column": column, "length": span.end - span.start}


_WIDTH = 160


def _excerpt(span: Span) -> Iterable[str]:
    """Yield the source line of `span` and a caret line below. Cut long lines around the place."""
    line, column = locate(span)
    begin = span.source.line_starts[line - 1]
    end = span.source.text.find("\n", begin)
    end = end if end >= 0 else len(span.source.text)
    length = max(1, min(span.end, end) - span.start)
    shift = max(0, column - 1 - _WIDTH // 2)
    shown = span.source.text[begin + shift : min(end, begin + shift + _WIDTH)].expandtabs(1).rstrip("\r")
    shown = shown.encode(errors="replace").decode()  # A message can be printed, even about a surrogate.
    carets = "^" * max(1, min(length, _WIDTH - (column - 1 - shift)))
    margin = f"{span.source.origin(line)[1]:>5} | "
    yield f"{margin}{shown}"
    yield f"{' ' * (len(margin) - 2)}| {' ' * (column - 1 - shift)}{carets}"
