"""Streaming Markdown: cuts a growing text into blocks, each of which can be drawn once and for all."""

from __future__ import annotations

import re

from paicli.values import value

_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})(.*)\Z")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")
_LONG_CODE = 100
"""Lines after which a code block is handed over in parts: nobody waits for the end of a long file."""
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|\Z)")


@value
class Block:
    """The source of one finished block; `tight`: it follows the block before without a blank line."""

    source: str
    tight: bool = False


class MarkdownStream:
    """Takes text as it comes and gives back blocks as they end.

    A block ends at a blank line, at the start of another kind of block, and at the end of a code
    fence; a long code block comes in parts. Each item of a list is a block, so that a long list does not wait for its end.
    """

    def __init__(self) -> None:
        self._partial: list[str] = []
        self._lines: list[str] = []
        self._fence = ""
        self._in_item = False
        self._after_item = False
        self._continues = False
        self._done: list[Block] = []

    def feed(self, text: str) -> list[Block]:
        """Take more text; return the blocks that are finished now."""
        if "\n" not in text:
            self._partial.append(text)
            return []
        first, *middle, last = text.replace("\r\n", "\n").split("\n")
        self._take("".join(self._partial) + first)
        for line in middle:
            self._take(line)
        self._partial = [last]
        return self._handed_over()

    def finish(self) -> list[Block]:
        """Take the text as complete; return what is left of it and be ready for another."""
        rest = "".join(self._partial)
        if rest:
            self._take(rest)
        self._end_block()
        self._partial, self._after_item = [], False
        return self._handed_over()

    @property
    def tail(self) -> Block:
        """Return what is unfinished."""
        source = "\n".join([*self._lines, "".join(self._partial)])
        return Block(source.strip("\n"))

    def _handed_over(self) -> list[Block]:
        done, self._done = self._done, []
        return done

    def _take(self, line: str) -> None:
        if self._fence:
            self._lines.append(line)
            stripped = line.strip()
            if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
                self._fence = ""
                if not self._in_item:
                    self._end_block()
            elif len(self._lines) > _LONG_CODE and not self._in_item:
                self._hand_over_code()
        elif not line.strip():
            if self._in_item:
                self._lines.append("")
            else:
                self._end_block()
        else:
            self._take_text(line)

    def _take_text(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence is not None and "`" in fence[3] and fence[2][0] == "`":
            fence = None
        inside_item = self._in_item and line.startswith(("  ", "\t"))
        if not inside_item and self._starts_block(line, is_fence=fence is not None):
            self._end_block()
            self._in_item = _ITEM.match(line) is not None
        self._lines.append(line)
        if fence is not None and (inside_item or len(fence[1]) < 4):
            self._fence = fence[2]
        elif not self._in_item and _HEADING.match(line):
            self._end_block()

    def _hand_over_code(self) -> None:
        opening, fence = self._lines[0], self._fence
        source = "\n".join([*self._lines, fence])
        self._done.append(Block(source, tight=self._continues))
        self._lines, self._continues, self._after_item = [opening], True, False

    def _starts_block(self, line: str, *, is_fence: bool) -> bool:
        if is_fence or _HEADING.match(line) or _ITEM.match(line):
            return True
        return self._in_item and bool(self._lines) and not self._lines[-1]

    def _end_block(self) -> None:
        source = "\n".join(self._lines).strip("\n")
        is_empty_rest = self._continues and len(self._lines) <= 2
        if source.strip() and not is_empty_rest:
            tight = self._continues or (self._in_item and self._after_item)
            self._done.append(Block(source, tight))
            self._after_item = self._in_item
        self._lines = []
        self._continues = False
        self._fence = ""
        self._in_item = False
