"""Handed cases of odd servers, and bytes that real servers sent. Skipped where the files are not."""

import base64
import json
import re
from pathlib import Path

import pytest

from paicli.errors import EmptyReply, ModelError, ModelRefused, StreamInterrupted
from tests.integration.wire_client import HELLO, Listener, chat, client_of, definitions
from tests.model_server import Turn, stream

SHARED = Path(__file__).parents[2].parent / "shared"
KINDS = {
    "interrupted": StreamInterrupted,
    "http_error": ModelRefused,
    "api_error": ModelRefused,
    "empty": EmptyReply,
    "bad_json": ModelError,
}


def rows(path, wanted=lambda row: True):
    if not path.exists():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=f"no {path.name}"))]
    lines = path.read_text(encoding="utf-8").strip().split("\n")
    found = [row for row in map(json.loads, lines) if wanted(row)]
    return [pytest.param(row, id=row["id"]) for row in found]


def turn_of(answer):
    pieces = tuple(base64.b64decode(piece) for piece in answer["chunks"])
    ending = {"clean": "done", "reset": "reset"}[answer.get("close", "clean")]
    return Turn(pieces, answer["status"], answer["headers"], ending)


@pytest.mark.parametrize("case", rows(SHARED / "cases" / "sse.jsonl"))
async def test_a_handed_case(case, model_server, tmp_path):
    turns = [turn_of(answer) for answer in [case, *case.get("then", [])]]
    server = model_server(*turns, repeat_last=True)
    client = client_of(server.environ(), tmp_path)
    expect = case["expect"]
    heard, response, error = Listener(), None, None
    names = {call["name"] for call in expect["tool_calls"]} | {"read_file", "list_dir"}
    try:
        response = await client.chat(HELLO, definitions(*names), heard.append)
    except ModelError as failed:
        error = failed
    finally:
        await client.aclose()
    assert heard.text == expect["content"]
    assert heard.reasoning == expect["reasoning"]
    if expect.get("requests"):
        assert len(server.requests) == expect["requests"]
    if expect["retried"] is not None:
        assert (len(server.requests) > 1) == expect["retried"]
    if expect["error"]:
        assert isinstance(error, KINDS[expect["error"]])
        return
    assert error is None
    assert response.finish_reason == expect["finish"]
    assert len(response.tool_calls) == len(expect["tool_calls"])
    for found, wanted in zip(response.tool_calls, expect["tool_calls"], strict=True):
        assert found.name == wanted["name"]
        assert found.arguments in wanted.get("arguments_any", [wanted["arguments"]])
        assert re.fullmatch(wanted.get("id_regex") or re.escape(wanted["id"]), found.id)
        assert found.error is None


def is_wire_report(row):
    return row["kind"] == "sse" and any("raw_sse" in step for step in row["script"])


CALL_ERRORS = {"B01", "B51"}
"""Reports whose calls must not run."""


@pytest.mark.parametrize("row", rows(SHARED / "cases" / "reports.jsonl", is_wire_report))
async def test_a_report_of_a_broken_stream(row, model_server, tmp_path):
    raw = next(step["raw_sse"] for step in row["script"] if "raw_sse" in step)
    server = model_server(stream(raw.encode("utf-8", "surrogatepass")), repeat_last=True)
    client = client_of(server.environ(), tmp_path)
    try:
        if row["id"] == "B24":
            with pytest.raises(StreamInterrupted):
                await chat(client)
            assert len(server.requests) == 3
            return
        response, _heard = await chat(client)
    finally:
        await client.aclose()
    for call in response.tool_calls:
        assert isinstance(json.loads(call.arguments), dict)
        assert (call.error is not None) == (row["id"] in CALL_ERRORS)
    assert response.tool_calls or response.content or response.reasoning
    json.dumps([call.arguments for call in response.tool_calls], ensure_ascii=False).encode()
    response.content.encode()


READ = ("read_file", {"path": "Hello.java"})
TWO_READS = [("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]
RENAMED = {"path": "Hello.java", "old_string": "Hello", "new_string": "Hello Java"}
CALLS = {
    "litellm-tool-auto": [READ],
    "litellm-tool-required": [READ],
    "llama-server-tool-auto": [READ],
    "llama-server-tool-required": [READ],
    "llama-server-default-template-tool-auto": [READ],
    "llama-server-default-template-tool-required": [READ],
    "llama-server-default-template-tool-parallel": TWO_READS,
    "llama-server-default-template-tool-followup": [("edit_file", RENAMED)],
    "llamacpppython-tool-auto": [READ],
    "llamacpppython-tool-required": [READ],
}


def recordings():
    folder = SHARED / "wire"
    if not folder.exists():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason="no recordings"))]
    return [pytest.param(path, id=path.stem) for path in sorted(folder.glob("*.sse"))]


@pytest.mark.parametrize("path", recordings())
async def test_bytes_of_a_real_server(path, model_server, tmp_path):
    server = model_server(stream(path.read_bytes()), repeat_last=True)
    client = client_of(server.environ(), tmp_path)
    try:
        if b"[DONE]" not in path.read_bytes():
            with pytest.raises(StreamInterrupted):
                await chat(client)
            return
        response, heard = await chat(client)
    finally:
        await client.aclose()
    calls = [(call.name, json.loads(call.arguments)) for call in response.tool_calls]
    cut = [call for call in response.tool_calls if call.error]
    if path.stem in CALLS:
        assert calls == CALLS[path.stem]
        assert response.content == ""
        assert heard.text.strip() == ""
        assert cut == []
    elif path.stem == "llama-server-tool-length":
        assert "length" in cut[0].error
    elif path.stem == "llama-server-default-template-tool-length":
        assert calls == []
        assert response.unexecuted_call
        assert response.content.startswith("```json")
    else:
        assert response.content or response.tool_calls
        assert not response.unexecuted_call
    has_usage = "nousage" not in path.stem and "llamacpppython" not in path.stem
    assert (response.usage is not None) == has_usage


def test_context_errors_of_real_servers_are_recognised():
    from paicli.llm.failures import refused_by_status

    folder = SHARED / "wire"
    if not folder.exists():
        pytest.skip("no recordings")
    for path in folder.glob("*error*.json"):
        error = refused_by_status(
            400, path.read_bytes(), url="u", key="", variable="", retry_after=None
        )
        assert error.context_overflow == ("context" in path.stem), path.stem
