"""The composition root: knows everybody, does nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paicli import config, log, secrets, undo
from paicli.agent.agent import Agent
from paicli.agent.events import Emit, Notice, TurnResult
from paicli.agent.extension import Extension
from paicli.agent.hooks import Hooks
from paicli.agent.interrupt import Interruptible
from paicli.agent.plan_crew import FreshAgents
from paicli.agent.plan_journal import Journal
from paicli.agent.plan_review import Always, Choice, PlanReviewer
from paicli.agent.planner import Planner
from paicli.config import Settings
from paicli.display import Note
from paicli.errors import ConfigError
from paicli.extensions.project_notes import ProjectNotes
from paicli.extensions.steering import Steering
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.client import ChatClient
from paicli.llm.providers import ModelProfile
from paicli.policy.approval import Approval, Effect, Mode, Reviewer
from paicli.policy.audit import Audit
from paicli.policy.classifier import ApprovalClassifier
from paicli.policy.path_guard import PathGuard
from paicli.policy.permissions import Permissions
from paicli.policy.sandbox import CommandSandbox
from paicli.policy.trust import Trust
from paicli.session.store import Session, SessionStore
from paicli.text import visible
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.files import file_tools
from paicli.tools.processes import Processes
from paicli.tools.registry import ToolRegistry
from paicli.tools.results import ResultStore
from paicli.tools.shell import ExecuteCommandParameters, shell_tool
from paicli.ui.actions import Actions
from paicli.ui.headless import Headless
from paicli.ui.models import Models
from paicli.ui.piped import read_piped_stdin
from paicli.ui.undo_headless import is_undo_command


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. `resume` is an id, empty for «let me choose», None for no."""

    prompt: str = ""
    headless: bool = False
    output_format: str = "text"
    mode: Mode = Mode.AUTO
    approve_plan: bool = False
    model: str = ""
    root: Path = Path()
    continue_newest: bool = False
    resume: str | None = None
    allow: tuple[str, ...] = ()
    demo: bool = False


@dataclass(slots=True)
class Rig:
    """A wired agent, and what is exchanged or closed around it."""

    settings: Settings
    agent: Agent
    planner: Planner
    session: Session
    store: SessionStore
    processes: Processes
    sandbox: CommandSandbox
    results: ResultStore
    classifier: ApprovalClassifier
    shell: Tool[ExecuteCommandParameters]
    closing: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def client(self) -> ChatClient:
        """Return the client of the model that is talked to."""
        return self.agent.client

    @property
    def approval(self) -> Approval:
        """Return the rule that decides what may happen."""
        return self.agent.approval

    async def run(self, text: str, submitted: str | None = None) -> TurnResult:
        """Carry out one request in the way of the mode: as a plan in plan mode, else at once."""
        how = self.planner if self.approval.mode is Mode.PLAN else self.agent
        return await how.run(text, submitted)

    def use_model(self, profile: ModelProfile) -> None:
        """Go on with another model; the conversation stays."""
        for old in (self.agent.client, self.classifier):
            self.closing.append(asyncio.create_task(old.aclose()))
        self.agent.client = _client(profile, self.settings)
        self.classifier = _classifier(self.agent.client, self.settings)
        self.agent.approval.classifier = self.classifier
        self.results.fit(profile.context_window)

    def interrupted_plan(self, key: str) -> str:
        """Return the words of `key` about a plan that this session left in the middle, or nothing."""
        left = self.planner.unfinished() if self.session.resumed else None
        return t(key, count=left.left, total=len(left.plan.tasks)) if left else ""

    def switch_session(self, session: Session) -> None:
        """Go on with another conversation."""
        self.session.ledger.close()
        self.session = session
        self.agent.open(session.conversation)

    def new_conversation(self) -> None:
        """Begin an empty session; the old one stays on disk."""
        self.switch_session(self.store.create(self.agent.client.profile.model))

    async def close(self) -> None:
        """End every process, the connections and the session file."""
        self.processes.end_all()
        self.session.ledger.close()
        await asyncio.gather(self.agent.client.aclose(), self.classifier.aclose(), *self.closing)


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
    if is_undo_command(options.prompt):
        return _take_back(options, settings)
    profile = _demo_profile() if options.demo else providers.select(settings, options.model)
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
    opens = (lambda emit: _session(options, store, "", emit)) if goes_on else None
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

    profile = None if options.demo else providers.select(settings, options.model)
    notices = list(warnings)
    if profile is None:
        profile = _demo_profile()
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
    sessions = SessionCommands(
        rig.agent, rig.store, lambda: rig.session, rig.switch_session, settings.home
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
                *files.commands(terminal.reviewer),
                plan_command(rig.planner),
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

    async def run_command(command: str, tell: Tell) -> ToolOutput:
        return await rig.shell.run(ExecuteCommandParameters(command=command), tell)

    return Actions(
        root=settings.root,
        home=settings.home,
        model=models.answer,
        model_names=models.names,
        new_conversation=rig.new_conversation,
        run_command=run_command,
        editing=settings.editing,
        notify=settings.notify,
        lines_only=settings.screen == "lines",
    )


def assemble(
    options: Options,
    settings: Settings,
    profile: ModelProfile,
    emit: Emit,
    plans: PlanReviewer,
    person: Reviewer | None = None,
    extensions: Sequence[Extension] = (),
) -> Rig:
    """Wire an agent for one session: new, or the one that the options name."""
    guard = PathGuard(settings.root)
    store = SessionStore(settings.home, settings.root)
    session = _session(options, store, profile.model, emit)
    processes = Processes()
    sandbox = CommandSandbox(settings.root, settings.command_sandbox)
    shell = shell_tool(settings.root, settings, processes, sandbox)
    tools: list[Any] = [*file_tools(guard), shell]
    client = _client(profile, settings)
    classifier = _classifier(client, settings)
    approval = Approval(
        options.mode,
        person,
        classifier,
        Audit(settings.home, settings.audit_dir),
        Permissions(settings.home, settings.root, options.allow),
    )
    results = ResultStore(guard, settings.offload_threshold)
    results.fit(profile.context_window)
    extensions = (ProjectNotes(guard, settings.home, trusted=settings.trusted), *extensions)
    for extension in extensions:
        tools += extension.tools()
    agent = Agent(
        client,
        ToolRegistry(tools, results),
        approval,
        session.conversation,
        settings,
        emit,
        extensions,
    )
    looks = shell_tool(settings.root, settings, processes, sandbox, leaves_no_trace=True)
    reading = [*(tool for tool in tools if tool.effect is Effect.READ), looks]
    planner = Planner(
        agent,
        FreshAgents(agent, tools, reading, results, settings, extensions),
        plans,
        Journal(lambda: rig.session.ledger),
        Hooks(extensions, emit),
        emit,
        settings.plan_max_replans,
    )
    rig = Rig(
        settings, agent, planner, session, store, processes, sandbox, results, classifier, shell
    )
    return rig


def _session(options: Options, store: SessionStore, model: str, emit: Emit) -> Session:
    if options.resume == "":
        raise ConfigError(t("cli.resume_needs_id"))
    if options.continue_newest or options.resume:
        session = store.resume(options.resume, model)
    else:
        session = store.create(model)
    if session.forked:
        emit(Notice("session_forked", t("session.forked", id=session.id)))
    session.ledger.on_failure = lambda reason: emit(
        Notice("session_not_saved", t("session.not_saved", reason=reason))
    )
    return session


def _client(profile: ModelProfile, settings: Settings) -> ChatClient:
    if profile.provider == "demo":
        from paicli.llm import demo

        return ChatClient(profile, settings, demo.demo_transport())
    return ChatClient(profile, settings)


def _demo_profile() -> ModelProfile:
    from paicli.llm import demo

    return demo.demo_profile()


def _classifier(client: ChatClient, settings: Settings) -> ApprovalClassifier:
    review = providers.for_review(client.profile, settings.classifier_model)
    return ApprovalClassifier(_client(review, settings))


def _to_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"paicli: {visible(line)}", file=sys.stderr)
