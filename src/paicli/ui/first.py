"""What the terminal knows before anything is loaded that the first screen does not need."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from paicli.values import value


@value
class FirstScreen:
    """What the first screen shows, and how.

    `root` is the project folder, `home` PaiCLI's own. `editing` is `emacs` or `vi`; `notify` is `off`,
    `bell` or `desktop`; `lines_only` means no live region, for screen readers. `theme` is one of
    `paicli.ui.theme.THEMES`.
    """

    root: Path
    home: Path
    model: str
    mode: str = "auto"
    editing: str = "emacs"
    notify: str = "off"
    lines_only: bool = False
    theme: str = "auto"


class Room(Protocol):
    """All that is behind the first screen."""

    def load(self) -> None:
        """Import what `open` needs. Called in a thread when the first prompt stands, if there is time for it."""

    def open(self) -> Any:
        """Return the `Turns` with an agent behind it; called once, on the event loop.

        Not typed as such: naming the class would load it.
        """

    def load_ahead(self) -> None:
        """Begin, in the background, to load what a turn will need."""
