"""Running file tools the way an agent does, and reading the case files that may lie beside the project."""

import asyncio
import base64
import json
import zlib
from pathlib import Path

import pytest

from paicli.errors import EditError, PaiCliError
from paicli.policy.path_guard import PathGuard
from paicli.tools.files import file_tools

CASES = Path(__file__).parents[2].parent / "shared" / "cases"


class Tools:
    """The file tools of one session on `root`."""

    def __init__(self, root):
        self.guard = PathGuard(root)
        self.by_name = {tool.name: tool for tool in file_tools(self.guard)}

    async def call(self, name, /, **arguments):
        tool = self.by_name[name]
        parameters = tool.parameters.model_validate(arguments)
        if tool.guard and (reason := tool.guard(parameters)):
            return Outcome(False, reason, None)
        try:
            output = await tool.run(parameters, lambda _text: None)
        except PaiCliError as error:
            reason = error.reason if isinstance(error, EditError) else type(error).__name__
            return Outcome(False, str(error), reason)
        return Outcome(output.ok, output.text, None, output)

    def do(self, name, /, **arguments):
        return asyncio.run(self.call(name, **arguments))

    def preview(self, name, /, **arguments):
        tool = self.by_name[name]
        return tool.preview(tool.parameters.model_validate(arguments))

    def asks(self, name, /, **arguments):
        tool = self.by_name[name]
        return tool.asks(tool.parameters.model_validate(arguments))


class Outcome:
    def __init__(self, ok, text, reason, output=None):
        self.ok, self.text, self.reason, self.output = ok, text, reason, output

    def __repr__(self):
        return f"Outcome(ok={self.ok}, reason={self.reason}, text={self.text[:300]!r})"


def rows(name, **wanted):
    """Return pytest parameters of a case file; a single skipped one when it is not there."""
    path = CASES / name
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no {name} beside the project"))]
    cases = [json.loads(line) for line in path.read_bytes().splitlines()]
    cases = [c for c in cases if all(c.get(key) == value for key, value in wanted.items())]
    return [pytest.param(case, id=case["id"]) for case in cases]


def packed(value, key="file"):
    if f"{key}_z" in value:
        return zlib.decompress(base64.b64decode(value[f"{key}_z"]))
    return base64.b64decode(value[key])


REASONS = {"binary": "BinaryFile"}

__all__ = ["REASONS", "EditError", "Tools", "packed", "rows"]
