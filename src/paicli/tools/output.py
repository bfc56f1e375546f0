"""What a command prints, kept in bounded memory: head and tail for the model, the rest in a file.

Bytes stay bytes until the end; progress lines that overwrite themselves are folded to their last state.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

from paicli.tools.base import Tell

MODEL_CHARACTERS = 8_000
FILE_BYTES = 2_000_000
TELL_SECONDS = 0.1
"""Between two pieces for the person to watch."""

_HEAD = 3_000
_TAIL = MODEL_CHARACTERS - _HEAD
_BYTES_PER_CHARACTER = 4
_LONGEST_LINE = 64_000
_TELL_BYTES = 4_000

_ESCAPE_SEQUENCE = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def readable(data: bytes) -> str:
    """Return output as text for the model: colours gone, other control characters made visible."""
    text = _ESCAPE_SEQUENCE.sub("", data.decode("utf-8", "replace"))
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def fold(data: bytes) -> bytes:
    """Return whole lines with what was overwritten by a carriage return left out."""
    if b"\r" not in data:
        return data
    return b"\n".join(_last_state(line) for line in data.split(b"\n"))


def _last_state(line: bytes) -> bytes:
    if b"\r" not in line:
        return line
    return next((state for state in reversed(line.split(b"\r")) if state), b"")


OpenFile = Callable[[], tuple[int, str] | None]
"""Makes the file for long output: its descriptor and the name the model reads it by; None when it cannot."""


class CommandOutput:
    """Takes the bytes of a command as they come. `open_file` is asked when there is too much to show."""

    def __init__(self, tell: Tell, open_file: OpenFile) -> None:
        self._tell = tell
        self._open_file = open_file
        self._start = bytearray()
        self._tail = bytearray()
        self._line = bytearray()
        self._size = 0
        self._descriptor = -1
        self._file_size = 0
        self._file_name = ""
        self._untold = bytearray()
        self._told_at = 0.0

    def feed(self, data: bytes) -> None:
        """Take the next bytes; cut anywhere, also inside a character or a line."""
        newline = data.rfind(b"\n")
        if newline < 0:
            self._line += data
            if len(self._line) > _LONGEST_LINE:
                self._shorten_line()
            return
        whole = bytes(self._line) + data[: newline + 1]
        self._line = bytearray(data[newline + 1 :])
        self._keep(fold(whole))

    def _shorten_line(self) -> None:
        """Bound a line that does not end: drop what was overwritten, else let it go unfolded."""
        overwritten = self._line.rfind(b"\r", 0, -1)
        if overwritten >= 0:
            del self._line[: overwritten + 1]
        if len(self._line) > _LONGEST_LINE:
            self._keep(bytes(self._line))
            self._line.clear()

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        self._write(data)
        room = MODEL_CHARACTERS * _BYTES_PER_CHARACTER - len(self._start)
        if room > 0:
            self._start += data[:room]
        limit = _TAIL * _BYTES_PER_CHARACTER
        self._tail += data[-limit:]
        if len(self._tail) > 2 * limit:
            del self._tail[:-limit]
        self._untold += data[-_TELL_BYTES:]
        self._tell_sometimes()

    @property
    def untold(self) -> bool:
        """Tell whether something arrived that was not told yet."""
        return bool(self._untold)

    def tell_now(self) -> None:
        """Tell what arrived since the last time; of much, its end."""
        if self._untold:
            self._told_at = time.monotonic()
            self._tell(readable(bytes(self._untold[-_TELL_BYTES:])))
            self._untold.clear()

    def _tell_sometimes(self) -> None:
        if time.monotonic() - self._told_at >= TELL_SECONDS:
            self.tell_now()
        elif len(self._untold) > 2 * _TELL_BYTES:
            del self._untold[:-_TELL_BYTES]

    def _write(self, data: bytes) -> None:
        """Write to the file once the output is too long to be shown whole; a full disk costs only the file."""
        if self._size <= MODEL_CHARACTERS or self._file_size >= FILE_BYTES:
            return
        try:
            if self._descriptor < 0 and self._file_size == 0:
                opened = self._open_file()
                if opened is None:
                    self._file_size = FILE_BYTES
                    return
                self._descriptor, self._file_name = opened
                data = bytes(self._start) + data
            piece = data[: FILE_BYTES - self._file_size]
            while piece:
                written = os.write(self._descriptor, piece)
                self._file_size += written
                piece = piece[written:]
        except OSError:
            self._file_size = FILE_BYTES
            self._file_name = ""

    def finish(self) -> None:
        """Take what stands on the last, unfinished line, tell the rest and close the file."""
        if self._line:
            self._keep(fold(bytes(self._line)))
            self._line.clear()
        self.tell_now()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def text(self) -> str:
        """Return what the model sees: all of it, or head and tail with what lies between counted and named."""
        if self._size <= len(self._start):
            text = readable(bytes(self._start))
            if len(text) <= MODEL_CHARACTERS:
                return text
            head, tail = text[:_HEAD], text[-_TAIL:]
        else:
            head = readable(bytes(self._start))[:_HEAD]
            tail = readable(bytes(self._tail))[-_TAIL:].lstrip("\ufffd")
        return f"{head}\n[… output truncated: {self._size} bytes in all; {self._whereabouts()} …]\n{tail}"

    def _whereabouts(self) -> str:
        if not self._file_name:
            return "the middle was not kept"
        kept = "all of it" if self._size <= FILE_BYTES else f"the first {FILE_BYTES} bytes"
        return f"{kept} in {self._file_name}"
