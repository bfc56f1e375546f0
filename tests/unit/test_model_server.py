"""The scripted server itself, seen by a plain client."""

import json
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests.model_server import ask, call, complaint, hang, http, refuse_connection, say


def connect(server):
    return closing(HTTPConnection("127.0.0.1", server.port, timeout=5))


def post(server, body):
    with connect(server) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()


BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_turns_go_out_in_order_and_requests_come_in(model_server):
    server = model_server(say("hello", size=3), ask(call("read_file", path="a")), http(418, "tea"))
    status, body = post(server, BODY)
    assert status == 200
    assert b'"content": "hel"' in body
    assert body.endswith(b"data: [DONE]\n\n")
    assert b"read_file" in post(server, BODY)[1]
    assert post(server, BODY) == (418, b"tea")
    assert [request.json for request in server.requests] == [BODY] * 3


def test_a_connection_can_be_reset_or_kept_hanging(model_server):
    server = model_server(refuse_connection(), hang(answers=False))
    with pytest.raises(ConnectionResetError):
        post(server, BODY)
    with connect(server) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps(BODY))
        server.wait_for_requests(2)
    assert server.client_left.wait(5)


def test_reviews_use_no_turn(model_server):
    server = model_server(say("answer"))
    review = {"messages": [{"role": "user", "content": 'data: {"user_request": "x"}'}]}
    assert b"allow" in post(server, review)[1]
    assert b"answ" in post(server, BODY)[1]


def test_other_paths_have_their_own_answers(model_server):
    server = model_server(routes={"/v1/models": http(200, {"data": []})})
    with connect(server) as connection:
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read() == b'{"data": []}'


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([{"role": "user", "content": "x"}], None),
        ([{"role": "assistant", "content": ""}], "needs content"),
        ([{"role": "user", "content": None}], "content is required"),
        ([{"role": "tool", "content": "x", "tool_call_id": "a"}], "must answer"),
        (
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
                }
            ],
            "no result",
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "["}}],
                }
            ],
            "JSON object",
        ),
    ],
)
def test_strict_mode_refuses_what_strict_providers_refuse(messages, problem):
    found = complaint({"messages": messages})
    assert (found is None) if problem is None else (problem in found)


def test_an_empty_tools_list_is_refused():
    assert complaint(BODY | {"tools": []})
