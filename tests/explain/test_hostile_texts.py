"""Proofs over texts that mean something to each form in which a proof is shown: none is lost, and none takes effect."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from xml.dom import minidom

import pytest

from tests.explain.lean_checker import conclusions
from tests.suite import loaded
from tidelog.cli.explain import goal_of
from tidelog.explain.proof import Proof
from tidelog.language.printer import quote_string

TEXTS = [
    'quotes " and \\ and \\N',
    "</script><b>bold</b>",
    "entities &amp; &lt; &eacute;",
    "lines\nand\ttabs\r",
    "é ☃ 😀 \u2028",
    "turned \u202e round",
    "\x00\x01",
    "",
    "'%{}$*/#",
]


def shown(text: str) -> Proof:
    """Return the proof of a tuple with this text, from a fact, a condition, a member and a walk."""
    db = loaded(
        ".decl e(x: symbol, y: symbol) .decl p(x: symbol, n: number) "
        'p(x, n) :- <e+>(x, x), x != "zz", !e(x, "zz"), n = count : { e(_, x) }.',
        {"e": [(text, text)]},
    )
    proof = db.explain("p", (text, 1))
    assert not proof.check(db).granted
    assert goal_of(proof.goal.tuple_text, db) == ("p", (text, 1))
    return proof


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_shown_as_it_is(text: str, tmp_path: Path) -> None:
    proof = shown(text)
    own = quote_string(text)
    assert str(proof).startswith(f"p({own}, 1)   [")
    assert all(line.isprintable() for line in str(proof).splitlines()), "nothing acts on the terminal or the line"
    assert json.loads(proof.to_json())["steps"][-1]["tuple"] == [text, 1]
    assert unescape(proof._repr_html_()) == f"<pre>{proof}</pre>"
    page = proof.to_html()
    assert page.count("</script>") == 1
    data = page.split("const {texts, steps} = ")[1].split(";\nfunction")[0]
    assert json.loads(data)["steps"][-1][0] == f"p({own}, 1)"
    proof.draw(tmp_path / "proof.svg")
    drawn = minidom.parse(str(tmp_path / "proof.svg")).getElementsByTagName("text")
    assert f"e({own}, {own})" in [each.firstChild.nodeValue for each in drawn if each.firstChild]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_exported_as_it_is(text: str) -> None:
    db = loaded(".decl e(x: symbol) .decl p(x: symbol) p(x) :- e(x).", {"e": [(text,)]})
    exported = db.explain("p", (text,)).export("lean")
    assert conclusions(exported)[-1] == ("p", (quote_string(text),))


def test_a_very_long_text_is_cut_in_a_picture_only(tmp_path: Path) -> None:
    proof = shown("long " * 10_000)
    assert len(str(proof)) > 50_000
    proof.draw(tmp_path / "proof.svg")
    assert len((tmp_path / "proof.svg").read_text(encoding="utf-8")) < 20_000
    assert "long long …" in proof.to_dot()
