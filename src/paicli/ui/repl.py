"""The conversation at the terminal: the prompt with its live region, or lines alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paicli.display import Note
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.text import clean
from paicli.ui.actions import Actions, RunsTurns
from paicli.ui.commands import Command
from paicli.ui.ink import Ink
from paicli.ui.rawtty import raw_terminal
from paicli.ui.statusbar import short_folder
from paicli.ui.terminal import Terminal
from paicli.ui.theme import for_light
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
    turns = Turns(agent, actions, terminal, more_commands)
    talk = _in_lines if actions.lines_only or _is_dumb() else _at_the_desk
    with _ending_signals(turns) as ended_by:
        await talk(turns, clean(first_prompt).strip(), notices)
    return 128 + ended_by[0] if ended_by else 0


def _is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb")


async def _in_lines(turns: Turns, first_prompt: str, notices: Sequence[Note]) -> None:
    from paicli.ui.lines import Lines

    ink = _ink(turns)
    _show_welcome(turns, ink)
    turns.say(*notices)
    await Lines(turns, ink).run(first_prompt)


async def _at_the_desk(turns: Turns, first_prompt: str, notices: Sequence[Note]) -> None:
    with raw_terminal(sys.stdin.fileno()) as typed_ahead:
        ink = _ink(turns)
        _show_welcome(turns, ink)
        turns.say(*notices)
        from paicli.ui.desk import Desk

        await Desk(turns, ink).run(first_prompt, typed_ahead)


def _ink(turns: Turns) -> Ink:
    ink = Ink(os.environ, turns.actions.theme)
    turns.use_theme = ink.use_theme
    return ink


def _show_welcome(turns: Turns, ink: Ink) -> None:
    width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
    model, mode = turns.agent.client.profile.model, turns.agent.approval.mode.value
    folder = short_folder(turns.actions.root)
    first = welcome(model, folder, mode, width, plain=ink.plain)
    sys.stdout.write(for_light(first) if ink.theme == "light" else first)
    sys.stdout.flush()


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
