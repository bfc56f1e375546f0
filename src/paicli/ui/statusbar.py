"""The line under the prompt; on a narrow screen the less important parts give way."""

from __future__ import annotations

from pathlib import Path

from paicli.config_files import user_home
from paicli.i18n import t
from paicli.text import one_line
from paicli.text import width as cells
from paicli.values import value

Piece = tuple[str, str]


@value
class Status:
    """What the bar tells; `branch` and `cost` may be empty, `window` 0 when unknown."""

    mode: str
    model: str
    folder: str
    branch: str = ""
    context_used: int = 0
    window: int = 0
    input: int = 0
    output: int = 0
    cost: str = ""
    queued: int = 0
    message: str = ""


def amount(tokens: int) -> str:
    """Return a number of tokens in a few characters."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            number = f"{tokens / size:.1f}".removesuffix(".0")
            return f"{number}{unit}"
    return str(tokens)


def bar(status: Status, width: int) -> list[Piece]:
    """Return the pieces of the bar, together at most `width` cells."""
    if status.message:
        return _fitting([(0, ("class:status.message", status.message))], width)
    share = 100 * status.context_used // status.window if status.window else 0
    full = "class:status.full" if share >= 90 else "class:status.high" if share >= 70 else ""
    tokens = t(
        "terminal.status_tokens",
        input=amount(status.input),
        output=amount(status.output),
    )
    candidates: list[tuple[int, Piece]] = [
        (0, (f"class:mode.{status.mode}", status.mode.upper())),
        (1, ("class:status.model", one_line(status.model))),
    ]
    if status.queued:
        candidates.append(
            (2, ("class:status.queue", t("terminal.status_queue", count=status.queued)))
        )
    if status.context_used and status.window:
        context = t("terminal.status_context", percent=share, window=amount(status.window))
        candidates.append((3, (full, context)))
    if status.input:
        candidates.append((6, ("", tokens)))
    if status.cost:
        candidates.append((5, ("", status.cost)))
    candidates.append((4, ("", one_line(status.folder))))
    if status.branch:
        candidates.append((7, ("", one_line(status.branch))))
    candidates.append((8, ("class:dim", t("terminal.status_mode_key"))))
    return _fitting(candidates, width)


def _fitting(candidates: list[tuple[int, Piece]], width: int) -> list[Piece]:
    """Leave out the least important pieces until the rest fits; the first of all is cut if need be."""
    separator = " · "
    kept = list(candidates)
    while len(kept) > 1 and _length(kept, separator) > width:
        kept.remove(max(kept, key=lambda candidate: candidate[0]))
    pieces: list[Piece] = []
    for _, (style, text) in kept:
        if pieces:
            pieces.append(("class:dim", separator))
        pieces.append((style, text))
    if _length(kept, separator) > width:
        style, text = pieces[0]
        return [(style, text[: max(width // 2, 0)])]
    return pieces


def _length(candidates: list[tuple[int, Piece]], separator: str) -> int:
    texts = sum(cells(text) for _, (_, text) in candidates)
    return texts + len(separator) * (len(candidates) - 1)


def short_folder(folder: Path) -> str:
    """Return a folder as people write it: from ~, and only its end when it is long."""
    home = user_home()
    text = f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
    text = "~" if text == "~/." else text
    return text if cells(text) <= 32 else f"…/{folder.name}"
