"""Server-sent events: bytes in, the data of complete events out, whatever way the bytes were cut.

The WHATWG event stream rules, as far as chat endpoints use them: a line ends at LF, CR or CRLF and
nowhere else; lines that start with a colon are comments; the `data` lines of an event are joined
with newlines; a blank line ends the event; the stream is UTF-8 and may begin with a BOM.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Decodes one stream. Feed it every piece as it comes; it never looks back."""

    def __init__(self) -> None:
        self.fields = 0
        """How many `data` lines have come: none means that this is no event stream at all."""
        self._line: list[bytes] = []
        self.pending: list[str] = []
        """The `data` lines of the event that is not over yet."""
        self._at_start = True
        self._after_cr = False

    def feed(self, data: bytes) -> list[str]:
        """Return the data of every event that `data` completes."""
        if (
            data[:6] == b"data: "
            and data[-2:] == b"\n\n"
            and not (self._line or self.pending or self._after_cr)
        ):  # one whole event of one line, as most pieces are
            value = data[6:-2]
            if b"\n" not in value and b"\r" not in value:
                self.fields += 1
                self._at_start = False
                return [value.decode("utf-8", "replace")]
        if not data:
            return []
        if self._after_cr or b"\r" in data:
            data = self._unify_line_ends(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        events: list[str] = []
        if lines:
            if self._line:
                self._line.append(lines[0])
                lines[0] = b"".join(self._line)
                self._line.clear()
            if self._at_start:
                self._at_start = False
                lines[0] = lines[0].removeprefix(_BOM)
            for line in lines:
                self._take(line, events)
        if rest:
            self._line.append(rest)
        return events

    def unfinished(self) -> str:
        """Return the data of the event that no blank line has ended yet.

        The standard drops it at the end of a stream; many servers leave the last blank line out.
        A last line without its line end is not included: it may have been cut.
        """
        return "\n".join(self.pending)

    def close(self) -> str:
        """Take the last line as ended, which a stream that was closed properly allows."""
        line = b"".join(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BOM)
        events: list[str] = []
        if line:
            self._take(line, events)
        rest, self.pending = self.unfinished(), []
        return rest

    def _unify_line_ends(self, data: bytes) -> bytes:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]  # the second half of a CRLF that was cut in two
            if not data:
                self._after_cr = False
                return data
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes, events: list[str]) -> None:
        if line.startswith(b"data:"):
            self.fields += 1
            value = line[6:] if line[5:6] == b" " else line[5:]
            self.pending.append(value.decode("utf-8", "replace"))
        elif not line:
            if self.pending:
                events.append(
                    self.pending[0] if len(self.pending) == 1 else "\n".join(self.pending)
                )
                self.pending = []
        elif line == b"data":
            self.fields += 1
            self.pending.append("")
