"""A conversation at the terminal: a part of the composition root, and all of it that the first prompt needs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paicli import config
from paicli.config import Loaded, Settings
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.llm import providers
from paicli.llm.providers import ModelProfile
from paicli.loading import load
from paicli.options import Options
from paicli.ui.first import FirstScreen
from paicli.ui.repl import run_repl


def run(options: Options, loaded: Loaded, overrides: Mapping[str, str]) -> int:
    """Talk with the person until they leave and return the exit code."""
    settings = loaded.settings
    if options.resume == "":
        from paicli.session.store import SessionStore
        from paicli.ui.choose_session import choose_session

        summaries = SessionStore(settings.home, settings.root).summaries()
        options = replace(options, resume=choose_session(summaries))
    profile = None if options.demo else providers.select(settings, options.model)
    notices = list(loaded.warnings)
    if profile is None and not options.demo:
        settings, profile = _first_start(settings, overrides, notices)
    if profile is None:
        notices.append(t("cli.demo_chosen" if options.demo else "cli.demo_model"))
        profile = providers.demo_profile()
    providers.for_review(profile, settings.classifier_model)  # complains now, not behind the prompt
    return asyncio.run(_talk(options, settings, profile, notices))


def _first_start(
    settings: Settings, overrides: Mapping[str, str], notices: list[str]
) -> tuple[Settings, ModelProfile | None]:
    """Let the person enter a key; Enter alone goes on to the demo."""
    from paicli.ui.api_key import ask_for_first_key

    provider = ask_for_first_key(settings.home)
    if not provider:
        return settings, None
    again = config.load(settings.root, os.environ, overrides, trusted=settings.trusted).settings
    try:
        return again, providers.select(again, provider)
    except ConfigError as error:
        notices.append(str(error))
        return again, None


async def _talk(
    options: Options, settings: Settings, profile: ModelProfile, notices: list[str]
) -> int:
    first = FirstScreen(
        root=settings.root,
        home=settings.home,
        model=profile.model,
        mode=options.mode.value,
        editing=settings.editing,
        notify=settings.notify,
        lines_only=settings.screen == "lines",
        theme=settings.theme,
    )
    room = Room(options, settings, profile, notices)
    has_news = bool(notices or options.resume or options.continue_newest)
    try:
        return await run_repl(first, room, options.prompt, at_once=has_news)
    finally:
        await room.close()


class Room:
    """Implements `paicli.ui.first.Room`: `paicli.room`, loaded when it is needed."""

    def __init__(self, *what: Any) -> None:
        self._what = what
        self._open: Any = None

    def load(self) -> None:
        """Import it, and the desk that it stands behind."""
        load("paicli.room", "paicli.ui.desk")

    def open(self) -> Any:
        """Wire it up and return its `Turns`."""
        load("paicli.room")
        from paicli import room

        self._open = room.Room(*self._what)
        return self._open.turns

    def load_ahead(self) -> None:
        """Begin to load the tools."""
        from paicli.toolbox import load_ahead

        load_ahead()

    async def close(self) -> None:
        """Close it, if it was opened."""
        if self._open is not None:
            await self._open.close()
