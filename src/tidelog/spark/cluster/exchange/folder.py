"""The state directory: named files that are written once, and a manifest that is replaced at once.

A folder is a local path or anything that pyarrow's file systems understand (`hdfs://…`, `s3://…`, and what fsspec knows
under its own names).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tidelog.durable.files import Summed
from tidelog.durable.local import LocalFiles, Owner
from tidelog.errors import Problem, SetupError, UsageError, how_to_install

LOCK = "lock"


@dataclass(frozen=True)
class Folder:
    """A folder by its path or address; cheap to send to a task."""

    address: str

    @property
    def local(self) -> Path | None:
        """Return the folder as a local path, if it is one."""
        if self.address.startswith("file:"):
            return Path(self.address.removeprefix("file:").replace("//", "", 1))
        return Path(self.address) if "://" not in self.address else None

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

        try:
            system, path = FileSystem.from_uri(self.address)
        except ValueError:
            try:
                handler, path = import_module("fsspec").core.url_to_fs(self.address)
            except ImportError:
                message = f"{self.address} needs fsspec, which is not installed"
                raise SetupError(Problem("E0790", message, hint=how_to_install("spark"))) from None
            except ValueError as error:
                raise self.unusable(OSError(f"fsspec does not know its file system: {error}")) from error
            system = PyFileSystem(FSSpecHandler(handler))
        return system, path

    def inside(self, name: str) -> Folder:
        """Return a folder in this one; an address may have options behind its path."""
        path, mark, options = self.address.partition("?" if self.local is None else "\0")
        return Folder(f"{path.rstrip('/')}/{name}{mark}{options}")

    def unusable(self, error: OSError) -> UsageError:
        """Return the error for a file that cannot be read or written."""
        hint = "nothing has changed; free disk space, or give a folder that driver and executors can reach and write"
        reason = error.strerror or str(error).split("\n", 1)[0]
        return UsageError(Problem("E0681", f"cannot use the state folder: {reason}", place=self.address, hint=hint))

    def lock(self) -> Owner:
        """Lock the folder, if it is local. Raise UsageError (E0680) if somebody else has it."""
        found = None if self.local is None else LocalFiles(self.local).lock(LOCK)
        if isinstance(found, str):
            hint = "close the other database, or use another folder"
            message = f"another database uses the state folder, in process {found}"
            raise UsageError(Problem("E0680", message, place=self.address, hint=hint))
        return Owner(found, self.address)

    def create(self) -> None:
        """Make the folder if it is missing."""
        if self.local is not None:
            self.local.mkdir(parents=True, exist_ok=True)
        else:
            system, path = self._remote
            system.create_dir(path, recursive=True)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, as a whole or not at all; replace one of that name."""
        self.write_by(name, lambda file: file.write(data))

    def write_by(self, name: str, write: Callable[[IO[bytes]], object]) -> str:
        """Write a file by a function, as a whole or not at all; replace one of that name. Return its checksum."""
        temporary = f"{name}.{os.getpid()}.part"
        if self.local is not None:
            try:
                checksum = LocalFiles(self.local).write(temporary, write)
                os.replace(self.local / temporary, self.local / name)
            except OSError:  # The next epoch would remove it, but a full disk may let none happen before.
                self.remove([temporary])
                raise
            return checksum
        system, path = self._remote
        with system.open_output_stream(f"{path}/{temporary}") as stream:
            summed = Summed(stream)
            write(summed)  # type: ignore[arg-type]  # as in Files.write
        system.move(f"{path}/{temporary}", f"{path}/{name}")
        return summed.checksum

    def open(self, name: str) -> IO[bytes]:
        """Open a file. Raise FileNotFoundError."""
        if self.local is not None:
            return open(self.local / name, "rb")
        system, path = self._remote
        remote: IO[bytes] = system.open_input_file(f"{path}/{name}")
        return remote

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a file, or a part of it. Raise FileNotFoundError."""
        with self.open(name) as file:
            file.seek(offset)
            return file.read() if length is None else file.read(length)

    def names(self) -> list[str]:
        """Return the names of the files."""
        if self.local is not None:
            return sorted(entry.name for entry in self.local.iterdir()) if self.local.is_dir() else []
        from pyarrow.fs import FileSelector

        system, path = self._remote
        return sorted(info.base_name for info in system.get_file_info(FileSelector(path, allow_not_found=True)))

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; ignore missing ones."""
        for name in names:
            if self.local is not None:
                (self.local / name).unlink(missing_ok=True)
            else:
                system, path = self._remote
                try:
                    system.delete_file(f"{path}/{name}")
                except FileNotFoundError:
                    continue

    def destroy(self) -> None:
        """Remove the folder with everything in it."""
        if self.local is not None:
            shutil.rmtree(self.local, ignore_errors=True)
        else:
            system, path = self._remote
            system.delete_dir(path)
