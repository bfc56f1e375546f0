"""How far a plan has come: every task ends in exactly one of done, failed, skipped, cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from paicli.agent.plan import Plan, Task, next_batch
from paicli.values import value


class Status(StrEnum):
    """Where a task is; the last four are ends."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


DEPENDS = "it depends on "
REPLACED = "another plan replaced this one"
STOPPED = "stopped while it ran; it may be done in part"
NOT_BEGUN = "not begun"
"""Reasons that are not a task's own, for the model."""

_ENDS = frozenset({Status.DONE, Status.FAILED, Status.SKIPPED, Status.CANCELLED})


@value
class Outcome:
    """How a task ended. `text` is its result when done, else the reason, for the model."""

    status: Status
    text: str = ""


class Progress:
    """The state of one plan's tasks. A task that has ended stays as it ended."""

    def __init__(self, plan: Plan, known: Mapping[str, Outcome] | None = None) -> None:
        """Begin, or go on where `known` outcomes of an earlier run stop."""
        self.plan = plan
        self._status = dict.fromkeys((task.id for task in plan.tasks), Status.WAITING)
        self.outcomes: dict[str, Outcome] = {}
        for id_, outcome in (known or {}).items():
            if id_ in self._status and outcome.status in _ENDS:
                self._status[id_] = outcome.status
                self.outcomes[id_] = outcome

    def status(self, task: Task) -> Status:
        """Return where the task is."""
        return self._status[task.id]

    def with_status(self, *wanted: Status) -> list[Task]:
        """Return the tasks that are there, in order."""
        return [task for task in self.plan.order if self._status[task.id] in wanted]

    @property
    def is_over(self) -> bool:
        """Tell whether every task has ended."""
        return len(self.outcomes) == len(self.plan.tasks)

    @property
    def less_than_half_done(self) -> bool:
        """Tell whether a new plan is worth more than the rest of this one."""
        done = sum(outcome.status is Status.DONE for outcome in self.outcomes.values())
        return 2 * done < len(self.plan.tasks)

    def next_batch(self) -> tuple[Task, ...]:
        """Return the tasks to run next, together; empty when nothing can run."""
        done = {task.id for task in self.with_status(Status.DONE)}
        return next_batch(self.with_status(Status.WAITING), done)

    def start(self, task: Task) -> None:
        """A waiting task begins. Raises ValueError when it is not waiting."""
        if self._status[task.id] is not Status.WAITING:
            raise ValueError(f"{task.id} is {self._status[task.id]}")
        self._status[task.id] = Status.RUNNING

    def end(self, task: Task, outcome: Outcome) -> None:
        """A task ends. Raises ValueError when it has ended before, or when that is no end."""
        if self._status[task.id] in _ENDS or outcome.status not in _ENDS:
            raise ValueError(f"{task.id} is {self._status[task.id]}, not to be {outcome.status}")
        self._status[task.id] = outcome.status
        self.outcomes[task.id] = outcome

    def skip_dependants(self) -> list[Task]:
        """Skip what can no longer run because a task it needs did not get done; return those."""
        skipped: list[Task] = []
        for task in self.with_status(Status.WAITING):  # in order, so one pass reaches all
            missing = [
                id_ for id_ in task.dependencies if self._status[id_] in _ENDS - {Status.DONE}
            ]
            if missing:
                self.end(task, Outcome(Status.SKIPPED, f"{DEPENDS}{', '.join(missing)}"))
                skipped.append(task)
        return skipped

    def end_rest(self, status: Status, reason: str) -> list[Task]:
        """End all that has not ended, and return it."""
        rest = self.with_status(Status.WAITING, Status.RUNNING)
        for task in rest:
            self.end(task, Outcome(status, reason))
        return rest
