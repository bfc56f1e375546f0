"""A session's raw bytes in a file, so that a broken stream can become a test."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from paicli.secrets import redact

_log = logging.getLogger(__name__)
_MASK = b"***"
_DELTA = re.compile(
    rb'"(content|reasoning_content|reasoning|text|refusal|arguments)"\s*:\s*"((?:[^"\\]|\\.)*)"'
)
_ADD = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK


class Exchange:
    """What is noted down of one attempt. `left_out`: bytes of a very long answer that are not in `chunks`."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.chunks: list[bytes] = []
        self.left_out = 0
        self.error = ""


class WireLog:
    """Appends one JSON object a line for each request: what was sent, and the answer's pieces.

    `chunks` are base64, as they were cut by the connection. Keys are removed from both; headers of
    the request are not written at all.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key.encode("utf-8", "replace")

    def write(self, url: str, request: bytes, exchange: Exchange) -> None:
        """Add one exchange; a file that cannot be written is told to the log and changes nothing else."""
        whole = b"".join(exchange.chunks)
        clean = self._without_pieces(self._without_key(whole))
        chunks = exchange.chunks if clean == whole else [clean]
        line = json.dumps(
            {
                "url": redact(url),
                "request": redact(self._without_key(request).decode("utf-8", "replace")),
                "status": exchange.status,
                "headers": {
                    name: redact(value)
                    for name, value in exchange.headers.items()
                    if name.lower() not in ("set-cookie", "authorization")
                },
                "chunks": [base64.b64encode(chunk).decode() for chunk in chunks],
                "left_out": exchange.left_out,
                "error": redact(exchange.error),
            },
            ensure_ascii=False,
        )
        try:
            descriptor = os.open(self._path, _ADD, 0o600)
            with open(descriptor, "ab") as file:
                file.write(line.encode("utf-8", "replace") + b"\n")
        except OSError as problem:
            _log.warning("the wire log cannot be written: %s", problem)

    def _without_key(self, data: bytes) -> bytes:
        return data.replace(self._key, _MASK) if self._key else data

    def _without_pieces(self, answer: bytes) -> bytes:
        """Return the answer without a key that is cut over several deltas: stars stand for its pieces."""
        key = self._key
        if not key:
            return answer
        cleaned = bytearray(answer)
        spans: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
        for delta in _DELTA.finditer(answer):
            spans[delta[1]].append(delta.span(2))
        for pieces in spans.values():
            text = b"".join(answer[start:end] for start, end in pieces)
            at = text.find(key)
            where = [n for start, end in pieces for n in range(start, end)] if at >= 0 else []
            while at >= 0:
                for place in where[at : at + len(key)]:
                    cleaned[place] = ord("*")
                at = text.find(key, at + len(key))
        return bytes(cleaned)
