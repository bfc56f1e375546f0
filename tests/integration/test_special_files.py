"""Pipes, devices and files without end where ordinary files belong: nothing waits for them, nothing is lost."""

import os
import resource
import shutil

import pytest

from paicli.extensions.project_notes import ProjectNotes
from paicli.llm.messages import Message
from paicli.policy.path_guard import PathGuard
from paicli.session import ledger
from paicli.session.store import SessionStore
from paicli.tools import engines
from paicli.ui.history import ProjectHistory
from tests.integration.file_cases import Tools
from tests.model_server import ModelServer, ask, call, say

needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
needs_zero = pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")

OF_THE_PROJECT = [
    ".env",
    ".gitignore",
    ".rgignore",
    ".ignore",
    ".git",
    ".git/HEAD",
    ".git/info/exclude",
    "PAI.md",
    "AGENTS.md",
    ".paicli",
    ".paicli/PAI.md",
]
OF_THE_PERSON = [
    ".env",
    ".paicli/.env",
    ".paicli/PAI.md",
    ".paicli/audit",
    ".paicli/config.json",
    ".paicli/logs",
    ".paicli/permissions.json",
    ".paicli/sessions",
    ".paicli/trusted.json",
]


@pytest.mark.parametrize("name", OF_THE_PROJECT + [f"~/{name}" for name in OF_THE_PERSON])
def test_nothing_waits_for_a_pipe(paicli, name):
    place = paicli.home / name[2:] if name.startswith("~/") else paicli.project / name
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)
    paicli.write("a.py", "needle\n")
    turns = [
        ask(call("grep_code", pattern="needle"), call("glob_files", pattern="*.py")),
        ask(call("execute_command", command="echo y")),
        say("done"),
    ]
    with ModelServer(turns) as server:
        ended = paicli.run("-p", "look", server=server)
    assert (ended.code, ended.out) == (0, "done\n")
    found, listed = server.requests[1].messages[-2:]
    assert "1 match in 1 file" in found["content"]
    assert "partial" not in found["content"]
    assert "a.py" in listed["content"]


@needs_rg
@needs_zero
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="memory is bounded on Linux alone")
@pytest.mark.parametrize("where", ["", "sub/"])
def test_rules_without_end_take_neither_memory_nor_matches(tmp_path, where, monkeypatch):
    monkeypatch.setattr(engines, "_MAX_MEMORY", 64_000_000)
    (tmp_path / "sub").mkdir()
    (tmp_path / f"{where}.gitignore").symlink_to("/dev/zero")
    (tmp_path / "sub" / "a.txt").write_text("needle\n")
    (tmp_path / "b.txt").write_text("needle\n")
    outcome = Tools(tmp_path).do("grep_code", pattern="needle")
    assert "2 matches in 2 files (engine: python)" in outcome.text
    assert "partial" not in outcome.text


def test_notes_that_import_each_other_many_times_are_put_together_all_the_same(tmp_path):
    for name, inner in (("PAI.md", "a.md"), ("a.md", "b.md"), ("b.md", "c.md")):
        (tmp_path / name).write_text(f"@{inner}\n" * 2000)
    (tmp_path / "c.md").write_text("hello\n")
    text = ProjectNotes(PathGuard(tmp_path), tmp_path, trusted=False).system_prompt()
    assert 0 < text.count("hello") < 100


def filled_store(tmp_path, lines):
    store = SessionStore(tmp_path / "home", tmp_path)
    session = store.create("m")
    session.conversation.append(Message("user", "before", source="user_input"))
    session.ledger.close()
    with session.ledger.path.open("ab") as file:
        file.write(lines)
    return store


def test_a_line_without_end_is_passed_over_and_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "_LONGEST_LINE", 1000)
    monkeypatch.setattr(ledger, "_PIECE", 64)
    after = (
        b'{"type":"message","source":"user_input","message":{"role":"user","content":"after"}}\n'
    )
    store = filled_store(tmp_path, b'{"x":"' + b"y" * 5000 + b'"}\n' + after)
    session = store.resume(None, "m")
    assert [message.content for message in session.conversation.messages] == ["before", "after"]
    assert session.skipped == 1
    assert [summary.messages for summary in store.summaries()] == [2]


def test_only_the_sessions_that_are_shown_are_read(tmp_path, monkeypatch):
    for _ in range(4):
        store = filled_store(tmp_path, b"")
    read = []
    real = ledger.load
    monkeypatch.setattr("paicli.session.store.load", lambda path: read.append(path) or real(path))
    assert len(store.summaries(2)) == len(read) == 2


def test_a_history_that_is_a_pipe_or_very_long_is_no_obstacle(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    history = ProjectHistory(tmp_path / "pipe")
    assert list(history.load_history_strings()) == []
    history.store_string("x")
    monkeypatch.setattr("paicli.ui.history._MOST_BYTES", 20)
    (tmp_path / "long").write_bytes(b'"first"\n' * 9 + b'"last"\n')
    long = ProjectHistory(tmp_path / "long")
    assert list(long.load_history_strings()) == ["last", "first"]
