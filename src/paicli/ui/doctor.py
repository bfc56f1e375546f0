"""`paicli doctor`: what is configured and installed, and what to do about the rest."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paicli import __version__
from paicli.config import Settings
from paicli.i18n import language, t
from paicli.llm import providers
from paicli.llm.provider_table import PROVIDERS
from paicli.policy.sandbox import CommandSandbox
from paicli.text import visible

OK, MISSING, BROKEN = "✓", "·", "✗"


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
    configured = [name for name in PROVIDERS if providers.is_configured(settings, name)]
    for name in configured:
        profile = providers.profile_of(settings, name)
        yield Finding(OK, name, f"{profile.model} · {profile.url}")
    if not configured:
        yield Finding(MISSING, t("doctor.models"), t("doctor.none"), t("cli.no_model"))


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
    for finding in found:
        line = f"{finding.mark} {finding.name}: {finding.value}"
        print(visible(line))
        if finding.advice:
            print(visible(f"    → {finding.advice}"))
    sys.stdout.flush()
    return 1 if any(finding.mark == BROKEN for finding in found) else 0
