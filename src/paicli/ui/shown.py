"""What the screen shows beside the display values: the entries of a conversation, as values."""

from __future__ import annotations

from paicli.agent.plan import Plan
from paicli.agent.plan_progress import Status
from paicli.display import Display
from paicli.policy.approval import ReviewRequest
from paicli.values import value


@value
class Said:
    """What the person sent."""

    text: str


@value
class Answer:
    """A block of the model's Markdown."""

    source: str
    tight: bool = False


@value
class Thought:
    """The model's thinking, shortened to a line; unfolded it is `text`."""

    seconds: float
    text: str


@value
class Worked:
    """A tool call that is over. `outcome` is `ok`, `failed`, `refused` or `cancelled`.

    `output` are lines of what it printed or said, shown shortened under it.
    """

    name: str
    subject: str
    outcome: str
    summary: str = ""
    seconds: float = 0.0
    output: str = ""


@value
class Looked:
    """Neighbouring reads that went well, in one line."""

    calls: tuple[Worked, ...]


@value
class Asked:
    """What a person is asked to approve."""

    request: ReviewRequest


@value
class Proposed:
    """A plan: its tasks in a line each; `whole`: all of every task, and what was found out."""

    plan: Plan
    whole: bool = False


@value
class PlanLine:
    """A task that begins or has ended."""

    text: str
    status: Status


@value
class Unfolded:
    """A shortened entry, in full."""

    value: Shown


Shown = Unfolded | Said | Answer | Thought | Worked | Looked | Asked | Proposed | PlanLine | Display
