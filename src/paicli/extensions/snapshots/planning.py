"""What must change so that something is taken back, and what must not be touched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paicli.agent.file_changes import FileChange
from paicli.extensions.snapshots.entries import CLOSED, Change, Entry, Operation, same


@dataclass(frozen=True, slots=True)
class Plan:
    """A way back: `changes` lead from the present state to the one that is wanted.

    `kind`, `count` and `force` are what was asked for, so that it can be asked again; `of` is the
    operation that an undo or a redo is about.
    """

    kind: str
    count: int
    force: bool
    of: int | None
    about: str
    changes: tuple[Change, ...]
    files: tuple[FileChange, ...]
    conflicts: tuple[str, ...]
    not_kept: tuple[str, ...]

    def equals(self, other: Plan) -> bool:
        """Tell whether two plans do the same."""
        return len(self.changes) == len(other.changes) and all(
            one.path == two.path and same(one.before, two.before) and same(one.after, two.after)
            for one, two in zip(self.changes, other.changes, strict=True)
        )


@dataclass(slots=True)
class Stacks:
    """Which operations are in effect, and which were taken back; the newest is last in both."""

    done: list[Operation]
    undone: list[Operation]


def stacks(operations: Sequence[Operation]) -> Stacks:
    """Return what /undo and /redo would be about, last."""
    by_id = {operation.id: operation for operation in operations}
    found = Stacks([], [])
    for operation in operations:
        about = by_id.get(operation.of or 0)
        if operation.kind == "undo":
            found.done = [one for one in found.done if one.id != operation.of]
            found.undone.append(operation)
        elif operation.kind == "redo":
            found.undone = [one for one in found.undone if one.id != operation.of]
            first = by_id.get(about.of or 0) if about else None
            if first is not None:
                found.done.append(first)
        elif operation.state == CLOSED:
            found.done.append(operation)
            found.undone.clear()
    return found


@dataclass(slots=True)
class Way:
    """What `way_back` found."""

    changes: list[Change]
    conflicts: list[str]
    not_kept: list[str]


def way_back(changes: Sequence[Change], present: Mapping[str, Entry], *, force: bool) -> Way:
    """Return how to get from `present` to before `changes` (oldest first).

    A path is followed back as long as what stands there is what the change left; where it is not,
    somebody else changed it since, and it is a conflict: followed no further unless by `force`.
    """
    by_path: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_path[change.path].append(change)
    way = Way([], [], [])
    for path in sorted(by_path):
        now = at = present.get(path)
        for change in reversed(by_path[path]):
            if same(at, change.before):
                continue
            if not same(at, change.after) and not force:
                way.conflicts.append(path)
                break
            at = change.before
        if same(now, at):
            continue
        if (now is not None and not now.is_kept) or (at is not None and not at.is_kept):
            way.not_kept.append(path)
        else:
            way.changes.append(Change(path, now, at))
    return _without_blocked(way)


def _without_blocked(way: Way) -> Way:
    """Leave alone what stands below a path that is left alone and is no folder then."""
    blocked = tuple(f"{path}/" for path in (*way.conflicts, *way.not_kept))
    if blocked:
        kept = [change for change in way.changes if not change.path.startswith(blocked)]
        way.conflicts += [c.path for c in way.changes if c.path.startswith(blocked)]
        way.changes = kept
    return way
