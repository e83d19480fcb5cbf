"""The limits of an epoch: each ends it just beyond its number, and says so."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from tidelog.common.source import SourceText, Span
from tidelog.errors import LimitError
from tidelog.limits import watch as module
from tidelog.limits.watch import Watch, WithinMemory, defer_interrupts


def test_rows_are_those_from_before_and_those_under_way() -> None:
    watch = Watch(max_rows=1_010, derived=1_006)
    watch.look(4)
    with pytest.raises(LimitError) as caught:
        watch.look(5)
    assert caught.value.code == "E0502"
    assert "the epoch was stopped at 1,011 derived rows, its limit is 1,010" in str(caught.value)
    Watch(derived=10**12).look(10**12)


def test_the_time_is_that_since_the_start() -> None:
    Watch(timeout=3_600.0).look()
    Watch(started=time.perf_counter() - 10_000.0).look()
    with pytest.raises(LimitError) as caught:
        Watch(timeout=3_600.0, started=time.perf_counter() - 10_000.0).look(0)
    assert caught.value.code == "E0501"
    assert "the epoch was stopped after 1000" in str(caught.value)
    assert "its limit is 3600 s" in str(caught.value)


def test_the_size_of_a_relation() -> None:
    source = SourceText("p.dl", ".limitsize t(n=3)")
    watch = Watch(sizes={"t": (3, Span(source, 0, 17))})
    watch.look_at("t", 3)
    watch.look_at("u", 1_000)
    with pytest.raises(LimitError) as caught:
        watch.look_at("t", 4)
    assert caught.value.code == "E0504"
    assert str(caught.value).startswith("p.dl:1:1: error[E0504]: the epoch was stopped when t had 4 rows")
    assert "its .limitsize is 3" in str(caught.value)


def waited_for(watch: Watch, size: int, begin: Callable[[], object] = lambda: None) -> bool:
    """Return True if kernels on something of this size are told to stop, after `begin`."""
    with watch.stop_kernels(size):
        begin()
        for _ in range(400):
            if watch.stop.is_given:
                return True
            time.sleep(0.01)
    return False


@pytest.mark.parametrize("size", [module._LONG, 10**9])
def test_kernels_that_may_take_long_stop_when_the_time_is_over(size: int) -> None:
    watch = Watch(timeout=1.0, started=time.perf_counter() - 2.0)
    assert waited_for(watch, size)
    assert not watch.told
    with pytest.raises(LimitError) as caught:
        watch.look()
    assert caught.value.code == "E0501"


def test_kernels_that_may_take_long_stop_for_control_c() -> None:
    """Also where Python has not run the handler of the signal yet, since it was in a kernel."""
    watch = Watch()
    with defer_interrupts(watch):
        assert watch.interrupts is not Watch().interrupts
        assert waited_for(watch, 10**9, lambda: signal.raise_signal(signal.SIGINT))
        assert watch.told
        assert watch.interrupts.pressed
        watch.interrupts.pressed = False
        with pytest.raises(KeyboardInterrupt):
            watch.look()
        assert not watch.interrupts.pressed
    calm = Watch()
    calm.stop.give()
    calm.look()


def test_memory_that_runs_out_is_a_limit_and_nothing_else_is() -> None:
    with pytest.raises(LimitError) as caught, WithinMemory("do something"):
        raise MemoryError("no 8 bytes")
    assert caught.value.code == "E0503"
    assert "out of memory: no 8 bytes" in str(caught.value)
    assert caught.value.__cause__ is None
    assert "do something" in str(caught.value)
    with pytest.raises(LimitError, match="out of memory"), WithinMemory("do something"):
        raise MemoryError
    with pytest.raises(ValueError, match="other"), WithinMemory("do something"):
        raise ValueError("other")
