"""A long task in a small window: it neither overflows nor forgets what it is about."""

import itertools
import json

import pytest

from paicli.llm.tokens import estimate
from tests.model_server import ModelServer, ask, call, http, say

WINDOW = 16_000
SUMMARY = (
    "## Goal and success criteria\nread it all\n## User requirements and decisions\nnone\n"
    "## Work done and evidence\nread many\n## Open problems and next step\nread on"
)
GOAL = "Read every part of big.txt and then say which line is the longest."


def size(request):
    return estimate(json.dumps(request.messages, ensure_ascii=False)) + estimate(
        json.dumps(request.json.get("tools", []))
    )


class Reader:
    """A model that reads on until its last step; it summarises when asked without tools."""

    def __init__(self, steps, counts=True):
        self.left = iter(range(steps))
        self.counts = counts
        self.numbers = itertools.count()

    def __call__(self, request):
        tokens = (size(request), 20) if self.counts else None
        if "tools" not in request.json:
            return say(SUMMARY, tokens=tokens, size=500)
        if next(self.left, None) is None:
            return say("It is line 7.", tokens=tokens)
        n = next(self.numbers)
        wanted = call("read_file", call_id=f"c{n}", path="big.txt", offset=1 + n, limit=40)
        return ask(wanted, tokens=tokens, size=200)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("counts", [True, False], ids=["usage", "no usage"])
def test_three_hundred_steps_fit_into_a_small_window(paicli, counts):
    paicli.write("big.txt", "".join(f"line {i} " + "word " * 12 + "\n" for i in range(600)))
    environ = {"PAICLI_CONTEXT_WINDOW": str(WINDOW)}
    with ModelServer([Reader(300, counts)], repeat_last=True) as server:
        ended = paicli.run("-p", GOAL, server=server, env=environ, timeout=100)
    assert (ended.code, ended.out) == (0, "It is line 7.\n")
    assert server.complaints == []
    assert max(map(size, server.requests)) < WINDOW
    asked = [request for request in server.requests if request.tool_names]
    assert len(asked) == 301
    assert len(server.requests) > 301, "nothing was ever summarised"
    assert GOAL in json.dumps(asked[-1].messages)


def test_a_server_that_says_too_long_gets_a_shorter_request(paicli):
    overflow = {
        "error": {
            "message": "maximum context length is 4096 tokens",
            "code": "context_length_exceeded",
        }
    }
    paicli.write("big.txt", "word " * 400 + "\n")
    reads = [ask(call("read_file", call_id=f"c{i}", path="big.txt")) for i in range(12)]
    turns = [*reads, http(400, overflow), say(SUMMARY), say("done")]
    environ = {"PAICLI_REACT_STAGNATION_WINDOW": "100", "PAICLI_CONTEXT_WINDOW": "20000"}
    with ModelServer(turns) as server:
        ended = paicli.run("-p", GOAL, server=server, env=environ)
    assert (ended.code, ended.out) == (0, "done\n")
    assert server.complaints == []
    assert size(server.requests[-1]) < size(server.requests[-3])


def test_each_request_begins_with_the_bytes_of_the_one_before(paicli):
    paicli.write("big.txt", "x\n" * 2_000)
    with ModelServer([Reader(40)], repeat_last=True) as server:
        paicli.run("-p", GOAL, server=server)
    bodies = [request.messages_bytes for request in server.requests]
    tools = {
        request.body.partition(b'"tools":')[2].partition(b'"messages"')[0]
        for request in server.requests
    }
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(bodies))
    assert len(tools) == 1


def test_the_reminder_and_the_stop_reach_the_person_and_the_model(paicli):
    same = ask(call("list_dir", call_id="a", path="."))
    with ModelServer([same] * 5 + [say("I looked at the folder.")]) as server:
        ended = paicli.run("-p", "go", server=server)
    assert ended.code == 3
    assert ended.out.startswith("⚠️ Partly done (the same steps were repeated)\n\nI looked")
    assert [len(request.tool_names) > 0 for request in server.requests] == [True] * 5 + [False]
    assert "tools" not in server.requests[5].json
    reminders = [
        m for m in server.requests[5].messages if str(m["content"]).startswith("[runaway guard]")
    ]
    assert len(reminders) == 1
