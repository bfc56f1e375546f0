"""`paicli -p /command`: what is printed, in every format, with which exit code."""

import json
import re

import pytest

from tests.integration.program import KEY, Program
from tests.model_server import ModelServer, ask, call, say


@pytest.fixture
def paicli(tmp_path):
    program = Program(tmp_path)
    yield program
    program.clear_away()


def test_help_needs_neither_a_model_nor_stdin(paicli):
    ended = paicli.run("-p", "/help", env={"DEEPSEEK_API_KEY": ""})
    assert ended.code == 0, ended.err
    assert "/compact [TEXT]" in ended.out
    assert "\x1b" not in ended.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/modle", "Did you mean /mode, /model?"),
        ("/key", ".paicli/.env"),
        ("/clear", "new conversation"),
        ("/exit", "by itself"),
        ("/resume", "-r ID"),
        ("/mode ask", "--mode"),
        ("/compact", "No model is configured"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_2(paicli, text, said):
    ended = paicli.run("-p", text)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_path_is_a_message(paicli):
    with ModelServer([say("a file")]) as server:
        ended = paicli.run("-p", "/etc/hosts is what?", server=server)
    assert (ended.code, ended.out) == (0, "a file\n"), ended.err


def test_usage_of_a_session_counts_its_earlier_runs(paicli):
    with ModelServer([say("one"), say("two")]) as server:
        first = paicli.run("-p", "hello", "--output-format", "json", server=server).result
        assert first["cost"]["currency"] == "¥"
        assert first["cost"]["amount"] > 0
        paicli.run("-c", "-p", "again", server=server)
        ended = paicli.run("-c", "-p", "/usage", server=server)
        assert "¥" in ended.out, ended.err
        whole = paicli.run("-c", "-p", "/usage", "--output-format", "json", server=server).result
        assert whole["text"] + "\n" == ended.out
        assert (whole["type"], whole["status"], whole["cost"]) == ("result", "done", None)
        assert len(server.requests) == 2


def test_sessions_context_and_export_after_a_run(paicli):
    with ModelServer([say("one")]) as server:
        paicli.run("-p", "hello you", server=server)
        assert "hello you" in paicli.run("-p", "/sessions", server=server).out
        assert "System prompt" in paicli.run("-c", "-p", "/context", server=server).out
        file = paicli.project / "out.md"
        ended = paicli.run("-c", "-p", f"/export {file}", server=server)
        assert "hello you" in file.read_text(), ended.err
        again = paicli.run("-c", "-p", f"/export {file}", server=server)
        assert (again.code, again.out) == (1, "")
        assert "out.md" in again.err
        assert "deepseek/deepseek-flash" in paicli.run("-p", "/model list", server=server).out
        listed = paicli.run("-p", "/model list", "--output-format", "stream-json", server=server)
        assert [line["type"] for line in listed.lines] == ["session", "result"]
        assert paicli.run("-p", "/model nonsense/x", server=server).code == 1


def test_compact_says_what_it_did(paicli):
    summary = "\n".join(
        f"## {title}\nwords"
        for title in (
            "Goal and success criteria",
            "User requirements and decisions",
            "Work done and evidence",
            "Open problems and next step",
        )
    )
    turns = [say("one " * 4000), say("two " * 4000), say(summary)]
    with ModelServer(turns, repeat_last=True) as server:
        small = {"PAICLI_CONTEXT_WINDOW": "24000"}
        paicli.run("-p", "hello", server=server, env=small)
        paicli.run("-c", "-p", "more", server=server, env=small)
        ended = paicli.run("-c", "-p", "/compact", server=server, env=small)
    assert ended.code == 0, ended.err
    assert "compacted" in ended.out


def test_settings_are_shown_with_their_origin_and_keys_are_not(paicli):
    env = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": "http://me:secret@127.0.0.1:9/v1"}
    ended = paicli.run("-p", "/config", env=env)
    assert ended.code == 0, ended.err
    assert "secret@" not in ended.out
    assert "the environment" in ended.out
    assert paicli.run("-p", "/config notify loud", env=env).code == 1
    ended = paicli.run("-p", "/config notify bell", env=env)
    assert ended.code == 0, ended.err
    saved = json.loads((paicli.home / ".paicli" / "config.json").read_text())
    assert saved == {"PAICLI_NOTIFY": "bell"}
    assert "config.json" in paicli.run("-p", "/config PAICLI_NOTIFY", env=env).out
    assert "wins" in paicli.run("-p", "/config DEEPSEEK_BASE_URL http://x/v1", env=env).out
    assert paicli.run("-p", f"/config DEEPSEEK_API_KEY {KEY}x", env=env).code == 1
    assert paicli.run("-p", "/config nonsense", env=env).code == 1
    paicli.run("-p", "/config PAICLI_PROVIDER glm", env=env)
    paicli.run("-p", "/config notify --unset", env=env)
    saved = json.loads((paicli.home / ".paicli" / "config.json").read_text())
    assert saved["defaultProvider"] == "glm"
    assert "PAICLI_NOTIFY" not in saved


def test_theme_is_kept(paicli):
    assert "light" in paicli.run("-p", "/theme light").out
    assert "light" in paicli.run("-p", "/theme").out
    assert paicli.run("-p", "/theme pink").code == 1


def test_the_context_is_counted_even_before_a_new_request(paicli):
    with ModelServer([say("word " * 5_000)]) as server:
        before = paicli.run("-p", "/status", server=server).out
        paicli.run("-p", "hello", server=server)
        after = paicli.run("-c", "-p", "/status", server=server).out
    used = [re.search(r"Context +(\S+) / ", out)[1] for out in (before, after)]
    assert used[0] == "0"
    assert used[1].endswith("k")


def test_decisions_are_told_in_the_persons_words(paicli):
    calls = ask(
        call("write_file", content="x", path="../out"),
        call("execute_command", command="touch made"),
        call("write_file", content="y" * 2000, path="in.txt"),
        call("execute_command", command="echo " + "z" * 2000),
    )
    with ModelServer([calls, say("done")]) as server:
        paicli.run("-p", "go", server=server)
    lines = paicli.run("-p", "/audit", env={"PAICLI_LANG": "zh"}).out.splitlines()
    rows = [re.sub(r"^\d\d:\d\d:\d\d +", "", line) for line in lines if line[:2].isdecimal()]
    assert [row.split()[:4] for row in rows] == [
        ["拒绝", "安全规则", "写入", "../out"],
        ["允许", "模型审查", "运行", "touch"],
        ["允许", "–", "写入", '{"content":'],
        ["允许", "只读", "运行", "echo"],
    ]
    assert "../out is outside the project folder" in "\n".join(lines)
