"""What stands at a path, and what changed there, as values."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import NamedTuple

FILE, LINK, FOLDER, OTHER = "f", "l", "d", "o"
UNSETTLED = -1
"""As `ctime_ns`: the file was looked at so soon after its last change that another may have followed
within the same tick of the clock; it is read again next time."""

CLOSED, OPEN, CHANGING = range(3)
"""The states of an operation: over, a turn that goes on, and one in which a tool runs now."""


class Entry(NamedTuple):
    """What stands at a path.

    `content` is a file's digest or a link's target; a file without one was left out because it is
    too large or could not be read. Sizes, times and inode only tell whether to look again.
    """

    kind: str
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    content: bytes | None = None

    @property
    def is_kept(self) -> bool:
        """Tell whether this can be made again from the store."""
        return self.kind in (FOLDER, LINK) or (self.kind == FILE and self.content is not None)


NOTHING = (None,) * len(Entry._fields)


class Change(NamedTuple):
    """One path before and after; None means that nothing stood there."""

    path: str
    before: Entry | None
    after: Entry | None


def same(one: Entry | None, other: Entry | None) -> bool:
    """Tell whether two entries are equal in everything that restoring brings back."""
    if one is None or other is None:
        return one is other
    if one.kind != other.kind or one.mode != other.mode:
        return False
    if one.kind == FILE and (one.content is None or other.content is None):
        return one[2:4] == other[2:4] and one.inode == other.inode
    return one.content == other.content


def kind_of(mode: int) -> str:
    """Return the kind that a stat mode means."""
    if stat.S_ISREG(mode):
        return FILE
    if stat.S_ISLNK(mode):
        return LINK
    return FOLDER if stat.S_ISDIR(mode) else OTHER


def entry(status: os.stat_result, content: bytes | None = None) -> Entry:
    """Return the entry of a file, a link or something else that has this status."""
    kind = kind_of(status.st_mode)
    if kind == FOLDER:
        return Entry(FOLDER, stat.S_IMODE(status.st_mode))
    if kind == LINK:
        return Entry(LINK, content=content)
    if kind == OTHER:
        return Entry(OTHER)
    return Entry(
        FILE,
        stat.S_IMODE(status.st_mode),
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        content,
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that was done to the files.

    `kind` is `turn`, `undo`, `redo` or `restore`; `of` the operation an undo or a redo is about.
    `session` and `place` say in which conversation it was, and where a turn was in it. `state`: see `CLOSED` and its kin.
    """

    id: int
    kind: str
    time: float
    text: str
    session: str = ""
    place: int = 0
    of: int | None = None
    state: int = CLOSED
