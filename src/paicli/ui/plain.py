"""Display values as plain text, for pipes and files."""

from __future__ import annotations

from collections.abc import Sequence

from paicli.display import Choice, Code, Diff, Display, Note, Table
from paicli.text import one_line, visible, width


def as_text(shown: Sequence[Display]) -> str:
    """Return what is shown as lines of text; nothing is cut or folded."""
    parts: list[str] = []
    for value in shown:
        match value:
            case Note(text):
                parts.append(visible(text))
            case Diff(text=text) | Code(text=text):
                parts.append(visible(text).rstrip("\n"))
            case Table():
                parts.append("\n".join(_rows(value)))
            case Choice(question):
                parts.append(visible(question))
    tables = any(isinstance(value, Table) for value in shown)
    return ("\n\n" if tables else "\n").join(parts)


def _rows(table: Table) -> list[str]:
    head = [table.columns] if any(table.columns) else []
    rows = [tuple(map(one_line, row)) for row in (*head, *table.rows)]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (room - width(cell)) for cell, room in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
