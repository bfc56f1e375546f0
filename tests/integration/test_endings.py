"""However PaiCLI is ended, nothing it started lives on and nothing is half done."""

import contextlib
import os
import signal
import sys
import time

import pytest

from tests.model_server import (
    Gate,
    ModelServer,
    ask,
    call,
    chunk,
    hang,
    http,
    reply_pieces,
    say,
    stream,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")

STUBBORN = (
    "sleep 311 & (setsid sleep 312 &) ; nohup sleep 313 >/dev/null 2>&1 & trap '' TERM INT HUP; "
    "touch started; sleep 314"
)
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]


def ignoring_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("ignored", [False, True], ids=["", "sigint-ignored"])
@pytest.mark.parametrize("name", SIGNALS)
def test_ended_while_a_command_runs(paicli, name, ignored):
    with ModelServer([ask(call("execute_command", command=STUBBORN)), say("late")]) as server:
        process = paicli.start(
            "-p", "go", server=server, preexec_fn=ignoring_interrupts if ignored else None
        )
        paicli.wait_for((paicli.project / "started").exists, "the command")
        paicli.wait_for(lambda: len(paicli.processes()) >= 5, "its children")
        process.send_signal(getattr(signal, name))
        ended = paicli.finish(process, timeout=15)
    paicli.none_left()
    assert ended.code != 0
    if name == "SIGINT":
        assert ended.code == 130
    with ModelServer([say("still here")]) as server:
        assert paicli.run("-p", "-c", "and?", server=server).out == "still here\n"
    assert server.complaints == []


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("moment", ["headers", "stream", "arguments", "review", "retry"])
def test_ended_while_it_waits_for_the_model(paicli, name, moment):
    gate = Gate()
    words = reply_pieces("a long answer, cut in two")
    turns = {
        "headers": [hang(answers=False)],
        "stream": [stream(*words[:3], gate, *words[3:])],
        "arguments": [
            stream(
                chunk(
                    {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file"}}]}
                ),
                chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"path": "x'}}]}),
                gate,
            )
        ],
        "review": [ask(call("execute_command", command="touch x y z")), hang()],
        "retry": [http(503, "busy", Retry_After="25")],
    }[moment]
    reviews = None if moment == "review" else "allow"
    with ModelServer(turns, repeat_last=True, reviews=reviews) as server:
        process = paicli.start("-p", "go", server=server)
        server.wait_for_requests(2 if moment == "review" else 1)
        if moment in ("stream", "arguments"):
            assert gate.reached.wait(20)
        time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        ended = paicli.finish(process, timeout=8)
    assert ended.code != 0
    if name == "SIGINT":
        assert ended.code == 130
    paicli.none_left()
    assert list(paicli.project.iterdir()) == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SIGNALS)
def test_ended_at_any_moment_of_its_start_and_of_a_command(paicli, name):
    """A sweep: many runs, each ended a little later than the one before."""
    command = "sleep 321 & (setsid sleep 322 &) ; sleep 323"
    turns = [ask(call("execute_command", command=command))]
    with ModelServer(turns, repeat_last=True) as server:
        for step in range(10):
            process = paicli.start("-p", "go", server=server)
            with contextlib.suppress(Exception):
                process.wait(0.02 + 0.09 * step)
            process.send_signal(getattr(signal, name))
            _, err = process.communicate(timeout=15)
            assert process.returncode != 0
            if b"<frozen" not in err and b"runpy" not in err:  # Python itself was still starting
                assert b"Traceback" not in err, err.decode()
            paicli.none_left()


def test_a_second_signal_does_not_hurt(paicli):
    with ModelServer([ask(call("execute_command", command=STUBBORN))]) as server:
        process = paicli.start("-p", "go", server=server)
        paicli.wait_for((paicli.project / "started").exists, "the command")
        for name in ("SIGINT", "SIGTERM", "SIGINT"):
            process.send_signal(getattr(signal, name))
            time.sleep(0.02)
        assert paicli.finish(process, timeout=15).code != 0
    paicli.none_left()


def test_a_signal_to_the_whole_group_does_not_hurt(paicli):
    """What a terminal does on Ctrl+C: everybody in the foreground gets it."""
    with ModelServer([ask(call("execute_command", command=STUBBORN))]) as server:
        process = paicli.start("-p", "go", server=server, start_new_session=True)
        paicli.wait_for((paicli.project / "started").exists, "the command")
        os.killpg(process.pid, signal.SIGINT)
        assert paicli.finish(process, timeout=15).code == 130
    paicli.none_left()


@pytest.mark.timeout(240)
def test_killed_it_leaves_whole_files_and_a_session_that_loads(paicli):
    big = ["first\n" + "1" * 200_000, "second\n" + "2" * 200_000]
    whole = set(big)
    turns = [ask(call("write_file", path="big.txt", content=text), size=100_000) for text in big]
    file = paicli.project / "big.txt"
    seen = set()
    for step in range(5):
        rounds = [turns[n % 2] for n in range(40)]
        with ModelServer(rounds) as server:
            process = paicli.start("-p", "go", server=server)
            server.wait_for_requests(2 + step % 3)
            time.sleep(0.007 * step)  # somewhere in the writing of the file that was asked for
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        if file.exists():
            text = file.read_text()
            assert text in whole
            seen.add(text[:5])
        with ModelServer([say("I am back.")]) as server:
            again = paicli.run("-p", "-c", "go on", server=server)
        assert (again.code, again.out) == (0, "I am back.\n"), again.err
        assert server.complaints == []
    assert seen, "no run got as far as a write"
    left = [
        path.name for path in paicli.project.iterdir() if path.name not in ("big.txt", ".paicli")
    ]
    assert all(name.startswith(".") for name in left), left
