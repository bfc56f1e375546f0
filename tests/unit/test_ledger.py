"""Sessions on disk survive what happens to files."""

import errno
import json
import os
import stat

import pytest

from paicli.errors import ConfigError
from paicli.llm.messages import Message, ToolCall
from paicli.session.ledger import Header, Ledger, load
from paicli.session.store import SessionStore

HEADER = Header("s1", "/project", "model-x", 1000.0)
MESSAGES = (
    Message("system", "rules", source="system_prompt"),
    Message("user", "show\u2028it\u0085now\x0c", source="user_input"),
    Message(
        "assistant",
        None,
        "thinking",
        (ToolCall("c1", "read_file", '{"path":"文.txt"}'),),
        source="llm_response",
    ),
    Message("tool", "内容", tool_call_id="c1", source="tool_execution"),
)


def written(path, messages=MESSAGES):
    ledger = Ledger(path, HEADER)
    for message in messages:
        ledger.message(message)
    ledger.close()
    return path


def test_what_was_written_is_loaded(tmp_path):
    path = written(tmp_path / "s1.jsonl")
    loaded = load(path)
    assert (loaded.header, loaded.messages, loaded.skipped) == (HEADER, MESSAGES, 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_message_no_file(tmp_path):
    Ledger(tmp_path / "s1.jsonl", HEADER).close()
    assert list(tmp_path.iterdir()) == []


def test_a_message_is_on_disk_before_the_call_returns(tmp_path):
    ledger = Ledger(tmp_path / "s1.jsonl", HEADER)
    ledger.message(MESSAGES[0])
    assert load(tmp_path / "s1.jsonl").messages == MESSAGES[:1]


@pytest.mark.parametrize(
    "damage",
    [
        b'{"type":"message","message":{"role":"us',
        b"\0" * 100,
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b"null\n3\n[]\n",
        b'{"type":"message","message":{"role":"alien"}}\n',
        b'{"type":"message","message":{"role":"assistant","content":null,"tool_calls":[{"id":7}]}}\n',
        b'{"v":99,"type":"hologram","data":1}\n',
    ],
)
def test_damage_never_prevents_loading(tmp_path, damage):
    path = written(tmp_path / "s1.jsonl")
    path.write_bytes(path.read_bytes() + damage)
    assert load(path).messages == MESSAGES


def test_going_on_after_a_torn_line_keeps_the_new_message(tmp_path):
    path = written(tmp_path / "s1.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"mess')
    ledger = Ledger(path, HEADER)
    assert ledger.open()
    ledger.message(Message("user", "again"))
    ledger.close()
    assert load(path).messages == (*MESSAGES, Message("user", "again"))


def test_a_torn_session_opens_without_a_write_as_on_a_full_disk(tmp_path):
    path = written(tmp_path / "s1.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"mess')
    before = path.read_bytes()
    ledger = Ledger(path, HEADER)
    assert ledger.open()
    ledger.close()
    assert path.read_bytes() == before


def test_what_comes_after_a_torn_header_is_whole(tmp_path, monkeypatch):
    room = [20, 0]
    real = os.write

    def full(descriptor, data):
        if not room:
            return real(descriptor, data)
        if space := room.pop(0):
            return real(descriptor, data[:space])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    ledger = Ledger(tmp_path / "s1.jsonl", HEADER)
    ledger.on_failure = lambda _reason: None
    for message in MESSAGES:
        ledger.message(message)
    assert load(tmp_path / "s1.jsonl").messages == MESSAGES[1:]


def test_a_rewrite_replaces_what_was_before(tmp_path):
    ledger = Ledger(tmp_path / "s1.jsonl", HEADER)
    ledger.message(MESSAGES[1])
    ledger.rewritten("clear", MESSAGES[:1])
    ledger.message(MESSAGES[1])
    assert load(tmp_path / "s1.jsonl").messages == MESSAGES[:2]


def test_a_full_disk_is_told_once_and_the_work_goes_on(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "no" / "s1.jsonl", HEADER)
    (tmp_path / "no").write_text("a file where the folder should be")
    told = []
    ledger.on_failure = told.append
    ledger.message(MESSAGES[0])
    ledger.message(MESSAGES[1])
    assert len(told) == 1
    assert "s1.jsonl" in told[0]


def test_a_store_resumes_the_newest_or_the_named(tmp_path):
    store = SessionStore(tmp_path / "home", tmp_path)
    first = store.create("m")
    first.conversation.append(Message("user", "first  question", source="user_input"))
    first.ledger.close()
    second = store.create("m")
    second.conversation.append(Message("user", "second", source="user_input"))
    second.ledger.close()
    assert {summary.title for summary in store.summaries()} == {"first question", "second"}
    again = store.resume(first.id, "m")
    assert again.resumed
    assert [m.content for m in again.conversation.messages] == ["first  question"]


def test_a_session_open_elsewhere_goes_on_as_a_copy(tmp_path):
    store = SessionStore(tmp_path / "home", tmp_path)
    first = store.create("m")
    first.conversation.append(Message("user", "mine", source="user_input"))
    copy = store.resume(None, "m")
    assert copy.forked
    assert copy.id != first.id
    copy.conversation.append(Message("user", "theirs"))
    assert [m.content for m in load(first.ledger.path).messages] == ["mine"]
    assert [m.content for m in load(copy.ledger.path).messages] == ["mine", "theirs"]


def test_a_call_without_result_is_closed_on_load(tmp_path):
    store = SessionStore(tmp_path / "home", tmp_path)
    session = store.create("m")
    for message in MESSAGES[:3]:
        session.conversation.append(message)
    session.ledger.close()
    again = store.resume(None, "m")
    assert [m.role for m in again.conversation.messages] == ["system", "user", "assistant", "tool"]
    again.ledger.close()
    assert [m.role for m in load(session.ledger.path).messages][-1] == "tool"


def test_projects_do_not_mix(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = SessionStore(tmp_path / "home", tmp_path / "a").create("m")
    one.conversation.append(Message("user", "x"))
    with pytest.raises(ConfigError):
        SessionStore(tmp_path / "home", tmp_path / "b").resume(None, "m")


def test_the_file_holds_no_more_than_json_lines(tmp_path):
    lines = written(tmp_path / "s1.jsonl").read_bytes().split(b"\n")
    assert lines[-1] == b""
    assert [json.loads(line)["type"] for line in lines[:-1]] == ["session", *["message"] * 4]
