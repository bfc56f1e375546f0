"""Who runs on this machine, and ending them: all that differs between Linux and elsewhere.

On Linux everything is read from /proc: a child subreaper makes orphans our children, and a marker
variable in the environment tells which command a process came from, whatever it did to its
session. Elsewhere psutil answers the same questions as well as the system lets it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from paicli.values import value

MARKER = "PAICLI_COMMAND"
"""The variable that every command and all its descendants carry."""

_PR_SET_CHILD_SUBREAPER = 36
_ON_LINUX = sys.platform.startswith("linux")


@value
class Process:
    """One running process. `started` is in the system's own unit; with `pid` it names a process for ever."""

    pid: int
    parent: int
    session: int
    started: float
    zombie: bool


def become_subreaper() -> None:
    """Make orphaned descendants our own children (Linux; elsewhere nothing happens)."""
    if _ON_LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def snapshot() -> dict[int, Process]:
    """Return all processes that can be seen, by pid."""
    return _linux_snapshot() if _ON_LINUX else _other_snapshot()


def started_at(pid: int) -> float:
    """Return when a process started, in the unit of `Process.started`; 0 when it is gone."""
    process = _other_snapshot().get(pid) if not _ON_LINUX else _linux_process(pid)
    return process.started if process else 0.0


def _linux_snapshot() -> dict[int, Process]:
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names alone, many times a second
        if name.isdigit() and (process := _linux_process(int(name))):
            found[process.pid] = process
    return found


def _linux_process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    # The name in brackets may hold anything, brackets included.
    fields = data[data.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        started=float(fields[19]),
        zombie=fields[0] in (b"Z", b"X"),
    )


def _other_snapshot() -> dict[int, Process]:
    import psutil

    found = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                found[process.pid] = Process(
                    pid=process.pid,
                    parent=process.ppid(),
                    session=os.getsid(process.pid),
                    started=process.create_time(),
                    zombie=process.status() == psutil.STATUS_ZOMBIE,
                )
        except (psutil.Error, OSError):
            continue
    return found


def marker_of(pid: int) -> str:
    """Return the marker that a process was started with; empty when there is none or it may not be read."""
    if not _ON_LINUX:
        return _other_marker(pid)
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return ""
    start = (b"\0" + environment).find(b"\0" + MARKER.encode() + b"=")
    if start < 0:
        return ""
    value = environment[start + len(MARKER) + 1 :].split(b"\0", 1)[0]
    return value.decode("ascii", "replace")


def _other_marker(pid: int) -> str:
    import psutil

    try:
        return str(psutil.Process(pid).environ().get(MARKER, ""))
    except (psutil.Error, OSError):
        return ""


def command_line(pid: int) -> str:
    """Return how a process was started, its words joined by blanks; empty when it may not be read."""
    if _ON_LINUX:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            return ""
        return b" ".join(words).decode("utf-8", "replace")
    import psutil

    try:
        return " ".join(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return ""


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that is gone or not ours is left alone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reap(pid: int) -> None:
    """Collect one child that has ended. Never any child: that would steal other rooms' statuses."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except (ChildProcessError, PermissionError):
        pass
