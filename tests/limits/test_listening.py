"""The thread that hears Ctrl-C while the main thread cannot: one per process, in nobody's way."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from tidelog.limits import listening as module
from tidelog.limits.interrupts import Deferring
from tidelog.limits.listening import run_listener
from tidelog.limits.watch import Watch


class Turns:
    """The signals that a block has received; `wait` until some condition on them holds."""

    def __init__(self) -> None:
        self.told: list[tuple[bool, threading.Thread]] = []
        self._changed = threading.Condition()

    def __call__(self, pressed: bool) -> None:
        with self._changed:
            self.told.append((pressed, threading.current_thread()))
            self._changed.notify_all()

    def wait(self, ready: Callable[[list[bool]], bool] = bool) -> None:
        """Wait for turns of which `ready` is true."""
        with self._changed:
            assert self._changed.wait_for(lambda: ready([pressed for pressed, _ in self.told]), 60)


@pytest.fixture
def wakeup() -> Iterator[tuple[int, int]]:
    """The wake-up file of somebody else: where it is read, and where it is written."""
    reading, writing = os.pipe()
    for file in (reading, writing):
        os.set_blocking(file, False)
    before = signal.set_wakeup_fd(writing)
    yield reading, writing
    signal.set_wakeup_fd(before)
    os.close(reading)
    os.close(writing)


def test_all_blocks_share_one_thread() -> None:
    threads = set()
    for _ in range(20):
        with run_listener(turns := Turns()):
            turns.wait()
        threads |= {thread for _, thread in turns.told}
    assert len(threads) == 1
    assert all(thread.daemon for thread in threads)


def test_a_block_that_is_over_is_forgotten() -> None:
    """What its turn has may be large: a session of DuckDB, say."""
    turns = Turns()
    forgotten = weakref.ref(turns)
    with run_listener(turns):
        turns.wait()
    del turns
    gc.collect()
    assert forgotten() is None


def test_blocks_of_several_threads_have_turns_at_the_same_time() -> None:
    one, other = Turns(), Turns()

    def work() -> None:
        with run_listener(other):
            other.wait()
            one.wait(lambda told: len(told) > 3)

    with Deferring(), run_listener(one):
        thread = threading.Thread(target=work)
        thread.start()
        other.wait()
        signal.raise_signal(signal.SIGINT)
        one.wait(any)
        other.wait(lambda told: len(told) > 1)
        thread.join()
        with Deferring() as interrupts:
            interrupts.pressed = False
    assert not any(pressed for pressed, _ in other.told)  # Ctrl-C is for the main thread


def test_nobody_has_a_turn_once_the_block_is_left() -> None:
    with run_listener(first := Turns()):
        first.wait()
    count = len(first.told)
    with run_listener(second := Turns()):
        second.wait(lambda told: len(told) > 2)
    assert len(first.told) == count


def test_control_c_is_heard_by_the_block_in_which_it_comes() -> None:
    """Also if the block is left before the thread has read of it."""
    with Deferring() as interrupts:
        for _ in range(50):
            with run_listener(Turns()):
                signal.raise_signal(signal.SIGINT)
            with run_listener(turns := Turns()):
                turns.wait()
            assert not any(pressed for pressed, _ in turns.told)
        with run_listener(outer := Turns()):
            with run_listener(inner := Turns()):
                signal.raise_signal(signal.SIGINT)
                inner.wait(any)
            outer.wait(any)
        with run_listener(outer := Turns()):
            with run_listener(Turns()):
                pass
            signal.raise_signal(signal.SIGINT)
            outer.wait(any)
        interrupts.pressed = False


def test_the_wakeup_file_of_others_is_put_back(wakeup: tuple[int, int]) -> None:
    reading, writing = wakeup
    handler = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with module._LISTENER.lock, run_listener(Turns()), run_listener(Turns()):
            signal.raise_signal(signal.SIGUSR1)
        assert os.read(reading, 10) == bytes([signal.SIGUSR1])  # though the thread had no time for it
        assert signal.set_wakeup_fd(writing) == writing
        with run_listener(Turns()):
            signal.set_wakeup_fd(-1)  # by a handler, say
        assert signal.set_wakeup_fd(writing) == -1
    finally:
        signal.signal(signal.SIGUSR1, handler)


def test_the_thread_ends_when_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_IDLE", 1)
    for _ in range(2):
        with run_listener(turns := Turns()):
            turns.wait()
        (thread,) = {thread for _, thread in turns.told}
        thread.join(60)
        assert not thread.is_alive()


def test_a_turn_that_fails_is_the_last_of_its_thread_only() -> None:
    failed: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, failed.append

    def fail(pressed: bool) -> None:
        raise RuntimeError

    try:
        with run_listener(turns := Turns()):
            turns.wait()
            with run_listener(fail):
                turns.told[0][1].join(60)
            with run_listener(again := Turns()):
                again.wait()
    finally:
        threading.excepthook = hook
    assert [each.exc_type for each in failed] == [RuntimeError]


def test_what_cannot_take_long_is_not_listened_to() -> None:
    watch = Watch(timeout=0.0)
    with run_listener(turns := Turns()), watch.stop_kernels(1_000):
        turns.wait()
    assert not watch.stop.is_given


SCRIPT = """
import os, resource, signal, sys, threading, warnings
from tidelog.limits.watch import Watch
from tidelog.limits.interrupts import Deferring

def stopped(watch, press=None):
    "Whether kernels are told to stop."
    with watch.stop_kernels(1_000_000):
        if press is not None:
            press()
        while not watch.stop.is_given:
            pass
    return True

def status(child):
    "Whether a child says that this is true."
    number = os.fork()
    if not number:
        os._exit(0 if child() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
"""
FORKED = """
assert stopped(Watch(timeout=0.0))
assert status(lambda: stopped(Watch(timeout=0.0)))  # without the warning of 3.12 that there are threads
assert threading.active_count() == 1
warnings.simplefilter("ignore")

def child():
    "Press Ctrl-C, which only this process may hear."
    with Deferring() as interrupts:
        heard = stopped(Watch(), lambda: os.kill(os.getpid(), signal.SIGINT))
        interrupts.pressed = False
    return heard

results = []
watch = Watch()
with watch.stop_kernels(1_000_000):
    assert status(child)
    thread = threading.Thread(target=lambda: results.append(status(child)))
    thread.start()
    thread.join()
    turned = threading.Event()
    with __import__("tidelog.limits.listening").limits.listening.run_listener(lambda pressed: turned.set()):
        turned.wait()  # and the parent listens on
assert results == [True]
assert not watch.told
assert signal.set_wakeup_fd(-1) == -1
"""
MANY_FILES = """
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
files = [os.dup(0) for _ in range(1100)]
assert stopped(Watch(timeout=0.0))
"""
LEFT_OPEN = """
block = Watch(timeout=60).stop_kernels(1_000_000)
block.__enter__()
"""


@pytest.mark.parametrize("script", [FORKED, MANY_FILES, LEFT_OPEN])
def test_processes_that_fork_have_many_files_or_end(script: str) -> None:
    command = [sys.executable, "-W", "error:This process", "-c", SCRIPT + script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
