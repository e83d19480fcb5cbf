"""Wrong programs without end: whatever the text, `read`, `check` and `compile_program` raise ProgramError or nothing.
The text that is printed of a program, by itself or for a store, reads back as the same.

`python -m tests.fuzz.language SECONDS [SEED]` mutates the programs of the tests, token by token and byte by byte, and
stops at the first other exception with the text that caused it. One time in fifty it prints trees of all the syntax
(tests/language/test_printing.py), which need not be programs.
"""

from __future__ import annotations

import random
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck

from tests.fuzz.asked import asked, show
from tests.language.test_printing import everything
from tidelog.errors import ProgramError
from tidelog.language import Checker, lexer, read, warnings
from tidelog.language.syntax import Program
from tidelog.language.token_types import SOFT_WORDS
from tidelog.rules import compile_program
from tidelog.store.manifest import new_text

FOLDER = Path(__file__).parent.parent
_TEXT = """
    . , ; : :- = != < <= > >= <: ! @ ( ) [ ] { } | + - * / % ^ _ true false nil as count sum min max mean avg
    any collect argmin argmax split groups lower starts_with
    median cat strlen substr ord codepoint to_number to_string to_float to_unsigned itof range match contains band bnot
    lor $ ? # " .decl .type .input .output .limitsize .plan .comp .init .functor .foo number unsigned float
    symbol x y z 0 1 -1 1u 1.5 0x 0b2 99999999999999999999 18446744073709551615 "a" "\\q" "(" /* */ // é 🙂
    #define #include #if #ifdef #endif #else #error autoinc() inline eqrel
    /// //< /** @[ @![ @[a=1] no-warn
    <a/b> <(a|^b)*> <a+/^(a?)>(x,y) a+(x,y) b*( a?( ^a( ^^ +* )+ )* |^
"""
WORDS = [*_TEXT.split(), "\n", "\0", " "]
PIECES = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|\s+|:-|[<>!]=|<:|.', re.DOTALL)


def corpus() -> list[str]:
    """The texts of all programs of the tests."""
    paths = sorted((FOLDER / "errors").glob("*.dl")) + sorted((FOLDER / "programs").glob("**/*.dl"))
    return [path.read_bytes().decode("utf-8", "replace") for path in paths]


def mutate_tokens(text: str, texts: list[str], random_: random.Random) -> str:
    """Some tokens dropped, doubled, exchanged, or replaced by words of the language or by parts of another text."""
    pieces = PIECES.findall(text)
    for _ in range(random_.choice((1, 1, 2, 3, 8))):
        if not pieces:
            break
        i, j = random_.randrange(len(pieces)), random_.randrange(len(pieces))
        match random_.randrange(7):
            case 0:
                del pieces[i]
            case 1:
                pieces.insert(i, pieces[j])
            case 2:
                pieces[i], pieces[j] = pieces[j], pieces[i]
            case 3:
                pieces[i] = random_.choice(WORDS)
            case 4:
                pieces.insert(i, random_.choice(WORDS))
            case 5:
                other = PIECES.findall(random_.choice(texts))
                start = random_.randrange(len(other) + 1)
                pieces[i:i] = other[start : start + random_.randrange(30)]
            case _:
                pieces[i:i] = [pieces[i]] * random_.choice((2, 50, 400))
    return "".join(pieces)


def mutate_bytes(text: str, texts: list[str], random_: random.Random) -> str:
    """Some bytes changed, dropped or inserted; cut off somewhere."""
    data = bytearray(text.encode())
    for _ in range(random_.choice((1, 2, 5, 20))):
        i = random_.randrange(len(data) + 1)
        match random_.randrange(4):
            case 0:
                data[i : i + 1] = bytes([random_.randrange(256)])
            case 1:
                del data[i : i + random_.randrange(1, 10)]
            case 2:
                data[i:i] = random_.choice(WORDS).encode()
            case _:
                data[i:i] = bytes([random_.choice(b'()[]{}.,:;!"#\\\n')])
    if random_.random() < 0.1:
        del data[random_.randrange(len(data) + 1) :]
    return data.decode("utf-8", "replace")


def mutate_names(text: str, texts: list[str], random_: random.Random) -> str:
    """A relation with another name everywhere: one of an instance, or a word of the language."""
    declared = re.findall(r"\.decl\s+(\w+)", text)
    if not declared:
        return mutate_tokens(text, texts, random_)
    word = random_.choice((*sorted(lexer.WORDS), *sorted(lexer.QUALIFIERS), *SOFT_WORDS, *lexer.DIRECTIVES)).lstrip(".")
    return re.sub(rf"\b{random_.choice(declared)}\b", random_.choice((word, f"c.{word}", f"c.d.{word}")), text)


def large(random_: random.Random) -> str:
    """A program of which one part is repeated or nested very often."""
    n = random_.choice((90, 140, 160, 290, 310, 990, 1100, 5000))
    names = [f"x{i}" for i in range(n)]
    body = random_.choice(
        (
            ", ".join(["a(x)"] * n),
            ", ".join(f"b({x}, {y})" for x, y in zip(["x", *names], names, strict=False)),
            "a(x), " + ", ".join(f"!b(x, {i})" for i in range(n)),
            "a(x), " + ", ".join(f"x < {i}" for i in range(n)),
            "a(x), (" + " ; ".join(["a(x)"] * n) + ")",
            ", ".join(["(a(x) ; b(x, x))"] * n),
            "a(x), " + "(a(x) ; " * n + "a(x)" + ")" * n,
            "a(x), " + ", ".join(f"{i} < count : {{ b(x, {i}) }}" for i in range(n)),
            "x = " + "sum x : { a(x), x = " * n + "1" + " }" * n,
            "a(x), y = " + "+".join(["x"] * n) + ", y > 0",
            "a(x), s(t), s(cat(" + ", ".join(["t"] * n) + "))",
            f"a(x), x = max({', '.join(['x'] * n)})",
            "a(x), y = " + "-" * n + "x, y > 0",
            "a(x), y = " + "as(" * n + "x" + ", number)" * n + ", y > 0",
            "a(x), l(" + "[x, " * n + "nil" + "]" * n + ")",
            "<" + "/".join(["b"] * n) + ">(x, _)",
            "^" * n + "b(x, _)",
            "a(x), " + "!" * n + "b(x, x)",
            'a(x), s(y), match("' + "(a|" * n + ")" * n + '", y)',
        )
    )
    heads = ", ".join(["a(x)"] * random_.choice((1, 1, n)))
    wide = ", ".join(f"c{i}: number" for i in range(n))
    others = random_.choice(
        (
            "",
            f".decl w({wide})\nw({', '.join(['x'] * n)}) :- a(x).",
            f".type W = [{wide}]\n.decl w(w: W)\nw([{', '.join(['x'] * n)}]) :- a(x).",
            "".join(f".decl r{i}(x: number)\nr{i}(x) :- a(x).\n" for i in range(n)),
            "".join(f"a(x) :- b(x, {i}).\n" for i in range(n)),
            "".join(f".type T{i} <: {f'T{i - 1}' if i else 'number'}\n" for i in range(n)),
            f".decl {'n' * 10 * n}(x: number)\n.output {'n' * 10 * n}",
            's("' + "x" * 100 * n + '").',
            f"a({'1' * n}).",
            "#if 1\n" * n + "#endif\n" * n,
            "".join(f"#define M{i} M{i + 1}\n" for i in range(n)) + "a(M0).",
            "//" * n,
        )
    )
    declarations = ".decl a(x: number)\n.decl b(x: number, y: number)\n.decl s(x: symbol)\n"
    return f"{declarations}.type L = [h: number, t: L]\n.decl l(l: L)\n{others}\n{heads} :- {body}."


def attempt(text: str) -> bool:
    """Return True if the text is a program; let any exception but ProgramError through."""
    try:
        program = read(f"{text}\n")
        assert read(f"{program}\n") == program
        checker = Checker()
        checked = checker.check(program)
        warnings(checked)
        compile_program(checked)
    except ProgramError as error:
        str(error)  # a message must not fail either
        return False
    new_text(checker.programs)
    return True


def print_trees(number: int) -> None:
    """Print some trees of all the syntax, and read them; AssertionError with a small one that is another then."""

    @hypothesis.seed(number)
    @hypothesis.settings(max_examples=20, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @hypothesis.given(everything)
    def survives(program: Program) -> None:
        assert read(f"{program}\n") == program

    survives()


def fuzz(seconds: float, seed: int) -> str | None:
    """Mutate for so long; the first text that fails, or None."""
    random_ = random.Random(seed)
    texts = corpus()
    mutations: list[Callable[[str, list[str], random.Random], str]] = [mutate_tokens, mutate_names, mutate_bytes]
    end = time.monotonic() + seconds
    tried = accepted = 0
    while time.monotonic() < end:
        text = random_.choice(mutations)(random_.choice(texts), texts, random_) if tried % 50 else large(random_)
        tried += 1
        try:
            accepted += attempt(text)
            if tried % 50 == 0:
                print_trees(random_.randrange(2**32))
        except Exception:
            traceback.print_exc()
            return text
    show(f"{tried} texts, {accepted} of them programs, and {tried // 50 * 20} trees, no traceback (seed {seed})")
    return None


if __name__ == "__main__":
    failing = fuzz(*asked())
    if failing is not None:
        show(f"{failing}")
        sys.exit(1)
