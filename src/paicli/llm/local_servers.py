"""Model servers on this machine: which are there, what they serve, and how much they really read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from paicli.errors import ModelError
from paicli.llm.discovery import fetch_json
from paicli.values import value

USUAL_PORTS: Mapping[int, str] = {
    11434: "Ollama",
    8080: "llama-server",
    1234: "LM Studio",
    8000: "vLLM",
    5173: "FreeLLMAPI",
}
_PATIENCE = 1.5
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)", re.M)
_CUT_ABOVE = 2000


@value
class LocalServer:
    """A server that answered. `context_window` is what it was started with, None when it does not say;
    `trained_window` is what the model could read at most."""

    url: str
    kind: str
    models: tuple[str, ...]
    context_window: int | None = None
    trained_window: int | None = None


async def find_local_servers(ports: Mapping[int, str] = USUAL_PORTS) -> tuple[LocalServer, ...]:
    """Look at the usual ports, all at once; who does not answer at once is not there."""
    found = await asyncio.gather(*(_look_at(port, kind) for port, kind in ports.items()))
    return tuple(server for server in found if server is not None)


async def real_context(
    base_url: str, key: str = "", model: str = ""
) -> tuple[int | None, int | None]:
    """Return how many tokens a server on this machine reads, and how many the model was trained for.

    `base_url` ends in /v1. None for what the server does not tell. Never raises a ModelError.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    answers = await asyncio.gather(
        _ask(f"{root}/props", key),
        _ask(f"{root}/v1/models", key),
        _ask(f"{root}/api/v0/models", key),
        _ask(f"{root}/api/ps", key),
        _ask(f"{root}/api/show", key, {"model": model}) if model else _nothing(),
    )
    props, listed, studio, running, shown = answers
    sizes = [
        _number(props, "default_generation_settings", "n_ctx"),
        _number(props, "n_ctx"),
        _row_number(listed, model, "max_model_len"),
        _row_number(listed, model, "context_length"),
        _row_number(studio, model, "loaded_context_length"),
        _row_number(running, model, "context_length"),
        _ollama_parameter(shown),
    ]
    trained = [
        _row_number(listed, model, "meta", "n_ctx_train"),
        _row_number(studio, model, "max_context_length"),
        _ollama_trained(shown),
    ]
    return _first(sizes), _first(trained)


def prompt_was_cut(estimated: int, reported: int) -> bool:
    """Tell whether a reply's prompt tokens show that the server read only a part of the prompt."""
    return estimated > _CUT_ABOVE and 0 < reported < estimated * 0.5


async def _look_at(port: int, kind: str) -> LocalServer | None:
    base = f"http://127.0.0.1:{port}/v1"
    listed = await _ask(f"{base}/models", "")
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        return None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    models = tuple(model for model in ids if isinstance(model, str))[:50]
    window, trained = await real_context(base, "", models[0] if models else "")
    return LocalServer(base, kind, models, window, trained)


async def _nothing() -> None:
    return None


async def _ask(url: str, key: str, body: Mapping[str, Any] | None = None) -> Any:
    try:
        async with asyncio.timeout(_PATIENCE):
            status, content = await fetch_json(url, key, seconds=_PATIENCE, body=body)
    except (ModelError, TimeoutError):
        return None
    return content if status == 200 else None


def _number(content: Any, *path: str) -> int | None:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content if type(content) is int and content > 0 else None


def _row_number(content: Any, model: str, *path: str) -> int | None:
    """Return a number of the row for `model` (or of the only row) in a list of models."""
    rows = content.get("data") or content.get("models") if isinstance(content, dict) else None
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    named = [
        row for row in rows if model and model in (row.get("id"), row.get("name"), row.get("model"))
    ]
    for row in named or (rows if len(rows) == 1 else []):
        number = _number(row, *path)
        if number:
            return number
    return None


def _ollama_parameter(shown: Any) -> int | None:
    parameters = shown.get("parameters") if isinstance(shown, dict) else None
    found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return int(found[1]) if found and len(found[1]) < 10 else None


def _ollama_trained(shown: Any) -> int | None:
    details = shown.get("model_info") if isinstance(shown, dict) else None
    if not isinstance(details, dict):
        return None
    return _first(
        [_number(details, name) for name in details if str(name).endswith(".context_length")]
    )


def _first(numbers: list[int | None]) -> int | None:
    return next((number for number in numbers if number), None)
