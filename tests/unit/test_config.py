"""One order of look-up, and a clear word about what is wrong."""

import json
import os
from pathlib import Path

import pytest

from paicli import config, i18n
from paicli.errors import ConfigError


@pytest.fixture(autouse=True)
def english():
    yield
    i18n.use("en")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A project, a home and PaiCLI's own folder, all empty."""
    for name in ("project", "home", "home/.paicli"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def load(places, environ=None, overrides=None, **options):
    return config.load(places / "project", environ or {}, overrides or {}, **options)


NAME = "PAICLI_COMMAND_TIMEOUT_SECONDS"


def test_the_order_of_the_places(places):
    home = places / "home"
    layers = [
        lambda: (home / ".paicli" / "config.json").write_text(json.dumps({NAME: 11})),
        lambda: (home / ".env").write_text(f"{NAME}=12\n"),
        lambda: (home / ".paicli" / ".env").write_text(f"{NAME}=13\n"),
        lambda: (places / "project" / ".env").write_text(f"{NAME}=14\n"),
    ]
    seen = [load(places, trusted=True).settings.command_timeout]
    for add in layers:
        add()
        seen.append(load(places, trusted=True).settings.command_timeout)
    seen.append(load(places, {NAME: "15"}, trusted=True).settings.command_timeout)
    seen.append(load(places, {NAME: "15"}, {NAME: "16"}, trusted=True).settings.command_timeout)
    assert seen == [60, 11, 12, 13, 14, 15, 16]


def test_empty_is_not_set(places):
    (places / "home" / ".env").write_text("DEEPSEEK_BASE_URL=http://x\n")
    loaded = load(places, {"DEEPSEEK_BASE_URL": "  "})
    assert loaded.settings.providers["deepseek"].base_url == "http://x"


def test_an_untrusted_project_gives_a_model_and_a_key_and_nothing_else(places):
    (places / "project" / ".env").write_text(
        f"DEEPSEEK_API_KEY=k\nDEEPSEEK_MODEL=m\nDEEPSEEK_BASE_URL=http://evil\n{NAME}=1\nPAICLI_HOME=/evil\nX=1\n"
    )
    loaded = load(places)
    deepseek = loaded.settings.providers["deepseek"]
    assert (deepseek.api_key, deepseek.model, deepseek.base_url) == ("k", "m", "")
    assert loaded.settings.command_timeout == 60
    assert loaded.settings.home == places / "home" / ".paicli"
    assert len(loaded.warnings) == 1
    assert f"DEEPSEEK_BASE_URL, {NAME}" in loaded.warnings[0]


def test_a_bad_value_is_named_with_file_and_line(places):
    (places / "home" / ".env").write_text(f"# mine\n\n{NAME}=soon\n")
    with pytest.raises(ConfigError) as error:
        load(places)
    assert str(error.value) == (
        f"{NAME} is «soon» ({places}/home/.env, line 3); it must be a whole number from 1 to 600."
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b"\xff\xfe\0"), "not UTF-8 text"),
        (Path.mkdir, "not a regular file"),
        (os.mkfifo, "not a regular file"),
        (lambda path: path.write_bytes(b"a" * 1_000_001), "larger than 1 MB"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_skipped(places, make, said):
    make(places / "home" / ".env")
    loaded = load(places)
    assert len(loaded.warnings) == 1
    assert said in loaded.warnings[0]


@pytest.mark.parametrize(
    "text", ["{", "[]", "[" * 100_000, '{"providers": 3}', '{"providers": {"glm": []}}']
)
def test_any_config_json_loads(places, text):
    (places / "home" / ".paicli" / "config.json").write_text(text)
    assert load(places).settings.command_timeout == 60


def test_saved_providers_and_aliases(places):
    (places / "home" / ".paicli" / "config.json").write_text(
        '{"defaultProvider": "kimi", "providers": {"kimi": {"apiKey": " saved ", "model": "k2"}}}'
    )
    settings = load(places, {"MOONSHOT_MODEL": "k3"}).settings
    assert settings.default_provider == "kimi"
    assert (settings.providers["kimi"].api_key, settings.providers["kimi"].model) == ("saved", "k3")


def test_quotes_around_a_key_are_taken_off(places):
    settings = load(places, {"GLM_API_KEY": "'abc'"}).settings
    assert settings.providers["glm"].api_key == "abc"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "PAICLI_LANG": "en"}, "en"),
        ({"PAICLI_LANG": "ZH"}, "zh"),
    ],
)
def test_the_language(places, environ, language):
    assert load(places, environ).settings.language == language
    assert i18n.language() == language


def test_what_is_said_about_the_settings_is_in_their_language(places):
    with pytest.raises(ConfigError, match="环境变量"):
        load(places, {"PAICLI_LANG": "zh", NAME: "soon"})
