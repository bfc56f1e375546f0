"""One request on its way through plan, review and execution."""

from __future__ import annotations

from collections.abc import Sequence, Set

from paicli.agent import plan_prompts
from paicli.agent.agent import Agent
from paicli.agent.events import Emit, Event, Notice, PlanProposed, ReplyFinished, TurnResult
from paicli.agent.plan import Plan, Task, parse
from paicli.agent.plan_crew import Crew
from paicli.agent.plan_execution import Execution
from paicli.agent.plan_journal import Journal, Unfinished
from paicli.agent.plan_progress import Progress, Status
from paicli.agent.plan_report import plan_text, report
from paicli.agent.plan_review import Choice, Judgement, PlanReviewer
from paicli.agent.plan_shortcut import is_simple_read
from paicli.agent.plan_tools import PlanDesk
from paicli.errors import PlanError
from paicli.i18n import t
from paicli.llm.deltas import ArgumentsProgress, TextDelta
from paicli.llm.messages import ChatResponse, Message
from paicli.session.conversation import USER_INPUT, Conversation
from paicli.text import clean

PLAN_RESULT = "plan_result"
_ATTEMPTS = 2
"""A plan, and one that repairs it."""
_NO_PLAN = "The answer holds no plan."


class Request:
    """What the person asked for once, and everything that is made of it.

    `goal` is what they typed: it alone grants authority, also to the agents of the tasks.
    """

    def __init__(
        self,
        main: Agent,
        crew: Crew,
        reviewer: PlanReviewer,
        journal: Journal,
        emit: Emit,
        most_replans: int,
        goal: str,
    ) -> None:
        self._main = main
        self._crew = crew
        self._reviewer = reviewer
        self._journal = journal
        self._emit = emit
        self._goal = goal
        self._aside: Conversation | None = None
        self._execution: Execution | None = None
        self._most_replans = most_replans

    async def answer(self, text: str) -> TurnResult:
        """Answer at once what needs no plan; else plan, have it judged, carry it out."""
        if is_simple_read(self._goal):
            reader = self._crew.new_agent(self._main.conversation, self._emit, may_change=False)
            return await self._crew.work(reader, text, self._goal)
        self._main.append_user(text, USER_INPUT)
        plan = await self._propose(plan_prompts.planning(text, by_call=self._crew.by_call))
        return await self._judged(plan)

    async def resume(self, left: Unfinished) -> TurnResult:
        """Offer the rest of an interrupted plan, and carry it out."""
        progress = Progress(left.plan, left.outcomes)
        self._emit(Notice("plan_left", t("plan.left", count=left.left, total=len(left.plan.tasks))))
        rest = _rest(progress)
        judgement = await self._reviewer.review_plan(rest)
        match judgement.choice:
            case Choice.RUN if judgement.plan is None:
                note = "[PaiCLI] The user lets the interrupted plan go on."
                self._main.append_user(note, "plan_resumed")
                return await self._carry_out(progress, left.begun)
            case Choice.RUN:
                self._journal.plan("started", self._goal, judgement.plan or rest)
                return await self._carry_out(Progress(judgement.plan or rest))
            case Choice.REVISE:
                return await self._judged(await self._revised(judgement))
            case Choice.KEEP:
                return self._crew.result("done", plan_text(rest))
            case Choice.DROP:
                return self._crew.result("cancelled", exit_code=130)

    async def _judged(self, plan: Plan | TurnResult) -> TurnResult:
        while isinstance(plan, Plan):
            self._journal.plan("proposed", self._goal, plan)
            self._emit(PlanProposed(plan))
            judgement = await self._reviewer.review_plan(plan)
            plan = judgement.plan or plan
            match judgement.choice:
                case Choice.RUN:
                    self._journal.plan("started", self._goal, plan)
                    return await self._carry_out(Progress(plan))
                case Choice.REVISE:
                    plan = await self._revised(judgement)
                case Choice.KEEP:
                    self._tell(plan_prompts.proposal(plan, "Proposed, not carried out:"))
                    return self._crew.result("done", plan_text(plan))
                case Choice.DROP:
                    self._tell(plan_prompts.proposal(plan, "The user did not want this plan:"))
                    self._emit(Notice("plan_dropped", t("plan.dropped")))
                    return self._crew.result("cancelled", exit_code=130)
        return plan

    async def _revised(self, judgement: Judgement) -> Plan | TurnResult:
        wanted = clean(judgement.requirements).strip()
        self._goal = f"{self._goal}\n\nAdditional requirements: {wanted}"
        self._main.append_user(wanted, USER_INPUT)
        return await self._propose(
            self._with_instructions(plan_prompts.revision(wanted, by_call=self._crew.by_call))
        )

    def _with_instructions(self, message: str) -> str:
        """Put before `message` what a planner has to know, when there is none yet that knows it."""
        if self._aside is not None:
            return message
        planning = plan_prompts.planning(self._goal, by_call=self._crew.by_call)
        return f"{planning}\n\n{message}"

    async def _propose(self, message: str) -> Plan | TurnResult:
        """Let the planner look around and return its plan, or how it ended without one."""
        desk, answer = PlanDesk(), ""
        while True:
            result = await self._crew.work(self._explorer(desk), message, self._goal)
            if desk.plan is not None:
                return desk.plan
            if result.status == "error":
                return result
            if desk.attempts < _ATTEMPTS:
                if answer and result.text.strip(" .*`\n").upper() == plan_prompts.ANSWERED:
                    return self._answered(answer)
                try:
                    return parse(result.text)
                except PlanError as error:
                    desk.attempts += 1
                    desk.problem = str(error) if "{" in result.text else _NO_PLAN
                    answer = answer or result.text
            if desk.attempts >= _ATTEMPTS:
                return self._unusable(desk.problem, "" if "{" in answer else answer)
            message = plan_prompts.repair(desk.problem, by_call=self._crew.by_call)

    def _explorer(self, desk: PlanDesk) -> Agent:
        """Return an agent that only reads, in a conversation that knows all that was said before."""
        if self._aside is None:
            known = list(self._main.conversation.messages)
            if known and known[-1].source == USER_INPUT:
                known.pop()  # it comes again, with what a planner has to know
            self._aside = Conversation(self._journal.aside("planning"), known)
        tools = [desk.tool()] if self._crew.by_call else []
        emit = self._emit if self._crew.by_call else _without_text(self._emit)
        return self._crew.new_agent(
            self._aside, emit, may_change=False, tools=tools, extensions=[desk]
        )

    def _answered(self, answer: str) -> TurnResult:
        self._tell(answer)
        if not self._crew.by_call:
            self._say(answer)
        return self._crew.result("done", answer)

    def _unusable(self, problem: str, said: str) -> TurnResult:
        """Return the end without a plan; `said` is what the model answered in place of one."""
        told = f"{said}\n\n[PaiCLI] No plan could be made: {problem} Nothing was changed."
        self._tell(told.strip())
        reason = t("plan.none_given") if problem == _NO_PLAN else problem
        error = t("plan.unusable", reason=reason)
        return self._crew.result("error", said, error=error, exit_code=1)

    async def _carry_out(self, progress: Progress, begun: Set[str] = frozenset()) -> TurnResult:
        self._execution = Execution(
            self._crew, self._journal, self._emit, self._goal, self._another, self._most_replans
        )
        await self._execution.run(progress, begun)
        return self._finished(self._execution)

    async def _another(self, progress: Progress, failed: Sequence[Task]) -> Plan | None:
        """Ask for a plan for what remains after a failure; None when there is none to be had."""
        message = plan_prompts.replanning(progress, failed, by_call=self._crew.by_call)
        plan = await self._propose(self._with_instructions(message))
        return plan if isinstance(plan, Plan) else None

    def _finished(self, execution: Execution) -> TurnResult:
        last = execution.runs[-1]
        done = len(last.with_status(Status.DONE))
        total = len(last.plan.tasks)
        anything = any(run.with_status(Status.DONE) for run in execution.runs)
        kind = "all_done" if done == total else "partly_done" if anything else "nothing_done"
        text = report(t(f"plan.{kind}", done=done, total=total), execution.runs)
        self._journal.over(kind)
        self._tell(plan_prompts.account(_MODEL_WORDS[kind], execution.runs))
        self._say(text)
        if kind == "partly_done":
            return self._crew.result("partial", text, refused=execution.refused, exit_code=3)
        if kind == "nothing_done":
            return self._crew.result(
                "error",
                text,
                refused=execution.refused,
                error=t("plan.nothing_done_error"),
                exit_code=execution.exit_code,
            )
        if execution.refused:
            return self._crew.result("refused", text, refused=execution.refused, exit_code=4)
        return self._crew.result("done", text)

    def stopped(self) -> TurnResult:
        """Return the result of a request that the person stopped, and say how far it had come."""
        execution = self._execution
        if execution is None:
            if self._aside is not None:
                self._tell("[PaiCLI] The user stopped the planning. Nothing was changed.")
            return self._crew.result("cancelled", exit_code=130)
        self._emit(ReplyFinished(ChatResponse()))  # of the task that broke off
        execution.stop()
        self._journal.over(Status.CANCELLED)
        last = execution.runs[-1]
        done, total = len(last.with_status(Status.DONE)), len(last.plan.tasks)
        text = report(t("plan.stopped", done=done, total=total), execution.runs)
        self._tell(plan_prompts.account("The user stopped the plan.", execution.runs))
        self._say(text)
        return self._crew.result("cancelled", text, refused=execution.refused, exit_code=130)

    def _tell(self, text: str) -> None:
        """Add to the main conversation, so that the next question knows."""
        self._main.conversation.append(Message("assistant", clean(text), source=PLAN_RESULT))

    def _say(self, text: str) -> None:
        """Show text to the person, the way an answer is shown."""
        self._emit(TextDelta(text))
        self._emit(ReplyFinished(ChatResponse(text)))


_MODEL_WORDS = {
    "all_done": "The plan was carried out, all of it.",
    "partly_done": "The plan was carried out in part.",
    "nothing_done": "The plan was tried; no task got done.",
}


def _rest(progress: Progress) -> Plan:
    """Return the plan with only the tasks that have not ended."""
    waiting = progress.with_status(Status.WAITING)
    names = {task.id for task in waiting}
    tasks = tuple(
        Task(
            task.id,
            task.description,
            task.type,
            tuple(id_ for id_ in task.dependencies if id_ in names),
            task.named_type,
        )
        for task in waiting
    )
    return Plan(progress.plan.summary, tasks, progress.plan.findings)


def _without_text(emit: Emit) -> Emit:
    """Return a listener for a planner that writes its plan as text, which nobody wants to read."""

    def tell(event: Event) -> None:
        if not isinstance(event, TextDelta | ReplyFinished | ArgumentsProgress):
            emit(event)

    return tell
