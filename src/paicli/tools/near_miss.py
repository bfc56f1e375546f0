"""When a snippet is not in a file: the line that the model probably had in mind."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w{2,60}")
_MAX_WORDS = 8
_MAX_PLACES = 200
_MAX_COMPARED = 40
_MAX_LINE = 300
_ALIKE = 0.6


def nearest_line(content: str, snippet: str) -> tuple[int, str] | None:
    """Return the number and text of the line most like the snippet's longest one, or None.

    The work is bounded: candidates are found by the snippet's longest words, and few are compared.
    """
    wanted = max((line.strip() for line in snippet.split("\n")), key=len)[:_MAX_LINE]
    shares: dict[int, int] = {}
    for word in sorted(set(_WORD.findall(wanted)), key=len, reverse=True)[:_MAX_WORDS]:
        for start in _line_starts(content, word):
            shares[start] = shares.get(start, 0) + len(word)
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=wanted, autojunk=False)
    best, best_start = _ALIKE, -1
    for start in sorted(shares, key=lambda place: (-shares[place], place))[:_MAX_COMPARED]:
        matcher.set_seq1(_line_at(content, start).strip())
        if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, best_start = ratio, start
    if best_start < 0:
        return None
    return content.count("\n", 0, best_start) + 1, _line_at(content, best_start).rstrip()


def _line_starts(content: str, word: str) -> list[int]:
    starts: list[int] = []
    at = content.find(word)
    while at >= 0 and len(starts) < _MAX_PLACES:
        starts.append(content.rfind("\n", 0, at) + 1)
        end = content.find("\n", at)
        at = content.find(word, end) if end >= 0 else -1
    return starts


def _line_at(content: str, start: int) -> str:
    end = content.find("\n", start, start + _MAX_LINE)
    return content[start : end if end >= 0 else start + _MAX_LINE]
