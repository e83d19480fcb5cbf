"""A process that is killed at any moment leaves an epoch that it had committed, or the one that it was committing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import tidelog

EPOCHS = [set(), {("a", "b")}, {("a", "b"), ("b", "c"), ("a", "c")}, {("b", "c")}, {("b", "c"), ("c", "d")}]
"""The views after each epoch of COMMITS: the last removes the recursive rule."""

COMMITS = """
import os, shutil, sys, tidelog

db = tidelog.connect(sys.argv[1])
acknowledged = 0

def commit(checkpoint):
    global acknowledged
    db._price = 0.0 if checkpoint else 1e9
    db.commit()
    acknowledged += 1

def work():
    db.load('''
    .decl edge(x: symbol, y: symbol)
    .decl path(x: symbol, y: symbol)
    path(x, y) :- edge(x, y).
    more: path(x, z) :- path(x, y), edge(y, z).
    ''')
    db.insert("edge", [("a", "b")])
    commit(checkpoint=False)
    db.insert("edge", [("b", "c")])
    commit(checkpoint=True)
    db.delete("edge", [("a", "b")])
    commit(checkpoint=False)
    db.insert("edge", [("c", "d")])
    db.rules.remove("more")
    commit(checkpoint=True)
"""
SNAPSHOTS = (
    COMMITS
    + """
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree")
count = 0

def keep(event, arguments):
    global count
    if count >= 0 and event in EVENTS and str(arguments[0]).startswith(sys.argv[1]):
        number, count = count, -1  # what follows are events, too
        shutil.copytree(sys.argv[1], f"{sys.argv[2]}/{number:03}-{acknowledged}")
        count = number + 1

sys.addaudithook(keep)
work()
"""
)
WAITS = (
    COMMITS
    + """
work()
print(acknowledged, flush=True)
sys.stdin.read()
"""
)


def epoch_in(folder: Path) -> int:
    """Which of EPOCHS a folder holds, with views that are right."""
    with tidelog.connect(folder) as db:
        if not db.relations:
            return 0
        db.check()
        return EPOCHS.index(set(db["path"]))


def test_whatever_is_on_the_disk_when_a_file_is_touched(tmp_path: Path) -> None:
    """Before each file operation the folder is what a process killed there would leave."""
    (tmp_path / "all").mkdir()
    subprocess.run([sys.executable, "-c", SNAPSHOTS, str(tmp_path / "store"), str(tmp_path / "all")], check=True)
    snapshots = sorted((tmp_path / "all").iterdir())
    assert len(snapshots) > 40
    for snapshot in snapshots:
        acknowledged = int(snapshot.name.split("-")[1])
        assert epoch_in(snapshot) in (acknowledged, acknowledged + 1), snapshot.name
        if acknowledged:
            manifest = json.loads((snapshot / "manifest.json").read_text())
            assert sorted(os.listdir(snapshot / "segments")) == manifest["segments"]
            assert os.listdir(snapshot / "checkpoints") == [manifest["checkpoint"]] * bool(manifest["checkpoint"])
    assert epoch_in(tmp_path / "store") == 4


def test_a_killed_process_lets_the_folder_go(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"4\n"
        os.kill(child.pid, signal.SIGKILL)
    assert epoch_in(tmp_path) == 4
