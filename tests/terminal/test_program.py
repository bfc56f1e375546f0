"""The real program in a real terminal, against a scripted model."""

import contextlib
import signal
import time
from pathlib import Path

import pytest

from tests.model_server import DONE, Pause, Turn, ask, call, chunk, hang, say
from tests.terminal.screen import CTRL_C, CTRL_D, ENTER, ESC, Screen


@pytest.fixture
def start(model_server, tmp_path):
    """Start PaiCLI in an empty project with the given turns of the model."""
    with contextlib.ExitStack() as stack:

        def started(*turns, options=(), columns=80, rows=24, **environ):
            root = tmp_path / "project"
            root.mkdir(exist_ok=True)
            server = model_server(*turns)
            environ = server.environ() | {"PAICLI_HOME": str(tmp_path / "home")} | environ
            screen = stack.enter_context(
                Screen("paicli", "-C", str(root), *options, columns=columns, rows=rows, **environ)
            )
            screen.root, screen.server = root, server
            screen.wait_for("scripted", 20)
            return screen

        yield started


def test_a_task_reads_edits_and_answers(start):
    screen = start(
        ask(call("read_file", path="a.py"), text="I look first."),
        ask(call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")),
        say("Done: **x is 2**."),
    )
    (screen.root / "a.py").write_text("x = 1\n")
    screen.type("set x to 2")
    screen.wait_for("Done: x is 2.", 20)
    assert (screen.root / "a.py").read_text() == "x = 2\n"
    text = screen.text()
    for part in ("I look first.", "Read a.py", "Edit a.py", "- x = 1", "+ x = 2"):
        assert part in text
    screen.send(CTRL_D)
    assert screen.exit_code() == 0
    assert screen.text().rstrip().endswith("· Start with -c to go on with this conversation.")


def test_hostile_output_steers_nothing(start):
    command = "printf '\\033]52;c;cHduZWQ=\\007\\033[2Jhello\\n'"
    screen = start(
        ask(call("list_dir", path="."), call("execute_command", command=command)),
        say("red \x1b[31m text \x9b2J end"),
    )
    (screen.root / "evil\x1b]0;pwned\x07.txt").touch()
    screen.type("go")
    screen.wait_for("end", 20)
    screen.watch(0.5)
    for evil in ("\x1b]0;pwned", "\x1b]52", "\x1b[2J", "\x9b2J", "\x1b[31m text"):
        assert evil.encode() not in screen.raw
    assert "hello" in screen.text()
    assert "Traceback" not in screen.text()


def test_keys_typed_before_a_question_do_not_answer_it(start):
    turn = ask(call("execute_command", command="touch owned"))
    slow = Turn((Pause(1.5), *turn.pieces))
    screen = start(slow, say("ok"), say("ok"), options=("--mode", "ask"))
    screen.type("go")
    screen.watch(0.3)
    screen.send("yes y\r 1\r")
    screen.wait_for("[y/N]", 20)
    screen.watch(2)
    assert not (screen.root / "owned").exists()
    screen.send(ENTER)
    screen.wait_for("ok", 20)
    screen.watch(0.5)
    assert not (screen.root / "owned").exists()
    assert "Traceback" not in screen.text()


def test_yes_runs_the_command(start):
    screen = start(
        ask(call("execute_command", command="touch owned")), say("ok"), options=("--mode", "ask")
    )
    screen.type("go")
    screen.wait_for("[y/N]", 20)
    screen.watch(0.5)
    screen.send("y")
    screen.wait_for("ok", 20)
    assert (screen.root / "owned").exists()


def test_broken_bytes_reach_the_model_as_replacement_characters(start):
    screen = start(say("first done"), say("second done"))
    screen.send(b"caf\xe9\r")
    screen.wait_for("first done", 20)
    screen.type("second")
    screen.wait_for("second done", 20)
    assert screen.server.requests[0].messages[-1]["content"].startswith("caf\ufffd")
    assert "Traceback" not in screen.text()


def test_ctrl_c_stops_the_turn_and_nothing_else(start):
    pieces = [chunk({"role": "assistant"})]
    for number in range(200):
        pieces += [chunk({"content": f"chunk{number} "}), Pause(0.1)]
    screen = start(Turn((*pieces, chunk({}, "stop"), DONE)), say("fine"))
    screen.send("junk" + CTRL_C)
    screen.type("go")
    screen.wait_for("chunk3", 20)
    screen.send(CTRL_C)
    before = time.monotonic()
    screen.wait_for("Cancelled.")
    assert time.monotonic() - before < 5
    screen.send(CTRL_C)
    screen.watch(0.3)
    screen.type("hello")
    screen.wait_for("fine", 20)
    screen.send(CTRL_D)
    assert screen.exit_code() == 0
    contents = [message["content"] for message in screen.server.requests[1].messages]
    assert "hello" in contents[-1]
    assert screen.server.requests[0].messages[-1]["content"].strip() == "go"


def test_what_is_typed_meanwhile_reaches_the_next_step(start):
    first = ask(call("list_dir", path="."))
    screen = start(Turn((Pause(1.0), *first.pieces)), say("I saw it."))
    screen.type("go")
    screen.server.wait_for_requests(1)
    screen.type("also look at b")
    screen.wait_for("⏎ also look at b")
    screen.wait_for("I saw it.", 20)
    contents = [message["content"] for message in screen.server.requests[1].messages]
    assert any("also look at b" in content for content in contents if content)


def test_the_demo_needs_no_key(tmp_path):
    with Screen("paicli", "--demo", "-C", str(tmp_path), PAICLI_HOME=str(tmp_path / "h")) as screen:
        screen.wait_for("PaiCLI", 20)
        screen.type("hello")
        screen.wait_for(lambda: ".env" in screen.text() or "API_KEY" in screen.text(), 20)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_key_is_entered_unseen_and_used(tmp_path, term):
    home = tmp_path / "h"
    with Screen(
        "paicli", "--demo", "-C", str(tmp_path), PAICLI_HOME=str(home), TERM=term
    ) as screen:
        screen.wait_for("PaiCLI", 20)
        screen.type("/key")
        screen.wait_for("Provider [deepseek]:")
        screen.type("glm")
        screen.wait_for("API key for glm")
        screen.type("never-shown-123")
        screen.wait_for("Now talking to")
        screen.wait_for("glm/glm")
        assert b"never-shown" not in screen.raw
        assert (home / ".env").read_text() == "GLM_API_KEY=never-shown-123\n"
        screen.type("/status")
        screen.wait_for("glm/")


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
@pytest.mark.parametrize("answers", [(), ("glm",)], ids=["at the provider", "at the key"])
def test_ctrl_c_leaves_the_question_for_a_key_and_takes_no_keys_with_it(tmp_path, term, answers):
    home = tmp_path / "h"
    with Screen(
        "paicli", "--demo", "-C", str(tmp_path), PAICLI_HOME=str(home), TERM=term
    ) as screen:
        screen.wait_for("PaiCLI", 20)
        screen.type("/key")
        screen.wait_for("Provider [deepseek]:")
        for answer in answers:
            screen.type(answer)
            screen.wait_for("API key for glm")
        screen.send("half a key")
        screen.send(CTRL_C)
        screen.wait_for("Cancelled")
        screen.type("/status")
        screen.wait_for("demo/demo")
        assert not (home / ".env").exists()


def test_a_command_of_ones_own(start):
    screen = start(say("seen"))
    screen.type("!echo $((40 + 2))")
    screen.wait_for("✓ Run echo", 20)
    screen.type("what was it?")
    screen.wait_for("seen", 20)
    last = screen.server.requests[0].messages[-1]["content"]
    assert "echo $((40 + 2))" in last
    assert "42" in last


def test_nothing_is_left_running_after_a_signal(start):
    screen = start(
        ask(call("execute_command", command="sleep 4321; touch late")), say("ok"),
        options=("--mode", "ask"),
    )  # fmt: skip
    screen.type("go")
    screen.wait_for("[y/N]", 20)
    screen.watch(0.5)
    screen.send("y")
    screen.wait_for(lambda: sleepers() != [], 20)
    screen.child.kill(signal.SIGTERM)
    assert screen.exit_code() == 143
    assert sleepers() == []


def sleepers():
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"4321" in process.read_bytes() and b"sleep" in process.read_bytes():
                found.append(process)
    return found


@pytest.mark.parametrize("stop", [ESC, CTRL_C])
def test_what_is_sent_right_behind_a_stop_is_the_next_turn(start, stop):
    screen = start(hang(answers=False), say("next answer"))
    screen.send("go" + ENTER)
    screen.server.wait_for_requests(1)
    screen.send(stop)
    screen.wait_for("Cancelled.")
    screen.type("hello")
    screen.wait_for("next answer", 20)
    assert screen.server.requests[1].messages[-1]["content"].startswith("hello")


def test_ctrl_c_while_the_program_is_being_loaded_ends_it_quietly(tmp_path):
    with Screen("paicli", "--demo", "-C", str(tmp_path), PAICLI_HOME=str(tmp_path / "h")) as screen:
        screen.watch(0.15)
        screen.send(CTRL_C)
        screen.watch(2)
        screen.send(CTRL_C + CTRL_D)
        screen.exit_code()
        assert "Traceback" not in screen.text()
