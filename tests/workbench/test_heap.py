"""The memory of the server's threads."""

from __future__ import annotations

import subprocess
import sys

_THREADS = """
import ctypes, threading
from tidelog.serve.running import _share_heap

_share_heap()
library, meeting = ctypes.CDLL(None), threading.Barrier(12)
library.malloc.restype = library.fopen.restype = ctypes.c_void_p
threads = [threading.Thread(target=lambda: (library.malloc(1_000), meeting.wait())) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
output = ctypes.c_void_p(library.fopen(b"/dev/stdout", b"w"))
library.malloc_info(0, output)
library.fclose(output)
"""


def test_threads_share_a_heap() -> None:
    """Each heap would keep the memory of the largest answer of its threads."""
    found = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.count("<heap nr=") == 1
