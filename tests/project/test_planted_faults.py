"""The planted faults follow the source: each has its place, and stands in the table of docs/testing.md."""

from __future__ import annotations

import ast
import re

import pytest

from tests.plant_faults import FAULTS, ROOT, Fault, with_fault


def test_faults_have_one_place_and_change_the_code_there() -> None:
    wrong = []
    for fault in FAULTS:
        text = (ROOT / "src/tidelog" / fault.file).read_text(encoding="utf-8")
        try:
            changed = ast.dump(ast.parse(with_fault(fault, text))) != ast.dump(ast.parse(text))
        except (LookupError, SyntaxError) as error:
            wrong.append(str(error))
        else:
            wrong += [] if changed else [f"{fault.name}: it does not change {fault.file}"]
    assert not wrong, "\n".join(wrong)


def test_a_fault_without_a_place_is_noticed() -> None:
    fault = Fault("gone", "kernels/changes.py", "birth", "death")
    with pytest.raises(LookupError, match="does not have this text once"):
        with_fault(fault, "one birth, two births")


def test_the_documentation_has_every_fault_once() -> None:
    shown = (
        (ROOT / "docs/testing.md").read_text(encoding="utf-8").partition("| fault | found by |")[2].partition("\n\n")[0]
    )
    names = re.findall(r"^\| ([^|]+) \| make test", shown, re.MULTILINE)
    assert sorted(names) == sorted(fault.name for fault in FAULTS)
