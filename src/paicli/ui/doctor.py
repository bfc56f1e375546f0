"""`paicli doctor`: what is configured and installed, and what to do about the rest."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paicli import __version__
from paicli.config import Settings
from paicli.errors import ConfigError
from paicli.i18n import language, t
from paicli.llm import local_servers, probes, providers
from paicli.llm.local_servers import LocalServer
from paicli.llm.probes import ProviderCheck
from paicli.policy.sandbox import CommandSandbox
from paicli.text import visible
from paicli.ui.headless import Output
from paicli.ui.statusbar import amount

OK, MISSING, BROKEN = "✓", "·", "✗"
_SMALL_WINDOW = 16_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `advice` says what to do when something is missing or broken."""

    mark: str
    name: str
    value: str
    advice: str = ""


def findings(settings: Settings, warnings: Sequence[str]) -> Iterator[Finding]:
    """Return what can be told without a network."""
    system = f"{platform.system()} {platform.release()}"
    yield Finding(OK, "PaiCLI", f"{__version__}, Python {platform.python_version()}, {system}")
    yield Finding(OK, t("doctor.folder"), str(settings.root))
    yield Finding(OK, t("doctor.home"), str(settings.home))
    yield Finding(OK, t("doctor.language"), language())
    for warning in warnings:
        yield Finding(BROKEN, t("doctor.configuration"), warning)
    yield from _programs()
    sandbox = CommandSandbox(settings.root, settings.command_sandbox).state()
    mark = OK if sandbox.active or settings.command_sandbox == "off" else BROKEN
    yield Finding(mark, t("doctor.sandbox"), settings.command_sandbox, sandbox.problem or "")


async def reachable(settings: Settings) -> list[Finding]:
    """Ask the configured providers, and look for servers on this machine, all at once."""
    checks, servers = await asyncio.gather(
        probes.check_providers(settings), local_servers.find_local_servers()
    )
    found = [_provider(check) for check in checks]
    if not checks:
        found.append(Finding(MISSING, t("doctor.models"), t("doctor.none"), t("cli.no_model")))
    return found + [_server(server) for server in servers]


def _provider(check: ProviderCheck) -> Finding:
    value = f"{check.model} · {check.url}"
    if check.problem:
        return Finding(BROKEN, check.provider, value, check.problem)
    if not check.model_is_listed:
        names = ", ".join(check.models[:8])
        return Finding(BROKEN, check.provider, value, t("doctor.not_listed", names=names))
    return Finding(OK, check.provider, value)


def _server(server: LocalServer) -> Finding:
    window = amount(server.context_window) if server.context_window else t("doctor.unknown")
    names = ", ".join(server.models[:5]) or "-"
    value = t("doctor.local", url=server.url, names=names, window=window)
    advice = ""
    if server.context_window and server.context_window < _SMALL_WINDOW:
        advice = t("doctor.small_window", window=amount(server.context_window))
    return Finding(OK, server.kind, value, advice)


async def probed(settings: Settings, provider: str) -> list[Finding]:
    """Ask one provider a few tiny questions. Raises ConfigError for a provider that is none."""
    profile = providers.select(settings, provider)
    if profile is None:
        raise ConfigError(t("cli.no_model"))
    marks = {True: OK, False: BROKEN, None: MISSING}
    head = Finding(OK, profile.provider, f"{profile.model} · {profile.url}")
    answers = await probes.probe(profile, settings)
    return [head, *(Finding(marks[answer.ok], answer.name, answer.detail) for answer in answers)]


def _programs() -> Iterator[Finding]:
    for name, key in (("bash", "need_bash"), ("git", "need_git"), ("rg", "need_rg")):
        path = shutil.which(name)
        if path:
            yield Finding(OK, name, path)
        else:
            mark = BROKEN if name == "bash" else MISSING
            yield Finding(mark, name, t("doctor.not_found"), t(f"doctor.{key}"))


def report(found: Sequence[Finding]) -> int:
    """Print the findings; the exit code is 0 when nothing is broken."""
    out = Output(sys.stdout)
    for finding in found:
        out.write(visible(f"{finding.mark} {finding.name}: {finding.value}\n"))
        if finding.advice:
            out.write(visible(f"    → {finding.advice}\n"))
    return 1 if out.broken or any(finding.mark == BROKEN for finding in found) else 0
