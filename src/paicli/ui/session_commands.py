"""The slash commands about the conversation: its past, its size, its cost."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from paicli.agent.agent import Agent
from paicli.agent.context import Thresholds
from paicli.config_files import expanded
from paicli.display import Note, Table
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.session.conversation import own_words
from paicli.session.export import as_markdown
from paicli.session.store import Session, SessionStore, Summary
from paicli.text import cut, one_line
from paicli.ui.commands import Command, Setting
from paicli.ui.statusbar import amount

_BAR_CELLS = 30


OfferFiles = Callable[[Setting, str, int], Awaitable[bool]]
"""Offers to take back what a session did to files after a number of the person's messages; tells whether
there was something to offer."""


class SessionCommands:
    """What `/sessions`, `/resume`, `/fork`, `/rewind`, `/export`, `/compact`, `/context` and `/usage` do.

    `switch` makes another session the open one: its conversation becomes the agent's.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        current: Callable[[], Session],
        switch: Callable[[Session], None],
        home: Path,
        offer_files: OfferFiles,
    ) -> None:
        self._agent = agent
        self._store = store
        self._current = current
        self._switch = switch
        self._home = home
        self._offer_files = offer_files

    def commands(self) -> tuple[Command, ...]:
        """Return the rows for the table of commands."""
        return (
            Command("sessions", "", "command.sessions", self._sessions, during_task=True),
            Command(
                "resume",
                "[ID]",
                "command.resume",
                self._resume,
                choices=self._ids,
                not_headless="command.resume_headless",
            ),
            Command("fork", "", "command.fork", self._fork),
            Command("rewind", "[N]", "command.rewind", self._rewind),
            Command("export", "[FILE]", "command.export", self._export, during_task=True),
            Command("compact", "[TEXT]", "command.compact", self._compact, asks_model=True),
            Command("context", "", "command.context", self._context, during_task=True),
            Command("usage", "", "command.usage", self._usage, during_task=True),
            Command("debug", "", "command.debug", self._debug, during_task=True),
        )

    def _ids(self, _actions: object) -> list[str]:
        return [summary.id for summary in self._store.summaries()]

    async def _sessions(self, at: Setting, _argument: str) -> None:
        sessions = self._store.summaries()
        if not sessions:
            at.screen.say(Note(t("session.none")))
            return
        columns = tuple(
            t(f"session.column_{name}") for name in ("id", "age", "size", "model", "title")
        )
        rows = tuple(self._row(summary) for summary in sessions)
        at.screen.say(Table(columns, rows))

    def _row(self, summary: Summary) -> tuple[str, ...]:
        is_open = summary.id == self._current().id
        size = t("session.size", messages=summary.messages, kilobytes=summary.size // 1024 + 1)
        return (
            summary.id,
            t("session.open") if is_open else age(summary.changed),
            size,
            one_line(summary.model),
            one_line(summary.title),
        )

    async def _resume(self, at: Setting, argument: str) -> None:
        wanted = argument or next(
            (s.id for s in self._store.summaries(2) if s.id != self._current().id), ""
        )
        if wanted == self._current().id:
            at.screen.say(Note(t("session.already_open")))
            return
        try:
            session = self._store.resume(wanted or None, self._agent.client.profile.model)
        except PaiCliError as error:
            at.screen.say(Note(str(error), "error"))
            return
        self._open(at, session, t("session.resumed", id=session.id))
        if session.skipped:
            at.screen.say(Note(t("session.skipped", count=session.skipped), "warning"))
        at.screen.recall(session.conversation.messages)

    async def _fork(self, at: Setting, _argument: str) -> None:
        model = self._agent.client.profile.model
        session = self._store.fork(self._agent.conversation, model)
        self._open(at, session, t("session.fork_made", id=session.id))

    def _open(self, at: Setting, session: Session, remark: str) -> None:
        self._switch(session)
        at.screen.forget_conversation()
        at.screen.say(Note(remark))

    async def _rewind(self, at: Setting, argument: str) -> None:
        try:
            text = self._agent.conversation.rewind(int(argument or 1))
        except ValueError:
            at.screen.say(Note(t("session.rewind_range"), "error"))
            return
        first = cut(one_line(own_words(text).strip().split("\n")[0]), 80)
        at.screen.say(Note(t("session.rewound", text=first)))
        session = self._current()
        if not await self._offer_files(at, session.id, session.conversation.typed()):
            at.screen.say(Note(t("session.files_stay")))

    async def _export(self, at: Setting, argument: str) -> None:
        path = self._export_path(argument)
        text = as_markdown(self._agent.conversation.messages, f"PaiCLI {self._current().id}")
        try:
            _write_new(path, text)
        except OSError as error:
            reason = error.strerror or str(error)
            at.screen.say(Note(t("session.not_exported", path=path, reason=reason), "error"))
            return
        at.screen.say(Note(t("session.exported", path=path)))

    def _export_path(self, argument: str) -> Path:
        if argument:
            return expanded(argument)
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        return self._home / "exports" / f"session-{stamp}.md"

    async def _compact(self, at: Setting, argument: str) -> None:
        if await self._agent.compact(argument) is None:
            at.screen.say(Note(t("session.nothing_to_compact")))

    async def _context(self, at: Setting, _argument: str) -> None:
        parts = self._agent.context()
        limits = Thresholds.of(parts["window"])
        filled = min(_BAR_CELLS, round(_BAR_CELLS * parts["used"] / parts["window"]))
        bar = "█" * filled + "░" * (_BAR_CELLS - filled)
        share = 100 * parts["used"] // parts["window"]
        at.screen.say(
            Note(f"{bar} {share} % ({amount(parts['used'])} / {amount(parts['window'])})")
        )
        rows = tuple(
            (t(f"session.part_{name}"), amount(parts[name]))
            for name in ("prompt", "tools", "conversation")
        )
        more = (
            (t("session.part_clearing"), amount(limits.clear)),
            (t("session.part_summary"), amount(limits.summarise)),
        )
        at.screen.say(Table((t("session.column_part"), t("session.column_tokens")), rows + more))

    async def _usage(self, at: Setting, _argument: str) -> None:
        usage, cost = at.actions.bill.tokens, at.actions.bill.text()
        text = t(
            "session.usage",
            input=amount(usage.input),
            output=amount(usage.output),
            cached=amount(usage.cached),
        )
        at.screen.say(Note(f"{text} · {cost}" if cost else text))
        if self._agent.cache.misses:
            columns = tuple(t(f"session.column_{name}") for name in ("request", "cause", "tokens"))
            rows = tuple(
                (
                    str(miss.request),
                    t(f"session.miss_{miss.cause}", what=miss.what),
                    amount(miss.tokens),
                )
                for miss in self._agent.cache.misses
            )
            at.screen.say(Note(t("session.misses")), Table(columns, rows))

    async def _debug(self, at: Setting, _argument: str) -> None:
        log, session = self._home / "logs" / "paicli.log", self._current().ledger.path
        at.screen.say(Note(t("session.debug", log=log, session=session)))


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode())


def age(moment: float) -> str:
    """Return how long ago a moment (seconds since the epoch) was."""
    seconds = max(0, int(time.time() - moment))
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return t(f"session.age_{unit}", count=seconds // length)
    return t("session.age_now")
