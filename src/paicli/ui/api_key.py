"""Entering an API key: asked for at the terminal, not echoed, kept where its owner alone can read it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from paicli import secrets
from paicli.config import PROVIDER_PREFIXES
from paicli.i18n import t
from paicli.text import one_line, wrapped
from paicli.ui.asking import Asking

_DEFAULT = "deepseek"
_KEY = re.compile(r"[!-~]{6,500}")
_NAMES = tuple(name for name in PROVIDER_PREFIXES if name != "local")
"""The providers that have keys."""


def ask_for_key(home: Path, asking: Asking) -> str:
    """Ask for a provider and its key, not echoed; keep it in `home`/.env, readable by its owner alone.

    Return the provider whose key was saved, empty when none was; Enter, Ctrl+C and Ctrl+D mean none.
    Blocks, and needs the terminal in its usual line mode.
    """
    try:
        return _ask(home, asking, t("terminal.key_intro", names=", ".join(_NAMES)), _DEFAULT)
    except (EOFError, KeyboardInterrupt):
        return ""


def ask_for_first_key(home: Path) -> str:
    """Ask the same when nothing is configured; Enter alone means none: the demo.

    Ctrl+C and Ctrl+D leave: raises KeyboardInterrupt.
    """
    try:
        with Asking() as asking:
            return _ask(home, asking, t("terminal.first_start", names=", ".join(_NAMES)), "demo")
    except EOFError:
        raise KeyboardInterrupt from None


def _ask(home: Path, asking: Asking, intro: str, usual: str) -> str:
    columns = shutil.get_terminal_size().columns
    for line in intro.split("\n"):
        sys.stdout.writelines(piece + "\n" for piece in wrapped(line, columns))
    sys.stdout.flush()
    provider = _answered_provider(asking, usual)
    if provider not in _NAMES:
        return ""
    key = asking.line(t("terminal.key_key", name=provider), hidden=True).strip()
    while key and not _KEY.fullmatch(key):
        sys.stdout.write(t("terminal.key_odd") + "\n")
        key = asking.line(t("terminal.key_key", name=provider), hidden=True).strip()
    return _kept(home, provider, key) if key else ""


def _kept(home: Path, provider: str, key: str) -> str:
    secrets.remember(key)
    try:
        keep_variable(home / ".env", f"{PROVIDER_PREFIXES[provider][0]}_API_KEY", key)
    except OSError as error:
        reason = error.strerror or str(error)
        sys.stdout.write(t("terminal.key_not_saved", path=home / ".env", reason=reason) + "\n")
        return ""
    sys.stdout.write(t("terminal.key_saved", path=home / ".env") + "\n")
    return provider


def _answered_provider(asking: Asking, usual: str) -> str:
    while True:
        answer = asking.line(t("terminal.key_provider", name=usual)).strip().lower() or usual
        if answer == usual or answer in _NAMES:
            return answer
        sys.stdout.write(t("terminal.key_unknown", word=one_line(answer)) + "\n")


def keep_variable(file: Path, name: str, value: str) -> None:
    """Set one variable in an .env file and leave its other lines as they are. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = file.resolve()
    lines = place.read_bytes().splitlines(keepends=True) if place.exists() else []
    own = re.compile(rf"\s*(?:export\s+)?{re.escape(name)}\s*=".encode())
    kept = [line for line in lines if not own.match(line)]
    if kept and not kept[-1].endswith(b"\n"):
        kept[-1] += b"\n"
    fresh = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as opened:
            opened.write(b"".join(kept) + f"{name}={value}\n".encode())
            opened.flush()
            os.fsync(opened.fileno())
        fresh.replace(place)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
