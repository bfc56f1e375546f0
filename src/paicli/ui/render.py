"""Events to what the screen shows: finished entries, and the state of what is in motion.

Knows neither rich nor prompt_toolkit; `ink` draws the entries, `live` the state.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from paicli.agent.events import (
    Event,
    FilesChanged,
    Notice,
    PlanProposed,
    PlanStarted,
    ReplyFinished,
    RequestStarted,
    TaskFinished,
    TaskStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnResult,
    UsageReported,
)
from paicli.agent.plan import FINISH_TASK, SUBMIT_PLAN
from paicli.display import Diff, Note
from paicli.i18n import t
from paicli.llm.deltas import ArgumentsProgress, ReasoningDelta, Retrying, TextDelta
from paicli.llm.messages import Usage
from paicli.text import one_line
from paicli.tools.base import ToolResult
from paicli.ui.approval import REFUSED
from paicli.ui.markdown import Block, MarkdownStream
from paicli.ui.plan_view import PlanView
from paicli.ui.shown import Answer, Looked, Shown, Thought, Worked

READS = frozenset({"read_file", "list_dir", "glob_files", "grep_code"})
_KEPT_OUTPUT = 400_000
_GOOD_TO_KNOW = ("compacted", "results_cleared", "results_shortened", "session_forked")
"""Kinds of notices that tell of no trouble."""


@dataclass(slots=True)
class Running:
    """A tool call that is not over. `output` are the newest pieces of what it printed."""

    name: str
    subject: str
    started: float | None = None
    output: deque[str] = field(default_factory=deque)
    kept: int = 0

    def take(self, text: str) -> None:
        """Keep new output; the oldest goes when there is too much."""
        self.output.append(text)
        self.kept += len(text)
        while self.kept > _KEPT_OUTPUT and len(self.output) > 1:
            self.kept -= len(self.output.popleft())


class Renderer:
    """Listens to a turn. What is finished is handed to `commit` once, in order, never to change again.

    `changed` is called whenever what is in motion changed; both must be cheap.
    """

    def __init__(
        self,
        commit: Callable[[Shown], None],
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commit = commit
        self._changed = changed
        self._clock = clock
        self._answer = MarkdownStream()
        self._streamed = False
        self._reads: list[Worked] = []
        self.busy_since: float | None = None
        self.asked_at: float | None = None
        self.thinking: list[str] = []
        self.thinking_since: float | None = None
        self.writing_call: ArgumentsProgress | None = None
        self.retrying: Retrying | None = None
        self.retry_at = 0.0
        self._told_reason = ""
        self.tools: dict[str, Running] = {}
        self.plan = PlanView()
        self.total = Usage()

    @property
    def answer_tail(self) -> Block:
        """Return the part of the answer that is still being written."""
        return self._answer.tail

    @property
    def reads(self) -> tuple[Worked, ...]:
        """Return the finished reads that wait for their neighbours."""
        return tuple(self._reads)

    def forget_conversation(self) -> None:
        """Count tokens anew."""
        self.total = Usage()

    def start_turn(self) -> None:
        """Begin to show a turn."""
        self.busy_since = self._clock()
        self._changed()

    def on_event(self, event: Event) -> None:
        """Take one event of the turn."""
        match event:
            case TextDelta(text):
                self._write(text)
            case ReasoningDelta(text):
                self._think(text)
            case ToolCalled() | ToolStarted() | ToolProgress() | ToolFinished():
                self._take_tool(event)
            case RequestStarted() | ReplyFinished() | ArgumentsProgress() | Retrying():
                self._take_reply(event)
            case PlanProposed() | PlanStarted() | TaskStarted() | TaskFinished():
                for value in self.plan.take(event):
                    self.show(value)
            case FilesChanged(files):
                added, removed = (sum(f.added for f in files), sum(f.removed for f in files))
                count = t("terminal.files_changed", count=len(files), added=added, removed=removed)
                self.show(Note(count))
            case Notice(kind, text):
                self.show(Note(text, "info" if kind in _GOOD_TO_KNOW else "warning"))
            case UsageReported(request):
                self.total += request
        self._changed()

    def _take_reply(
        self, event: RequestStarted | ReplyFinished | ArgumentsProgress | Retrying
    ) -> None:
        match event:
            case RequestStarted():
                self.asked_at = self._clock()
                self._flush_reads()
                self._streamed, self._told_reason = False, ""
            case ArgumentsProgress():
                self._end_thinking()
                self.writing_call = event
            case Retrying():
                self._retry(event)
            case ReplyFinished(response):
                if not self._streamed and response.content.strip():
                    self._write(response.content)
                self._end_reply()

    def _take_tool(self, event: ToolCalled | ToolStarted | ToolProgress | ToolFinished) -> None:
        match event:
            case ToolCalled(id, name, _, subject):
                self.tools[id] = Running(name, subject)
            case ToolStarted(id) if id in self.tools:
                self.tools[id].started = self._clock()
            case ToolProgress(id, text) if id in self.tools:
                self.tools[id].take(text)
            case ToolFinished(result):
                self._tool_is_over(result)
            case _:
                return

    def end_turn(self, result: TurnResult) -> None:
        """Show how the turn ended; nothing is in motion any more."""
        self._end_reply()
        self._flush_reads()
        self.tools.clear()
        self.plan.forget()
        self.busy_since = None
        if result.error:
            self._commit(Note(result.error, "error"))
        elif result.status == "cancelled":
            self._commit(Note(t("terminal.cancelled"), "warning"))
        self._changed()

    def show(self, value: Shown) -> None:
        """Commit `value` behind all that came before it."""
        self._flush_reads()
        self._commit(value)

    def _write(self, text: str) -> None:
        self._end_thinking()
        self.retrying = None
        self._streamed = True
        for block in self._answer.feed(text):
            self.show(Answer(block.source, block.tight))

    def _think(self, text: str) -> None:
        if self.thinking_since is None:
            self.thinking_since = self._clock()
        self.retrying = None
        self.thinking.append(text)

    def _end_thinking(self) -> None:
        if self.thinking_since is None:
            return
        text = "".join(self.thinking)
        seconds = self._clock() - self.thinking_since
        self.thinking, self.thinking_since = [], None
        if text.strip():
            self.show(Thought(seconds, text))

    def _end_reply(self) -> None:
        self._end_thinking()
        self.retrying = None
        self.writing_call = None
        for block in self._answer.finish():
            self.show(Answer(block.source, block.tight))

    def _retry(self, event: Retrying) -> None:
        self.retrying = event
        self.retry_at = self._clock() + event.delay
        if event.reason != self._told_reason:  # the live line counts the attempts
            self._told_reason = event.reason
            self.show(Note(t("terminal.retrying", reason=one_line(event.reason)), "warning"))

    def _tool_is_over(self, result: ToolResult) -> None:
        running = self.tools.pop(result.id, None) or Running(result.name, "")
        if result.name == FINISH_TASK or (result.name == SUBMIT_PLAN and result.ok):
            return  # the plan's own events say it
        worked = Worked(
            result.name,
            running.subject,
            _outcome(result),
            result.summary,
            result.seconds,
            "".join(running.output) or ("" if result.ok or result.cancelled else _said_by(result)),
        )
        if result.ok and result.name in READS:
            self._reads.append(worked)
            return
        self.show(worked)
        if isinstance(result.display, Diff) or (
            result.display is not None and not running.output and result.ok
        ):
            self._commit(result.display)

    def _flush_reads(self) -> None:
        if self._reads:
            reads, self._reads = tuple(self._reads), []
            self._commit(Looked(reads))


def _outcome(result: ToolResult) -> str:
    if result.cancelled:
        return "cancelled"
    if result.refused:
        return "refused"
    return "ok" if result.ok else "failed"


def _said_by(result: ToolResult) -> str:
    """Return what a failed tool told the model, without the wrapping that is meant for the model."""
    if isinstance(result.display, Note):
        text = result.display.text
        return "" if result.refused and text == REFUSED else text
    if result.name == "execute_command":
        return ""  # it ran and printed nothing: its summary says how it ended
    lines = result.content.strip().splitlines()
    if lines and lines[0].startswith("<tool_result"):
        lines = lines[1:]
    if lines and lines[-1].startswith("</tool_result"):
        lines = lines[:-1]
    return "\n".join(lines)
