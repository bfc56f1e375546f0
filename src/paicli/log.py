"""The log file: rotating, private, without secrets."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler

from paicli import secrets
from paicli.config import Settings

_BYTES = 2_000_000
_FILES = 3


def start(settings: Settings) -> None:
    """Log to `logs/paicli.log` under PaiCLI's own folder, without secrets; silently not when it cannot."""
    logger = logging.getLogger("paicli")
    logger.setLevel(settings.log_level.upper())
    logger.propagate = False
    folder = settings.home / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler: logging.Handler = RotatingFileHandler(
            folder / "paicli.log",
            maxBytes=_BYTES,
            backupCount=_FILES,
            delay=True,
            encoding="utf-8",
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return secrets.redact(super().format(record))
