"""The slash commands that take file changes back, and show what they were."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from paicli.agent.file_changes import FileChange, Preview, Restored, SnapshotStatus, TakesBack
from paicli.display import Display, Note, Table
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.policy.approval import ReviewRequest, Verdict
from paicli.policy.modes import Effect
from paicli.text import one_line
from paicli.ui.commands import Command, Setting
from paicli.ui.session_commands import age

_SHOWN = 40
_MEGABYTE = 1024 * 1024
_ACTIONS = {"created": "+", "changed": "~", "deleted": "−"}

Ask = Callable[[ReviewRequest], Awaitable[Verdict]]


class UndoCommands:
    """What `/undo`, `/redo`, `/restore`, `/diff` and `/snapshot` do.

    `files` is asked for when a command needs it, `ask` puts a question to the person, `tell_model` adds a message to the conversation.
    """

    def __init__(
        self, files: Callable[[], TakesBack], ask: Ask, tell_model: Callable[[str], None]
    ) -> None:
        self._open = files
        self._ask = ask
        self._tell_model = tell_model

    @property
    def _files(self) -> TakesBack:
        return self._open()

    def commands(self) -> tuple[Command, ...]:
        """Return the rows for the table of commands."""
        return (
            Command("undo", "", "command.undo", self._undo),
            Command("redo", "", "command.redo", self._redo),
            Command("restore", "[N]", "command.restore", self._restore),
            Command("diff", "[N]", "command.diff", self._diff),
            Command(
                "snapshot",
                "[status]",
                "command.snapshot",
                self._snapshot,
                choices=lambda _: ("status",),
            ),
        )

    async def offer(self, at: Setting, session: str, place: int) -> bool:
        """Offer to take along the files of the messages behind the `place`-th of a session, if there are any."""
        count = await asyncio.to_thread(self._files.since, session, place)
        if count:
            at.screen.say(Note(t("undo.rewound", count=count)))
            await self._take_back(at, "restore", count)
        return bool(count)

    async def _undo(self, at: Setting, _argument: str) -> None:
        await self._take_back(at, "undo", 1)

    async def _redo(self, at: Setting, _argument: str) -> None:
        await self._take_back(at, "redo", 1)

    async def _restore(self, at: Setting, argument: str) -> None:
        if not argument:
            at.screen.say(await asyncio.to_thread(history_table, self._files))
        else:
            await self._take_back(at, "restore", number_of("restore", argument))

    async def _take_back(self, at: Setting, kind: str, count: int) -> None:
        plan = await asyncio.to_thread(self._files.plan, kind, count)
        at.screen.say(*preview(plan))
        if plan.files and not await self._agrees(kind, t("undo.apply")):
            at.screen.say(Note(t("undo.not_asked")))
            return
        if plan.conflicts and await self._agrees(kind, t("undo.force"), grave=True):
            plan = await asyncio.to_thread(lambda: self._files.plan(kind, count, force=True))
        done = await asyncio.to_thread(self._files.carry_out, plan)
        at.screen.say(Note(outcome(kind, done)))
        if done.files:
            self._tell_model(done.for_model)

    async def _agrees(self, kind: str, question: str, *, grave: bool = False) -> bool:
        request = ReviewRequest(f"/{kind}", Effect.WRITE, {}, question, "", own=True, grave=grave)
        return (await self._ask(request)).allowed

    async def _diff(self, at: Setting, argument: str) -> None:
        number = number_of("diff", argument) if argument else None
        diffs = await asyncio.to_thread(self._files.diffs, number)
        for diff in diffs:
            at.screen.say(Note(f"{one_line(diff.path)} · +{diff.added} −{diff.removed}"), diff)
        if not diffs:
            at.screen.say(Note(t("undo.no_entries")))

    async def _snapshot(self, at: Setting, _argument: str) -> None:
        at.screen.say(Note(status_text(await asyncio.to_thread(self._files.status))))


def number_of(name: str, argument: str) -> int:
    """Return the number that a command was given. Raises PaiCliError when it is none."""
    try:
        return int(argument)
    except ValueError:
        raise PaiCliError(t("undo.usage_number", name=name)) from None


def line_of(change: FileChange) -> tuple[str, str, str]:
    """Return a change as words: what was done, to which path, and the lines."""
    lines = f"+{change.added} −{change.removed}" if change.added or change.removed else ""
    action = f"{_ACTIONS[change.action]} {t(f'undo.{change.action}')}"
    return action, one_line(change.path), lines


def preview(plan: Preview) -> list[Display]:
    """Return what taking something back would do, for the person to look at."""
    shown: list[Display] = []
    if plan.about:
        shown.append(Note(one_line(plan.about)))
    if plan.files:
        columns = (t("undo.column_action"), t("undo.column_path"), t("undo.column_lines"))
        rows = [line_of(change) for change in plan.files[:_SHOWN]]
        if len(plan.files) > _SHOWN:
            rows.append(("…", f"+{len(plan.files) - _SHOWN}", ""))
        shown.append(Table(columns, tuple(rows)))
    elif not plan.conflicts and not plan.not_kept:
        shown.append(Note(t("undo.nothing_left")))
    if plan.conflicts:
        shown.append(Note(t("undo.conflict_note", paths=_names(plan.conflicts)), "warning"))
    if plan.not_kept:
        shown.append(Note(t("undo.not_kept_note", paths=_names(plan.not_kept)), "warning"))
    return shown


def outcome(kind: str, done: Restored) -> str:
    """Return one line about what was done."""
    return t(f"undo.{kind}_done", count=len(done.files))


def _names(paths: Sequence[str]) -> str:
    names = [one_line(path) for path in paths]
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")


def history_table(files: TakesBack) -> Display:
    """Return what was done to the files, newest first, as a table."""
    past = files.history()
    if not past:
        return Note(t("undo.no_entries"))
    names = ("number", "when", "files", "task")
    rows = tuple(
        (
            str(entry.number),
            age(entry.time),
            str(entry.files),
            t(f"undo.kind_{entry.kind}", text=one_line(entry.text)),
        )
        for entry in past[:_SHOWN]
    )
    return Table(tuple(t(f"undo.column_{name}") for name in names), rows)


def status_text(status: SnapshotStatus) -> str:
    """Return how snapshots are kept, in words."""
    if status.off:
        return t("undo.off", reason=status.off)
    lines = [
        t("undo.status", paths=status.paths, entries=status.entries, folder=status.folder),
        t(
            "undo.bytes",
            used=f"{status.bytes / _MEGABYTE:.1f}",
            most=status.max_bytes // _MEGABYTE,
            days=status.max_days,
        ),
        t(
            "undo.left_out",
            names=" ".join(status.left_out),
            size=status.largest_file // _MEGABYTE,
        ),
    ]
    if status.excludes:
        lines.append(t("undo.more_excludes", names=" ".join(status.excludes)))
    return "\n".join(one_line(line) for line in lines)
