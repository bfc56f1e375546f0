"""Which model a run talks to, and what is special about it."""

import json
import re

import pytest

from paicli import config
from paicli.config import PROVIDER_PREFIXES
from paicli.errors import ConfigError
from paicli.llm.models import (
    list_models,
    parse_addition,
    remember_choice,
    save_addition,
    save_discovered,
)
from paicli.llm.provider_table import PROVIDERS
from paicli.llm.providers import chat_url, for_review, provider_named, select


@pytest.fixture
def settings_of(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    home = tmp_path / "home"

    def load(saved=None, **environ):
        if saved is not None:
            home.mkdir(exist_ok=True)
            (home / "config.json").write_text(json.dumps(saved))
        return config.load(tmp_path, {"PAICLI_HOME": str(home)} | environ, {}).settings

    return load


def chosen(settings, choice=""):
    profile = select(settings, choice)
    return profile and (profile.provider, profile.model)


def test_the_table_has_the_order_of_the_variables():
    assert list(PROVIDERS) == list(PROVIDER_PREFIXES)


def test_nothing_configured_is_nothing(settings_of):
    assert select(settings_of()) is None


@pytest.mark.parametrize(
    ("environ", "choice", "wanted"),
    [
        ({"DEEPSEEK_API_KEY": "sk-a"}, "", ("deepseek", "deepseek-flash")),
        ({"KIMI_API_KEY": "a", "GLM_API_KEY": "b"}, "", ("glm", "glm-5.1")),
        ({"KIMI_API_KEY": "a", "GLM_API_KEY": "b", "PAICLI_PROVIDER": "kimi"}, "", ("kimi", "kimi-k2.6")),
        ({"GLM_API_KEY": "b", "PAICLI_PROVIDER": "kimi"}, "", ("glm", "glm-5.1")),
        ({"MOONSHOT_API_KEY": "a", "MOONSHOT_MODEL": "m1"}, "", ("kimi", "m1")),
        ({"LOCAL_BASE_URL": "http://localhost:1/v1"}, "", ("local", "default")),
        ({"LOCAL_MODEL": "qwen3:8b"}, "", ("local", "qwen3:8b")),
        ({"OPENAI_API_KEY": "a"}, "", None),
        ({"OPENAI_API_KEY": "a", "OPENAI_MODEL": "gpt-5"}, "", ("openai", "gpt-5")),
        ({"DEEPSEEK_API_KEY": "a", "LOCAL_MODEL": "m"}, "local", ("local", "m")),
        ({"DEEPSEEK_API_KEY": "a", "LOCAL_MODEL": "m"}, "ollama/qwen3:8b", ("local", "qwen3:8b")),
        ({"DEEPSEEK_API_KEY": "a"}, "deepseek-v4-pro", ("deepseek", "deepseek-v4-pro")),
        ({"DEEPSEEK_API_KEY": "a"}, "deepseek-new", ("deepseek", "deepseek-new")),
        ({"KIMI_API_KEY": "a"}, "Moonshot", ("kimi", "kimi-k2.6")),
        ({"LOCAL_MODEL": "m"}, "Qwen/Qwen3-8B", ("local", "Qwen/Qwen3-8B")),
        ({"OPENAI_API_KEY": "a", "OPENAI_MODEL": "x"}, "openai/Qwen/Qwen3", ("openai", "Qwen/Qwen3")),
        ({"GLM_API_KEY": "a", "KIMI_API_KEY": "b", "KIMI_MODEL": "same", "GLM_MODEL": "x"}, "same", ("kimi", "same")),
    ],
)  # fmt: skip
def test_who_is_chosen(settings_of, environ, choice, wanted):
    assert chosen(settings_of(**environ), choice) == wanted


@pytest.mark.parametrize(
    ("environ", "choice", "said"),
    [
        ({}, "glm", "GLM_API_KEY"),
        ({}, "openai", "OPENAI_API_KEY, OPENAI_MODEL"),
        ({}, "local", "LOCAL_BASE_URL"),
        ({"DEEPSEEK_API_KEY": "a"}, "no-such-model", "PROVIDER/MODEL"),
        ({"DEEPSEEK_API_KEY": "a"}, "deepseek/ bad id", "cannot be a model"),
        ({"DEEPSEEK_API_KEY": "a"}, "x" * 300, "cannot be a model"),
        ({"KIMI_API_KEY": "a", "GLM_API_KEY": "b", "GLM_MODEL": "m", "KIMI_MODEL": "m"}, "m", "glm/m, kimi/m"),
        ({"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": "http://x"}, "", "OPENAI_MODEL"),
        ({"DEEPSEEK_API_KEY": "a\nb"}, "", "line break"),
        ({"DEEPSEEK_API_KEY": 'a"b'}, "", "quotes"),
        ({"DEEPSEEK_API_KEY": "sk-密钥"}, "", "U+5BC6"),
        ({"DEEPSEEK_API_KEY": "a b"}, "", "U+0020"),
        ({"DEEPSEEK_API_KEY": "a", "DEEPSEEK_BASE_URL": "ftp://x"}, "", "DEEPSEEK_BASE_URL"),
        ({"DEEPSEEK_API_KEY": "a", "DEEPSEEK_MODEL": "a b"}, "", "cannot be a model"),
    ],
)  # fmt: skip
def test_nonsense_is_named(settings_of, environ, choice, said):
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        select(settings_of(**environ), choice)
    assert "sk-密钥" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:1234/v1", "http://localhost:1234/v1/chat/completions"),
        (" http://localhost:1234/v1// ", "http://localhost:1234/v1/chat/completions"),
        ("https://x.y/v1/chat/completions", "https://x.y/v1/chat/completions"),
        ("https://x.y/v1/chat/completions/", "https://x.y/v1/chat/completions"),
        ("https://x.y", "https://x.y/chat/completions"),
        ("https://x.y/v1?key=1", "https://x.y/v1/chat/completions?key=1"),
        ("HTTPS://x.y/v1", "https://x.y/v1/chat/completions"),
    ],
)
def test_a_base_url_becomes_a_chat_endpoint(base, url):
    assert chat_url(base, "X") == url


@pytest.mark.parametrize(
    "base", ["", "x.y/v1", "http://", "http:///v1", "http://[::1", "http://x:99999", "http://a b/", "file:///x"]
)  # fmt: skip
def test_what_is_no_address_is_named(base):
    with pytest.raises(ConfigError, match="X_BASE_URL"):
        chat_url(base, "X_BASE_URL")
    with pytest.raises(ConfigError) as caught:
        chat_url("ftp://user:secret@host/", "X")
    assert "secret" not in str(caught.value)


def test_the_rows_say_what_the_providers_want(settings_of):
    every = {f"{prefixes[0]}_API_KEY": "key-for-test" for prefixes in PROVIDER_PREFIXES.values()}
    settings = settings_of(**every, LOCAL_MODEL="m", OPENAI_MODEL="m", XFYUN_LORA_ID="7")
    flash = select(settings, "deepseek-flash")
    assert flash.url == "https://api.deepseek.com/chat/completions"
    assert flash.extra_body == {
        "temperature": 1.0,
        "top_p": 0.95,
        "reasoning_effort": "max",
        "thinking": {"type": "enabled"},
    }
    assert (flash.context_window, flash.sends_reasoning, flash.images) == (1_000_000, True, True)
    assert select(settings, "deepseek/deepseek-chat").extra_body == {}
    assert not select(settings, "deepseek-v4-pro").images
    old, new, sees = (
        select(settings, f"glm/{m}") for m in ("glm-5.1", "glm-5.3-flash", "glm-5v-turbo")
    )
    assert (old.extra_body, old.context_window, old.sends_reasoning) == ({}, 200_000, False)
    assert new.extra_body["thinking"] == {"type": "enabled", "clear_thinking": False}
    assert new.extra_body["stream_options"] == {"include_usage": True}
    assert (new.context_window, new.sends_reasoning) == (1_000_000, True)
    assert "/api/coding/" in old.url
    assert "/api/coding/" not in sees.url
    xfyun = select(settings, "xfyun")
    assert (xfyun.tools, xfyun.headers) == (False, {"lora_id": "7"})
    assert select(settings, "hunyuan").extra_body["reasoning_effort"] == "high"
    assert select(settings, "kimi").sends_reasoning


def test_the_base_url_works_for_every_provider(settings_of):
    for name, prefixes in PROVIDER_PREFIXES.items():
        for prefix in prefixes:
            environ = {
                f"{prefix}_API_KEY": "k",
                f"{prefix}_MODEL": "m",
                f"{prefix}_BASE_URL": "http://h/v9/",
            }
            assert select(settings_of(**environ), name).url == "http://h/v9/chat/completions"


def test_a_person_overrides_one_model_in_config_json(settings_of):
    mine = {
        "contextWindow": 64_000, "imageInput": True, "reasoningHistory": True, "thinking": "disabled",
        "maxOutputTokens": 1000, "textCalls": False, "prices": {"input": 1, "output": 2.5},
        "unknown": 1,
    }  # fmt: skip
    saved = {"providers": {"hunyuan": {"apiKey": "k", "models": {"hy4-preview": mine, "own": {}}}}}
    profile = select(settings_of(saved), "hunyuan")
    assert profile.context_window == 64_000
    assert profile.images
    assert profile.text_calls == ()
    assert profile.extra_body["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in profile.extra_body
    assert profile.extra_body["max_tokens"] == 1000
    assert (profile.prices.output, profile.prices.cached) == (2.5, 1)
    assert (
        select(settings_of(saved, PAICLI_CONTEXT_WINDOW="9000"), "hunyuan").context_window == 9000
    )
    assert PROVIDERS["hunyuan"].extra_body["thinking"] == {"type": "enabled"}


@pytest.mark.parametrize(
    "mine",
    [
        {"contextWindow": 5}, {"contextWindow": "8000"}, {"thinking": "on"}, {"imageInput": 1},
        {"contextWindow": 9000, "maxOutputTokens": 10_000}, {"reasoningEffort": []}, {"prices": 3},
        {"thinking": "disabled", "reasoningEffort": "low"}, [], "x",
    ],
)  # fmt: skip
def test_a_bad_override_is_named(settings_of, mine):
    saved = {"providers": {"kimi": {"apiKey": "k", "models": {"kimi-k2.6": mine}}}}
    with pytest.raises(ConfigError, match=r"config\.json"):
        select(settings_of(saved))


def test_reviews_are_asked_without_thinking(settings_of):
    review = for_review(select(settings_of(DEEPSEEK_API_KEY="sk-a")))
    assert review.extra_body["thinking"] == {"type": "disabled"}
    assert review.extra_body["max_tokens"] == 400
    assert "reasoning_effort" not in review.extra_body
    assert not (review.tools)
    assert not (review.images)
    assert not (review.sends_reasoning)
    assert not (review.text_calls)
    other = for_review(select(settings_of(GLM_API_KEY="a")), "glm-5.3-flash")
    assert other.model == "glm-5.3-flash"
    assert other.extra_body["temperature"] == 1.0
    assert "thinking" not in for_review(select(settings_of(LOCAL_MODEL="m"))).extra_body


def test_a_key_is_not_in_what_is_printed_of_a_profile(settings_of):
    assert "sk-secret-1" not in repr(select(settings_of(DEEPSEEK_API_KEY="sk-secret-1")))


def test_aliases():
    assert provider_named("MoonshotAI") == "kimi"
    assert provider_named("nobody") is None


def test_a_choice_is_remembered_beside_what_was_there(settings_of, tmp_path):
    saved = {
        "mine": [1],
        "providers": {"kimi": {"apiKey": "k", "later": 1}, "glm": {"apiKey": "g"}},
    }
    settings = settings_of(saved)
    assert chosen(settings) == ("glm", "glm-5.1")
    remember_choice(settings, select(settings, "kimi/kimi-x"), explicit_model=True)
    file = tmp_path / "home" / "config.json"
    assert json.loads(file.read_text()) == {
        "mine": [1],
        "defaultProvider": "kimi",
        "providers": {
            "kimi": {"apiKey": "k", "later": 1, "model": "kimi-x"},
            "glm": {"apiKey": "g"},
        },
    }
    assert chosen(settings_of()) == ("kimi", "kimi-x")
    assert [p.name for p in file.parent.iterdir()] == ["config.json"]


def test_a_config_that_cannot_be_changed_stays_as_it_was(settings_of, tmp_path):
    settings = settings_of({}, KIMI_API_KEY="k")
    file = tmp_path / "home" / "config.json"
    for text in ("{broken", "[1]", '"x"'):
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"config\.json"):
            remember_choice(settings, select(settings), explicit_model=False)
        assert file.read_text() == text
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError):
        remember_choice(settings, select(settings), explicit_model=False)


def test_models_are_added_and_listed(settings_of):
    save_addition(
        settings_of({}, KIMI_API_KEY="k"),
        parse_addition(["moonshot", "kimi-own", "--context", "64000", "--vision=false", "--thinking", "disabled"]),
    )  # fmt: skip
    settings = settings_of(KIMI_API_KEY="k")
    assert select(settings, "kimi-own").context_window == 64_000
    save_addition(
        settings,
        parse_addition(["kimi", "copy", "--like", "kimi-own", "--effort=low", "--thinking=auto"]),
    )
    settings = settings_of(KIMI_API_KEY="k")
    copy = select(settings, "kimi/copy")
    assert (copy.context_window, copy.extra_body["reasoning_effort"]) == (64_000, "low")
    assert save_discovered(settings, "kimi", ["kimi-k2.6", "kimi-own", "fresh"]) == ("fresh",)
    rows = {
        row.profile.model: row.status for row in list_models(settings_of(KIMI_API_KEY="k"), "kimi")
    }
    assert rows == {
        "kimi-k2.6": "available", "kimi-own": "custom", "copy": "custom", "fresh": "discovered",
    }  # fmt: skip
    assert {row.status for row in list_models(settings, "glm")} == {"unconfigured"}


@pytest.mark.parametrize(
    "words",
    [
        [], ["kimi"], ["nobody", "x"], ["kimi", "x", "y"], ["kimi", "x", "--what", "1"],
        ["kimi", "x", "--context"], ["kimi", "x", "--context", "many"], ["kimi", "x", "--vision=maybe"],
        ["kimi", "x", "--effort=low", "--effort=high"], ["kimi", "x", "--context", "5"],
        ["kimi", "x", "--dsml", "true"], ["kimi", "bad id"], ["kimi", "x", "--like", "nothing"],
        ["kimi", "x", "--thinking=disabled", "--effort=low"],
    ],
)  # fmt: skip
def test_a_bad_addition_is_refused_and_writes_nothing(settings_of, words, tmp_path):
    settings = settings_of(KIMI_API_KEY="k")
    with pytest.raises(ConfigError):
        save_addition(settings, parse_addition(words))
    assert not (tmp_path / "home" / "config.json").exists()
