"""Random statements by the rules of a text file: what Python has to make of the columns of one relation."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Mapping, Sequence

from tests.fuzz.language import mutate_tokens
from tests.fuzz.statements import Rules


class Maker:
    """Random statements over an object `db`, whose `relations` have names and types of columns."""

    def __init__(self, rng: random.Random, rules: Rules, relations: Mapping[str, str]) -> None:
        self._rng, self._rules, self._relations = rng, rules, relations
        self._draw()

    def statements(self, name: str, count: int = 1) -> list[str]:
        """Return so many statements of a name in the rules, or some more, as some come together."""
        return [each for _ in range(count) for each in self._any(name).split("⏎")]

    def _any(self, name: str) -> str:
        return self._rules.expand(name, self._rng, self._made)

    def _draw(self) -> None:
        self._relation = self._rng.choice(list(self._relations))
        parts = self._relations[self._relation].split()
        self._columns = list(zip(parts[::2], parts[1::2], strict=True))
        names = [name for name, _ in self._columns]
        self._key = self._rng.sample(names, self._rng.randrange(len(names) + 1))

    def _made(self, name: str) -> str | None:
        rng = self._rng
        if name in ("change", "read", "look", "explain", "give"):
            self._draw()
        match name:
            case "relation":
                return repr(self._relation) if rng.random() < 0.97 else self._any("value")
            case "row":
                return self._row(self._columns)
            case "some":
                return f"[{', '.join(self._row(self._columns) for _ in range(rng.choice((0, 1, 1, 2, 3))))}]"
            case "own":
                own = [each for each in self._columns if each[0] in self._key]
                return f"[{self._row(own)}, {self._row(own)}]"
            case "key":
                return repr(self._key) if rng.random() < 0.8 else self._any("value")
            case "dicts":
                return f"[{self._cells(self._value)}, {self._cells(self._value)}]"
            case "cells_pandas" | "cells_polars" | "cells_pyarrow":
                column = name.replace("cells", "column")
                return self._cells(
                    lambda kind: f"[{self._any(kind)}, {self._any(kind)}]" if rng.random() < 0.6 else self._any(column)
                )
            case "atom":
                return repr(f"{self._relation}({', '.join(rng.choice('_x1y') for _ in self._columns)})")
            case "of_shot":
                return re.sub(r"\bdb\b", "shot", self._any(rng.choice(("read", "explain", "change", "rules"))))
            case "inner" if rng.random() < 0.5:
                return re.sub(r"\bdb\.(insert|delete|clear|rules)\b", r"t.\1", self._any("inner"))
            case _ if name.startswith("changed_"):
                good = name.replace("changed", "good")
                texts = [ast.literal_eval(text) for text in self._rules.alternatives[good]]
                return repr(mutate_tokens(rng.choice(texts), texts, rng))
        return None

    def _value(self, kind: str) -> str:
        return self._any(kind if self._rng.random() < 0.92 else "value")

    def _row(self, columns: Sequence[tuple[str, str]]) -> str:
        if self._rng.random() < 0.04:
            return self._any("value")
        kinds = [kind for _, kind in columns]
        if self._rng.random() < 0.04:
            kinds = [*kinds, "number"] if self._rng.random() < 0.5 else kinds[1:]
        return f"({''.join(f'{self._value(kind)}, ' for kind in kinds)})"

    def _cells(self, made: Callable[[str], str]) -> str:
        """Return a dict from the names of the columns, or from others, to what `made` makes of their kinds."""
        columns = self._columns
        if self._rng.random() < 0.1:
            columns = [*columns, ("more", "number")][self._rng.randrange(2) :]
        spelled = [(self._rng.choice((name, name, name, name.upper(), f" {name}")), kind) for name, kind in columns]
        return f"{{{', '.join(f'{name!r}: {made(kind)}' for name, kind in spelled)}}}"
