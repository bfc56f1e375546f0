"""What the demo model answers: a pure function from a request's body to a reply.

It keeps no state. Each task is a generator that yields tool calls and is sent their results; a
request is answered by running the task from its start over the calls and results that the request
itself holds, so refused, failed and cancelled calls are met wherever they come.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from paicli import i18n

_CHANGE = re.compile(
    r"\b(?:change|edit|replace|modify|update|make|set|rewrite)\b|改|换|替换|修改", re.I
)
_RUN = re.compile(r"\b(?:compile|run|execute)\b|编译|运行|执行|跑", re.I)
_READ = re.compile(
    r"\b(?:read|show|open|look|print|prints|explain)\b|读|看|显示|打印|内容|解释", re.I
)
_PATH = re.compile(r"[\w./\\~-]*hello\.(?:java|py)\b", re.I | re.A)
_PYTHON = re.compile(r"\bpython\b|hello\.py\b", re.I)

_QUOTES = r"[\"“«「『'‘`]\s*(.+?)\s*[\"”»」』'’`]"
_TARGETS = (
    re.compile(rf"(?:\b(?:to|into|prints?|says?|with|output)|成|为|作|印|出)\s*[:：]?\s*{_QUOTES}", re.I),
    re.compile(
        r"\b(?:change|edit|replace|modify|update|make|set|rewrite)\b[^\n]*?\b(?:to|into|with)\s+"
        r"(?:(?:print|say|output)\s+)?([^\n]+)",
        re.I,
    ),
    re.compile(r"(?:改|换|替换|修改|变)(?:成|为|作)\s*(?:打印|输出)?\s*[:：]?\s*([^\n]+)"),
    re.compile(r"\b(?:print|say|output)\s+([^\n]+)", re.I),
)  # fmt: skip
_NEXT_STEP = re.compile(
    r"[,，;；.。]?\s*(?:\b(?:and\s+then|then|and\s+(?:compile|run|execute))\b|然后|接着|[,，;；。]\s*(?:再|并|编译|运行)).*",
    re.I | re.S,
)
_PRINT = re.compile(
    r"(?:System\.out\.print(?:ln)?|\bprint)\(\s*(?P<quote>[\"'])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\s*\)"
)
_EXIT_CODE = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)?[:= ]+(-?\d+)", re.I)
_CHINESE = re.compile("[\u3400-\u9fff]")
_TAGS = re.compile(r"\A<tool_result[^>]*>\n?(.*?)\n?</tool_result>\s*\Z", re.S)
_OWN_LINE = re.compile(r"^\[(?:PaiCLI|runaway guard)\].*$", re.M)
_FIND_JAVAC = "command -v javac"
_NO_JAVA = "Unable to locate a Java Runtime"
_REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the demo model asks for."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: text, or calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    number: int = 0
    """How many replies came before: makes the ids of its calls unique in the conversation."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What a tool gave back, taken out of its wrapping."""

    text: str

    @property
    def failed(self) -> bool:
        return self.text.startswith(("Error:", "Refused", "Cancelled"))

    @property
    def stopped(self) -> bool:
        """Whether nothing ran because somebody said no."""
        return self.text.startswith(("Refused", "Cancelled"))

    @property
    def exit_code(self) -> int | None:
        found = _EXIT_CODE.search(self.text)
        return int(found[1]) if found else None

    @property
    def output(self) -> str:
        head, _, rest = self.text.partition("\n")
        printed = rest if _EXIT_CODE.search(head) else self.text
        return printed.strip().removeprefix("(no output)")

    @property
    def reason(self) -> str:
        text = self.text.partition(":")[2].strip() or self.text
        return text if len(text) <= _REASON_LIMIT else text[:_REASON_LIMIT] + "…"


_Script = Generator[tuple[Call, ...], list[_Result], str]
_Search = Generator[tuple[Call, ...], list[_Result], str | None]


@dataclass(frozen=True, slots=True)
class _Task:
    """What the person asked for, read from their words."""

    words: str

    @property
    def language(self) -> str:
        return "zh" if _CHINESE.search(self.words) else "en"

    @property
    def path(self) -> str | None:
        """The file the person named with its folder."""
        found = _PATH.search(self.words)
        return found[0] if found and "/" in found[0] else None

    @property
    def names(self) -> tuple[str, ...]:
        """The file names to look for, the wanted one first; the other never when one is named."""
        if named := _PATH.search(self.words):
            return ("Hello.java",) if named[0].lower().endswith("java") else ("hello.py",)
        names = ("Hello.java", "hello.py")
        return names[::-1] if _PYTHON.search(self.words) else names

    @property
    def target(self) -> str | None:
        """The text that shall be printed."""
        for pattern in _TARGETS:
            if found := pattern.search(self.words):
                return _NEXT_STEP.sub("", found[1]).strip().rstrip(".。").strip() or None
        return None

    def say(self, key: str, **values: object) -> str:
        return i18n.load(self.language)[key].format_map(values)

    def script(self) -> _Script:
        about_hello = "hello" in self.words.lower()
        if about_hello and _CHANGE.search(self.words):
            return _change_then_run(self) if _RUN.search(self.words) else _change(self)
        if about_hello and _RUN.search(self.words):
            return _run(self)
        if about_hello and _READ.search(self.words):
            return _read(self)
        return _cannot(self)


def answer(request: Mapping[str, Any]) -> Reply:
    """Return the reply to a chat request."""
    messages = [m for m in request.get("messages") or () if isinstance(m, Mapping)]
    if "tools" not in request and (review := _asked_for_review(messages)):
        return Reply(json.dumps(_reviewed(review)))
    words, evidence = _turn(messages)
    task = _Task(words)
    if "tools" not in request:
        return Reply(task.say("demo.no_tools", count=sum(len(results) for results in evidence)))
    script = task.script()
    try:
        calls = next(script)
        for results in evidence:
            calls = script.send(results)
    except StopIteration as finished:
        return Reply(f"{finished.value}\n\n{task.say('demo.signature')}")
    reasoning = "" if evidence else task.say("demo.reasoning")
    begin = "" if evidence else task.say("demo.begin")
    return Reply(begin, calls, reasoning, sum(m.get("role") == "assistant" for m in messages))


def _turn(messages: Sequence[Mapping[str, Any]]) -> tuple[str, list[list[_Result]]]:
    """Return the person's last words, and the results of each round of calls since then."""
    words, evidence = "", list[list[_Result]]()
    for message in messages:
        role, content = message.get("role"), message.get("content")
        text = content if isinstance(content, str) else ""
        if role == "user" and (said := _OWN_LINE.sub("", text).strip()):
            words, evidence = said, []
        elif role == "assistant" and message.get("tool_calls"):
            evidence.append([])
        elif role == "tool" and evidence:
            wrapped = _TAGS.match(text)
            evidence[-1].append(_Result(wrapped[1] if wrapped else text))
    return words, evidence


# The tasks


def _find(names: Sequence[str]) -> _Search:
    for name in names:
        (found,) = yield (Call("glob_files", {"pattern": f"**/{name}"}),)
        if path := _first_path(found, name):
            return path
    return None


def _first_path(found: _Result, name: str) -> str | None:
    lines = [
        re.sub(r"^\s*(?:\d+[.):]|[-*])\s+", "", line).strip() for line in found.text.split("\n")
    ]
    paths = [] if found.failed else [p for p in lines if PurePosixPath(p).name == name]
    return min(paths, key=lambda path: ("demo" not in path, len(path)), default=None)


def _read_source(
    task: _Task,
) -> Generator[tuple[Call, ...], list[_Result], tuple[str, _Result] | None]:
    """Read the file the person means: where they say it is, else wherever it is found."""
    if task.path:
        (content,) = yield (Call("read_file", {"path": task.path}),)
        if not content.failed or content.stopped:
            return task.path, content
    path = yield from _find(task.names)
    if path is None:
        return None
    (content,) = yield (Call("read_file", {"path": path}),)
    return path, content


def _read(task: _Task) -> _Script:
    source = yield from _read_source(task)
    if source is None:
        return task.say("demo.not_found", names=" / ".join(task.names))
    path, content = source
    if content.failed:
        return task.say("demo.unreadable", path=path, reason=content.reason)
    found = _PRINT.search(content.text)
    if found is None:
        return task.say("demo.no_print", path=path)
    return task.say("demo.prints", path=path, text=found["text"])


def _change(task: _Task) -> _Script:
    if task.target is None:
        return task.say("demo.what_text")
    source = yield from _read_source(task)
    if source is None:
        return task.say("demo.not_found", names=" / ".join(task.names))
    path, content = source
    found = None if content.failed else _PRINT.search(content.text)
    if content.failed:
        return task.say("demo.unreadable", path=path, reason=content.reason)
    if found is None:
        return task.say("demo.no_print", path=path)
    literal = _literal(task.target, found["quote"])
    if found["text"] == literal:
        return task.say("demo.already", path=path, text=task.target)
    changed = found[0].replace(found["quote"] + found["text"], found["quote"] + literal, 1)
    arguments = {"path": path, "old_text": found[0], "new_text": changed}
    (edited,) = yield (Call("edit_file", arguments),)
    if edited.failed:
        return task.say("demo.not_changed", path=path, reason=edited.reason)
    return task.say("demo.changed", path=path, before=found["text"], after=task.target)


def _literal(text: str, quote: str) -> str:
    """Return `text` as it stands between quotes in Java and in Python alike."""
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)


def _change_then_run(task: _Task) -> _Script:
    changed = yield from _change(task)
    ran = yield from _run(task)
    return f"{changed}\n\n{ran}"


def _run(task: _Task) -> _Script:
    if _PYTHON.search(task.words):
        return (yield from _run_twin(task, ""))
    named = task.path if task.path and task.path.endswith(".java") else None
    source = named or (yield from _find(("Hello.java",)))
    if source is None:
        return (yield from _run_twin(task, task.say("demo.no_java_file")))
    (javac,) = yield (Call("execute_command", {"command": _FIND_JAVAC}),)
    if javac.stopped:
        return task.say("demo.not_run", command=_FIND_JAVAC, reason=javac.reason)
    if javac.exit_code != 0:
        return (yield from _run_twin(task, task.say("demo.no_javac")))
    command = _java_command(source)
    (ran,) = yield (Call("execute_command", {"command": command}),)
    if _NO_JAVA in ran.text:
        return (yield from _run_twin(task, task.say("demo.no_javac")))
    return _told(task, command, ran)


def _run_twin(task: _Task, why: str) -> _Script:
    named = task.path if task.path and task.path.endswith(".py") else None
    source = named or (yield from _find(("hello.py",)))
    if source is None:
        return f"{why} {task.say('demo.not_found', names='hello.py')}".strip()
    command = _python_command(source)
    (ran,) = yield (Call("execute_command", {"command": command}),)
    return f"{why} {_told(task, command, ran)}".strip()


def _told(task: _Task, command: str, ran: _Result) -> str:
    """Report a command as it went: its exit code is read, not assumed."""
    if ran.failed or ran.exit_code is None:
        return task.say("demo.not_run", command=command, reason=ran.reason)
    key = "demo.ran" if ran.exit_code == 0 else "demo.ran_and_failed"
    return task.say(key, command=command, code=ran.exit_code, output=ran.output or "-")


def _cannot(task: _Task) -> _Script:
    yield from ()
    return task.say("demo.cannot")


# Its commands, and their reviews


def _java_command(source: str) -> str:
    base, marker, rest = source.rpartition("src/main/java/")
    classes = shlex.quote(f"{base}target/classes")
    if not marker:
        return f"java {shlex.quote(source)}"
    name = rest.removesuffix(".java").replace("/", ".")
    utf8 = "-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"
    return (
        f"mkdir -p {classes} && javac -encoding UTF-8 -d {classes} {shlex.quote(source)}"
        f" && java {utf8} -cp {classes} {shlex.quote(name)}"
    )


def _python_command(source: str) -> str:
    return f"python3 {shlex.quote(source)}"


def _asked_for_review(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the act to be judged when this is a review's request."""
    content = messages[-1].get("content") if messages else None
    if not isinstance(content, str):
        return None
    try:
        act = json.loads(content[content.find("{") : content.rfind("}") + 1])
    except ValueError:
        return None
    wanted = {"user_request", "tool", "arguments"}
    return act if isinstance(act, dict) and wanted <= act.keys() else None


def _reviewed(act: Mapping[str, Any]) -> dict[str, str]:
    arguments = act["arguments"]
    command = arguments.get("command") if isinstance(arguments, Mapping) else None
    if act["tool"] == "execute_command" and isinstance(command, str) and _is_own(command):
        return {"decision": "allow", "reason": "a command of the demo's script"}
    return {"decision": "ask", "reason": "not a command of the demo's script"}


def _is_own(command: str) -> bool:
    """Tell whether this is, letter by letter, a command that the script above makes."""
    if command == _FIND_JAVAC:
        return True
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    sources = {
        word
        for word in words
        if PurePosixPath(word).name.lower() in ("hello.java", "hello.py")
        and not word.startswith(("/", "~", "-"))
        and ".." not in PurePosixPath(word).parts
    }
    return any(command in (_java_command(path), _python_command(path)) for path in sources)
