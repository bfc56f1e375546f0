"""Display values and entries of the conversation, drawn with rich.

Everything here may be foreign: markup is off, and every string goes through `visible` or `one_line`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text
from rich.theme import Theme

from paicli.agent.plan_progress import Status
from paicli.agent.plan_report import heading, task_lines
from paicli.display import Choice, Code, Diff, Note, Table
from paicli.i18n import language, load, t
from paicli.policy.modes import Effect
from paicli.text import cut, one_line, visible
from paicli.text import width as cells
from paicli.ui import prose
from paicli.ui.shown import (
    Answer,
    Asked,
    Looked,
    PlanLine,
    Proposed,
    Said,
    Shown,
    Thought,
    Unfolded,
    Worked,
)

THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.item.bullet": "cyan",
        "markdown.item.number": "cyan",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)

_DIFF_LINES = 40
_CODE_LINES = 40
_OUTPUT_LINES = {"ok": 4, "failed": 10, "refused": 6, "cancelled": 4}
_COMMAND = "execute_command"
"""What a command has to say stands at the end of its output, and its summary tells its time."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_GLYPHS = {
    "ok": ("✓", "green"),
    "failed": ("✗", "red"),
    "refused": ("⊘", "yellow"),
    "cancelled": ("⊘", "yellow"),
}
_PLAN_STYLES = {
    Status.WAITING: "dim",
    Status.RUNNING: "bold cyan",
    Status.DONE: "green",
    Status.FAILED: "red",
    Status.SKIPPED: "dim",
    Status.CANCELLED: "yellow",
}
_PLAN_LINES = 15
_NOTES = {"info": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def printed(value: Shown, width: int, *, colours: bool, plain: bool, full: bool) -> list[str]:
    """Return the lines of `value`, none wider than `width` cells."""
    console = Console(
        file=StringIO(),
        force_terminal=True,
        color_system="auto" if colours else None,
        width=max(width, 10),
        theme=THEME,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(drawn(value, plain=plain, full=full, width=console.width))
    return [line.rstrip(" ") for line in capture.get().strip("\n").split("\n")]


def drawn(  # noqa: C901, PLR0912  one arm a kind of value
    value: Shown, *, plain: bool, full: bool, width: int
) -> RenderableType:
    """Return `value` as rich draws it. `plain`: Markdown as written. `full`: nothing shortened."""
    match value:
        case Unfolded(value=folded):
            return drawn(folded, plain=plain, full=True, width=width)
        case Said(text):
            return _said(text)
        case Answer(source):
            return _answer(source, plain=plain)
        case Thought():
            return _thought(value, full=full)
        case Worked():
            return Group(*_worked(value, full=full, width=width))
        case Looked(calls):
            return _looked(calls, width)
        case Asked():
            return Group(*_asked(value, width))
        case Proposed():
            return Group(*_proposed(value, full=full, width=width))
        case PlanLine(text, status):
            return Text(cut(one_line(text), width), style=_PLAN_STYLES[status], no_wrap=True)
        case Diff():
            return Group(*_diff(value, full=full, width=width))
        case Code():
            return _code(value, full=full)
        case Table():
            return _table(value)
        case Note():
            return _note(value)
        case Choice():
            return _choice(value)


def is_shortened(value: Shown) -> bool:
    """Tell whether `full` would show more."""
    match value:
        case Diff(text=text):
            return text.count("\n") > _DIFF_LINES
        case Code(text=text):
            return text.count("\n") > _CODE_LINES
        case Thought(text=text):
            return bool(text.strip())
        case Proposed(whole=whole):
            return not whole
        case Worked(output=output, outcome=outcome):
            return len(output.splitlines()) > _OUTPUT_LINES[outcome]
        case _:
            return False


def tool_word(name: str) -> str:
    """Return what a tool does in the person's language; its name when it is not one of ours."""
    key = f"terminal.tool_{name}"
    return t(key) if key in load(language()) else one_line(name)


def _said(text: str) -> RenderableType:
    grid = Grid.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text("› ", style="bold cyan"), Text(visible(text), style="bold"))
    return grid


def _answer(source: str, *, plain: bool) -> RenderableType:
    source = visible(source)
    return Text(source, overflow="fold") if plain else prose.Prose(source)


def _thought(value: Thought, *, full: bool) -> RenderableType:
    line = Text(f"✻ {t('terminal.thought', seconds=_seconds(value.seconds))}", style="dim")
    if full:
        return Group(line, Text(visible(value.text.strip()), style="dim italic", overflow="fold"))
    return line


def _worked(value: Worked, *, full: bool, width: int) -> Iterator[RenderableType]:
    glyph, style = _GLYPHS[value.outcome]
    details = [one_line(value.summary)] if value.summary else []
    if value.seconds >= 1 and value.name != _COMMAND:
        details.append(_seconds(value.seconds))
    yield _line(glyph, style, tool_word(value.name), value.subject, details, width)
    lines = [visible(line).expandtabs(4) for line in value.output.splitlines()]
    limit = len(lines) if full else _OUTPUT_LINES[value.outcome]
    hidden = len(lines) - limit
    from_end = value.name == _COMMAND
    if hidden > 0 and from_end:
        yield _more(hidden)
    for line in lines[-limit:] if from_end else lines[:limit]:
        yield Text("  " + (line if full else cut(line, width - 3)), style="dim", overflow="fold")
    if hidden > 0 and not from_end:
        yield _more(hidden)


def _line(
    glyph: str, style: str, word: str, subject: str, details: list[str], width: int
) -> RenderableType:
    """Return one line: what is too long is cut in the subject, and the outcome stays."""
    end = "".join(f" · {detail}" for detail in details)
    end = cut(end, max(width // 2, 12))
    room = width - cells(glyph) - cells(word) - cells(end) - 3
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{glyph} ", style=style)
    line.append(word, style="bold")
    line.append(f" {cut(one_line(subject), max(room, 8))}" if subject else "")
    line.append(end, style="dim" if style == "green" else style)
    return line


def _looked(calls: tuple[Worked, ...], width: int) -> RenderableType:
    if len(calls) == 1:
        return next(iter(_worked(calls[0], full=False, width=width)))
    words = list(dict.fromkeys(tool_word(call.name) for call in calls))
    subjects = ", ".join(one_line(call.subject) for call in calls)
    return _line("✓", "green", " + ".join(words), f"({len(calls)}) {subjects}", [], width)


def _more(hidden: int) -> Text:
    return Text(f"  … {t('terminal.more_lines', count=hidden)}", style="dim")


def _asked(value: Asked, width: int) -> Iterator[RenderableType]:
    request = value.request
    yield Text(f"▌ {t(f'approval.wants_{request.effect}')}", style="bold yellow")
    if request.reason:
        yield Text(f"▌ {visible(request.reason)}", style="yellow", overflow="fold")
    sign = "$ " if request.effect is Effect.COMMAND else ""
    for line in _folded(sign + visible(request.subject).expandtabs(4), width - 2):
        yield Text(f"  {line}", style="bold")
    match request.preview:
        case None:
            return
        case Diff():
            yield from _diff(request.preview, full=True, width=width)
        case preview:
            yield drawn(preview, plain=False, full=True, width=width)


def _proposed(value: Proposed, *, full: bool, width: int) -> Iterator[RenderableType]:
    plan, whole = value.plan, full or value.whole
    yield Text(f"📋 {visible(plan.summary)}", style="bold", overflow="fold")
    yield Text(heading(plan), style="dim")
    lines = task_lines(plan)
    shown = lines if whole else lines[:_PLAN_LINES]
    for line in shown:
        yield Text(line if whole else cut(line, width), overflow="fold")
    if len(lines) > len(shown):
        yield _more(len(lines) - len(shown))
    if whole and plan.findings:
        yield Text(f"\n{visible(plan.findings)}", style="dim", overflow="fold")


def _diff(value: Diff, *, full: bool, width: int) -> Iterator[RenderableType]:
    lines = visible(value.text).splitlines()
    old = new = 0
    shown = 0
    for place, line in enumerate(lines):
        if line.startswith(("--- ", "+++ ")) and old == new == 0:
            continue
        if hunk := _HUNK.match(line):
            if old or new:
                yield Text("     ⋮", style="dim")
            old, new = int(hunk[1]), int(hunk[2])
            continue
        sign, text = line[:1] or " ", line[1:].expandtabs(4)
        if sign == "\\":
            continue
        style = {"+": "green", "-": "red"}.get(sign, "dim")
        number = old if sign == "-" else new
        for part, piece in enumerate(_folded(text, width - 8)):
            prefix = f"{number:>5} {sign} " if part == 0 else " " * 8
            yield Text(prefix + piece, style=style, no_wrap=True)
        old += sign != "+"
        new += sign != "-"
        shown += 1
        if shown == _DIFF_LINES and not full and place + 1 < len(lines):
            yield _more(len(lines) - place - 1)
            return


def _folded(text: str, room: int) -> Iterator[str]:
    """Yield `text` cut into pieces of at most `room` cells, at its line ends and wherever needed."""
    room = max(room, 4)
    for line in text.split("\n"):
        piece: list[str] = []
        used = 0
        for character in line:
            size = cells(character)
            if used + size > room:
                yield "".join(piece)
                piece, used = [], 0
            piece.append(character)
            used += size
        yield "".join(piece)


def _code(value: Code, *, full: bool) -> RenderableType:
    lines = visible(value.text).splitlines()
    if full or len(lines) <= _CODE_LINES:
        return prose.code("\n".join(lines), value.language)
    shown = prose.code("\n".join(lines[:_CODE_LINES]), value.language)
    return Group(shown, _more(len(lines) - _CODE_LINES))


def _table(value: Table) -> RenderableType:
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in value.columns:
        grid.add_column(Text(one_line(column), style="bold"), overflow="fold")
    for row in value.rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    return grid


def _note(value: Note) -> RenderableType:
    glyph, style = _NOTES.get(value.kind, _NOTES["info"])
    grid = Grid.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{glyph} ", style=style), Text(visible(value.text), style=style))
    return grid


def _choice(value: Choice) -> RenderableType:
    answers = "  ".join(f"[{one_line(key)}] {one_line(text)}" for key, text in value.answers)
    return Text(f"{visible(value.question)}\n{answers}", overflow="fold")


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
