"""Sessions survive the end of the program, however it comes."""

import json
import random
import signal

import pytest

from tests.model_server import ask, call, say


def session_files(paicli):
    found = (paicli.home / ".paicli" / "sessions").rglob("*.jsonl")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def messages_on_disk(path):
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("type") == "message":
            found.append(record["message"])
    return found


def test_continue_sends_the_old_conversation_first(paicli, model_server):
    server = model_server(ask(call("list_dir", path=".")), say("seen"), say("again seen"))
    paicli.write("a.txt", "A")
    first = paicli.run("-p", "look\u2028it\u0085up", "--output-format", "json", server=server)
    second = paicli.run("-c", "-p", "again", "--output-format", "json", server=server)
    assert first.result["session"] == second.result["session"]
    before, after = server.requests[1].messages_bytes, server.requests[2].messages_bytes
    assert after.startswith(before)
    roles = [message["role"] for message in server.requests[2].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "look\u2028it\u0085up" in server.requests[2].messages[1]["content"]


def test_resume_takes_an_id_or_its_beginning(paicli, model_server):
    server = model_server(say("one"), say("two"), say("three"))
    first = paicli.run("-p", "a", "--output-format", "json", server=server).result["session"]
    paicli.run("-p", "b", server=server)
    paicli.run("-r", first, "-p", "c", server=server)
    assert [m["content"] for m in server.requests[2].messages[1:]] == ["a", "one", "c"]


@pytest.mark.parametrize("arguments", [("-c", "-p", "x"), ("-r", "nope", "-p", "x")])
def test_a_session_that_is_not_there_is_one_clear_line(paicli, model_server, arguments):
    ended = paicli.run(*arguments, server=model_server())
    assert ended.code == 2
    assert ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1


def test_two_programs_in_one_project_do_not_mix(paicli, model_server):
    server = model_server(say("one"), say("two"))
    paicli.run("-p", "a", server=server)
    paicli.run("-p", "b", server=server)
    assert [[m["content"] for m in messages_on_disk(p)[1:]] for p in session_files(paicli)] == [
        ["a", "one"],
        ["b", "two"],
    ]


def test_a_session_file_is_private_and_holds_no_key(paicli, model_server):
    paicli.run("-p", "a", server=model_server(say("one")))
    (path,) = session_files(paicli)
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"0123456789abcdef" not in path.read_bytes()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_any_moment_nothing_that_was_on_disk_is_lost(paicli, model_server, seed):
    chance = random.Random(seed)
    server = model_server(ask(call("list_dir", path=".")), repeat_last=True)
    for _ in range(10):
        seen = len(server.requests)
        limit = ("--max-iterations", "100000")
        arguments = ["-p", "go on", *limit] + (["-c"] if session_files(paicli) else [])
        environ = {"PAICLI_REACT_STAGNATION_WINDOW": "100"}
        process = paicli.start(*arguments, server=server, env=environ)
        server.wait_for_requests(seen + chance.randrange(1, 12))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = messages_on_disk(session_files(paicli)[-1])
        assert server.complaints == []
        answers = model_server(say("fine"))
        assert paicli.run("-c", "-p", "and now?", server=answers).code == 0
        assert answers.complaints == []
        sent = answers.requests[0].messages
        assert [m for m in kept if m in sent] == kept
    assert len(session_files(paicli)) == 1
