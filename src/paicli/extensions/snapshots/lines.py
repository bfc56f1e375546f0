"""Changes in lines: how many, and which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from paicli.agent.file_changes import FileChange
from paicli.display import Diff
from paicli.extensions.snapshots.entries import FILE, FOLDER, LINK, Change, Entry
from paicli.text import clean

_COMPARED_IN_ORDER = 3_000
"""Lines that differ; beyond, comparing them one by one would take seconds."""
_BINARY_LOOK = 8_000

Content = Callable[[bytes], bytes]
"""Gives the content that a digest stands for."""


def net(changes: Iterable[Change]) -> list[Change]:
    """Return one change per path, from its first state to its last, sorted by path."""
    first: dict[str, Change] = {}
    for change in changes:
        start = first.get(change.path, change)
        first[change.path] = Change(change.path, start.before, change.after)
    return sorted(first.values())


def counted(change: Change, content: Content) -> FileChange:
    """Return a change with its lines counted."""
    action = "changed"
    if change.before is None:
        action = "created"
    elif change.after is None:
        action = "deleted"
    standing = change.after or change.before
    if standing is not None and standing.kind == FOLDER:
        return FileChange(clean(change.path) + "/", action)
    old, new = _text(change.before, content), _text(change.after, content)
    if old is None or new is None or _content(change.before) == _content(change.after):
        return FileChange(clean(change.path), action)
    added, removed = _count(old.splitlines(), new.splitlines())
    return FileChange(clean(change.path), action, added, removed)


def diff(change: Change, content: Content) -> Diff:
    """Return a change as a unified diff."""
    from difflib import unified_diff

    path = clean(change.path)
    old, new = _text(change.before, content), _text(change.after, content)
    if old is None or new is None:
        return Diff(path, f"Binary file {path} differs\n", 0, 0)
    before, after = old.splitlines(), new.splitlines()
    counts = _count(before, after)
    head = _heading(change)
    if sum(counts) > _COMPARED_IN_ORDER:
        return Diff(path, f"{head}(too many lines to show)\n", *counts)
    start, end = _common(before, after)
    start, end = max(0, start - 3), max(0, end - 3)
    body = unified_diff(
        before[start : len(before) - end], after[start : len(after) - end], lineterm=""
    )
    text = "\n".join(_moved(line, start) for line in list(body)[2:])
    return Diff(path, head + (text + "\n" if text else ""), *counts)


def _heading(change: Change) -> str:
    path = clean(change.path)
    old = "/dev/null" if change.before is None else f"a/{path}"
    new = "/dev/null" if change.after is None else f"b/{path}"
    head = f"--- {old}\n+++ {new}\n"
    if change.before and change.after and change.before.mode != change.after.mode:
        head = f"old mode {change.before.mode:o}\nnew mode {change.after.mode:o}\n{head}"
    return head


def _moved(line: str, by: int) -> str:
    """Return a line of a diff of parts with the line numbers of the whole."""
    if not by or not line.startswith("@@ "):
        return line
    ranges = []
    for word in line.split()[1:3]:
        place, comma, length = word[1:].partition(",")
        ranges.append(f"{word[0]}{int(place) + by}{comma}{length}")
    return f"@@ {' '.join(ranges)} @@"


def _content(entry: Entry | None) -> bytes | None:
    return entry.content if entry else None


def _text(entry: Entry | None, content: Content) -> str | None:
    """Return what a diff shows of an entry; None for what is no text or was not kept."""
    if entry is None or entry.kind == FOLDER:
        return ""
    if entry.content is None:
        return None
    if entry.kind == LINK:
        return clean(entry.content.decode("utf-8", "replace"))
    if entry.kind != FILE:
        return None
    data = content(entry.content)
    if b"\0" in data[:_BINARY_LOOK]:
        return None
    return data.decode("utf-8", "replace")


def _common(before: list[str], after: list[str]) -> tuple[int, int]:
    """Return how many lines are equal at the start and, of the rest, at the end."""
    most = min(len(before), len(after))
    start = 0
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end


def _count(before: list[str], after: list[str]) -> tuple[int, int]:
    from difflib import SequenceMatcher

    start, end = _common(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old or not new:
        return len(new), len(old)
    if len(old) + len(new) > _COMPARED_IN_ORDER:
        here, there = Counter(old), Counter(new)
        return (there - here).total(), (here - there).total()
    kept = sum(
        block.size
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    )
    return len(new) - kept, len(old) - kept
