"""What `/model` does: show, ask a server, add, switch."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from paicli.config import Settings
from paicli.display import Display, Note, Table
from paicli.errors import ConfigError, PaiCliError
from paicli.i18n import t
from paicli.llm import models, providers
from paicli.llm.provider_table import PROVIDERS
from paicli.llm.providers import ModelProfile
from paicli.ui.statusbar import amount


class Models:
    """The models a person can choose from. `load` reads the settings anew, `use` switches."""

    def __init__(
        self,
        load: Callable[[], Settings],
        current: Callable[[], ModelProfile],
        use: Callable[[ModelProfile], None],
    ) -> None:
        self._load = load
        self._current = current
        self._use = use

    def names(self) -> list[str]:
        """Return what may follow `/model`: configured providers, and each of their models."""
        settings = self._load()
        configured = [name for name in PROVIDERS if providers.is_configured(settings, name)]
        ids = [
            f"{name}/{model}"
            for name in configured
            for model in providers.known_models(settings, name)
        ]
        return [*configured, *ids]

    async def answer(self, argument: str) -> list[Display]:
        """Carry out `/model ARGUMENT` and return what to show."""
        try:
            word, _, rest = argument.strip().partition(" ")
            match word:
                case "" | "info":
                    return [self._info()]
                case "list":
                    return [self._table(rest.strip())]
                case "refresh":
                    return [await self._refresh(rest.strip())]
                case "add":
                    return [self._add(rest)]
            return self._switch(argument.strip())
        except PaiCliError as error:
            return [Note(str(error), "error")]

    def _table(self, provider: str) -> Table:
        current = self._current()
        rows = []
        for listed in models.list_models(self._load(), provider):
            profile = listed.profile
            is_current = (profile.provider, profile.model) == (current.provider, current.model)
            name = f"{profile.provider}/{profile.model}"
            rows.append(
                (
                    f"{name} ●" if is_current else name,
                    amount(profile.context_window),
                    t("model.text_and_images") if profile.images else t("model.text"),
                    t(f"model.status_{listed.status}"),
                )
            )
        columns = tuple(t(f"model.column_{name}") for name in ("model", "window", "input", "state"))
        return Table(columns, tuple(rows))

    def _info(self) -> Table:
        profile, yes, no = self._current(), t("model.yes"), t("model.no")
        rows = (
            (t("model.fact_model"), f"{profile.provider}/{profile.model}"),
            (t("model.fact_url"), profile.url),
            (t("model.column_window"), amount(profile.context_window)),
            (t("model.fact_tools"), yes if profile.tools else no),
            (t("model.fact_images"), yes if profile.images else no),
            (t("model.fact_reasoning"), yes if profile.sends_reasoning else no),
            (t("model.fact_cache"), profile.cache_mode),
        )
        return Table(("", ""), rows)

    async def _refresh(self, provider: str) -> Note:
        if not provider:
            raise ConfigError(t("model.refresh_usage"))
        settings = self._load()
        ids = await models.discover(settings, provider)
        new = models.save_discovered(settings, provider, ids)
        shown = ", ".join(new[:10]) + ("…" if len(new) > 10 else "")
        return Note(t("model.refreshed", found=len(ids), new=len(new), names=shown))

    def _add(self, words: str) -> Note:
        try:
            addition = models.parse_addition(shlex.split(words))
        except ValueError as error:
            raise ConfigError(str(error)) from None
        models.save_addition(self._load(), addition)
        return Note(t("model.added", provider=addition.provider, model=addition.model))

    def _switch(self, choice: str) -> list[Display]:
        profile = providers.select(self._load(), choice)
        if profile is None:
            raise ConfigError(t("cli.no_model"))
        self._use(profile)
        shown: list[Display] = [
            Note(t("model.switched", provider=profile.provider, model=profile.model))
        ]
        names_a_model = providers.provider_named(choice) is None
        try:
            models.remember_choice(self._load(), profile, explicit_model=names_a_model)
        except ConfigError as error:
            return [*shown, Note(str(error), "warning")]
        again = providers.select(self._load())
        if again is None or (again.provider, again.model) != (profile.provider, profile.model):
            name = f"{again.provider}/{again.model}" if again else "-"
            shown.append(Note(t("model.environment_wins", name=name), "warning"))
        return shown
