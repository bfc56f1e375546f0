"""PaiCLI as its users start it: a process of its own, in a folder and a home of its own."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
KEY = "sk-0123456789abcdef-secret"


@dataclass(frozen=True)
class Finished:
    """How a run ended, and everything it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self):
        return self.lines[-1]


class Program:
    """Starts the program in `project`; every process it starts carries this program's mark."""

    def __init__(self, folder):
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        self.mark = f"PAICLI_TEST_MARK={uuid.uuid4().hex}"

    def environ(self, **more):
        name, _, value = self.mark.partition("=")
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PAICLI_HOME": str(self.home / ".paicli"),
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONWARNINGS": "error::ResourceWarning",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            name: value,
        } | more

    def start(self, *arguments, server=None, stdin=subprocess.DEVNULL, env=None, **popen):
        environ = self.environ(**(pointing_at(server) if server else {}) | (env or {}))
        return subprocess.Popen(
            [sys.executable, "-m", "paicli", *arguments],
            cwd=self.project,
            env=environ,
            stdin=stdin,
            stdout=popen.pop("stdout", subprocess.PIPE),
            stderr=popen.pop("stderr", subprocess.PIPE),
            **popen,
        )

    def finish(self, process, piped=None, timeout=PATIENCE):
        """Wait for the end. Nothing that PaiCLI prints may be a traceback, or the key."""
        try:
            out, err = process.communicate(piped, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"it does not end\n{out!r}\n{err!r}") from None
        ended = Finished(process.returncode, out.decode(), err.decode())
        assert "Traceback" not in ended.out + ended.err, ended.err
        assert KEY not in ended.out + ended.err
        return ended

    def run(self, *arguments, server=None, piped=None, env=None, timeout=PATIENCE):
        stdin = subprocess.DEVNULL if piped is None else subprocess.PIPE
        process = self.start(*arguments, server=server, stdin=stdin, env=env)
        return self.finish(process, piped, timeout)

    def on_a_terminal(self, *arguments, server=None, env=None):
        """Run with stdout and stderr on a terminal; return the exit code and the raw bytes shown."""
        ours, theirs = pty.openpty()
        process = self.start(*arguments, server=server, env=env, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown, until = b"", time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        os.close(ours)
        return process.wait(PATIENCE), shown

    def processes(self):
        """Return every living process that carries the mark, with its command line."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                environ = (entry / "environ").read_bytes()
                if self.mark.encode() in environ.split(b"\0"):
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                    if words:
                        found[int(entry.name)] = words
        return found

    def wait_for(self, condition, what="it"):
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"{what} does not happen: {self.processes()}"
            time.sleep(0.02)

    def none_left(self):
        """Assert that nothing it started lives on (the kernel may take a moment to say so)."""
        until = time.monotonic() + 3
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.02)
        assert left == {}

    def clear_away(self):
        for process in self.processes():
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)

    def write(self, name, text):
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def pointing_at(server):
    return {
        "DEEPSEEK_API_KEY": KEY,
        "DEEPSEEK_BASE_URL": server.url,
        "PAICLI_LLM_RETRY_BASE_DELAY_MS": "1",
    }
