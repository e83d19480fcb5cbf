"""The files of a folder on any file system that fsspec knows, as `Files`: object stores above all.

Such a file system has no locks and no rename in one step. It must refuse to create a file that exists. The file that
commits is therefore a series, such as `manifest.json.0000000007`: the file with the highest number counts. A
writer creates the next number, and of two writers only one can. A process that opens the folder to change it takes the
next number with the contents of the last, so that a process which opened it before cannot commit any more
(`TakenOverError`). Names of other files have to differ between writers (`mark`).

A file is there when it is complete, or not at all, and is seen at once. Object stores promise that.
"""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from tidelog.durable.files import FileKind, Files, Lock, Output
from tidelog.errors import Problem, SetupError, how_to_install

_NUMBER = re.compile(r"\.([0-9]{10})$")
_TRIES = 20
_REPLACES = "its file system replaces a file that exists, where it should refuse to create it"


class TakenOverError(OSError):
    """Another process has opened the folder to change it."""


class RemoteFiles(Files):
    """The files of a folder at an address such as `s3://bucket/folder`; `series` is the name of the file that commits.
    Raise SetupError (E0790) without the package for the address, OSError for an unknown one."""

    def __init__(self, address: str, series: str) -> None:
        super().__init__(Path(address))
        self.address = address.rstrip("/")
        self.appends = False
        self.mark = f".{secrets.token_hex(4)}"
        self._system, self._root = file_system(self.address)
        self._series = series
        self._number = 0
        """The number of the last file of the series that this process has created."""
        self._doubtful: tuple[int, bytes] | None = None
        """A file of the series that this process may have created: the answer was lost."""

    def place(self, name: str) -> str:
        """See Files."""
        return f"{self.address}/{name}" if name else self.address

    # --- what a file system has to do ----------------------------------------------------------------------------

    def establish(self) -> None:
        """See Files. Raise OSError if the file system replaces a file where it should create one."""
        self.make("")
        probe = self._at(f"probe{self.mark}")
        try:
            self._system.pipe_file(probe, b"1", mode="create")
            self._system.pipe_file(probe, b"2", mode="create")
        except FileExistsError:
            return
        except (ValueError, TypeError, NotImplementedError) as error:  # The mode is unknown, or is no argument.
            raise OSError(_REPLACES) from error
        finally:
            with suppress(FileNotFoundError):
                self._system.rm_file(probe)
        raise OSError(_REPLACES)

    def entries(self, name: str = "") -> Mapping[str, FileKind]:
        """See Files. The series is one file."""
        self._system.invalidate_cache()
        found: dict[str, FileKind] = {}
        try:
            listed = self._system.ls(self._at(name), detail=True)
        except FileNotFoundError:
            if name:
                raise
            listed = []  # where folders are what is in them
        for each in listed:
            kind: FileKind = "folder" if each["type"] == "directory" else "file"
            last = each["name"].rstrip("/").rpartition("/")[2]
            found[self._series if not name and self._is_numbered(last) else last] = kind
        return found

    def kind(self, name: str) -> FileKind | None:
        """See Files."""
        above, _, last = name.rpartition("/")
        with suppress(FileNotFoundError):
            return self.entries(above).get(last)
        return None

    def open(self, name: str) -> IO[bytes]:
        """See Files. Of the series, open the last file. Raise FileNotFoundError also where that is only claimed."""
        if name != self._series:
            file: IO[bytes] = self._system.open(self._at(name), "rb")
            return file
        _, data = self._last()
        if not data:
            raise FileNotFoundError(f"{name} is not written yet")
        return io.BytesIO(data)

    def create(self, name: str) -> Output:
        """See Files."""
        return _RemoteOutput(self._system.open(self._at(name), "wb"))

    def extend(self, name: str, length: int) -> Output:
        """Raise OSError: no such file system extends files."""
        raise OSError(f"{self.place(name)} cannot be extended")

    def sync(self, file: Output) -> None:
        """Complete the file."""
        file.close()

    def sync_file(self, name: str) -> None:
        """Do nothing: a file that is complete lasts."""

    def sync_folder(self, name: str = "") -> None:
        """Do nothing: names last as files do."""

    def make(self, name: str) -> None:
        """See Files."""
        with suppress(FileExistsError):
            self._system.makedirs(self._at(name), exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        """Give the contents of a file to the next one of the series, as `new`. Raise TakenOverError if another process
        has created that."""
        assert new == self._series
        data: bytes = self._system.cat_file(self._at(old))
        self._create(data)
        self.remove(old)

    def remove(self, name: str) -> None:
        """See Files."""
        if name == self._series:
            self._create(b"")  # The numbers go on.
        else:
            self._system.rm_file(self._at(name))

    def remove_folder(self, name: str) -> None:
        """See Files. Object stores have no empty folders."""
        with suppress(FileNotFoundError):
            self._system.rmdir(self._at(name))

    def lock(self, name: str) -> Lock | str:
        """Take the folder from other processes: create the next file of the series, with the contents of the last."""
        for _ in range(_TRIES):
            self._number, data = self._last()
            try:
                self._create(data)
            except TakenOverError:
                continue
            return _SeriesLock(self)
        raise TakenOverError("other processes open it again and again")

    def shared_lock(self, name: str) -> Lock | str:
        """Return a lock that keeps nobody away."""
        return _SeriesLock(None)

    def close(self) -> None:
        """Do nothing."""

    # --- the series ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Raise TakenOverError if another process has opened the folder since."""
        last = max(map(_number, self._names()), default=0)
        if last > max(self._number, 0 if self._doubtful is None else self._doubtful[0]):
            raise TakenOverError("another process has opened it since")

    def _create(self, data: bytes) -> None:
        """Create the next file of the series, and remove those before it."""
        if self._doubtful is not None and self._content(self._doubtful[0]) == self._doubtful[1]:
            self._number = self._doubtful[0]
        number = self._number + 1
        self._doubtful = number, data
        try:
            self._system.pipe_file(self._at(self._of(number)), data, mode="create")
        except FileExistsError:
            self._doubtful = None
            raise TakenOverError("another process has opened it since") from None
        names = self._names()
        if max(map(_number, names)) > number:  # Files that were before those are gone.
            self._doubtful = None
            self._system.rm_file(self._at(self._of(number)))
            raise TakenOverError("another process has opened it since")
        self._number, self._doubtful = number, None
        for name in names:
            if _number(name) < number:
                with suppress(OSError):
                    self._system.rm_file(self._at(name))

    def _last(self) -> tuple[int, bytes]:
        """Return the number and the contents of the last file of the series; 0 and nothing if there is no file."""
        for _ in range(_TRIES):
            names = self._names()
            if not names:
                return 0, b""
            number = max(map(_number, names))
            data = self._content(number)
            if data is not None:  # otherwise another process has written the next one meanwhile
                return number, data
        raise OSError(f"{self.place(self._series)} changes again and again")

    def _content(self, number: int) -> bytes | None:
        with suppress(FileNotFoundError):
            data: bytes = self._system.cat_file(self._at(self._of(number)))
            return data
        return None

    def _names(self) -> list[str]:
        """Return the files of the series."""
        self._system.invalidate_cache()
        try:
            found = self._system.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        return [name for name in (each.rpartition("/")[2] for each in found) if self._is_numbered(name)]

    def _is_numbered(self, name: str) -> bool:
        return name.startswith(f"{self._series}.") and _NUMBER.search(name) is not None

    def _of(self, number: int) -> str:
        return f"{self._series}.{number:010}"

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, by fsspec, and the path there. Raise SetupError (E0790) without the package
    for it, OSError for an address that it does not know."""
    try:
        system, path = import_module("fsspec").core.url_to_fs(address, use_listings_cache=False)
    except ImportError as error:
        message = f"{address} needs a package that is not installed: {error}"
        hint = how_to_install("spark")
        if find_spec("fsspec") is not None:
            hint = "install it with pip: s3fs for s3, gcsfs for gs, adlfs for abfs"
        raise SetupError(Problem("E0790", message, hint=hint)) from None
    except ValueError as error:
        raise OSError(f"fsspec does not know its file system: {error}") from error
    return system, str(path).rstrip("/")


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return 0 if found is None else int(found[1])


class _RemoteOutput(Output):
    """A file that is complete when it is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file

    def _append(self, data: memoryview) -> int:
        return self._file.write(data)

    def close(self) -> None:
        """Complete the file."""
        if not self.closed:
            super().close()
            self._file.close()


class _SeriesLock(Lock):
    """The numbers of the series, which keep others away."""

    def __init__(self, files: RemoteFiles | None) -> None:
        self._files = files

    def is_in_place(self) -> bool:
        """Return True. Raise TakenOverError if another process has opened the folder since."""
        if self._files is not None:
            self._files.look()
        return True

    def release(self) -> None:
        """Let others have the folder: do nothing, because they can take it at any time."""
