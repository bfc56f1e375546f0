"""The main job through the real program: a task in, a changed file and an answer out."""

import json
import os
import subprocess

import pytest

from tests.integration.program import KEY
from tests.model_server import (
    ModelServer,
    ask,
    call,
    close_connection,
    hang,
    http,
    refuse_connection,
    say,
)


def the_story():
    return [
        ask(call("read_file", path="a.py"), text="I read it first."),
        ask(call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")),
        say("x is 2 now."),
    ]


def test_it_edits_a_file_and_prints_the_answer_alone(paicli):
    file = paicli.write("a.py", "x = 1\n")
    with ModelServer(the_story()) as server:
        ended = paicli.run("-p", "set x to 2", server=server)
    assert file.read_text() == "x = 2\n"
    assert ended.out == "x is 2 now.\n"
    assert "I read it first." in ended.err
    assert ended.code == 0
    assert (server.complaints, server.unexpected) == ([], [])
    first, second, third = server.requests
    assert first.messages[-1]["content"].startswith("set x to 2")
    assert 'trust="untrusted-data"' in second.messages[-1]["content"]
    assert "x = 1" in second.messages[-1]["content"]
    assert third.messages_bytes.startswith(second.messages_bytes)
    assert first.headers["authorization"] == f"Bearer {KEY}"


def test_the_same_as_json(paicli):
    file = paicli.write("a.py", "x = 1\n")
    with ModelServer(the_story()) as server:
        ended = paicli.run("-p", "set x to 2", "--output-format", "json", server=server)
    assert file.read_text() == "x = 2\n"
    result = json.loads(ended.out)
    assert result | {"seconds": 0, "session": ""} == {
        "type": "result",
        "status": "done",
        "text": "x is 2 now.",
        "steps": 3,
        "refused": 0,
        "usage": {"input": 300, "output": 30, "cached": 0},
        "seconds": 0,
        "session": "",
        "error": None,
        "changed_files": [{"path": "a.py", "added": 1, "removed": 1}],
        "cost": {"amount": 0.00084, "currency": "¥"},
    }
    assert result["session"]
    assert ended.code == 0


def test_the_same_as_a_stream_of_json(paicli):
    paicli.write("a.py", "x = 1\n")
    with ModelServer(the_story()) as server:
        ended = paicli.run("-p", "set x to 2", "--output-format", "stream-json", server=server)
    types = [line["type"] for line in ended.lines]
    assert types[0] == "session"
    assert types[-1] == "result"
    assert set(types) <= {
        "session",
        "text",
        "tool_call",
        "tool_result",
        "usage",
        "notice",
        "result",
    }
    calls = [line for line in ended.lines if line["type"] == "tool_call"]
    results = [line for line in ended.lines if line["type"] == "tool_result"]
    assert [c["name"] for c in calls] == ["read_file", "edit_file"]
    assert calls[0]["arguments"] == {"path": "a.py"}
    assert [(r["id"], r["ok"]) for r in results] == [(c["id"], True) for c in calls]
    said = "".join(line["delta"] for line in ended.lines if line["type"] == "text")
    assert said == "I read it first.x is 2 now."
    assert ended.result["text"] == "x is 2 now."


def test_a_piped_text_is_read_with_the_prompt(paicli):
    with ModelServer([say("ok"), say("ok")]) as server:
        assert paicli.run("-p", "explain", server=server, piped=b"line \xff one\n").code == 0
        assert paicli.run("-p", server=server, piped="做点什么\n".encode()).code == 0
    asked = server.requests[0].messages[-1]["content"]
    assert asked.startswith("explain")
    assert "line" in asked
    assert "做点什么" in server.requests[1].messages[-1]["content"]


def test_an_open_silent_pipe_does_not_hang_it(paicli):
    reading, writing = os.pipe()
    with ModelServer([say("done")]) as server:
        process = paicli.start("-p", "go", server=server, stdin=reading)
        os.close(reading)
        ended = paicli.finish(process, timeout=15)
    os.close(writing)
    assert (ended.code, ended.out) == (0, "done\n")
    assert "standard input" in ended.err


def test_the_conversation_goes_on(paicli):
    with ModelServer([say("I am one."), say("I am two.")]) as server:
        paicli.run("-p", "who?", server=server)
        assert paicli.run("-p", "-c", "and now?", server=server).out == "I am two.\n"
    contents = [message["content"] for message in server.requests[1].messages[1:]]
    assert contents[:2] == ["who?", "I am one."]
    assert server.requests[1].messages_bytes.startswith(server.requests[0].messages_bytes)


def test_without_a_key_it_names_the_variables(paicli):
    ended = paicli.run("-p", "hello")
    assert ended.code == 2
    assert ended.out == ""
    assert "DEEPSEEK_API_KEY" in ended.err
    assert "LOCAL_BASE_URL" in ended.err
    assert len(ended.err.strip().splitlines()) <= 3


def test_a_wrong_key_gets_the_provider_s_own_words(paicli):
    refusal = {"error": {"message": f"Authentication Fails, your api key: {KEY} is invalid"}}
    with ModelServer([http(401, refusal)]) as server:
        ended = paicli.run("-p", "hello", server=server)
    assert ended.code in (1, 2)
    assert "Authentication Fails" in ended.err
    assert len(server.requests) == 1


def test_a_page_instead_of_an_endpoint_is_recognised(paicli):
    page = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>hi</body></html>"
    with ModelServer([http(200, page, Content_Type="text/html")]) as server:
        ended = paicli.run("-p", "hello", server=server)
        assert ended.code in (1, 2)
        assert server.url in ended.err
        assert "<html" not in ended.err


@pytest.mark.parametrize("turn", [refuse_connection(), close_connection(), http(503, "busy")])
def test_a_server_that_fails_for_now_ends_with_75(paicli, turn):
    with ModelServer([turn], repeat_last=True) as server:
        ended = paicli.run("-p", "hello", server=server)
    assert ended.code == 75
    assert ended.out == ""
    assert ended.err.strip()


def test_nobody_listening_ends_with_75(paicli):
    server = ModelServer()
    server.stop()
    ended = paicli.run("-p", "hello", server=server)
    assert ended.code == 75
    assert str(server.port) in ended.err


def test_a_silent_server_ends_in_bounded_time(paicli):
    with ModelServer([hang(answers=False)], repeat_last=True) as server:
        patience = {"PAICLI_LLM_READ_TIMEOUT_SECONDS": "0.3", "PAICLI_LLM_RETRY_MAX_ATTEMPTS": "2"}
        assert paicli.run("-p", "hello", server=server, env=patience).code == 75
    assert len(server.requests) == 2


def test_a_limit_ends_with_3(paicli):
    paicli.write("a.py", "x = 1\n")
    turns = [ask(call("read_file", path="a.py"))] * 2 + [say("I got this far.")]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "go", "--max-iterations", "2", server=server)
    assert ended.code == 3
    assert "I got this far." in ended.out
    assert "tools" not in server.requests[2].json


def test_going_in_circles_ends_with_3(paicli):
    paicli.write("a.py", "x = 1\n")
    circles = [ask(call("read_file", path="a.py")) for _ in range(5)]
    with ModelServer([*circles, say("I went in circles.")]) as server:
        assert paicli.run("-p", "go", server=server).code == 3


def test_a_refusal_ends_with_4(paicli):
    turns = [ask(call("execute_command", command="sudo true")), say("I could not.")]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "go", "--output-format", "json", server=server)
    assert ended.code == 4
    assert ended.result["status"] == "refused"
    assert ended.result["refused"] == 1


def test_nothing_changes_where_nobody_can_say_yes(paicli):
    file = paicli.write("a.py", "x = 1\n")
    turns = [
        ask(
            call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2"),
            call("write_file", path="b.py", content="y"),
            call("create_project", name="c", type="python"),
            call("execute_command", command="touch d"),
        ),
        say("Nothing could be done."),
    ]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "go", "--mode", "ask", server=server)
    assert ended.code == 4
    assert file.read_text() == "x = 1\n"
    assert [path.name for path in paicli.project.iterdir()] == ["a.py"]
    answers = [m["content"] for m in server.requests[1].messages if m["role"] == "tool"]
    assert len(answers) == 4


def test_a_command_runs_after_its_review_and_sees_no_key(paicli):
    command = "echo made > made.txt; env"
    turns = [ask(call("execute_command", command=command)), say("ok")]
    with ModelServer(turns) as server:
        assert paicli.run("-p", "make it", server=server).code == 0
    assert (paicli.project / "made.txt").read_text() == "made\n"
    assert len(server.review_requests) == 1
    assert "make it" in server.review_requests[0].messages[-1]["content"]
    seen = server.requests[1].messages[-1]["content"]
    assert "HOME=" in seen
    assert KEY not in seen


def test_a_command_that_the_review_holds_back_does_not_run(paicli):
    turns = [ask(call("execute_command", command="touch made.txt")), say("held back")]
    with ModelServer(turns, reviews="ask") as server:
        assert paicli.run("-p", "go", server=server).code == 4
    assert not (paicli.project / "made.txt").exists()


def test_paths_outside_the_project_are_refused(paicli):
    outside = paicli.home / "notes.txt"
    outside.write_text("private words")
    turns = [
        ask(
            call("read_file", path="../home/notes.txt"),
            call("write_file", path=str(outside), content="gone"),
        ),
        say("no"),
    ]
    with ModelServer(turns) as server:
        assert paicli.run("-p", "go", server=server).code == 4
    assert outside.read_text() == "private words"
    assert "private words" not in server.requests[1].body.decode()


def test_output_into_a_closed_pipe_ends_quietly(paicli):
    with ModelServer([say("word " * 50_000, size=1000)]) as server:
        process = paicli.start("-p", "talk", server=server)
        process.stdout.close()
        with process.stderr:
            err = process.stderr.read().decode()
        process.wait(20)
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_the_demo_does_the_readme_s_tasks_without_a_key(paicli):
    subprocess.run(["cp", "-r", str(demo_folder()), str(paicli.project)], check=True)
    ended = paicli.run("-p", "--demo", "把 Hello.java 打印的内容改成 Hello PaiCLI")
    java = paicli.project / "demo/src/main/java/com/example/Hello.java"
    assert 'println("Hello PaiCLI")' in java.read_text()
    assert ended.code == 0
    assert "脚本" in ended.out
    ended = paicli.run("-p", "--demo", "Compile and run Hello", timeout=60)
    assert ended.code == 0, ended.err
    assert "Hello" in ended.out
    assert "xit code 0" in ended.out
    ended = paicli.run("-p", "--demo", "what is the weather?")
    assert "DEEPSEEK_API_KEY" in ended.out


def demo_folder():
    from tests.integration.program import ROOT

    return ROOT / "demo"


def test_of_a_flood_of_calls_the_first_ones_run_and_the_model_hears_of_the_rest(paicli):
    flood = [call("write_file", path=f"f{n}", content="x") for n in range(300)]
    with ModelServer([ask(*flood), say("done")]) as server:
        ended = paicli.run("-p", "many", server=server)
    assert (ended.code, server.complaints) == (0, [])
    assert len(list(paicli.project.glob("f*"))) == 128
    results = server.requests[1].messages[-129:]
    assert [result["role"] for result in results] == ["tool"] * 129
    assert "This call and all calls after it" in results[-1]["content"]
    assert "not run" not in results[-2]["content"]


def test_a_key_in_calls_and_results_is_masked_where_it_is_told_and_whole_where_it_works(paicli):
    paicli.write("a.env", f"KEY={KEY}\n")
    turns = [
        ask(call("read_file", path="a.env")),
        ask(call("edit_file", path="a.env", old_text=f"KEY={KEY}", new_text=f"KEY2={KEY}")),
        say("done"),
    ]
    with ModelServer(turns) as server:  # `paicli.run` looks for the key in all that is printed
        ended = paicli.run("-p", "rename it", "--output-format", "stream-json", server=server)
    assert "KEY2=***" in ended.out
    assert (paicli.project / "a.env").read_text() == f"KEY2={KEY}\n"
    assert KEY in server.requests[1].messages[-1]["content"]


def test_a_locale_that_has_no_letters_for_a_command_is_told(paicli):
    ascii_only = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    turns = [
        ask(call("execute_command", command="echo 中文"), call("grep_code", pattern="中文")),
        say("done 中"),
    ]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "go", server=server, env=ascii_only)
    assert (ended.code, ended.out) == (0, "done \\u4e2d\n")
    for result in server.requests[1].messages[-2:]:
        assert "ascii, which the person's locale wants" in result["content"]
