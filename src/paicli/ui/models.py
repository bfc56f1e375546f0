"""What `/model list` and `/model info` show."""

from __future__ import annotations

from paicli.config import Settings
from paicli.display import Table
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.provider_table import PROVIDERS
from paicli.llm.providers import ModelProfile
from paicli.ui.statusbar import amount


def model_names(settings: Settings) -> list[str]:
    """Return what may follow `/model`: configured providers, and each of their models."""
    configured = [name for name in PROVIDERS if providers.is_configured(settings, name)]
    ids = [
        f"{name}/{model}" for name in configured for model in providers.known_models(settings, name)
    ]
    return [*configured, *ids]


def model_table(settings: Settings, current: ModelProfile) -> Table:
    """Return every known model, the current one marked, with its window and whether it can be used."""
    rows = []
    for name in PROVIDERS:
        usable = providers.is_configured(settings, name)
        state = t("model.usable") if usable else t("model.no_key")
        for model in providers.known_models(settings, name):
            profile = providers.profile_of(settings, name, model)
            is_current = (name, model) == (current.provider, current.model)
            mark = "● " if is_current else ""
            kinds = t("model.text_and_images") if profile.images else t("model.text")
            rows.append((f"{mark}{name}/{model}", amount(profile.context_window), kinds, state))
    columns = tuple(t(f"model.column_{name}") for name in ("model", "window", "input", "state"))
    return Table(columns, tuple(rows))


def model_info(profile: ModelProfile) -> Table:
    """Return the facts about the model in use."""
    yes, no = t("model.yes"), t("model.no")
    rows = (
        (t("model.fact_model"), f"{profile.provider}/{profile.model}"),
        (t("model.fact_url"), profile.url),
        (t("model.column_window"), amount(profile.context_window)),
        (t("model.fact_tools"), yes if profile.tools else no),
        (t("model.fact_images"), yes if profile.images else no),
        (t("model.fact_reasoning"), yes if profile.sends_reasoning else no),
        (t("model.fact_cache"), profile.cache_mode),
    )
    return Table((t("model.column_fact"), t("model.column_value")), rows)
