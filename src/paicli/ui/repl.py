"""The conversation at the terminal: the prompt with its live region, or lines alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.loading import load
from paicli.text import clean
from paicli.ui.first import FirstScreen, Room
from paicli.ui.rawtty import raw_terminal
from paicli.ui.statusbar import short_folder
from paicli.ui.theme import chosen, for_light
from paicli.ui.welcome import welcome

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


async def run_repl(
    first: FirstScreen, room: Room, first_prompt: str = "", *, at_once: bool = False
) -> int:
    """Talk with the person until they leave; return the exit code of the program.

    The room is opened when the first prompt stands; `at_once`: before. Raises ConfigError without a
    terminal, and what opening the room raises.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(t("terminal.needs_terminal"))
    prompt = clean(first_prompt).strip()
    if first.lines_only or _is_dumb():
        return await _in_lines(first, room, prompt)
    return await _at_the_desk(first, room, prompt, at_once=at_once or bool(prompt))


def _is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb")


async def _in_lines(first: FirstScreen, room: Room, prompt: str) -> int:
    from paicli.ui.lines import Lines

    turns = room.open()
    _show_welcome(first)
    lines = Lines(turns, first.theme)
    with _ending_signals(turns.leave) as ended_by:
        await lines.run(prompt)
    return 128 + ended_by[0] if ended_by else 0


async def _at_the_desk(first: FirstScreen, room: Room, prompt: str, *, at_once: bool) -> int:
    turns = room.open() if at_once else None
    with raw_terminal(sys.stdin.fileno()) as typed_ahead:
        _show_welcome(first)
        from paicli.ui.front import Behind, Front

        def open_desk(front: Front) -> Behind:
            load("paicli.ui.desk")
            from paicli.ui.desk import Desk

            desk = Desk(front, turns or room.open(), first.theme)
            if prompt:
                desk.submit_first(prompt)
            return desk

        front = Front(first, room, open_desk)
        with _ending_signals(front.leave) as ended_by:
            await front.run(typed_ahead, at_once=at_once)
    return 128 + ended_by[0] if ended_by else 0


def _show_welcome(first: FirstScreen) -> None:
    width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
    theme = chosen(os.environ, first.theme)
    text = welcome(first.model, short_folder(first.root), first.mode, width, plain=theme == "none")
    sys.stdout.write(for_light(text) if theme == "light" else text)
    sys.stdout.flush()


@contextmanager
def _ending_signals(leave: Callable[[], None]) -> Iterator[list[int]]:
    """Leave in good order on TERM, HUP and QUIT; yield the list that the signal's number is put into."""
    loop = asyncio.get_running_loop()
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        leave()

    for number in _ENDING:
        loop.add_signal_handler(number, end, number)
    try:
        yield ended_by
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
