"""The arguments of a tool call, as a model wrote them, made legal or refused; never repaired."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from paicli.text import clean

CUT_REASONS = frozenset({"length", "max_tokens", "model_length", "content_filter"})
"""The finish reasons that mean: the model was stopped in the middle of what it wrote."""

_SHOWN = 200
_MOST_LEVELS = 64
"""No tool's arguments come near; far deeper ones would exhaust the stack of whoever handles them."""
_TOO_DEEP = "The arguments are nested too deeply; the tool was not run. Use flat arguments."


def legal_arguments(text: str, finish_reason: str | None) -> tuple[str, str | None]:
    """Return the arguments as the text of one JSON object, and why the call must not run, if so.

    Text that is one whole object stays byte for byte. Raw control characters in its strings, a
    second layer of encoding and lone surrogates are accepted and written anew. Anything else
    becomes `{}` with an error that tells the model what was wrong.
    """
    cut = finish_reason in CUT_REASONS
    text = clean(text)
    if not text.strip():
        return "{}", _cut_message(finish_reason, text) if cut else None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        as_written = True
    except ValueError as strict_problem:
        try:
            value = _LENIENT.decode(text)
        except (ValueError, RecursionError):
            if cut:
                return "{}", _cut_message(finish_reason, text)
            return "{}", _not_json_message(strict_problem, text)
        as_written = False
    except RecursionError:
        return "{}", _TOO_DEEP
    if isinstance(value, str):
        value, as_written = _decode_again(value), False
    if not isinstance(value, dict):
        return "{}", _not_object_message(value)
    if _is_too_deep(value):
        return "{}", _TOO_DEEP
    if as_written and "\\u" not in text:
        return text, None
    written = json.dumps(value, ensure_ascii=False)
    cleaned = clean(written)
    return (text if as_written and cleaned == written else cleaned), None


def _is_too_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for _ in range(_MOST_LEVELS):
        inner = [child.values() if isinstance(child, dict) else child for child in level]
        level = [one for children in inner for one in children if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def is_whole_object(text: str) -> bool:
    """Tell whether `text` is already one whole JSON object."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(_LENIENT.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_LENIENT = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def _decode_again(text: str) -> Any:
    try:
        inner = _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, dict) else text


def _cut_message(finish_reason: str | None, text: str) -> str:
    return (
        f"The reply was cut off (finish_reason: {finish_reason}) inside this call's arguments after "
        f"{len(text)} characters, so the tool was not run. Write less in one call: split large "
        "content over several smaller calls."
    )


def _not_json_message(problem: ValueError, text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return (
        f"The arguments are not valid JSON ({problem}), so the tool was not run. "
        f"Send one JSON object. You wrote: {shown}"
    )


def _not_object_message(value: Any) -> str:
    kind = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return (
        f"The arguments must be a JSON object, but they are {kind.get(type(value), 'a number')}; "
        "the tool was not run."
    )
