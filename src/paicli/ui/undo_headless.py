"""`paicli -p /undo` and its kin: taking file changes back without a terminal and without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paicli.agent.events import FilesChanged, TurnResult
from paicli.agent.file_changes import FileChange, Restored, TakesBack
from paicli.display import Diff, Display, Note, Table
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.text import one_line
from paicli.ui.undo_commands import (
    history_table,
    line_of,
    number_of,
    outcome,
    preview,
    status_text,
)

_NAMES = ("undo", "redo", "restore", "diff", "snapshot")


def is_undo_command(text: str) -> bool:
    """Tell whether the whole text is one of the commands about file changes."""
    words = text.split()
    return 1 <= len(words) <= 2 and words[0].startswith("/") and words[0][1:] in _NAMES


def run_undo_command(
    text: str,
    files: TakesBack,
    tell_model: Callable[[str], None],
    emit: Callable[[FilesChanged], None],
) -> TurnResult:
    """Carry a command out and return what is printed.

    Nobody can be asked, so what the person changed since is left alone; then it is partly done.
    """
    name, _, argument = text.strip()[1:].partition(" ")
    try:
        if name == "diff":
            number = number_of(name, argument) if argument.strip() else None
            shown: Sequence[Display] = files.diffs(number) or [Note(t("undo.no_entries"))]
            return TurnResult("done", _as_text(shown))
        if name == "snapshot":
            return TurnResult("done", status_text(files.status()))
        if name == "restore" and not argument.strip():
            return TurnResult("done", _as_text([history_table(files)]))
        count = number_of(name, argument) if name == "restore" else 1
        plan = files.plan(name, count)
        done = files.carry_out(plan)
    except PaiCliError as error:
        return TurnResult("error", error=str(error), exit_code=1)
    if done.files:
        tell_model(done.for_model)
        emit(FilesChanged(done.files))
    warnings = [one for one in preview(plan) if isinstance(one, Note) and one.kind == "warning"]
    text = "\n".join([outcome(name, done), *map(_line, done.files), _as_text(warnings)]).strip()
    return _result(text, done)


def _result(text: str, done: Restored) -> TurnResult:
    if done.left:
        return TurnResult("partial", text, exit_code=3)
    return TurnResult("done", text)


def _line(change: FileChange) -> str:
    return "  ".join(filter(None, line_of(change)))


def _as_text(shown: Sequence[Display]) -> str:
    lines: list[str] = []
    for value in shown:
        match value:
            case Note(text):
                lines.append(text)
            case Diff(text=text):
                lines.append(text.rstrip("\n"))
            case Table(_, rows):
                lines += ["  ".join(one_line(cell) for cell in row) for row in rows]
            case _:
                continue
    return "\n".join(lines)
