"""Values to text with colours, at a width: the only door to rich, which is imported at first use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from io import StringIO
from threading import Thread

from paicli.ui.shown import Shown


class Ink:
    """Draws values as lines for a terminal.

    `plain`: no colours and Markdown as it was written (NO_COLOR, TERM=dumb).
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "") in ("", "dumb")

    def lines(self, value: Shown, width: int, *, full: bool = False) -> list[str]:
        """Return the lines of `value`, none wider than `width` cells. `full`: nothing shortened."""
        from rich.console import Console

        from paicli.ui import blocks

        console = Console(
            file=StringIO(),
            force_terminal=True,
            color_system=None if self.plain else "auto",
            width=max(width, 10),
            theme=blocks.THEME,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        with console.capture() as capture:
            console.print(blocks.drawn(value, plain=self.plain, full=full, width=console.width))
        return [line.rstrip(" ") for line in capture.get().strip("\n").split("\n")]

    def warm_up(self) -> None:
        """Import rich beside everything else, while the model is still thinking."""
        if "rich.console" not in sys.modules:
            Thread(target=import_module, args=("paicli.ui.blocks",), daemon=True).start()

    def is_shortened(self, value: Shown) -> bool:
        """Tell whether there is more to `value` than `lines` shows."""
        from paicli.ui import blocks

        return blocks.is_shortened(value)
