"""A plan and its outcome as a person reads them, in their language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paicli.agent.plan import Plan, Task
from paicli.agent.plan_progress import (
    DEPENDS,
    NOT_BEGUN,
    REPLACED,
    STOPPED,
    Outcome,
    Progress,
    Status,
)
from paicli.i18n import t
from paicli.text import cut, one_line

_PREVIEW = 100
_WHY = {REPLACED: "replaced", STOPPED: "stopped", NOT_BEGUN: "not_begun"}
_MARKS = {
    Status.DONE: "✓",
    Status.FAILED: "✗",
    Status.SKIPPED: "–",
    Status.CANCELLED: "⊘",
}


def heading(plan: Plan) -> str:
    """Return the first line about a plan."""
    return f"{t('plan.tasks', count=len(plan.tasks))} · {t('plan.steps', count=len(plan.batches))}"


def task_lines(plan: Plan) -> list[str]:
    """Return a line for each task, in the order of execution; a brace holds together what runs together."""
    lines: list[str] = []
    width = len(str(len(plan.batches)))
    for number, batch in enumerate(plan.batches, 1):
        for place, task in enumerate(batch):
            last = place == len(batch) - 1
            brace = "─" if len(batch) == 1 else "┌" if place == 0 else "└" if last else "├"
            step = str(number) if place == 0 else ""
            lines.append(f"{step:>{width}} {brace} {_task_line(task)}")
    return lines


def _task_line(task: Task) -> str:
    needs = f" ← {', '.join(task.dependencies)}" if task.dependencies else ""
    kind = t(f"plan.type_{task.type.value.lower()}")
    return f"{task.id}{needs} · {kind} · {one_line(task.description)}"


def plan_text(plan: Plan) -> str:
    """Return a whole plan as text."""
    return "\n".join([f"📋 {plan.summary}", heading(plan), "", *task_lines(plan)])


def begun_line(task: Task) -> str:
    """Return one line about a task that begins."""
    return f"▶ {task.id} {_preview(task.description)}".rstrip()


def outcome_line(task: Task, outcome: Outcome) -> str:
    """Return one line about how a task ended."""
    reason = _preview(_reason(outcome.text.strip().split("\n")[0]))
    words = [_MARKS[outcome.status], task.id, _preview(task.description)]
    return " ".join([*words, f"— {reason}"] if reason else words)


def _reason(text: str) -> str:
    """Return why a task ended so; what the model was told of that, in the person's words."""
    if text.startswith(DEPENDS):
        return t("plan.why_depends", ids=text.removeprefix(DEPENDS))
    return t(f"plan.why_{_WHY[text]}") if text in _WHY else text


def _preview(text: str) -> str:
    return cut(one_line(text), _PREVIEW)


def report(title: str, runs: Sequence[Progress]) -> str:
    """Return what became of a plan (and of those that replaced it): done, then failed, then the rest."""
    parts = [title]
    for status in (Status.DONE, Status.FAILED, Status.CANCELLED, Status.SKIPPED):
        lines = [
            f"- {outcome_line(task, progress.outcomes[task.id])}"
            for progress in runs
            for task in progress.with_status(status)
        ]
        if lines:
            parts.append("\n".join([f"{t(f'plan.{status.value}', count=len(lines))}", "", *lines]))
    return "\n\n".join([*parts, *_full_results(runs)])


def _full_results(runs: Iterable[Progress]) -> list[str]:
    """Return what the last done tasks found, where a line does not hold it: that is the answer."""
    found: list[str] = []
    for progress in runs:
        done = progress.with_status(Status.DONE)
        used = {id_ for task in done for id_ in task.dependencies}
        for task in done:
            text = progress.outcomes[task.id].text.strip()
            if task.id not in used and (len(text) > _PREVIEW or "\n" in text):
                found.append(f"**{task.id}**\n\n{text}")
    return found
