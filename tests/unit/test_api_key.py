"""Keeping a key: one variable of a file, the rest as it was, nobody else may read it."""

import stat

import pytest

from paicli.ui import api_key
from paicli.ui.asking import Asking


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


def test_a_variable_is_added_and_replaced(tmp_path):
    file = tmp_path / "home" / ".env"
    api_key.keep_variable(file, "A_API_KEY", "one")
    file.write_bytes(b"# mine \xff\nB=2\nexport A_API_KEY = old\nC=3")
    api_key.keep_variable(file, "A_API_KEY", "two")
    assert file.read_bytes() == b"# mine \xff\nB=2\nC=3\nA_API_KEY=two\n"
    assert mode(file) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == [".env"]


def answers(monkeypatch, *typed):
    waiting = list(typed)

    def next_answer(_asking, _question, **_how):
        answer = waiting.pop(0)
        if isinstance(answer, type):
            raise answer
        return answer

    monkeypatch.setattr(Asking, "line", next_answer)


def test_a_key_is_saved(tmp_path, monkeypatch, capsys):
    answers(monkeypatch, "nonsense\x1b[2J", "glm", "with blanks", "key-123456")
    assert api_key.ask_for_key(tmp_path, Asking()) == "glm"
    assert (tmp_path / ".env").read_text() == "GLM_API_KEY=key-123456\n"
    said = capsys.readouterr().out
    assert "key-123456" not in said
    assert "\x1b" not in said


def test_no_key_means_the_demo(tmp_path, monkeypatch):
    for typed in (("", ""), (EOFError,), ("", KeyboardInterrupt)):
        answers(monkeypatch, *typed)
        assert not api_key.ask_for_key(tmp_path, Asking())
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("typed", [(EOFError,), (KeyboardInterrupt,), ("glm", KeyboardInterrupt)])
def test_the_first_question_can_be_left(tmp_path, monkeypatch, typed):
    answers(monkeypatch, *typed)
    with pytest.raises(KeyboardInterrupt):
        api_key.ask_for_first_key(tmp_path)
    answers(monkeypatch, "")
    assert api_key.ask_for_first_key(tmp_path) == ""


def test_a_folder_that_cannot_be_written_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    answers(monkeypatch, "", "key-123456")
    assert not api_key.ask_for_key(tmp_path / "file", Asking())
    assert "could not be written" in capsys.readouterr().out
