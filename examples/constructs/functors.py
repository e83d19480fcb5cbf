"""The functions of functors.dl, given with `--functors examples/constructs/functors.py`."""

from collections.abc import Iterator

import tidelog

CODES = {
    letter: str(code)
    for code, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1)
    for letter in letters
}


@tidelog.functor("symbol -> symbol")
def sound(name: str) -> str:
    """Return the Soundex code of a name."""
    digits = [CODES.get(letter, "") for letter in name.lower()]
    kept = [digit for digit, before in zip(digits[1:], digits, strict=False) if digit != before]
    return (name[:1].upper() + "".join(kept) + "000")[:4]


@tidelog.functor("symbol -> symbol")
def letters(name: str) -> Iterator[str]:
    """Give the capital letters of a name, one after the other."""
    yield from (letter for letter in name if letter.isupper())
