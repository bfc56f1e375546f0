"""The client over an in-process transport: any bytes, cut anywhere."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paicli import config
from paicli.errors import ModelError, StreamInterrupted
from paicli.llm.client import ChatClient
from paicli.llm.deltas import TextDelta
from paicli.llm.messages import Message
from paicli.llm.providers import select
from tests.model_server import DONE, call, chunk, reply_pieces, usage

ENVIRON = {
    "LOCAL_MODEL": "m",
    "LOCAL_BASE_URL": "http://x/v1",
    "PAICLI_LLM_RETRY_MAX_ATTEMPTS": "1",
}
SETTINGS = config.load(Path("/nowhere"), ENVIRON, {}).settings
TOOLS = {"list_dir": b"{}", "read_file": b"{}"}


class Body(httpx.AsyncByteStream):
    def __init__(self, pieces):
        self.pieces = pieces

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece


class Canned(httpx.AsyncBaseTransport):
    def __init__(self, pieces):
        self.pieces = pieces

    async def handle_async_request(self, request):
        headers = {"Content-Type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=Body(self.pieces))


def ask(pieces):
    """What a client makes of these pieces: the response or the error, and the text it showed."""
    heard = []

    async def run():
        client = ChatClient(select(SETTINGS), SETTINGS, Canned(pieces))
        try:
            return await client.chat([Message("user", "hi")], TOOLS, heard.append)
        except ModelError as error:
            return type(error), str(error)
        finally:
            await client.aclose()

    return asyncio.run(run()), "".join(d.text for d in heard if isinstance(d, TextDelta))


def cut(body, places):
    ordered = sorted({min(place, len(body)) for place in places} | {0, len(body)})
    return [body[a:b] for a, b in pairwise(ordered)]


WHOLE = b"".join(
    reply_pieces("汉字 🧪 text", [call("read_file", "id", path="é.txt")], reasoning="想", size=3)
)
EVENTS = [
    chunk({"content": "a"}), chunk({"content": "```json\n"}), chunk({"reasoning": "r"}), DONE, b": ping\n\n",
    chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "list_dir", "arguments": "{"}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}), chunk({}, "stop"), chunk({}, "length"),
    usage(3, 4), b"data: null\n\n", b"data: {broken\n\n", b"event: x\r\n\r\n", b'data: {"error":{"message":"e"}}\n\n',
    b"\xff\xfe", b"<html>", b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}', b"[", b"\n", b"data",
]  # fmt: skip


@given(st.lists(st.integers(0, len(WHOLE)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_a_real_reply_is_the_same_however_it_is_cut(places):
    response, shown = ask(cut(WHOLE, places))
    assert (response.content, shown) == ("汉字 🧪 text", "汉字 🧪 text")
    assert json.loads(response.tool_calls[0].arguments) == {"path": "é.txt"}
    assert response.usage.input == 100


@given(
    st.lists(st.sampled_from(EVENTS), max_size=8).map(b"".join) | st.binary(max_size=60),
    st.lists(st.integers(0, 600), max_size=8),
)
@settings(max_examples=150, deadline=None)
def test_random_bytes_raise_nothing_but_model_errors_and_no_cut_changes_the_outcome(body, places):
    assert ask(cut(body, places)) == ask([body])


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]', "a"),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n', "a"),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata: [DONE]\n', "a"),
        (b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}', "a"),
        (b'\n\n{"choices":[{"message":{"content":"a"}}]}', "a"),
        (b'\xef\xbb\xbf{"choices":[{"message":{"content":"a"}}]}', "a"),
    ],
)
def test_ends_that_leave_something_out(body, content):
    response, shown = ask([body])
    assert response.content == shown == content


@pytest.mark.parametrize("body", [b'{"choices":[{"message":', b'data: {"choices":[{"delta":{"content":"a"},"finish_rea', b"d"])  # fmt: skip
def test_ends_that_were_cut(body):
    assert ask([body])[0][0] is StreamInterrupted


class Compressed(httpx.AsyncBaseTransport):
    def __init__(self, encoding, body):
        self.encoding, self.body = encoding, body

    async def handle_async_request(self, request):
        headers = {"Content-Type": "text/event-stream", "Content-Encoding": self.encoding}
        return httpx.Response(200, headers=headers, stream=Body(self.body))


def ask_compressed(encoding, body):
    async def run():
        client = ChatClient(select(SETTINGS), SETTINGS, Compressed(encoding, body))
        try:
            return (await client.chat([Message("user", "hi")], {}, lambda _: None)).content
        except ModelError as error:
            return type(error), str(error)
        finally:
            await client.aclose()

    return asyncio.run(run())


REPLY = chunk({"content": "hello"}, "stop") + DONE


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(REPLY)),
        ("GZIP", gzip.compress(REPLY)),
        ("deflate", zlib.compress(REPLY)),
        ("deflate", zlib.compress(REPLY, wbits=-15)),
        ("identity", REPLY),
    ],
)
def test_a_compressed_reply_is_read(encoding, body):
    assert ask_compressed(encoding, [body[:1], body[1:9], body[9:]]) == "hello"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "nonsense", "gzip"])
def test_compression_that_was_not_asked_for_or_is_broken_is_an_error(encoding):
    kind, message = ask_compressed(encoding, [b"\x00broken"])
    assert issubclass(kind, ModelError)
    assert message


def test_a_bomb_is_unpacked_in_small_pieces():
    bomb = gzip.compress(b": " + b"x" * 300_000_000 + b"\n", 1)
    tracemalloc.start()
    kind, message = ask_compressed("gzip", [bomb])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kind is StreamInterrupted
    assert "64 MB" in message
    assert peak < 250_000_000


@pytest.mark.parametrize(
    "piece", [b"x" * 1_000_000, b" " * 1_000_000, b"data: " + b"x" * 1_000_000 + b"\n", b": x\n" * 200_000]
)  # fmt: skip
def test_a_reply_without_an_end_is_broken_off(piece):
    (kind, message), _ = ask(piece for _ in range(1_000_000))
    assert kind is StreamInterrupted
    assert "64 MB" in message
