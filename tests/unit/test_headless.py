"""The listener of -p: what goes to stdout, what to stderr, and what never breaks."""

import io
import json
import os
import subprocess
import sys

import pytest

from paicli.agent.events import (
    Notice,
    ReplyFinished,
    ToolCalled,
    ToolFinished,
    TurnResult,
    UsageReported,
)
from paicli.llm.deltas import TextDelta
from paicli.llm.messages import ChatResponse, ToolCall, Usage
from paicli.tools.base import ToolResult
from paicli.ui.headless import Headless


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(kind, events, result, stdout=None):
    out, err = stdout or io.StringIO(), io.StringIO()
    headless = Headless(kind, out, err)
    headless.start("s1", "m", "/p")
    for event in events:
        headless.on_event(event)
    code = headless.finish(result, "s1")
    return code, out, err


CALL = ToolCall("c1", "read_file", '{"path":"a.py"}')
TURN = [
    TextDelta("I look "),
    TextDelta("first."),
    ReplyFinished(ChatResponse(content="I look first.", tool_calls=(CALL,))),
    ToolCalled("c1", "read_file", CALL.arguments, "a.py"),
    ToolFinished(ToolResult("c1", "read_file", True, "<tool_result>x</tool_result>")),
    UsageReported(Usage(5, 2, 1), Usage(5, 2, 1)),
    TextDelta("Done."),
    ReplyFinished(ChatResponse(content="Done.")),
]
DONE = TurnResult("done", "Done.", steps=2, usage=Usage(5, 2, 1))


def test_text_puts_the_answer_alone_on_stdout():
    code, out, err = run("text", TURN, DONE)
    assert (code, out.getvalue()) == (0, "Done.\n")
    assert "I look first." in err.getvalue()


def test_json_is_the_result_alone():
    _, out, _ = run("json", TURN, DONE)
    result = json.loads(out.getvalue())
    assert result["type"] == "result"
    assert result["usage"] == {"input": 5, "output": 2, "cached": 1}
    assert (result["status"], result["text"], result["session"]) == ("done", "Done.", "s1")
    assert result["error"] is None


def test_every_line_of_stream_json_parses_and_the_last_is_the_result():
    _, out, _ = run("stream-json", TURN, DONE)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    kinds = [line["type"] for line in lines]
    assert kinds == [
        "session", "text", "text", "tool_call", "tool_result", "usage", "text", "result",
    ]  # fmt: skip
    assert lines[0] == {"type": "session", "id": "s1", "model": "m", "cwd": "/p"}
    assert lines[3]["arguments"] == {"path": "a.py"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "utf-8"])
@pytest.mark.parametrize("kind", ["text", "json", "stream-json"])
def test_no_character_breaks_stdout(encoding, kind):
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding=encoding)
    text = "好 \ud83d\ude00 \udce9 é"
    code, _, _ = run(kind, [TextDelta(text)], TurnResult("done", text), stdout)
    assert code == 0
    content = raw.getvalue().decode(encoding)
    if kind != "text":
        assert "\ufffd" in json.loads(content.splitlines()[-1])["text"]


def test_control_characters_are_shown_on_a_terminal_and_kept_in_a_pipe():
    result = TurnResult("done", "a\x1b]52;c;eA==\x07b")
    assert "\x1b" not in run("text", [], result, Terminal())[1].getvalue()
    assert "\x1b]52" in run("text", [], result)[1].getvalue()
    assert "\x1b" not in run("text", [Notice("x", "\x1b[2J")], result)[2].getvalue()


def test_an_error_is_told_and_its_code_returned():
    code, out, err = run("text", [], TurnResult("error", error="no route", exit_code=75))
    assert (code, out.getvalue()) == (75, "")
    assert "no route" in err.getvalue()


SCRIPT = """
import sys
from paicli.agent.events import TextDelta, TurnResult
from paicli.ui.headless import Headless
h = Headless("stream-json", sys.stdout, sys.stderr, on_closed=lambda: print("closed", file=sys.stderr))
for n in range(20000):
    h.on_event(TextDelta("x" * 50))
sys.exit(h.finish(TurnResult("done", "x"), "s"))
"""


def test_a_reader_that_goes_away_ends_the_output_quietly():
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(30), errors) == (0, b"closed\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_and_the_run_fails():
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT], check=False, stdout=full, stderr=-1, text=True
        )
    assert process.returncode == 1
    assert "could not be written" in process.stderr
    assert "Traceback" not in process.stderr
