"""Ctrl-C in blocks that must not stop halfway: it is noted, raises where somebody looks, or follows when the function
with the outermost block has returned."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FrameType

import pytest

from tests.pressing import LIBRARIES
from tidelog.limits.interrupts import Deferring, ForeignCode, Interrupts, foreign_code


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def pressed_in(interrupts: Interrupts) -> bool:
    """Press Ctrl-C, and return True if it has been noted."""
    press()
    return interrupts.pressed


def value_of(work: Callable[[Interrupts], object]) -> object:
    """What `work` returns, inside of a block, in a function that returns it."""
    with Deferring() as interrupts:
        return work(interrupts)


def followed(work: Callable[[], object]) -> tuple[object, bool]:
    """What `work` returns or raises, and whether Ctrl-C comes soon after that, at whatever place of this function."""
    found: object = None
    try:
        try:
            found = work()
        except ValueError as error:
            found = error.args
        for _ in range(600):
            time.sleep(0.01)
    except KeyboardInterrupt:
        return found, True
    return found, False


def nothing_follows() -> bool:
    """Whether no Ctrl-C is on its way, not even one that a thread delivers."""
    try:
        for thread in threading.enumerate():
            if thread.name == "tidelog Ctrl-C":
                thread.join(60)  # It has sent its signal then,
        time.sleep(0.02)  # and Python runs the handler at the next call.
    except KeyboardInterrupt:
        return False
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_control_c_that_nobody_looks_at_follows_and_no_value_is_lost() -> None:
    assert followed(lambda: value_of(pressed_in)) == (True, True)
    assert nothing_follows()


def test_an_interrupt_takes_the_place_of_an_error() -> None:
    def work(_: Interrupts) -> None:
        press()
        raise ValueError("first")

    with pytest.raises(KeyboardInterrupt) as caught:
        value_of(work)
    assert isinstance(caught.value.__context__, ValueError)
    assert nothing_follows()
    with Deferring() as outer:
        with outer.putting_off(), pytest.raises(ValueError, match="first"):
            value_of(work)
        assert outer.pressed
        with pytest.raises(KeyboardInterrupt):
            value_of(work)
    assert nothing_follows()


def test_looking_raises_once() -> None:
    with Deferring() as interrupts:
        interrupts.look()
        press()
        assert interrupts.pressed
        with pytest.raises(KeyboardInterrupt):
            interrupts.look()
        interrupts.look()
    assert nothing_follows()


def test_looks_that_are_put_off_raise_later() -> None:
    with Deferring() as interrupts:
        press()
        with interrupts.putting_off():
            interrupts.look()
            with interrupts.putting_off():
                interrupts.look()
            interrupts.look()
        with pytest.raises(KeyboardInterrupt):
            interrupts.look()


def test_where_it_is_let_through_it_raises_at_once() -> None:
    with Deferring() as interrupts:
        with interrupts.let_through():
            with interrupts.let_through():
                pass
            with pytest.raises(KeyboardInterrupt):
                press()
        assert not interrupts.pressed
        assert pressed_in(interrupts)
        interrupts.pressed = False
    assert nothing_follows()


def test_blocks_within_share_the_interrupts_of_the_outermost() -> None:
    with Deferring() as outer:
        with Deferring() as inner:
            assert inner is outer
            press()
        assert outer.pressed  # It is not delivered behind the inner block.
        assert value_of(lambda interrupts: interrupts is outer)
        with pytest.raises(KeyboardInterrupt):
            outer.look()
    with Deferring() as other:
        assert other is not outer
    assert nothing_follows()


def test_a_block_within_what_is_let_through_delivers_behind_its_function() -> None:
    with Deferring() as outer, outer.let_through():
        assert followed(lambda: value_of(pressed_in)) == (True, True)
        assert outer.through
    assert nothing_follows()


def test_the_handler_of_before_is_put_back_unless_it_was_changed() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    handler = signal.getsignal(signal.SIGINT)
    try:
        with Deferring() as interrupts:
            assert signal.getsignal(signal.SIGINT) == interrupts.note
            with Deferring():
                pass
            assert signal.getsignal(signal.SIGINT) == interrupts.note
            with interrupts.let_through():
                press()
        assert heard == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is handler
        with Deferring():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with Deferring() as interrupts:  # There is nothing to put off.
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            interrupts.pressed = True
        signal.signal(signal.SIGINT, handler)
        time.sleep(0.02)
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_of_somebody_else_in_between_begins_a_block_of_its_own() -> None:
    with Deferring() as outer:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Deferring() as inner:
            assert inner is not outer
            press()
            inner.pressed = False
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, outer.note)
        press()
        assert outer.pressed
        outer.pressed = False
    assert nothing_follows()


def test_other_threads_have_no_control_c() -> None:
    found: list[Interrupts] = []

    def work() -> None:
        with Deferring() as interrupts:
            found.append(interrupts)
            interrupts.pressed = True

    with Deferring() as mine:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        press()
        assert mine.pressed
        mine.pressed = False
    assert found[0] is not mine
    assert nothing_follows()


def shielded(work: Callable[[], object]) -> object:
    return work()


def opened(*codes: CodeType, work: Callable[[], object]) -> None:
    """Do something in an opened block, and press Ctrl-C behind it."""
    block = Deferring()
    with block as interrupts:
        block.open(*codes)
        try:
            work()
        finally:
            block.close()
        assert not interrupts.through
        assert not interrupts.shielded
        press()
        assert interrupts.pressed
        interrupts.pressed = False


def test_an_open_block_lets_control_c_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        opened(work=press)
    with pytest.raises(KeyboardInterrupt):
        opened(shielded.__code__, work=press)
    assert nothing_follows()


def test_functions_that_are_shielded_return_first() -> None:
    """The outermost of them."""
    returned: list[str] = []

    def inner() -> int:
        press()
        returned.append("press")
        return 7

    def work() -> None:
        returned.extend(map(str, followed(lambda: shielded(lambda: shielded(inner)))))

    opened(shielded.__code__, work=work)
    assert returned == ["press", "7", "True"]
    assert nothing_follows()


def test_what_came_before_a_block_was_opened_follows() -> None:
    block = Deferring()

    def work() -> None:
        with block:
            press()
            block.open()
            block.close()

    assert followed(work) == (None, True)
    assert nothing_follows()


def test_a_block_within_is_open_only_if_the_outer_one_was() -> None:
    block = Deferring()
    with Deferring() as outer:
        with block:
            block.open()
            assert not outer.through
            press()
            block.close()
        assert outer.pressed
        outer.pressed = False
        with outer.let_through(), block:
            assert not outer.through
            block.open()
            with pytest.raises(KeyboardInterrupt):
                press()
            block.close()
            assert pressed_in(outer)
            outer.pressed = False
    assert nothing_follows()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_control_c_leaves_a_library_whatever_that_makes_of_it(library: str) -> None:
    """Python warns of the ones that it ignores."""
    with pytest.raises(KeyboardInterrupt), foreign_code():
        LIBRARIES[library]()
    assert nothing_follows()

    def within(interrupts: Interrupts) -> None:
        with ForeignCode(interrupts):
            LIBRARIES[library]()

    with pytest.raises(KeyboardInterrupt):
        value_of(within)
    assert nothing_follows()


def test_control_c_comes_again_where_a_library_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark waits for an answer that never comes after a Ctrl-C that it has caught."""

    def wait_for_long() -> None:
        with suppress(KeyboardInterrupt):
            press()
        threading.Event().wait(60)

    monkeypatch.setattr("tidelog.limits.interrupts._AGAIN", 0.01)
    with pytest.raises(KeyboardInterrupt), foreign_code():
        wait_for_long()
    for thread in threading.enumerate():
        if thread.name == "tidelog Ctrl-C again":
            thread.join()
    assert nothing_follows()


def test_control_c_does_not_come_again_where_it_has_cut_off_the_end_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.limits.interrupts._AGAIN", 0.01)

    def without_end() -> None:
        with Deferring() as interrupts:
            ForeignCode(interrupts).__enter__()
            press()

    with pytest.raises(KeyboardInterrupt):
        without_end()
    for thread in threading.enumerate():
        if thread.name == "tidelog Ctrl-C again":
            thread.join(60)
            assert not thread.is_alive()
    assert nothing_follows()


def test_what_a_library_raises_without_control_c_is_its_own() -> None:
    with pytest.raises(ValueError, match="bad"), foreign_code():
        raise ValueError("bad")
    with pytest.raises(KeyboardInterrupt), foreign_code():  # of the library's own making
        raise KeyboardInterrupt
    assert nothing_follows()


def test_a_library_stops_at_once_where_control_c_came_before() -> None:
    with Deferring() as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt), ForeignCode(interrupts):
            raise AssertionError
        press()
        with interrupts.putting_off(), ForeignCode(interrupts):
            pass
        assert (interrupts.pressed, interrupts.through, interrupts.raised) == (True, False, None)
        interrupts.pressed = False
    assert nothing_follows()


def test_a_library_is_not_stopped_where_the_caller_must_not_be() -> None:
    with Deferring() as outer:
        with foreign_code():
            press()
        assert outer.pressed
        outer.pressed = False
        with ForeignCode(outer), pytest.raises(KeyboardInterrupt), foreign_code():
            press()
    assert nothing_follows()


def test_the_code_of_the_user_may_handle_control_c_itself() -> None:
    with Deferring() as interrupts, ForeignCode(interrupts):
        with interrupts.let_through(), pytest.raises(KeyboardInterrupt):
            press()
        assert interrupts.raised == []
    assert nothing_follows()


def test_a_library_ends_as_the_handler_of_the_user_wants() -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) == 1:
            raise TimeoutError("mine")

    heard: list[int] = []
    before = signal.signal(signal.SIGINT, stop)
    try:
        with pytest.raises(TimeoutError, match="mine"), foreign_code(), pytest.raises(TimeoutError):
            press()
        with foreign_code():
            press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 2
    assert nothing_follows()


def test_a_block_that_nobody_ends_ends_with_its_generator() -> None:
    """As after a Ctrl-C between the generator of a context manager and its block."""

    def verb() -> Iterator[None]:
        with foreign_code():
            yield

    begun = verb()
    next(begun)
    with pytest.raises(KeyboardInterrupt):
        press()
    del begun
    assert nothing_follows()


class Held:
    """A lock that somebody else has, who gives it back after some tries."""

    def __init__(self, tries: int) -> None:
        self.tries = tries
        self.held = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        assert 0 < timeout < 1  # or nobody would look
        self.tries -= 1
        self.held += self.tries < 0
        return self.tries < 0

    def release(self) -> None:
        self.held -= 1


def test_waiting_for_a_lock() -> None:
    lock = Held(3)
    with Deferring() as interrupts:
        with interrupts.hold(lock):
            assert lock.held == 1
        assert (lock.held, lock.tries) == (0, -1)
        with pytest.raises(ValueError, match="inside"), interrupts.hold(Held(0)):
            raise ValueError("inside")
        lock.tries = 1_000
        press()
        with pytest.raises(KeyboardInterrupt), interrupts.hold(lock):
            raise AssertionError
        assert (lock.held, lock.tries) == (0, 999)
    with pytest.raises(ValueError, match="inside"), Interrupts().hold(other := Held(2)):
        raise ValueError("inside")
    assert other.held == 0
