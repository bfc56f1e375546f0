"""Tool results on their way to the model: bounded in size, wrapped as data that cannot give orders."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from pathlib import Path

from paicli.errors import PolicyDenied
from paicli.policy.path_guard import PathGuard
from paicli.text import clean

_HEAD = 2_000
_TAIL = 800
_INLINE_FACTOR = 6
"""How much larger a result may be that the model asked for in just this size (a range of lines)."""
_TAG = re.compile(r"<(?=\s*/?\s*tool_result)", re.IGNORECASE)
_UNSAFE_IN_NAME = re.compile(r"[^\w.:-]", re.ASCII)

OUTPUT_FOLDER = Path(".paicli") / "tool-outputs"


def wrap(tool: str, body: str) -> str:
    """Return `body` between tags that mark it as untrusted data; a forged tag inside is defused.

    The rule is PaiCLI's `ToolResultBoundary`; matching ignores case and blanks.
    """
    name = _UNSAFE_IN_NAME.sub("_", tool)
    body = _TAG.sub("&lt;", clean(body))
    return f'<tool_result tool="{name}" trust="untrusted-data">\n{body}\n</tool_result>'


class ResultStore:
    """Keeps results too large for the conversation in files the model can read in pieces.

    Files go to `.paicli/tool-outputs/session-<time>-<random>/` inside the project, since
    `read_file` sees nothing outside it. The folder is made on first use and ignored by git.
    Without a guard nothing is kept: what is too large is only cut (plan mode changes no byte on disk).
    """

    def __init__(self, guard: PathGuard | None, threshold: int) -> None:
        self._guard = guard
        self._threshold = self._limit = threshold
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self._folder = OUTPUT_FOLDER / f"session-{stamp}-{secrets.token_hex(3)}"
        self._count = 0

    def fit(self, window: int) -> None:
        """Keep every result below about a quarter of a window of that many tokens."""
        self._limit = min(self._threshold, max(window, 2 * (_HEAD + _TAIL)))

    def bound(self, tool: str, text: str, *, keep_inline: bool = False) -> str:
        """Return `text`, or a preview of it with the file that holds it whole."""
        limit = self._limit * _INLINE_FACTOR if keep_inline else self._limit
        if len(text) <= limit:
            return text
        lines = text.count("\n") + 1
        size = f"{len(text)} characters, {lines} lines"
        if self._guard is None:
            return (
                f"[output too large, truncated here: {size}; ask for less of it]\n{_preview(text)}"
            )
        try:
            place = self._save(self._guard, tool, text)
        except (OSError, PolicyDenied):
            return f"[output too large ({size}) and could not be saved; truncated]\n" + _preview(
                text
            )
        read_back = f'read_file {{"path": "{place}", "offset": 1, "limit": 200}}'
        return (
            f"[output too large, truncated here: {size}; the whole is in {place}; read on with {read_back}]\n"
            + _preview(text)
        )

    def _save(self, guard: PathGuard, tool: str, text: str) -> str:
        self._count += 1
        place = self._folder / f"{self._count:03d}-{_UNSAFE_IN_NAME.sub('_', tool)}.txt"
        with open(new_output_file(guard, place), "wb") as file:
            file.write(clean(text).encode())
        return str(place)


def new_output_file(guard: PathGuard, place: Path) -> int:
    """Make a file for output in a folder that git ignores, and return its descriptor.

    Raises OSError, or PolicyDenied when the folder leads out of the project.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with guard.parent(guard.resolve(str(place)), create=True) as (folder, name):
        descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    ignore = guard.resolve(str(OUTPUT_FOLDER / ".gitignore"))
    with contextlib.suppress(FileExistsError), guard.parent(ignore) as (folder, name):
        made = os.open(name, flags, 0o644, dir_fd=folder)
        os.write(made, b"*\n")
        os.close(made)
    return descriptor


def _preview(text: str) -> str:
    """Return the beginning and the end of `text`, cut at line ends where a line ends nearby."""
    head, tail = text[:_HEAD], text[-_TAIL:]
    if (cut := head.rfind("\n")) > _HEAD // 2:
        head = head[:cut]
    if -1 < (cut := tail.find("\n")) < _TAIL // 2:
        tail = tail[cut + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"--- beginning ---\n{head}\n--- {left_out} characters omitted ---\n{tail}\n--- end ---"
