"""The embedded demo model: an in-process HTTP transport that answers with real SSE bytes.

The bytes are cut in awkward places on purpose (inside UTF-8 sequences and JSON escapes, several
events in one piece), as servers do, so the demo takes the very path that a real model takes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import cycle

import httpx

from paicli.llm.demo_plan import answer
from paicli.llm.demo_script import Reply

MODEL = "demo"
_PAUSE = 0.008
_TEXT_SIZES = (1, 4, 2, 7, 3, 5)
_ARGUMENT_SIZES = (2, 5, 1, 3, 9, 4)
_BYTE_SIZES = (11, 160, 3, 64, 290, 29, 97)
_EVENT_STREAM = {"Content-Type": "text/event-stream"}


def demo_transport(pause: float = _PAUSE) -> httpx.AsyncBaseTransport:
    """Return a transport behind which the demo model answers, `pause` seconds between pieces."""
    return _DemoTransport(pause)


class _DemoTransport(httpx.AsyncBaseTransport):
    def __init__(self, pause: float) -> None:
        self._pause = pause

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and request.url.path.endswith("/models"):
            return httpx.Response(200, json={"object": "list", "data": [{"id": MODEL}]})
        try:
            body = json.loads(await request.aread())
            reply = answer(body)
        except (ValueError, TypeError, AttributeError) as error:
            return httpx.Response(400, json={"error": {"message": f"not a chat request: {error}"}})
        pieces = list(cut(b"".join(events(reply))))
        return httpx.Response(200, headers=_EVENT_STREAM, stream=_Paced(pieces, self._pause))


class _Paced(httpx.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes], pause: float) -> None:
        self._pieces = pieces
        self._pause = pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.sleep(self._pause)
            yield piece


def events(reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events of a reply."""
    yield b": scripted\n\n"
    yield _chunk({"role": "assistant", "content": ""})
    for part in _parts(reply.reasoning, _TEXT_SIZES):
        yield _chunk({"reasoning_content": part})
    for part in _parts(reply.text, _TEXT_SIZES):
        yield _chunk({"content": part})
    for index, call in enumerate(reply.calls):
        function: dict[str, object] = {"name": call.name, "arguments": ""}
        head = {
            "index": index,
            "id": f"demo_{reply.number}_{index}",
            "type": "function",
            "function": function,
        }
        yield _chunk({"tool_calls": [head]})
        for part in _parts(json.dumps(call.arguments), _ARGUMENT_SIZES):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield _chunk({}, "tool_calls" if reply.calls else "stop")
    yield b"data: [DONE]\n\n"


def _chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def _parts(text: str, sizes: Sequence[int]) -> Iterator[str]:
    at = 0
    for size in cycle(sizes):
        if at >= len(text):
            return
        yield text[at : at + size]
        at += size


def cut(data: bytes) -> Iterator[bytes]:
    """Cut a stream without regard for events and characters; inside a character where one is near."""
    start = 0
    for size in cycle(_BYTE_SIZES):
        if start >= len(data):
            return
        end = start + size
        for place in range(end, min(end + 24, len(data))):
            if data[place] >= 0xC0:
                end = place + 1
                break
        yield data[start:end]
        start = end
