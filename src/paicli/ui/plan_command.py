"""`/plan`: one task in plan mode, whatever the mode is, or the rest of an interrupted plan."""

from __future__ import annotations

from collections.abc import Callable

from paicli.agent.events import TurnResult
from paicli.agent.plan_review import Plans
from paicli.display import Note
from paicli.i18n import t
from paicli.ui.commands import Command, Setting


def plan_command(planner: Callable[[], Plans]) -> Command:
    """Return the row for the table of commands."""

    async def plan(at: Setting, argument: str) -> None:
        if argument:
            at.screen.take_turn(argument, planner().run)
        elif planner().unfinished() is not None:
            at.screen.take_turn("", go_on)
        else:
            at.screen.say(Note(t("plan.nothing_left")))

    async def go_on(_text: str, _submitted: str) -> TurnResult:
        return await planner().go_on()

    return Command("plan", "[TASK]", "plan.command", plan, asks_model=True)
