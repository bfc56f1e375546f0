"""The composition root: knows everybody, does nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from paicli import config, log, secrets, undo
from paicli.agent.events import Event, Notice
from paicli.agent.interrupt import Interruptible
from paicli.agent.plan_review import Always, Choice
from paicli.config import Loaded, Settings
from paicli.display import Note
from paicli.errors import ConfigError
from paicli.extensions.steering import Steering
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.providers import ModelProfile
from paicli.options import Options
from paicli.policy.trust import Trust
from paicli.rig import assemble, demo_profile, open_session
from paicli.session.store import SessionStore
from paicli.text import visible
from paicli.toolbox import load_ahead
from paicli.ui.headless import Headless
from paicli.ui.piped import read_piped_stdin
from paicli.ui.waiting import Waiting


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
        return _run_headless(options, loaded)
    return _run_terminal(options, loaded, overrides)


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


def _run_headless(options: Options, loaded: Loaded) -> int:
    settings = loaded.settings
    if options.prompt.lstrip().startswith("/"):
        from paicli.ui.undo_headless import is_undo_command

        if is_undo_command(options.prompt):
            return _take_back(options, settings)
    profile = demo_profile() if options.demo else providers.select(settings, options.model)
    if options.prompt.lstrip().startswith("/"):
        from paicli.ui.commands import is_command

        if is_command(options.prompt):
            return asyncio.run(_headless_command(options, settings, profile))
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
    waiting = Waiting(listener.on_event)
    plans = Always(Choice.RUN if options.approve_plan else Choice.KEEP)
    files = undo.Files(settings, listener.on_event, lambda: rig.session)
    rig = assemble(
        options, settings, profile, waiting.on_event, plans, extensions=files.extensions()
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
        waiting.stop()
        files.close()
        await rig.close()
    return listener.finish(result, rig.session.id, rig.bill_of_run.as_object())


async def _headless_command(
    options: Options, settings: Settings, profile: ModelProfile | None
) -> int:
    """Carry out `-p /command`; the demo model stands in where none is configured and none is asked."""
    from paicli.slash import actions, more_commands
    from paicli.ui.headless_commands import HeadlessCommands, Nobody

    runs = Interruptible()
    listener = Headless(options.output_format, sys.stdout, sys.stderr, on_closed=runs.cancel)

    def emit(event: Event) -> None:
        if not commands.takes(event):
            listener.on_event(event)

    files = undo.Files(settings, emit, lambda: rig.session)
    plans = Always(Choice.RUN if options.approve_plan else Choice.KEEP)
    shown = profile or demo_profile()
    rig = assemble(options, settings, shown, emit, plans, extensions=files.extensions())
    commands = HeadlessCommands(
        rig,
        actions(rig),
        more_commands(rig, files, Nobody()),
        lambda: (rig.agent.context()["used"], rig.bill.tokens),
        has_model=profile is not None,
    )
    try:
        call = commands.call(options.prompt)
        listener.start(rig.session.id, shown.model, str(options.root))
        with runs.signals(rig.processes.end_all):
            result = await runs.run(commands.run(call))
    finally:
        files.close()
        await rig.close()
    return listener.finish(result, rig.session.id, rig.bill_of_run.as_object())


def _run_terminal(options: Options, loaded: Loaded, overrides: Mapping[str, str]) -> int:
    settings = loaded.settings
    if options.resume == "":
        from paicli.ui.choose_session import choose_session

        summaries = SessionStore(settings.home, settings.root).summaries()
        options = replace(options, resume=choose_session(summaries))
    profile = None if options.demo else providers.select(settings, options.model)
    notices = list(loaded.warnings)
    if profile is None and not options.demo:
        settings, profile = _first_start(settings, overrides, notices)
    if profile is None:
        notices.append(t("cli.demo_chosen" if options.demo else "cli.demo_model"))
    return asyncio.run(_terminal(options, settings, profile or demo_profile(), notices))


def _first_start(
    settings: Settings, overrides: Mapping[str, str], notices: list[str]
) -> tuple[Settings, ModelProfile | None]:
    """Let the person enter a key; Enter alone goes on to the demo."""
    from paicli.ui.api_key import ask_for_first_key

    provider = ask_for_first_key(settings.home)
    if not provider:
        return settings, None
    again = config.load(settings.root, os.environ, overrides, trusted=settings.trusted).settings
    try:
        return again, providers.select(again, provider)
    except ConfigError as error:
        notices.append(str(error))
        return again, None


async def _terminal(
    options: Options, settings: Settings, profile: ModelProfile, notices: list[str]
) -> int:
    from paicli.slash import actions, more_commands
    from paicli.ui.choose_session import resumed_remarks
    from paicli.ui.plan_review import PlanPerson
    from paicli.ui.repl import run_repl
    from paicli.ui.terminal import Terminal

    terminal = Terminal()
    steering = Steering(terminal.pending.take)
    files = undo.Files(settings, terminal.on_event, lambda: rig.session)
    extensions = (steering, *files.extensions())
    person, plans = terminal.reviewer, PlanPerson(terminal.reviewer)
    rig = assemble(options, settings, profile, terminal.on_event, plans, person, extensions)
    if left := rig.interrupted_plan("plan.offer"):
        notices.append(left)
    remarks = [Note(text) for text in resumed_remarks(rig.session)]
    try:
        return await run_repl(
            rig,
            actions(rig),
            terminal,
            options.prompt,
            more_commands=more_commands(rig, files, terminal.reviewer),
            notices=[*(Note(text, "warning") for text in notices), *remarks],
        )
    finally:
        files.close()
        await rig.close()


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"paicli: {visible(line)}", file=sys.stderr)
