"""Native speed: kernels compiled by numba, which know addresses and 64-bit integers and no Python objects.

    words     load and store words by address, prefetch, hash
    layout    the fields of the descriptor table, of a plan and of the state of a run
    sets      the rows of a relation and the hash table that keeps them distinct
    indexes   directories of segments: the rows that share a key
    scalars   what compare, compute and range levels do with a batch
    joins     the batched plan interpreter: one level after the other, a batch of bindings at a time
    fixpoint  the rounds of a hyper-node

Every kernel exists once and serves both word sizes: its last argument `w`, `numpy.int32(0)` or `numpy.int64(0)`, is a
type tag. Kernels are resumable: one that needs more memory, a Python function or a look at the clock returns a status
of `layout` and is called again. Compiled code is kept in the user's cache folder under a hash of these sources, because
numba does not notice when a helper in another file changes. With NUMBA_DISABLE_JIT=1 the same kernels run as Python over
checked memory. Source: design of the batched plan interpreter in docs/theory.md; measured there.
"""

import hashlib
import os
import pathlib
import tempfile

import numba
import numpy


def _cache_folder() -> str:
    """The folder for compiled kernels: per user, per version of the kernels' sources, and of numba and numpy."""
    sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    digest.update(f"{numba.__version__} {numpy.__version__}".encode())
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = base / "tidelog" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return tempfile.mkdtemp(prefix="tidelog-kernels-")
    return str(folder)


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = _cache_folder()  # type: ignore[attr-defined]  # numba fills its config at run time
