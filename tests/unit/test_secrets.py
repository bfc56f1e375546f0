"""Secrets are found by name and by form, and leave no trace."""

import pytest

from paicli import secrets
from paicli.display import Note, Table


@pytest.mark.parametrize(
    "name",
    ["DEEPSEEK_API_KEY", "github_token", "MY_SECRET", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY_FILE",
     "AUTHORIZATION", "OAUTH_CLIENT_SECRET_ID", "X_REFRESH_TOKEN"],
)  # fmt: skip
def test_secret_names(name):
    assert secrets.is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "TOKENIZERS_PARALLELISM", "KEYBOARD", "SSH_AUTH_SOCK"]
)
def test_ordinary_names(name):
    assert not secrets.is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer ***"),
        ("api_key=supersecret&x=1", "api_key=***&x=1"),
        ('{"password": "hunter22"}', '{"password": "***"}'),
        ("key sk-abcdefghijkl is wrong", "key *** is wrong"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, expected):
    assert secrets.redact(text) == expected


def test_a_remembered_secret_is_masked_wherever_it_stands(monkeypatch):
    monkeypatch.setattr(secrets, "_known", set())
    secrets.remember(" plain-looking-value ")
    secrets.remember("ab")  # too short to be one: it would mask half of every text
    assert secrets.redact("x plain-looking-value y ab") == "x *** y ab"


def test_what_is_shown_has_no_key_in_it_and_all_else_as_it_is(monkeypatch):
    monkeypatch.setattr(secrets, "_known", set())
    code = "token = 'abcdefghijklmnop'  # sk-abcdefghijkl"
    assert secrets.masked(Note(code)) == Note(code)
    secrets.remember("key-0123456789-abc")
    secrets.remember("ollama")
    shown = Table(("a", "key-0123456789-abc"), (("ollama", "x key-0123456789-abc y"),))
    assert secrets.masked(shown) == Table(("a", "***"), (("ollama", "x *** y"),))
    assert secrets.masked(Note(code)) == Note(code)
    assert secrets.masked(None) is None
