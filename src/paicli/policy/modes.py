"""How much the person wants to be asked, and what a tool does to the world."""

from __future__ import annotations

from enum import StrEnum


class Effect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"
    COMMAND = "command"


class Mode(StrEnum):
    """How much the person wants to be asked; Shift+Tab cycles in this order."""

    AUTO = "auto"
    PLAN = "plan"
    ASK = "ask"

    def next(self) -> Mode:
        """Return the mode that Shift+Tab switches to."""
        modes = list(Mode)
        return modes[(modes.index(self) + 1) % len(modes)]
