"""TLS: certificates of the server, clients that verify them, and files that cannot be used."""

from __future__ import annotations

import queue
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

import tidelog as library
from tests.cli.conftest import Run
from tests.texts import cases_of, python
from tests.workbench.serving import serving
from tidelog.client.answers import RemoteRelationChange
from tidelog.serve.access import ServerCertificate

PASSWORD = "a secret ü"


@dataclass(frozen=True)
class Files:
    """An authority, a certificate for 127.0.0.1 that it signed, its key, the same key encrypted, and another key."""

    ca: Path
    chain: Path
    key: Path
    encrypted: Path
    other: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    made = tmp_path_factory.mktemp("tls")
    found = Files(*(made / f"{name}.pem" for name in ("ca", "chain", "key", "encrypted", "other")))
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(found.ca))
    found.chain.write_bytes(b"".join(each.bytes() for each in certificate.cert_chain_pems))
    certificate.private_key_pem.write_to_path(str(found.key))
    key = load_pem_private_key(found.key.read_bytes(), None)
    protection = BestAvailableEncryption(PASSWORD.encode())
    found.encrypted.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection))
    authority.issue_cert("127.0.0.1").private_key_pem.write_to_path(str(found.other))
    return found


@pytest.fixture(scope="module")
def address(files: Files) -> Iterator[str]:
    with serving(certificate=ServerCertificate(files.chain, files.key)) as server:
        assert server.address.startswith("https://127.0.0.1:")
        yield server.address


def test_a_client_that_trusts_the_authority_reads_changes_and_follows(address: str, files: Files) -> None:
    with library.connect(address, token=None, ca=files.ca) as db:
        heard: queue.Queue[RemoteRelationChange] = queue.Queue()
        end = db.subscribe("edge", heard.put)
        db.insert("edge", [(7, 8)])
        assert db.commit()["edge"].inserted == {(7, 8)}
        assert (7, 8) in db["path"]
        assert heard.get(timeout=30).inserted == {(7, 8)}
        end()


@pytest.mark.parametrize("ca", [None, "other"])
def test_a_client_that_does_not_trust_it_sends_nothing(address: str, ca: str | None, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with pytest.raises(library.UsageError, match="E0699") as raised:
        library.connect(address, token="secret", ca=other if ca else None)
    assert "certificate" in raised.value.problems[0].message
    assert "`ca`" in str(raised.value.problems[0].hint)


def test_a_client_verifies_the_name(address: str, files: Files) -> None:
    with pytest.raises(library.UsageError, match="E0699"):
        library.connect(address.replace("127.0.0.1", "localhost"), token=None, ca=files.ca)


def test_files_and_addresses_that_a_client_cannot_use(files: Files, tmp_path: Path) -> None:
    for path in (tmp_path / "none.pem", files.key):
        with pytest.raises(library.UsageError, match="E0658") as raised:
            library.connect("https://127.0.0.1:1", token=None, ca=path)
        assert raised.value.problems[0].place == str(path)
    for folder_or_address in ("http://127.0.0.1:1", str(tmp_path / "store")):
        with pytest.raises(library.UsageError, match="E0610"):
            library.connect(folder_or_address, token=None, ca=files.ca)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("options", "code", "message"), cases_of(__file__, "a server does not start with files that do not fit", python)
)
def test_a_server_does_not_start_with_files_that_do_not_fit(
    tidelog: Run, files: Files, folder: Path, options: list[str], code: str, message: str
) -> None:
    damaged = folder / "damaged.pem"
    damaged.write_bytes(files.chain.read_bytes()[:300])
    given = [each.format(**vars(files), damaged=damaged) for each in options]
    for command in (["serve", "store"], ["rdf", "serve"]):
        outcome = tidelog(*command, "--port", "0", *given)
        assert outcome.code == 2, outcome.err
        assert code in outcome.err
        assert message in outcome.err
        assert "hint: " in outcome.err or code == "E0650"
    assert not (folder / "store").exists()


@pytest.mark.parametrize("command", [["serve", "store"], ["rdf", "serve"]])
def test_the_commands_speak_tls_with_an_encrypted_key(files: Files, tmp_path: Path, command: list[str]) -> None:
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n", "utf-8")
    given = ["--ssl-certfile", files.chain, "--ssl-keyfile", files.encrypted, "--ssl-password-file", password]
    arguments = [sys.executable, "-m", "tidelog", *command, "--port", "0", *map(str, given)]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("https:")).rstrip(";")
        if command[0] == "serve":
            found = _query(address, files.ca)
            assert (found.returncode, found.stdout.split()) == (0, ["x", "3"])
        else:
            assert _status(address, files.ca) == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


def _query(address: str, ca: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidelog", "query", address, "x = 1 + 2", "--csv", "--ca-file", str(ca)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _status(address: str, ca: Path) -> int:
    context = ssl.create_default_context(cafile=ca)
    with urllib.request.urlopen(f"{address}?query=ASK%7B%7D", context=context) as answer:
        return int(answer.status)
