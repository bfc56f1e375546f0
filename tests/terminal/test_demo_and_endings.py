"""The program itself in a real terminal: started, given the README's task, ended in many ways."""

import os
import shutil
import signal
import sys

import pytest

from paicli.i18n import t
from tests.integration.program import ROOT, Program, pointing_at
from tests.model_server import ModelServer, ask, call, hang, say
from tests.terminal.screen import CTRL_C, CTRL_D, ENTER, ESC, Screen

STUBBORN = "sleep 331 & (setsid sleep 332 &) ; trap '' TERM INT HUP; touch started; echo it runs; sleep 333"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


@pytest.fixture
def paicli(tmp_path):
    program = Program(tmp_path)
    shutil.copytree(ROOT / "demo", program.project / "demo")
    yield program
    program.clear_away()


def terminal(paicli, *arguments, **environ):
    """The program in its project, in a window of 100 columns."""
    own = paicli.environ(PROMPT_TOOLKIT_NO_CPR="1", DEEPSEEK_API_KEY="") | environ
    return Screen("paicli", "-C", str(paicli.project), *arguments, columns=100, rows=40, **own)


def test_the_demo_task_changes_the_file(paicli):
    java = paicli.project / "demo/src/main/java/com/example/Hello.java"
    with terminal(paicli, "--demo") as screen:
        screen.wait_for("AUTO")
        screen.type(
            "Read demo/src/main/java/com/example/Hello.java and change what it prints to Hello PaiCLI"
        )
        screen.wait_for("now prints", 30)
        assert 'println("Hello PaiCLI")' in java.read_text()
        assert "+1" in screen.text()
        assert "cripted" in screen.text()
        screen.send(CTRL_D)
        assert screen.exit_code() == 0
    paicli.none_left()


def test_without_a_key_it_starts_on_the_demo_and_says_so(paicli):
    with terminal(paicli) as screen:
        screen.wait_for("[demo]:")
        screen.send(ENTER)
        screen.wait_for("DEEPSEEK_API_KEY")
        screen.wait_for("AUTO")
        screen.send(CTRL_D)
        assert screen.exit_code() == 0


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_without_a_key_it_can_be_left_at_once(paicli, key):
    with terminal(paicli) as screen:
        screen.wait_for("[demo]:")
        screen.send(key)
        assert screen.exit_code() == 130
        assert "Traceback" not in screen.text()
        assert "AUTO" not in screen.text()


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_the_question_about_trust_is_whole_and_can_be_left(paicli, key):
    paicli.write(".env", "LOCAL_BASE_URL=http://127.0.0.1:9/v1\n")
    with terminal(paicli, "--demo") as screen:
        screen.wait_for("Trust this folder?")
        assert set(t("approval.trust_means").split()) <= set(screen.text().split())
        screen.send(key)
        if key == CTRL_C:
            assert screen.exit_code() == 130
        else:
            screen.wait_for("AUTO")
            screen.send(CTRL_D)
            assert screen.exit_code() == 0


def test_lines_alone_end_at_the_beginning_of_a_line(paicli):
    with terminal(paicli, "--demo", "--plain") as screen:
        screen.wait_for(lambda: screen.raw.endswith(b"> "))
        screen.send(CTRL_D)
        assert screen.exit_code() == 0
        assert screen.raw.endswith(b"\n")


def runs_a_command(paicli, server):
    """A REPL in which a stubborn command runs."""
    screen = terminal(paicli, **pointing_at(server))
    screen.wait_for("AUTO")
    screen.type("please run it")
    screen.wait_for((paicli.project / "started").exists, 20)
    return screen


@on_linux
def test_esc_ends_the_command_and_the_next_request_works(paicli):
    turns = [ask(call("execute_command", command=STUBBORN)), say("I am still here.")]
    with ModelServer(turns) as server, runs_a_command(paicli, server) as screen:
        screen.send(ESC)
        screen.wait_for(lambda: len(paicli.processes()) == 1)
        screen.send("are you there?")
        screen.wait_for("are you there?")
        screen.send(ENTER)
        screen.wait_for("I am still here.")
        screen.send(CTRL_D)
        assert screen.exit_code() == 0
        assert server.complaints == []
    paicli.none_left()


@on_linux
@pytest.mark.parametrize("how", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT", "closed"])
def test_whatever_ends_it_ends_its_commands(paicli, how):
    with (
        ModelServer([ask(call("execute_command", command=STUBBORN)), hang()]) as server,
        runs_a_command(paicli, server) as screen,
    ):
        if how == "closed":
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, screen.child.child_fd)  # the window is gone
            os.close(nowhere)
        else:
            os.kill(screen.child.pid, getattr(signal, how))
        if how == "SIGINT":  # what Ctrl+C is: the run ends, the program lives on
            screen.wait_for(lambda: len(paicli.processes()) <= 1)
            os.kill(screen.child.pid, signal.SIGTERM)
        paicli.wait_for(lambda: not paicli.processes(), "the end")
