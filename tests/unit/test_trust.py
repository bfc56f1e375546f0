"""Trust in a folder follows its content."""

import json
import os
import stat

import pytest

from paicli.policy.trust import Change, Trust


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def trust(tmp_path, root):
    return Trust(tmp_path / "home", root)


def test_a_folder_that_brings_nothing_needs_no_answer(trust, root):
    (root / "PAI.md").write_text("notes")
    (root / ".paicli" / "tool-outputs").mkdir(parents=True)
    (root / ".paicli" / "tool-outputs" / "1.txt").write_text("made by us")
    assert not trust.state().covered
    assert not trust.state().needs_answer


def test_it_is_asked_once_and_again_when_the_content_changes(trust, root, tmp_path):
    (root / ".env").write_text("A=1\nB=2\n")
    (root / ".paicli" / "prompts").mkdir(parents=True)
    (root / ".paicli" / "prompts" / "base.md").write_text("one")
    state = trust.state()
    assert state.needs_answer
    assert not state.before
    assert state.covered == (".env", ".paicli/prompts/base.md")
    assert trust.grant()
    again = Trust(tmp_path / "home", root)
    assert again.state().trusted
    (root / ".env").write_text("A=1\nB=3\nexport C=4\n")
    (root / ".paicli" / "prompts" / "base.md").unlink()
    (root / ".paicli" / "rules.json").write_text("{}")
    state = again.state()
    assert state.needs_answer
    assert state.before
    assert state.changes == (
        Change("B", "changed"),
        Change("C", "added"),
        Change(".env", "changed"),
        Change(".paicli/prompts/base.md", "removed"),
        Change(".paicli/rules.json", "added"),
    )
    assert again.revoke()
    assert not again.state().before


def test_no_value_of_a_secret_is_kept(trust, root, tmp_path):
    (root / ".env").write_text("DEEPSEEK_API_KEY=sk-very-secret\n")
    trust.grant()
    file = tmp_path / "home" / "trusted.json"
    assert "very-secret" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_another_folder_with_the_same_content_is_not_trusted(trust, root, tmp_path):
    (root / ".env").write_text("A=1\n")
    trust.grant()
    other = tmp_path / "other"
    other.mkdir()
    (other / ".env").write_text("A=1\n")
    assert Trust(tmp_path / "home", other).state().needs_answer
    link = tmp_path / "link"
    link.symlink_to(root)
    assert Trust(tmp_path / "home", link).state().trusted


def test_links_count_by_where_they_lead_and_what_is_there(trust, root, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    (there / "x").write_text("1")
    (root / ".env").symlink_to(there / "x")
    trust.grant()
    (there / "x").write_text("2")
    assert trust.state().needs_answer
    trust.grant()
    (root / ".paicli").symlink_to(there)
    assert not trust.state().trusted


def test_odd_files_neither_hang_nor_fail(trust, root):
    os.mkfifo(root / ".env")
    (root / ".paicli").mkdir()
    (root / ".paicli" / "dangling").symlink_to("nowhere")
    (root / ".paicli" / "loop").symlink_to(".")
    assert trust.state().needs_answer
    assert trust.grant()
    assert trust.state().trusted


def test_a_folder_with_too_much_is_never_trusted(trust, root):
    (root / ".paicli").mkdir()
    for number in range(1_100):
        (root / ".paicli" / str(number)).touch()
    assert trust.state().too_much
    assert not trust.state().trusted
    assert not trust.grant()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"folders": []}', json.dumps({"folders": {"x": 1}})]
)
def test_a_damaged_file_trusts_nothing(trust, root, tmp_path, text):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trusted.json").write_text(text)
    (root / ".env").write_text("A=1\n")
    assert trust.state().needs_answer
