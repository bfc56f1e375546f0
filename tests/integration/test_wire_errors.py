"""Faults of servers, networks and settings: the right sentence, and the next question works."""

import asyncio
import base64
import json
import socket
import subprocess
import sys

import pytest

from paicli.errors import ModelError, ModelRefused, ModelUnreachable, StreamInterrupted
from paicli.llm import client as client_module
from paicli.llm.local_servers import find_local_servers, prompt_was_cut, real_context
from paicli.llm.messages import Message
from paicli.llm.models import discover
from paicli.llm.probes import check_providers, probe
from tests.integration.wire_client import HELLO, TOOLS, Listener, chat, client_of
from tests.model_server import (
    DONE,
    Call,
    ask,
    call,
    chunk,
    complaint,
    event,
    hang,
    http,
    say,
    stream,
    usage,
)

KEY = "sk-abcdef0123456789wxyz"
PAGE = "<!doctype html><html><head><title>Welcome</title></head><body>" + "<p>hi</p>" * 200


@pytest.fixture
async def client_for(tmp_path):
    made = []

    def make(server=None, **variables):
        environ = (server.environ() if server else {}) | variables
        made.append(client_of(environ, tmp_path))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


async def failure(client, kind=ModelError):
    heard = Listener()
    with pytest.raises(kind) as caught:
        await client.chat(HELLO, TOOLS, heard.append)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream", ""])
async def test_a_web_page_is_no_chat_endpoint(model_server, client_for, content_type):
    server = model_server(http(200, PAGE, Content_Type=content_type), say("fine"))
    client = client_for(server)
    error = await failure(client, StreamInterrupted)
    assert "HTML" in str(error)
    assert server.url in str(error)
    assert "<p>" not in str(error)
    assert len(server.requests) == 1
    assert (await chat(client))[0].content == "fine"


async def test_plain_words_instead_of_a_stream(model_server, client_for):
    server = model_server(http(200, "Ollama is running"), repeat_last=True)
    assert "Ollama is running" in str(await failure(client_for(server)))
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"", b"\n\n", b": ping\n\n: ping\n\n"])
async def test_nothing_at_all_is_tried_again_and_told(model_server, client_for, body):
    server = model_server(stream(body), repeat_last=True)
    error = await failure(client_for(server), StreamInterrupted)
    assert server.url in str(error)
    assert len(server.requests) == 3


async def test_a_reply_that_is_one_json_is_a_reply(model_server, client_for):
    message = {
        "role": "assistant",
        "content": "whole",
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}}
        ],
    }
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    response, heard = await chat(client_for(model_server(http(200, whole))))
    assert heard.text == response.content == "whole"
    assert response.tool_calls[0].name == "list_dir"
    assert response.usage.input == 3


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"bad key {KEY}", "code": 401}},
        {"object": "error", "message": "no", "code": 400},
        {"detail": "Not Found"},
    ],
)
async def test_an_error_object_with_status_200(model_server, client_for, body):
    server = model_server(http(200, body))
    await failure(client_for(server, LOCAL_API_KEY=KEY), ModelRefused)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_the_key_is_in_no_message(model_server, client_for, status, caplog):
    words = {"error": {"message": f"key {KEY} or {KEY[:10]}****{KEY[-4:]} is wrong"}}
    server = model_server(http(status, words), repeat_last=True)
    error = await failure(client_for(server, LOCAL_API_KEY=KEY))
    assert KEY[:10] not in str(error)
    assert KEY[-4:] not in str(error)
    assert KEY not in caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_huge_error_body_is_cut(model_server, client_for):
    error = await failure(client_for(model_server(http(400, "x" * 3_000_000))))
    assert len(str(error)) < 700


async def test_a_context_that_is_too_long_is_marked(model_server, client_for):
    words = {"error": {"message": "maximum context length is 4096 tokens", "code": 400}}
    server = model_server(http(400, words), stream(event(words)))
    client = client_for(server)
    assert (await failure(client)).context_overflow
    assert (await failure(client)).context_overflow


def free_port():
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        return probe_socket.getsockname()[1]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_nobody_listens(client_for, language):
    base = f"http://127.0.0.1:{free_port()}/v1"
    fast = {"PAICLI_LLM_RETRY_BASE_DELAY_MS": "1", "PAICLI_LANG": language}
    error = await failure(client_for(LOCAL_BASE_URL=base, **fast), ModelUnreachable)
    assert "Connection refused" in str(error)
    assert base.split("/")[2] in str(error)


async def test_a_name_that_nobody_has(client_for):
    fast = {"PAICLI_LLM_RETRY_MAX_ATTEMPTS": "1"}
    client = client_for(LOCAL_BASE_URL="http://no-such-host.invalid/v1", **fast)
    assert "no-such-host.invalid" in str(await failure(client, ModelUnreachable))


async def test_https_to_a_server_without_tls(model_server, client_for):
    server = model_server(say("unheard"))
    base = server.url.replace("http:", "https:")
    error = await failure(client_for(LOCAL_BASE_URL=base, PAICLI_LLM_RETRY_MAX_ATTEMPTS="1"))
    assert "TLS" in str(error)


PROXIED = """
import asyncio, sys
from pathlib import Path
from tests.integration.wire_client import HELLO, chat, client_of
client = client_of({"LOCAL_BASE_URL": sys.argv[1]}, Path(sys.argv[2]))
try:
    print(asyncio.run(chat(client))[0].content)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("proxy", "base", "said"),
    [
        ("socks9://user:secret@h:1", "http://example.invalid/v1", "ModelUnreachable"),
        ("http://127.0.0.1:{free}", "http://example.invalid/v1", "through the proxy"),
        ("http://127.0.0.1:{free}", "{server}", "past the proxy"),
    ],
)
def test_proxies_of_the_environment(model_server, tmp_path, proxy, base, said):
    server = model_server(say("past the proxy"))
    environ = {
        "ALL_PROXY": proxy.format(free=free_port()),
        "PATH": "",
        "PYTHONPATH": ":".join(sys.path),
        "PAICLI_LLM_RETRY_MAX_ATTEMPTS": "1",
    }
    command = [sys.executable, "-c", PROXIED, base.format(server=server.url), str(tmp_path)]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=50, check=False
    )
    assert said in done.stdout, done.stderr
    assert "secret" not in done.stdout


async def test_a_reply_dropped_at_every_byte(model_server, client_for):
    """Whatever the place: the right error or a whole reply, one request more only if nothing was
    shown, and the next question works on the same client."""
    function = {"name": "read_file", "arguments": '{"path": '}
    deltas = [
        {"reasoning": "so"},
        {"content": "A 汉."},
        {"tool_calls": [{"index": 0, "id": "id", "function": function}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"é"}'}}]},
    ]
    choices = [{"delta": delta} for delta in deltas] + [{"finish_reason": "tool_calls"}]
    body = b"".join(event({"choices": [choice]}) for choice in choices) + DONE
    whole = body.index(b'"finish_reason"')
    first_shown = body.index(b"reasoning")
    turns = []
    for place in range(len(body)):
        turns += [stream(body[:place], ending="eof"), say("next")]
    server = model_server(*turns)
    client = client_for(server, PAICLI_LLM_RETRY_BASE_DELAY_MS="0")
    asked = 0
    for place in range(len(body)):
        heard = Listener()
        try:
            response = await client.chat(HELLO, TOOLS, heard.append)
        except StreamInterrupted:
            assert first_shown < place < body.index(b"\n\n", whole) + 2
            assert heard.reasoning
            assert not heard.retries
            response, _ = await chat(client)
            assert response.content == "next"
        else:
            if heard.retries:
                assert response.content == "next"
            else:
                assert place > whole
                assert response.content == "A 汉."
                assert response.tool_calls[0].arguments == '{"path": "é"}'
                assert (await chat(client))[0].content == "next"
        asked += 2
        assert len(server.requests) == asked


async def test_the_wire_log_becomes_a_case(model_server, client_for, tmp_path):
    log = tmp_path / "wire.jsonl"
    body = chunk({"content": f"your key is {KEY}"}) + chunk({}, "stop")
    server = model_server(stream(body[:60], body[60:]), http(503, "down"), say("ok"))
    client = client_for(server, PAICLI_WIRE_LOG=str(log), LOCAL_API_KEY=KEY)
    await chat(client, [Message("user", f"my key is {KEY}")])
    await chat(client)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["status"] for line in lines] == [200, 503, 200]
    assert KEY not in log.read_text()
    sent = b"".join(base64.b64decode(piece) for piece in lines[0]["chunks"])
    assert sent == body.replace(KEY.encode(), b"***")
    assert json.loads(lines[0]["request"])["messages"][0]["content"] == "my key is ***"
    assert "503" in lines[1]["error"]
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_the_wire_log_holds_no_key_that_deltas_cut(model_server, client_for, tmp_path, size):
    log, said = tmp_path / "wire.jsonl", f"é {KEY} and {KEY}!"
    thought = json.dumps({"command": f"echo {KEY}"})
    server = model_server(say(said, size=size), ask(Call("run", thought), size=size))
    client = client_for(server, PAICLI_WIRE_LOG=str(log), LOCAL_API_KEY=KEY)
    for _ in range(2):
        await chat(client)
    texts = []
    for line in log.read_text().splitlines():
        body = b"".join(map(base64.b64decode, json.loads(line)["chunks"]))
        deltas = [
            json.loads(row[6:])["choices"][0]["delta"]
            for row in body.decode().splitlines()
            if row.startswith("data: {") and '"choices": []' not in row
        ]
        texts.append("".join(delta.get("content") or "" for delta in deltas))
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        texts.append("".join(call["function"]["arguments"] for call in calls))
    stars = "*" * len(KEY)
    assert texts == [f"é {stars} and {stars}!", "", "", thought.replace(KEY, stars)]


async def test_the_wire_log_leaves_out_the_end_of_a_very_long_reply(
    model_server, client_for, tmp_path, monkeypatch
):
    monkeypatch.setattr(client_module, "_MAX_NOTED_BYTES", 1000)
    log, body = tmp_path / "wire.jsonl", chunk({"content": "x" * 900}) * 2 + chunk({}, "stop")
    client = client_for(
        model_server(stream(body[:700], body[700:1400], body[1400:])), PAICLI_WIRE_LOG=str(log)
    )
    assert (await chat(client))[0].content == "x" * 1800
    line = json.loads(log.read_text())
    assert b"".join(map(base64.b64decode, line["chunks"])) == body[:1000]
    assert line["left_out"] == len(body) - 1000


async def test_a_wire_log_that_cannot_be_written_changes_nothing(
    model_server, client_for, tmp_path
):
    client = client_for(model_server(say("ok")), PAICLI_WIRE_LOG=str(tmp_path / "no" / "log"))
    assert (await chat(client))[0].content == "ok"


def settings_of(client):
    return client._settings


async def test_discovery_reads_the_list_of_models(model_server, client_for):
    rows = {"data": [{"id": "a"}, {"id": "b/c:1"}, {"id": 7}, {"id": "bad id"}, None, {"id": "a"}]}
    server = model_server(routes={"/v1/models": http(200, rows)})
    settings = settings_of(client_for(server, LOCAL_API_KEY=KEY))
    assert await discover(settings, "local") == ("a", "b/c:1")
    assert server.other_requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http(404, PAGE), "by hand"),
        (http(401, f"bad {KEY}"), "401"),
        (http(200, PAGE), "list of models"),
        (http(200, {"data": 3}), "list of models"),
        (http(302, "", Location="http://127.0.0.1:9/"), "302"),
        (http(200, "x" * 1_100_000), "megabyte"),
    ],
)
async def test_discovery_that_fails_never_shows_the_servers_body(
    model_server, client_for, answer, said
):
    server = model_server(routes={"/v1/models": answer})
    with pytest.raises(ModelError, match=said) as caught:
        await discover(settings_of(client_for(server, LOCAL_API_KEY=KEY)), "local")
    assert KEY not in str(caught.value)
    assert "<p>" not in str(caught.value)
    assert len(server.other_requests) == 1


async def test_local_servers_are_found_with_their_real_context(model_server):
    listed = http(200, {"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]})
    llama = model_server(
        routes={
            "/v1/models": listed,
            "/props": http(200, {"default_generation_settings": {"n_ctx": 4096}}),
        }
    )
    vllm = model_server(
        routes={"/v1/models": http(200, {"data": [{"id": "v", "max_model_len": 8192}]})}
    )
    shown = {"parameters": "stop x\nnum_ctx 2048", "model_info": {"qwen2.context_length": 32768}}
    ollama = model_server(
        routes={"/v1/models": http(200, {"data": [{"id": "q"}]}), "/api/show": http(200, shown)}
    )
    silent = model_server(routes={"/v1/models": hang(answers=False)})
    page = model_server(routes={"/v1/models": http(200, PAGE)})
    ports = {
        server.port: str(number)
        for number, server in enumerate((llama, vllm, ollama, silent, page))
    }
    found = await find_local_servers(ports | {free_port(): "nobody"})
    assert [(s.kind, s.models, s.context_window, s.trained_window) for s in found] == [
        ("0", ("m",), 4096, 32768),
        ("1", ("v",), 8192, None),
        ("2", ("q",), 2048, 32768),
    ]
    assert await real_context(f"http://127.0.0.1:{free_port()}/v1") == (None, None)


def test_a_prompt_that_was_cut_shows_in_the_count():
    assert prompt_was_cut(estimated=12_000, reported=4096)
    assert not prompt_was_cut(estimated=12_000, reported=9000)
    assert not prompt_was_cut(estimated=1000, reported=10)
    assert not prompt_was_cut(estimated=12_000, reported=0)


async def test_configured_providers_are_checked_together(model_server, client_for):
    server = model_server(routes={"/v1/models": http(200, {"data": [{"id": "scripted"}]})})
    client = client_for(
        server,
        KIMI_API_KEY=KEY,
        KIMI_BASE_URL=f"http://127.0.0.1:{free_port()}/v1",
        GLM_API_KEY="a b",
    )
    checks = {check.provider: check for check in await check_providers(settings_of(client))}
    assert checks["local"].problem == ""
    assert checks["local"].model_is_listed
    assert checks["kimi"].problem
    assert "GLM_API_KEY" in checks["glm"].problem


async def test_probes_say_what_an_endpoint_does(model_server, client_for):
    two = [call("get_weather", "a", city="Paris"), call("get_weather", "b", city="Rome")]
    server = model_server(say("1 2 3 4 5 6 7"), ask(*two), say("sunny"), strict=True)
    client = client_for(server)
    probes = await probe(client.profile, settings_of(client))
    assert {result.name: result.ok for result in probes} == {
        "stream": True,
        "usage": True,
        "calls": True,
        "parallel": True,
        "arguments": True,
        "reasoning": True,
    }
    assert [complaint(request.json) for request in server.requests] == [None] * 3


async def test_probes_of_a_poor_endpoint(model_server, client_for):
    server = model_server(
        stream(chunk({"content": "123"}, "stop")), say("no tools here"), http(400, "no reasoning")
    )
    client = client_for(server)
    probes = {result.name: result for result in await probe(client.profile, settings_of(client))}
    assert {name: result.ok for name, result in probes.items()} == {
        "stream": False,
        "usage": False,
        "calls": False,
        "reasoning": False,
    }
    dead = model_server(http(401, "wrong key"))
    (only,) = await probe(client_for(dead).profile, settings_of(client))
    assert only.ok is False
    assert "wrong key" in only.detail


async def test_usage_after_the_finish_is_read(model_server, client_for):
    server = model_server(stream(chunk({"content": "a"}), chunk({}, "stop"), usage(50, 5, 40)))
    response, _heard = await chat(client_for(server))
    assert (response.usage.input, response.usage.cached) == (50, 40)


async def test_waiting_with_keep_alives_only_is_ended_at_once(model_server, client_for):
    server = model_server(stream(*[b": OPENROUTER PROCESSING\n\n"] * 50, ending="hang"))
    task = asyncio.create_task(client_for(server).chat(HELLO, TOOLS, lambda delta: None))
    await server.requests_arrived(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    await server.client_is_gone()
