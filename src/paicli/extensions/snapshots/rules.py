"""Which paths are left out: always some, the person's own, and what .gitignore says."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ALWAYS_OUT = (
    ".git", ".hg", ".svn", ".jj", "node_modules/", ".venv/", "venv/", "__pycache__/", ".tox/", ".nox/",
    ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".gradle/", ".idea/", "target/", "dist/",
    "*.class", "*.jar", "*.pyc", ".paicli/tool-outputs/", ".paicli-command-sandbox/",
)  # fmt: skip
LARGEST_FILE = 32 * 1024 * 1024
MOST_PATHS = 200_000
_LARGEST_IGNORE_FILE = 1_000_000

ReadIgnoreFile = Callable[[str], bytes | None]
"""Gives the bytes of a folder's .gitignore; the folder is relative to the root, empty for the root."""


class Rules:
    """Decides about paths that were not seen before; what was once kept stays kept."""

    def __init__(self, root: Path, excludes: Sequence[str], inside: str = "") -> None:
        """`inside` is PaiCLI's own folder, relative to `root`, when it lies in there."""
        self._root = root
        self.excludes = tuple(excludes)
        own = [f"/{inside}/"] if inside else []
        self._always = _spec([*ALWAYS_OUT, *own, *self.excludes])
        self._names = frozenset(p.rstrip("/") for p in ALWAYS_OUT if "*" not in p)
        self._private = _spec(_lines(_bytes_of(root / ".git" / "info" / "exclude")))

    def current(self) -> Ignored:
        """Return the rules with the .gitignore files as they are on disk now."""
        return self.as_of(lambda folder: _bytes_of(self._root / folder / ".gitignore"))

    def as_of(self, read: ReadIgnoreFile) -> Ignored:
        """Return the rules with the .gitignore files that `read` gives."""
        return Ignored(self._names, self._always, self._private, read)


class Ignored:
    """The rules of one moment."""

    def __init__(
        self, names: frozenset[str], always: Any, private: Any, read: ReadIgnoreFile
    ) -> None:
        self._names = names
        self._always = always
        self._private = private
        self._read = read
        self._specs: dict[str, Any] = {}

    def __call__(self, path: str, *, folder: bool) -> bool:
        """Tell whether `path`, relative to the root, is left out."""
        if folder and path.rpartition("/")[2] in self._names:
            return True  # the usual case, without asking every pattern
        shape = path + "/" if folder else path
        if self._always.match_file(shape):
            return True
        place = path
        while place:
            place = place.rpartition("/")[0]
            spec = self._spec_of(place)
            if spec is not None:
                verdict = spec.check_file(shape[len(place) + 1 :] if place else shape).include
                if verdict is not None:
                    return bool(verdict)
        return bool(self._private.match_file(shape))

    def _spec_of(self, folder: str) -> Any:
        if folder not in self._specs:
            data = self._read(folder)
            self._specs[folder] = _spec(_lines(data)) if data else None
        return self._specs[folder]


def _spec(lines: Sequence[str]) -> Any:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # one line that is no pattern must not cost the others
        return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8-sig", "surrogateescape").splitlines()


def _bytes_of(path: Path) -> bytes | None:
    """Return a small regular file's bytes; None when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            return file.read(_LARGEST_IGNORE_FILE)
    except (OSError, ValueError):
        return None
