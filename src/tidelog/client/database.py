"""`RemoteDatabase`: the verbs of a database whose store a server has, and its blocks of changes."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, overload
from urllib.parse import quote as quoted

from tidelog.client.answers import (
    ARROW,
    RemoteChange,
    RemoteEnumeration,
    RemoteFollower,
    RemoteRelation,
    RemoteRelationChange,
    ServerExplanations,
)
from tidelog.client.exchange import Exchange, encode_body, error_of
from tidelog.client.rows import Noted, frozen, json_value, keyed_rows, rows_of
from tidelog.database.transaction import Earlier, NamedRules
from tidelog.database.verbs import callable_one
from tidelog.errors import Problem, ProgramError, UsageError, flag, quote, whole, wrong_argument
from tidelog.explain.absence import Absence
from tidelog.explain.blame import Blame
from tidelog.explain.documents import ExplanationReader
from tidelog.explain.proof import Proof
from tidelog.explain.questions import DEPTH, MOST_MEMBERS
from tidelog.explain.steps import Facts, Removal
from tidelog.io.encode import names_of
from tidelog.io.json_values import ColumnTypes
from tidelog.io.values import place_in
from tidelog.language import read
from tidelog.language.branches import Branch
from tidelog.language.declarations import branch_named
from tidelog.language.reading import preprocess_text, text_of
from tidelog.language.syntax import CheckedProgram
from tidelog.queries.answers import QueryPlan
from tidelog.workspace.change import EqualRows
from tidelog.workspace.objects import OF_CLIENTS, EarlierNames, PendingReads, Uncopied, warn_of_pending


def check_outside(database: RemoteDatabase, call: str) -> None:
    """Raise UsageError (E0625) inside of a block of the database."""
    if database.block is not None:
        message = f"cannot call `{call}` inside a transaction"
        hint = "end the block to commit, or raise in it to drop its changes"
        raise UsageError(Problem("E0625", message, hint=hint))


class RemoteTransaction(Uncopied):
    """The changes of one `with` block, whether they are made here or by the database itself. `change` is there once the
    block has ended. `send` commits them, or says what they would change; they are dropped in any case."""

    def __init__(self, database: RemoteDatabase, send: Callable[[], RemoteChange]) -> None:
        self._database = database
        self._send = send
        self.change: RemoteChange | None = None

    def _check(self) -> None:
        if self._database.block is not self:
            hint = "use it inside its `with` block"
            raise UsageError(Problem("E0626", "the transaction has ended, or not begun", hint=hint))

    def __enter__(self) -> Self:
        """Begin. Raise UsageError: E0606 while other changes are pending, E0625 inside of another block."""
        check_outside(self._database, "transaction()")
        if self._database.has_pending:
            message = "other changes are pending"
            raise UsageError(Problem("E0606", message, hint="call `commit()` or `rollback()` before"))
        self._database.block = self
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        try:
            if kind is None:
                self.change = self._send()
        finally:
            self._database.block = None
            self._database.rollback()

    def insert(self, relation: str, data: Any, **options: Any) -> EqualRows | None:
        """Assert facts, see `RemoteDatabase.insert`. Raise UsageError (E0626) outside of the block."""
        self._check()
        return self._database.insert(relation, data, **options)

    def delete(self, relation: str, data: Any, **options: Any) -> None:
        """Retract facts, see `RemoteDatabase.delete`. Raise UsageError (E0626) outside of the block."""
        self._check()
        self._database.delete(relation, data, **options)

    @property
    def rules(self) -> NamedRules:
        """`add`, `replace` and `remove` rules. Raise UsageError (E0626) outside of the block."""
        self._check()
        return self._database.rules


Item = TypeVar("Item")

_NOTHING: Mapping[str, str] = {}


class RemoteRules(NamedRules):
    """The rules of a server, which are read once."""

    @cached_property
    def _rules(self) -> Mapping[str, object]:
        return self._ruled._named_rules()


class RemoteDatabase(EarlierNames):
    """A database behind `tidelog serve`. Changes wait here until `commit`, which sends them as one transaction. Threads
    may share it for reading and `subscribe`.

    All verbs raise what the server raises, and UsageError (E0699) where it does not answer. See `connect` for `ca`.
    """

    _earlier_names = OF_CLIENTS

    def __init__(self, address: str, token: str | None = None, ca: str | os.PathLike[str] | None = None) -> None:
        self._exchange = Exchange(address, token, ca)
        self._explainer = ServerExplanations(self._exchange)
        self._facts: dict[str, Noted] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._duplicates: Counter[str] = Counter()
        self._added: list[str] = []
        self._replaced: list[str | dict[str, str]] = []
        self._removed: list[str] = []
        self._pending_reads = PendingReads()
        self.block: object = None
        """The transaction that has begun."""
        self._key: str | None = None
        """The idempotency key of the changes that wait, once they have been sent."""
        self._followers: list[RemoteFollower] = []
        try:
            self._read_declarations()  # It asks the server whether it is there, and understands this client.
        except BaseException:
            self._exchange.close()
            raise

    # --- reading -------------------------------------------------------------------------------------------------

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the names of the relations, in the order of their declarations."""
        return tuple(self._read_declarations().columns)

    def _read_declarations(self) -> ColumnTypes:
        """Return the declared relations, and keep them."""
        found = self._get_json("/v1/relations")
        columns = {each["name"]: each["columns"] for each in found["relations"]}
        self._types = ColumnTypes.of({"columns": columns, "records": found["records"]})
        return self._types

    def _change_of(self, document: Mapping[str, Any], *, rules: bool) -> RemoteChange:
        """Return the change of an epoch that has perhaps changed declarations, from its form in JSON."""
        types = self._types
        if rules or not document.get("changes", {}).keys() <= types.columns.keys():
            types = self._read_declarations()
        if "types" in document:
            own = ColumnTypes.of(document["types"])
            types = ColumnTypes({**types.columns, **own.columns}, {**types.records, **own.records})
        return RemoteChange(document, types)

    @property
    def epoch(self) -> int:
        """Return the number of the last epoch."""
        return int(self._get_json("/v1/relations")["epoch"])

    def __getitem__(self, name: str) -> RemoteRelation:
        """Return a relation as of the last epoch. Raise UsageError (E0601) for an unknown name."""
        self._note_read()
        return self.rows(name)

    def rows(self, name: str, *, asserted: bool = False, limit: int | None = None, **values: Any) -> RemoteRelation:
        """Return the rows of a relation that have these `values` in columns, at most `limit`; with `asserted`, only
        asserted facts. Values of records are texts, such as "[1, nil]"."""
        parameters = {
            f"filter[{_text('the column', column)}]": str(json_value(value, place_in(column)))
            for column, value in values.items()
        }
        parameters |= {"asserted": "true"} if flag("asserted", asserted) else {}
        parameters |= {} if limit is None else {"limit": str(whole("limit", limit))}
        answer = self._exchange.send("GET", _path(name), parameters, headers={"Accept": ARROW})
        return RemoteRelation.of(name, answer)

    def branch(self, name: str) -> type[Branch]:
        """Return the class of the values of a branch, see `Database.branch`. Raise UsageError (E0616)."""
        return branch_named(name, self._read_declarations().records.values())

    def local(self, name: str) -> RemoteRelation:
        """Return the same as `db[name]`."""
        return self[name]

    @property
    def program(self) -> CheckedProgram:
        """Return the program as of the last epoch."""
        return self._explainer.program

    def query(self, text: str, /, **parameters: Any) -> RemoteRelation:
        """Return the answer to a query as of the last epoch, see `Database.query`."""
        self._note_read()
        body = _query(text, parameters)
        return RemoteRelation.of(
            "query", self._exchange.send("POST", "/v1/query", body=body, headers={"Accept": ARROW})
        )

    def query_plan(self, text: str, /, **parameters: Any) -> QueryPlan:
        """Return how the server would evaluate a query, see `Database.query_plan`."""
        return QueryPlan.of(self._exchange.send("POST", "/v1/query-plan", body=_query(text, parameters)).json())

    @overload
    def explain(
        self, relation: str, values: Iterable[Any], *, all: Literal[False] = False, members: int | None = MOST_MEMBERS
    ) -> Proof: ...
    @overload
    def explain(
        self, relation: str, values: Iterable[Any], *, all: Literal[True], members: int | None = MOST_MEMBERS
    ) -> RemoteEnumeration[Proof]: ...

    def explain(
        self, relation: str, values: Iterable[Any], *, all: bool = False, members: int | None = MOST_MEMBERS
    ) -> Proof | RemoteEnumeration[Proof]:
        """Return why a relation has a tuple, as of the last epoch, or an iterator of all proofs, see
        `Database.explain`. A proof checks itself here: `check()`, and `check(db)` with the views of the server."""
        shown = {"members": "all" if members is None else str(whole("members", members))}
        if flag("all", all):
            return self._explanations("/v1/explain", "proofs", relation, values, ExplanationReader.proof, **shown)
        document, reader = self._ask_about("/v1/explain", relation, values, **shown)
        return reader.proof(document["proofs"][0])

    def why_not(self, relation: str, values: Iterable[Any], *, depth: int = DEPTH) -> Absence:
        """Return why a relation does not have a tuple, as of the last epoch, see `Database.why_not`."""
        document, reader = self._ask_about("/v1/why-not", relation, values, depth=str(whole("depth", depth)))
        return reader.absence(document["absence"])

    def ways_to_remove(
        self, relation: str, values: Iterable[Any], *, rules: bool = False
    ) -> RemoteEnumeration[Removal]:
        """Return the smallest sets of asserted facts, or with `rules` of rules, without which a relation would not have
        a tuple, see `Database.ways_to_remove`."""
        options = {"rules": "true"} if flag("rules", rules) else {}
        read = ExplanationReader.removal
        return self._explanations("/v1/ways-to-remove", "removals", relation, values, read, **options)

    def ways_to_derive(self, relation: str, values: Iterable[Any]) -> RemoteEnumeration[Facts]:
        """Return the smallest sets of facts that would make a relation have a tuple, see `Database.ways_to_derive`."""
        read = ExplanationReader.facts
        return self._explanations("/v1/ways-to-derive", "additions", relation, values, read)

    def blame(self, relation: str, values: Iterable[Any]) -> Blame:
        """Return since which epoch a relation has a tuple, and by which facts and rules, see `Database.blame`."""
        document, reader = self._ask_about("/v1/blame", relation, values)
        return reader.blame(document["blame"])

    def check(self) -> None:
        """Check the views of the last epoch, in the server. Raise CertificateRejected if one is wrong."""
        wrong = self._exchange.send("POST", "/v1/check").json()["wrong"]
        if wrong is not None:
            raise error_of(wrong)

    def stats(self) -> dict[str, Any]:
        """Return sizes and totals, as `Database.stats`."""
        found: dict[str, Any] = self._get_json("/v1/stats")["stats"]
        return found

    def profile(self) -> dict[str, Any]:
        """Return where the time of the last epochs went, as JSON has it, see `Database.profile`. A server records it if
        it was started with `--profile`."""
        found: dict[str, Any] = self._get_json("/v1/profile")
        return found

    @property
    def rules(self) -> NamedRules:
        """Return the rules by name as of the epoch in which they are first read, with `add`, `replace` and `remove`."""
        return RemoteRules(self)

    def _named_rules(self) -> dict[str, str]:
        return {str(rule["name"]): rule["text"] for rule in self._get_json("/v1/rules")["rules"]}

    # --- changing ------------------------------------------------------------------------------------------------

    def load(self, program: str | os.PathLike[str], *, replace: bool | str | os.PathLike[str] = False) -> None:
        """Add a program, the text of one or the path of one, to take effect with the next `commit`. With `replace`, it
        can be there already: its named rules take the places of those with these names. An earlier program as `replace`
        goes as well, see `Database.load`. Raise ProgramError if a file cannot be read; the server reads none, also not
        those of `.input`: insert their facts."""
        text = _text_of(program)
        replaced = text if isinstance(replace, bool) else {"text": text, "earlier": _text_of(replace)}
        self._note_change()
        if replace is False:
            self._added.append(text)
        else:
            self._replaced.append(replaced)

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self.load(text, replace=replace)

    def _remove_rules(self, *names: str) -> None:
        found = [_text("the name of a rule", name) for name in names]
        self._note_change()
        self._removed += found

    def insert(self, relation: str, data: Any, *, key: str | Sequence[str] | None = None) -> EqualRows | None:
        """Assert facts, to take effect with the next `commit`, see `Database.insert`. Until then all changes of a
        relation have the same `key`, or none: raise UsageError (E0606) for another one."""
        count, different = self._note(relation, data, key, asserts=True)
        if count == different:
            return None
        self._duplicates[relation] += count - different
        return EqualRows(relation, count, count - different)

    def delete(self, relation: str, data: Any, *, key: str | Sequence[str] | None = None) -> None:
        """Retract facts, to take effect with the next `commit`. Raise as `insert`."""
        self._note(relation, data, key, asserts=False)

    def _note(self, relation: str, data: Any, key: str | Sequence[str] | None, *, asserts: bool) -> tuple[int, int]:
        """Note facts for `commit`; return how many rows there are, and how many different ones."""
        _checked_name(relation)
        names = None if key is None else names_of("key", key)
        if self._facts.get(relation) and self._keys.get(relation) != names:
            message = f"changes of {relation} wait that have another key, or none"
            raise UsageError(Problem("E0606", message, hint="call `commit()` before"))
        if names is None:
            rows = rows_of(data, relation, partial(self._columns, relation))
            found = {frozen(row): (row, asserts) for row in rows}
            self._keys.pop(relation, None)  # of a call without rows
        else:
            rows, found = keyed_rows(data, relation, self._columns(relation), names, asserts=asserts)
            self._keys[relation] = names
        self._note_change()
        self._facts.setdefault(relation, {}).update(found)
        return len(rows), len(found)

    def _note_change(self) -> None:
        """Note that more changes wait."""
        self._key = None
        self._pending_reads.note_change()

    def _columns(self, name: str) -> Sequence[str]:
        """Return the names of the columns of a relation, which may wait for `commit`. Raise UsageError (E0601)."""
        texts = [*self._added, *(each if isinstance(each, str) else each["text"] for each in self._replaced)]
        for each in (declaration for text in texts for declaration in read(f"{text}\n", name="<text>").declarations):
            if each.name == name:
                return [attribute.name for attribute in each.attributes]
        known = self._read_declarations().columns
        if name not in known:
            hint = f"use one of: {', '.join(known)}"
            raise UsageError(Problem("E0601", f"the relation {name!r} is not declared", hint=hint))
        return [column.name for column in known[name]]

    @property
    def has_pending(self) -> bool:
        """Return True if changes wait for `commit`."""
        return bool(self._facts or self._added or self._replaced or self._removed)

    def rollback(self) -> None:
        """Drop all changes that wait."""
        self._facts, self._added, self._replaced, self._removed, self._key = {}, [], [], [], None
        self._keys.clear()
        self._duplicates.clear()

    def commit(self) -> RemoteChange:
        """Make all changes that wait one epoch. When it raises, they still wait, and nothing has changed in the server.
        Only after E0699 they may have happened: call it again, they do not happen twice. Raise UsageError (E0625) in a
        block."""
        check_outside(self, "commit()")
        return self._commit()

    def _commit(self) -> RemoteChange:
        self._key = self._key or uuid.uuid4().hex
        change = self._send_changes({}, self._key)
        self.rollback()
        return change

    def transaction(self, *, dry_run: bool = False) -> RemoteTransaction:
        """Return a block whose changes are committed together at its end, and dropped when it or the commit raises.
        With `dry_run` they are dropped in any case, see `what_if`."""
        if flag("dry_run", dry_run):
            return RemoteTransaction(self, partial(self._send_changes, {"dry_run": "true"}, None))
        return RemoteTransaction(self, self._commit)

    def what_if(self) -> RemoteTransaction:
        """Return a block whose changes are tried: its `change` is the change that they would have made, see
        `Database.what_if`."""
        return self.transaction(dry_run=True)

    # --- following -----------------------------------------------------------------------------------------------

    def subscribe(
        self,
        relation: str,
        callback: Callable[[RemoteRelationChange], object],
        *,
        since: int | None = None,
        missed: Callable[[int, int], object] = lambda first, last: None,
    ) -> Callable[[], None]:
        """Call `callback` with the change of a relation after each epoch that changes it, in a thread of its own;
        return a function that ends this. `since` is an epoch from which the rows are that you have, by default the last
        one. `missed` is called with the first and the last epoch where the server does not keep changes any more."""
        last = self.rows(relation, limit=0).epoch if since is None else whole("since", since)
        given: object = missed
        if not callable(given):
            raise wrong_argument("`missed`", "a function of two epochs", missed)
        follower = RemoteFollower(
            self._exchange, _checked_name(relation), last, callable_one(callback), missed, self._change_of
        )
        self._followers.append(follower)
        return follower.end

    def _note_read(self) -> None:
        if self.block is None:
            self._pending_reads.note_read(lambda: self.has_pending, stacklevel=4)

    def close(self) -> None:
        """End all subscriptions, and the connections to the server."""
        for each in self._followers:
            each.end()
        self._exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.has_pending:
            warn_of_pending("the block ends", "they are dropped", stacklevel=3)
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteDatabase {self._exchange.address}>"

    # --- requests ------------------------------------------------------------------------------------------------

    def _get_json(self, path: str, parameters: Mapping[str, str] = _NOTHING) -> Any:
        return self._exchange.send("GET", path, parameters).json()

    def _ask_about(
        self, path: str, relation: str, values: Iterable[Any], **parameters: str
    ) -> tuple[Mapping[str, Any], ExplanationReader]:
        """Return what the server answers to a question about a tuple, and what reads the explanations in it."""
        given: object = values
        try:
            row = None if isinstance(given, (str, bytes, Mapping)) else list(values)
        except (TypeError, NotImplementedError):  # An array without dimensions has no values.
            row = None
        if row is None:
            raise wrong_argument("a tuple", "the values of a tuple", values)
        question = {
            "relation": _checked_name(relation),
            "tuple": encode_body(json_value(row, place_in(relation))).decode(),
        }
        return self._explainer.ask(path, {**question, **parameters})

    def _explanations(
        self,
        path: str,
        member: str,
        relation: str,
        values: Iterable[Any],
        read: Callable[[ExplanationReader, Any], Item],
        **parameters: str,
    ) -> RemoteEnumeration[Item]:
        """Return an iterator of the explanations in a member of the server's answers."""

        def ask(most: int) -> tuple[Mapping[str, Any], list[Item]]:
            document, reader = self._ask_about(path, relation, values, limit=str(most), **parameters)
            return document, [read(reader, each) for each in document[member]]

        return RemoteEnumeration(ask)

    def _send_changes(self, parameters: Mapping[str, str], key: str | None) -> RemoteChange:
        body: dict[str, Any] = {"rules": {"add": self._added, "replace": self._replaced, "remove": self._removed}}
        if self._keys:
            body["keys"] = self._keys
        for relation, rows in self._facts.items():
            for row, asserts in rows.values():
                body.setdefault("insert" if asserts else "delete", {}).setdefault(relation, []).append(row)
        headers = {} if key is None else {"Idempotency-Key": key}
        sent = {"change": "rows", **parameters}
        answer = self._exchange.send("POST", "/v1/transactions", sent, body=body, headers=headers).json()
        answer.get("report", {})["duplicates"] = dict(self._duplicates)  # The server gets each row once.
        return self._change_of(answer, rules=key is not None and any((self._added, self._replaced, self._removed)))


def _checked_name(name: str) -> str:
    """Return the name of a relation. Raise UsageError (E0601) for what cannot be one."""
    given: object = name
    if not isinstance(given, str) or given in ("", ".", ".."):  # These would be other paths.
        raise UsageError(Problem("E0601", f"there is no relation {quote(name)}", hint="use one of `relations`"))
    return _text("a relation", name)


def _text(what: str, value: str) -> str:
    """Return a text. Raise UsageError (E0635) for another value, DataError (E0408) if UTF-8 does not have it."""
    given: object = value
    if not isinstance(given, str):
        raise wrong_argument(what, "a text", value)
    found: str = json_value(value, place_in(what))
    return found


def _query(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request for a query. Raise UsageError (E0635), DataError for a value that JSON lacks."""
    values = {_text("a parameter", name): json_value(each, place_in(name)) for name, each in parameters.items()}
    return {"query": _text("a query", text), "parameters": values}


def _path(name: str) -> str:
    return f"/v1/relations/{quoted(_checked_name(name), safe='')}"


def _text_of(program: str | os.PathLike[str]) -> str:
    """Return the text of a program that is given as text or as path, with the files that it includes. Raise
    ProgramError."""
    text, _, problems = preprocess_text(text_of(program))
    if problems:
        raise ProgramError(*problems)
    return _text("a program", text)
