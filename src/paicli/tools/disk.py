"""The project's files: read whole, replaced in one step, and what the model has seen of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Event, Lock

from paicli.errors import PaiCliError, ToolFailed
from paicli.policy.path_guard import PathGuard

MAX_READ_BYTES = 50_000_000
_CHUNK = 1 << 20


class Stopped(PaiCliError):
    """The person cancelled while the work was going on; nothing was changed."""


@dataclass(frozen=True, slots=True)
class FileImage:
    """A file's bytes at one moment, and which file that was."""

    path: Path
    data: bytes
    version: tuple[int, ...]

    @property
    def digest(self) -> bytes:
        """Return what tells this content from another."""
        return blake2b(self.data, digest_size=16).digest()


class Disk:
    """Reads and replaces files inside the fence; one per session, because it remembers.

    Paths given to it are resolved ones. Everything here may run in any thread.
    """

    def __init__(self, guard: PathGuard) -> None:
        self.guard = guard
        self._seen: dict[Path, bytes] = {}
        self._locks: dict[Path, Lock] = {}
        self._gate = Lock()

    @contextmanager
    def exclusively(self, path: Path) -> Iterator[None]:
        """Let one writer at a time work on a path."""
        with self._gate:
            lock = self._locks.setdefault(path, Lock())
        with lock:
            yield

    def load(self, path: Path) -> FileImage:
        """Return the bytes of a regular file. Raises ToolFailed with what the model should know."""
        name = self.guard.name(path)
        try:
            descriptor = self.guard.open_file(path)
            with open(descriptor, "rb") as file:
                size = os.fstat(descriptor).st_size
                if size > MAX_READ_BYTES:
                    raise ToolFailed(
                        f"{name} has {size:,} bytes, too many to be read with this tool. Use "
                        "grep_code, or execute_command with head, tail or sed."
                    )
                return FileImage(
                    path, file.read(MAX_READ_BYTES + 1), _version(os.fstat(descriptor))
                )
        except FileNotFoundError:
            raise ToolFailed(f"{name} does not exist.{self._similar(path)}", "missing") from None
        except OSError as error:
            raise ToolFailed(f"{name} cannot be read: {_reason(error)}.") from None

    def load_if_there(self, path: Path) -> FileImage | None:
        """Return the file, or None when nothing has that name yet."""
        with suppress(FileNotFoundError):
            with self.guard.parent(path) as (directory, name):
                os.stat(name, dir_fd=directory, follow_symlinks=False)
            return self.load(path)
        return None

    # ---- what the model knows ------------------------------------------------------------------

    def saw(self, image: FileImage) -> None:
        """Remember that the model knows this content."""
        self._seen[image.path] = image.digest

    def changed_since_seen(self, image: FileImage) -> bool:
        """Tell whether the model knows another content of this file; told once per change."""
        known = self._seen.get(image.path)
        if known is None or known == image.digest:
            return False
        self.saw(image)
        return True

    # ---- replacing -----------------------------------------------------------------------------

    def replace(self, path: Path, data: bytes, was: FileImage | None, stop: Event) -> None:
        """Make `data` the content of `path` in one step; `was` is what the change is based on.

        Mode, owner and extended attributes stay, links stay, missing directories are made. Whatever
        goes wrong, the old file is still there and nothing else is.
        """
        name = self.guard.name(path)
        try:
            with self.guard.parent(path, create=was is None) as (directory, last):
                old = self._open_old(directory, last, path, was)
                try:
                    _write_beside(directory, last, data, old, stop)
                finally:
                    if old is not None:
                        os.close(old)
        except OSError as error:
            raise ToolFailed(
                f"{name} cannot be written: {_reason(error)}. Nothing was changed."
            ) from None
        self._seen[path] = blake2b(data, digest_size=16).digest()

    def _open_old(self, directory: int, last: str, path: Path, was: FileImage | None) -> int | None:
        """Open the file to be replaced for writing: proof that it may be, and still is the same."""
        try:
            os.stat(last, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            if was is None:
                return None
            raise ToolFailed(f"{self.guard.name(path)} was removed meanwhile.", "changed") from None
        descriptor = self.guard.open_file(path, os.O_WRONLY)
        if was is None or _version(os.fstat(descriptor)) != was.version:
            os.close(descriptor)
            raise ToolFailed(
                f"{self.guard.name(path)} was changed by somebody else at this very moment. "
                "Nothing was written. Read it again.",
                "changed",
            )
        return descriptor

    def _similar(self, path: Path) -> str:
        """Name the files in the same directory that the model may have meant."""
        with suppress(OSError, PaiCliError), self.guard.directory(path.parent) as directory:
            with os.scandir(directory) as entries:
                names = sorted(entry.name for entry in entries)[:2000]
            from difflib import get_close_matches

            close = get_close_matches(path.name, names, n=3)
            shown = [self.guard.name(path.parent / name) for name in close if name.isprintable()]
            if shown:
                return f" Did you mean {', '.join(shown)}?"
        return " Use list_dir or glob_files to see what there is."


def _version(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _write_beside(directory: int, last: str, data: bytes, old: int | None, stop: Event) -> None:
    """Write a temporary file in the same directory and rename it over `last`."""
    temporary = f".paicli-{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if old is None else 0o600, dir_fd=directory)
    renamed = False
    try:
        with open(descriptor, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                if stop.is_set():
                    raise Stopped("Cancelled. Nothing was changed.")
                view = view[file.write(view[:_CHUNK]) :]
            if old is not None:
                _copy_attributes(old, descriptor)
            os.fsync(descriptor)
        if stop.is_set():
            raise Stopped("Cancelled. Nothing was changed.")
        os.rename(temporary, last, src_dir_fd=directory, dst_dir_fd=directory)
        renamed = True
    finally:
        if not renamed:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
    _sync_directory(directory)


def _sync_directory(directory: int) -> None:
    with suppress(OSError):  # some file systems cannot; the content itself is safe already
        os.fsync(directory)


def _copy_attributes(old: int, new: int) -> None:
    """Give the new file the old one's owner, mode and extended attributes, as far as allowed."""
    found = os.fstat(old)
    mode = stat.S_IMODE(found.st_mode)
    mine = os.fstat(new)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.fchown(new, found.st_uid, found.st_gid)
        except OSError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # they would now speak for somebody else
            with suppress(OSError):
                os.fchown(new, -1, found.st_gid)
    if hasattr(os, "listxattr"):  # Linux
        with suppress(OSError):
            for attribute in os.listxattr(old):
                with suppress(OSError):
                    os.setxattr(new, attribute, os.getxattr(old, attribute))
    os.fchmod(new, mode)
