"""A command that prints a gigabyte, against a pipe that is only read; and what a small one costs.

Run as a program it runs one command and prints the seconds and the megabytes that it cost:
`python -m tests.bench.shell FOLDER COMMAND`.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from paicli.config import load
from paicli.policy.sandbox import CommandSandbox
from paicli.tools.processes import Processes
from paicli.tools.shell import ExecuteCommandParameters, shell_tool
from tests.bench.measure import ROOT, Figure, Place, median

GIGABYTE = (
    "yes 0123456789012345678901234567890123456789012345678901234567890123 | head -c 1000000000"
)


def on_much_output(at: Place) -> Iterator[Figure]:
    """One gigabyte of lines through `execute_command`: seconds and memory; and `true` alone."""
    started = time.perf_counter()
    subprocess.run(f"{GIGABYTE} | cat > /dev/null", shell=True, check=True)
    bare = time.perf_counter() - started
    seconds, megabytes = _carried_out(at, GIGABYTE)
    yield Figure("execute_command: 1 GB of output", seconds, "s", bare, note="floor: cat")
    yield Figure("execute_command: memory for it", megabytes, "MB", target="30 MB")
    empty = median(lambda: _seconds_of("true", at.project), 9) * 1000
    ours = median(lambda: _carried_out(at, "true")[0], 5) * 1000
    yield Figure("execute_command: true", ours, "ms", empty, note="floor: bash -c")


def _seconds_of(command: str, folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(["bash", "-c", command], cwd=folder, check=True)
    return time.perf_counter() - started


def _carried_out(at: Place, command: str) -> tuple[float, float]:
    words = [sys.executable, "-m", "tests.bench.shell", str(at.project), command]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


async def _carry_out(folder: Path, command: str) -> tuple[float, float]:
    processes = Processes()
    settings = load(folder, os.environ, {}).settings
    tool = shell_tool(folder, settings, processes, CommandSandbox(folder, "off"))
    await tool.run(ExecuteCommandParameters(command="true"), lambda _: None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    await tool.run(ExecuteCommandParameters(command=command, timeout_seconds=600), lambda _: None)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    processes.end_all()
    return seconds, (after - before) / 1024


if __name__ == "__main__":
    print(*asyncio.run(_carry_out(Path(sys.argv[1]), sys.argv[2])))
