"""The runner for W3C's tests of the formats of RDF, over an archive of a few."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from benchmarks import w3c_documents

MANIFEST = """@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix rdft: <http://www.w3.org/ns/rdftest#> .
<> mf:assumedTestBase <http://w3/turtle/> ; mf:entries (<#{}>) .
<#right> a rdft:TestTurtleEval ; mf:action <base.ttl> ; mf:result <base.nt> .
<#other> a rdft:TestTurtleEval ; mf:action <base.ttl> ; mf:result <other.nt> .
<#good> a rdft:TestTurtlePositiveSyntax ; mf:action <base.ttl> .
<#refused> a rdft:TestNTriplesPositiveSyntax ; mf:action <base.ttl> .
<#bad> a rdft:TestTurtleNegativeSyntax ; mf:action <bad.ttl> .
<#accepted> a rdft:TestTurtleNegativeSyntax ; mf:action <base.ttl> .
<#canonical> a rdft:TestNTriplesPositiveC14N ; mf:action <blanks.nt> ; mf:result <canonical.nt> .
<#spaces> a rdft:TestNTriplesPositiveC14N ; mf:action <blanks.nt> ; mf:result <blanks.nt> .
"""
FILES = {
    "base.ttl": "<a> <b> _:c .",
    "base.nt": "<http://w3/turtle/a> <http://w3/turtle/b> _:other .",
    "other.nt": "<http://w3/turtle/a> <http://w3/turtle/b> <http://w3/turtle/c> .",
    "bad.ttl": "<a> <b> .",
    "blanks.nt": "<http://a/s>   <http://a/p> _:x.",
    "canonical.nt": "<http://a/s> <http://a/p> _:y .\n",
}
NAMES = ("right", "other", "good", "refused", "bad", "accepted", "canonical", "spaces")


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rdf" / "rdf12" / "rdf-turtle" / "some"
    folder.mkdir(parents=True)
    for name, text in {"manifest.ttl": MANIFEST.format("> <#".join(NAMES)), **FILES}.items():
        (folder / name).write_text(text)
    (tmp_path / "w3c").mkdir()
    with tarfile.open(tmp_path / "w3c" / "rdf-tests.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "rdf", "rdf")
    monkeypatch.setenv("TIDELOG_DATA", str(tmp_path))
    assert w3c_documents.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split()[-1] for line in lines[:4]] == ["other", "refused", "accepted", "spaces"]
    assert [line.split() for line in lines[4:]] == [
        ["rdf12/rdf-turtle/some", "4", "of", "8", "tests"],
        ["all", "4", "of", "8", "tests"],
    ]


def test_without_the_archive(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    assert w3c_documents.main() == 2
    assert "rdf-tests.tar.gz" in capsys.readouterr().err
