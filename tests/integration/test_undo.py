"""Taking file changes back with the real program."""

from tests.integration.test_sessions import messages_on_disk, session_files
from tests.model_server import ask, call, say


def test_what_a_task_did_is_told_taken_back_and_brought_again(paicli, model_server):
    server = model_server(
        ask(call("write_file", path="a.txt", content="one\ntwo\n")),
        ask(
            call("execute_command", command="mkdir -p sub && mv b.txt sub/ && chmod 600 sub/b.txt")
        ),
        say('{"decision":"allow","reason":"fine"}'),
        say("done"),
        say("I see"),
    )
    paicli.write("b.txt", "b\n")
    paicli.write("a.txt", "one\n")
    ended = paicli.run("-p", "go", "--output-format", "json", server=server)
    assert ended.code == 0, ended.err
    changed = {one["path"]: (one["added"], one["removed"]) for one in ended.result["changed_files"]}
    assert changed == {"a.txt": (1, 0), "b.txt": (0, 1), "sub/b.txt": (1, 0)}

    assert "+two" in paicli.run("-c", "-p", "/diff").out

    undone = paicli.run("-c", "-p", "/undo")
    assert undone.code == 0
    assert "a.txt" in undone.out
    assert "+0 −1" in undone.out
    assert (paicli.project / "a.txt").read_text() == "one\n"
    assert (paicli.project / "b.txt").read_text() == "b\n"
    (path,) = session_files(paicli)
    last = messages_on_disk(path)[-1]
    assert last["role"] == "user"
    assert last["content"].startswith("[PaiCLI] The user took back")

    again = paicli.run("-p", "/redo", "--output-format", "json")
    assert {one["path"] for one in again.result["changed_files"]} >= {"a.txt"}
    assert (paicli.project / "a.txt").read_text() == "one\ntwo\n"
    assert "go" in paicli.run("-p", "/restore").out
    assert "+two" in paicli.run("-p", "/diff 3").out
    assert "node_modules/" in paicli.run("-p", "/snapshot status").out

    paicli.write("a.txt", "mine\n")
    partly = paicli.run("-p", "/undo")
    assert partly.code == 3
    assert "a.txt" in partly.out
    assert (paicli.project / "a.txt").read_text() == "mine\n"
    paicli.run("-c", "-p", "go on", server=server)
    assert "took back" in server.requests[-1].messages[-2]["content"]


def test_a_task_that_only_reads_keeps_nothing(paicli, model_server):
    server = model_server(ask(call("list_dir", path=".")), say("empty"))
    ended = paicli.run("-p", "look", "--output-format", "json", server=server)
    assert ended.result["changed_files"] == []
    assert not (paicli.home / ".paicli" / "snapshots").exists()
    nothing = paicli.run("-p", "/undo")
    assert nothing.code == 1
    assert "nothing to take back" in nothing.err


def test_the_tool_needs_a_person(paicli, model_server):
    server = model_server(
        ask(call("write_file", path="a.txt", content="1")), ask(call("revert_turn")), say("no")
    )
    ended = paicli.run("-p", "go", server=server)
    assert ended.code == 4
    assert (paicli.project / "a.txt").read_text() == "1"


def test_switched_off_says_so(paicli, model_server):
    server = model_server(ask(call("write_file", path="a.txt", content="1")), say("done"))
    off = {"PAICLI_SNAPSHOT_ENABLED": "off"}
    paicli.run("-p", "go", server=server, env=off)
    assert not (paicli.home / ".paicli" / "snapshots").exists()
    assert "PAICLI_SNAPSHOT_ENABLED" in paicli.run("-p", "/undo", env=off).err
