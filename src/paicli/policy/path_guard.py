"""The fence around the project: which paths a tool may touch, and opening them without a gap.

`resolve` answers the question; `open_file` and `parent` act on the answer. They walk from the root
through directory handles and follow no link, so a path that changes between the check and its use
fails instead of leading out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paicli.errors import PaiCliError, PolicyDenied, ToolFailed

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MAX_SHOWN = 200
_MAX_BYTES = 4_000


class PathGuard:
    """Keeps every path inside one project folder, links and `..` included."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(os.path.realpath(root))

    def resolve(self, path: str | Path) -> Path:
        """Return the real path that `path` (absolute, or relative to the root) stands for.

        It need not exist. Nothing is expanded: `~` and `$HOME` are names. Raises PolicyDenied for
        what is outside the root, also by way of links, and for what cannot be a path.
        """
        text = os.fspath(path)
        if not text.strip():
            raise PolicyDenied("The path is empty. Give a path inside the project folder.")
        if "\0" in text:
            raise PolicyDenied("The path holds a NUL character. Give a path without it.")
        if len(os.fsencode(self.root)) + len(text.encode("utf-8", "replace")) > _MAX_BYTES:
            raise PolicyDenied(f"{_shown(text)} is too long for a path.")
        try:
            real = self._real(text)
        except UnicodeEncodeError:
            raise PolicyDenied(
                f"{_shown(text)} is not a valid path: it holds half a character."
            ) from None
        except RecursionError:
            raise PolicyDenied(f"{_shown(text)} goes through too many links.") from None
        except OSError as error:
            why = (
                "is a loop of links"
                if error.errno == errno.ELOOP
                else f"cannot be looked up: {error.strerror}"
            )
            raise PolicyDenied(f"{_shown(text)} {why}.") from None
        if real != self.root and self.root not in real.parents:
            raise PolicyDenied(
                f"{_shown(text)} is outside the project folder. Only paths inside {self.root} "
                "may be used; links that lead out of it count as outside."
            )
        return real

    def _real(self, text: str) -> Path:
        whole = self.root / text
        try:
            return Path(os.path.realpath(whole, strict=True))
        except (FileNotFoundError, NotADirectoryError):
            return Path(os.path.realpath(whole))

    def name(self, path: Path) -> str:
        """Return a resolved path as the model and the person see it: relative to the root."""
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def directory(self, path: Path) -> Iterator[int]:
        """Open a resolved directory and yield its descriptor."""
        descriptor = self._walk(path, made=None)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def parent(self, path: Path, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the directory that holds a resolved path; yield its descriptor and the last name.

        `create`: missing directories are made, and taken away again when the body fails.
        """
        if path == self.root:
            raise ToolFailed("The project folder itself is not a file.")
        made: list[Path] | None = [] if create else None
        done = False
        try:
            descriptor = self._walk(path.parent, made)
            try:
                yield descriptor, path.name
                done = True
            finally:
                os.close(descriptor)
        finally:
            for directory in [] if done else reversed(made or []):
                self._remove_empty(directory)

    def open_file(self, path: Path, flags: int = os.O_RDONLY) -> int:
        """Open a resolved path, which must be a regular file, and return its descriptor.

        Never blocks on a FIFO or a device, follows no link. Raises ToolFailed, FileNotFoundError
        when there is none, or another OSError.
        """
        with self.parent(path) as (directory, name):
            self._require_regular(os.stat(name, dir_fd=directory, follow_symlinks=False), path)
            descriptor = os.open(name, flags | _FILE, dir_fd=directory)
        try:
            self._require_regular(os.fstat(descriptor), path)
        except PaiCliError:
            os.close(descriptor)
            raise
        return descriptor

    def _require_regular(self, found: os.stat_result, path: Path) -> None:
        if stat.S_ISREG(found.st_mode):
            return
        if stat.S_ISLNK(found.st_mode):
            raise PolicyDenied(
                f"{_shown(self.name(path))} became a link while it was being opened."
            )
        kind = next(
            word
            for test, word in (
                (stat.S_ISDIR, "a directory"),
                (stat.S_ISFIFO, "a named pipe"),
                (stat.S_ISSOCK, "a socket"),
                (lambda _mode: True, "a device"),
            )
            if test(found.st_mode)
        )
        hint = " list_dir shows what is in it." if stat.S_ISDIR(found.st_mode) else ""
        raise ToolFailed(f"{_shown(self.name(path))} is {kind}, not a regular file.{hint}")

    def _walk(self, directory: Path, made: list[Path] | None) -> int:
        """Open `directory` component by component. `made` collects what had to be created."""
        try:
            descriptor = os.open(self.root, _DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            raise ToolFailed(f"The project folder {self.root} does not exist any more.") from None
        here = self.root
        for part in directory.relative_to(self.root).parts:
            here /= part
            try:
                deeper = self._step(descriptor, part, here, made)
            finally:
                os.close(descriptor)
            descriptor = deeper
        return descriptor

    def _step(self, parent: int, name: str, here: Path, made: list[Path] | None) -> int:
        try:
            return os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            if made is None:
                raise
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise PolicyDenied(
                    f"{_shown(self.name(here))} became a link while it was being opened."
                ) from None
            raise ToolFailed(f"{_shown(self.name(here))} is not a directory.") from None
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            made.append(here)
        return os.open(name, _DIRECTORY, dir_fd=parent)

    def _remove_empty(self, directory: Path) -> None:
        with suppress(OSError, PolicyDenied, ToolFailed), self.parent(directory) as (parent, name):
            os.rmdir(name, dir_fd=parent)


def _shown(text: str) -> str:
    """Return a path for a message: printable, on one line, not endless."""
    safe = text if text.isprintable() else ascii(text)[1:-1]
    return safe if len(safe) <= _MAX_SHOWN else safe[:_MAX_SHOWN] + "…"
