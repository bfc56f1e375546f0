"""The wiring of the slash commands, for the terminal and for `-p`: a part of the composition root."""

from __future__ import annotations

import os

from paicli import config
from paicli.config import Loaded
from paicli.policy.approval import Reviewer
from paicli.policy.trust import Trust
from paicli.rig import Rig
from paicli.ui.actions import Actions
from paicli.ui.commands import Command
from paicli.ui.models import Models
from paicli.ui.plan_command import plan_command
from paicli.ui.safety_commands import SafetyCommands
from paicli.ui.session_commands import SessionCommands
from paicli.ui.settings_commands import SettingsCommands, keep_setting
from paicli.ui.undo_commands import UndoCommands
from paicli.undo import Files


def more_commands(rig: Rig, files: Files, person: Reviewer) -> tuple[Command, ...]:
    """Return all commands but the built-in ones; those that change files ask `person`."""
    settings = rig.settings
    taking_back = UndoCommands(files.history, person.review, files.tell_model)
    sessions = SessionCommands(
        rig.agent,
        rig.store,
        lambda: rig.session,
        rig.switch_session,
        settings.home,
        taking_back.offer,
    )
    safety = SafetyCommands(
        rig.approval.permissions,
        rig.approval.audit,
        rig.processes,
        rig.sandbox,
        Trust(settings.home, settings.root),
    )

    def load() -> Loaded:
        return config.load(settings.root, os.environ, {}, trusted=settings.trusted)

    return (
        *sessions.commands(),
        *safety.commands(),
        *taking_back.commands(),
        *SettingsCommands(load).commands(),
        plan_command(lambda: rig.planner),
    )


def actions(rig: Rig) -> Actions:
    """Return what the terminal may do with the program around it."""
    settings = rig.settings
    models = Models(
        lambda: config.load(settings.root, os.environ, {}, trusted=settings.trusted).settings,
        lambda: rig.client.profile,
        rig.use_model,
    )

    return Actions(
        root=settings.root,
        home=settings.home,
        model=models.answer,
        model_names=models.names,
        new_conversation=rig.new_conversation,
        bill=rig.bill,
        keep_setting=lambda name, value: keep_setting(settings.home, name, value),
        run_command=rig.toolbox.run_command,
    )
