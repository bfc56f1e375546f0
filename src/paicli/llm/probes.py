"""What an endpoint really does: whether it answers, and a handful of tiny live questions."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from paicli.config import Settings
from paicli.errors import ConfigError, ModelError, ModelRefused
from paicli.i18n import t
from paicli.llm.client import ChatClient
from paicli.llm.deltas import Delta, TextDelta
from paicli.llm.discovery import models_at, models_url
from paicli.llm.messages import ChatResponse, Message, ToolCall
from paicli.llm.provider_table import PROVIDERS
from paicli.llm.providers import ModelProfile, is_configured, profile_of

_PATIENCE = 5.0
_PROBE_SECONDS = 60.0
_WEATHER = {
    "get_weather": json.dumps(
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Return the weather of one city.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                    "required": ["city"],
                },
            },
        }
    ).encode()
}


@dataclass(frozen=True, slots=True)
class ProviderCheck:
    """A configured provider: `problem` is empty when its server answered (or cannot list models)."""

    provider: str
    model: str
    url: str
    problem: str = ""
    models: tuple[str, ...] = ()

    @property
    def model_is_listed(self) -> bool:
        """The server lists no models, or the configured one is among them."""
        return not self.models or self.model in self.models


@dataclass(frozen=True, slots=True)
class Probe:
    """What one question showed. `name` is a stable word; `ok` None: it could not be asked."""

    name: str
    detail: str
    ok: bool | None = True


async def check_providers(settings: Settings) -> tuple[ProviderCheck, ...]:
    """Ask the servers of all configured providers for their models, all at once."""
    names = [name for name in PROVIDERS if is_configured(settings, name)]
    return tuple(await asyncio.gather(*(_check(settings, name) for name in names)))


async def _check(settings: Settings, name: str) -> ProviderCheck:
    try:
        profile = profile_of(settings, name)
    except ConfigError as error:
        return ProviderCheck(name, "", "", str(error))
    problem = ""
    models: tuple[str, ...] = ()
    try:
        async with asyncio.timeout(_PATIENCE):
            models = await models_at(models_url(profile.url), profile.api_key, seconds=_PATIENCE)
    except ModelRefused as error:
        problem = "" if error.status in (404, 405) else str(error)
    except ModelError as error:
        problem = str(error)
    except TimeoutError:
        problem = t("wire.no_answer", seconds=f"{_PATIENCE:g}")
    return ProviderCheck(name, profile.model, profile.url, problem, models)


async def probe(profile: ModelProfile, settings: Settings) -> tuple[Probe, ...]:
    """Ask an endpoint a few short questions and return what it really does."""
    quick = dataclasses.replace(settings, retry_attempts=1, call_timeout=_PROBE_SECONDS)
    client = ChatClient(profile, quick)
    try:
        first, plain = await _ask_plainly(client)
        if plain is None:
            return (first,)
        probes = [first, _usage(plain)]
        if not profile.tools:
            return (*probes, Probe("calls", t("wire.probe_no_tools"), ok=None))
        called = await _attempt("calls", lambda: _ask_for_two(client))
        probes += called[1] if called[1] else [called[0]]
        probes.append((await _attempt("reasoning", lambda: _send_reasoning_back(client)))[0])
        return tuple(probes)
    finally:
        await client.aclose()


async def _attempt(
    name: str, ask: Callable[[], Awaitable[list[Probe]]]
) -> tuple[Probe, list[Probe]]:
    try:
        probes = await ask()
    except ModelError as error:
        return Probe(name, str(error), ok=False), []
    return probes[0], probes


async def _ask_plainly(client: ChatClient) -> tuple[Probe, ChatResponse | None]:
    pieces: list[Delta] = []
    try:
        response = await client.chat(
            [Message("user", "Count from 1 to 10 in digits, nothing else.")], {}, pieces.append
        )
    except ModelError as error:
        return Probe("stream", str(error), ok=False), None
    texts = sum(isinstance(piece, TextDelta) for piece in pieces)
    detail = t("wire.probe_stream", pieces=texts, finish=response.finish_reason or "-")
    return Probe("stream", detail, ok=texts > 1), response


def _usage(response: ChatResponse) -> Probe:
    usage = response.usage
    if usage is None:
        return Probe("usage", t("wire.probe_no_usage"), ok=False)
    return Probe(
        "usage",
        t("wire.probe_usage", input=usage.input, output=usage.output, cached=usage.cached),
    )


async def _ask_for_two(client: ChatClient) -> list[Probe]:
    question = "What is the weather in Paris and in Rome? Call get_weather for both at once."
    response = await client.chat([Message("user", question)], _WEATHER, lambda _: None)
    calls = response.tool_calls
    if not calls:
        key = "wire.probe_call_as_text" if response.unexecuted_call else "wire.probe_no_call"
        return [Probe("calls", t(key), ok=False)]
    in_text = calls[0].id.startswith(("text_call_", "dsml_call_"))
    bad = [call for call in calls if call.error or set(json.loads(call.arguments)) != {"city"}]
    return [
        Probe("calls", t("wire.probe_text_call" if in_text else "wire.probe_native_call")),
        Probe("parallel", t("wire.probe_parallel", count=len(calls)), ok=len(calls) > 1),
        Probe("arguments", t("wire.probe_arguments", bad=len(bad), count=len(calls)), ok=not bad),
    ]


async def _send_reasoning_back(client: ChatClient) -> list[Probe]:
    call = ToolCall("call_0", "get_weather", '{"city":"Paris"}')
    history = [
        Message("user", "What is the weather in Paris? Answer in one word."),
        Message("assistant", None, "I should look it up.", (call,)),
        Message("tool", "sunny", tool_call_id=call.id),
    ]
    await client.chat(history, _WEATHER, lambda _: None)
    sent = client.profile.sends_reasoning
    return [Probe("reasoning", t("wire.probe_reasoning" if sent else "wire.probe_reasoning_off"))]
