"""Glob patterns on paths: `*` and `?` within a name, `**` for any folders, `[a-z]`, `{a,b}`.

Matching takes time in proportion to the path, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

from paicli.errors import PolicyDenied, ToolFailed

_MAX_ALTERNATIVES = 64
_MAX_PATTERN_CHARS = 1_000
_ANY_FOLDERS = None
_Step = re.Pattern[str] | None


class Glob:
    """A compiled pattern. One without a slash matches names in any folder."""

    def __init__(self, pattern: str, root: Path) -> None:
        if not pattern.strip() or len(pattern) > _MAX_PATTERN_CHARS or "\0" in pattern:
            raise ToolFailed("The pattern is empty or too long. Give one like **/*.py.")
        alternatives = list(_alternatives(pattern))
        if len(alternatives) > _MAX_ALTERNATIVES:
            raise ToolFailed("The pattern has too many {a,b} alternatives. Use a simpler one.")
        self._compiled = [_steps(alternative, root) for alternative in alternatives]

    def matches(self, path: str) -> bool:
        """Tell whether a path, relative and with slashes, fits the pattern as a whole."""
        name = path.rpartition("/")[2]
        return any(
            _fits(steps, path.split("/"))
            for steps in self._compiled
            if (last := steps[-1]) is _ANY_FOLDERS or last.match(name)
        )


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield what `{a,b}` stands for; braces that do not close are ordinary characters."""
    pending = [pattern]
    found = 0
    while pending and found <= _MAX_ALTERNATIVES:
        text = pending.pop()
        group = _first_group(text)
        if group is None:
            found += 1
            yield text
            continue
        start, end, choices = group
        pending += [text[:start] + choice + text[end:] for choice in reversed(choices)]


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    start = text.find("{")
    while start >= 0:
        depth, begin, choices = 0, start + 1, []
        for place in range(start, len(text)):
            char = text[place]
            depth += (char == "{") - (char == "}")
            if depth == 1 and char == ",":
                choices.append(text[begin:place])
                begin = place + 1
            elif depth == 0:
                if choices:
                    return start, place + 1, [*choices, text[begin:place]]
                break
        start = text.find("{", start + 1)
    return None


def _steps(pattern: str, root: Path) -> list[_Step]:
    inside = str(root).rstrip("/") + "/"
    if pattern.startswith(inside):
        pattern = "./" + pattern[len(inside) :]
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise PolicyDenied(
            "The pattern leads out of the project folder. Use one relative to it, without '..'."
        )
    anywhere = "/" not in pattern
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if pattern.endswith("/") or not names:
        names.append("**")
    if anywhere:
        names.insert(0, "**")
    return [
        _ANY_FOLDERS if name == "**" else re.compile(translate(name.replace("[^", "[!")))
        for name in names
    ]


def _fits(steps: list[_Step], parts: list[str]) -> bool:
    places = _skipping(steps, {0})
    for part in parts:
        reached = set()
        for place in places:
            step = steps[place] if place < len(steps) else None
            if place == len(steps):
                continue
            if step is _ANY_FOLDERS:
                reached.add(place)
            elif step.match(part):
                reached.add(place + 1)
        places = _skipping(steps, reached)
        if not places:
            return False
    return len(steps) in places


def _skipping(steps: list[_Step], places: set[int]) -> set[int]:
    """Add the places reached because `**` may stand for no folder at all."""
    for place in sorted(places):
        while place < len(steps) and steps[place] is _ANY_FOLDERS:
            place += 1  # noqa: PLW2901  walks on from each place
            places.add(place)
    return places
