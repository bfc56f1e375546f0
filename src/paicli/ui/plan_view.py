"""A plan on its way, as the screen shows it: lines that stay, and the state of what is in motion."""

from __future__ import annotations

from collections.abc import Iterator

from paicli.agent.events import PlanProposed, PlanStarted, TaskFinished, TaskStarted
from paicli.agent.plan import Plan, Task
from paicli.agent.plan_progress import Status
from paicli.agent.plan_report import begun_line, outcome_line
from paicli.i18n import t
from paicli.text import cut, one_line
from paicli.ui.shown import PlanLine, Proposed, Shown

PlanEvent = PlanProposed | PlanStarted | TaskStarted | TaskFinished


class PlanView:
    """Listens to a plan's events."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._running: dict[str, Task] = {}
        self._ended = 0

    def take(self, event: PlanEvent) -> Iterator[Shown]:
        """Take an event and yield what stays on the screen of it."""
        match event:
            case PlanProposed():
                return  # the question about it shows it
            case PlanStarted(plan, ended):
                self._plan, self._ended = plan, ended
                self._running.clear()
                yield Proposed(plan)
            case TaskStarted(task):
                self._running[task.id] = task
                yield PlanLine(begun_line(task), Status.RUNNING)
            case TaskFinished(task, outcome):
                self._running.pop(task.id, None)
                self._ended += 1
                yield PlanLine(outcome_line(task, outcome), outcome.status)

    def forget(self) -> None:
        """The turn is over."""
        self._plan = None
        self._running.clear()

    def lines(self, width: int) -> list[str]:
        """Return the tasks that run now, under how far the plan is; nothing without a plan."""
        if self._plan is None:
            return []
        head = t("plan.progress", done=self._ended, total=len(self._plan.tasks))
        running = [f"  ▶ {task.id} {one_line(task.description)}" for task in self._running.values()]
        return [cut(line, width) for line in (head, *running)]
