"""What happens during a turn, as values. Renderer, headless writer, ledger and tests are equal listeners."""

from __future__ import annotations

from collections.abc import Callable

from paicli.agent.file_changes import FileChange
from paicli.agent.plan import Plan, Task
from paicli.agent.plan_progress import Outcome
from paicli.llm.deltas import ArgumentsProgress, ReasoningDelta, Retrying, TextDelta
from paicli.llm.messages import ChatResponse, Usage
from paicli.tools.base import ToolResult
from paicli.values import value


@value
class RequestStarted:
    """A request goes to the model; `step` counts from 1 within the turn."""

    step: int


@value
class ReplyFinished:
    """The reply is whole. `response.tool_calls` empty: it is the turn's answer."""

    response: ChatResponse


@value
class ToolCalled:
    """The model asks for a tool: told for every call of a reply, also unknown or refused ones."""

    id: str
    name: str
    arguments: str
    subject: str


@value
class ToolStarted:
    """A call passed its review and runs now."""

    id: str


@value
class ToolProgress:
    """New output of a running tool."""

    id: str
    text: str


@value
class ToolFinished:
    """A call's result; results come in the model's order."""

    result: ToolResult


@value
class Notice:
    """One line for the person; `kind` is a stable word for programs, `text` is in their language."""

    kind: str
    text: str


@value
class UsageReported:
    """Tokens of the last request, and of the turn so far."""

    request: Usage
    turn: Usage


@value
class PlanProposed:
    """A plan is there, to be judged; nothing of it is carried out."""

    plan: Plan


@value
class PlanStarted:
    """A plan is carried out from here on, in place of the one before it if there was one.

    `ended`: how many of its tasks had ended before, when an interrupted plan goes on.
    """

    plan: Plan
    ended: int = 0


@value
class TaskStarted:
    """A task of the plan begins; up to four at once."""

    task: Task


@value
class TaskFinished:
    """A task of the plan has ended, also one that never began."""

    task: Task
    outcome: Outcome


@value
class FilesChanged:
    """What the turn that is ending did to the project's files; told only when there is something."""

    files: tuple[FileChange, ...]


@value
class TurnResult:
    """How a turn ended.

    `status` is one of `done`, `partial`, `refused`, `cancelled`, `error`. `refused` counts the
    calls that were not allowed. `error` is a line for the person; `exit_code` follows the
    contract for scripts: 0 done, 1 failed, 2 configuration, 3 partial, 4 refused, 75 network, 130 cancelled.
    """

    status: str
    text: str = ""
    steps: int = 0
    refused: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str = ""
    exit_code: int = 0


Event = (
    TextDelta
    | ReasoningDelta
    | ArgumentsProgress
    | Retrying
    | RequestStarted
    | ReplyFinished
    | ToolCalled
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Notice
    | UsageReported
    | PlanProposed
    | PlanStarted
    | TaskStarted
    | TaskFinished
    | FilesChanged
)
Emit = Callable[[Event], None]
