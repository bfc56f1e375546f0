"""Small JSON files in PaiCLI's own folder, for the person's eyes alone and never half written."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from paicli.config_files import read_small_file

_log = logging.getLogger(__name__)
_MAX_BYTES = 4_000_000


def read_document(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one when there is none. A file that makes no sense is logged."""
    try:
        text = read_small_file(path, _MAX_BYTES)
        document = json.loads(text) if text is not None else {}
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("%s cannot be read, so it counts as empty: %s", path, error)
        return {}
    return document if isinstance(document, dict) else {}


def write_document(path: Path, document: Mapping[str, Any]) -> bool:
    """Replace the file in one step; False, and a line in the log, when that cannot be done."""
    text = json.dumps(document, indent=2)
    beside = path.with_name(f".{path.name}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(beside, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        _log.warning("%s cannot be written: %s", path, error)
        with suppress(OSError):
            beside.unlink()
        return False
    return True
