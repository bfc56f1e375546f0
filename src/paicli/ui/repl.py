"""The conversation at the terminal: the prompt with its live region, or lines alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from paicli.display import Note
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.text import clean
from paicli.ui.actions import Actions, RunsTurns
from paicli.ui.commands import Command
from paicli.ui.ink import Ink
from paicli.ui.statusbar import short_folder
from paicli.ui.terminal import Terminal
from paicli.ui.turns import Turns
from paicli.ui.welcome import welcome


async def run_repl(
    agent: RunsTurns,
    actions: Actions,
    terminal: Terminal,
    first_prompt: str = "",
    *,
    more_commands: Sequence[Command] = (),
    notices: Sequence[Note] = (),
) -> int:
    """Talk with the person until they leave; return the exit code of the program.

    The agent emits to `terminal.on_event` and asks `terminal.reviewer`. `more_commands` are the
    rooms' own; `notices` are shown under the first screen. Raises ConfigError without a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(t("terminal.needs_terminal"))
    ink = Ink(os.environ)
    width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
    folder = short_folder(actions.root)
    mode = agent.approval.mode.value
    sys.stdout.write(welcome(agent.client.profile.model, folder, mode, width, plain=ink.plain))
    sys.stdout.flush()
    turns = Turns(agent, actions, terminal, more_commands)
    turns.say(*notices)
    first_prompt = clean(first_prompt).strip()
    talk = _talk(turns, ink, lines_only=actions.lines_only)
    with _ending_signals(turns) as ended_by:
        code = await talk.run(first_prompt)
    return 128 + ended_by[0] if ended_by else code


class _Talks(Protocol):
    async def run(self, first_prompt: str) -> int: ...


def _talk(turns: Turns, ink: Ink, *, lines_only: bool) -> _Talks:
    if lines_only or os.environ.get("TERM", "") in ("", "dumb"):
        from paicli.ui.lines import Lines

        return Lines(turns, ink)
    from paicli.ui.desk import Desk

    return Desk(turns, ink)


@contextmanager
def _ending_signals(turns: Turns) -> Iterator[list[int]]:
    """Leave in good order on TERM and HUP; yield the list that the signal's number is put into."""
    loop = asyncio.get_running_loop()
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        turns.leave()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        yield ended_by
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
