"""The base of all parameter models. Apart from `tools.base`, so that a tool can be named without pydantic."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Base of all parameter models; docstring and field descriptions are what the model reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)
