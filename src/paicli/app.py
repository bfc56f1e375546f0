"""The composition root: knows everybody, does nothing itself. What a start may not need is loaded by those it calls."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from paicli import config, log, secrets
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.options import Options
from paicli.policy.trust import Trust


def run(options: Options, overrides: Mapping[str, str]) -> int:
    """Carry out what the command line asks for and return the exit code."""
    trust = Trust(config.home_directory(os.environ), options.root)
    state = trust.state()
    trusted = state.trusted if options.headless else _ask_trust(trust)
    loaded = config.load(options.root, os.environ, overrides, trusted=trusted)
    settings = loaded.settings
    for provider in settings.providers.values():
        secrets.remember(provider.api_key)
    log.start(settings)
    if options.headless:
        from paicli import one_task

        ignored = [name for name in state.covered if name != ".env" and not trusted]
        return one_task.run(options, loaded, ignored)
    from paicli import conversation

    return conversation.run(options, loaded, overrides)


def doctor(root: Path, provider: str) -> int:
    """Print what is configured, installed and reachable, or what one provider really does.

    The exit code is 0 when nothing is broken.
    """
    from paicli.ui.doctor import findings, probed, reachable, report

    trust = Trust(config.home_directory(os.environ), root)
    loaded = config.load(root, os.environ, {}, trusted=trust.state().trusted)
    if provider:
        return report(asyncio.run(probed(loaded.settings, provider)))
    local = findings(loaded.settings, loaded.warnings)
    return report([*local, *asyncio.run(reachable(loaded.settings))])


def _ask_trust(trust: Trust) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(t("terminal.needs_terminal"))
    from paicli.ui.ask_trust import ask_trust

    return ask_trust(trust)
