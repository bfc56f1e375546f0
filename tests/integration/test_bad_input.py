"""Nonsense wherever it can come in: one clear line, never a traceback, nothing half done."""

import os

import pytest

from tests.integration.program import KEY
from tests.model_server import Call, ModelServer, ask, http, reply_pieces, say, stream

ARGUMENTS = [
    ["--no-such-flag"],
    ["-p", "a", "b"],
    ["-p", "x", "--mode", "wild"],
    ["-p", "x", "--output-format", "xml"],
    ["--output-format", "json", "x"],
    ["-p", "x", "--model"],
    ["-p", "x", "--model", "no-such-provider/x"],
    ["-p", "x", "-C", "/no/such/folder"],
    ["-p", "x", "-C", "/etc/passwd"],
    ["-p", "x", "-C", "a\udcffb"],
    ["-p", "x", "--max-iterations", "0"],
    ["-p", "x", "--max-iterations", "many"],
    ["-p", "x", "--token-budget", "-5"],
    ["-p", "x", "-r", "../../etc/passwd"],
    ["-p", "x", "-r", "no-such-session"],
    ["-p", "x", "-c"],
    ["-p", "x", "-c", "-r", "y"],
    ["-p", ""],
    ["-p"],
    ["-p", "   "],
]


@pytest.mark.parametrize(
    "arguments", ARGUMENTS, ids=lambda a: " ".join(a).encode("ascii", "replace").decode()
)
def test_arguments(paicli, arguments):
    with ModelServer([say("hi")]) as server:
        ended = paicli.run(*arguments, server=server)
    assert ended.code == 2
    assert ended.out == ""
    assert 1 <= len(ended.err.strip().splitlines()) <= 2
    assert server.requests == []


@pytest.mark.parametrize(
    "arguments", [["fix", "the", "bug"], ["--demo", "修复", "它"], ["-p", "fix", "it"]]
)
def test_words_without_quotes_are_told_apart_from_options(paicli, arguments):
    assert "put it in quotes" in paicli.run(*arguments).err
    assert "there is no option --wat -z" in paicli.run(*arguments, "--wat", "-z").err


def test_help_and_version_need_nothing(paicli):
    for flag in ("--help", "-h", "--version"):
        ended = paicli.run(flag, env={"PAICLI_HOME": "/no/such"})
        assert ended.code == 0
        assert "paicli" in ended.out
        assert ended.err == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PAICLI_LLM_READ_TIMEOUT_SECONDS", "soon"),
        ("PAICLI_LLM_RETRY_MAX_ATTEMPTS", "1e3"),
        ("PAICLI_PROVIDER", "nobody"),
        ("PAICLI_LOG_LEVEL", "loud"),
        ("PAICLI_COMMAND_TIMEOUT_SECONDS", "-1"),
        ("PAICLI_LANG", "xx"),
    ],
)
def test_a_bad_value_is_named_with_its_place(paicli, name, value):
    with ModelServer([say("hi")]) as server:
        in_environment = paicli.run("-p", "x", server=server, env={name: value})
        (paicli.home / ".env").write_text(f"# mine\n{name}={value}\n")
        in_file = paicli.run("-p", "x", server=server)
    for ended in (in_environment, in_file):
        assert ended.code == 2
        assert name in ended.err
        assert value in ended.err
    assert str(paicli.home / ".env") in in_file.err
    assert "2" in in_file.err


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00broken",
        b"= no name\nexport\n'unclosed\n",
        b"DEEPSEEK_MODEL=deepseek-chat\n" * 50_000,
        b"\0" * 100,
        b"A" * 3_000_000,
    ],
    ids=["not-utf8", "no-pairs", "large", "zeros", "too-large"],
)
def test_env_files_of_any_content(paicli, content):
    (paicli.project / ".env").write_bytes(content)
    (paicli.home / ".env").write_bytes(content)
    with ModelServer([say("hi")]) as server:
        ended = paicli.run("-p", "x", server=server)
    assert (ended.code, ended.out) == (0, "hi\n"), ended.err


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000, b'{"providers": 3, "defaultProvider": []}',
     b'{"providers": {"deepseek": {"models": [1], "apiKey": {}, "model": 5}}}'],
)  # fmt: skip
def test_config_json_of_any_content(paicli, content):
    (paicli.home / ".paicli").mkdir()
    (paicli.home / ".paicli" / "config.json").write_bytes(content)
    with ModelServer([say("hi")]) as server:
        ended = paicli.run("-p", "x", server=server)
    assert (ended.code, ended.out) == (0, "hi\n"), ended.err


def test_settings_that_are_no_files(paicli):
    (paicli.project / ".env").mkdir()
    os.mkfifo(paicli.home / ".env")
    (paicli.home / ".paicli" / "config.json").mkdir(parents=True)
    with ModelServer([say("hi")]) as server:
        ended = paicli.run("-p", "x", server=server)
    assert (ended.code, ended.out) == (0, "hi\n"), ended.err


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null/x"])
def test_a_home_that_cannot_be_written(paicli, home):
    with ModelServer([say("hi")]) as server:
        ended = paicli.run("-p", "x", server=server, env={"PAICLI_HOME": home})
    assert ended.code in (0, 1, 2)
    assert ended.err.strip()
    if ended.code == 0:
        assert ended.out == "hi\n"


def test_a_key_that_is_none(paicli):
    with ModelServer([say("hi")]) as server:
        for key in ("two\nlines", "k\u00e9y-with-accents", "\x1b[31mred-key"):
            ended = paicli.run("-p", "x", server=server, env={"DEEPSEEK_API_KEY": key})
            assert ended.code in (0, 2), ended.err
            assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    "url", ["", "not a url", "ftp://x", "http://", "http://[::1", "file:///etc/passwd"]
)
def test_a_base_url_that_is_none(paicli, url):
    env = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": url, "PAICLI_LLM_RETRY_MAX_ATTEMPTS": "1"}
    if not url:
        pytest.skip("an empty value means the provider's own address")
    ended = paicli.run("-p", "x", env=env)
    assert ended.code in (1, 2, 75)
    assert url[:5] in ended.err


def odd_calls():
    return [
        Call("read_file", '{"path": '),
        Call("read_file", "[]"),
        Call("read_file", '"a.py"'),
        Call("read_file", "null"),
        Call("read_file", "{}"),
        Call("read_file", '{"path": 3}'),
        Call("read_file", '{"path": null}'),
        Call("read_file", '{"path": "a.py", "offset": "x"}'),
        Call("read_file", '{"path": "a.py", "surprise": 1}'),
        Call("read_file", '{"path": "' + "a/" * 5000 + '"}'),
        Call("read_file", '{"path": "\\u0000"}'),
        Call("read_file", '{"path": "\\ud800"}'),
        Call("write_file", '{"path": "", "content": "x"}'),
        Call("edit_file", '{"path": "a.py", "old_text": "", "new_text": "x"}'),
        Call("execute_command", '{"command": ""}'),
        Call("execute_command", '{"command": "\\u0000"}'),
        Call("grep_code", '{"pattern": "(", "regex": true}'),
        Call("glob_files", '{"pattern": {}}'),
        Call("list_dir", '{"path": ["."]}'),
        Call("no_such_tool", "{}"),
        Call("rm -rf", "{}"),
        Call("read_file", "[" * 20_000),
    ]


def test_tool_arguments(paicli):
    paicli.write("a.py", "x = 1\n")
    calls = odd_calls()
    turns = [ask(*calls, size=2000), say("I give up.")]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "x", "--output-format", "stream-json", server=server)
    assert server.complaints == []
    assert ended.result["text"] == "I give up."
    results = [line for line in ended.lines if line["type"] == "tool_result"]
    assert len(results) == len(calls)
    assert [r["content"][:60] for r in results if r["ok"]] == []
    assert all(len(r["content"]) < 2000 for r in results)
    assert (paicli.project / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    "turn",
    [
        http(200, b""),
        http(200, b"{}"),
        http(200, {"choices": []}),
        http(200, b"\xff\xfe\xfd" * 1000),
        stream(b"data: {\n\n"),
        stream(b"data: []\n\ndata: 3\n\ndata: null\n\ndata: [DONE]\n\n"),
        stream(b"data: [DONE]\n\n"),
        stream(*reply_pieces("")),
        stream(b'data: {"error": {"message": "the \x1b[2J model is gone", "code": 500}}\n\n'),
        stream(b'data: {"choices": [{"delta": {"content": 5}}]}\n\ndata: [DONE]\n\n'),
        http(404, "no such model"),
        http(418, b"\xff" * 100_000),
        http(302, b"", Location="http://127.0.0.1:1/"),
    ],
)
def test_replies_that_are_none(paicli, turn):
    with ModelServer([turn], repeat_last=True) as server:
        ended = paicli.run("-p", "x", server=server)
    assert ended.code in (1, 75)
    assert ended.err.strip()
    assert len(ended.err) < 3000
    assert "\x1b" not in ended.err
