"""The client against a scripted server: what is asked, what is heard, and how often."""

import asyncio
import json

import pytest

from paicli.errors import EmptyReply, ModelRefused, ModelUnreachable, StreamInterrupted
from paicli.llm.deltas import ArgumentsProgress
from paicli.llm.messages import Message, ToolCall, Usage
from tests.integration.wire_client import HELLO, TOOLS, Listener, chat, client_of
from tests.model_server import (
    DONE,
    Gate,
    ask,
    call,
    chunk,
    close_connection,
    event,
    hang,
    http,
    refuse_connection,
    reply_pieces,
    say,
    stream,
)


@pytest.fixture
async def client_for(tmp_path):
    made = []

    def make(server, transport=None, **variables):
        made.append(client_of(server.environ() | variables, tmp_path, transport=transport))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


async def failure(client, kind, messages=HELLO):
    heard = Listener()
    with pytest.raises(kind) as caught:
        await client.chat(messages, TOOLS, heard.append)
    return caught.value, heard


async def test_a_reply_with_reasoning_text_and_calls(model_server, client_for):
    server = model_server(
        ask(
            call("read_file", "a", path="目录/文件.txt"),
            call("list_dir", "b"),
            text="Let me look. 看一下",
            reasoning="先想一想",
            tokens=(120, 7),
        )
    )
    response, heard = await chat(client_for(server))
    assert response.content == heard.text == "Let me look. 看一下"
    assert response.reasoning == heard.reasoning == "先想一想"
    assert response.tool_calls == (
        ToolCall("a", "read_file", '{"path": "目录/文件.txt"}'),
        ToolCall("b", "list_dir", "{}"),
    )
    assert response.finish_reason == "tool_calls"
    assert response.usage == Usage(120, 7, 0)
    assert response.model == "scripted"
    assert [delta for delta in heard if isinstance(delta, ArgumentsProgress)][-1] == (
        ArgumentsProgress("list_dir", 2)
    )


async def test_the_request_is_what_the_protocol_asks_for(model_server, client_for):
    server = model_server(say("ok"), say("ok"))
    client = client_for(server, LOCAL_API_KEY="sk-test-key-123")
    await chat(client)
    await chat(client, tools={})
    first, second = server.requests
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == "Bearer sk-test-key-123"
    assert first.headers["content-type"] == "application/json"
    assert first.json == {
        "model": "scripted",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [json.loads(body) for body in TOOLS.values()],
        "messages": [{"role": "user", "content": "hi"}],
    }
    assert "tools" not in second.json
    assert list(first.json)[-1] == "messages"


async def test_one_connection_serves_the_whole_session(model_server, client_for):
    server = model_server(*[say(f"answer {number}") for number in range(5)])
    client = client_for(server)
    for number in range(5):
        assert (await chat(client))[0].content == f"answer {number}"
    assert server.connections == 1


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced(model_server, client_for):
    server = model_server(stream(*reply_pieces("one"), ending="bye"), say("two"))
    client = client_for(server)
    assert (await chat(client))[0].content == "one"
    await server.connection_closed(1)
    response, heard = await chat(client)
    assert response.content == "two"
    assert heard.retries == []
    assert server.connections == 2


async def test_messages_of_a_request_begin_with_the_bytes_of_the_last(model_server, client_for):
    steps = 40
    server = model_server(
        *[ask(call("read_file", f"id{n}", path=f"f{n}"), reasoning="hm") for n in range(steps)],
        strict=True,
    )
    client = client_for(server)
    history = [Message("system", "be brief"), Message("user", "go")]
    for _ in range(steps):
        response, _heard = await chat(client, history)
        asked = response.tool_calls[0]
        history.append(Message("assistant", None, response.reasoning, response.tool_calls))
        history.append(Message("tool", f"result ☃ {asked.arguments}", tool_call_id=asked.id))
    assert server.complaints == []
    heads = {request.body.partition(b'"messages":')[0] for request in server.requests}
    assert len(heads) == 1
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert after.messages_bytes.startswith(before.messages_bytes + b",")


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (refuse_connection(), ""),
        (close_connection(), ""),
        (http(500, "oops"), ""),
        (http(408, "late"), ""),
        (http(429, {"error": {"message": "busy"}}), ""),
        (http(503), ""),
        (stream(ending="eof"), ""),
        (stream(chunk({"role": "assistant"}), ending="cut"), ""),
        (stream(event({"error": {"message": "overloaded", "type": "x"}})), ""),
        (
            stream(
                chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file"}}]}),
                ending="reset",
            ),
            "",
        ),
    ],
)
async def test_a_failure_before_anything_was_shown_is_tried_again(
    model_server, client_for, broken, text
):
    server = model_server(broken, broken, say("third"))
    response, heard = await chat(client_for(server))
    assert response.content == "third"
    assert [retry.attempt for retry in heard.retries] == [2, 3]
    assert all(retry.reason for retry in heard.retries)
    assert len(server.requests) == 3


@pytest.mark.parametrize("broken", [http(503, "down"), stream(ending="eof"), refuse_connection()])
async def test_three_attempts_and_no_more(model_server, client_for, broken):
    server = model_server(broken, repeat_last=True)
    await failure(client_for(server), (ModelRefused, StreamInterrupted, ModelUnreachable))
    assert len(server.requests) == 3


async def test_a_reset_is_told_in_the_systems_words(model_server, client_for):
    server = model_server(stream(ending="reset"), repeat_last=True)
    error, _ = await failure(client_for(server), StreamInterrupted)
    assert "Connection reset by peer" in str(error)


@pytest.mark.parametrize("shown", [{"content": "half"}, {"reasoning_content": "half"}])
@pytest.mark.parametrize("ending", ["eof", "cut", "reset"])
async def test_what_was_shown_is_never_asked_for_again(model_server, client_for, shown, ending):
    gate = Gate()
    server = model_server(stream(chunk(shown), gate, ending=ending), say("unused"))
    client = client_for(server)
    heard, something = Listener(), asyncio.Event()
    task = asyncio.create_task(
        client.chat(HELLO, TOOLS, lambda delta: (heard.append(delta), something.set()))
    )
    await something.wait()
    gate.open()
    with pytest.raises(StreamInterrupted):
        await task
    assert heard.text + heard.reasoning == "half"
    assert len(server.requests) == 1
    assert (await chat(client))[0].content == "unused"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418, 422, 501, 301])
async def test_other_statuses_are_told_at_once(model_server, client_for, status):
    server = model_server(http(status, {"error": {"message": f"words of {status}"}}))
    error, heard = await failure(client_for(server), ModelRefused)
    assert error.status == status
    assert f"{status}" in str(error)
    assert len(server.requests) == 1
    assert heard == []


async def test_an_error_in_the_stream_after_text_is_not_tried_again(model_server, client_for):
    server = model_server(
        stream(chunk({"content": "half"}), event({"error": {"message": "overloaded", "code": 503}}))
    )
    error, heard = await failure(client_for(server), ModelRefused)
    assert "overloaded" in str(error)
    assert heard.text == "half"
    assert len(server.requests) == 1


async def test_a_reply_that_is_whole_and_empty_is_an_error(model_server, client_for):
    server = model_server(stream(chunk({}, "stop"), DONE))
    await failure(client_for(server), EmptyReply)
    assert len(server.requests) == 1


async def test_done_ends_the_reply_although_the_connection_stays_open(model_server, client_for):
    server = model_server(stream(*reply_pieces("hello"), ending="hang"), say("next"))
    client = client_for(server)
    assert (await chat(client))[0].content == "hello"
    assert (await chat(client))[0].content == "next"


async def test_cancelling_ends_one_request_and_the_next_works(model_server, client_for):
    keep_alives = stream(*[b": still here\n\n"] * 5, ending="hang")
    server = model_server(keep_alives, hang(answers=False), say("fine"))
    client = client_for(server)
    for count in (1, 2):
        task = asyncio.create_task(client.chat(HELLO, TOOLS, lambda delta: None))
        await server.requests_arrived(count)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.client_is_gone()
        server.client_left.clear()
    assert (await chat(client))[0].content == "fine"
    assert len(server.requests) == 3


async def test_cancelling_during_the_wait_before_a_retry_sends_nothing_more(
    model_server, client_for
):
    server = model_server(http(503, "down", Retry_After="20"), repeat_last=True)
    client = client_for(server)
    waiting = asyncio.Event()
    task = asyncio.create_task(client.chat(HELLO, TOOLS, lambda delta: waiting.set()))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(server.requests) == 1


async def test_a_server_may_ask_for_a_wait_up_to_the_cap(model_server, client_for):
    server = model_server(http(429, "busy", Retry_After="3600"), say("ok"))
    client = client_for(server, PAICLI_LLM_RETRY_MAX_DELAY_MS="7")
    _response, heard = await chat(client)
    assert heard.retries[0].delay == 0.007


async def test_silence_between_bytes_ends_the_attempt(model_server, client_for):
    server = model_server(hang(), hang(answers=False), say("ok"))
    client = client_for(server, PAICLI_LLM_READ_TIMEOUT_SECONDS="0.5")
    response, heard = await chat(client)
    assert response.content == "ok"
    assert len(heard.retries) == 2


async def test_a_whole_call_has_its_time(model_server, client_for):
    server = model_server(hang())
    client = client_for(server, PAICLI_LLM_CALL_TIMEOUT_SECONDS="0.2")
    error, _heard = await failure(client, ModelUnreachable)
    assert "PAICLI_LLM_CALL_TIMEOUT_SECONDS" in str(error)
    assert len(server.requests) <= 1
