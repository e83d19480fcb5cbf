"""Requests to a server, and its problem documents as errors of tidelog."""

from __future__ import annotations

import json
import math
import os
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from tidelog.errors import (
    CertificateRejected,
    DataError,
    InternalError,
    LimitError,
    Problem,
    ProgramError,
    SetupError,
    TidelogError,
    UsageError,
    wrong_argument,
)
from tidelog.version import INTERFACE

_CLASSES: Mapping[str, type[TidelogError]] = {
    "E01": ProgramError, "E02": ProgramError, "E03": ProgramError, "E04": DataError, "E05": LimitError,
    "E07": SetupError, "E08": CertificateRejected, "E09": InternalError,
}  # fmt: skip
_SECONDS_TO_CONNECT = 10.0


class Exchange:
    """A connection to a server; threads may share it. `ca` is a file with certificates to trust, for servers whose
    certificate no authority of the usual ones has signed."""

    def __init__(self, address: str, token: str | None, ca: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(address, str):
            raise wrong_argument("an address", "a text such as http://127.0.0.1:8642", address)
        if "?" in address or "#" in address:
            message = "the address of a server has no query and no fragment"
            raise UsageError(Problem("E0699", message, place=address, hint="leave out what begins with ? or #"))
        given: object = token
        if given is not None and not (isinstance(given, str) and given.isascii() and given.isprintable()):
            raise wrong_argument("`token`", "a text of ASCII", token)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.address = address.rstrip("/")
        verify = True if ca is None else _tls_context(ca)
        with self._report_exchange_errors():
            self._client = httpx.Client(
                base_url=self.address,
                headers=headers,
                verify=verify,
                timeout=httpx.Timeout(None, connect=_SECONDS_TO_CONNECT),
                limits=httpx.Limits(max_connections=None),
            )

    def send(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Return the answer to a request. Raise what the server raises, and UsageError: E0699 without an answer, E0602
        once the connections are closed."""
        self._check_open()
        with self._report_exchange_errors():
            given = {**(headers or {}), **({} if body is None else {"Content-Type": "application/json"})}
            content = None if body is None else encode_body(body)
            answer = self._client.request(method, path, params=parameters, content=content, headers=given)
        check(answer)
        return answer

    @contextmanager
    def stream(self, path: str, parameters: Mapping[str, Any]) -> Iterator[httpx.Response]:
        """Open an answer without end. Raise as `send`."""
        self._check_open()
        with self._report_exchange_errors(), self._client.stream("GET", path, params=parameters) as answer:
            if not answer.is_success:
                answer.read()
            check(answer)
            yield answer

    def _check_open(self) -> None:
        if self._client.is_closed:
            raise UsageError(Problem("E0602", "the database is closed", place=self.address, hint="connect again"))

    @contextmanager
    def _report_exchange_errors(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: a host that is no name.
            hint = "start `tidelog serve`, and look at the address and at its log"
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                hint = "use a name that its certificate has; name the file of the authority's certificate by `ca`"
            message = f"the server does not answer: {error or type(error).__name__}"
            raise UsageError(Problem("E0699", message, place=self.address, hint=hint)) from error

    def close(self) -> None:
        self._client.close()


def _tls_context(ca: str | os.PathLike[str]) -> ssl.SSLContext:
    """Return a context that trusts the certificates in a file, and no others. Raise UsageError (E0658)."""
    given: object = ca
    if not isinstance(given, (str, os.PathLike)):
        raise wrong_argument("`ca`", "the path of a file", ca)
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:  # An SSLError is an OSError.
        message = f"the file has no certificates to trust: {getattr(error, 'strerror', None) or error}"
        hint = "pass the authority's certificate in PEM"
        raise UsageError(Problem("E0658", message, place=os.fspath(ca), hint=hint)) from None


def encode_body(body: Any) -> bytes:
    """Return a body as JSON, where infinities are numbers beyond the range of floats."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return _text(body).encode()


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return json.dumps(value, ensure_ascii=False)


def check(answer: httpx.Response) -> None:
    """Raise the error of a problem document, or UsageError (E0699) for another server or another version."""
    found = answer.headers.get("tidelog-interface")
    if found != INTERFACE:
        other = "it is no server of tidelog" if found is None else f"it has the interface {found}"
        message = f"this client does not understand the server: {other}, the client {INTERFACE}"
        hint = "give the address that `tidelog serve` prints, and install the same version of tidelog on both sides"
        raise UsageError(Problem("E0699", message, place=str(answer.url), hint=hint))
    if answer.is_success:
        return
    document = answer.json()
    if answer.status_code == httpx.codes.UNAUTHORIZED:  # The hint of the server speaks of headers.
        document["hint"] = "pass a secret of the server: `token=…`, or `--token-file FILE` to a command"
    raise error_of({**document, "message": document["detail"]})


def error_of(document: Mapping[str, Any]) -> TidelogError:
    """Return the error that a document describes by `code`, `message` and perhaps `hint`, with its place, and with the
    problems beside it (`others`)."""
    problems = [_problem(each) for each in (document, *document.get("others", ()))]
    return _CLASSES.get(problems[0].code[:3], UsageError)(*problems)


def _problem(document: Mapping[str, Any]) -> Problem:
    place = document.get("place")
    if place is None and "line" in document:
        place = "{file}:{line}:{column}".format_map(document)
    return Problem(document["code"], document["message"], place=place, hint=document.get("hint"))


def events_of(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of each server-sent event in the lines of an answer."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
