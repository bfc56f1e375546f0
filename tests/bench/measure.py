"""How the bench measures: processes of their own, several runs, medians, floors of the same run."""

import json
import os
import pty
import re
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = Path(__file__).parent / "floors.py"
AS_INSTALLED = Path(__file__).parent / "as_installed"
"""What makes a developer's environment behave like a person's, for the program and the floors alike."""
PATIENCE = 120.0


@dataclass(frozen=True)
class Figure:
    """One measured number beside its floor; `target` is what `value / floor` or `value` may be."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    target: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None


def table(figures: Sequence[Figure]) -> str:
    """All figures as aligned text."""
    rows = [("figure", "value", "floor", "ratio", "target", "")]
    for figure in figures:
        floor = "" if figure.floor is None else f"{figure.floor:.4g}"
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}x"
        value = f"{figure.value:.4g} {figure.unit}"
        rows.append((figure.name, value, floor, ratio, figure.target, figure.note))
    widths = [max(len(row[n]) for row in rows) for n in range(5)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]])
        for row in rows
    )


def as_json(figures: Sequence[Figure]) -> str:
    """All figures on one line."""
    return json.dumps([asdict(figure) | {"ratio": figure.ratio} for figure in figures])


def median(measure: Callable[[], float], runs: int) -> float:
    """The median of some runs after one that only warms the caches."""
    measure()
    return statistics.median(measure() for _ in range(runs))


def medians(runs: int, *measures: Callable[[], float]) -> list[float]:
    """The medians of things measured in turns, so that a busy minute of the machine meets them all."""
    rounds = [[measure() for measure in measures] for _ in range(runs + 1)]
    return [statistics.median(each) for each in zip(*rounds[1:], strict=True)]


class Server:
    """Serves replies made beforehand and notes when requests come and replies are out.

    `reply(number)` gives the pieces of the answer to request `number`; each piece is sent as an
    HTTP chunk of its own, `pause` seconds apart. Reviews are allowed without being counted.
    """

    def __init__(self, reply: Callable[[int], Sequence[bytes]], pause: float = 0.0) -> None:
        self._reply = reply
        self._pause = pause
        self.arrived: list[float] = []
        self.answered: list[float] = []
        self.first_body = b""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while data := connection.recv(1 << 16):
                came = time.perf_counter()
                while b"\r\n\r\n" not in data:
                    data += connection.recv(1 << 16)
                head, _, body = data.partition(b"\r\n\r\n")
                found = re.search(rb"(?i)content-length: *(\d+)", head)
                parts, missing = [body], int(found[1] if found else 0) - len(body)
                while missing > 0:
                    parts.append(connection.recv(1 << 20))
                    missing -= len(parts[-1])
                body = b"".join(parts)
                if b'"tools":' not in body and b"user_request" in body:
                    self._send(connection, sse(text('{"decision": "allow", "reason": ""}')))
                    continue
                self.arrived.append(came)
                self.first_body = self.first_body or body
                self._send(connection, self._reply(len(self.arrived)))
                self.answered.append(time.perf_counter())

    def _send(self, connection: socket.socket, pieces: Sequence[bytes]) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head)
        for piece in pieces:
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            if self._pause:
                time.sleep(self._pause)
        connection.sendall(b"0\r\n\r\n")


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    """One event of a reply."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def text(*parts: str) -> list[bytes]:
    """The events of an answer."""
    return [*(chunk({"content": part}) for part in parts), chunk({}, "stop")]


def call(number: int, name: str, arguments: dict[str, object], size: int = 1000) -> list[bytes]:
    """The events of a tool call, its arguments in deltas of `size` characters."""
    whole = json.dumps(arguments)
    head = {"index": 0, "id": f"c{number}", "type": "function"}
    first = chunk({"tool_calls": [head | {"function": {"name": name, "arguments": ""}}]})
    rest = [
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": whole[at : at + size]}}]})
        for at in range(0, len(whole), size)
    ]
    return [first, *rest, chunk({}, "tool_calls")]


def sse(events: list[bytes]) -> list[bytes]:
    """A whole reply: the events and the end."""
    return [*events, b"data: [DONE]\n\n"]


@dataclass(frozen=True)
class Used:
    """What a process used up: seconds on the clock and of CPU, and its peak memory in MB."""

    seconds: float
    cpu: float
    peak_mb: float


class Place:
    """An empty project and home in which programs are run."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self._home = folder / "home"
        self._home.mkdir()

    def environ(self, server: Server | None = None) -> dict[str, str]:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "PYTHONPATH": str(AS_INSTALLED),
        }
        if server is not None:
            environ |= {"DEEPSEEK_API_KEY": "sk-bench-000000", "DEEPSEEK_BASE_URL": server.url}
        return environ

    def run(self, *command: str, server: Server | None = None) -> Used:
        """Run a command to its end and say what it used."""
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environ(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        complaints = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{command} ended with {process.returncode}: {complaints.decode()}")
        return Used(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@contextmanager
def place():
    """A `Place` that goes away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="paicli-bench-"))
    try:
        yield Place(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def paicli(*arguments: str) -> tuple[str, ...]:
    """The command line of the program: its installed script when there is one."""
    script = Path(sys.executable).with_name("paicli")
    return (
        (str(script), *arguments)
        if script.exists()
        else (sys.executable, "-m", "paicli", *arguments)
    )


def floor(name: str, *arguments: str) -> tuple[str, ...]:
    """The command line of one of the floors."""
    return (sys.executable, str(FLOORS), name, *arguments)


class Pty:
    """A program on a terminal of its own."""

    def __init__(self, at: Place, command: Sequence[str], server: Server | None = None) -> None:
        self._ours, theirs = pty.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[3] &= ~termios.ECHO  # what comes back comes from the program
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        termios.tcsetwinsize(theirs, (40, 120))
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=at.project,
            env=at.environ(server),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = b""

    def send(self, data: str) -> None:
        os.write(self._ours, data.encode())

    def wait_for(self, condition: Callable[[], bool], what: str) -> float:
        """Read what it prints until the condition holds; return the time."""
        until = time.perf_counter() + PATIENCE
        while not condition():
            if time.perf_counter() > until or self._process.poll() is not None:
                raise RuntimeError(f"{what} does not come: {self.shown[-2000:]!r}")
            if select.select([self._ours], [], [], 0.01)[0]:
                with suppress(OSError):
                    self.shown += os.read(self._ours, 1 << 16)
        return time.perf_counter()

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Memory in use now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
