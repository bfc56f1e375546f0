"""Session files damaged in odd ways: what is left of them is a history that every server takes."""

import json
import os

import pytest

from paicli.llm.messages import Message, ToolCall
from paicli.session.store import SessionStore
from tests.model_server import complaint

HISTORY = (
    Message("system", "You are PaiCLI."),
    Message("user", "look", source="user_input"),
    Message(
        "assistant", None, tool_calls=(ToolCall("p", "list_dir", "{}"), ToolCall("q", "grep", "{}"))
    ),
    Message("tool", "A", tool_call_id="p"),
    Message("tool", "B", tool_call_id="q"),
    Message("assistant", "seen"),
)


def call(id_, arguments="{}", name="list_dir"):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id_, content="r"):
    return {"role": "tool", "tool_call_id": id_, "content": content}


def asking(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def added(*messages):
    """Damage: these messages stand at the end."""
    lines = [
        json.dumps({"type": "message", "message": message}).encode() + b"\n" for message in messages
    ]
    return lambda data: data + b"".join(lines)


def lines(change):
    """Damage: the file's lines after `change`."""
    return lambda data: b"\n".join(change(data.rstrip(b"\n").split(b"\n"))) + b"\n"


def without(part):
    return lines(lambda all_: [line for line in all_ if part not in line])


DAMAGE = {
    "nothing left": lambda _: b"",
    "zeros": lambda _: b"\0" * 4096,
    "noise": lambda _: os.urandom(3000),
    "a zero tail": lambda data: data + b"\0" * 512,
    "other encoding": lambda data: data.decode().encode("utf-16"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "other line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "torn": lambda data: data[:-30],
    "no header": lines(lambda all_: all_[1:]),
    "backwards": lines(lambda all_: all_[::-1]),
    "every line twice": lines(lambda all_: [line for each in all_ for line in (each, each)]),
    "no system prompt": without(b'"role":"system"'),
    "no question": without(b'"role":"user"'),
    "no replies": without(b'"role":"assistant"'),
    "no results": without(b'"role":"tool"'),
    "half the results": without(b'"content":"A"'),
    "a system prompt of nothing": lines(
        lambda all_: [line.replace(b'"You are PaiCLI."', b"null") for line in all_]
    ),
    "two system prompts": added({"role": "system", "content": "obey"}),
    "half characters": added(
        {"role": "user", "content": "\ud800 x"},
        asking(call("\ud800", '{"path":"\ud800"}', "a\ud800")),
        result("\ud800", "\udc00"),
    ),
    "half characters behind escapes": added(asking(call("x", '{"path":"\\ud800"}'))),
    "one id for two calls": added(asking(call("x"), call("x")), result("x", "1"), result("x", "2")),
    "an empty id": added(asking(call(""), call("")), result("")),
    "one id in two replies": added(*[asking(call("x")), result("x")] * 2),
    "results in another order": added(asking(call("x"), call("y")), result("y"), result("x")),
    "results given twice": added(asking(call("x")), result("x"), result("x")),
    "results elsewhere": added(asking(call("x")), {"role": "user", "content": "so?"}, result("x")),
    "a result of nothing": added(asking(call("x")), result("x", None)),
    "arguments of nothing": added(asking(call("x", None)), result("x")),
    "broken arguments": added(asking(call("x", '{"a')), result("x")),
    "calls that are a number": added({"role": "assistant", "content": "t", "tool_calls": 5}),
    "calls that are an object": added({"role": "assistant", "content": "t", "tool_calls": {}}),
    "a call that is nothing": added(asking(None)),
    "no calls at all": added({"role": "assistant", "content": "t", "tool_calls": []}),
    "questions of nothing": added({"role": "user", "content": None}, {"role": "user"}),
    "an answer of blanks": added({"role": "assistant", "content": " \n"}),
    "content in parts": added({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    "strange roles": added({"role": "developer", "content": "x"}, {"role": 5}, {"role": ["user"]}),
    "no records": lambda data: data + b'[]\n5\nnull\n"x"\n{"type":"message","message":[]}\n',
    "nested without end": lambda data: data + b"[" * 100_000 + b"\n" + b'{"a":' * 50_000 + b"\n",
    "a number without end": lambda data: data + b'{"time":' + b"9" * 6000 + b"}\n",
    "a rewrite of nothing readable": lambda data: (
        data + b'{"type":"rewrite","messages":[5,{"message":{}}]}\n'
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_left_is_legal(tmp_path, damage):
    store = SessionStore(tmp_path / "home", tmp_path)
    session = store.create("m")
    for message in HISTORY:
        session.conversation.append(message)
    session.ledger.close()
    path = session.ledger.path
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    for _ in range(2):  # what the first time repaired is whole the second time
        resumed = store.resume(None, "m")
        messages = [
            json.loads(message.wire(with_reasoning=True))
            for message in resumed.conversation.messages
        ]
        resumed.ledger.close()
        assert complaint({"messages": messages}) is None
        assert all(message["role"] != "system" for message in messages[1:])
        json.dumps(messages, ensure_ascii=False).encode()
    assert store.summaries()


def test_a_call_keeps_its_own_result_when_ids_are_repeated(tmp_path):
    store = SessionStore(tmp_path / "home", tmp_path)
    session = store.create("m")
    session.conversation.append(HISTORY[0])
    session.ledger.close()
    path = session.ledger.path
    path.write_bytes(DAMAGE["one id for two calls"](path.read_bytes()))
    messages = store.resume(None, "m").conversation.messages
    assert [call.id for call in messages[1].tool_calls] == ["x", "x_2"]
    assert [(m.tool_call_id, m.content) for m in messages[2:]] == [("x", "1"), ("x_2", "2")]


def test_a_rewrite_that_cannot_be_read_takes_nothing_away(tmp_path):
    store = SessionStore(tmp_path / "home", tmp_path)
    session = store.create("m")
    for message in HISTORY:
        session.conversation.append(message)
    session.ledger.close()
    path = session.ledger.path
    path.write_bytes(DAMAGE["a rewrite of nothing readable"](path.read_bytes()))
    assert tuple(store.resume(None, "m").conversation.messages) == HISTORY
