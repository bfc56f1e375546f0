"""`<think>…</think>` at the start of the content: reasoning that a server did not set apart."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTags:
    """Splits content into reasoning and text.

    The tag counts at the very start of a reply alone (or right after such a block), and only when
    no reasoning came in a field of its own: anywhere else a `<think>` is a part of the answer.
    """

    def __init__(self) -> None:
        self.watching = True
        """False: everything that still comes is text."""
        self._inside = False
        self._thought = False
        self._held = ""

    def reasoning_came(self) -> None:
        """The server sets reasoning apart by itself."""
        if not self._inside and not self._held:
            self.watching = False

    def feed(self, text: str) -> tuple[str, str]:
        """Return the reasoning and the text that are certain now."""
        text, self._held = self._held + text, ""
        reasoning = ""
        while self.watching and text:
            if self._inside:
                thought, closed, after = text.partition(_CLOSE)
                if not closed:
                    kept = _overlap(text, _CLOSE)
                    self._held = text[len(text) - kept :]
                    return reasoning + text[: len(text) - kept], ""
                reasoning += thought
                self._inside, text = False, after
                continue
            start = text.lstrip()
            if start.startswith(_OPEN):
                self._inside = self._thought = True
                text = start[len(_OPEN) :]
            elif _OPEN.startswith(start):
                self._held = text
                return reasoning, ""
            else:
                self.watching = False
                if self._thought:
                    text = start
        return reasoning, text

    def close(self) -> tuple[str, str]:
        """Return what was still held when the reply ended."""
        held, self._held = self._held, ""
        if self._inside:
            return held, ""
        return "", "" if self._thought else held


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may begin `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
