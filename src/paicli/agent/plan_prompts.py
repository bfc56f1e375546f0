"""What the models within a plan are told, in English, whatever the person speaks."""

from __future__ import annotations

from collections.abc import Iterable

from paicli.agent.plan import Plan, Task
from paicli.agent.plan_progress import Outcome, Progress, Status

_LONGEST_RESULT = 20_000
FAILED_MARK = "TASK FAILED:"
ANSWERED = "ANSWERED"

_PLANNING = """\
[PaiCLI] Plan mode: make a plan for the request above; do not carry it out. Look around first, as far as it takes \
to know what has to be done and where. Nothing can be changed now: whatever would change something is refused.

The user reviews the plan. Then each task is carried out by an agent of its own, which sees only the request, your \
findings, its own task and the results of the tasks it depends on. So:
- `description`: complete by itself: which files and places, what to change, how to know that it is done.
- `findings`: what you found out that the tasks need: paths, names, conventions, the commands that test or build.
- As few tasks as make sense; a small change is one task. Where there is a way to check the result, the last task checks.
- `type`: FILE_READ and ANALYSIS only read, up to four at once, and cannot change anything. FILE_WRITE, COMMAND \
and VERIFICATION may change things and run one after another.
- `dependencies`: the ids of all tasks whose results or changes this one needs. Tasks without a dependency between \
them may run in any order.
- Write the texts in the user's language.
"""
_BY_CALL = "Submit the plan by calling submit_plan."
_BY_TEXT = """\
Answer with the plan alone, one JSON object:
{"summary": "...", "findings": "...", "tasks": [{"id": "task_1", "description": "...", "type": "FILE_WRITE", \
"dependencies": []}]}"""
_NO_PLAN = (
    "\nIf the user only asked a question which your answer above settles, and nothing is to be written, changed or"
    f" run, reply with the one word {ANSWERED}."
)
_WHAT_REMAINS = (
    "Look at how things are now, then make a plan for what remains of the request. It replaces the rest of the old"
    " one; its tasks cannot depend on old ones, so repeat what they need to know."
)


def planning(request: str, *, by_call: bool) -> str:
    """Return the request with what a planner has to know."""
    return f"{request}\n\n{_PLANNING}{_BY_CALL if by_call else _BY_TEXT}"


def repair(problem: str, *, by_call: bool) -> str:
    """Return the one request for a plan that can be used."""
    return (
        f"[PaiCLI] That was no usable plan: {problem} Correct it and submit the whole plan. "
        f"{_BY_CALL if by_call else _BY_TEXT}{_NO_PLAN}"
    )


def revision(requirements: str, *, by_call: bool) -> str:
    """Return what the person adds to a plan they were shown."""
    how = _BY_CALL if by_call else _BY_TEXT
    return (
        f"Additional requirements: {requirements}\n\n[PaiCLI] The user saw the plan and wants this taken into"
        f" account. Nothing has been carried out. Make the whole plan anew. {how}"
    )


def replanning(progress: Progress, failed: Iterable[Task], *, by_call: bool) -> str:
    """Return the request for another plan after tasks have failed."""
    lines = [f"- {_line(task, progress.outcomes[task.id])}" for task in failed]
    done = progress.with_status(Status.DONE)
    finished = [f"- {_line(task, progress.outcomes[task.id])}" for task in done] or ["- nothing"]
    return "\n".join(
        [
            "[PaiCLI] The plan was being carried out, and this failed:",
            *lines,
            "Done before that, and it stays done:",
            *finished,
            _WHAT_REMAINS,
            _BY_CALL if by_call else _BY_TEXT,
        ]
    )


def task(progress: Progress, one: Task, goal: str, *, begun_before: bool, by_call: bool) -> str:
    """Return everything that the agent of one task gets to know."""
    plan = progress.plan
    parts = [
        "[PaiCLI] You carry out one task of a plan that the user has approved.",
        f"## The user's request\n{goal}",
        f"## The plan\n{plan.summary}",
    ]
    if plan.findings:
        parts.append(f"## What was found out before\n{plan.findings}")
    results = [
        f"### {id_}: {plan.task(id_).description}\n{cut(progress.outcomes[id_].text)}"
        for id_ in one.dependencies
    ]
    if results:
        parts.append("## Results of the tasks it builds on\n" + "\n\n".join(results))
    parts.append(f"## Your task: {one.id} ({one.type.value})\n{one.description or plan.summary}")
    rules = ["Do this task and nothing beside it: other tasks do the rest."]
    if one.only_reads:
        rules.append(
            "This task only reads: attempts to change anything are refused. Do not answer with a plan."
        )
    if begun_before:
        rules.append("An earlier attempt at it was interrupted: check first what is done already.")
    if by_call:
        rules.append(
            "When you are finished, or when it cannot be done, call finish_task with your honest judgement."
        )
    else:
        rules.append(
            f"End with a short account. If the task is not done, begin it with `{FAILED_MARK}` and the reason."
        )
    return "\n\n".join([*parts, " ".join(rules)])


def cut(text: str, limit: int = _LONGEST_RESULT) -> str:
    """Return a result in at most about `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[… {len(text) - limit} more characters left out]"


def account(goal_status: str, runs: Iterable[Progress]) -> str:
    """Return what the main conversation is told about a plan: all tasks, how each ended, and the results."""
    lines = [f"[PaiCLI] {goal_status}"]
    for progress in runs:
        lines.append(f"Plan: {progress.plan.summary}")
        for one in progress.plan.order:
            outcome = progress.outcomes.get(one.id)
            lines.append(f"- {_line(one, outcome)}")
    return "\n".join(lines)


def proposal(plan: Plan, remark: str) -> str:
    """Return a plan that was not carried out, as the main conversation is told."""
    lines = [f"[PaiCLI] {remark}", f"Plan: {plan.summary}"]
    for one in plan.order:
        needs = f" (after {', '.join(one.dependencies)})" if one.dependencies else ""
        lines.append(f"- {one.id} {one.type.value}: {one.description}{needs}")
    return "\n".join(lines)


def _line(one: Task, outcome: Outcome | None) -> str:
    if outcome is None:
        return f"{one.id}: {one.description} [not begun]"
    return (
        f"{one.id}: {one.description} [{outcome.status.value}] {cut(outcome.text, 4_000)}".strip()
    )
