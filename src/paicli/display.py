"""What a person may be shown, as values that any listener can draw its own way."""

from __future__ import annotations

from paicli.values import value


@value
class Note:
    """A short remark; `kind` is `info`, `warning` or `error`."""

    text: str
    kind: str = "info"


@value
class Diff:
    """A change to one file: its path, the unified diff and the number of lines added and removed."""

    path: str
    text: str
    added: int
    removed: int


@value
class Code:
    """Text in a language, drawn as it is; `language` may be empty."""

    text: str
    language: str = ""


@value
class Table:
    """Rows under column titles; every row is as long as `columns`. Facts have titles that are all empty."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@value
class Choice:
    """A question with its possible answers, each a key and what it stands for."""

    question: str
    answers: tuple[tuple[str, str], ...]


Display = Note | Diff | Code | Table | Choice
