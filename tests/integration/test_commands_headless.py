"""Commands in the real program: what is reviewed, what is refused, and what is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paicli.tools import process_table
from tests.model_server import ModelServer, ask, call, say

SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 20

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def start(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    started = []

    def run(server, *words):
        environ = {
            **os.environ,
            **server.environ(),
            "PYTHONPATH": str(SOURCE),
            "PAICLI_HOME": str(tmp_path / "home"),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "paicli", "-p", "go", *words],
            cwd=project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    run.project, run.home = project, tmp_path / "home"
    yield run
    for process in started:
        process.kill()
        process.communicate()


def alive(token):
    table = process_table.snapshot()
    return [
        pid
        for pid, process in table.items()
        if not process.zombie and token in process_table.command_line(pid)
    ]


def test_a_command_that_only_reads_costs_no_request(start):
    with ModelServer([ask(call("execute_command", command="ls")), say("done")]) as server:
        process = start(server)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (0, b"done\n"), err
        assert len(server.requests) == 2


@pytest.mark.parametrize("mode", ["auto", "plan", "ask"])
@pytest.mark.parametrize("command", ["sudo touch owned", "true; env sudo touch owned"])
def test_what_the_guard_refuses_runs_in_no_mode(start, mode, command):
    turns = [ask(call("execute_command", command=command)), say("done")]
    with ModelServer(turns, repeat_last=True) as server:
        process = start(server, "--mode", mode)
        _, err = process.communicate(timeout=PATIENCE)
        assert mode == "plan" or process.returncode == 4, err
        assert server.review_requests == []
        assert "refused whoever approves it" in server.requests[1].messages[-1]["content"]
    assert not (start.project / "owned").exists()
    lines = [
        line for file in (start.home / "audit").iterdir() for line in file.read_text().splitlines()
    ]
    assert [json.loads(line)["approver"] for line in lines] == ["policy"]


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_without_a_person_nothing_that_needs_one_happens(start, mode):
    calls = [
        call("execute_command", command="touch owned"),
        call("write_file", path="owned", content="x"),
    ]
    with ModelServer([ask(*calls), say("done")], repeat_last=True) as server:
        process = start(server, "--mode", mode)
        process.communicate(timeout=PATIENCE)
        assert server.review_requests == []
    assert list(start.project.iterdir()) == []


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_process(start, number):
    seconds = f"{351 + number}.{os.getpid()}"
    command = f"sleep {seconds} & (setsid sleep {seconds} &); trap '' TERM; sleep {seconds}"

    turns = [ask(call("execute_command", command=command)), say("done")]
    with ModelServer(turns, repeat_last=True) as server:
        process = start(server)
        deadline = time.monotonic() + PATIENCE
        while len(alive(seconds)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(alive(seconds)) >= 3
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        assert process.returncode in (130, 128 + number, -number)
    assert alive(seconds) == []
