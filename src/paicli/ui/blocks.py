"""Display values and entries of the conversation, drawn with rich.

Everything here may be foreign: markup is off, and every string goes through `visible` or `one_line`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text
from rich.theme import Theme

from paicli.agent.plan_progress import Status
from paicli.agent.plan_report import heading, task_lines
from paicli.display import Choice, Code, Diff, Note, Table
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.text import cut, one_line, visible, wrapped
from paicli.text import width as cells
from paicli.ui import prose
from paicli.ui.flow import Columns, Flow, Verbatim
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
from paicli.ui.words import tool_word

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
        # in a group, since rich makes plain text of any text that it is handed by itself
        console.print(Group(drawn(value, plain=plain, full=full, width=console.width)))
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


def is_shortened(value: Shown, width: int) -> bool:
    """Tell whether `full` would show more than is shown at this width."""
    match value:
        case Diff(text=text):
            return sum(1 for _ in _numbered(text.splitlines())) > _DIFF_LINES
        case Code(text=text):
            return text.count("\n") > _CODE_LINES
        case Thought(text=text):
            return bool(text.strip())
        case Proposed(whole=whole):
            return not whole
        case Worked():
            return _output(value, width)[1]
        case _:
            return False


def _said(text: str) -> RenderableType:
    return _marked(Text("› ", style="bold cyan"), Flow(visible(text), style="bold"))


def _marked(mark: Text, text: Text) -> RenderableType:
    """Return text that hangs behind a mark of two cells."""
    grid = Grid.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(mark, text)
    return grid


def _answer(source: str, *, plain: bool) -> RenderableType:
    source = visible(source)
    return Flow(source) if plain else prose.Prose(source)


def _thought(value: Thought, *, full: bool) -> RenderableType:
    line = Text(f"✻ {t('terminal.thought', seconds=_seconds(value.seconds))}", style="dim")
    if full:
        text = Flow(visible(value.text.strip()), style="dim italic")
        return Group(line, Padding(text, (0, 0, 0, 2)))
    return line


def _worked(value: Worked, *, full: bool, width: int) -> Iterator[RenderableType]:
    glyph, style = _GLYPHS[value.outcome]
    went_well = value.outcome == "ok" and value.name == _COMMAND
    details = [one_line(value.summary)] if value.summary and not went_well else []
    if value.seconds >= 1 and (went_well or value.name != _COMMAND):
        details.append(_seconds(value.seconds))
    yield _line(glyph, style, tool_word(value.name), value.subject, details, width)
    if full:
        text = visible(value.output).rstrip("\n").expandtabs(4)
        if text:
            yield Padding(Verbatim(text, style="dim"), (0, 0, 0, _indent(width)))
        return
    yield from _output(value, width)[0]


def _output(value: Worked, width: int) -> tuple[list[Text], bool]:
    """Return the lines that are shown under a call, and whether that is not all of them.

    What a tool says is wrapped; what a command prints keeps its lines, the last of which matter most.
    """
    margin, room = " " * _indent(width), max(width - _indent(width) - 1, 8)
    lines = [visible(line).expandtabs(4) for line in value.output.splitlines()]
    from_end = value.name == _COMMAND and value.outcome != "refused"
    limit = _OUTPUT_LINES[value.outcome]
    if not from_end:
        lines = [piece for line in lines[: limit + 1] for piece in wrapped(line, room)]
    hidden = len(lines) - limit
    shown = lines[-limit:] if from_end else lines[:limit]
    texts = [Text(f"{margin}{cut(line, room)}", style="dim") for line in shown]
    if hidden > 0:
        texts.insert(0 if from_end else limit, _more(hidden, margin))
    return texts, hidden > 0 or any(cells(line) > room for line in shown)


def _indent(width: int) -> int:
    """Return the blanks before what belongs to a call."""
    return 4 if width >= 50 else 2


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
    line.append(f" {cut(one_line(subject), max(room, 4))}" if subject else "")
    line.append(end, style="dim" if style == "green" else style)
    return line


def _looked(calls: tuple[Worked, ...], width: int) -> RenderableType:
    """Return reads in one line, those of a kind side by side."""
    if len(calls) == 1:
        return next(iter(_worked(calls[0], full=False, width=width)))
    kinds: dict[str, list[str]] = {}
    for call in calls:
        kinds.setdefault(tool_word(call.name), []).append(one_line(call.subject).strip())
    parts = [(word, ", ".join(subjects)) for word, subjects in kinds.items()]
    line = Text.assemble(("✓", "green"))
    for place, (word, subjects) in enumerate(parts):
        line.append(" " if place == 0 else " · ", style="dim")
        line.append(word, style="bold")
        line.append(f" {subjects}")
    if cells(line.plain) > width:
        count = f" ({len(calls)})"
        line = line[: len(cut(line.plain, width - cells(count))) - 1]
        line.append(f"…{count}", style="dim")
    return line


def _more(hidden: int, margin: str) -> Text:
    words = f"{margin}… {t('terminal.more_lines', count=hidden)}"
    return Text(words, style="dim", no_wrap=True, overflow="ellipsis")


def _asked(value: Asked, width: int) -> Iterator[RenderableType]:
    request = value.request
    if request.own:
        yield _marked(
            Text("▌ ", style="yellow"), Flow(visible(request.subject), style="bold yellow")
        )
        return
    head = Flow(t(f"approval.wants_{request.effect}"), style="bold yellow")
    yield _marked(Text("▌ ", style="bold yellow"), head)
    if request.reason:
        yield _marked(Text("▌ ", style="yellow"), Flow(visible(request.reason), style="yellow"))
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
    yield Flow(visible(plan.summary), style="bold")
    yield Text(heading(plan), style="dim")
    lines = task_lines(plan)
    shown = lines if whole else lines[:_PLAN_LINES]
    for line in shown:
        yield Flow(line if whole else cut(line, width))
    if len(lines) > len(shown):
        yield _more(len(lines) - len(shown), "  ")
    if whole and plan.findings:
        yield Flow(f"\n{visible(plan.findings)}", style="dim")


def _diff(value: Diff, *, full: bool, width: int) -> Iterator[RenderableType]:
    lines = [*_numbered(visible(value.text).splitlines())]
    margin = " " * _indent(width)
    digits = max((len(number) for number, *_ in lines), default=1)
    limit = len(lines) if full else _DIFF_LINES
    for number, sign, text in lines[:limit]:
        style = {"+": "green", "-": "red"}.get(sign, "dim")
        prefix = f"{margin}{number:>{digits}} "
        if not sign:
            yield Text(f"{margin}{'⋮':>{digits}}", style="dim")
            continue
        for part, piece in enumerate(_folded(text, width - len(prefix) - 2)):
            line = Text(no_wrap=True)
            line.append(prefix if part == 0 else " " * len(prefix), style="dim")
            line.append(f"{sign if part == 0 else ' '} {piece}", style=style)
            yield line
    if len(lines) > limit:
        yield _more(len(lines) - limit, margin)


def _numbered(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the number, the sign and the text of each line of a diff; all empty between two hunks."""
    old = new = 0
    for line in lines:
        if line.startswith(("--- ", "+++ ")) and old == new == 0:
            continue
        if hunk := _HUNK.match(line):
            if old or new:
                yield "", "", ""
            old, new = int(hunk[1]), int(hunk[2])
        elif not line.startswith("\\"):
            sign = line[:1] or " "
            yield str(old if sign == "-" else new), sign, line[1:].expandtabs(4)
            old += sign != "+"
            new += sign != "-"


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
    return Group(shown, _more(len(lines) - _CODE_LINES, "  "))


def _table(value: Table) -> RenderableType:
    titles = [Flow(one_line(column), style="bold") for column in value.columns]
    return Columns(titles, [[Flow(visible(cell)) for cell in row] for row in value.rows])


def _note(value: Note) -> RenderableType:
    glyph, style = _NOTES.get(value.kind, _NOTES["info"])
    return _marked(Text(f"{glyph} ", style=style), Flow(visible(value.text), style=style))


def _choice(value: Choice) -> RenderableType:
    answers = "  ".join(f"[{one_line(key)}] {one_line(text)}" for key, text in value.answers)
    return Flow(f"{visible(value.question)}\n{answers}")


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return t("terminal.seconds", count=f"{seconds:.1f}" if seconds < 1 else f"{seconds:.0f}")
    return t("terminal.minutes", minutes=int(seconds) // 60, seconds=int(seconds) % 60)
