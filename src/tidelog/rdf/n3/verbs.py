"""The verbs of a store over rules by name, and in N3: `Store` has the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import NoneType

from tidelog.common.source import SourceText
from tidelog.database.ruleset import Earlier, NamedRules, no_earlier
from tidelog.errors import wrong_argument
from tidelog.language.reading import file_text
from tidelog.limits.watch import changing_within_memory
from tidelog.rdf.functions import with_functions
from tidelog.rdf.n3.functions import FUNCTIONS
from tidelog.rdf.n3.reading import read_rules
from tidelog.rdf.n3.translating import rule_names, rule_texts
from tidelog.rdf.shapes.verbs import ShapeVerbs

_ENDING = ".n3"
_NO_BASE = "urn:tidelog:n3"


def is_n3(program: object) -> bool:
    """Return True for the path of a file of rules in N3."""
    if isinstance(program, os.PathLike):
        return Path(program).suffix == _ENDING
    return isinstance(program, str) and program.endswith(_ENDING) and "\n" not in program


class N3Verbs(ShapeVerbs):
    """Verbs over rules: by name, and in N3."""

    @property
    def rules(self) -> NamedRules:
        """Return the rules by name, those of the rule set included, with `add`, `replace` and `remove`."""
        return NamedRules(self)

    def _named_rules(self) -> Mapping[str, object]:
        rules = self.database.workspace.committed.checked.texts
        return {str(rule.name): rule if rule.span is None else rule.span.text for rule in rules}

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self.load(text, replace=no_earlier(replace))

    def _remove_rules(self, *names: str) -> None:
        self.database.rules.remove(*names)

    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]:
        """Add rules in N3 from a text or the path of a `.n3` file, to take effect with the next `commit`.

        Return their names, by which `rules.remove` removes them: `name` with a number, by default that of the file, and
        `n3` for a text.

        Raise DataError (E0460: not N3), ProgramError (E0110: no such file, E0301 and the like: a recursion that no rule
        may have), UsageError (E0678: a rule that tidelog does not have, with the reason), SetupError (E0790).
        """
        given: object = rules
        if not isinstance(given, (str, os.PathLike)):
            raise wrong_argument("rules in N3", "a text, or the path of a file", rules)
        if not isinstance(name, (str, NoneType)):
            raise wrong_argument("a name for rules", "letters, digits and underscores", name)
        path = Path(rules) if is_n3(rules) or isinstance(given, os.PathLike) else None
        shown = "<n3>" if path is None else str(path)
        source = SourceText(shown, str(rules) if path is None else file_text(path, shown))
        prefix = name or re.sub(r"\W", "_", path.stem if path is not None else "n3")
        if not re.fullmatch(r"[A-Za-z_]\w*", prefix):
            raise wrong_argument("a name for rules", "letters, digits and underscores", prefix)
        with self._changing(), changing_within_memory:
            found = read_rules(source, _NO_BASE if path is None else path.resolve().as_uri())
            taken = {rule.name for rule in self.database.program.rules if rule.name}
            texts = dict[str, str]()
            for each, rule in zip(rule_names(prefix, len(found), taken), found, strict=True):
                texts |= rule_texts(each, rule)
            self.load(with_functions("".join(texts.values()), self.database, FUNCTIONS))
            return tuple(texts)
