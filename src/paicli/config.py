"""Every setting, and the one order in which they are looked up.

First match wins: command line, environment, the project's `.env`, `~/.paicli/.env`, `~/.env`,
`~/.paicli/config.json`, default. An empty value counts as not set. A project folder may come from
a stranger: until it is trusted, its `.env` gives a model and a key and nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paicli import i18n
from paicli.config_files import Found, expanded, read_config_json, read_env_file, user_home
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.values import value

PROVIDER_PREFIXES: dict[str, tuple[str, ...]] = {
    "deepseek": ("DEEPSEEK",),
    "glm": ("GLM",),
    "hunyuan": ("HUNYUAN", "TOKENHUB", "TENCENTMAAS"),
    "step": ("STEP",),
    "kimi": ("KIMI", "MOONSHOT"),
    "freellmapi": ("FREELLMAPI",),
    "xfyun": ("XFYUN_MAAS", "XFYUN"),
    "agnes": ("AGNES",),
    "openai": ("OPENAI",),
    "local": ("LOCAL",),
}
"""Every provider with the prefixes of its variables, the preferred one first, in the order in which
the first configured one is chosen (the original's order, ours behind it)."""

PROVIDER_FIELDS = {"api_key": "API_KEY", "model": "MODEL", "base_url": "BASE_URL"}
_FROM_UNTRUSTED_PROJECT = ("_API_KEY", "_MODEL")


@value
class ProviderSettings:
    """What the person configured for one provider; empty means not set."""

    api_key: str = ""
    model: str = ""
    base_url: str = ""
    lora_id: str = ""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per-model overrides from config.json, by model id (see the provider table)."""


def _text(value: str) -> str:
    return value


def _switch(value: str) -> bool:
    lowered = value.lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError(t("config.want_switch"))


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise ValueError(t("config.want_whole", low=low, high=high))
        return number

    return parse


def _seconds(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number <= 86_400:
        raise ValueError(t("config.want_seconds"))
    return number


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value.lower() not in words:
            raise ValueError(t("config.want_one_of", words=", ".join(words)))
        return value.lower()

    return parse


def _patterns(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _variable(name: str, default: Any, parse: Callable[[str], Any]) -> Any:
    return field(default=default, metadata={"variable": name, "parse": parse})


_UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """All settings of a run. Each field names its variable; `.env.example` explains them."""

    root: Path
    home: Path
    trusted: bool
    """The person trusts the folder, so what it brings along counts in full."""
    providers: Mapping[str, ProviderSettings]
    default_provider: str = _variable("PAICLI_PROVIDER", "", _one_of(*PROVIDER_PREFIXES))
    language: str = _variable("PAICLI_LANG", "en", _one_of(*i18n.LANGUAGES))
    classifier_model: str = _variable("PAICLI_AUTO_CLASSIFIER_MODEL", "", _text)
    connect_timeout: float = _variable("PAICLI_LLM_CONNECT_TIMEOUT_SECONDS", 60.0, _seconds)
    read_timeout: float = _variable("PAICLI_LLM_READ_TIMEOUT_SECONDS", 300.0, _seconds)
    call_timeout: float = _variable("PAICLI_LLM_CALL_TIMEOUT_SECONDS", 600.0, _seconds)
    retry_attempts: int = _variable("PAICLI_LLM_RETRY_MAX_ATTEMPTS", 3, _whole(1, 10))
    retry_base_delay_ms: int = _variable("PAICLI_LLM_RETRY_BASE_DELAY_MS", 500, _whole(0, 60_000))
    retry_max_delay_ms: int = _variable("PAICLI_LLM_RETRY_MAX_DELAY_MS", 30_000, _whole(0, 600_000))
    context_window: int = _variable("PAICLI_CONTEXT_WINDOW", 0, _whole(0, 10_000_000))
    wire_log: str = _variable("PAICLI_WIRE_LOG", "", _text)
    token_budget: int = _variable("PAICLI_REACT_TOKEN_BUDGET", _UNLIMITED, _whole(1, _UNLIMITED))
    max_iterations: int = _variable(
        "PAICLI_REACT_MAX_ITERATIONS", _UNLIMITED, _whole(1, _UNLIMITED)
    )
    stagnation_window: int = _variable("PAICLI_REACT_STAGNATION_WINDOW", 5, _whole(2, 100))
    command_timeout: int = _variable("PAICLI_COMMAND_TIMEOUT_SECONDS", 60, _whole(1, 600))
    command_sandbox: str = _variable(
        "PAICLI_COMMAND_SANDBOX", "off", _one_of("off", "auto", "required")
    )
    shell_keep_env: str = _variable("PAICLI_SHELL_KEEP_ENV", "", _text)
    audit_dir: str = _variable("PAICLI_AUDIT_DIR", "", _text)
    offload_threshold: int = _variable(
        "PAICLI_TOOL_OFFLOAD_THRESHOLD_CHARS", 32_000, _whole(2_000, 10_000_000)
    )
    screen: str = _variable("PAICLI_SCREEN", "live", _one_of("live", "lines"))
    theme: str = _variable("PAICLI_THEME", "auto", _one_of("auto", "dark", "light", "none"))
    editing: str = _variable("PAICLI_EDITING", "emacs", _one_of("emacs", "vi"))
    notify: str = _variable("PAICLI_NOTIFY", "off", _one_of("off", "bell", "desktop"))
    plan_max_replans: int = _variable("PAICLI_PLAN_MAX_REPLANS", 2, _whole(0, 10))
    snapshots: bool = _variable("PAICLI_SNAPSHOT_ENABLED", True, _switch)  # noqa: FBT003  the default of a switch
    snapshot_days: int = _variable("PAICLI_SNAPSHOT_MAX_AGE_DAYS", 14, _whole(1, 3_650))
    snapshot_megabytes: int = _variable("PAICLI_SNAPSHOT_MAX_MB", 1000, _whole(1, 1_000_000))
    snapshot_excludes: tuple[str, ...] = _variable("PAICLI_SNAPSHOT_EXCLUDES", (), _patterns)
    log_level: str = _variable(
        "PAICLI_LOG_LEVEL", "info", _one_of("debug", "info", "warning", "error")
    )

    @classmethod
    def variables(cls) -> dict[str, Any]:
        """Return the name and default of every variable, provider ones included."""
        own = {
            spec.metadata["variable"]: spec.default
            for spec in dataclasses.fields(cls)
            if "variable" in spec.metadata
        }
        return own | dict.fromkeys(_provider_variables(), "")


def _provider_variables() -> list[str]:
    names = [
        f"{prefix}_{suffix}"
        for prefixes in PROVIDER_PREFIXES.values()
        for prefix in prefixes
        for suffix in PROVIDER_FIELDS.values()
    ]
    return [*names, "XFYUN_MAAS_LORA_ID", "XFYUN_LORA_ID"]


@value
class Loaded:
    """The settings, and what the person should know about the files they came from.

    `changed` holds, by variable, every value that differs from its default, and its origin.
    """

    settings: Settings
    warnings: tuple[str, ...] = ()
    changed: Mapping[str, Found] = field(default_factory=dict)


def home_directory(environ: Mapping[str, str]) -> Path:
    """Return PaiCLI's own folder: `PAICLI_HOME` (from the environment alone), else `~/.paicli`."""
    configured = environ.get("PAICLI_HOME", "").strip()
    return expanded(configured) if configured else user_home() / ".paicli"


def load(
    project: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, str],
    *,
    trusted: bool = False,
) -> Loaded:
    """Look every setting up and return it parsed.

    `overrides` are variables set on the command line. `trusted`: the person trusts the project
    folder, so its `.env` counts in full. Raises ConfigError, naming file and line, for a value
    that makes no sense.
    """
    i18n.use(i18n.detect(environ))
    home = home_directory(environ)
    warnings: list[str] = []
    project_values = read_env_file(project / ".env", warnings)
    if not trusted:
        project_values = _only_model_and_key(project_values, warnings)
    saved = str(home / "config.json")
    config = read_config_json(Path(saved), warnings)
    layers = [
        {name: Found(value, t("config.command_line")) for name, value in overrides.items()},
        {name: Found(value, t("config.environment")) for name, value in environ.items()},
        project_values,
        read_env_file(home / ".env", warnings),
        read_env_file(user_home() / ".env", warnings),
        {
            name: Found(str(value), saved)
            for name, value in config.items()
            if isinstance(value, str | int | float)
        },
    ]

    def find(name: str) -> Found | None:
        for layer in layers:
            found = layer.get(name)
            if found is not None and found.value.strip():
                return Found(found.value.strip(), found.origin)
        return None

    language = find("PAICLI_LANG")
    if language is not None and language.value.lower() in i18n.LANGUAGES:
        i18n.use(language.value.lower())
    values: dict[str, Any] = {"language": i18n.language()}
    for spec in dataclasses.fields(Settings):
        name = spec.metadata.get("variable")
        found = find(name) if name else None
        if found is not None:
            values[spec.name] = _parsed(spec.metadata, found)
    values.setdefault("default_provider", _saved_provider(config))
    providers = _providers(find, config)
    settings = Settings(root=project, home=home, trusted=trusted, providers=providers, **values)
    return Loaded(settings, tuple(warnings), _changed(settings, find, saved))


def _parsed(metadata: Mapping[str, Any], found: Found) -> Any:
    try:
        return metadata["parse"](found.value)
    except ValueError as error:
        name, value, origin = metadata["variable"], found.value, found.origin
        raise ConfigError(
            t("config.bad_value", name=name, value=value, origin=origin, want=error)
        ) from None


def _changed(
    settings: Settings, find: Callable[[str], Found | None], saved: str
) -> dict[str, Found]:
    """Return by variable what differs from its default; what no variable says was `saved`."""
    changed: dict[str, Found] = {}
    for spec in dataclasses.fields(settings):
        name = spec.metadata.get("variable", "")
        value = getattr(settings, spec.name)
        if name and value != spec.default:
            found = find(name)
            if found is None and spec.name == "default_provider":
                found = Found(value, saved)
            if found is not None:
                changed[name] = found
    for provider, configured in settings.providers.items():
        for attribute, suffix in {**PROVIDER_FIELDS, "lora_id": "LORA_ID"}.items():
            names = [f"{prefix}_{suffix}" for prefix in PROVIDER_PREFIXES[provider]]
            name = next(filter(find, names), names[0])
            found = find(name)
            if value := getattr(configured, attribute):
                changed[name] = Found(value, found.origin if found else saved)
    return changed


def _saved_provider(config: Mapping[str, Any]) -> str:
    saved = config.get("defaultProvider")
    return saved if isinstance(saved, str) and saved in PROVIDER_PREFIXES else ""


def _providers(
    find: Callable[[str], Found | None], config: Mapping[str, Any]
) -> dict[str, ProviderSettings]:
    all_saved = config.get("providers")
    result = {}
    for provider, prefixes in PROVIDER_PREFIXES.items():
        saved = all_saved.get(provider) if isinstance(all_saved, dict) else None
        saved = saved if isinstance(saved, dict) else {}

        def value(
            suffix: str, key: str, prefixes: tuple[str, ...] = prefixes, saved: Any = saved
        ) -> str:
            for prefix in prefixes:
                if found := find(f"{prefix}_{suffix}"):
                    return _unquoted(found.value)
            kept = saved.get(key)
            return kept.strip() if isinstance(kept, str) else ""

        models = saved.get("models")
        result[provider] = ProviderSettings(
            api_key=value("API_KEY", "apiKey"),
            model=value("MODEL", "model"),
            base_url=value("BASE_URL", "baseUrl"),
            lora_id=value("LORA_ID", "loraId") if provider == "xfyun" else "",
            models=models if isinstance(models, dict) else {},
        )
    return result


def _unquoted(value: str) -> str:
    """Take off one pair of quotes that a copied export line left around a value."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value


def _only_model_and_key(values: dict[str, Found], warnings: list[str]) -> dict[str, Found]:
    allowed = set(_provider_variables())
    kept = {
        name: found
        for name, found in values.items()
        if name in allowed and name.endswith(_FROM_UNTRUSTED_PROJECT)
    }
    known = Settings.variables()
    ignored = sorted(name for name in values if name in known and name not in kept)
    if ignored:
        warnings.append(t("config.untrusted_ignored", names=", ".join(ignored)))
    return kept
