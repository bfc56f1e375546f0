"""The project's files in order, without links, build folders and what .gitignore leaves out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXCLUDED = (
    *(".git", ".paicli", "target", "node_modules", "dist", "build", "coverage", ".idea"),
    *(".gradle", "__pycache__", ".venv"),
)
"""Folders that no search enters, unless it starts inside of one."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MAX_RULES_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class _Rules:
    """One .gitignore: `spec` judges `above + path[below:]`."""

    spec: Any
    above: str
    below: int


class Ignored:
    """What .gitignore files say about paths relative to `root`.

    The ones in the project count, and those above it when it lies inside a git repository. The
    search of a folder that is itself ignored ignores nothing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._chains: dict[str, tuple[_Rules, ...]] = {}
        self._folders: dict[str, bool] = {"": False}

    def file(self, path: str) -> bool:
        """Tell whether a file, or a folder it lies in, is left out."""
        folder, _, name = path.rpartition("/")
        return self.folder(folder) or self.file_in(folder, path, name)

    def file_in(self, folder: str, path: str, name: str) -> bool:
        """Tell whether a file in a folder that is not left out is left out itself."""
        return name == ".git" or self._judge(folder, path)

    def folder(self, path: str) -> bool:
        """Tell whether a folder, or one that it lies in, is left out."""
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition("/")
            known = self.folder(above) or name in EXCLUDED or self._judge(above, f"{path}/")
            self._folders[path] = known
        return known

    def _judge(self, folder: str, asked: str) -> bool:
        for rules in reversed(self._chain(folder)):
            verdict = rules.spec.check_file(rules.above + asked[rules.below :]).include
            if verdict is not None:
                return bool(verdict)
        return False

    def _chain(self, folder: str) -> tuple[_Rules, ...]:
        chain = self._chains.get(folder)
        if chain is None:
            if folder:
                chain = self._chain(folder.rpartition("/")[0])
                below = len(folder) + 1
            else:
                chain, below = self._above(), 0
            if spec := _spec(self._root / folder / ".gitignore"):
                chain = (*chain, _Rules(spec, "", below))
            self._chains[folder] = chain
        return chain

    def _above(self) -> tuple[_Rules, ...]:
        if (self._root / ".git").exists():
            return ()
        found: list[_Rules] = []
        for folder in self._root.parents:
            if spec := _spec(folder / ".gitignore"):
                found.insert(0, _Rules(spec, self._root.relative_to(folder).as_posix() + "/", 0))
            if (folder / ".git").exists():
                return tuple(found)
        return ()


def _spec(path: Path) -> Any:
    """Return the rules of a .gitignore; None when there is none to be read."""
    try:
        descriptor = os.open(path, _FILE)
    except OSError:
        return None
    with open(descriptor, "rb") as file, suppress(OSError):
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        lines = file.read(_MAX_RULES_BYTES).decode("utf-8", "replace").splitlines()
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(_usable(lines))
    return None


def _usable(lines: list[str]) -> Iterator[str]:
    from pathspec import GitIgnoreSpec

    for line in lines:
        with suppress(ValueError):  # one rule that makes no sense does not take the others away
            GitIgnoreSpec.from_lines([line])
            yield line


def walk(directory: int, start: str, ignored: Ignored | None) -> Iterator[tuple[str, int, str]]:
    """Yield regular files below the open folder `directory`: path, its folder's descriptor, name.

    `start` is what the folder is called relative to the root; paths begin with it. Sorted by the
    bytes of their names, folder by folder. `ignored` None: nothing is left out. Links are not
    followed and not listed. The descriptor is good until the next step.
    """
    opened = [os.dup(directory)]
    try:
        levels = [_entries(opened[0])]
        prefixes = [f"{start}/" if start else ""]
        while levels:
            entry = next(levels[-1], None)
            if entry is None:
                levels.pop()
                prefixes.pop()
                os.close(opened.pop())
                continue
            name, is_folder = entry
            path = prefixes[-1] + name
            if not is_folder:
                if ignored is None or not ignored.file_in(prefixes[-1][:-1], path, name):
                    yield path, opened[-1], name
            elif ignored is None or not ignored.folder(path):
                with suppress(OSError):
                    opened.append(os.open(name, _DIRECTORY, dir_fd=opened[-1]))
                    levels.append(_entries(opened[-1]))
                    prefixes.append(f"{path}/")
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _entries(directory: int) -> Iterator[tuple[str, bool]]:
    found = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append((os.fsencode(entry.name), entry.name, True))
            elif entry.is_file(follow_symlinks=False):
                found.append((os.fsencode(entry.name), entry.name, False))
    found.sort()
    return iter([(name, is_folder) for _, name, is_folder in found])


def read_small(directory: int, name: str, limit: int) -> bytes | None:
    """Return a regular file's bytes; None when it is larger than `limit` or not to be read."""
    with suppress(OSError):
        descriptor = os.open(name, _FILE, dir_fd=directory)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_size <= limit:
                data = file.read(limit + 1)
                return data if len(data) <= limit else None
    return None
