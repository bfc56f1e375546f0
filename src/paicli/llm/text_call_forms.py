"""The forms in which models write tool calls as text, each read strictly: all of it or nothing.

Every function takes the text from the first marker on and returns the calls as (name, arguments)
with the text that is left, or None when anything about it is doubtful.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any

from paicli.llm.text_call_signs import MAX_CHARACTERS

Found = tuple[list[tuple[str, dict[str, Any]]], str]
Form = Callable[[str, Collection[str]], Found | None]

_MAX_CALLS = 32
_MAX_PARAMETERS = 64
_NAME = r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"

_BARS = "\uff5c{1,2}"
_DSML = f"{_BARS}DSML{_BARS}\\s*"
_DSML_MARKER = re.compile(f"<\\s*/?\\s*{_BARS}DSML")
_DSML_BLOCK = re.compile(
    rf"<{_DSML}(?P<kind>tool_calls|function_calls|calls)>(?P<body>.*?)</{_DSML}(?P=kind)>", re.S
)
_DSML_INVOKE = re.compile(rf'\s*<{_DSML}invoke name="({_NAME})">(.*?)</{_DSML}invoke>', re.S)
_DSML_PARAMETER = re.compile(
    rf'\s*<{_DSML}parameter name="({_NAME})" string="(true|false)">(.*?)</{_DSML}parameter>', re.S
)

_TAGGED = re.compile(r"<tool_call>(?P<body>.*?)(?:</tool_call>|\Z)", re.S)
_FUNCTION = re.compile(rf"\s*<function=({_NAME})>(?P<body>.*?)</function>\s*", re.S)
_FUNCTION_PARAMETER = re.compile(rf"\s*<parameter=({_NAME})>(.*?)</parameter>", re.S)

_KIMI_SECTION = re.compile(
    r"<\|tool_calls_section_begin\|>(?P<body>.*?)(?:<\|tool_calls_section_end\|>|\Z)", re.S
)
_KIMI_CALL = re.compile(
    rf"\s*<\|tool_call_begin\|>\s*(?:functions\.)?({_NAME}?)(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>",
    re.S,
)

_FLOWERS = re.compile(
    rf"\s*✿FUNCTION✿:?\s*({_NAME})\s*✿ARGS✿:?\s*(.*?)(?=✿FUNCTION✿|✿RESULT✿|✿RETURN✿|\Z)", re.S
)

_FENCED = re.compile(
    r"\s*```[ \t]*(?:json|tool_call|tool|)[ \t]*\r?\n(?P<body>.*?)(?:\n[ \t]*|(?<=\}))```",
    re.S | re.I,
)


def dsml(text: str, offered: Collection[str]) -> Found | None:
    """DeepSeek's tags: exactly one block, everything in it in order."""
    block = _DSML_BLOCK.match(text)
    if block is None or len(block[0]) > MAX_CHARACTERS:
        return None
    rest = text[block.end() :]
    invokes = _all_of(_DSML_INVOKE, block["body"])
    if not invokes or len(invokes) > _MAX_CALLS or _DSML_MARKER.search(rest):
        return None
    calls: list[tuple[str, dict[str, Any]]] = []
    for invoke in invokes:
        arguments = _dsml_arguments(invoke[2])
        if arguments is None or invoke[1] not in offered:
            return None
        calls.append((invoke[1], arguments))
    return calls, rest


def _dsml_arguments(body: str) -> dict[str, Any] | None:
    parameters = _all_of(_DSML_PARAMETER, body)
    if parameters is None or len(parameters) > _MAX_PARAMETERS:
        return None
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        name, is_text, value = parameter.groups()
        if name in arguments or _DSML_MARKER.search(value):
            return None
        try:
            arguments[name] = value if is_text == "true" else json.loads(value)
        except (ValueError, RecursionError):
            return None
    return arguments


def marked(text: str, offered: Collection[str]) -> Found | None:
    """`<tool_call>` with JSON or with Qwen's tags inside, Qwen's older marks, Kimi's section."""
    if text.startswith("<tool_call>"):
        return _blocks(text, _TAGGED, offered, _tagged_calls)
    if text.startswith("<|tool_calls_section_begin|>"):
        return _blocks(text, _KIMI_SECTION, offered, _kimi_calls)
    if text.startswith("<|tool_call_begin|>"):
        calls = _kimi_calls(text, offered)
        return (calls, "") if calls else None
    if text.startswith("<function="):
        calls = _function_calls(text.removesuffix("</tool_call>"), offered)
        return (calls, "") if calls else None
    matches = _all_of(_FLOWERS, re.split("✿(?:RESULT|RETURN)✿", text)[0])
    if not matches:
        return None
    found = [_call(match[1], match[2], offered) for match in matches]
    return _complete(found, "")


def fenced(text: str, offered: Collection[str]) -> Found | None:
    """Fenced JSON objects with exactly `name` and `arguments`, and nothing after the last fence."""
    blocks = _all_of(_FENCED, text)
    if not blocks:
        return None
    found: list[tuple[str, dict[str, Any]] | None] = []
    for block in blocks:
        found.extend(_objects(block["body"], offered) or (None,))
    return _complete(found, "")


FORMS: dict[str, Form] = {"dsml": dsml, "marked": marked, "fenced": fenced}


def _all_of(pattern: re.Pattern[str], text: str) -> list[re.Match[str]] | None:
    """Return the matches that cover `text` one after the other, or None when something is between."""
    matches: list[re.Match[str]] = []
    place = 0
    while place < len(text) and not text[place:].isspace():
        match = pattern.match(text, place)
        if match is None or len(matches) > _MAX_CALLS + _MAX_PARAMETERS:
            return None
        matches.append(match)
        place = match.end()
    return matches


def _complete(found: list[tuple[str, dict[str, Any]] | None], rest: str) -> Found | None:
    calls = [call for call in found if call is not None]
    return (calls, rest) if calls and len(calls) == len(found) <= _MAX_CALLS else None


def _blocks(
    text: str,
    pattern: re.Pattern[str],
    offered: Collection[str],
    read: Callable[[str, Collection[str]], list[tuple[str, dict[str, Any]]] | None],
) -> Found | None:
    calls: list[tuple[str, dict[str, Any]]] = []
    for block in pattern.finditer(text):
        found = read(block["body"], offered)
        if not found:
            return None
        calls += found
    rest = pattern.sub("", text)
    return (calls, rest) if calls and len(calls) <= _MAX_CALLS else None


def _tagged_calls(body: str, offered: Collection[str]) -> list[tuple[str, dict[str, Any]]] | None:
    if body.lstrip().startswith("<"):
        return _function_calls(body, offered)
    return _objects(body, offered)


def _function_calls(text: str, offered: Collection[str]) -> list[tuple[str, dict[str, Any]]] | None:
    functions = _all_of(_FUNCTION, text)
    if not functions:
        return None
    calls = []
    for function in functions:
        parameters = _all_of(_FUNCTION_PARAMETER, function["body"])
        if parameters is None or function[1] not in offered:
            return None
        arguments = {p[1]: p[2].removeprefix("\n").removesuffix("\n") for p in parameters}
        if len(arguments) != len(parameters):
            return None
        calls.append((function[1], arguments))
    return calls


def _kimi_calls(text: str, offered: Collection[str]) -> list[tuple[str, dict[str, Any]]] | None:
    matches = _all_of(_KIMI_CALL, text)
    found = [_call(match[1], match[2], offered) for match in matches or ()]
    complete = _complete(found, "")
    return complete[0] if complete else None


def _call(name: str, text: str, offered: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (name, arguments) if name in offered and isinstance(arguments, dict) else None


def _objects(text: str, offered: Collection[str]) -> list[tuple[str, dict[str, Any]]] | None:
    """Return the calls of JSON objects that stand one after the other."""
    decoder = json.JSONDecoder(strict=False)
    calls = []
    text = text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
            return None
        name, arguments = value["name"], value["arguments"]
        if not isinstance(name, str) or name not in offered or not isinstance(arguments, dict):
            return None
        calls.append((name, arguments))
        text = text[end:].lstrip().removeprefix(",").lstrip()
    return calls
