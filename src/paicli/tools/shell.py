"""`execute_command`: run a shell command in the project and tell how it went, whatever it does."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from paicli.config import Settings
from paicli.errors import PaiCliError, PolicyDenied, ToolFailed
from paicli.i18n import t
from paicli.policy.command_guard import CommandGuard
from paicli.policy.modes import Effect
from paicli.policy.path_guard import PathGuard
from paicli.policy.sandbox import CommandSandbox
from paicli.secrets import is_secret_name
from paicli.text import clean
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.output import TELL_SECONDS, CommandOutput
from paicli.tools.parameters import Parameters
from paicli.tools.processes import Processes, RunningCommand
from paicli.tools.results import OUTPUT_FOLDER, new_output_file

LONGEST_TIMEOUT = 600
_DRAIN_SECONDS = 0.3
_PIECE = 65_536

_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "AWS_PAGER": "",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "PYTHONUNBUFFERED": "1",
}
_LOUD = ("FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "LS_COLORS")


class ExecuteCommandParameters(Parameters):
    """Run a command with `bash -c` in the project root and return its output and exit code.

    It has no terminal and its input is empty, so it must not wait for keys: give flags that answer
    questions beforehand. It ends after the timeout together with everything it started. Use `&` for
    a server that should go on running; it lives until this session ends. For reading, finding and
    changing files the file tools are better. sudo and destructive commands are refused.
    """

    command: str = Field(description="The command line for bash.")
    timeout_seconds: int | None = Field(
        default=None,
        ge=1,
        le=LONGEST_TIMEOUT,
        description=f"Seconds it may take, at most {LONGEST_TIMEOUT}; leave out for the usual limit.",
    )


def child_environment(environ: Mapping[str, str], keep: str = "") -> dict[str, str]:
    """Return the environment of a command: no secrets but those named in `keep`, nothing that waits for keys."""
    kept = set(keep.replace(",", " ").split())
    environment = {
        name: value
        for name, value in environ.items()
        if (not is_secret_name(name) or name in kept) and name not in _LOUD
    }
    return environment | _QUIET


def _no_index_refresh(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep `git diff` from rewriting the index (it ignores GIT_OPTIONAL_LOCKS)."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    number = int(count) if count.isdecimal() else 0
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": "diff.autoRefreshIndex",
        f"GIT_CONFIG_VALUE_{number}": "false",
    }


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a command ended: the shell's status (negative: a signal), or None after a timeout."""

    status: int | None
    seconds: float
    ended: int
    background: int


class _Shell:
    """Runs one command after the other for the tool."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        processes: Processes,
        sandbox: CommandSandbox,
        *,
        leaves_no_trace: bool,
    ) -> None:
        self._root = root
        self._leaves_no_trace = leaves_no_trace
        self._settings = settings
        self._processes = processes
        self._sandbox = sandbox
        self._folder = OUTPUT_FOLDER / f"commands-{secrets.token_hex(4)}"
        self._count = 0

    async def run(self, parameters: ExecuteCommandParameters, tell: Tell) -> ToolOutput:
        """Run the command to its end, its timeout or its cancellation."""
        command = clean(parameters.command)
        _refuse_nonsense(command)
        output = CommandOutput(tell, self._open_file)
        timeout = parameters.timeout_seconds or self._settings.command_timeout
        reading, writing = os.pipe()
        try:
            running = self._start(command, writing)
        except PaiCliError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        try:
            try:
                ending = await self._watch(running, reading, output, timeout)
            except asyncio.CancelledError:
                await self._processes.end(running)
                raise
        finally:
            output.finish()
        return _report(ending, output.text(), timeout)

    def _start(self, command: str, writing: int) -> RunningCommand:
        bash = shutil.which("bash")
        if bash is None:
            raise ToolFailed("bash was not found on this machine, so no command can run.")
        if not self._root.is_dir():
            raise ToolFailed(f"The project folder {self._root} no longer exists.")
        environment = child_environment(os.environ, self._settings.shell_keep_env)
        if self._leaves_no_trace:
            environment |= _no_index_refresh(environment)
        launch = self._sandbox.launch(bash, command, environment)
        try:
            return self._processes.start(
                launch.arguments,
                command=command,
                directory=self._root,
                environment=launch.environment,
                output=writing,
            )
        except OSError as error:
            raise ToolFailed(_why_not_started(error, command)) from error

    async def _watch(
        self, running: RunningCommand, reading: int, output: CommandOutput, limit: float
    ) -> _Ending:
        started = time.monotonic()
        reader = _PipeReader(reading, output)
        status: int | None = None
        ended = 0
        try:
            try:
                async with asyncio.timeout(limit):
                    status = await running.wait()
            except TimeoutError:
                ended = await self._processes.end(running)
            # A child may keep the pipe open for ever: what is on its way is read, no more.
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await reader.closed.wait()
        finally:
            reader.discard()
        background = 0 if status is None else len(self._processes.living(running))
        return _Ending(status, time.monotonic() - started, ended, background)

    def _open_file(self) -> tuple[int, str] | None:
        """Make the next file for long output inside the project, where `read_file` can see it."""
        if self._leaves_no_trace:
            return None
        self._count += 1
        place = self._folder / f"{self._count:03d}-output.txt"
        try:
            return new_output_file(PathGuard(self._root), place), str(place)
        except (OSError, PaiCliError):
            return None


class _PipeReader:
    """Feeds what arrives in a pipe to the output, a piece for each turn of the loop.

    It owns the descriptor, and reads to the end even when nobody wants the output any more: a
    background process would die of a closed pipe.
    """

    def __init__(self, descriptor: int, output: CommandOutput) -> None:
        self.closed = asyncio.Event()
        self._descriptor = descriptor
        self._output: CommandOutput | None = output
        self._later: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _PIECE)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self.closed.set()
        elif self._output is not None:
            self._output.feed(data)
            if self._output.untold and self._later is None:
                self._later = self._loop.call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        """Tell what came after the last piece, when nothing else comes for a while."""
        self._later = None
        if self._output is not None:
            self._output.tell_now()

    def discard(self) -> None:
        """Let go of the output; what still comes is thrown away."""
        self._output = None
        if self._later is not None:
            self._later.cancel()


def _refuse_nonsense(command: str) -> None:
    if not command.strip():
        raise ToolFailed("The command is empty.")
    if "\0" in command:
        raise ToolFailed("The command contains a NUL character, which no command can.")


def _why_not_started(error: OSError, command: str) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"The command could not start: {error.strerror} ({error.filename})."
    size = len(command.encode("utf-8", "replace"))
    if size > 100_000:
        return f"The command is too long for the system ({size} bytes). Write a script file and run that."
    return f"The command could not start: {error.strerror or error}."


def _report(ending: _Ending, text: str, timeout: float) -> ToolOutput:
    took = f"{ending.seconds:.1f} s"
    if ending.status is None:
        summary = t("tool.timed_out", seconds=f"{timeout:g}")
        head = (
            f"Timed out after {timeout:g} s; it and everything it started were ended "
            f"({_count(ending.ended)}). Raise timeout_seconds, or start it with & if it should go on."
        )
    elif ending.status < 0:
        name = _signal_name(-ending.status)
        summary = t("tool.ended_by", signal=name, seconds=f"{ending.seconds:.1f}")
        head = f"Ended by signal {name} after {took}."
    else:
        summary = t("tool.exit", status=ending.status, seconds=f"{ending.seconds:.1f}")
        head = f"Exit code: {ending.status} ({took})"
    lines = [head]
    if ending.background:
        lines.append(
            f"Still running in the background: {_count(ending.background)}, until this session ends."
        )
    lines.append(text if text.strip() else "(no output)")
    return ToolOutput("\n".join(lines), ok=ending.status == 0, summary=summary)


def _count(number: int) -> str:
    return f"{number} process" if number == 1 else f"{number} processes"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def shell_tool(
    root: Path,
    settings: Settings,
    processes: Processes,
    sandbox: CommandSandbox | None = None,
    *,
    leaves_no_trace: bool = False,
) -> Tool[ExecuteCommandParameters]:
    """Return `execute_command` for a project. `processes` is ended by whoever made it.

    `leaves_no_trace`, for commands that only read: long output is kept in no file, and git leaves
    even its index as it is.
    """
    sandbox = sandbox or CommandSandbox(root, settings.command_sandbox)
    shell = _Shell(root, settings, processes, sandbox, leaves_no_trace=leaves_no_trace)
    guard = CommandGuard(root)

    def refuse(parameters: ExecuteCommandParameters) -> str | None:
        return guard.check(parameters.command) or sandbox.refusal()

    async def run(parameters: ExecuteCommandParameters, tell: Tell) -> ToolOutput:
        # Asked again here, so that no way to this function goes around the guard.
        if reason := refuse(parameters):
            raise PolicyDenied(reason)
        return await shell.run(parameters, tell)

    return Tool(
        name="execute_command",
        parameters=ExecuteCommandParameters,
        run=run,
        effect=Effect.COMMAND,
        subject=lambda parameters: parameters.command,
        guard=refuse,
    )
