"""One task without a terminal, `-p`: a part of the composition root."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence

from paicli import undo
from paicli.agent.events import Event, Notice
from paicli.agent.interrupt import Interruptible
from paicli.agent.plan_review import Always, Choice
from paicli.config import Loaded, Settings
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.providers import ModelProfile
from paicli.options import Options
from paicli.rig import assemble, open_session
from paicli.session.store import SessionStore
from paicli.text import visible
from paicli.toolbox import load_ahead
from paicli.ui.headless import Headless
from paicli.ui.piped import read_piped_stdin
from paicli.ui.waiting import Waiting


def run(options: Options, loaded: Loaded, ignored: Sequence[str]) -> int:
    """Carry out one task and return the exit code. `ignored`: what the folder brings and is not trusted."""
    for warning in loaded.warnings:
        _to_stderr(warning)
    if ignored:
        _to_stderr(t("approval.trust_ignored", names=", ".join(ignored[:12])))
    settings = loaded.settings
    if options.prompt.lstrip().startswith("/"):
        from paicli.ui.undo_headless import is_undo_command

        if is_undo_command(options.prompt):
            return _take_back(options, settings)
    profile = (
        providers.demo_profile() if options.demo else providers.select(settings, options.model)
    )
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
    shown = profile or providers.demo_profile()
    rig = assemble(options, settings, shown, emit, plans, extensions=files.extensions())
    commands = HeadlessCommands(
        rig,
        actions(rig),
        more_commands(rig, files, Nobody()),
        lambda: (rig.context_used(), rig.bill.tokens),
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


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"paicli: {visible(line)}", file=sys.stderr)
