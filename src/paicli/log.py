"""The log file: rotating, private, without secrets."""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
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
        for private in (settings.home, folder):
            private.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler: logging.Handler = _Private(
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


class _Private(RotatingFileHandler):
    """Makes files that the person alone may read."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.close(os.open(self.baseFilename, flags, 0o600))
        return super()._open()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return secrets.redact(super().format(record))
