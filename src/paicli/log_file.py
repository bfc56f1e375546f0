"""The log file: rotating, for the person's eyes alone, without secrets."""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from paicli import secrets

_BYTES = 2_000_000
_FILES = 3


class LogFile(RotatingFileHandler):
    """Makes files that the person alone may read, at the first line."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, maxBytes=_BYTES, backupCount=_FILES, delay=True, encoding="utf-8")
        self.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's words
        """Do without the log: on a full disk there is nothing better to do."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        os.close(os.open(self.baseFilename, flags, 0o600))
        return super()._open()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return secrets.redact(super().format(record))
