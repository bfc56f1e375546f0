"""A plan as data: read strictly, put in order, cut into batches. No I/O.

The rules are PaiCLI's planner contract: ids are unique and not blank, dependencies are declared ids
(forward references are fine), there is no circle; tasks are renumbered `task_1` … in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from paicli.errors import PlanError
from paicli.text import clean
from paicli.values import value

PARALLEL_TASKS = 4
SUBMIT_PLAN = "submit_plan"
FINISH_TASK = "finish_task"
MOST_TASKS = 500
"""More is no plan that a person could judge."""
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.S)
_FENCE = re.compile(r"```[\w-]*")
_NOT_BLANK = "\x85\xa0\u2007\u202f"
"""Blanks that keep an id from being blank: the original's rule, which is Java's."""


class TaskType(StrEnum):
    """What kind of work a task is."""

    FILE_READ = "FILE_READ"
    FILE_WRITE = "FILE_WRITE"
    COMMAND = "COMMAND"
    ANALYSIS = "ANALYSIS"
    VERIFICATION = "VERIFICATION"


_READING = (TaskType.FILE_READ, TaskType.ANALYSIS)


@value
class Task:
    """One step. `named_type`: the planner named one of the types, and did not leave us to guess."""

    id: str
    description: str
    type: TaskType = TaskType.ANALYSIS
    dependencies: tuple[str, ...] = ()
    named_type: bool = True

    @property
    def only_reads(self) -> bool:
        """Tell whether the task changes nothing; one whose type was a guess may change things."""
        return self.named_type and self.type in _READING


@dataclass(frozen=True)
class Plan:
    """Tasks in the planner's order, with what it found out for those who carry them out."""

    summary: str
    tasks: tuple[Task, ...]
    findings: str = ""

    def task(self, id: str) -> Task:  # noqa: A002  the word that tasks use for it
        """Return the task of that id."""
        return self._by_id[id]

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}

    @cached_property
    def order(self) -> tuple[Task, ...]:
        """All tasks, each behind its dependencies, otherwise in the planner's order."""
        return tuple(_ordered(self.tasks))

    @cached_property
    def batches(self) -> tuple[tuple[Task, ...], ...]:
        """What runs together when all goes well."""
        done: set[str] = set()
        found: list[tuple[Task, ...]] = []
        while batch := next_batch([task for task in self.order if task.id not in done], done):
            found.append(batch)
            done |= {task.id for task in batch}
        return tuple(found)

    def shifted(self, by: int) -> Plan:
        """Return the plan with its numbers raised, so that they are new beside those of another plan."""
        names = {task.id: f"task_{number + by}" for number, task in enumerate(self.tasks, 1)}
        tasks = tuple(
            replace(
                task, id=names[task.id], dependencies=tuple(names[id_] for id_ in task.dependencies)
            )
            for task in self.tasks
        )
        return Plan(self.summary, tasks, self.findings)

    def as_object(self) -> dict[str, object]:
        """Return the plan as JSON data that `parse` reads again."""
        tasks = [
            {
                "id": task.id,
                "description": task.description,
                "type": task.type.value if task.named_type else "",
                "dependencies": list(task.dependencies),
            }
            for task in self.tasks
        ]
        return {"summary": self.summary, "findings": self.findings, "tasks": tasks}


def next_batch(waiting: Sequence[Task], done: set[str]) -> tuple[Task, ...]:
    """Return which of the `waiting` tasks run next: up to four that only read, or one alone."""
    ready = [task for task in waiting if done.issuperset(task.dependencies)]
    if not ready or not ready[0].only_reads:
        return tuple(ready[:1])
    return tuple([task for task in ready if task.only_reads][:PARALLEL_TASKS])


def parse(text: str) -> Plan:
    """Read a plan from JSON text, code fences tolerated. Raises PlanError, for the model to repair."""
    problem = "it is empty"
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except json.JSONDecodeError as error:
            problem = f"{error.msg} at line {error.lineno}, column {error.colno}"
        except (ValueError, RecursionError):
            problem = "it is nested too deeply or holds a number too long"
        else:
            return from_value(value)
    raise PlanError(f"The plan is not valid JSON: {problem}.")


def _candidates(text: str) -> Iterator[str]:
    text = text.strip().removeprefix("\ufeff")
    if text:
        yield text
    if "```" in text:
        yield _FENCE.sub("", text)
        for found in _FENCED.finditer(text):
            yield found[1]


def from_value(value: object) -> Plan:
    """Read a plan from JSON data. Raises PlanError, for the model to repair."""
    if not isinstance(value, dict):
        raise PlanError(f"The plan must be a JSON object, not {_kind(value)}.")
    summary, findings, tasks = value.get("summary"), value.get("findings", ""), value.get("tasks")
    if not isinstance(summary, str) or _is_blank(summary):
        raise PlanError("`summary` must be a string that is not blank.")
    if not isinstance(findings, str):
        raise PlanError(f"`findings` must be a string, not {_kind(findings)}.")
    if not isinstance(tasks, list):
        raise PlanError(f"`tasks` must be an array, not {_kind(tasks)}.")
    if not tasks:
        raise PlanError("`tasks` is empty: a plan needs at least one task.")
    if len(tasks) > MOST_TASKS:
        raise PlanError(f"`tasks` has {len(tasks)} entries; a plan has at most {MOST_TASKS}.")
    read = [_task(item, place) for place, item in enumerate(tasks)]
    _check_ids(read)
    circle = _circle(read)
    if circle:
        raise PlanError(f"The dependencies form a cycle: {' -> '.join(circle)}.")
    return Plan(clean(summary).strip(), tuple(read), clean(findings).strip()).shifted(0)


def _task(item: object, place: int) -> Task:
    where = f"tasks[{place}]"
    if not isinstance(item, dict):
        raise PlanError(f"{where} must be an object, not {_kind(item)}.")
    id_ = item.get("id")
    if not isinstance(id_, str):
        raise PlanError(f"{where}.id must be a string, not {_kind(id_)}.")
    if _is_blank(id_):
        raise PlanError(f"{where}.id must not be blank.")
    description = item.get("description", "")
    if not isinstance(description, str):
        raise PlanError(f"{where}.description must be a string, not {_kind(description)}.")
    dependencies = item.get("dependencies", [])
    if not isinstance(dependencies, list):
        raise PlanError(f"{where}.dependencies must be an array, not {_kind(dependencies)}.")
    for dependency in dependencies:
        if not isinstance(dependency, str):
            raise PlanError(f"{where}.dependencies holds {_kind(dependency)}; ids are strings.")
    wanted = item.get("type")
    known = isinstance(wanted, str) and wanted.strip().upper() in TaskType.__members__
    kind = TaskType[str(wanted).strip().upper()] if known else TaskType.ANALYSIS
    return Task(id_, clean(description).strip(), kind, tuple(dict.fromkeys(dependencies)), known)


def _check_ids(tasks: Sequence[Task]) -> None:
    declared: set[str] = set()
    for task in tasks:
        if task.id in declared:
            raise PlanError(f"The id {_quoted(task.id)} is used by more than one task.")
        declared.add(task.id)
    for task in tasks:
        for dependency in task.dependencies:
            if dependency not in declared:
                raise PlanError(
                    f"Task {_quoted(task.id)} depends on {_quoted(dependency)}, which is no task of this plan."
                )


def _circle(tasks: Sequence[Task]) -> list[str]:
    """Return ids that wait for each other, the first one again at the end; empty when none do."""
    waiting = {task.id: set(task.dependencies) for task in tasks}
    dependants: dict[str, list[str]] = {task.id: [] for task in tasks}
    for task in tasks:
        for dependency in task.dependencies:
            dependants[dependency].append(task.id)
    free = [id_ for id_, needed in waiting.items() if not needed]
    while free:
        id_ = free.pop()
        del waiting[id_]
        for dependant in dependants[id_]:
            waiting[dependant].discard(id_)
            if not waiting[dependant]:
                free.append(dependant)
    if not waiting:
        return []
    path, at = [], next(iter(waiting))
    while at not in path:
        path.append(at)
        at = min(waiting[at])
    return [*path[path.index(at) :], at]


def _ordered(tasks: Sequence[Task]) -> Iterator[Task]:
    """Depth first, without recursion: a chain may be as long as the plan."""
    by_id = {task.id: task for task in tasks}
    placed: set[str] = set()
    for first in tasks:
        stack = [first]
        while stack:
            task = stack[-1]
            missing = [id_ for id_ in task.dependencies if id_ not in placed]
            if missing:
                stack.append(by_id[missing[0]])
                continue
            stack.pop()
            if task.id not in placed:
                placed.add(task.id)
                yield task


def _is_blank(text: str) -> bool:
    return all(character.isspace() and character not in _NOT_BLANK for character in text)


def _quoted(text: str) -> str:
    return json.dumps(clean(text[:80]), ensure_ascii=False)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
