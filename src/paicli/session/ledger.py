"""A session on disk: JSON Lines, only ever appended to, one record per message.

    {"v":1,"type":"session","id":…,"cwd":…,"model":…,"time":…}          the first line
    {"type":"message","time":…,"source":…,"message":{the bytes of the wire}}
    {"type":"rewrite","time":…,"why":…,"messages":[…]}                   from here on, these
    {"type":"event","time":…,"name":…}                                   for the reader's eye

A torn last line, NULs, an unknown record or a newer version never prevent loading. Records end at
LF and at nothing else. The file is made with the first message, so no empty session remains.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from paicli.llm.messages import Message, Role, ToolCall
from paicli.text import clean
from paicli.values import value

VERSION = 1
_LONGEST_LINE = 64_000_000
"""Far more than a conversation holds; a longer one is damage, and is passed over without keeping it."""
_PIECE = 1 << 20
_ROLES: tuple[Role, ...] = get_args(Role)

_log = logging.getLogger(__name__)


@value
class Header:
    """What a session is about. `time` is seconds since the epoch, of its beginning."""

    id: str
    cwd: str
    model: str
    time: float


class Ledger:
    """Appends a session's records. Each is one write, on disk before the caller goes on.

    A full disk never stops the work: `on_failure` is told the reason once, later records are tried.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.on_failure: Callable[[str], None] = _log.warning
        self._descriptor: int | None = None
        self._failed = False
        self._torn = False
        """The last line of the file is not whole, so the next record begins with a line end."""

    def message(self, message: Message) -> None:
        """Record a message; its bytes are those of the wire, so it is serialised once."""
        source = json.dumps(message.source)
        head = f'{{"type":"message","time":{time.time():.3f},"source":{source},"message":'.encode()
        self._write(head + message.wire(with_reasoning=True) + b"}\n")

    def rewritten(self, why: str, messages: Sequence[Message]) -> None:
        """Record that the conversation is these messages from here on."""
        head = f'{{"type":"rewrite","time":{time.time():.3f},"why":{json.dumps(why)},"messages":['
        body = b",".join(
            b'{"source":%s,"message":%s}'
            % (json.dumps(message.source).encode(), message.wire(with_reasoning=True))
            for message in messages
        )
        self._write(head.encode() + body + b"]}\n")

    def event(self, name: str, **details: object) -> None:
        """Record something that is no message (a cancelled run, a changed model)."""
        record = {"type": "event", "time": round(time.time(), 3), "name": name, **details}
        self._write(_line(record))

    def open(self) -> bool:
        """Open an existing file to go on with it; False when another PaiCLI has it open."""
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        if not self._lock():
            os.close(self._descriptor)
            self._descriptor = None
            return False
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._torn = True
        return True

    def close(self) -> None:
        """Flush to the device and close; nothing happens when nothing was written."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, line: bytes) -> None:
        try:
            descriptor = self._create() if self._descriptor is None else self._descriptor
            self._append(descriptor, line)
        except OSError as error:
            if not self._failed:
                self._failed = True
                self.on_failure(f"{self.path}: {error.strerror or error}")

    def _create(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o600)
        self._lock()
        header = {
            "v": VERSION,
            "type": "session",
            "id": self.header.id,
            "cwd": self.header.cwd,
            "model": self.header.model,
            "time": round(self.header.time, 3),
        }
        self._append(self._descriptor, _line(header))
        return self._descriptor

    def _append(self, descriptor: int, line: bytes) -> None:
        if self._torn:
            line = b"\n" + line
        self._torn = True
        while line:
            line = line[os.write(descriptor, line) :]
        self._torn = False

    def _lock(self) -> bool:
        assert self._descriptor is not None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


@value
class Loaded:
    """What a session file held. `skipped` counts the lines that could not be read."""

    header: Header
    messages: tuple[Message, ...]
    skipped: int


def load(path: Path) -> Loaded:
    """Read a session file; damaged lines are skipped. Raises OSError when there is no reading it."""
    header = Header(path.stem, "", "", path.stat().st_mtime)
    messages: list[Message] = []
    skipped = 0
    for record in records(path):
        match record:
            case {"type": "session", "id": str(id_), "cwd": str(cwd), **more}:
                model, started = more.get("model"), more.get("time")
                header = Header(
                    id_,
                    cwd,
                    model if isinstance(model, str) else "",
                    started if isinstance(started, int | float) else header.time,
                )
            case {"type": "message", "message": dict(body), **more}:
                message = _message(body, more.get("source"))
                if message is None:
                    skipped += 1
                else:
                    messages.append(message)
            case {"type": "rewrite", "messages": list(entries)}:
                readable = [
                    message
                    for entry in entries
                    if isinstance(entry, dict) and isinstance(entry.get("message"), dict)
                    if (message := _message(entry["message"], entry.get("source")))
                ]
                skipped += len(entries) - len(readable)
                if readable or not entries:
                    messages = readable
            case None:
                skipped += 1
            case _:
                pass  # an event, or a record of a newer version
    return Loaded(header, tuple(messages), skipped)


def records(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield a session file's records, None for a line that cannot be read. Raises OSError."""
    for line in lines(path):
        text = line.strip(b"\0\r\n ") if line is not None else b"?"
        if not text:
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        yield record if isinstance(record, dict) else None


def lines(path: Path) -> Iterator[bytes | None]:
    """Yield a session file's lines, None for one that is too long to be a record. Raises OSError."""
    with path.open("rb", buffering=_PIECE) as file:
        while line := file.readline(_LONGEST_LINE):
            if len(line) < _LONGEST_LINE or line.endswith(b"\n"):
                yield line
                continue
            while (piece := file.readline(_PIECE)) and not piece.endswith(b"\n"):
                pass
            yield None


def _message(body: dict[str, Any], source: object) -> Message | None:
    role, content = body.get("role"), body.get("content")
    if role not in _ROLES or not isinstance(content, str | None):
        return None
    calls: list[ToolCall] = []
    listed = body.get("tool_calls") or ()
    for call in listed if isinstance(listed, list | tuple) else (None,):
        match call:
            case {"id": str(id_), "function": {"name": str(name), "arguments": str(arguments)}}:
                calls.append(ToolCall(clean(id_), clean(name), clean(arguments)))
            case _:
                return None
    return Message(
        role,
        None if content is None else clean(content),
        _text(body.get("reasoning_content")),
        tuple(calls),
        _text(body.get("tool_call_id")),
        _text(source) or "",
    )


def _text(value: object) -> str | None:
    return clean(value) if isinstance(value, str) else None
