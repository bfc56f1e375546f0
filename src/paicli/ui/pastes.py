"""Long pastes: a few words stand for them in the prompt, and they are sent whole."""

from __future__ import annotations

from paicli.i18n import t

_LONG_LINES = 10
_LONG_CHARACTERS = 2_000


class Pastes:
    """The pastes of the message that is being written, by what stands for them."""

    def __init__(self) -> None:
        self._by_placeholder: dict[str, str] = {}

    def placeholder(self, text: str) -> str:
        """Return what to put into the prompt for a pasted `text`: itself when it is short."""
        lines = text.count("\n") + 1
        if lines < _LONG_LINES and len(text) < _LONG_CHARACTERS:
            return text
        name, number = t("terminal.pasted", count=lines), 1
        while name in self._by_placeholder and self._by_placeholder[name] != text:
            number += 1
            name = t("terminal.pasted_again", count=lines, number=number)
        self._by_placeholder[name] = text
        return name

    def __bool__(self) -> bool:
        return bool(self._by_placeholder)

    def length_at_end(self, text: str) -> int:
        """Return the length of the placeholder that `text` ends with, 0 for none."""
        return max((len(name) for name in self._by_placeholder if text.endswith(name)), default=0)

    def whole(self, text: str) -> str:
        """Return `text` with the pastes in place of what stands for them."""
        for name, pasted in self._by_placeholder.items():
            text = text.replace(name, pasted)
        return text
