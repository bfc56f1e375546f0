"""What was typed in this project, for the arrow keys and Ctrl+R; never a secret, readable by its owner alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

from paicli.secrets import redact
from paicli.text import clean

_LONGEST = 8_000
_OFFERED = 2_000
_MOST_LINES = 10_000
_MOST_BYTES = 16_000_000
_ADD = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
_LONG_BASE64 = re.compile(r"data:\w+/\w+;base64|[A-Za-z0-9+/=_-]{240}")


def history_file(home: Path, root: Path) -> Path:
    """Return the file that holds the history of the project in `root`."""
    mark = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return home / "history" / f"{mark}.jsonl"


def may_be_kept(text: str) -> bool:
    """Tell whether a line may go to the history file."""
    return (
        bool(text.strip())
        and not text.startswith(" ")
        and len(text) <= _LONGEST
        and redact(text) == text
        and _LONG_BASE64.search(text) is None
    )


class ProjectHistory(History):
    """A history in a file; without the file (no space, no permission) it lasts for the session."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._newest = ""

    def append_string(self, string: str) -> None:
        """Add a line, unless it repeats the one before."""
        string = clean(string)
        if string != self._newest and string.strip():
            self._newest = string
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        """Yield the lines of earlier sessions, newest first."""
        try:
            lines = _tail(self._file).split(b"\n")
        except OSError:
            return
        if len(lines) > _MOST_LINES:
            self._keep_only(lines[-_OFFERED:])
        for line in reversed(lines[-_OFFERED:]):
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                yield clean(text)

    def store_string(self, string: str) -> None:
        """Write a line to the file, if it may be kept."""
        if not may_be_kept(string):
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._file, _ADD, 0o600)
            with open(descriptor, "ab") as file:
                file.write(json.dumps(string).encode() + b"\n")
        except OSError:
            return

    def _keep_only(self, lines: list[bytes]) -> None:
        fresh = self._file.with_suffix(f".{os.getpid()}.tmp")
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(b"\n".join(lines))
            fresh.replace(self._file)
        except OSError:
            return


def _tail(path: Path) -> bytes:
    """Return the end of a file; nothing of a pipe, which would never end. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_BYTES))
        return file.read()
