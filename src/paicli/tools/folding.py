"""Text as a careless copy of it reads: quotes, dashes, blanks and NFKC forms folded together.

Each line loses its trailing blanks, then each character (with its combining marks) is folded by
itself, so that every place in the folded text leads back to one in the original, or to none when
it lies inside what one character became.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

_MANY = 100
_ALIKE = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u202f\u205f\u3000" + "".join(map(chr, range(0x2002, 0x200B))), " ")
)


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` and `needle` folded by the same rules; `span` leads back to the unfolded text."""

    text: str
    needle: str
    _lines: list[str]
    _starts: list[int]
    _changing: re.Pattern[str] | None

    def span(self, start: int) -> tuple[int, int] | None:
        """Return the original place of the needle found at `start`; None when it cuts a character.

        Trailing blanks before the first and after the last character of the needle stay outside.
        """
        first = self._line_end(start) if self.needle.startswith("\n") else self._original(start)
        last = self._original(start + len(self.needle))
        return None if first is None or last is None else (first, last)

    def _line_end(self, place: int) -> int:
        row = self.text.count("\n", 0, place)
        line = self._lines[row]
        return self._starts[row] + len(line) - line.endswith("\r")

    def _original(self, place: int) -> int | None:
        row = self.text.count("\n", 0, place)
        column = place - (self.text.rfind("\n", 0, place) + 1)
        found = self._column(self._lines[row], column)
        return None if found is None else self._starts[row] + found

    def _column(self, line: str, column: int) -> int | None:
        shift = 0  # how much longer the folded line is, up to here
        for unit in self._changing.finditer(line) if self._changing else ():
            before = unit.start() + shift
            if column <= before:
                break
            after = before + len(_fold_unit(unit[0]))
            if column < after:
                return None
            shift += after - before - len(unit[0])
        return column - shift


def fold(content: str, snippet: str) -> Folded:
    """Fold a file's text and a snippet of it."""
    foreign = {char for char in set(content) | set(snippet) if char > "\x7f"}
    units = _units(foreign)
    table = {char: _fold_unit(char) for char in foreign if _fold_unit(char) != char}
    raw = content.split("\n")
    return Folded(
        text=_folded([line.rstrip() for line in raw], units, table),
        needle=_folded([line.rstrip() for line in snippet.split("\n")], units, table),
        _lines=raw,
        _starts=[0, *accumulate(len(line) + 1 for line in raw)],
        _changing=_changing(units, table),
    )


def _folded(lines: list[str], units: re.Pattern[str] | None, table: Mapping[str, str]) -> str:
    text = "\n".join(lines)
    if text.isascii():
        return text
    if units:
        text = units.sub(lambda unit: _fold_unit(unit[0]), text)
    if len(table) > _MANY:
        return text.translate({ord(char): folded for char, folded in table.items()})
    for char, folded in table.items():  # much quicker than translate() for a few of them
        text = text.replace(char, folded)
    return text


def _fold_unit(unit: str) -> str:
    return unicodedata.normalize("NFKC", unit.translate(_ALIKE)).translate(_ALIKE)


def _units(foreign: set[str]) -> re.Pattern[str] | None:
    """Return what finds the characters that carry combining marks, and Hangul in pieces."""
    marks = re.escape("".join(sorted(char for char in foreign if unicodedata.combining(char))))
    alternatives = [f"[^{marks}\n][{marks}]+"] if marks else []
    if any("\u1161" <= char <= "\u1175" for char in foreign):
        alternatives.append("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")
    return re.compile("|".join(alternatives)) if alternatives else None


def _changing(units: re.Pattern[str] | None, table: dict[str, str]) -> re.Pattern[str] | None:
    """Return what finds every piece whose folded form is longer or shorter than itself."""
    longer = "".join(char for char, folded in table.items() if len(folded) != 1)
    alternatives = [units.pattern] if units else []
    if longer:
        alternatives.append(f"[{re.escape(longer)}]")
    return re.compile("|".join(alternatives)) if alternatives else None
