"""The application at the bottom of a window whose width changes.

Many terminals fold the lines that no longer fit a narrower window, so that the prompt's own picture
grows by rows that prompt_toolkit knows nothing of: it would erase too little, and leave copies behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Screen
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


class InlineOutput(Vt100_Output):
    """A terminal's output whose erased lines are gone."""

    def erase_down(self) -> None:
        """Erase from the cursor to the end of the screen."""
        self.write_raw(_ERASE_DOWN)


class InlineApplication(Application[None]):
    """An application that erases all of its picture after the window has become narrower."""

    terminal_folds = False
    _columns = 0

    def catch_up(self) -> None:
        """Move the cursor to where prompt_toolkit takes it to be; call before anything is drawn."""
        columns = self.output.get_size().columns
        before, self._columns = self._columns, columns
        screen = self.renderer.last_rendered_screen
        if not self.terminal_folds or screen is None or columns >= before:
            return
        cursor = screen.get_cursor_position(self.layout.current_window)
        self.output.cursor_up(added_rows(screen, cursor.x, cursor.y, columns))
        self.renderer.erase(leave_alternate_screen=False)

    def _on_resize(self) -> None:
        self.catch_up()
        super()._on_resize()

    def _redraw(self, render_as_done: bool = False) -> None:
        self.catch_up()
        super()._redraw(render_as_done)


def added_rows(screen: Screen, x: int, y: int, columns: int) -> int:
    """Return by how many rows folding at `columns` has pushed the cursor down in the picture."""
    added = x // max(columns, 1)
    for row in range(y):
        cells = screen.data_buffer[row]
        used = max((at + cell.width for at, cell in cells.items() if cell.char.strip()), default=0)
        added += max(used - 1, 0) // max(columns, 1)
    return added
