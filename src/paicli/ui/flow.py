"""Text and tables that fit any width: rich wraps Chinese like one long word, and squeezes columns to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderResult
from rich.containers import Lines
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from paicli.text import breaks, longest_word
from paicli.text import width as cells

_GAP = 3
_WIDEST_WORD = 24
"""Cells of a word for which a column is kept wide; a longer one is cut."""
_NARROWEST = 10
"""Cells that a column is not squeezed below when it wants more."""


_LOOKED_AT = 2_000
"""Characters of a cell that are looked at to choose the widths."""


class Flow(Text):
    """Text that is wrapped between words, and between Chinese characters."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Return the lines at a width."""
        if no_wrap or self.no_wrap:
            return super().wrap(
                console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=True
            )
        lines = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(tab_size)
            pieces = line.divide(breaks(line.plain, width))
            for piece in pieces:
                piece.rstrip_end(width)
            side = justify or self.justify
            if side in ("right", "center"):  # the others would only add blanks at the end
                pieces.justify(console, width, justify=side, overflow="fold")
            lines.extend(pieces)
        return lines


class Verbatim(Text):
    """Text that is cut exactly at the width, as a terminal does it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        """Yield the lines."""
        room = max(options.max_width, 2)
        for line in self.split(allow_blank=True):
            line.expand_tabs(4)
            for piece in line.divide(_cuts(line.plain, room)):
                yield from piece.render(console, end="\n")


def _cuts(line: str, room: int) -> list[int]:
    if line.isascii():
        return list(range(room, len(line), room))
    places, used = [], 0
    for place, character in enumerate(line):
        size = cells(character)
        if used + size > room:
            places.append(place)
            used = 0
        used += size
    return places


class Columns:
    """A table: a head, and rows that are apart by columns alone.

    Where even the narrowest columns do not fit, each row becomes a record of one line a cell.
    Without any title there is no head.
    """

    def __init__(self, titles: Sequence[Text], rows: Sequence[Sequence[Text]]) -> None:
        self._titles = titles
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table."""
        room = options.max_width
        columns = zip(self._titles, *self._rows, strict=True)
        extremes = [_extremes(column, room) for column in columns]
        has_head = any(title.plain for title in self._titles)
        if not has_head:  # names of facts leave most of the room to the facts
            least, wanted = extremes[0]
            extremes[0] = (least, max(least, min(wanted, 2 * room // 5)))
        widths = _fitting(extremes, room)
        if widths is None:
            yield from self._records(room)
            return
        table = Table(
            box=box.SIMPLE_HEAD if has_head else None,
            padding=(0, 1) if has_head else (0, _GAP, 0, 0),
            show_edge=False,
            show_header=has_head,
            pad_edge=False,
            border_style="dim",
        )
        for title, size in zip(self._titles, widths, strict=True):
            justify = title.justify or "left"
            table.add_column(title, width=size, justify=justify, overflow="fold")
        for row in self._rows:
            table.add_row(*row)
        yield table

    def _records(self, room: int) -> RenderResult:
        margin = min(max((cells(title.plain) for title in self._titles), default=0), room // 3)
        for place, row in enumerate(self._rows):
            if place:
                yield Text("")
            for title, cell in zip(self._titles, row, strict=True):
                record = Table.grid(padding=(0, 2, 0, 0))
                record.add_column(width=margin)
                record.add_column(overflow="fold")
                head = title.copy()
                head.justify = None
                record.add_row(head, cell)
                yield record


def _extremes(column: Sequence[Text], room: int) -> tuple[int, int]:
    """Return how narrow a column may become, and how wide it wants to be."""
    lines = [line for cell in column for line in cell.plain[:_LOOKED_AT].split("\n")]
    wanted = min(max(map(cells, lines)), room)
    longest = max(map(longest_word, lines))
    return min(wanted, max(min(longest, _WIDEST_WORD), _NARROWEST)), wanted


def _fitting(extremes: Sequence[tuple[int, int]], room: int) -> list[int] | None:
    """Return a width for each column, the widest ones squeezed first; None when they cannot fit."""
    room -= _GAP * (len(extremes) - 1)
    least = [low for low, _ in extremes]
    widths = [high for _, high in extremes]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max(
            (place for place in range(len(widths)) if widths[place] > least[place]),
            key=lambda place: widths[place],
        )
        widths[widest] -= 1
    return widths
