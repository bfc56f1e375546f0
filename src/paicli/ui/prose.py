"""Markdown to rich: nothing is swallowed, nothing framed, everything fits the width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    BlockQuote,
    CodeBlock,
    Heading,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

CODE_THEME = "ansi_dark"
"""The sixteen colours of the person's own terminal theme, so that it suits light and dark ones."""

_PARSER = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["image", "reference", "html_block", "html_inline", "entity"])
)


def code(text: str, language: str) -> Text:
    """Return `text` with the colours of its language; without any for one that is not known."""
    drawn = Syntax("", language or "text", theme=CODE_THEME, background_color="default").highlight(
        text.expandtabs(4)
    )
    drawn.rstrip()
    drawn.overflow = "fold"
    return drawn


class _Code(CodeBlock):
    """A code block without padding or background: what is copied is the code."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield code(str(self.text).rstrip(), self.lexer_name)


class _Heading(Heading):
    """A heading on the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Quote(BlockQuote):
    """A quote that ends where its text ends."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(options.max_width - 2, 4))
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment("▌ ", self.style)
            yield from line
            yield Segment.line()


class _Table(TableElement):
    """A table without outer border, its rows apart by columns alone."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        heads = self.header.row.cells if self.header and self.header.row else []
        for cell in heads:
            title = cell.content.copy()
            title.stylize("bold")
            table.add_column(title, justify=cell.justify, overflow="fold")
        for row in self.body.rows if self.body else []:
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class Prose(Markdown):
    """A block of Markdown from a model; the text must have gone through `paicli.text.visible`."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {
        "heading_open": _Heading,
        "blockquote_open": _Quote,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", justify="default", hyperlinks=False)
        self.markup = source
        self.parsed = list(_as_written(_PARSER.parse(source)))


def _as_written(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens with line ends kept, and with links whose text is their address as plain text."""
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.children:
            token.children = list(_without_bare_links(_as_written(token.children)))
        yield token


def _without_bare_links(tokens: Iterable[Token]) -> Iterator[Token]:
    kept = list(tokens)
    skip_close = False
    for place, token in enumerate(kept):
        if token.type == "link_open":
            inside = kept[place + 1] if place + 1 < len(kept) else token
            skip_close = inside.content == token.attrs.get("href")
            if skip_close:
                continue
        elif token.type == "link_close" and skip_close:
            skip_close = False
            continue
        yield token
