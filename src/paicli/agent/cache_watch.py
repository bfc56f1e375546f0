"""Why a provider's prompt cache missed: what changed in the part that should have been the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from paicli.llm.messages import Message, Usage
from paicli.values import value

_WORTH_TELLING = 2_000
_FEW = 0.5
_KEPT = 20


@value
class Miss:
    """One request whose cached part was much smaller than it could have been.

    `cause` is `message`, `tools`, `model` or `provider` (nothing changed on our side); `what` names the
    message (its number from 1 and its role) or the tool; `tokens` were read anew.
    """

    request: int
    cause: str
    what: str
    tokens: int


class CacheWatch:
    """Compares each request with the one before. Bounded: it keeps one request and the last misses."""

    def __init__(self) -> None:
        self.misses: deque[Miss] = deque(maxlen=_KEPT)
        self._request = 0
        self._model = ""
        self._messages: list[Message] = []
        self._tools: dict[str, bytes] = {}
        self._input = 0
        self._change: tuple[str, str] | None = None

    def sent(self, model: str, messages: Sequence[Message], tools: Mapping[str, bytes]) -> None:
        """Take in a request before it goes out."""
        self._request += 1
        self._change = self._changed(model, messages, tools) if self._messages else None
        self._model, self._messages, self._tools = model, list(messages), dict(tools)

    def answered(self, usage: Usage) -> None:
        """Take in what the provider counted for it."""
        lost = self._input - usage.cached
        reports_caching = usage.cached > 0 or self._change is not None
        if reports_caching and lost >= _WORTH_TELLING and usage.cached < self._input * _FEW:
            cause, what = self._change or ("provider", "")
            self.misses.append(Miss(self._request, cause, what, lost))
        self._input = usage.input

    def _changed(
        self, model: str, messages: Sequence[Message], tools: Mapping[str, bytes]
    ) -> tuple[str, str] | None:
        if model != self._model:
            return "model", model
        if tools != self._tools:
            names = [
                name
                for name in {**self._tools, **tools}
                if self._tools.get(name) != tools.get(name)
            ]
            return "tools", ", ".join(names[:3])
        if list(messages[: len(self._messages)]) == self._messages:
            return None
        for place, (before, now) in enumerate(zip(self._messages, messages, strict=False), start=1):
            if before != now:
                return "message", f"{place} ({before.role})"
        return "message", f"{len(messages) + 1} ({self._messages[len(messages)].role})"
