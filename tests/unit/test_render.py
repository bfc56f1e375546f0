"""Events become entries: once, in order, and nothing foreign steers the terminal."""

import re

import pytest

from paicli import i18n
from paicli.agent.events import (
    Notice,
    ReplyFinished,
    RequestStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnResult,
    UsageReported,
)
from paicli.display import Choice, Code, Diff, Note, Table
from paicli.llm.deltas import ReasoningDelta, Retrying, TextDelta
from paicli.llm.messages import ChatResponse, Usage
from paicli.policy.approval import ReviewRequest
from paicli.policy.modes import Effect
from paicli.text import width
from paicli.tools.base import ToolResult
from paicli.ui.approval import REFUSED
from paicli.ui.ink import Ink
from paicli.ui.live import status_line
from paicli.ui.render import Renderer
from paicli.ui.shown import Answer, Asked, Looked, Said, Thought, Worked

HOSTILE = "x\x1b]0;t\x07\x1b[2J\x9b31m\r\u202e[red]y[/red]"


@pytest.fixture
def played():
    entries = []
    renderer = Renderer(entries.append, lambda: None, clock=lambda: 0.0)
    renderer.start_turn()

    def play(*events):
        for event in events:
            renderer.on_event(event)
        return entries

    play.renderer = renderer
    return play


def call(number, name, *, ok=True, output="", content="", **rest):
    events = [ToolCalled(number, name, "{}", f"subject {number}"), ToolStarted(number)]
    events += [ToolProgress(number, output)] if output else []
    return [*events, ToolFinished(ToolResult(number, name, ok, content, **rest))]


def test_neighbouring_reads_share_an_entry(played):
    entries = played(
        RequestStarted(1),
        *call("1", "read_file"),
        *call("2", "grep_code"),
        *call("3", "edit_file", display=Diff("a", "@@ -1 +1 @@\n-a\n+b\n", 1, 1)),
        *call("4", "list_dir"),
        RequestStarted(2),
    )
    assert [type(entry) for entry in entries] == [Looked, Worked, Diff, Looked]
    assert [worked.subject for worked in entries[0].calls] == ["subject 1", "subject 2"]


def test_thinking_becomes_one_entry_before_the_answer(played):
    entries = played(ReasoningDelta("a "), ReasoningDelta("b"), TextDelta("Hi\n\nyou"))
    assert entries == [Thought(0.0, "a b"), Answer("Hi")]
    entries = played(ReplyFinished(ChatResponse("Hi\n\nyou")))
    assert entries[-1] == Answer("you")


def test_a_reply_that_was_not_streamed_is_shown(played):
    assert played(RequestStarted(1), ReplyFinished(ChatResponse("Whole."))) == [Answer("Whole.")]


def test_a_failure_shows_what_the_tool_said(played):
    content = '<tool_result tool="read_file">\nno such file\n</tool_result>'
    entries = played(*call("1", "read_file", ok=False, content=content))
    assert entries[0].outcome == "failed"
    assert entries[0].output == "no such file"


def test_a_turn_that_ends_leaves_nothing_in_motion(played):
    played(TextDelta("half"), ToolCalled("1", "x", "{}", ""), Notice("warning", "w"))
    entries = played()
    played.renderer.end_turn(TurnResult("cancelled", exit_code=130))
    assert [type(entry) for entry in entries] == [Note, Answer, Note]
    assert not played.renderer.tools
    assert played.renderer.busy_since is None


def test_tokens_are_counted(played):
    played(UsageReported(Usage(10, 2, 0), Usage(10, 2, 0)))
    played(UsageReported(Usage(20, 3, 5), Usage(30, 5, 5)))
    assert played.renderer.total == Usage(30, 5, 5)


def test_events_of_unknown_calls_do_no_harm(played):
    played(ToolStarted("9"), ToolProgress("9", "x"), Retrying(2, 0.5, "reset"))
    assert isinstance(played(*call("9", "mystery"))[-1], Worked)


ENTRIES = [
    Said(HOSTILE),
    Answer(HOSTILE),
    Thought(1.0, HOSTILE),
    Worked(HOSTILE, HOSTILE, "failed", HOSTILE, 2.0, HOSTILE),
    Looked((Worked("read_file", HOSTILE, "ok"), Worked(HOSTILE, HOSTILE, "ok"))),
    Asked(ReviewRequest("t", Effect.COMMAND, {}, HOSTILE, "", Note(HOSTILE), HOSTILE)),
    Asked(ReviewRequest("t", Effect.WRITE, {}, HOSTILE, "", Diff(HOSTILE, f"@@ -1 +1 @@\n+{HOSTILE}", 1, 0))),
    Note(HOSTILE, "error"),
    Code(HOSTILE, HOSTILE),
    Table((HOSTILE,), ((HOSTILE,),)),
    Choice(HOSTILE, ((HOSTILE, HOSTILE),)),
    Diff(HOSTILE, f"@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_entry_is_harmless(entry, full, language):
    i18n.use(language)
    try:
        text = "\n".join(Ink({"TERM": "xterm-256color"}).lines(entry, 70, full=full))
    finally:
        i18n.use("en")
    without_colours = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "\x1b[2J" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", without_colours)
    if "red" in without_colours:
        assert "[red]y[/red]" in without_colours.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_lines_fit(columns):
    long = "很长的" * 60 + "x" * 300
    entries = [
        Said(long),
        Worked("execute_command", long, "failed", "exit 1", 3.0, f"{long}\n{long}"),
        Looked((Worked("read_file", long, "ok"), Worked("read_file", long, "ok"))),
        Asked(ReviewRequest("t", Effect.COMMAND, {}, long, "")),
        Diff("a", f"@@ -1 +1 @@\n-{long}\n+{long}", 1, 1),
        Note(long),
        Answer(long),
    ]
    for entry in entries:
        lines = Ink({"TERM": "dumb"}).lines(entry, columns)
        assert max(map(width, lines)) <= columns, entry


def test_a_question_shows_all_of_the_command():
    command = "\n".join(f"step {n} {'x' * 100}" for n in range(80))
    request = ReviewRequest("t", Effect.COMMAND, {}, command, "")
    text = "".join(line.strip() for line in Ink({"TERM": "dumb"}).lines(Asked(request), 50))
    assert all(f"step{n}" in text.replace(" ", "") for n in range(80))


def test_long_diffs_are_folded_and_can_be_unfolded():
    diff = Diff("a", "@@ -0,0 +1,90 @@\n" + "".join(f"+line {n}\n" for n in range(90)), 90, 0)
    ink = Ink({"TERM": "dumb"})
    assert ink.is_shortened(diff, 80)
    assert "line 89" not in "\n".join(ink.lines(diff, 80))
    assert "line 89" in "\n".join(ink.lines(diff, 80, full=True))


def test_diff_lines_carry_their_numbers():
    diff = Diff("a", "--- a/a\n+++ b/a\n@@ -3,2 +3,2 @@\n same\n-old\n+new\n", 1, 1)
    lines = Ink({"TERM": "dumb"}).lines(diff, 40)
    assert [line.split() for line in lines] == [["3", "same"], ["4", "-", "old"], ["4", "+", "new"]]


def test_what_a_failed_tool_says_is_wrapped_and_what_a_command_prints_keeps_its_lines():
    words = " ".join(["reason"] * 20)
    refused = Worked("read_file", "a", "refused", "refused", 0.0, words)
    ink = Ink({"TERM": "dumb"})
    lines = ink.lines(refused, 60)
    assert " ".join(line.strip() for line in lines[1:]) == words
    assert not ink.is_shortened(refused, 60)
    failed = Worked("execute_command", "a", "failed", "exit 1", 0.1, f"{words}\nend")
    assert [line.strip()[-1] for line in ink.lines(failed, 60)] == ["1", "…", "d"]
    assert ink.is_shortened(failed, 60)
    assert not ink.is_shortened(failed, 200)


def test_a_refused_command_says_first_things_first():
    words = " ".join(f"word{n}" for n in range(90))
    refused = Worked("execute_command", "sudo ls", "refused", "refused", 0.0, words)
    lines = Ink({"TERM": "dumb"}).lines(refused, 60)
    assert lines[1].strip().startswith("word0 ")
    assert "Ctrl+O" in lines[-1]


def test_a_narrow_line_keeps_its_outcome():
    failed = Worked("execute_command", "python3 -m pytest", "failed", "exit 1", 0.1, "a\n" * 30)
    lines = Ink({"TERM": "dumb"}).lines(failed, 20)
    assert lines[0] == "✗ Run pyt… · exit 1"
    assert lines[1] == "  … 20 more lines (…"


def test_a_command_that_went_well_tells_its_time_alone():
    def head(seconds):
        done = Worked("execute_command", "make", "ok", f"exit 0 · {seconds} s", seconds, "")
        return Ink({"TERM": "dumb"}).lines(done, 60)[0]

    assert head(0.1) == "✓ Run make"
    assert head(12.0) == "✓ Run make · 12 s"


def test_reads_of_a_batch_stand_by_what_was_done():
    reads = [("read_file", "a.py"), ("grep_code", "def "), ("read_file", "b.py")]
    looked = Looked(tuple(Worked(name, subject, "ok", "") for name, subject in reads))
    ink = Ink({"TERM": "dumb"})
    assert ink.lines(looked, 60) == ["✓ Read a.py, b.py · Search def"]
    assert ink.lines(looked, 20) == ["✓ Read a.py, b.… (3)"]


def test_a_refusal_by_the_person_is_not_told_to_the_person(played):
    entries = played(*call("1", "edit_file", ok=False, refused=True, display=Note(REFUSED)))
    assert entries[0].output == ""


def test_a_reason_to_try_again_is_written_once_and_the_wait_is_counted_down(played):
    entries = played(RequestStarted(1), Retrying(2, 5.0, "Busy."), Retrying(3, 9.0, "Busy."))
    assert entries == [Note("Busy. Trying again.", "warning")]
    shown = "".join(text for _, text in status_line(played.renderer, 2.5, 80))
    assert "Trying again in 7 s (attempt 3)" in shown
    shown = "".join(text for _, text in status_line(played.renderer, 9.5, 80))
    assert "Trying again (attempt 3)" in shown
    played(Retrying(4, 1.0, "Gone."))
    assert entries[-1] == Note("Gone. Trying again.", "warning")


def test_a_call_that_does_not_run_yet_is_told_apart_from_the_model(played):
    def what():
        return "".join(text for _, text in status_line(played.renderer, 1.0, 80))

    played(RequestStarted(1))
    assert "Waiting for the model" in what()
    played(ToolCalled("1", "execute_command", "{}", "make"))
    assert "Checking whether it may run" in what()
    played(ToolStarted("1"))
    assert "Running" in what()
