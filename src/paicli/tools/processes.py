"""Start commands, keep sight of everything they start, and end all of it.

A command is a shell in its own session with no terminal. What it starts is found by its marker in
the environment, by its session and by its ancestors; on Linux orphans become our children, so that
a process which left its group and wiped its environment is found too. So whatever is to run in a
session of its own must be started here. A background process may
outlive its command; it is listed, and ended with the session.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from paicli.tools import process_table
from paicli.tools.process_table import Process
from paicli.values import value

GRACE_SECONDS = 1.0
"""How long a process may take to end after TERM before it gets KILL."""

_POLL_SECONDS = 0.02
_MAX_SWEEPS = 50
_SHOWN_CHARACTERS = 200


@value
class Background:
    """A process that outlived its command: its number, how it was started, and the command it came from."""

    pid: int
    command_line: str
    command: str


class RunningCommand:
    """One command: its shell and the marker that its descendants carry."""

    def __init__(self, shell: subprocess.Popen[bytes], marker: str, command: str) -> None:
        self.shell = shell
        self.marker = marker
        self.command = command
        self.started = process_table.started_at(shell.pid)
        self.seen: dict[int, float] = {}

    async def wait(self) -> int:
        """Return the shell's status as soon as the shell itself ends, whatever it left behind."""
        if (waiting := _process_descriptor(self.shell.pid)) is None:
            while (status := self.shell.poll()) is None:  # noqa: ASYNC110 - nothing tells of it here
                await asyncio.sleep(_POLL_SECONDS)
            return status
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(waiting, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(waiting)
            os.close(waiting)
        return self.shell.wait()


def _process_descriptor(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None


class Processes:
    """Every command of a session, and what they left running."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._commands: dict[str, RunningCommand] = {}

    def start(
        self,
        arguments: Sequence[str],
        *,
        command: str,
        directory: Path,
        environment: Mapping[str, str],
        output: int,
    ) -> RunningCommand:
        """Start `arguments` in a session of their own, with nothing to read and no terminal to ask on.

        `output` is the descriptor that takes both streams; `command` is how the person knows it.
        Raises OSError when it cannot be started.
        """
        process_table.become_subreaper()
        self._forget_ended()
        marker = f"{self._token}-{next(self._numbers)}"
        shell = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            env={**environment, process_table.MARKER: marker},
            start_new_session=True,
        )
        running = self._commands[marker] = RunningCommand(shell, marker, command)
        return running

    def list(self) -> tuple[Background, ...]:
        """Return what commands that are over have left running."""
        self._forget_ended()
        return tuple(
            Background(
                pid,
                process_table.command_line(pid)[:_SHOWN_CHARACTERS] or "?",
                running.command,
            )
            for running in self._commands.values()
            if running.shell.returncode is not None
            for pid in sorted(self.living(running))
        )

    def living(self, running: RunningCommand) -> dict[int, Process]:
        """Return every living process of one command."""
        return {
            pid: process for pid, process in self._remaining(running).items() if not process.zombie
        }

    def _remaining(self, running: RunningCommand) -> dict[int, Process]:
        """Return the processes of one command, after collecting those that ended and are our children."""
        table = process_table.snapshot()
        found = {
            pid: process for pid, process in table.items() if self._belongs(running, process, table)
        }
        running.seen.update({pid: process.started for pid, process in found.items()})
        orphans = [
            pid
            for pid, process in found.items()
            if process.zombie and process.parent == os.getpid() and pid != running.shell.pid
        ]
        for pid in orphans:
            process_table.reap(pid)
            del found[pid]
        return found

    def _belongs(
        self, running: RunningCommand, process: Process, table: Mapping[int, Process]
    ) -> bool:
        """Tell whether a process comes from this command: by what is known of it or of an ancestor."""
        if process.started < running.started:
            return False
        ourselves = os.getpid()
        on_the_way = set()
        current: Process | None = process
        while current is not None and current.pid not in (ourselves, 1):
            if current.pid in on_the_way:
                return False
            on_the_way.add(current.pid)
            if current.pid == running.shell.pid and current.started == running.started:
                return True
            if running.seen.get(current.pid) == current.started:
                return True
            marker = process_table.marker_of(current.pid)
            if marker:
                return marker == running.marker
            if current.session == running.shell.pid and current.started >= running.started:
                return True
            if current.parent == ourselves:
                return self._was_adopted_from(running, current)
            current = table.get(current.parent)
        return False

    def _was_adopted_from(self, running: RunningCommand, process: Process) -> bool:
        """Tell whether a child of ours without a readable marker is an orphan of this command.

        It wiped its environment, or it is a zombie, and it left its session. Whatever PaiCLI
        itself starts in another session than its own is started here and so is known.
        """
        return (
            process.session != os.getsid(0)
            and running is next(reversed(self._commands.values()))
            and all(process.pid != other.shell.pid for other in self._commands.values())
        )

    async def end(self, running: RunningCommand) -> int:
        """End a command and everything it started, and return how many processes that were.

        TERM first, KILL after a second. When this is itself cancelled, KILL comes at once.
        """
        ended: set[int] = set()
        try:
            self._signal_all([running], ended)
            deadline = time.monotonic() + GRACE_SECONDS
            while time.monotonic() < deadline and self._any_living([running]):  # noqa: ASYNC110 - nothing tells of grandchildren
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._kill_all([running], ended)
            self._forget_ended()
        return len(ended)

    def end_all(self) -> int:
        """End every process of every command and return how many; for the way out, so it does not await."""
        everything = [*self._commands.values()]
        ended: set[int] = set()
        self._signal_all(everything, ended)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and self._any_living(everything):
            time.sleep(_POLL_SECONDS)
        self._kill_all(everything, ended)
        self._forget_ended()
        return len(ended)

    def _any_living(self, commands: Sequence[RunningCommand]) -> bool:
        return any(self._all_living(running) for running in commands)

    def _all_living(self, running: RunningCommand) -> dict[int, Process]:
        running.shell.poll()
        return self.living(running)

    def _signal_all(self, commands: Sequence[RunningCommand], ended: set[int]) -> None:
        for running in commands:
            for pid in self._all_living(running):
                ended.add(pid)
                process_table.send(pid, signal.SIGTERM)

    def _kill_all(self, commands: Sequence[RunningCommand], ended: set[int]) -> None:
        """Freeze, then kill, until nothing is left: what is frozen cannot start another."""
        for running in commands:
            for _ in range(_MAX_SWEEPS):
                running.shell.poll()
                remaining = self._remaining(running)
                if not remaining:
                    break
                living = [pid for pid, process in remaining.items() if not process.zombie]
                ended.update(living)
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    for pid in living:
                        process_table.send(pid, number)
                time.sleep(_POLL_SECONDS / 4)
            with suppress(subprocess.TimeoutExpired):
                running.shell.wait(timeout=GRACE_SECONDS)

    def _forget_ended(self) -> None:
        for marker, running in list(self._commands.items()):
            if running.shell.poll() is not None and not self._remaining(running):
                del self._commands[marker]
