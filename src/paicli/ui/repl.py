"""The conversation at the terminal: the prompt with its live region, or lines alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

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
    if actions.lines_only or os.environ.get("TERM", "") in ("", "dumb"):
        from paicli.ui.lines import Lines

        return await Lines(turns, ink).run(first_prompt)
    from paicli.ui.desk import Desk

    return await Desk(turns, ink).run(first_prompt)
