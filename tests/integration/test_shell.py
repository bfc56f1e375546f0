"""`execute_command` with real processes, checked through the system's own process table."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from paicli.config import load
from paicli.errors import PolicyDenied, ToolFailed
from paicli.policy.sandbox import CommandSandbox
from paicli.tools import process_table
from paicli.tools.output import CommandOutput
from paicli.tools.processes import Processes
from paicli.tools.shell import ExecuteCommandParameters, child_environment, shell_tool

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def processes():
    made = Processes()
    yield made
    made.end_all()


@pytest.fixture
def run(tmp_path, processes, monkeypatch):
    monkeypatch.setenv("PAICLI_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    settings = load(root, os.environ, {}).settings
    tool = shell_tool(root, settings, processes, CommandSandbox(root, "off"))

    async def run_it(command, tell=lambda text: None, **more):
        return await tool.run(ExecuteCommandParameters(command=command, **more), tell)

    run_it.root = root
    run_it.tool = tool
    return run_it


def alive(token):
    """Return the processes that have this word in their command line, zombies left out."""
    table = process_table.snapshot()
    return [
        pid
        for pid, process in table.items()
        if not process.zombie and token in process_table.command_line(pid) and pid != os.getpid()
    ]


def a_number():
    """Return seconds to sleep that no other test sleeps: they name a process in the table."""
    a_number.count += 1
    return f"{300 + a_number.count}.{os.getpid()}"


a_number.count = 0


async def test_output_exit_code_and_time_are_told(run):
    output = await run("echo out; echo err >&2; exit 3")
    assert output.text.startswith("Exit code: 3 (")
    assert output.text.endswith("out\nerr\n")
    assert not output.ok
    assert output.summary.startswith("exit 3")
    assert (await run("true")).text.endswith("(no output)")


async def test_it_runs_in_the_project_with_nothing_to_read_and_no_terminal(run):
    output = await run("pwd; cat; (exec </dev/tty) 2>/dev/null || echo no terminal; tty")
    assert output.text.splitlines()[1:] == [str(run.root), "no terminal", "not a tty"]


async def test_a_signal_is_named(run):
    output = await run("kill -SEGV $$")
    assert "SIGSEGV" in output.text
    assert not output.ok


async def test_secrets_stay_behind_and_nothing_waits_for_keys(run, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-hidden-0001")
    monkeypatch.setenv("MY_GITHUB_TOKEN", "hidden-0002")
    monkeypatch.setenv("HARMLESS", "shown")
    text = (await run("env")).text
    assert "hidden" not in text
    assert "HARMLESS=shown" in text
    for line in ("PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "TERM=dumb"):
        assert line in text.splitlines()


def test_a_secret_is_kept_when_it_is_named():
    environ = {"NPM_TOKEN": "a", "OTHER_TOKEN": "b", "FORCE_COLOR": "1"}
    kept = child_environment(environ, "NPM_TOKEN, X")
    assert kept["NPM_TOKEN"] == "a"
    assert "OTHER_TOKEN" not in kept
    assert "FORCE_COLOR" not in kept


@pytest.mark.parametrize(
    ("command", "words"),
    [("", "empty"), ("  \n", "empty"), ("echo a\0b", "NUL"), ("echo " + "a" * 200_000, "too long")],
)
async def test_what_cannot_run_is_said(run, command, words):
    with pytest.raises(ToolFailed, match=words):
        await run(command)


async def test_a_deleted_project_folder_is_said(run):
    run.root.rmdir()
    with pytest.raises(ToolFailed, match="no longer exists"):
        await run("ls")


async def test_missing_bash_is_said(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolFailed, match="bash was not found"):
        await run("ls")


async def test_bytes_that_are_no_text_come_through(run):
    output = await run(
        r"printf '\360\237ok\377\n'; printf 'a\000b\n'; printf '\033[31mred\033[0m\n'"
    )
    assert "ok" in output.text
    assert "a\\x00b" in output.text
    assert "red\n" in output.text
    assert "\x1b" not in output.text
    assert "31m" not in output.text
    assert (await run("head -c 65536 /dev/urandom")).ok


async def test_progress_lines_are_folded(run):
    output = await run(r"printf '10%%\r50%%\r100%%\nnext\r\nlast\rend'")
    assert output.text.splitlines()[1:] == ["100%", "next", "end"]


async def test_long_output_is_cut_and_the_file_named(run):
    output = await run("seq 1 20000")
    assert len(output.text) < 8_500
    assert "\n1\n2\n3\n" in output.text
    assert output.text.endswith("19999\n20000\n")
    name = next(part for part in output.text.split() if part.startswith(".paicli/tool-outputs/"))
    assert (run.root / name).read_text() == "".join(f"{n}\n" for n in range(1, 20_001))
    assert (run.root / ".paicli/tool-outputs/.gitignore").read_text() == "*\n"


async def test_one_endless_line_is_cut_too(run):
    output = await run("head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(output.text) < 8_500
    assert "3000000 bytes" in output.text
    assert "the first 2000000 bytes" in output.text


async def test_long_output_never_leaves_the_project(run, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (run.root / ".paicli").symlink_to(outside)
    output = await run("seq 1 20000")
    assert "was not kept" in output.text
    assert list(outside.iterdir()) == []


async def test_output_is_told_while_the_command_runs(run):
    told = []
    command = "echo first; sleep 0.02; echo next; sleep 1; echo last"
    task = asyncio.create_task(run(command, told.append))
    await asyncio.sleep(0.6)
    assert "".join(told) == "first\nnext\n"
    await task
    assert "".join(told) == "first\nnext\nlast\n"


async def test_much_output_costs_little_memory(run):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = await run("yes 0123456789012345678901234567890123456789 | head -c 200000000")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert output.ok
    assert (after - before) / 1024 < 30


@linux
async def test_a_background_child_does_not_hold_the_tool(run, processes):
    number = a_number()
    started = time.monotonic()
    output = await run(f"sleep {number} & echo started")
    assert time.monotonic() - started < 5
    assert output.ok
    assert "started" in output.text
    assert "background: 1 process" in output.text
    assert "two" in (await run(f"(setsid sleep {number} &); echo two")).text
    await asyncio.sleep(0.2)
    listed = processes.list()
    assert [row.command_line for row in listed] == [f"sleep {number}"] * 2
    assert listed[0].command.endswith("echo started")
    assert processes.end_all() == 2
    assert alive(number) == []
    assert processes.list() == ()


@linux
async def test_a_background_process_may_go_on_printing(run, processes):
    await run("(for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done; touch done) & true")
    await asyncio.sleep(2)
    assert (run.root / "done").exists()


ALL_KINDS = [
    "sleep {n} & (setsid sleep {n} &); trap '' TERM; sleep {n}",
    "sleep {n}",
    "trap '' TERM INT HUP; while :; do sleep {n}; done",
    "setsid -w bash -c \"trap '' TERM; sleep {n}\"",
    "(env -i setsid sleep {n} &); sleep {n}",
    "(setsid env -i nohup setsid sleep {n} >/dev/null 2>&1 &); sleep {n}",
    "bash -c 'sleep {n} & sleep {n}' & sleep {n} & wait",
    "for i in 1 2 3 4 5; do (sleep {n} &) ; done; sleep {n}",
    "sleep {n} | sleep {n} | cat",
    "kill -STOP $$; sleep {n}",
]


@linux
@pytest.mark.parametrize("command", ALL_KINDS, ids=range(len(ALL_KINDS)))
async def test_a_timeout_leaves_no_process(run, command):
    number = a_number()
    output = await run(command.format(n=number), timeout_seconds=1)
    assert alive(number) == []
    assert not output.ok
    assert output.text.startswith("Timed out after 1 s")


@linux
@pytest.mark.parametrize("command", ALL_KINDS, ids=range(len(ALL_KINDS)))
async def test_a_cancel_leaves_no_process(run, command):
    number = a_number()
    task = asyncio.create_task(run(command.format(n=number)))
    await asyncio.sleep(0.4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(number) == []


@linux
async def test_a_second_cancel_ends_at_once(run):
    number = a_number()
    task = asyncio.create_task(run(f"trap '' TERM; sleep {number} & sleep {number}"))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.8
    assert alive(number) == []


@linux
@pytest.mark.parametrize("delay", [0, 0.001, 0.005, 0.02, 0.05])
async def test_a_cancel_at_any_moment_leaves_no_process(run, delay):
    number = a_number()
    task = asyncio.create_task(run(f"(setsid sleep {number} &); sleep {number}"))
    await asyncio.sleep(delay)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(number) == []


@linux
async def test_ending_one_command_spares_the_background_of_another(run, processes):
    keep, number = a_number(), a_number()
    await run(f"(setsid sleep {keep} &)")
    await run(f"sleep {number}", timeout_seconds=1)
    assert len(alive(keep)) == 1
    assert alive(number) == []


@linux
async def test_ended_orphans_are_collected(run, processes):
    await run("for i in 1 2 3; do (setsid sleep 0.2 &); done")
    await asyncio.sleep(0.6)
    assert processes.list() == ()
    table = process_table.snapshot()
    zombies = [p for p in table.values() if p.zombie and p.parent == os.getpid()]
    assert [p for p in zombies if p.session != os.getsid(0)] == []


@linux
@pytest.mark.parametrize("command", [ALL_KINDS[n] for n in (1, 2, 6, 7, 8)])
async def test_without_proc_the_other_way_ends_them_too(run, monkeypatch, command):
    monkeypatch.setattr("paicli.tools.process_table._ON_LINUX", False)
    number = a_number()
    await run(command.format(n=number), timeout_seconds=1)
    monkeypatch.undo()
    assert alive(number) == []


async def test_what_other_parts_started_is_left_alone(run, processes):
    other = await asyncio.create_subprocess_exec("sleep", "30")
    await run("sleep 30", timeout_seconds=1)
    processes.end_all()
    assert other.returncode is None
    other.kill()
    assert await other.wait() == -9


async def test_nothing_goes_around_the_guard(run):
    assert run.tool.guard(ExecuteCommandParameters(command="sudo touch owned"))
    with pytest.raises(PolicyDenied):
        await run("sudo touch owned")
    with pytest.raises(PolicyDenied):
        await run("cd /tmp && su -c 'touch owned'")


async def test_a_required_sandbox_that_is_missing_refuses_everything(tmp_path, processes):
    settings = load(tmp_path, {}, {}).settings
    sandbox = CommandSandbox(tmp_path, "required", platform="plan9")
    tool = shell_tool(tmp_path, settings, processes, sandbox)
    with pytest.raises(PolicyDenied, match="bubblewrap"):
        await tool.run(ExecuteCommandParameters(command="touch owned"), print)
    assert not (tmp_path / "owned").exists()


def test_a_full_disk_costs_only_the_file(tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    output = CommandOutput(lambda text: None, lambda: (os.open(full, os.O_WRONLY), "x"))
    output.feed(b"line\n" * 10_000)
    output.finish()
    assert "was not kept" in output.text()
