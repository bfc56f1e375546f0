"""Values to text with colours, at a width: the only door to rich, which is imported at first use."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from threading import Thread

from paicli.loading import load
from paicli.ui import theme
from paicli.ui.shown import Answer, Shown

_FENCE_LINE = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.M)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


class Ink:
    """Draws values as lines for a terminal.

    `plain`: no colours and Markdown as it was written (NO_COLOR, TERM=dumb, the theme `none`).
    """

    def __init__(self, environ: Mapping[str, str], wanted: str = "auto") -> None:
        self._environ = environ
        self.use_theme(wanted)

    def use_theme(self, wanted: str) -> None:
        """Draw in the colours of a theme from now on; `auto`: what the terminal says."""
        self.theme = theme.chosen(self._environ, wanted)
        self.plain = self.theme == "none"

    def lines(self, value: Shown, width: int, *, full: bool = False) -> list[str]:
        """Return the lines of `value`, none wider than `width` cells. `full`: nothing shortened."""
        from paicli.ui import blocks

        lines = blocks.printed(value, width, colours=not self.plain, plain=self.plain, full=full)
        if isinstance(value, Answer) and not self.plain and _lost(value.source, lines):
            lines = blocks.printed(value, width, colours=True, plain=True, full=full)
        return [theme.for_light(line) for line in lines] if self.theme == "light" else lines

    def warm_up(self) -> None:
        """Import rich beside everything else, while the model is still thinking."""
        if "rich.console" not in sys.modules:
            Thread(target=load, args=("paicli.ui.blocks",), daemon=True).start()

    def is_shortened(self, value: Shown, width: int) -> bool:
        """Tell whether there is more to `value` than `lines` shows at this width."""
        from paicli.ui import blocks

        return blocks.is_shortened(value, width)


def _lost(source: str, lines: list[str]) -> bool:
    """Tell whether drawing swallowed text, as it does below many levels and in very wide tables."""
    wanted = sum(map(str.isalnum, _FENCE_LINE.sub("", source)))
    shown = sum(map(str.isalnum, _COLOUR.sub("", "".join(lines))))
    return shown < 0.8 * wanted
