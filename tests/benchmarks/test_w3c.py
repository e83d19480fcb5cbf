"""The runner for W3C's tests of SPARQL, over an archive of a few."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from benchmarks import w3c

MANIFEST = """@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix ut: <http://www.w3.org/2009/sparql/tests/test-update#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<> mf:entries (<#right> <#wrong> <#update> <#bad> <#csv> <#ill>) .
<#right> a mf:QueryEvaluationTest ; mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] ; mf:result <right.srj> .
<#wrong> a mf:QueryEvaluationTest ; mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] ; mf:result <wrong.srj> .
<#update> a mf:UpdateEvaluationTest ; mf:action [ ut:request <u.ru> ; ut:data <d.ttl> ] ;
    mf:result [ ut:data <d.ttl> ; ut:graphData [ ut:graph <d.ttl> ; rdfs:label "http://a/g" ] ] .
<#bad> a mf:NegativeSyntaxTest11 ; mf:action <bad.rq> .
<#csv> a mf:CSVResultFormatTest ; mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] ; mf:result <right.csv> .
<#ill> a mf:QueryEvaluationTest ; mf:action [ qt:query <q.rq> ; qt:data <bad.rq> ] ; mf:result <right.srj> .
"""
FILES = {
    "manifest.ttl": MANIFEST,
    "d.ttl": "<http://a/s> <http://a/p> _:b , 1 .",
    "q.rq": "SELECT * { ?s ?p ?o FILTER(?o = 1) }",
    "u.ru": "ADD DEFAULT TO <http://a/g>",
    "bad.rq": "SELECT * {",
    "right.csv": "s,p,o\r\nhttp://a/s,http://a/p,1\r\n",
    "right.srj": '{"head":{"vars":["s","p","o"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://a/s"},'
    '"p":{"type":"uri","value":"http://a/p"},"o":{"type":"literal","value":"01",'
    '"datatype":"http://www.w3.org/2001/XMLSchema#integer"}}]}}',
    "wrong.srj": '{"head":{"vars":["s"]},"results":{"bindings":[]}}',
}


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rdf-tests" / "sparql11" / "some"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (tmp_path / "w3c").mkdir()
    with tarfile.open(tmp_path / "w3c" / "rdf-tests.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "rdf-tests", "rdf-tests")
    monkeypatch.setenv("TIDELOG_DATA", str(tmp_path))
    status = w3c.main([])
    lines = capsys.readouterr().out.splitlines()
    assert status == 0, lines
    assert lines[0].split()[:5] == ["sparql11/some", "6", "tests", "store", "4"]
    assert [line.split()[2] for line in lines[2:]] == ["sparql11/some/wrong", "sparql11/some/ill"]


def test_without_the_archive(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    assert w3c.main([]) == 2
    assert "rdf-tests.tar.gz" in capsys.readouterr().err
