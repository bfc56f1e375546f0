"""The listener of `-p`: the answer on stdout, everything else on stderr.

`text` prints the final answer alone; `stream-json` one JSON object a line as things happen;
`json` the last of those alone. Writing never fails for a character that stdout cannot encode,
and a reader that goes away ends the output quietly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import TextIO

from paicli.agent.events import (
    Event,
    FilesChanged,
    Notice,
    PlanProposed,
    PlanStarted,
    ReplyFinished,
    TaskFinished,
    TaskStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    TurnResult,
    UsageReported,
)
from paicli.agent.file_changes import FileChange
from paicli.agent.plan import Plan
from paicli.agent.plan_report import begun_line, outcome_line, plan_text
from paicli.i18n import t
from paicli.llm.deltas import ReasoningDelta, Retrying, TextDelta
from paicli.text import clean, cut, one_line, visible

FORMATS = ("text", "json", "stream-json")


class Headless:
    """Writes one run to `stdout` and `stderr` in one of `FORMATS`.

    `on_closed` is called once when nobody reads stdout any more, so that the run can be ended.
    """

    def __init__(
        self,
        format: str,  # noqa: A002  the word of the command line
        stdout: TextIO,
        stderr: TextIO,
        on_closed: Callable[[], None] | None = None,
    ) -> None:
        self._format = format
        self._out = Output(stdout, on_closed)
        self._err = Output(stderr)
        self._foreign_is_shown = visible if stdout.isatty() else clean
        self._changed: dict[str, FileChange] = {}
        self._ascii_json = not _is_unicode(stdout)
        self._plan: Plan | None = None

    def start(self, session: str, model: str, cwd: str) -> None:
        """Tell which session begins; call before the first event."""
        if self._format == "stream-json":
            self._line({"type": "session", "id": session, "model": model, "cwd": cwd})

    def on_event(self, event: Event) -> None:
        """Write what the format wants to know of `event`."""
        if isinstance(event, PlanProposed | PlanStarted):
            self._plan = event.plan
        if isinstance(event, FilesChanged):
            self._add_changed(event.files)
        if self._format == "stream-json":
            line = _as_object(event)
            if line is not None:
                self._line(line)
        self._to_stderr(event)

    def finish(
        self, result: TurnResult, session: str, cost: dict[str, object] | None = None
    ) -> int:
        """Write how the turn ended and what it cost; return the exit code of the program."""
        if self._format == "text":
            if result.text:
                self._out.write(self._foreign_is_shown(result.text).rstrip("\n") + "\n")
        else:
            ending = _result_object(result, session, self._changed.values())
            ending["cost"] = cost
            if self._plan is not None:
                ending["plan"] = self._plan.as_object()
            self._line(ending)
        if result.error:
            self._remark(t("headless.error", text=one_line(result.error)))
        if self._out.broken:
            self._remark(t("headless.unwritable", reason=self._out.broken))
            return 1 if result.status == "cancelled" else result.exit_code or 1
        if result.status == "cancelled":
            self._remark(t("headless.cancelled"))
        return result.exit_code

    def _add_changed(self, files: Sequence[FileChange]) -> None:
        for new in files:
            old = self._changed.get(new.path, FileChange(new.path, new.action))
            added, removed = old.added + new.added, old.removed + new.removed
            self._changed[new.path] = replace(new, added=added, removed=removed)

    def _line(self, content: dict[str, object]) -> None:
        self._out.write(json.dumps(_cleaned(content), ensure_ascii=self._ascii_json) + "\n")

    def _to_stderr(self, event: Event) -> None:
        match event:
            case TextDelta() | ReasoningDelta() | ToolProgress():
                return
            case ReplyFinished(response) if response.tool_calls and response.content.strip():
                if self._format == "text":
                    self._err.write(visible(response.content).strip("\n") + "\n")
            case ToolCalled():
                self._remark(
                    f"· {one_line(event.name)} {cut(one_line(event.subject), 200)}".rstrip()
                )
            case ToolFinished(result) if not result.ok:
                self._remark(f"  ✗ {one_line(result.summary or result.name)}")
            case Notice() | Retrying() | PlanStarted() | TaskStarted() | TaskFinished():
                self._remark(visible(_notice(event)[1]))
            case _:
                return

    def _remark(self, line: str) -> None:
        self._err.write(line + "\n")


class Output:
    """A text stream that takes every character and survives the end of its reader."""

    def __init__(self, stream: TextIO, on_closed: Callable[[], None] | None = None) -> None:
        self._stream = stream
        self._on_closed = on_closed
        self._closed = False
        self.broken = ""

    def write(self, text: str) -> None:
        if self._closed:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                encoding = self._stream.encoding or "ascii"
                self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()
        except (OSError, ValueError) as error:
            self.broken = getattr(error, "strerror", None) or str(error)
            self._give_up()

    def _give_up(self) -> None:
        """Stop writing; what Python still holds goes nowhere, so its flush at exit is silent."""
        self._closed = True
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            pass
        if self._on_closed is not None:
            self._on_closed()


def _is_unicode(stream: TextIO) -> bool:
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
    return encoding.startswith("utf")


def _cleaned(value: object) -> object:
    """Return a JSON value without lone surrogates."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _as_object(event: Event) -> dict[str, object] | None:
    match event:
        case TextDelta(text):
            return {"type": "text", "delta": text}
        case ReasoningDelta(text):
            return {"type": "reasoning", "delta": text}
        case ToolCalled():
            return {
                "type": "tool_call",
                "id": event.id,
                "name": event.name,
                "arguments": _parsed(event.arguments),
            }
        case ToolFinished(result):
            return {
                "type": "tool_result",
                "id": result.id,
                "name": result.name,
                "ok": result.ok,
                "content": result.content,
            }
        case (
            Notice() | Retrying() | PlanProposed() | PlanStarted() | TaskStarted() | TaskFinished()
        ):
            kind, text = _notice(event)
            return {"type": "notice", "kind": kind, "text": text}
        case UsageReported():
            return {"type": "usage", **asdict(event.request)}
        case _:
            return None


def _notice(
    event: Notice | Retrying | PlanProposed | PlanStarted | TaskStarted | TaskFinished,
) -> tuple[str, str]:
    """Return the kind and the text of what is told in a line."""
    match event:
        case Notice(kind, text):
            return kind, text
        case Retrying():
            return "retry", _retry_text(event)
        case PlanProposed(plan):
            return "plan_proposed", plan_text(plan)
        case PlanStarted(plan):
            return "plan_started", plan_text(plan)
        case TaskStarted(task):
            return "task_started", begun_line(task)
        case TaskFinished(task, outcome):
            return f"task_{outcome.status}", outcome_line(task, outcome)


def _parsed(arguments: str) -> object:
    """Return a call's arguments as the object they spell; as text when they spell none."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return parsed if isinstance(parsed, dict) else arguments


def _retry_text(event: Retrying) -> str:
    return t(
        "headless.retry",
        attempt=event.attempt,
        seconds=f"{event.delay:.1f}",
        reason=one_line(event.reason),
    )


def _result_object(
    result: TurnResult, session: str, changed: Iterable[FileChange]
) -> dict[str, object]:
    return {
        "type": "result",
        "status": result.status,
        "text": result.text,
        "steps": result.steps,
        "refused": result.refused,
        "usage": asdict(result.usage),
        "seconds": round(result.seconds, 3),
        "session": session,
        "changed_files": [
            {"path": one.path, "added": one.added, "removed": one.removed} for one in changed
        ],
        "error": result.error or None,
    }
