"""The terminal's window around the text: its title, and a call for a person who looks elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

from paicli.i18n import t
from paicli.text import one_line

FOCUS_GAINED, FOCUS_LOST = Keys.F23, Keys.F24
"""Keys that no keyboard has: what the terminal tells about its focus arrives as these."""

_LONG = 10.0
"""Seconds after which the end of a run is worth a call."""
_WITHOUT_TITLE = ("linux", "vt100", "vt220")


class Window:
    """Sets the title and puts the old one back; rings, if that is wanted, when nobody looks."""

    def __init__(self, output: Output, root: Path, notify: str) -> None:
        self._output = output
        self._name = one_line(root.name) or "/"
        self._notify = notify
        self._has_title = os.environ.get("TERM", "") not in _WITHOUT_TITLE
        self._busy_since = 0.0
        self._shown = self._name
        self._is_open = False
        self.in_front = True

    def open(self) -> None:
        """Take the window over."""
        if self._notify != "off":
            ANSI_SEQUENCES["\x1b[I"] = FOCUS_GAINED
            ANSI_SEQUENCES["\x1b[O"] = FOCUS_LOST
            self._write("\x1b[?1004h")
        if self._has_title:
            self._write("\x1b[22;0t")
        self._is_open = True
        self._title(self._shown)

    def close(self) -> None:
        """Leave the window as it was; it may be opened again."""
        self._is_open = False
        if self._has_title:
            self._output.set_title("")
            self._write("\x1b[23;0t")
        if self._notify != "off":
            self._write("\x1b[?1004l")

    def busy(self) -> None:
        """A turn runs."""
        self._busy_since = time.monotonic()
        self._title(f"● {self._name}")

    def idle(self) -> None:
        """The turn is over."""
        self.idle_title()
        if time.monotonic() - self._busy_since >= _LONG:
            self._call(t("terminal.notify_done", name=self._name))

    def wants_person(self) -> None:
        """A question waits."""
        self._call(t("terminal.notify_question", name=self._name))

    def idle_title(self) -> None:
        """Show that nothing runs."""
        self._title(self._name)

    def _title(self, text: str) -> None:
        self._shown = text
        if self._has_title and self._is_open:
            self._output.set_title(f"PaiCLI · {text}")
            self._output.flush()

    def _call(self, text: str) -> None:
        if self._notify == "off" or self.in_front or not self._is_open:
            return
        self._write("\a" if self._notify == "bell" else notification(text, os.environ))

    def _write(self, sequence: str) -> None:
        self._output.write_raw(sequence)
        self._output.flush()


def notification(text: str, environ: Mapping[str, str]) -> str:
    """Return what shows `text` on the desktop; tmux hands nothing on but the bell."""
    term = environ.get("TERM", "")
    if environ.get("TMUX") or term.startswith(("tmux", "screen")):
        return "\a"
    if environ.get("VTE_VERSION") or term.startswith(("rxvt", "foot")):
        return f"\x1b]777;notify;PaiCLI;{text}\a"
    return f"\x1b]9;{text}\a"
