"""What is behind the first prompt of a conversation, wired: a part of the composition root."""

from __future__ import annotations

from collections.abc import Sequence

from paicli import undo
from paicli.config import Settings
from paicli.display import Note
from paicli.extensions.steering import Steering
from paicli.i18n import t
from paicli.llm.providers import ModelProfile
from paicli.options import Options
from paicli.rig import assemble
from paicli.slash import actions, more_commands
from paicli.ui.plan_review import PlanPerson
from paicli.ui.terminal import Terminal
from paicli.ui.turns import Turns


class Room:
    """An agent at the terminal. `turns` is what the terminal drives."""

    def __init__(
        self, options: Options, settings: Settings, profile: ModelProfile, notices: Sequence[str]
    ) -> None:
        terminal = Terminal()
        steering = Steering(terminal.pending.take)
        files = undo.Files(settings, terminal.on_event, lambda: rig.session)
        extensions = (steering, *files.extensions())
        person, plans = terminal.reviewer, PlanPerson(terminal.reviewer)
        rig = assemble(options, settings, profile, terminal.on_event, plans, person, extensions)
        self._files, self._rig = files, rig
        self.turns = Turns(rig, actions(rig), terminal, more_commands(rig, files, person))
        self.turns.say(*(Note(text, "warning") for text in notices))
        if rig.session.resumed:
            self.turns.say(Note(t("session.resumed", id=rig.session.id)))
            self.turns.recall(rig.session.conversation.messages)
        if left := rig.interrupted_plan("plan.offer"):
            self.turns.say(Note(left, "warning"))

    async def close(self) -> None:
        """End every process, the connections and the session file."""
        self._files.close()
        await self._rig.close()
