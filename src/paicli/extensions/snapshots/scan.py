"""Look at the project's files: what changed since the last look, read only where it must be."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paicli.errors import PaiCliError
from paicli.extensions.snapshots.entries import (
    FILE,
    FOLDER,
    UNSETTLED,
    Change,
    Entry,
    entry,
    same,
)
from paicli.extensions.snapshots.rules import LARGEST_FILE, MOST_PATHS, Ignored
from paicli.i18n import t

_A_TICK_NS = 2_000_000_000
"""The coarsest clock of a file system in use (FAT)."""
_ATTEMPTS = 3

Keep = Callable[[bytes, bytes], None]
"""Takes a digest and the content it stands for."""


@dataclass(slots=True)
class Look:
    """What a look at the tree found.

    `changes` compares with what was known; `refreshed` are entries whose times alone differ.
    """

    changes: list[Change] = field(default_factory=list)
    refreshed: dict[str, Entry] = field(default_factory=dict)
    to_read: int = 0


@dataclass(slots=True)
class _Walk:
    suspects: list[tuple[str, os.stat_result]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    closed: list[str] = field(default_factory=list)
    """Folders that could not be read: what was known in there stays."""


def look(
    root: Path,
    known: Mapping[str, Entry],
    ignored: Ignored,
    keep: Keep,
    before_reading: Callable[[int, int], None],
) -> Look:
    """Compare the tree under `root` with `known`.

    Every new content goes to `keep`; `before_reading(files, bytes)` hears first how much there is to
    read, and may raise. Raises PaiCliError when there are too many paths.
    """
    walk = _walk(root, known, ignored)
    found = Look()
    to_read = [
        status.st_size
        for _, status in walk.suspects
        if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_FILE
    ]
    found.to_read = len(to_read)
    before_reading(len(to_read), sum(to_read))
    for path, status in walk.suspects:
        old = known.get(path)
        new = _read(root, path, status, old, keep)
        if new is None:
            walk.seen.discard(path)
        elif not same(old, new):
            found.changes.append(Change(path, old, new))
        elif new != old:
            found.refreshed[path] = new
    closed = tuple(f"{folder}/" for folder in walk.closed)
    for path in known.keys() - walk.seen:
        if not path.startswith(closed):
            found.changes.append(Change(path, known[path], None))
    found.changes.sort()
    return found


def _walk(root: Path, known: Mapping[str, Entry], ignored: Ignored) -> _Walk:
    walk = _Walk()
    seen, suspects = walk.seen, walk.suspects
    folders = [""]
    while folders:
        folder = folders.pop()
        prefix = folder + "/" if folder else ""
        try:
            entries = list(os.scandir(root / folder if folder else root))
        except OSError:
            if not folder:
                raise
            walk.closed.append(folder)
            continue
        for found in entries:
            path = prefix + found.name
            old = known.get(path)
            try:
                is_folder = found.is_dir(follow_symlinks=False)
                if old is None and ignored(path, folder=is_folder):
                    continue
                status = found.stat(follow_symlinks=False)
            except OSError:
                continue
            seen.add(path)
            if is_folder:
                folders.append(path)
            if not _looks_unchanged(old, status, is_folder=is_folder):
                suspects.append((path, status))
        if len(seen) > MOST_PATHS:
            raise PaiCliError(t("undo.too_many", count=MOST_PATHS))
    return walk


def _looks_unchanged(old: Entry | None, status: os.stat_result, *, is_folder: bool) -> bool:
    if old is None:
        return False
    if is_folder:
        return old.kind == FOLDER and old.mode == status.st_mode & 0o7777
    return (
        old.inode == status.st_ino
        and old.size == status.st_size
        and old.mtime_ns == status.st_mtime_ns
        and old.ctime_ns == status.st_ctime_ns
    )


def examine(root: Path, path: str, keep: Keep) -> Entry | None:
    """Return what stands at `path` now; None for nothing. No symbolic link is followed on the way."""
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        try:
            if not stat.S_ISDIR(place.lstat().st_mode):
                return None
        except OSError:
            return None
    try:
        status = (root / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _read(root, path, status, None, keep)


def _read(
    root: Path, path: str, status: os.stat_result, old: Entry | None, keep: Keep
) -> Entry | None:
    """Return the entry of what has `status`; None when it went away meanwhile."""
    try:
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(root / path)  # noqa: PTH115  Path tidies targets up
            return entry(status, os.fsencode(target))
        if not stat.S_ISREG(status.st_mode):
            return entry(status)
        if status.st_size > LARGEST_FILE:
            return entry(status)
        return _read_file(root / path, status, keep)
    except FileNotFoundError:
        return None
    except OSError:
        unchanged = old is not None and old.kind == FILE and _times(old) == _times(entry(status))
        return entry(status, old.content if old is not None and unchanged else None)


def _times(one: Entry) -> tuple[int, ...]:
    return (one.size, one.mtime_ns, one.inode)


def _read_file(path: Path, status: os.stat_result, keep: Keep) -> Entry:
    """Read a file that may be written meanwhile: what is kept is what stood there at one moment, or it
    counts as unsettled."""
    for _ in range(_ATTEMPTS):
        moment = time.time_ns()
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", 0) as file:
            first = os.fstat(file.fileno())
            if not stat.S_ISREG(first.st_mode) or first.st_size > LARGEST_FILE:
                return entry(first)
            data = file.read(first.st_size + 1)
            status = os.fstat(file.fileno())
        if (first.st_size, first.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
            break
    digest = hashlib.sha256(data).digest()
    keep(digest, data)
    new = entry(status, digest)
    if len(data) != status.st_size or new.ctime_ns >= moment - _A_TICK_NS:
        return new._replace(ctime_ns=UNSETTLED, size=len(data))
    return new
