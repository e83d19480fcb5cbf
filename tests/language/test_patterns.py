"""The patterns of `match`: what they mean, on the engine, in the reference and for the checker; and their bounds."""

from __future__ import annotations

import random
import re

import pytest

import tidelog
from tests.suite import loaded
from tidelog.errors import LimitError
from tidelog.language.regex import DEPTH, LENGTH, REPEATS, SIZE, PatternError, matcher, translate_to_re2
from tidelog.maintain.functors import LONGEST, call_out
from tidelog.storage.dictionary import Dictionary

MEANINGS = [  # pattern, texts that match, texts that do not
    ("", [""], ["a"]),
    ("abc", ["abc"], ["ab", "abcd", "xabc"]),
    ("a.c", ["abc", "aéc", "a🙂c", "a\tc"], ["a\nc", "a\rc", "ac"]),
    ("a|bc", ["a", "bc"], ["ac", "b"]),
    ("a|", ["a", ""], ["b"]),
    ("(a|b)*c", ["c", "abac"], ["ab"]),
    ("(?:ab)+", ["ab", "abab"], ["", "aba"]),
    ("a*?b", ["b", "aab"], ["a"]),
    ("a**", ["", "aa"], ["b"]),
    ("a{2}", ["aa"], ["a", "aaa"]),
    ("a{2,}b", ["aab", "aaaab"], ["ab"]),
    ("(a|b){1,2}", ["a", "ba"], ["", "aba"]),
    ("()", [""], ["a"]),
    ("^a$", ["a"], ["b"]),
    ("a$b", [], ["ab", "a", "a\nb"]),
    (r"\bfoo\b", ["foo"], ["fo"]),
    (r"a\Bb", ["ab"], ["a b"]),
    ("[[:alpha:]]+", ["abc"], ["a1", "[:", "é", ""]),
    ("[[:digit:][:upper:]_]", ["1", "A", "_"], ["a", ":"]),
    ("[^[:space:]]", ["a"], [" ", "\t", "\v"]),
    ("[[:punct:]]", ["!", "_", "~"], ["a", " "]),
    ("[[:xdigit:]]{2}", ["0F", "aa"], ["0g"]),
    ("[[:w:]]", ["_", "a"], ["-"]),
    ("[[.a.]-c]", ["a", "b"], ["d", "."]),
    ("[[=a=]]", ["a"], ["="]),
    ("[a-c]", ["b"], ["d", "-"]),
    ("[-a]", ["-", "a"], ["b"]),
    ("[a-]", ["-", "a"], ["b"]),
    ("[+--]", ["+", ",", "-"], ["."]),
    ("[.*+?(){}|^$]", ["*", "(", "|", "^"], ["a"]),
    ("[[]", ["["], ["a"]),
    ("[^]", ["a", "\n", "🙂"], [""]),
    ("[]", [], ["", "a", "]"]),
    ("[]a]", [], ["a", "]"]),
    ("]}", ["]}"], ["]"]),
    (r"\d\D\w\W\s\S", ["1a_- x"], ["1aaa x", "aa_- x"]),
    (r"\d", ["7"], ["٧"]),
    (r"[\d\-x]", ["7", "-", "x"], ["y"]),
    (r"[^\d]", ["a"], ["7"]),
    (r"\.\*\\\/\-", [".*\\/-"], ["aa\\/-"]),
    (r"\x41\u00e9\t\n\v\f\r\0", ["Aé\t\n\v\f\r\0"], ["A"]),
    (r"[\b]", ["\b"], ["b"]),
    (r"\cJ", ["\n"], ["J"]),
    ("[à-ü]+", ["éè"], ["e", "z"]),
    ("[^a]", ["é", "🙂", "\n"], ["a", ""]),
    ("é?", ["é", ""], ["e"]),
]
WRONG = {  # pattern -> what the message says; whether ECMAScript has it
    "(": ("is not closed", False),
    "a)": ("closes no group", False),
    "*a": ("repeats nothing", False),
    "a|*": ("repeats nothing", False),
    "^*": ("repeats nothing", False),
    "{2}": ("repeats nothing", False),
    "a{": ("begins no repetition", False),
    "a{,3}": ("begins no repetition", False),
    "a{3,2}": ("begins no repetition", False),
    "a{2": ("begins no repetition", False),
    "[a": ("is not closed", False),
    "[": ("is not closed", False),
    "[z-a]": ("range", False),
    r"[a-\d]": ("range", False),
    "[[:alpha:]-z]": ("range", False),
    "[[:foo:]]": ("no class `[:foo:]`", False),
    "[[:alpha]": ("is not closed by `:]`", False),
    "[[.tilde.]]": ("no class `[.tilde.]`", False),
    "\\": ("escapes nothing", False),
    r"\xG0": ("hexadecimal", False),
    r"\u12": ("hexadecimal", False),
    r"\ud800": ("surrogate", False),
    "(?<n>a)": ("begins no group", False),
    "(?i)a": ("begins no group", False),
    "a(?=b)": ("look-aheads", True),
    "(?!b)a": ("look-aheads", True),
    r"(a)\1": ("back-references", True),
    f"a{{{REPEATS + 1}}}": ("more than 1,000 times", False),
    "a{99999999999999999999}": ("more than 1,000 times", False),
    "((a{10}){10}){11}": ("more than 1,000 times", False),
    "(" * (DEPTH + 1) + ")" * (DEPTH + 1): ("more than 100 levels", False),
    "a" * (LENGTH + 1): ("10,001 characters", False),
    "(a{1000}b{1000}){1}" * (SIZE // 1000): ("too large", False),
}
SCHEME = """
.decl pattern(p: symbol)
.decl text(x: symbol)
.decl found(p: symbol, x: symbol)
.decl missing(p: symbol, x: symbol)
found(p, x) :- pattern(p), text(x), match(p, x).
missing(p, x) :- pattern(p), text(x), !match(p, x).
"""


@pytest.mark.parametrize(("pattern", "fitting", "others"), MEANINGS)
def test_what_a_pattern_means(pattern: str, fitting: list[str], others: list[str]) -> None:
    matches = matcher(pattern)
    assert matches is not None
    assert [text for text in (*fitting, *others) if matches(text)] == fitting


def test_the_engine_and_the_checker_agree_on_every_pattern() -> None:
    texts = sorted({text for _, fitting, others in MEANINGS for text in (*fitting, *others)})
    patterns = [pattern for pattern, _, _ in MEANINGS]
    db = loaded(
        SCHEME, {"pattern": [(pattern,) for pattern in (*patterns, *WRONG)], "text": [(text,) for text in texts]}
    )
    found = set(db["found"])
    for pattern, fitting, others in MEANINGS:
        assert {(pattern, text) for text in fitting} <= found
        assert not {(pattern, text) for text in others} & found
    everything = {(pattern, text) for pattern in patterns for text in texts}
    assert found | set(db["missing"]) == everything  # with a pattern that is none, neither holds
    assert not found & set(db["missing"])
    db.check()


def test_constant_patterns_on_the_checker() -> None:
    db = loaded(
        '.decl t(x: symbol)\n.decl a(x: symbol)\na(x) :- t(x), match("[[:alpha:]]+", x), !match("b*", x).',
        {"t": [("abc",), ("bb",), ("1",)]},
    )
    assert set(db["a"]) == {("abc",)}
    db.check()


@pytest.mark.parametrize("pattern", WRONG)
def test_patterns_that_are_none(pattern: str) -> None:
    words, lacking = WRONG[pattern]
    with pytest.raises(PatternError, match=re.escape(words)) as raised:
        translate_to_re2(pattern)
    assert raised.value.lacking == lacking
    assert matcher(pattern) is None


def test_every_pattern_within_the_limits_compiles() -> None:
    widest = "".join(chr(0x100 + 2 * i) for i in range(900))
    for pattern in ("a" * LENGTH, ".{1000}", "[^é]{1000}", "(.?){900}", f"[{widest}]{{2}}", "(a|b)*a(a|b){1000}"):
        assert matcher(pattern) is not None


ATOMS = [("a", "a"), ("b", "b"), (".", "[^\\n\\r]"), ("[^a]", "[^a]"), ("[a-b]", "[a-b]"), ("\\w", "[0-9A-Za-z_]"),
         ("[[:digit:]]", "[0-9]"), ("\\s", "[ \\t\\n\\v\\f\\r]"), ("é", "é"), ("\\n", "\\n")]  # fmt: skip


def random_pattern(rng: random.Random, depth: int) -> tuple[str, str]:
    """A pattern for `match`, and one for Python's `re` that means the same."""
    match rng.randrange(6) if depth else 0:
        case 0 | 1:
            return rng.choice(ATOMS)
        case 2:
            sign = rng.choice(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"])
            ours, theirs = random_pattern(rng, depth - 1)
            return f"({ours}){sign}", f"(?:{theirs}){sign}"
        case 3:
            parts = [random_pattern(rng, depth - 1) for _ in range(2)]
            return f"({parts[0][0]}|{parts[1][0]})", f"(?:{parts[0][1]}|{parts[1][1]})"
        case _:
            parts = [random_pattern(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
            return "".join(ours for ours, _ in parts), "".join(theirs for _, theirs in parts)


def test_random_patterns_against_pythons() -> None:
    rng = random.Random(7)
    for _ in range(400):
        ours, theirs = random_pattern(rng, 4)
        matches, expected = matcher(ours), re.compile(theirs)
        assert matches is not None
        for _ in range(20):
            text = "".join(rng.choice("abé1\n _") for _ in range(rng.randrange(6)))
            assert matches(text) == (expected.fullmatch(text) is not None), (ours, text)


# --- bounds ----------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop() -> None:
    raise Stopped


def test_catastrophic_patterns_are_not() -> None:
    db = loaded(
        '.decl t(x: symbol)\n.decl a(x: symbol)\na(x) :- t(x), match("(a+)+b|(a|a)*b|(a*)*b", x).',
        {"t": [("a" * 10_000,), ("a" * 10_000 + "b",)]},
    )
    assert [len(str(x)) for (x,) in db["a"]] == [10_001]
    db.check()


@pytest.mark.parametrize("op", ["match", "!match", "contains", "<"])
def test_comparisons_of_long_texts_look_at_the_limits(op: str) -> None:
    dictionary = Dictionary()
    text = "ab" * 100_000
    words = [dictionary.encode_column(column, "symbol") for column in _columns(["(a|b)*a(a|b){50}c"], [text])]
    with pytest.raises(Stopped):
        call_out(op, "symbol", 2, dictionary)(words, stop)


def test_many_rows_look_at_the_limits() -> None:
    dictionary = Dictionary()
    words = [dictionary.encode_column(column, "symbol") for column in _columns(["a"] * 2_000, ["b"] * 2_000)]
    looks: list[None] = []
    call_out("cat", "symbol", 2, dictionary)(words, lambda: looks.append(None))
    assert len(looks) >= 5


def test_doubling_texts_end_at_a_limit() -> None:
    db = tidelog.connect()
    db.load('.decl t(x: symbol)\nt("0123456789abcdef").\nt(cat(x, x)) :- t(x).')
    with pytest.raises(LimitError) as raised:
        db.commit()
    assert raised.value.code == "E0503"
    assert f"the limit is {LONGEST:,}" in str(raised.value)


def _columns(*columns: list[str]) -> list[object]:
    import pyarrow as pa

    return [pa.array(column) for column in columns]
