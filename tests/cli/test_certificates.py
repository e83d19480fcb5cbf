"""`tidelog check FOLDER` and `tidelog run --check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.suite import loaded
from tidelog.errors import CertificateRejected, Problem

PROGRAM = ".decl e(x: number)\n.decl t(x: number)\ne(1).\nt(x) :- e(x).\n"


@pytest.fixture
def certificate(folder: Path) -> Path:
    loaded(PROGRAM).save_certificate(folder / "sound")
    return folder / "sound"


def test_a_certificate(certificate: Path, tidelog: Run) -> None:
    outcome = tidelog("check", "sound")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "sound: the views follow from the facts and the rules (2 relations, 1 rule)\n"
    document = json.loads(tidelog("check", "sound", "--json").out)
    assert document == {"ok": True, "certificate": "sound", "relations": 2, "rules": 1}


def test_a_certificate_in_a_process_of_its_own(certificate: Path, process: Run) -> None:
    """DuckDB must not have anything to say when the process ends."""
    outcome = process("check", "sound")
    assert (outcome.code, outcome.err) == (0, "")


def test_a_rejected_certificate(certificate: Path, tidelog: Run) -> None:
    program = certificate / "program.dl"
    program.write_text(program.read_text().replace("t(x) :- e(x)", "t(x + 1) :- e(x)"))
    outcome = tidelog("check", "sound")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("sound/program.dl:3:1: error[E0802]: condition 2 (closed): rule r1 derives t(2)")
    document = json.loads(tidelog("check", "sound", "--json").out)
    assert [error["code"] for error in document["errors"]] == ["E0802", "E0803"]


def test_a_run_that_is_checked(closure: Path, process: Run) -> None:
    outcome = process("run", "closure.dl", "-D", "-", "--check")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[4:-1] == ["1\t2", "1\t3", "2\t3"]


def test_a_run_that_is_rejected_writes_nothing(closure: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def rejected(*_: object) -> None:
        raise CertificateRejected(Problem("E0803", "a fault of the engine"))

    monkeypatch.setattr("tidelog.certificate.check", rejected)
    outcome = tidelog("run", "closure.dl", "--check")
    assert outcome.code == 1
    assert "error[E0803]: a fault of the engine" in outcome.err
    assert not (closure / "t.csv").exists()
