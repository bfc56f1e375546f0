"""Markdown to rich: nothing is swallowed, nothing framed, everything fits the width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import (
    BlockQuote,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    Paragraph,
    TableDataElement,
    TableElement,
)
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from paicli.ui.flow import Columns, Flow, Verbatim

CODE_THEME = "ansi_dark"
"""The sixteen colours of the person's own terminal theme, so that it suits light and dark ones."""
_RULE = 40

_PARSER = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["image", "reference", "html_block", "html_inline", "entity"])
)


def code(text: str, language: str) -> Verbatim:
    """Return `text` with the colours of its language; without any for one that is not known."""
    drawn = Syntax("", language or "text", theme=CODE_THEME, background_color="default").highlight(
        text.expandtabs(4)
    )
    drawn.rstrip()
    exact = Verbatim()
    exact.append_text(drawn)
    return exact


class _Code(CodeBlock):
    """A code block without padding or background: what is copied is the code."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield code(str(self.text).rstrip(), self.lexer_name)


class _Paragraph(Paragraph):
    """A paragraph whose lines end where words do, in Chinese too."""

    def on_enter(self, context: MarkdownContext) -> None:
        super().on_enter(context)
        self.text = Flow(justify="left")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Heading(Heading):
    """A heading on the left."""

    def on_enter(self, context: MarkdownContext) -> None:
        super().on_enter(context)
        self.text = Flow(justify="left")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Rule(HorizontalRule):
    """A thin line, short enough for a window that becomes narrower."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(options.max_width, _RULE), style="markdown.hr")


class _Item(ListItem):
    """An item whose text hangs behind its mark. Items come one by one: numbers below 100 line up."""

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._behind(
            Segment(" • ", console.get_style("markdown.item.bullet")), console, options
        )

    def render_number(
        self,
        console: Console,
        options: ConsoleOptions,
        number: int,
        last_number: int,  # noqa: ARG002  the signature is rich's
    ) -> RenderResult:
        style = console.get_style("markdown.item.number")
        return self._behind(Segment(f"{number:>2}. ", style), console, options)

    def _behind(self, mark: Segment, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = len(mark.text)
        inner = options.update(width=max(options.max_width - indent, 4))
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield mark
            yield from line
            yield Segment.line()
            mark = Segment(" " * indent)


class _Quote(BlockQuote):
    """A quote that ends where its text ends."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(options.max_width - 2, 4))
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment("▌ ", self.style)
            yield from line
            yield Segment.line()


class _Cell(TableDataElement):
    """A cell of a table."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content = Flow(justify=justify)


class _Table(TableElement):
    """A table that fits: in columns, or as records where it is too narrow for them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        titles = (
            [cell.content for cell in self.header.row.cells]
            if self.header and self.header.row
            else []
        )
        for title in titles:
            title.stylize("markdown.table.header")
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        yield Columns(titles, rows)


class Prose(Markdown):
    """A block of Markdown from a model; the text must have gone through `paicli.text.visible`."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "hr": _Rule,
        "list_item_open": _Item,
        "th_open": _Cell,
        "td_open": _Cell,
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
