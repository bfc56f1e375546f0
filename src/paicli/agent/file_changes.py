"""What was done to the project's files, and the promise that it can be taken back, as values.

The extension that keeps snapshots implements `TakesBack`; the terminal and the headless run use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from paicli.display import Diff
from paicli.values import value


@value
class FileChange:
    """A path that changed, relative to the project; `action` is `created`, `changed` or `deleted`.

    A folder's path ends with a slash. `added` and `removed` count lines; both are 0 for a binary file.
    """

    path: str
    action: str
    added: int = 0
    removed: int = 0


@value
class PastChange:
    """An entry of the history of the files; `number` counts back from 1, the newest.

    `kind` is `turn`, `undo`, `redo` or `restore`; `text` begins what the person asked for.
    """

    number: int
    kind: str
    time: float
    text: str
    files: int


@value
class SnapshotStatus:
    """How snapshots are kept: `off` says why there are none, empty when there are."""

    off: str
    folder: str
    paths: int
    entries: int
    bytes: int
    max_bytes: int
    max_days: int
    largest_file: int
    left_out: tuple[str, ...]
    excludes: tuple[str, ...]


class Preview(Protocol):
    """What taking something back would do."""

    @property
    def about(self) -> str:
        """Whose changes it is about: the beginning of what the person asked for."""

    @property
    def files(self) -> Sequence[FileChange]:
        """What will happen to the files."""

    @property
    def conflicts(self) -> Sequence[str]:
        """Paths that the person changed since; they are left alone unless it is done by force."""

    @property
    def not_kept(self) -> Sequence[str]:
        """Paths whose earlier state was never kept, because they are too large."""


@value
class Restored:
    """What was done; `for_model` tells the model."""

    files: tuple[FileChange, ...]
    left: tuple[str, ...]
    for_model: str


class TakesBack(Protocol):
    """Takes back what was done to the files. Slow: call it in a thread. Raises PaiCliError."""

    def plan(self, kind: str, count: int = 1, *, force: bool = False) -> Preview:
        """Tell what an `undo`, a `redo` or a `restore` to before the `count`-th newest entry would do.

        `force`: also to files that the person changed since. Raises PaiCliError when there is nothing.
        """

    def since(self, session: str, place: int) -> int:
        """Count the newest entries that a session's messages behind the `place`-th brought about."""

    def carry_out(self, preview: Preview) -> Restored:
        """Do it, or nothing at all."""

    def history(self) -> Sequence[PastChange]:
        """Return what was done to the files, newest first."""

    def diffs(self, number: int | None = None) -> Sequence[Diff]:
        """Return what an entry of the history did, or without a number all of this session."""

    def status(self) -> SnapshotStatus:
        """Tell how snapshots are kept."""
