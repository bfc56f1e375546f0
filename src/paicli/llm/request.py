"""The bytes of a request. A conversation grows at its end, and so do its bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from paicli.llm.messages import Message
from paicli.llm.providers import ModelProfile


class RequestBody:
    """Makes the requests for one model; keeps the bytes of the last conversation to add to them."""

    def __init__(self, profile: ModelProfile) -> None:
        fields = {"model": profile.model, "stream": True, **profile.extra_body}
        self._head = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
        self._with_reasoning = profile.sends_reasoning
        self._messages: list[Message] = []
        self._wire = bytearray()

    def body(self, messages: Sequence[Message], tools: Mapping[str, bytes]) -> bytes:
        """Return a request. The messages come last, each as it was sent before."""
        if list(messages[: len(self._messages)]) != self._messages:
            self._messages.clear()
            self._wire.clear()
        for message in messages[len(self._messages) :]:
            self._wire += b"," if self._messages else b""
            self._wire += message.wire(with_reasoning=self._with_reasoning)
            self._messages.append(message)
        offered = (b',"tools":[', b",".join(tools.values()), b"]") if tools else ()
        return b"".join((self._head, *offered, b',"messages":[', self._wire, b"]}"))
