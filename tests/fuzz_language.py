"""Wrong programs without end: whatever the text, `read`, `check` and `compile_program` raise ProgramError or nothing.

`python tests/fuzz_language.py SECONDS [SEED]` mutates the programs of the tests, token by token and byte by byte, and
stops at the first other exception with the text that caused it.
"""

from __future__ import annotations

import random
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tidelog.errors import ProgramError
from tidelog.language import check, read, warnings
from tidelog.rules import compile_program

FOLDER = Path(__file__).parent
_TEXT = """
    . , ; : :- = != < <= > >= <: ! @ ( ) [ ] { } | + - * / % ^ _ true false nil as count sum min max mean avg
    median cat strlen substr ord to_number to_string to_float to_unsigned itof range match contains band bnot
    lor $ ? # " .decl .type .input .output .limitsize .plan .comp .init .functor .foo number unsigned float
    symbol x y z 0 1 -1 1u 1.5 0x 0b2 99999999999999999999 18446744073709551615 "a" "\\q" "(" /* */ // é 🙂
    #define #include #if #ifdef #endif #else #error autoinc() inline eqrel
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


def attempt(text: str) -> bool:
    """Whether the text is a program; any exception but ProgramError goes through."""
    try:
        program = read(f"{text}\n")
        checked = check(program)
        warnings(checked)
        compile_program(checked)
    except ProgramError as error:
        str(error)  # a message must not fail either
        return False
    assert read(f"{program}\n") == program
    return True


def fuzz(seconds: float, seed: int) -> str | None:
    """Mutate for so long; the first text that fails, or None."""
    random_ = random.Random(seed)
    texts = corpus()
    mutations: list[Callable[[str, list[str], random.Random], str]] = [mutate_tokens, mutate_tokens, mutate_bytes]
    end = time.monotonic() + seconds
    tried = accepted = 0
    while time.monotonic() < end:
        text = random_.choice(mutations)(random_.choice(texts), texts, random_)
        tried += 1
        try:
            accepted += attempt(text)
        except Exception:
            traceback.print_exc()
            return text
    sys.stdout.write(f"{tried} texts, {accepted} of them programs, no traceback (seed {seed})\n")
    return None


if __name__ == "__main__":
    failing = fuzz(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32))
    if failing is not None:
        sys.stdout.write(f"{failing}\n")
        sys.exit(1)
