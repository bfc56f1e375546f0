"""Tool calls put together from fragments, however a server numbers, names and repeats them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Container, Mapping
from typing import Any

from paicli.errors import ModelError
from paicli.i18n import t
from paicli.llm.arguments import is_whole_object, legal_arguments
from paicli.llm.messages import ToolCall
from paicli.text import clean

_log = logging.getLogger(__name__)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:-]")
_MAX_NAME = 128
_MAX_ID = 200
_MOST_CALLS = 128
"""Of one reply: far more than a model that means it asks for, few enough to carry out and to stop."""
_TOO_MANY = (
    f"One reply may hold at most {_MOST_CALLS} calls. This call and all calls after it in the same reply were"
    " not run, the ones before it were. Call again what is still needed, fewer at a time."
)


class _Slot:
    """One call in the making."""

    __slots__ = ("characters", "id", "key", "name", "parts", "whole")

    def __init__(self, key: int | None) -> None:
        self.key = key
        self.id = ""
        self.name = ""
        self.parts: list[str] = []
        self.characters = 0
        self.whole = False
        """The arguments came as a JSON object, not as text; another object replaces them."""

    def add_arguments(self, arguments: Any) -> None:
        if arguments is None or arguments == "":
            return
        if isinstance(arguments, str):
            if not self.whole and not self._repeats(arguments):
                self.parts.append(arguments)
                self.characters += len(arguments)
            return
        try:
            text = json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            raise ModelError(t("wire.bad_json")) from None
        if isinstance(arguments, dict):
            if self.parts and not self.whole and arguments == {}:
                return  # an empty object beside text that has begun says nothing
            self.parts.clear()
            self.characters, self.whole = 0, True
        self.parts.append(text)
        self.characters += len(text)

    def _repeats(self, arguments: str) -> bool:
        """Tell whether a whole object is sent a second time; nothing may follow one."""
        return (
            len(arguments) == self.characters > 1
            and arguments[0] == "{"
            and arguments == self.arguments
        )

    def is_followed_by_another(self, name: str, arguments: Any) -> bool:
        """Tell whether a fragment that has a name, but neither id nor a new index, is another call."""
        if not name or not self.name or not self.parts:
            return False
        if not (self.whole or self.parts[-1].rstrip().endswith("}")):
            return False
        begins = isinstance(arguments, dict) or (
            isinstance(arguments, str) and arguments.lstrip().startswith("{")
        )
        if not begins and (arguments or name == self.name):
            return False
        return arguments != self.arguments and is_whole_object(self.arguments)

    @property
    def arguments(self) -> str:
        if len(self.parts) > 1:
            self.parts[:] = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class CallAssembler:
    """Collects the `tool_calls` deltas of one reply.

    A fragment's index is only a key; calls keep the order in which they first appeared. `offered`
    are the names of the tools in the request. Of the calls past the bound one is kept, without its
    arguments, whose error says that it and the others were not run.
    """

    def __init__(self, offered: Container[str]) -> None:
        self._offered = offered
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, fragment: Any) -> tuple[str, int] | None:
        """Take one element of a `tool_calls` delta; return the call's name and size so far."""
        if not isinstance(fragment, dict):
            return None
        function = fragment.get("function")
        if not isinstance(function, dict):
            function = fragment
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        arguments = function.get("arguments")
        index, identifier = _index(fragment.get("index")), _identifier(fragment.get("id"))
        slot = self._known_slot(index, identifier, name, arguments)
        if slot is None:
            if len(self._slots) > _MOST_CALLS:
                return None
            slot = _Slot(index)
            self._slots.append(slot)
        if identifier and not slot.id:
            slot.id = identifier
            self._by_id[identifier] = slot
        if index is not None:
            self._by_index[index] = slot
        if name:
            slot.name = self._joined_name(slot.name, name)
        if len(self._slots) <= _MOST_CALLS or slot is not self._slots[-1]:
            slot.add_arguments(arguments)
        return slot.name, slot.characters

    def build(self, finish_reason: str | None) -> tuple[tuple[ToolCall, ...], bool]:
        """Return the calls, and whether one was left out because it names no tool."""
        calls: list[ToolCall] = []
        nameless = False
        used: set[str] = set()
        for place, slot in enumerate(self._slots):
            name = self._legal_name(slot.name)
            if not name:
                if slot.parts or slot.id:
                    nameless = True
                    _log.warning("a tool call without a name was left out")
                continue
            identifier = slot.id
            if not identifier:
                identifier = f"call_{place if slot.key is None else slot.key}"
                _log.warning("a tool call came without an id; it is called %s here", identifier)
            identifier = _unused(identifier, used)
            arguments, error = legal_arguments(slot.arguments, finish_reason)
            if place == _MOST_CALLS:
                error = _TOO_MANY
            calls.append(ToolCall(identifier, name, arguments, error))
        return tuple(calls), nameless

    def _known_slot(
        self, index: int | None, identifier: str, name: str, arguments: Any
    ) -> _Slot | None:
        """Return the call that a fragment belongs to; None when it begins another."""
        if index is not None:
            slot = self._by_index.get(index)
            if slot is None or (identifier and identifier == slot.id):
                return slot
            if not identifier or not slot.id:
                return None if slot.is_followed_by_another(name, arguments) else slot
            same_id = self._by_id.get(identifier)
            if same_id is not None and same_id.key == index:
                return same_id
            # A new id starts a new call; but some servers give every fragment an id of its own,
            # and a fragment without a name starts nothing.
            return None if name else slot
        if identifier:
            return self._by_id.get(identifier)
        last = self._slots[-1] if self._slots else None
        if last is None or last.is_followed_by_another(name, arguments):
            return None
        other = name and name != last.name and last.name in self._offered
        return None if other and self._joined_name(last.name, name) == last.name else last

    def _joined_name(self, have: str, new: str) -> str:
        if not have:
            return new
        joined = have + new
        if joined in self._offered:
            return joined
        if new == have or have in self._offered:
            return have
        return new if new.startswith(have) else joined

    def _legal_name(self, name: str) -> str:
        name = clean(name).strip()
        if name not in self._offered and name.removeprefix("functions.") in self._offered:
            name = name.removeprefix("functions.")
        return _NOT_IN_A_NAME.sub("_", name)[:_MAX_NAME]


def fragments_of(delta: Mapping[str, Any]) -> list[Any]:
    """Return the call fragments of a delta: its `tool_calls`, or the older `function_call`."""
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        return calls
    if isinstance(calls, dict):
        return [calls]
    older = delta.get("function_call")
    return [{"index": 0, "function": older}] if isinstance(older, dict) and older else []


def _index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 9 else None


def _identifier(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return clean(value).strip()[:_MAX_ID] if isinstance(value, str) else ""


def _unused(identifier: str, used: set[str]) -> str:
    candidate, number = identifier, 2
    while candidate in used:
        candidate = f"{identifier}_{number}"
        number += 1
    used.add(candidate)
    return candidate
