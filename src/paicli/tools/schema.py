"""Parameter models as the JSON Schema that a model reads: plain, nothing it does not need."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from paicli.errors import ToolFailed
from paicli.tools.base import Tool
from paicli.tools.parameters import Parameters

_NOISE = ("title", "additionalProperties", "$defs")


def definition(tool: Tool[Any]) -> bytes:
    """Return the tool as one entry of the request's `tools`, serialised."""
    schema = tool.parameters.model_json_schema()
    definitions = schema.get("$defs", {})
    properties = {
        name: _plain(described, definitions)
        for name, described in schema.get("properties", {}).items()
    }
    parameters = {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
    }
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    body = {"type": "function", "function": function}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        schema = {**choices[0], **rest}
    plain = {key: value for key, value in schema.items() if key not in _NOISE}
    if plain.get("default", ...) is None:
        del plain["default"]
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions)
    if "properties" in plain:
        plain["properties"] = {
            name: _plain(described, definitions) for name, described in plain["properties"].items()
        }
    return plain


def validated(tool: Tool[Any], arguments: dict[str, Any]) -> Parameters:
    """Return the arguments as the tool's parameters.

    A null for an optional parameter counts as left out: many models fill in every name. Raises
    ToolFailed with what is wrong and what the parameters are.
    """
    fields = tool.parameters.model_fields
    given = {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in fields or fields[name].is_required()
    }
    try:
        checked: Parameters = tool.parameters.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(_problem(dict(detail)) for detail in error.errors()[:5])
        expected = ", ".join(
            f"{name} (required)" if field.is_required() else name for name, field in fields.items()
        )
        raise ToolFailed(
            f"Invalid arguments for {tool.name}: {problems}. Parameters: {expected}.", "arguments"
        ) from None
    return checked


def _problem(detail: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in detail["loc"]) or "arguments"
    if detail["type"] == "extra_forbidden":
        return f"`{name}` is not a parameter"
    if detail["type"] == "missing":
        return f"`{name}` is missing"
    return f"`{name}`: {detail['msg']}"
