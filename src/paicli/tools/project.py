"""create_project: the skeleton of a new program, never over anything that is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Event

from pydantic import Field

from paicli.display import Code
from paicli.errors import PolicyDenied, ToolFailed
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.policy.sensitive import why_ask
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.disk import Disk
from paicli.tools.lenient import LenientParameters
from paicli.tools.threads import in_thread

_POM = """\
<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0"
         xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>{name}</artifactId>
  <version>1.0-SNAPSHOT</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
</project>
"""
_MAIN = """\
def main() -> None:
    print("Hello from {name}")


if __name__ == "__main__":
    main()
"""


class CreateProject(LenientParameters):
    """Make the skeleton of a new project in a new folder. Another type than java, python or node
    gives an empty folder."""

    name: str = Field(description="the folder, relative to the project")
    type: str = Field(description="java, python or node")


def create_project_tool(disk: Disk) -> Tool[CreateProject]:
    """Return the tool that makes project skeletons."""

    async def run(parameters: CreateProject, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda stop: create(parameters, stop))

    def create(parameters: CreateProject, stop: Event) -> ToolOutput:
        folder = disk.guard.resolve(parameters.name)
        kind = parameters.type.strip().lower()
        folders, files = _skeleton(kind, folder.name)
        shown = disk.guard.name(folder)
        _require_free(folder, shown)
        try:
            for part in ("", *folders):
                with disk.guard.parent(folder / part / "x", create=True):
                    pass
        except OSError as error:
            raise ToolFailed(f"{shown} cannot be made: {error.strerror}.") from None
        for name, content in files.items():
            disk.replace(folder / name, content.encode(), None, stop)
        made = [f"{shown}/{name}/" for name in folders] + [f"{shown}/{name}" for name in files]
        known = "" if files else f" {kind or 'This type'} has no skeleton, so the folder is empty."
        listing = "\n".join(sorted(made)) or f"{shown}/"
        return ToolOutput(
            f"Created {shown}.{known}\n{listing}",
            summary=t("tool.created", n=len(files)),
            display=Code(listing),
        )

    return Tool(
        name="create_project",
        parameters=CreateProject,
        run=run,
        effect=Effect.WRITE,
        subject=lambda parameters: f"{parameters.name} ({parameters.type})",
        guard=lambda parameters: _refusal(disk, parameters.name),
        asks=lambda parameters: why_ask(disk.guard, parameters.name),
    )


def _refusal(disk: Disk, name: str) -> str | None:
    try:
        disk.guard.resolve(name)
    except PolicyDenied as denied:
        return str(denied)
    return None


def _require_free(folder: Path, shown: str) -> None:
    """Accept a folder that is not there yet, or is empty."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise ToolFailed(
            f"{shown} exists already and is not an empty folder. Nothing was made. Choose another "
            "name, or use write_file."
        )


def _skeleton(kind: str, name: str) -> tuple[list[str], dict[str, str]]:
    """Return the folders and files of a kind of project."""
    if kind == "java":
        return ["src/main/java", "src/main/resources"], {
            "pom.xml": _POM.format(name=_identifier(name, "-"))
        }
    if kind == "python":
        package = _identifier(name, "_")
        return [], {
            f"{package}/__init__.py": "",
            "main.py": _MAIN.format(name=package),
            "requirements.txt": "",
        }
    if kind == "node":
        manifest = {"name": _identifier(name, "-"), "version": "1.0.0", "private": True}
        return [], {"package.json": json.dumps(manifest, indent=2) + "\n"}
    return [], {}


def _identifier(name: str, joiner: str) -> str:
    """Return a name that Maven, npm and Python take, made of the folder's."""
    plain = re.sub(r"[^a-z0-9]+", joiner, name.lower()).strip(joiner) or "app"
    return f"app{joiner}{plain}" if plain[0].isdigit() else plain
