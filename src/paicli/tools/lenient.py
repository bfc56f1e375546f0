"""Tool arguments as models really send them."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, model_validator

from paicli.tools.parameters import Parameters


class LenientParameters(Parameters):
    """Parameters that take a number for a text, and null for an optional one left out."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _nulls_are_absent(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {
            name: value
            for name, value in values.items()
            if not (value is None and name in cls.model_fields)
            and not (value == "" and name in cls.model_fields and cls._is_not_text(name))
        }

    @classmethod
    def _is_not_text(cls, name: str) -> bool:
        return cls.model_fields[name].annotation in (int, bool)
