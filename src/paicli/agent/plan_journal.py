"""A plan in the session file: events between the messages, from which an interrupted plan can go on.

plan_proposed {goal, plan}      shown to the person
plan_started  {goal, plan}      from here on the plan is carried out; a new one replaces it
task_started  {task}
task_ended    {task, status, text}
plan_ended    {status}
aside         {place, source, message}      a message of an agent that explores or carries out a task
aside_rewritten {place, why, count}         its conversation was compacted
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paicli.agent.plan import Plan, Task, from_value
from paicli.agent.plan_progress import Outcome, Status
from paicli.errors import PlanError
from paicli.llm.messages import Message
from paicli.session.conversation import USER_INPUT
from paicli.session.ledger import Ledger, records


@dataclass(slots=True)
class Unfinished:
    """A plan that was interrupted: what is known of its tasks, and which had begun without an end."""

    goal: str
    plan: Plan
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    @property
    def left(self) -> int:
        """Return how many tasks have not ended."""
        return len(self.plan.tasks) - len(self.outcomes)


class Journal:
    """Writes a plan into whatever session is open, and reads an unfinished one back."""

    def __init__(self, ledger: Callable[[], Ledger]) -> None:
        self._ledger = ledger

    def plan(self, name: str, goal: str, plan: Plan) -> None:
        """Record that a plan was `proposed` or `started`."""
        self._ledger().event(f"plan_{name}", goal=goal, plan=plan.as_object())

    def started(self, task: Task) -> None:
        """Record that a task begins."""
        self._ledger().event("task_started", task=task.id)

    def ended(self, task: Task, outcome: Outcome) -> None:
        """Record how a task ended."""
        self._ledger().event(
            "task_ended", task=task.id, status=outcome.status.value, text=outcome.text
        )

    def over(self, status: str) -> None:
        """Record how the whole plan ended."""
        self._ledger().event("plan_ended", status=status)

    def aside(self, place: str) -> Aside:
        """Return a record for a conversation beside the main one."""
        return Aside(self._ledger(), place)

    def unfinished(self) -> Unfinished | None:
        """Return the plan that this session left in the middle, None when there is none."""
        try:
            return unfinished(record for record in records(self._ledger().path) if record)
        except OSError:
            return None


class Aside:
    """Records the conversation of an agent within a plan as events, which loading a session passes over."""

    def __init__(self, ledger: Ledger, place: str) -> None:
        self._ledger = ledger
        self._place = place

    def message(self, message: Message) -> None:
        """Record one message."""
        body = json.loads(message.wire(with_reasoning=True))
        self._ledger.event("aside", place=self._place, source=message.source, message=body)

    def rewritten(self, why: str, messages: Sequence[Message]) -> None:
        """Record that the conversation was made shorter."""
        self._ledger.event("aside_rewritten", place=self._place, why=why, count=len(messages))


def unfinished(past: Iterable[Mapping[str, Any]]) -> Unfinished | None:
    """Read from a session's records which plan was left in the middle.

    A plan that was stopped can go on until the person says something else.
    """
    found: Unfinished | None = None
    for record in past:
        match record:
            case {"type": "event", "name": "plan_started", "goal": str(goal), "plan": plan}:
                found = _begun(goal, plan)
            case {"type": "event", "name": "task_started", "task": str(id_)} if found:
                found.begun.add(id_)
            case {"type": "event", "name": "task_ended", "task": str(id_), "status": status} if (
                found
            ):
                _take(found, id_, status, record.get("text"))
            case {"type": "event", "name": "plan_ended", "status": status}:
                found = found if status == Status.CANCELLED else None
            case {"type": "message", "source": source} if source == USER_INPUT:
                found = None
            case _:
                pass
    return found if found and found.left else None


def _begun(goal: str, plan: object) -> Unfinished | None:
    try:
        return Unfinished(goal, from_value(plan))
    except PlanError:
        return None


def _take(found: Unfinished, id_: str, status: object, text: object) -> None:
    if status in (Status.DONE, Status.FAILED, Status.SKIPPED):
        found.outcomes[id_] = Outcome(Status(str(status)), text if isinstance(text, str) else "")
        found.begun.discard(id_)
