"""Addresses of servers of Spark Connect at which none answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tidelog.errors import SetupError, UsageError
from tidelog.spark import machine
from tidelog.spark.machine import remote_session


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SECONDS", 0.5)


@pytest.fixture
def port() -> Iterator[int]:
    """A port where something else listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("no-such-host.invalid", "no-such-host.invalid:15002: there is no such host"),
        ("127.0.0.1:1", "127.0.0.1:1: Connection refused"),
        ("127.0.0.1:{port}", "something else listens there"),
    ],
)
def test_a_server_that_does_not_answer(port: int, host: str, said: str) -> None:
    with pytest.raises(SetupError) as caught:
        remote_session(f"sc://{host.format(port=port)}/;user_id=me;x-secret=hunter2", place="p.toml, remote")
    [problem] = caught.value.problems
    assert (problem.code, problem.place) == ("E0710", "p.toml, remote")
    assert said in problem.message
    assert problem.hint == "start it with sbin/start-connect-server.sh, or correct the key remote"
    assert "hunter2" not in str(caught.value)


@pytest.mark.smoke
def test_a_text_that_is_no_address() -> None:
    with pytest.raises(UsageError, match="E0686"):
        remote_session("spark://host:7077")
