"""Replays reports of what coding agents got wrong, through the real program.

A report is a folder, what a person types, what the model says, and what must be true in the end.
It is replayed as separate runs of `-p` (later prompts with `-c`), or in one process on a terminal.
"""

import base64
import json
import os
import subprocess
import sys
import termios
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from paicli.policy.command_guard import CommandGuard
from paicli.policy.permissions import Permissions
from tests.model_server import DONE, ModelServer, Pause, Turn, ask, call, chunk, http, say, stream
from tests.terminal.screen import CTRL_C, CTRL_D, ENTER, ROOT, Screen

PATIENCE = 40.0
SLACK = 3
"""A run may take this many times the seconds that a report allows: machines differ, hangs do not."""
QUESTION = "[y/N]"
BASE_URLS = {"OPENAI_BASE_URL": "LOCAL_BASE_URL"}


@dataclass
class Played:
    """Everything that one replay of a report left behind."""

    root: Path
    server: ModelServer
    way: str
    variant: int = 0
    shown: str = ""
    raw: bytes = b""
    exit_code: int | None = None
    seconds: float = 0.0
    attributes: list = field(default_factory=list)

    @property
    def requests(self):
        return self.server.requests

    def result(self, number):
        """Return what the model was told about its `number`-th call."""
        results, counted = [], 0
        for request in self.requests:
            told = [m["content"] for m in request.messages if m["role"] == "tool"]
            results += told[counted:]
            counted = max(counted, len(told))
        return results[number]


def ways(report):
    """Return the ways in which a report is replayed: `runs`, or `screen` for one process."""
    if report["kind"] == "tty" or "tty" in report["setup"]:
        return ["screen"]
    return ["runs", "screen"] if len(report["setup"].get("prompts", ())) > 1 else ["runs"]


def replay(report, way, folder):
    """Replay a report, each variant in a place of its own."""
    played = []
    for number, variant in enumerate(report["setup"].get("variants", [{}])):
        place = folder / str(number)
        setup = report["setup"] | variant
        play = Played(place / "ws", server_for(report, place / "ws"), way, number)
        play.root.mkdir(parents=True)
        (place / "home").mkdir()
        arrange(setup, play.root)
        with play.server:  # it listens from the beginning, so that its port is known
            environ = environ_of(setup, place, play.server)
            started = time.monotonic()
            (on_screen if way == "screen" else in_runs)(setup, play, environ)
            play.seconds = time.monotonic() - started
        played.append(play)
    return played


def arrange(setup, root):
    for name, content in setup.get("files", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content.get("text", "").encode()
        path.write_bytes(base64.b64decode(content["base64"]) if "base64" in content else text)
    for command in setup.get("pre", ()):
        # One report's command has its quotes escaped once too often.
        written = command if "\\x1b" not in command else command.replace('\\"', '"')
        subprocess.run(written, shell=True, cwd=root, check=True)


def server_for(report, root):
    judged = any("classify_not" in expectation for expectation in report["expect"])
    return ModelServer(
        [turn_of(step, root) for step in report["script"]], reviews="ask" if judged else "allow"
    )


def turn_of(step, root):
    if "raw_sse" in step:
        turn = stream(step["raw_sse"].encode("utf-8", "surrogatepass"))
    elif "http" in step:
        answer = step["http"]
        turn = http(answer["status"], answer["body"], **answer["headers"])
    elif "tool_calls" in step:
        turn = ask(
            *(call(wanted["name"], **wanted["arguments"]) for wanted in step["tool_calls"]),
            text=step.get("text", ""),
        )
    elif "delay_between_chunks_ms" in step:
        pause = Pause(step["delay_between_chunks_ms"] / 1000)
        words = [chunk({"content": word + " "}) for word in step["text"].split()]
        parts = [piece for word in words for piece in (word, pause)]
        turn = Turn((*parts, chunk({}, "stop"), DONE))
    else:
        turn = say(step["text"])
    if "delay_ms" in step:
        turn = Turn((Pause(step["delay_ms"] / 1000), *turn.pieces), turn.status, turn.headers)
    known = {
        *("raw_sse", "http", "text", "tool_calls", "delay_ms", "delay_between_chunks_ms"),
        "shell_before",
    }
    assert set(step) <= known, f"nobody plays {set(step) - known}"
    if "shell_before" not in step:
        return turn

    def after_a_command(_request):
        subprocess.run(step["shell_before"], shell=True, cwd=root, check=True)
        return turn

    return after_a_command


def environ_of(setup, place, server):
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    environ = {
        **kept,
        "HOME": str(place / "home"),
        "PAICLI_HOME": str(place / "home" / ".paicli"),
        "PAICLI_LANG": "en",
        "PYTHONPATH": str(ROOT / "src"),
        "LANG": "C.UTF-8",
        **server.environ(),
    }
    for name, value in setup.get("env", {}).items():
        environ[BASE_URLS.get(name, name)] = value.replace("{port}", str(server.port))
    return environ


def phases_of(setup):
    """Return the prompts, and for each whether it goes on with the session."""
    phases = setup.get("phases") or [{"prompts": setup["prompts"]}]
    return [
        (prompt, bool(place or phase.get("resume")))
        for phase in phases
        for place, prompt in enumerate(phase["prompts"])
    ]


def in_runs(setup, play, environ):
    for prompt, goes_on in phases_of(setup):
        options = ["-c"] if goes_on else []
        ended = subprocess.run(
            [sys.executable, "-m", "paicli", *options, *mode_of(setup), "-p", prompt],
            cwd=play.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        play.exit_code = ended.returncode
        play.raw += ended.stdout + ended.stderr
        play.shown = play.raw.decode("utf-8", "replace")


def mode_of(setup):
    return ["--mode", setup["mode"]] if "mode" in setup else []


def on_screen(setup, play, environ):
    size = setup.get("tty", {"cols": 100, "rows": 30})
    options = ("-C", str(play.root), *mode_of(setup))
    with Screen("paicli", *options, columns=size["cols"], rows=size["rows"], **environ) as screen:
        play.attributes = [termios.tcgetattr(screen.child.child_fd)]
        screen.wait_for("scripted", PATIENCE)
        if "tty" in setup:
            for step in setup["tty"]["steps"]:
                ((name, value),) = step.items()
                STEPS[name](screen, play, value)
        else:
            for prompt, _ in phases_of(setup):
                asked = len(play.requests)
                screen.type(prompt)
                screen.wait_for(lambda asked=asked: len(play.requests) > asked, PATIENCE)
                wait_until_idle(screen)
        if screen.child.isalive():
            screen.watch(0.3)
            screen.send(CTRL_C)
            screen.send(CTRL_D)
        play.exit_code = screen.exit_code(keep_open=True)
        play.attributes.append(termios.tcgetattr(screen.child.child_fd))
        play.shown, play.raw = screen.text(), screen.raw


def wait_until_idle(screen):
    screen.wait_for(lambda: not any("esc to cancel" in line for line in screen.lines()), PATIENCE)
    screen.watch(0.3)
    screen.wait_for(lambda: not any("esc to cancel" in line for line in screen.lines()), PATIENCE)


def send(screen, _play, keys):
    screen.send(keys)


def send_hex(screen, _play, keys):
    screen.send(bytes.fromhex(keys))


def sleep_ms(screen, _play, milliseconds):
    screen.watch(milliseconds / 1000)


def wait_for(screen, _play, text):
    screen.wait_for(QUESTION if text == "APPROVAL" else text, PATIENCE)


def expect_file_absent(_screen, play, name):
    assert not (play.root / name).exists()


def deny(screen, play, _value):
    asked = len(play.requests)
    screen.send(ENTER)
    screen.wait_for(lambda: len(play.requests) > asked, PATIENCE)
    wait_until_idle(screen)


def wait_exit_ms(screen, _play, milliseconds):
    screen.exit_code(SLACK * milliseconds / 1000, keep_open=True)


STEPS = {
    step.__name__: step
    for step in (send, send_hex, sleep_ms, wait_for, expect_file_absent, deny, wait_exit_ms)
}


# What must be true


def meets(expectation, play):
    """Tell whether one expectation of a report is met. Fails for one that nobody can check."""
    ((name, value),) = expectation.items()
    check = CHECKS.get(name)
    assert check is not None, f"nobody checks {name}"
    return check(value, play)


def paired(messages):
    """Tell whether every call has its result, in order, right behind it."""
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
            continue
        if waiting:
            return False
        waiting = [wanted["id"] for wanted in message.get("tool_calls") or ()]
    return not waiting


def holds(expression, messages):
    names = {"msgs": messages, "json": json, "paired": paired}
    return bool(eval(expression, names))  # noqa: S307  written in the reports beside the project


def next_request_has(value, play):
    return holds(value["py"], play.requests[value["request"] - 1].messages)


def every_request(expression, play):
    return all(holds(expression, request.messages) for request in play.requests)


def request_count(value, play):
    count = len(play.requests)
    return count == value.get("n", count) and count >= value.get("min", 0)


def request_bytes_max(most, play):
    return all(len(request.body) <= most for request in play.requests)


def request_path(value, play):
    if play.variant not in value.get("variants", [play.variant]):
        return True
    return play.requests[value["request"] - 1].path == value["equals"]


def file_equals(value, play):
    wanted = base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()
    path = play.root / value["path"]
    return path.is_file() and path.read_bytes() == wanted


def file_contains(value, play):
    return value["text"] in (play.root / value["path"]).read_text()


def file_absent(value, play):
    return not os.path.lexists(play.root / value["path"])


def symlink_to(value, play):
    with suppress(OSError):
        return os.readlink(play.root / value["path"]) == value["target"]
    return False


def shell_check(command, play):
    return subprocess.run(command, shell=True, cwd=play.root, check=False).returncode == 0


def tool_result_is_error(value, play):
    body = play.result(value["call"]).split("\n", 1)[1]
    return body.startswith(("Error: ", "Refused, nothing was done: "))


def tool_result_contains(value, play):
    return any(word in play.result(value["call"]) for word in value["any"])


def tool_result_not_contains(value, play):
    return not any(word in play.result(value["call"]) for word in value["none"])


def screen_contains(value, play):
    return any(word in play.shown for word in value["any"])


def screen_not_contains(value, play):
    return not any(word in play.shown for word in value["none"])


def raw_output_not_contains(words, play):
    """Look at the bytes; a part of a control sequence alone (`2J`) only counts behind its beginning."""
    for word in words:
        begins = word if word[0] in "\x1b\x9b" else "\x9b" + word
        if begins.encode() in play.raw:
            return False
    return True


def exit_code(code, play):
    return play.exit_code == code


def max_seconds(seconds, play):
    return play.seconds < SLACK * seconds


def no_traceback(_value, play):
    log = play.root.parent / "home" / ".paicli" / "logs" / "paicli.log"
    logged = log.read_text() if log.exists() else ""
    return "Traceback" not in play.shown + logged and play.server.complaints == []


def tty_restored(_value, play):
    before, after = play.attributes
    flags = termios.ECHO | termios.ICANON | termios.ISIG
    given_back = after[3] & flags == flags or after == before
    return given_back and play.raw.rfind(b"\x1b[?2004l") >= play.raw.rfind(b"\x1b[?2004h")


def classify_is(value, play):
    """Ask what decides in auto mode without a review: the guard and what provably only reads."""
    permissions = Permissions(play.root.parent / "home", play.root)
    safe = [
        CommandGuard(play.root).check(command) is None and permissions.only_reads(command)
        for command in value["commands"]
    ]
    return all(verdict is (value["verdict"] == "safe") for verdict in safe)


def classify_not(value, play):
    assert value["verdict"] == "safe"
    return classify_is(value | {"verdict": "not safe"}, play)


def any_of(expectations, play):
    return any(meets(expectation, play) for expectation in expectations)


def all_of(expectations, play):
    return all(meets(expectation, play) for expectation in expectations)


def plain(_words, _play):
    """Words for a person. No machine checks them, so they never hold: another branch must."""
    return False


CHECKS = {
    check.__name__: check
    for check in (
        *(next_request_has, every_request, request_count, request_bytes_max, request_path),
        *(file_equals, file_contains, file_absent, symlink_to, shell_check),
        *(tool_result_is_error, tool_result_contains, tool_result_not_contains),
        *(screen_contains, screen_not_contains, raw_output_not_contains, tty_restored),
        *(exit_code, max_seconds, no_traceback, classify_is, classify_not, any_of, all_of, plain),
    )
}
