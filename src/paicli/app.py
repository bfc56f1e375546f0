"""The composition root: knows everybody, does nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from paicli import config, log, secrets, undo
from paicli.agent.events import Notice
from paicli.agent.interrupt import Interruptible
from paicli.agent.plan_review import Always, Choice
from paicli.config import Settings
from paicli.display import Note
from paicli.errors import ConfigError
from paicli.extensions.steering import Steering
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.providers import ModelProfile
from paicli.options import Options
from paicli.policy.trust import Trust
from paicli.rig import Rig, assemble, demo_profile, open_session
from paicli.session.store import SessionStore
from paicli.text import visible
from paicli.toolbox import load_ahead
from paicli.ui.actions import Actions
from paicli.ui.headless import Headless
from paicli.ui.models import Models
from paicli.ui.piped import read_piped_stdin


def run(options: Options, overrides: Mapping[str, str]) -> int:
    """Carry out what the command line asks for and return the exit code."""
    trust = Trust(config.home_directory(os.environ), options.root)
    state = trust.state()
    trusted = state.trusted if options.headless else _ask_trust(trust)
    loaded = config.load(options.root, os.environ, overrides, trusted=trusted)
    settings = loaded.settings
    for provider in settings.providers.values():
        secrets.remember(provider.api_key)
    log.start(settings)
    if options.headless:
        for warning in loaded.warnings:
            _to_stderr(warning)
        if ignored := [name for name in state.covered if name != ".env" and not trusted]:
            _to_stderr(t("approval.trust_ignored", names=", ".join(ignored[:12])))
        return _run_headless(options, settings)
    return _run_terminal(options, settings, loaded.warnings)


def doctor(root: Path, provider: str) -> int:
    """Print what is configured, installed and reachable, or what one provider really does.

    The exit code is 0 when nothing is broken.
    """
    from paicli.ui.doctor import findings, probed, reachable, report

    trust = Trust(config.home_directory(os.environ), root)
    loaded = config.load(root, os.environ, {}, trusted=trust.state().trusted)
    if provider:
        return report(asyncio.run(probed(loaded.settings, provider)))
    local = findings(loaded.settings, loaded.warnings)
    return report([*local, *asyncio.run(reachable(loaded.settings))])


def _ask_trust(trust: Trust) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(t("terminal.needs_terminal"))
    from paicli.ui.ask_trust import ask_trust

    return ask_trust(trust)


def _run_headless(options: Options, settings: Settings) -> int:
    if options.prompt.lstrip().startswith("/"):
        from paicli.ui.undo_headless import is_undo_command

        if is_undo_command(options.prompt):
            return _take_back(options, settings)
    profile = demo_profile() if options.demo else providers.select(settings, options.model)
    if profile is None:
        raise ConfigError(t("cli.no_model"))
    piped = read_piped_stdin(_to_stderr)
    submitted = options.prompt or piped
    goes_on = options.approve_plan and (options.continue_newest or bool(options.resume))
    if not submitted.strip() and not goes_on:
        raise ConfigError(t("cli.no_prompt"))
    text = (
        f"{options.prompt}\n\n<stdin>\n{piped}\n</stdin>" if options.prompt and piped else submitted
    )
    return asyncio.run(_headless(options, settings, profile, text, submitted))


def _take_back(options: Options, settings: Settings) -> int:
    store = SessionStore(settings.home, settings.root)
    goes_on = options.continue_newest or options.resume
    opens = (lambda emit: open_session(options, store, "", emit)) if goes_on else None
    return undo.take_back(options.prompt, options.output_format, settings, opens)


async def _headless(
    options: Options, settings: Settings, profile: ModelProfile, text: str, submitted: str
) -> int:
    runs = Interruptible()
    listener = Headless(options.output_format, sys.stdout, sys.stderr, on_closed=runs.cancel)
    plans = Always(Choice.RUN if options.approve_plan else Choice.KEEP)
    files = undo.Files(settings, listener.on_event, lambda: rig.session)
    rig = assemble(
        options, settings, profile, listener.on_event, plans, extensions=files.extensions()
    )
    listener.start(rig.session.id, profile.model, str(options.root))
    if text and (left := rig.interrupted_plan("plan.offer_headless")):
        listener.on_event(Notice("plan_left", left))
    rig.client.when_sent = load_ahead
    try:
        with runs.signals(rig.processes.end_all):
            work = rig.run(text, submitted) if text else rig.planner.go_on()
            result = await runs.run(work)
    finally:
        files.close()
        await rig.close()
    return listener.finish(result, rig.session.id)


def _run_terminal(options: Options, settings: Settings, warnings: Sequence[str]) -> int:
    if options.resume == "":
        from paicli.ui.choose_session import choose_session

        summaries = SessionStore(settings.home, settings.root).summaries()
        options = replace(options, resume=choose_session(summaries))
    return asyncio.run(_terminal(options, settings, warnings))


async def _terminal(options: Options, settings: Settings, warnings: Sequence[str]) -> int:
    from paicli.ui.choose_session import resumed_remarks
    from paicli.ui.plan_command import plan_command
    from paicli.ui.plan_review import PlanPerson
    from paicli.ui.repl import run_repl
    from paicli.ui.safety_commands import SafetyCommands
    from paicli.ui.session_commands import SessionCommands
    from paicli.ui.terminal import Terminal
    from paicli.ui.undo_commands import UndoCommands

    profile = None if options.demo else providers.select(settings, options.model)
    notices = list(warnings)
    if profile is None:
        profile = demo_profile()
        notices.append(t("cli.demo_chosen" if options.demo else "cli.demo_model"))
    terminal = Terminal()
    steering = Steering(terminal.pending.take)
    files = undo.Files(settings, terminal.on_event, lambda: rig.session)
    extensions = (steering, *files.extensions())
    person, plans = terminal.reviewer, PlanPerson(terminal.reviewer)
    rig = assemble(options, settings, profile, terminal.on_event, plans, person, extensions)
    if left := rig.interrupted_plan("plan.offer"):
        notices.append(left)
    remarks = [Note(text) for text in resumed_remarks(rig.session)]
    taking_back = UndoCommands(files.history, terminal.reviewer.review, files.tell_model)
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
    try:
        return await run_repl(
            rig,
            _actions(rig, settings),
            terminal,
            options.prompt,
            more_commands=(
                *sessions.commands(),
                *safety.commands(),
                *taking_back.commands(),
                plan_command(lambda: rig.planner),
            ),
            notices=[*(Note(text, "warning") for text in notices), *remarks],
        )
    finally:
        files.close()
        await rig.close()


def _actions(rig: Rig, settings: Settings) -> Actions:
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
        load_ahead=load_ahead,
        run_command=rig.toolbox.run_command,
        editing=settings.editing,
        notify=settings.notify,
        lines_only=settings.screen == "lines",
    )


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"paicli: {visible(line)}", file=sys.stderr)
