"""A scripted model server on 127.0.0.1: turns in, requests out.

    with ModelServer([say("hello"), ask(call("read_file", path="a.py")), say("done")]) as server:
        environ = server.environ()          # LOCAL_BASE_URL, LOCAL_MODEL for a subprocess
        ...
        server.wait_for_requests(3)
        assert server.requests[0].messages[-1]["content"] == "hi"

It is plain sockets and threads, so it serves subprocess tests and asyncio tests alike (from a
coroutine: `await server.requests_arrived(2)`). A turn decides every byte and how the connection
ends; nothing in a test needs to sleep: wait for a request, for a `Gate` to be reached, for
`server.client_left`.
"""

import asyncio
import contextlib
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 20.0
"""Seconds that anything here waits before a test is declared broken."""


class Gate:
    """A place in a reply where the server stops until the test opens it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def open(self) -> None:
        self.opened.set()

    async def arrived(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, PATIENCE), "the gate was never reached"


@dataclass(frozen=True)
class Pause:
    """Seconds of silence between two pieces."""

    seconds: float


Piece = bytes | Gate | Pause


@dataclass(frozen=True)
class Turn:
    """One HTTP answer. `ending` says what happens after the pieces:

    `done`   the body ends properly and the connection stays open
    `bye`    the body ends properly, then the connection is closed without a word about it
    `eof`    no length and no chunks; the body ends where the connection is closed
    `cut`    a chunked body whose last chunk never comes
    `reset`  the connection is reset (RST)
    `hang`   nothing more comes until the client leaves or the server stops
    """

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"Content-Type": "text/event-stream"}
    )
    ending: str = "done"
    answers: bool = True
    """False: not even a status line is sent; `ending` happens right after the request was read."""


@dataclass(frozen=True)
class Request:
    """What a client sent, byte for byte."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.json["messages"]

    @property
    def messages_bytes(self) -> bytes:
        """The raw bytes of the `messages` array's elements (it is the body's last member)."""
        return self.body.partition(b'"messages":[')[2].removesuffix(b"]}")

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.json.get("tools", ())]


Script = Turn | Callable[[Request], Turn]


# What a model says


def event(payload: object) -> bytes:
    """One server-sent event; a str goes out as it is, anything else as JSON."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One `chat.completion.chunk` event."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event(
        {"id": "c1", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]}
        | more
    )


DONE = event("[DONE]")


def usage(prompt: int, completion: int, cached: int = 0) -> bytes:
    """The usage event that comes after the finish."""
    return event(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "model": "scripted",
            "choices": [],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }
    )


@dataclass(frozen=True)
class Call:
    """A tool call to send; `arguments` is text as the model wrote it."""

    name: str
    arguments: str
    id: str = ""


def call(tool: str, /, call_id: str = "", **arguments: Any) -> Call:
    """`call("read_file", path="a.py")`."""
    return Call(tool, json.dumps(arguments, ensure_ascii=False), call_id)


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def reply_pieces(
    text: str = "",
    calls: Sequence[Call] = (),
    reasoning: str = "",
    tokens: tuple[int, int] | None = (100, 10),
    finish: str | None = None,
    size: int = 7,
) -> list[bytes]:
    """The events of a whole reply, each text cut into pieces of `size` characters."""
    pieces = [chunk({"role": "assistant", "content": None})]
    pieces += [chunk({"reasoning_content": part}) for part in _cut(reasoning, size) if part]
    pieces += [chunk({"content": part}) for part in _cut(text, size) if part]
    for index, wanted in enumerate(calls):
        head = {
            "index": index,
            "id": wanted.id or f"call_{index}_{abs(hash(wanted)) % 10**6}",
            "type": "function",
            "function": {"name": wanted.name, "arguments": ""},
        }
        pieces.append(chunk({"tool_calls": [head]}))
        pieces += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in _cut(wanted.arguments, size)
        ]
    pieces.append(chunk({}, finish or ("tool_calls" if calls else "stop")))
    if tokens is not None:
        pieces.append(usage(*tokens))
    return [*pieces, DONE]


def say(text: str, **more: Any) -> Turn:
    """A turn that answers with text (see `reply_pieces` for the rest)."""
    return Turn(tuple(reply_pieces(text, **more)))


def ask(*calls: Call, text: str = "", **more: Any) -> Turn:
    """A turn that asks for tools."""
    return Turn(tuple(reply_pieces(text, calls, **more)))


def stream(*pieces: Piece, ending: str = "done", status: int = 200, **headers: str) -> Turn:
    """A turn of raw pieces: bytes as they are, a `Gate`, a `Pause`."""
    kept = {"Content-Type": "text/event-stream"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return Turn(pieces, status, kept, ending)


def http(status: int, body: bytes | str | object = b"", **headers: str) -> Turn:
    """A turn that answers with a status and a body; an object is sent as JSON."""
    content_type = "text/plain"
    if not isinstance(body, bytes | str):
        body, content_type = json.dumps(body), "application/json"
    data = body.encode() if isinstance(body, str) else body
    kept = {"Content-Type": content_type, "Content-Length": str(len(data))}
    kept |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn((data,), status, kept)


def refuse_connection() -> Turn:
    """A turn that resets the connection instead of answering."""
    return Turn(ending="reset", answers=False)


def close_connection() -> Turn:
    """A turn that closes the connection instead of answering."""
    return Turn(ending="eof", answers=False)


def hang(*, answers: bool = True) -> Turn:
    """A turn that never goes on: after its headers, or (`answers=False`) before them."""
    return Turn(ending="hang", answers=answers)


# What strict providers refuse


def complaint(body: Any) -> str | None:
    """Return what a strict provider would say about this request, or None when it is legal."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return "messages is required"
    if "tools" in body and not body["tools"]:
        return "tools must not be an empty array"
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    if len(names) != len(set(names)):
        return "tool names must be unique"
    open_calls: list[str] = []
    for place, message in enumerate(body["messages"]):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{place}]: a tool message must answer a preceding tool call"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return f"messages[{place}]: no result for tool calls {open_calls}"
        problem = _message_complaint(message)
        if problem:
            return f"messages[{place}]: {problem}"
        open_calls += [wanted["id"] for wanted in message.get("tool_calls", ())]
    return f"no result for tool calls {open_calls}" if open_calls else None


def _message_complaint(message: Mapping[str, Any]) -> str | None:
    role, content = message.get("role"), message.get("content")
    if role not in ("system", "user", "assistant", "tool"):
        return f"unknown role {role!r}"
    if "tool_calls" in message and not message["tool_calls"]:
        return "tool_calls must not be empty"
    if role == "assistant":
        if not content and not message.get("tool_calls"):
            return "an assistant message needs content or tool_calls"
    elif content is None:
        return "content is required"
    text = json.dumps(message, ensure_ascii=False)
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        return "not valid Unicode"
    return _calls_complaint(message.get("tool_calls", ()))


def _calls_complaint(calls: Sequence[Mapping[str, Any]]) -> str | None:
    for wanted in calls:
        try:
            arguments = json.loads(wanted["function"]["arguments"])
        except (ValueError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            return "tool call arguments must be the text of a JSON object"
    if len({wanted["id"] for wanted in calls}) != len(calls):
        return "tool call ids must be unique"
    return None


class ModelServer:
    """Serves `turns` in order to whoever posts; use it as a context manager.

    `repeat_last`: the last turn goes on for ever; otherwise a request too many gets a 500 and is
    noted in `unexpected`. `strict`: requests that a strict provider refuses get a 400 and are
    noted in `complaints` (they use no turn). `reviews`: answer the reviews of commands in auto
    mode with this decision (`allow` or `ask`) without using a turn; they are kept in
    `review_requests`; None leaves them to the turns. `routes`: answers for other paths, by path.
    """

    def __init__(
        self,
        turns: Iterable[Script] = (),
        *,
        strict: bool = True,
        repeat_last: bool = False,
        reviews: str | None = "allow",
        routes: Mapping[str, Script] | None = None,
    ) -> None:
        self.turns: list[Script] = list(turns)
        self.strict = strict
        self.repeat_last = repeat_last
        self.reviews = reviews
        self.routes = dict(routes or {})
        self.requests: list[Request] = []
        self.review_requests: list[Request] = []
        self.other_requests: list[Request] = []
        self.complaints: list[str] = []
        self.unexpected: list[Request] = []
        self.connections = 0
        self.closed = 0
        self.client_left = threading.Event()
        """Set when a client closed its connection while an answer was still open."""
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self.port}/v1"

    def environ(self) -> dict[str, str]:
        """Variables that point the `local` provider here, with a retry that does not wait."""
        return {
            "LOCAL_BASE_URL": self.url,
            "LOCAL_MODEL": "scripted",
            "PAICLI_PROVIDER": "local",
            "PAICLI_LLM_RETRY_BASE_DELAY_MS": "1",
        }

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close everything at once."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changed:
            sockets = list(self._sockets)
            self._changed.notify_all()
        for connection in sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_for_requests(self, count: int) -> None:
        """Block until `count` chat requests have been read."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE), (
                f"{len(self.requests)} of {count} requests came"
            )

    async def requests_arrived(self, count: int) -> None:
        """The same for coroutines."""
        await asyncio.to_thread(self.wait_for_requests, count)

    async def client_is_gone(self) -> None:
        """Wait until a client has left an open answer."""
        assert await asyncio.to_thread(self.client_left.wait, PATIENCE), "the client stayed"

    async def connection_closed(self, count: int) -> None:
        """Wait until `count` connections have been closed."""

        def wait() -> None:
            with self._changed:
                assert self._changed.wait_for(lambda: self.closed >= count, PATIENCE)

        await asyncio.to_thread(wait)

    # the connection

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self.connections += 1
                number = self.connections
                self._sockets.add(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, _Left):
            buffered = b""
            while (read := _read_request(connection, buffered, number)) is not None:
                request, buffered = read
                if not self._answer(connection, request):
                    break
        with contextlib.suppress(OSError):
            connection.close()
        with self._changed:
            self._sockets.discard(connection)
            self.closed += 1
            self._changed.notify_all()

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        """Send the answer; tell whether the connection goes on."""
        script = self._script_for(request)
        turn = script if isinstance(script, Turn) else script(request)
        chunked = (
            turn.ending != "eof"
            and "Content-Length" not in turn.headers
            and turn.status not in (204, 304)
        )
        if turn.answers:
            headers = dict(turn.headers)
            if chunked:
                headers["Transfer-Encoding"] = "chunked"
            if turn.ending == "eof":
                headers["Connection"] = "close"
            lines = [f"HTTP/1.1 {turn.status} Scripted", *(f"{n}: {v}" for n, v in headers.items())]
            self._send(connection, "\r\n".join([*lines, "", ""]).encode("latin-1"))
            for piece in turn.pieces:
                self._send_piece(connection, piece, chunked)
        return self._end(connection, turn, chunked)

    def _send_piece(self, connection: socket.socket, piece: Piece, chunked: bool) -> None:
        if isinstance(piece, Gate):
            piece.reached.set()
            self._wait(connection, piece.opened)
        elif isinstance(piece, Pause):
            self._wait(connection, threading.Event(), piece.seconds)
        elif piece:
            self._send(connection, b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)

    def _send(self, connection: socket.socket, data: bytes) -> None:
        try:
            connection.sendall(data)
        except OSError:
            self.client_left.set()
            raise

    def _end(self, connection: socket.socket, turn: Turn, chunked: bool) -> bool:
        if turn.ending == "hang":
            self._wait(connection, threading.Event())
        elif turn.ending == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif turn.ending in ("done", "bye"):
            if chunked:
                self._send(connection, b"0\r\n\r\n")
            return turn.ending == "done"
        return False

    def _wait(
        self, connection: socket.socket, event_: threading.Event, seconds: float | None = None
    ) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not event_.wait(0.005):
            if until is not None and time.monotonic() >= until:
                return
            if self._stopping.is_set():
                raise _Left
            if select.select([connection], [], [], 0)[0] and _has_left(connection):
                self.client_left.set()
                raise _Left

    # what to answer

    def _script_for(self, request: Request) -> Script:
        route = self.routes.get(request.path)
        with self._changed:
            if route is not None or not request.path.endswith("/chat/completions"):
                self.other_requests.append(request)
                self._changed.notify_all()
                return route or http(404, {"error": {"message": "not found"}})
            if self.reviews is not None and _is_review(request):
                self.review_requests.append(request)
                return say(json.dumps({"decision": self.reviews, "reason": "scripted"}))
            self.requests.append(request)
            self._changed.notify_all()
            if self.strict and (problem := complaint(_parsed(request.body))):
                self.complaints.append(problem)
                return http(400, {"error": {"message": problem, "type": "invalid_request_error"}})
            if not self.turns:
                self.unexpected.append(request)
                return http(400, {"error": {"message": "the script has no turn left"}})
            if self.repeat_last and len(self.turns) == 1:
                return self.turns[0]
            return self.turns.pop(0)


class _Left(Exception):
    """The client is gone, or the server stops."""


def _has_left(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True  # reset rather than closed


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _is_review(request: Request) -> bool:
    body = _parsed(request.body)
    if not isinstance(body, dict) or "tools" in body or not body.get("messages"):
        return False
    content = body["messages"][-1].get("content")
    return isinstance(content, str) and '"user_request"' in content


def _read_request(
    connection: socket.socket, buffered: bytes, number: int
) -> tuple[Request, bytes] | None:
    while b"\r\n\r\n" not in buffered:
        data = connection.recv(65536)
        if not data:
            return None
        buffered += data
        if not buffered[:1].isalpha():  # TLS where none is spoken
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            return None
    head, _, rest = buffered.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    parts, have = [rest], len(rest)
    while have < length:
        data = connection.recv(1 << 20)
        if not data:
            return None
        parts.append(data)
        have += len(data)
    body = b"".join(parts)
    return Request(method, path, headers, body[:length], number), body[length:]
