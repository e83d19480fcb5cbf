"""Ways to forge a certificate: each changes a folder that was right.

A forgery covers something: a file, a field of the manifest, a column of a table, a kind of intermediate result, a
statement of a program. `tests/certificate/test_forgeries.py` demands that all that a certificate is made of is covered,
so that what is new in a certificate needs forgeries of its own here.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.certificate.forged_tables import of_tables
from tests.certificate.forgery import Change, Forgery
from tests.instead import put

EVERYTHING = """
.type Pair = [a: number, b: symbol]
.type List = [head: float, tail: List]
.type Empty = []
.type Tree = Tip {} | Knot { n: number } | Fork { left: Tree, label: symbol }
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl mix(n: number, u: unsigned, f: float, s: symbol)
.decl boxed(p: Pair, l: List, m: Empty)
.decl there()
.decl r(x: number, y: number)
.decl c(n: number)
.decl best(x: number, n: float)
.decl ok(x: number)
.decl near(x: number, y: number)
.decl loop(x: number, y: number)
.decl some(x: number)
.decl out(p: Pair, n: symbol)
.decl tree(t: Tree)
.decl root(t: Tree)
e(1, 2). e(2, 3). f(3, 1). f(1, 4). e(7, 7).
mix(-5, 18446744073709551615, 0.5, "Zoë"). mix(6, 0, -1.5, "a\\"b\\n"). mix(6, 1, 0.0, "").
boxed([1, "x"], [2.5, nil], []). boxed(nil, [1.0, [0.25, nil]], nil).
there().
tree($Fork($Knot(3), "a, (b")). tree($Tip). tree($Knot(4)).
r(x, y) :- e(x, y).
r(x, y) :- f(x, y), x < 3.
r(x, z) :- r(x, y), r(y, z).
cn: c(n) :- n = count : { r(_, _) }.
b: best(x, n) :- e(x, _), n = mean y : { r(x, y) }.
o: ok(x) :- e(x, _), !f(_, x).
q: near(x, y) :- <(e/f)+>(x, y), x < 3.
l: loop(x, y) :- e*(x, y), x > 5.
s: some(x) :- e(x, _), (f(x, _), x > 0, there() ; f(_, x), there()), !mix(x, _, _, _).
u: root($Fork(t, s)) :- tree(t), t = $Knot(_), tree($Fork(_, s)), !tree($Fork(t, s)).
t: out([n, cat(s, "!")], s) :- mix(n, _, _, s), there().
"""
"""A program with all kinds of columns, intermediate results and statements."""
FEW = """
.type Pair = [a: number, b: symbol]
.type Tree = Tip {} | Knot { n: number } | Fork { left: Tree, label: symbol }
.decl mix(n: number, u: unsigned, f: float, s: symbol)
.decl boxed(p: Pair)
.decl tree(t: Tree)
.decl out(p: Pair, s: symbol)
mix(-5, 18446744073709551615, 0.5, "Zoë"). mix(6, 0, -1.5, "a\\"b\\n"). mix(6, 1, 0.0, "").
boxed([1, "x"]). boxed(nil).
tree($Fork($Knot(3), "a, (b")). tree($Tip). tree($Knot(4)).
t: out([n, s], s) :- mix(n, _, _, s).
c: out(p, "b") :- out(p, _), boxed(p).
"""
"""A program with columns of all kinds and few relations, which is checked soon."""
EITHER = f"""
.decl a(x: number)
.decl b(x: number)
a(1). a(2). a(7).
b(x) :- a(x), {", ".join(["(x = 1 ; x = 2 ; x = 3 ; x = 4)"] * 5)}.
"""
"""A rule with so many alternatives that each choice becomes a relation."""
SELECTING = """
.decl e(x: number, y: number)
.decl d(x: number, c: number, h: number) min(c), max(h)
.decl q(x: number, c: number)
e(1, 2). e(2, 3). e(3, 1).
d(x, c, 0) :- e(x, c).
d(x, c, h) :- d(x, b, h), e(b, c), b > 1.
q(x, c) :- e(x, c), x > 1.
q(x, c) :- q(c, x), c < 3.
q(x, c1) <= q(x, c2) :- c2 <= c1, c1 != 7.
"""
"""A program whose selections are views over candidates."""
COUNTING = """
.decl e(x: number, y: number)
.decl a(x: number, n: number)
e(1, 2). e(2, 3).
a(x, $) :- e(x, _).
"""
"""A program that numbers substitutions."""
GROUPING = """
.decl e(x: number, y: number)
.decl p(x: number, m: number)
.decl q(x: number)
e(1, 2). e(2, 3).
q(1).
p(x, m) :- q(y), e(y, x), m = y.
q(x) :- p(x, m), m > count : { e(y, _), y < m }.
"""
"""A program whose aggregate has groups that come through the recursion."""
SORTS = {
    **dict.fromkeys(("#aggregate", "#base", "#matching", "#nodes", "#outer", "#path", "#projection"), EVERYTHING),
    "#inner": GROUPING,  # Those of the program with everything are pairs of a closure, which an engine folds.
    "#either": EITHER,
    "#values": GROUPING,
    **dict.fromkeys(("#counter", "#substitution"), COUNTING),
    **dict.fromkeys(("#best", "#ranked", "#beats", "#beaten", "#keys"), SELECTING),
}
"""The sorts of intermediate results, and a program that has them; each is forged by stating facts of it."""


def all_forgeries(folder: Path) -> Iterator[Forgery]:
    """All forgeries of a certificate in a folder but for those of intermediate results."""
    yield from of_files(folder)
    yield from of_the_manifest(json.loads((folder / "manifest.json").read_text()))
    yield from of_the_program((folder / "program.dl").read_text())
    yield from of_tables(folder)


# --- files -----------------------------------------------------------------------------------------------------------


def of_files(folder: Path) -> Iterator[Forgery]:
    """Every file missing, damaged, replaced, or in company."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        for what, change in (FOLDERS if path.is_dir() else FILES).items():
            yield Forgery(str(name), what, kind_of_file(name), partial(_at, name, change))
    for what, change in COMPANY.items():
        yield Forgery("the folder has", what, "company", change)


def kind_of_file(name: Path) -> str:
    """Return the name of a file's kind for tests: files of tables go by their folder."""
    return f"{name.parent}/*.parquet" if name.suffix == ".parquet" else str(name)


def _at(name: Path, change: Change, folder: Path) -> None:
    change(folder / name)


def _linked(path: Path) -> None:
    """Replace a file by a link to its content."""
    elsewhere = Path(tempfile.mkdtemp(dir=path.parent.parent.parent)) / path.name
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)


def _linked_hard(path: Path) -> None:
    os.link(path, Path(tempfile.mkdtemp(dir=path.parent.parent.parent)) / path.name)


def _instead(path: Path, make: Change) -> None:
    path.unlink()
    make(path)


def _bytes(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def _flipped(data: bytes, place: float) -> bytes:
    at = int(place * (len(data) - 1))
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def _required(data: bytes) -> bytes:
    """Let the optional columns of a Parquet file be required ones, which contradicts the metadata of their parts."""
    return data.replace(b"\x25\x02\x18", b"\x25\x00\x18")  # in Thrift: OPTIONAL and REQUIRED, before a name


FILES: Mapping[str, Change] = {
    "is missing": Path.unlink,
    "is empty": lambda path: path.write_bytes(b""),
    "is cut off": lambda path: _bytes(path, lambda data: data[: len(data) // 2]),
    "lacks its last byte": lambda path: _bytes(path, lambda data: data[:-1]),
    "has a byte more": lambda path: _bytes(path, lambda data: data + b"x"),
    "is there twice": lambda path: _bytes(path, lambda data: data + data),
    "is all zeros": lambda path: _bytes(path, lambda data: bytes(len(data))),
    "has one bit flipped at its start": lambda path: _bytes(path, lambda data: _flipped(data, 0.0)),
    "has one bit flipped in the middle": lambda path: _bytes(path, lambda data: _flipped(data, 0.5)),
    "has one bit flipped near its end": lambda path: _bytes(path, lambda data: _flipped(data, 0.98)),
    "has columns that contradict their parts": lambda path: _bytes(path, _required),
    "is a link": _linked,
    "is a link to itself": lambda path: _instead(path, lambda each: each.symlink_to(each.name)),
    "is a link to nothing": lambda path: _instead(path, lambda each: each.symlink_to("/nowhere/at/all")),
    "is a link to a device": lambda path: _instead(path, lambda each: each.symlink_to("/dev/zero")),
    "is a folder": lambda path: _instead(path, Path.mkdir),
    "is a pipe": lambda path: _instead(path, os.mkfifo),
    "is a socket": lambda path: put("a socket", path),
    "is a full folder": lambda path: put("a full folder", path),
    "has a name in capitals": lambda path: path.rename(path.with_name(path.name.upper())),
    "has a blank behind its name": lambda path: path.rename(path.with_name(f"{path.name} ")),
    "is a hard link": _linked_hard,
}


def _file_instead(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


FOLDERS: Mapping[str, Change] = {
    "is missing": shutil.rmtree,
    "is a link": _linked,
    "is a file": _file_instead,
    "is empty": _emptied,
    "has a folder in it": lambda path: (path / "more").mkdir(),
    "has a hidden file": lambda path: (path / ".hidden.parquet").write_bytes(b"PAR1"),
    "has a copy of a file": lambda path: shutil.copy(next(path.iterdir()), path / "hidden.parquet"),
    "has a file without a name": lambda path: (path / "\n").write_bytes(b""),
    "has a file whose name is no text": lambda path: Path(os.fsdecode(os.fsencode(path) + b"/\xff")).write_bytes(b""),
}


def _exchanged(folder: Path) -> None:
    shutil.move(folder / "facts", folder / "other")
    shutil.move(folder / "views", folder / "facts")
    shutil.move(folder / "other", folder / "views")


def _one_folder(folder: Path) -> None:
    shutil.rmtree(folder / "views")
    (folder / "views").symlink_to("facts")


COMPANY: Mapping[str, Change] = {
    "a file more": lambda folder: (folder / "README").write_text("trust me"),
    "a second program": lambda folder: (folder / "program2.dl").write_text(""),
    "a new manifest": lambda folder: (folder / "manifest.json.new").write_text("{}"),
    "what a store has": lambda folder: (folder / "segments").mkdir(),
    "facts and views exchanged": _exchanged,
    "views are facts": _one_folder,
}

# --- the manifest ----------------------------------------------------------------------------------------------------

VALUES: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "one": 1,
    "a fraction": 2.0,
    "minus one": -1,
    "a large number": 10**30,
    "no text": "",
    "another text": "number",
    "a long text": "x" * 100_000,
    "an absolute name": "/etc/passwd",
    "a way out": "../views/number",
    "half a character": "\ud800",
    "NUL": "number\0",
    "a list": [],
    "an object": {},
    "itself in a list": ...,
}


def of_the_manifest(manifest: Any) -> Iterator[Forgery]:
    """Every field missing, twice, or with another value, and texts that are no manifest."""
    for path in fields_of(manifest):
        field = field_name(path)
        yield Forgery(field, "is missing", field, partial(_manifest, partial(_without, path)))
        for what, value in VALUES.items():
            yield Forgery(field, f"is {what}", field, partial(_manifest, partial(_with, path, value)))
        if isinstance(path[-1], str):
            more = partial(_with, (*path[:-1], f"{path[-1]}2"), 1)
            yield Forgery(field, "has another field beside it", field, partial(_manifest, more))
            yield Forgery(field, "is there twice", field, partial(_manifest_text, partial(_twice, path[-1])))
    for what, change in RELATIONS.items():
        yield Forgery("relations", what, "relations", partial(_manifest, change))
    for what, written in MANIFESTS.items():
        yield Forgery("the manifest is", what, "manifest.json", partial(_manifest_text, written))


Way = tuple[str | int, ...]


def fields_of(value: Any, path: Way = ()) -> Iterator[Way]:
    """The ways to all fields, the last ones only of lists."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key)
            yield from fields_of(part, (*path, key))
    elif isinstance(value, list) and value:
        yield from fields_of(value[-1], (*path, len(value) - 1))


def field_name(path: Way) -> str:
    """Return the name of a field for tests."""
    return ".".join(part for part in path if isinstance(part, str))


def _without(path: Way, manifest: Any) -> None:
    for part in path[:-1]:
        manifest = manifest[part]
    del manifest[path[-1]]


def _with(path: Way, value: Any, manifest: Any) -> None:
    for part in path[:-1]:
        manifest = manifest[part]
    manifest[path[-1]] = [manifest[path[-1]]] if value is ... else value


def _twice(key: str, text: str) -> str:
    return text.replace(f'"{key}":', f'"{key}": 1, "{key}":', 1)


def _manifest(change: Callable[[Any], object], folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _manifest_text(change: Callable[[str], str | bytes], folder: Path) -> None:
    text = change((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_bytes(text if isinstance(text, bytes) else text.encode())


def _entry(manifest: Any, name: str) -> Any:
    return next(entry for entry in manifest["relations"] if entry["name"].startswith(name))


RELATIONS: Mapping[str, Callable[[Any], object]] = {
    "in another order": lambda manifest: manifest["relations"].reverse(),
    "with one twice": lambda manifest: manifest["relations"].append(manifest["relations"][0]),
    "with one less": lambda manifest: manifest["relations"].pop(0),
    "with one more": lambda manifest: manifest["relations"].append({**manifest["relations"][0], "name": "more"}),
    "with an intermediate result declared": lambda manifest: _entry(manifest, "#path").update(auxiliary=False),
    "with a declared relation intermediate": lambda manifest: _entry(manifest, "e").update(auxiliary=True),
    "with a hidden file": lambda manifest: _entry(manifest, "c").update(file="hidden"),
    "with the file of another relation": lambda manifest: _entry(manifest, "c").update(file="number-number"),
    "with a lower stratum": lambda manifest: _entry(manifest, "c").update(stratum=0),
    "with one stratum for all": lambda manifest: [entry.update(stratum=1) for entry in manifest["relations"]],
    "with columns of another kind": lambda manifest: _entry(manifest, "c")["columns"][0].update(kind="unsigned"),
    "with columns exchanged": lambda manifest: _entry(manifest, "mix")["columns"].reverse(),
    "with a name in another normal form": lambda manifest: _entry(manifest, "ok").update(name="o\u212a"),
}
MANIFESTS: Mapping[str, Callable[[str], str | bytes]] = {
    "without line breaks": lambda text: json.dumps(json.loads(text)),
    "with sorted keys": lambda text: json.dumps(json.loads(text), sort_keys=True),
    "with blanks around it": lambda text: f"\n \t{text} \n",
    "with a mark of byte order": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "in UTF-16": lambda text: text.encode("utf-16"),
    "in Latin-1": lambda text: text.replace("tidelog certificate", "tidelog certificaté").encode("latin-1"),
    "with something behind": lambda text: f"{text}{{}}",
    "with a comment": lambda text: f"// trust me\n{text}",
    "with NaN": lambda text: text.replace('"version": 2', '"version": NaN'),
    "with infinity": lambda text: text.replace('"version": 2', '"version": Infinity'),
    "with a number of 5,000 digits": lambda text: text.replace('"version": 2', f'"version": {"2" * 5000}'),
    "with a version that is a fraction": lambda text: text.replace('"version": 2', '"version": 2.0'),
    "with an old version": lambda text: text.replace('"version": 2', '"version": 1'),
    "that is nested deeply": lambda _: "[" * 100_000,
    "that is a list": lambda text: f"[{text}]",
    "that is a text": json.dumps,
    "that is null": lambda _: "null",
    "with escaped names": lambda text: text.replace('"name": "e"', '"name": "\\u0065"'),
}

# --- the program -----------------------------------------------------------------------------------------------------


def of_the_program(text: str) -> Iterator[Forgery]:
    """Every statement missing, twice or changed, and other texts."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        statement = kind_of_statement(line)
        rest = [*lines[:number], *lines[number + 1 :]]
        yield _program(f"without {line.strip()}", statement, "".join(rest))
        yield _program(f"twice {line.strip()}", statement, "".join([*lines[: number + 1], *lines[number:]]))
        yield _program(f"last {line.strip()}", statement, "".join([*rest, line]))
        yield _program(f"commented out {line.strip()}", statement, text.replace(line, f"// {line}"))
    for what, change in PROGRAMS.items():
        forged = change(text)
        if forged != text:
            yield _program(what, "program.dl", forged)


def kind_of_statement(line: str) -> str:
    """Return the name of a statement's kind for tests: a rule, or its first word."""
    return line.split(maxsplit=1)[0] if line.startswith(".") else "rule"


def _program(name: str, covers: str, text: str | bytes) -> Forgery:
    data = text if isinstance(text, bytes) else text.encode()
    return Forgery("the program has", name, covers, lambda folder: (folder / "program.dl").write_bytes(data))


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


PROGRAMS: Mapping[str, Callable[[str], str | bytes]] = {
    "a fact": lambda text: f"{text}e(1, 9).\n",
    "a fact with a name": lambda text: f"{text}named: e(1, 9).\n",
    "a fact that is computed": lambda text: f"{text}named: e(1, 4 + 5).\n",
    "facts from a file": lambda text: f"{text}.input e\n",
    "an output": lambda text: f"{text}.output e\n",
    "a limit": lambda text: f"{text}.limitsize r(n=1)\n",
    "a pragma": lambda text: f'{text}.pragma "legacy"\n',
    "an include": lambda text: f'#include "/etc/passwd"\n{text}',
    "an include in Souffle's way": lambda text: f'.include "other.dl"\n{text}',
    "a macro": lambda text: f"#define e f\n{text}",
    "a macro behind blanks": lambda text: f"{text}  #define e f\n",
    "a component": lambda text: f"{text}.comp C {{ .decl x(y: number) }}\n.init D = C\n",
    "a comment": lambda text: f"{text}// trust me\n",
    "a comment in the middle": _replaced(":-", "/* trust me */ :-"),
    "a blank line": lambda text: f"\n{text}",
    "no line break at the end": lambda text: text.rstrip("\n"),
    "a blank more": _replaced(", ", ",  "),
    "lines of Windows": lambda text: text.replace("\n", "\r\n"),
    "a mark of byte order": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "NUL": lambda text: f"{text}\0",
    "no UTF-8": lambda text: text.encode() + b"\xff",
    "UTF-16": lambda text: text.encode("utf-16"),
    "nothing": lambda _: "",
    "no syntax": lambda text: f"{text}this is nothing",
    "a name of an intermediate result": _replaced("e(x, y)", "#path.e(x, y)"),
    "another order of declarations": lambda text: "".join(sorted(text.splitlines(keepends=True))),
    "another name of a relation": lambda text: text.replace("ok(", "fine("),
    "another name of a column": _replaced(".decl c(n: number)", ".decl c(m: number)"),
    "another type of a column": _replaced(".decl c(n: number)", ".decl c(n: unsigned)"),
    "another type of a field": _replaced("b: symbol]", "b: number]"),
    "a relation more": lambda text: f".decl more(x: number)\n{text}",
    "a relation with the name of another in another form": lambda text: f".decl E(x: number)\n{text}",
    "another name of a rule": _replaced("cn:", "cm:"),
    "two names exchanged": lambda text: text.replace("r1:", "r0:").replace("r2:", "r1:").replace("r0:", "r2:"),
    "another constant": _replaced("x < 3", "x < 4"),
    "a constant that changes nothing": _replaced("x > 5", "x > 6"),
    "another comparison": _replaced("x < 3", "x > 3"),
    "another variable": _replaced("r(x, y) :- e(x, y)", "r(y, x) :- e(x, y)"),
    "another aggregate": _replaced("mean", "max"),
    "another aggregate of the same type": _replaced("mean", "median"),
    "no negation": _replaced("!f(_, x)", "f(_, x)"),
    "a negation": _replaced("f(x, y), x < 3", "!f(x, y), x < 3, e(x, y)"),
    "another path": _replaced("e*", "e+"),
    "another text": _replaced('"!"', '"?"'),
    "another branch": _replaced("t = $Knot(_)", "t = $Tip"),
    "another name of a branch": lambda text: text.replace("Tip", "Top"),
    "another order of branches": _replaced("Tip {} | Knot { n: number }", "Knot { n: number } | Tip {}"),
    "another type in a branch": _replaced("Knot { n: number }", "Knot { n: unsigned }"),
    "a branch more": _replaced("Tip {}", "Tip {} | Top {}"),
    "another functor": _replaced("cat(s", "cat(to_string(n)"),
    "a rule less in a closure": lambda text: "".join(line for line in text.splitlines(True) if "r(y, z)" not in line),
    "a rule more that derives nothing": lambda text: f"{text}more: c(x) :- e(x, _), x < 0.\n",
    "a rule more that derives something": lambda text: f"{text}more: c(x) :- e(x, _).\n",
    "a rule that derives itself": lambda text: f"{text}more: e(x, y) :- e(x, y).\n",
    "a rule that is never done": lambda text: f"{text}more: c(n + 1) :- c(n).\n",
    "negation through recursion": lambda text: f"{text}more: e(x, x) :- e(x, _), !ok(x).\n",
    "an aggregate through recursion": lambda text: f"{text}more: e(n, n) :- n = count : {{ r(_, _) }}.\n",
    "a type that is its own": lambda text: f"{text}.type T = T\n",
    "a rule without ground": lambda text: f"{text}more: c(x) :- there().\n",
    "a number that is too large": _replaced("x > 5", "x > 99999999999999999999"),
    "brackets without end": lambda text: f"{text}more: c(x) :- e(x, _), x > {'(' * 5000}1{')' * 5000}.\n",
}
