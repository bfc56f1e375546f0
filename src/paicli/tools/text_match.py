"""Finding the place an edit means, and replacing exactly that: text in, text out.

Three layers, each tried only when the one before found nothing: as it is (a newline of the snippet
matches CRLF too); line by line with characters folded (quotes, dashes, blanks, NFKC) and trailing
blanks ignored; with the line numbers that `read_file` prints taken off. Every step is linear.

A line ends at LF or CRLF. A CRLF is one character here: no match begins or ends inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paicli.errors import EditError
from paicli.tools.folding import fold
from paicli.tools.near_miss import nearest_line

MAX_RESULT_CHARS = 20_000_000
_SHOWN = 3

_PREFIX = re.compile(r"[> ]?[ \t]*\d+(?:[ \t]*\| ?|[ \t]*→|\t)")


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that applies. `fuzzy`: only after folding; `prefixes_stripped`: without line numbers.

    `line` is where the first replaced piece starts, from 1.
    """

    content: str
    count: int
    fuzzy: bool = False
    prefixes_stripped: bool = False
    line: int = 1


def apply_edit(content: str, old_text: str, new_text: str, replace_all: bool = False) -> Edit:
    """Return `content` with `old_text` replaced by `new_text`.

    `old_text` must be found once; with `replace_all` every exact occurrence is replaced. New lines
    take the newline style of the place they go to. Raises EditError, whose text tells the model
    what to do next.
    """
    if not old_text:
        raise EditError("old_text is empty. Give the exact text to replace.", "empty")
    if old_text == new_text:
        raise EditError("old_text and new_text are the same: nothing to change.", "noop")
    try:
        edit = _apply(content, old_text, new_text, replace_all)
    except EditError as error:
        if error.reason not in ("not_found", "partial_char"):
            raise
        retried = _without_line_numbers(content, old_text, new_text, replace_all)
        if retried is None:
            raise
        edit = retried
    if edit.content == content:
        raise EditError("The edit would change nothing: the file reads so already.", "noop")
    return edit


def _apply(content: str, old: str, new: str, replace_all: bool) -> Edit:
    place = _Place.of(content, old, replace_all)
    if replace_all and _is_plain(content, old, new) and old in content:
        return _replaced_plainly(content, old, new)
    if replace_all:
        starts: Sequence[int] = place.one_after_the_other()
        if not starts:
            raise _not_found(content, old)
        return _edit(content, place.spans(starts), old, new)
    hits = _occurrences(place.text, place.needle)
    if hits.count > 1:
        raise _ambiguous(place.text, hits)
    if hits.count == 1:
        return _edit(content, place.spans(hits.starts), old, new)
    return _apply_folded(content, old, new)


def _apply_folded(content: str, old: str, new: str) -> Edit:
    folded = fold(content, old)
    if not folded.needle.strip():
        raise _not_found(content, old)
    hits = _occurrences(folded.text, folded.needle)
    if hits.count > 1:
        raise _ambiguous(folded.text, hits)
    if hits.count == 0:
        raise _not_found(content, old)
    span = folded.span(hits.starts[0])
    if span is None:
        raise EditError(
            "old_text matches only a part of a character in the file (a ligature, or a letter "
            "with its accent). Read the lines again and copy them exactly.",
            "partial_char",
        )
    return replace(_edit(content, [span], old, new), fuzzy=True)


def _without_line_numbers(content: str, old: str, new: str, replace_all: bool) -> Edit | None:
    stripped = _strip_prefixes(old)
    if not stripped:
        return None
    stripped_new = _strip_prefixes(new)
    try:
        edit = _apply(content, stripped, new if stripped_new is None else stripped_new, replace_all)
    except EditError:
        return None
    return replace(edit, prefixes_stripped=True)


def _strip_prefixes(text: str) -> str | None:
    """Return `text` without line numbers; None unless every line that is not blank has one."""
    lines = text.split("\n")
    kept = []
    for line in lines:
        prefix = _PREFIX.match(line)
        if prefix is None and line.strip():
            return None
        kept.append(line[prefix.end() :] if prefix else line)
    return "\n".join(kept) if any(line.strip() for line in lines) else None


# ---- exact occurrences -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hits:
    """How often a snippet occurs, overlapping occurrences included, and where the first ones are."""

    count: int
    starts: tuple[int, ...]


def _occurrences(text: str, needle: str) -> _Hits:
    """Count in linear time, also where the snippet overlaps itself.

    There the text repeats with a fixed distance, so the occurrences are counted, not visited:
    a file of one repeated letter is a single run.
    """
    count = 0
    starts: list[int] = []
    size = len(needle)
    at = text.find(needle)
    while at >= 0:
        following = text.find(needle, at + 1, at + 2 * size)
        step, number = size, 1
        if following >= 0:
            step = following - at
            number = (_end_of_repetition(text, at, step) - at - size) // step + 1
        starts += [at + step * index for index in range(min(number, _SHOWN - len(starts)))]
        count += number
        at = text.find(needle, at + (number - 1) * step + 1)
    return _Hits(count, tuple(starts))


def _end_of_repetition(text: str, start: int, step: int) -> int:
    """Return where `text`, which repeats from `start` every `step` characters, stops doing so."""
    end = start + step
    size = step
    while size:
        piece = text[end : end + size]
        if piece and piece == text[end - step : end - step + len(piece)]:
            end += len(piece)
            size *= 2
        else:
            size //= 2
    return end


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a snippet is looked for: `text` is the file, or the file with its CRLFs made LF."""

    content: str
    text: str
    needle: str

    @classmethod
    def of(cls, content: str, old: str, replace_all: bool) -> _Place:
        shortened = old.replace("\r\n", "\n")
        if "\r\n" not in content:
            return cls(content, content, shortened)
        if "\n" not in old:
            return cls(content, content, old)
        if not replace_all and not old.startswith("\n") and old in content:
            return cls(content, content, old)
        return cls(content, content.replace("\r\n", "\n"), shortened)

    def spans(self, starts: Sequence[int]) -> list[tuple[int, int]]:
        """Return occurrences as places of the file."""
        size = len(self.needle)
        if self.text is self.content:
            return [(start, start + size) for start in starts]
        bounds = _Widened(self.content)
        return [(bounds.at(start), bounds.at(start + size)) for start in starts]

    def one_after_the_other(self) -> list[int]:
        """Return the starts of all occurrences that do not overlap, left to right."""
        starts = []
        at = self.text.find(self.needle)
        while at >= 0:
            starts.append(at)
            at = self.text.find(self.needle, at + len(self.needle))
        return starts


class _Widened:
    """Maps places of a text whose CRLFs were shortened to LF back to the text; asked in order."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._line = 0  # where the current line starts in the file
        self._short = 0  # and in the shortened text

    def at(self, place: int) -> int:
        while True:
            end = self._content.find("\n", self._line)
            if end < 0:
                break
            width = (
                end - self._line - (self._content.startswith("\r", end - 1) and end > self._line)
            )
            if place <= self._short + width:
                break
            self._line = end + 1
            self._short += width + 1
        return self._line + place - self._short


# ---- replacing ---------------------------------------------------------------------------------


def _is_plain(content: str, old: str, new: str) -> bool:
    """Tell whether no newline has to be looked at: the common case, and the quick one."""
    return not any("\r" in text for text in (content, old, new))


def _replaced_plainly(content: str, old: str, new: str) -> Edit:
    count = content.count(old)
    _check_size(content, count, old, new)
    line = content.count("\n", 0, content.find(old)) + 1
    return Edit(content.replace(old, new), count, line=line)


def _check_size(content: str, count: int, old: str, new: str) -> None:
    if len(content) + count * max(0, len(new) - len(old)) > MAX_RESULT_CHARS:
        raise EditError(
            f"Replacing {count} places would make the file too large. Nothing was changed.",
            "too_large",
        )


def _edit(content: str, spans: list[tuple[int, int]], old: str, new: str) -> Edit:
    _check_size(content, len(spans), old, new)
    line = content.count("\n", 0, spans[0][0]) + 1
    return Edit("".join(_pieces(content, spans, old, new)), len(spans), line=line)


def _pieces(content: str, spans: list[tuple[int, int]], old: str, new: str) -> Iterator[str]:
    as_given = old.replace("\r\n", "\n") == new.replace("\r\n", "\n")  # the newlines are the edit
    unix = new.replace("\r\n", "\n")
    windows = unix.replace("\n", "\r\n")
    same = as_given or "\n" not in new or "\n" not in content
    done = 0
    for start, end in spans:
        yield content[done:start]
        if same:
            yield new
        else:
            yield windows if _uses_crlf(content, start, end) else unix
        done = end
    yield content[done:]


def _uses_crlf(content: str, start: int, end: int) -> bool:
    """Tell the newline style of a place: its own first newline, else the next, else the last one."""
    newline = content.find("\n", start)
    if newline < 0:
        newline = content.rfind("\n", 0, end)
    return newline > 0 and content[newline - 1] == "\r"


# ---- what the model is told --------------------------------------------------------------------


def _ambiguous(text: str, hits: _Hits) -> EditError:
    lines = ", ".join(str(text.count("\n", 0, start) + 1) for start in hits.starts)
    more = ", …" if hits.count > len(hits.starts) else ""
    return EditError(
        f"old_text is found {hits.count} times, starting at lines {lines}{more}. Add lines around it "
        "until it is found once, or set replace_all=true to change every occurrence.",
        "ambiguous",
    )


def _not_found(content: str, old: str) -> EditError:
    message = (
        "old_text is not in the file. Read the file again and copy the text exactly, "
        "without line numbers."
    )
    if near := nearest_line(content, old):
        number, line = near
        message += f" The line that looks most like it is line {number}: {line}"
    return EditError(message, "not_found")
