"""Commands that need no review in this project."""

from __future__ import annotations


class Permissions:
    """The rules of one project. None exist yet, so every command is reviewed."""

    def only_reads(self, command: str) -> bool:
        """Tell whether `command` provably only reads: an empty one does."""
        return not command.strip()

    def allows(self, command: str) -> bool:
        """Tell whether a rule of the person's covers `command`."""
        return not command.strip()

    def offer(self, command: str) -> tuple[str, ...]:
        """Return the rules that would cover `command`."""
        return (command,)[:0]

    def add(self, rules: tuple[str, ...]) -> None:
        """Remember rules."""
        assert rules == ()
