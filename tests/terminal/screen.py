"""A terminal for tests: a real pty, its picture kept by pyte, and waiting by what it shows."""

import os
import sys
import time
from pathlib import Path

import pexpect
import pyte

ROOT = Path(__file__).parents[2]
ENTER, ESC, CTRL_C, CTRL_D, SHIFT_TAB, ALT_ENTER = "\r", "\x1b", "\x03", "\x04", "\x1b[Z", "\x1b\r"


class Screen:
    """A Python module with its arguments, or any program by `argv`, in a terminal."""

    def __init__(self, *command, columns=80, rows=24, argv=(), **environ):
        self.picture = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.picture)
        self.raw = b""
        unset = ("NO_COLOR", "PAICLI_LANG", "LC_ALL", "TMUX", "VTE_VERSION", "WT_SESSION")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        self.child = pexpect.spawn(
            *(argv or (sys.executable, ["-m", *command])),
            dimensions=(rows, columns),
            cwd=ROOT,
            env=kept
            | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT / "src")}
            | environ,
            timeout=10,
        )
        self.child.delaybeforesend = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.close(force=True)

    def read(self, seconds=0.02):
        """Take what the program has written."""
        if self.child.closed:
            return
        try:
            data = self.child.read_nonblocking(65536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self.raw += data
        self._stream.feed(data)

    def send(self, keys):
        self.child.send(keys)

    def type(self, text):
        """Type a line and send it."""
        self.send(text + ENTER)

    def lines(self):
        """Return what the screen shows."""
        self.read(0)
        return [line.rstrip() for line in self.picture.display]

    def scrollback(self):
        """Return the lines that scrolled out, and the screen below them."""
        columns = range(self.picture.columns)
        above = ["".join(row[x].data for x in columns).rstrip() for row in self.picture.history.top]
        return above + self.lines()

    def text(self):
        return "\n".join(self.scrollback())

    def wait_for(self, wanted, seconds=10):
        """Wait until `wanted` (text, or a condition) is on the screen or above it."""
        condition = wanted if callable(wanted) else lambda: wanted in self.text()
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"did not see {wanted!r}:\n{self.text()}")
            self.read()

    def watch(self, seconds):
        """Take what comes for a while, for things that must not happen."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read()

    def resize(self, columns, rows):
        """Change the window as terminals do: what no longer fits scrolls out at the top."""
        picture = self.picture
        over = max(picture.cursor.y - rows + 1, 0)
        place, picture.cursor.y = picture.cursor.y, picture.lines - 1
        for _ in range(over):
            picture.index()
        picture.cursor.y = place - over
        for gone in range(rows, picture.lines):
            picture.buffer.pop(gone, None)
        picture.lines = rows
        picture.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def exit_code(self, seconds=10, *, keep_open=False):
        """Wait for the end of the program."""
        deadline = time.monotonic() + seconds
        while self.child.isalive():
            if time.monotonic() > deadline:
                raise AssertionError(f"still running:\n{self.text()}")
            self.read()
        while self.child.flag_eof is False:
            self.read()
        if not keep_open:
            self.child.close()
        return self.child.exitstatus
