"""`python -m tests.tool_definitions` writes `definitions.jsonl` anew, after a tool's words have changed."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from paicli.agent.plan_review import Always, Choice
from paicli.config import load
from paicli.llm.providers import demo_profile
from paicli.options import Options
from paicli.rig import assemble
from paicli.tools.definitions import FILE
from paicli.tools.schema import definition
from paicli.undo import Files


def made_now(folder):
    """Return the definitions that the parameter models of a whole program give, by name."""
    settings = replace(load(folder, {}, {}).settings, home=folder / "home", snapshots=True)
    files = Files(settings, print, lambda: None)
    try:
        rig = assemble(
            Options(root=folder),
            settings,
            demo_profile(),
            print,
            Always(Choice.KEEP),
            extensions=files.extensions(),
        )
        tools = sorted(rig.toolbox.all, key=lambda tool: tool.name)
        return {tool.name: definition(tool) for tool in tools}
    finally:
        files.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        made = made_now(Path(os.path.realpath(place)))
    FILE.write_bytes(b"".join(line + b"\n" for line in made.values()))
