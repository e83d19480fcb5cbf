"""Access to a server: tokens, the origins of requests, and the certificate of TLS.

Without tokens, a server listens to this machine only. A page in a browser of this machine could still send requests to
it, so that requests of pages of other origins, or to other names of hosts, are rejected. A certificate is checked
before the server listens.
"""

from __future__ import annotations

import hmac
import ssl
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from tidelog.errors import Problem, UsageError
from tidelog.serve.problems import RequestError

Right = Literal["read", "write", "rules"]
RIGHTS: tuple[Right, ...] = ("read", "write", "rules")
"""The rights, each with those before it: to read, to change facts, and to change rules."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class AccessToken:
    """A secret, and the right that it gives."""

    secret: str
    right: Right

    @classmethod
    def of(cls, text: str) -> AccessToken:
        """Return the token of a text such as `read:SECRET`; without a right in front it may do everything. Raise
        UsageError (E0603) for a secret that is empty, or that a header cannot have."""
        before, colon, secret = text.partition(":")
        right = next((each for each in RIGHTS if colon and each == before), None)
        if right is None:
            right, secret = RIGHTS[-1], text
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            hint = "use letters, digits and marks of ASCII, for example those of `openssl rand -hex 16`"
            raise UsageError(Problem("E0603", "a token must be one word of ASCII", hint=hint))
        return cls(secret, right)


def check_access(request: HTTPConnection, tokens: tuple[AccessToken, ...], needed: Right) -> Right:
    """Return the right of a request. Raise RequestError (E0693) where it is not the one `needed`, nor a higher one: 401
    without a known token, 403 for one that may do less, or for a page of another origin."""
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if origin is not None and _netloc(origin) != host:
        raise _access_error(
            403, f"a page of {origin} may not use this server", "ask from a page of this server, or from none"
        )
    if not tokens:
        if _name(host) not in LOOPBACK:
            raise _access_error(
                403, f"the server has no host {host!r}", "use localhost, or start the server with a token"
            )
        return RIGHTS[-1]
    secret = _secret(request.headers.get("authorization", ""))
    # Each token is compared, so that the time says nothing about the others.
    found = [token for token in tokens if hmac.compare_digest(token.secret.encode(), secret)]
    if not found:
        hint = "send the header `Authorization: Bearer TOKEN`, or the token as the password of Basic"
        message = "the token is unknown" if secret else "the request has no token"
        raise _access_error(401, message, hint, {"WWW-Authenticate": 'Bearer realm="tidelog", Basic realm="tidelog"'})
    right = max((token.right for token in found), key=RIGHTS.index)
    if RIGHTS.index(right) < RIGHTS.index(needed):
        does = "may only read" if right == "read" else "may not change rules"
        raise _access_error(403, f"this token {does}", f"use a token with the right {needed!r}")
    return right


def _secret(header: str) -> bytes:
    scheme, _, given = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode()
    if scheme.lower() != "basic":
        return b""
    try:
        return b64decode(given.strip(), validate=True).partition(b":")[2]
    except (Error, ValueError):
        return b""


def _netloc(origin: str) -> str | None:
    """Return the host and the port of an origin, None for a text that is no origin."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str:
    """Return the name of a host without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _access_error(status: int, message: str, hint: str, headers: dict[str, str] | None = None) -> RequestError:
    return RequestError(status, Problem("E0693", message, hint=hint), headers)


@dataclass(frozen=True)
class ServerCertificate:
    """The files of a certificate with those that sign it, and of its key, all in PEM. Without a key file, the first one
    has the key as well. `password` is the one of an encrypted key."""

    chain: Path
    key: Path | None = None
    password: str | None = None

    def check(self) -> None:
        """Raise UsageError (E0658) if the files are missing or do not fit together."""
        texts = [_file_bytes(path) for path in (self.chain, self.key) if path is not None]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # Without any password, OpenSSL would ask for one at the terminal.
            context.load_cert_chain(self.chain, self.key, self.password or "")
        except (ssl.SSLError, ValueError) as error:
            raise self._unusable(error, texts) from None

    def _unusable(self, error: Exception, texts: list[bytes]) -> UsageError:
        key = self.key or self.chain
        if b"BEGIN CERTIFICATE" not in texts[0]:
            return _problem("the file has no certificate in PEM", self.chain, "pass a file that begins with BEGIN …")
        if b"PRIVATE KEY" not in texts[-1]:
            return _problem("the file has no key in PEM", key, "pass the file of the key with --ssl-keyfile")
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            message = "the key does not belong to the certificate"
            return _problem(message, key, "put the server's own certificate first, and pass its key")
        if b"ENCRYPTED" in texts[-1]:
            message = "the key is encrypted" if self.password is None else "the password does not open the key"
            return _problem(message, key, "pass the file of its password with --ssl-password-file")
        return _problem(f"the certificate or its key is damaged: {error}", self.chain, "make both anew")


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _problem(f"the file cannot be read: {error.strerror}", path, "correct its path or permissions") from None


def _problem(message: str, place: Path, hint: str) -> UsageError:
    return UsageError(Problem("E0658", message, place=str(place), hint=hint))
