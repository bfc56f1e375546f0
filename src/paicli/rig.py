"""The wiring of an agent and all around it: the part of the composition root that both ends share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from paicli.agent.agent import Agent
from paicli.agent.events import Emit, Notice, TurnResult
from paicli.agent.extension import Extension
from paicli.agent.hooks import Hooks
from paicli.agent.plan_journal import Journal
from paicli.agent.plan_review import PlanReviewer, Plans
from paicli.config import Settings
from paicli.errors import ConfigError
from paicli.extensions.project_notes import ProjectNotes
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.bill import Bill, Item
from paicli.llm.client import ChatClient
from paicli.llm.providers import ModelProfile
from paicli.options import Options
from paicli.policy.approval import Approval, Reviewer
from paicli.policy.audit import Audit
from paicli.policy.classifier import ApprovalClassifier
from paicli.policy.modes import Mode
from paicli.policy.path_guard import PathGuard
from paicli.policy.permissions import Permissions
from paicli.policy.sandbox import CommandSandbox
from paicli.session import spending
from paicli.session.store import Session, SessionStore
from paicli.toolbox import Toolbox
from paicli.tools.processes import Processes
from paicli.tools.results import ResultStore


@dataclass
class Rig:
    """A wired agent, and what is exchanged or closed around it."""

    settings: Settings
    agent: Agent
    new_planner: Callable[[], Plans]
    session: Session
    store: SessionStore
    processes: Processes
    sandbox: CommandSandbox
    results: ResultStore
    classifier: ApprovalClassifier
    toolbox: Toolbox
    bill: Bill
    """What the session has cost, with its earlier runs."""
    bill_of_run: Bill
    closing: list[asyncio.Task[None]] = field(default_factory=list)

    @cached_property
    def planner(self) -> Plans:
        """What carries requests out as plans, made when the first of them needs it."""
        return self.new_planner()

    @property
    def client(self) -> ChatClient:
        """Return the client of the model that is talked to."""
        return self.agent.client

    @property
    def approval(self) -> Approval:
        """Return the rule that decides what may happen."""
        return self.agent.approval

    def context_used(self) -> int:
        """Return about how many tokens the next request takes; 0 before the conversation begins."""
        return self.agent.context()["used"] if self.agent.conversation.messages else 0

    async def run(self, text: str, submitted: str | None = None) -> TurnResult:
        """Carry out one request in the way of the mode: as a plan in plan mode, else at once."""
        how = self.planner if self.approval.mode is Mode.PLAN else self.agent
        return await how.run(text, submitted)

    def use_model(self, profile: ModelProfile) -> None:
        """Go on with another model; the conversation stays."""
        for old in (self.agent.client, self.classifier):
            self.closing.append(asyncio.create_task(old.aclose()))
        self.agent.client = _client(profile, self.settings, self.bill)
        self.classifier = _classifier(self.agent.client, self.settings, self.bill)
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
        self.bill.begin(spending.recorded(session.ledger.path))

    def new_conversation(self) -> None:
        """Begin an empty session; the old one stays on disk."""
        self.switch_session(self.store.create(self.agent.client.profile.model))

    async def close(self) -> None:
        """End every process, the connections and the session file."""
        self.processes.end_all()
        self.session.ledger.close()
        await asyncio.gather(self.agent.client.aclose(), self.classifier.aclose(), *self.closing)


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
    session = open_session(options, store, profile.model, emit)
    processes = Processes()
    sandbox = _sandbox(settings, emit)
    bill_of_run = Bill()

    def on_the_bill(item: Item) -> None:
        bill_of_run.count(item)
        spending.record(rig.session.ledger, item)

    bill = Bill(on_the_bill)
    bill.begin(spending.recorded(session.ledger.path) if session.resumed else ())
    client = _client(profile, settings, bill)
    classifier = _classifier(client, settings, bill)
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
    toolbox = Toolbox(guard, settings, processes, sandbox, extensions)
    agent = Agent(
        client,
        toolbox.registry(results),
        approval,
        session.conversation,
        settings,
        emit,
        extensions,
    )

    def new_planner() -> Plans:
        from paicli.agent.plan_crew import FreshAgents
        from paicli.agent.planner import Planner

        return Planner(
            agent,
            FreshAgents(agent, toolbox.all, toolbox.reading(), results, settings, extensions),
            plans,
            Journal(lambda: rig.session.ledger),
            Hooks(extensions, emit),
            emit,
            settings.plan_max_replans,
        )

    rig = Rig(
        settings,
        agent,
        new_planner,
        session,
        store,
        processes,
        sandbox,
        results,
        classifier,
        toolbox,
        bill,
        bill_of_run,
    )
    return rig


def _sandbox(settings: Settings, emit: Emit) -> CommandSandbox:
    def tell(problem: str) -> None:
        emit(Notice("no_sandbox", t("approval.sandbox_missing", problem=problem)))

    return CommandSandbox(settings.root, settings.command_sandbox, when_missing=tell)


def open_session(options: Options, store: SessionStore, model: str, emit: Emit) -> Session:
    if options.resume == "":
        raise ConfigError(t("cli.resume_needs_id"))
    if options.continue_newest or options.resume:
        session = store.resume(options.resume, model)
    else:
        session = store.create(model)
    if session.forked:
        emit(Notice("session_forked", t("session.forked", id=session.id)))
    if session.skipped:
        emit(Notice("session_damaged", t("session.skipped", count=session.skipped)))
    session.ledger.on_failure = lambda reason: emit(
        Notice("session_not_saved", t("session.not_saved", reason=reason))
    )
    return session


def _client(profile: ModelProfile, settings: Settings, bill: Bill) -> ChatClient:
    if profile.provider == "demo":
        from paicli.llm import demo

        return ChatClient(profile, settings, demo.demo_transport(), bill)
    return ChatClient(profile, settings, bill=bill)


def _classifier(client: ChatClient, settings: Settings, bill: Bill) -> ApprovalClassifier:
    review = providers.for_review(client.profile, settings.classifier_model)
    return ApprovalClassifier(_client(review, settings, bill))
