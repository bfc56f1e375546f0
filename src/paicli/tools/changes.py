"""The difference between two texts as a unified diff, at a bounded cost however large they are."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from paicli.display import Diff
from paicli.text import clean

_Block = tuple[int, int, int, int]
"""Lines `a[i1:i2]` that became `b[j1:j2]`."""

_CONTEXT = 3
_MAX_COMPARISONS = 1_000_000
_MAX_DIFF_LINES = 2_000
_MAX_LINE_CHARS = 1_000


def diff(name: str, before: str | None, after: str) -> Diff:
    """Return what changes from `before` (None: there was no such file) to `after`.

    The counts are those of the whole change; its text is cut when it is very long.
    """
    start, old_end, new_end = _changed_part(before or "", after)
    above = after.count("\n", 0, start)
    old, new = _lines((before or "")[start:old_end]), _lines(after[start:new_end])
    blocks = list(_blocks(old, new))
    added = sum(j2 - j1 for _, _, j1, j2 in blocks)
    removed = sum(i2 - i1 for i1, i2, _, _ in blocks)
    head = ["--- /dev/null" if before is None else f"--- a/{name}", f"+++ b/{name}"]
    text: list[str] = []
    for line in _unified(old, new, blocks, above):
        if len(text) == _MAX_DIFF_LINES:
            text.append("… the rest of the change is not shown")
            break
        text.append(line)
    body = "\n".join(head + text) + "\n" if text else ""
    return Diff(name, clean(body), added, removed)


def _changed_part(before: str, after: str) -> tuple[int, int, int]:
    """Return where the change starts in both texts and ends in each: whole lines, with context."""
    limit = min(len(before), len(after))
    same = _common(limit, lambda size: before[:size] == after[:size])
    start = before.rfind("\n", 0, same) + 1
    for _ in range(_CONTEXT):
        start = before.rfind("\n", 0, max(0, start - 1)) + 1
    limit -= max(0, same)
    size = _common(limit, lambda size: before[len(before) - size :] == after[len(after) - size :])
    end = len(before) - size
    for _ in range(_CONTEXT + 1):
        newline = before.find("\n", end)
        end = newline + 1 if newline >= 0 else len(before)
    return start, end, len(after) - (len(before) - end)


def _common(limit: int, equal: Callable[[int], bool]) -> int:
    """Return the largest size up to `limit` for which `equal` holds; it holds for all below."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if equal(middle):
            low = middle
        else:
            high = middle
    return low


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Block]:
    """Yield the changed blocks, top to bottom."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    yield from _between(old, new, (start, len(old) - end, start, len(new) - end))


def _between(old: Sequence[str], new: Sequence[str], block: _Block) -> Iterator[_Block]:
    i1, i2, j1, j2 = block
    if i1 == i2 and j1 == j2:
        return
    if (i2 - i1) * (j2 - j1) <= _MAX_COMPARISONS:
        yield from _compared(old, new, block)
        return
    anchors = [(i1 - 1, j1 - 1), *_anchors(old, new, block), (i2, j2)]
    for (a, b), (next_a, next_b) in pairwise(anchors):
        gap = (a + 1, next_a, b + 1, next_b)
        if gap[0] == gap[1] and gap[2] == gap[3]:
            continue
        if (gap[1] - gap[0]) * (gap[3] - gap[2]) <= _MAX_COMPARISONS:
            yield from _compared(old, new, gap)
        elif gap[1] - gap[0] == gap[3] - gap[2]:
            yield from _line_by_line(old, new, gap)
        else:
            yield gap


def _compared(old: Sequence[str], new: Sequence[str], block: _Block) -> Iterator[_Block]:
    from difflib import SequenceMatcher

    i1, i2, j1, j2 = block
    matcher = SequenceMatcher(None, old[i1:i2], new[j1:j2])
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            yield i1 + a1, i1 + a2, j1 + b1, j1 + b2


def _line_by_line(old: Sequence[str], new: Sequence[str], block: _Block) -> Iterator[_Block]:
    i1, i2, j1, _ = block
    first: int | None = None
    for index in range(i1, i2 + 1):
        differs = index < i2 and old[index] != new[j1 + index - i1]
        if differs and first is None:
            first = index
        elif not differs and first is not None:
            yield first, index, j1 + first - i1, j1 + index - i1
            first = None


def _anchors(old: Sequence[str], new: Sequence[str], block: _Block) -> list[tuple[int, int]]:
    """Return the lines found once in both, in the longest order that they share."""
    i1, i2, j1, j2 = block
    once_old = {line for line, number in Counter(old[i1:i2]).items() if number == 1}
    once_new = {line for line, number in Counter(new[j1:j2]).items() if number == 1}
    common = once_old & once_new
    where = {new[j]: j for j in range(j1, j2) if new[j] in common}
    pairs = [(i, where[old[i]]) for i in range(i1, i2) if old[i] in common]
    tails: list[int] = []
    ends: list[int] = []
    back: list[int] = []
    for index, (_, place) in enumerate(pairs):
        at = bisect_left(tails, place)
        back.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(place)
            ends.append(index)
        else:
            tails[at], ends[at] = place, index
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = back[index]
    return chain[::-1]


def _unified(
    old: Sequence[str], new: Sequence[str], blocks: Sequence[_Block], above: int
) -> Iterator[str]:
    for hunk in _hunks(blocks):
        start, stop = max(0, hunk[0][0] - _CONTEXT), min(len(old), hunk[-1][1] + _CONTEXT)
        new_start = hunk[0][2] - (hunk[0][0] - start)
        new_stop = hunk[-1][3] + (stop - hunk[-1][1])
        old_range = _range(above + start, above + stop)
        yield f"@@ -{old_range} +{_range(above + new_start, above + new_stop)} @@"
        place = start
        for i1, i2, j1, j2 in hunk:
            yield from _marked(" ", old, place, i1)
            yield from _marked("-", old, i1, i2)
            yield from _marked("+", new, j1, j2)
            place = i2
        yield from _marked(" ", old, place, stop)


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    hunk: list[_Block] = []
    for block in blocks:
        if hunk and block[0] - hunk[-1][1] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _range(start: int, stop: int) -> str:
    size = stop - start
    return str(start + 1) if size == 1 else f"{start + 1 if size else start},{size}"


def _marked(mark: str, lines: Sequence[str], start: int, stop: int) -> Iterator[str]:
    for index in range(start, stop):
        line = lines[index]
        text = line.removesuffix("\n").removesuffix("\r")
        yield mark + (text if len(text) <= _MAX_LINE_CHARS else text[:_MAX_LINE_CHARS] + " …")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
