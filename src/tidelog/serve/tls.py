"""TLS of a server: its certificate with the key, checked before the server listens."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tidelog.errors import Problem, UsageError


@dataclass(frozen=True)
class ServerCertificate:
    """The files of a certificate with those that sign it, and of its key, all in PEM. Without a key file, the first one
    has the key as well. `password` is the one of an encrypted key."""

    chain: Path
    key: Path | None = None
    password: str | None = None

    def check(self) -> None:
        """Raise UsageError (E0658) if the files are missing or do not fit together."""
        texts = [_read(path) for path in (self.chain, self.key) if path is not None]
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


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _problem(f"the file cannot be read: {error.strerror}", path, "correct its path or permissions") from None


def _problem(message: str, place: Path, hint: str) -> UsageError:
    return UsageError(Problem("E0658", message, place=str(place), hint=hint))
