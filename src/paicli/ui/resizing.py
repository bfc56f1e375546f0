"""The application at the bottom of a window whose width changes.

Many terminals fold the lines that no longer fit a narrower window, so that the prompt's own picture
grows by rows that prompt_toolkit knows nothing of: it would erase too little, and leave copies behind.
tmux moreover folds at once but tells of it up to a quarter of a second later; it is asked instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.output.vt100 import Vt100_Output

_FOLDING_SIGNS = (
    "TMUX", "VTE_VERSION", "WT_SESSION", "KITTY_WINDOW_ID", "WEZTERM_PANE", "ALACRITTY_WINDOW_ID",
    "KONSOLE_VERSION", "GHOSTTY_RESOURCES_DIR", "ITERM_SESSION_ID",
)  # fmt: skip
"""Variables that terminals leave which fold on narrowing."""
_FOLDING_TERMS = ("tmux", "xterm-kitty", "alacritty", "foot", "xterm-ghostty", "wezterm")


def folds(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal folds lines anew when its window becomes narrower.

    Where that is not known, no: erasing too much would take committed lines away.
    """
    if any(environ.get(name) for name in _FOLDING_SIGNS):
        return True
    return environ.get("TERM", "").startswith(_FOLDING_TERMS)


_ERASE_DOWN = "\x1b[K\x1b7\x1b[C\x1b[J\x1b8"
"""Erases to the end of the screen, but not from its first cell: there, tmux keeps what is erased in its
history, and the prompt's picture would stay as a copy."""


def is_tmux(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal is tmux."""
    return bool(environ.get("TMUX")) or environ.get("TERM", "").startswith("tmux")


class InlineOutput(Vt100_Output):
    """A terminal's output whose erased lines are gone. `told`: the size that the terminal itself gave."""

    told: Size | None = None

    def get_size(self) -> Size:
        """Return the window's size."""
        return self.told or super().get_size()

    def ask(self) -> None:
        """Let the terminal say where its cursor is and where its last cell; the answer comes as keys do.

        (Being asked for its size, tmux 3.3 takes the columns for the rows.)
        """
        self.write_raw("\x1b[6n\x1b7\x1b[9999;9999H\x1b[6n\x1b8")
        self.flush()

    def erase_down(self) -> None:
        """Erase from the cursor to the end of the screen."""
        self.write_raw(_ERASE_DOWN)


def inline_output() -> InlineOutput:
    """Return the output to this program's terminal."""
    output = cast("InlineOutput", InlineOutput.from_pty(sys.stdout, term=os.environ.get("TERM")))
    output.enable_cpr = False
    return output


class InlineApplication(Application[None]):
    """An application that erases all of its picture after the window has become narrower.

    `terminal_folds`, `is_tmux`: see the functions above. `resized`, if set, is called in place of
    drawing anew when the window has another size; it has to draw soon.
    """

    terminal_folds = False
    is_tmux = False
    resized: Callable[[], None] | None = None
    _size: Size | None = None
    _cursor = Point(0, 0)
    _rows: Sequence[Row] = ()
    _seen: tuple[Sequence[Row], Point] = ((), Point(0, 0))
    """What stood there when the terminal last told its size."""

    @property
    def is_drawn(self) -> bool:
        """Whether the picture is on the screen."""
        return self.renderer.last_rendered_screen is not None

    def draw(self) -> None:
        """Draw the picture now."""
        self._redraw()

    def seen(self) -> None:
        """The terminal has told its size while it showed this picture."""
        self._seen = self._rows, self._cursor

    def was_late(self) -> None:
        """The window had become narrower before the picture was drawn last: an older one was folded."""
        self._rows, self._cursor = self._seen
        self.catch_up()

    def catch_up(self) -> None:
        """Move the cursor to where prompt_toolkit takes it to be; call before anything is drawn."""
        now = self.output.get_size()
        if self.is_drawn and self._size is not None and now.columns < self._size.columns:
            self._erase_folded(now.columns)

    def _erase_folded(self, columns: int) -> None:
        if self.terminal_folds:
            self.output.cursor_up(added_rows(self._rows, self._cursor, columns))
            self.renderer.erase(leave_alternate_screen=False)

    def spare(self) -> int:
        """Return how many columns the picture leaves free, lest each step of a drag folds its lines.

        tmux moves a row out of the screen for each that folding adds, and nothing brings it back.
        """
        return self.output.get_size().columns // 8 if self.is_tmux else 0

    def rows_above(self, cursor: int) -> int:
        """Return how many rows are above the picture when the cursor is in the screen's row `cursor`."""
        return max(cursor - self._cursor.y, 0)

    def _on_resize(self) -> None:
        if self.resized is not None:
            self.resized()
        else:
            self.catch_up()
            super()._on_resize()

    def _redraw(self, render_as_done: bool = False) -> None:
        self.catch_up()
        size, before = self.output.get_size(), self._rows
        if not self.is_drawn or size != self._size:  # everything is erased first
            before = ()
            self._seen = (), Point(0, 0)
        self._size = size
        super()._redraw(render_as_done)
        screen = self.renderer.last_rendered_screen
        if screen is None or not self.terminal_folds:
            return
        self._cursor = screen.get_cursor_position(self.layout.current_window)
        self._rows = [Row(screen.data_buffer[y]) for y in range(screen.height)]
        if self.is_tmux:  # there, a cell that was ever written belongs to the line, erased or not
            for row, old in zip(self._rows, before, strict=False):
                row.used = max(row.used, old.used)


class Row:
    """One row of the picture as the terminal keeps it: its cells, and how many of them are in use."""

    def __init__(self, cells: Mapping[int, Char]) -> None:
        self._cells = cells
        self.used = max(
            (at + cell.width for at, cell in cells.items() if cell.char.strip()), default=0
        )

    def folds(self, columns: int, before: int) -> int:
        """Return how often the row is folded at `columns` before its cell number `before`."""
        folds = at = x = 0
        while x < min(self.used, before + 1):
            cell = self._cells.get(x)
            size = max(cell.width, 1) if cell is not None else 1
            if at + size > columns:
                folds, at = folds + 1, 0
            at, x = at + size, x + size
        return folds


def added_rows(rows: Sequence[Row], cursor: Point, columns: int) -> int:
    """Return by how many rows folding at `columns` has pushed the cursor down in the picture."""
    above = sum(row.folds(columns, row.used) for row in rows[: cursor.y])
    return above + sum(row.folds(columns, cursor.x) for row in rows[cursor.y : cursor.y + 1])
