"""`/init`: a first PAI.md, made of what the project's own files say and of nothing else."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paicli.text import clean

NOTES = "PAI.md"
_MOST = 5
_MOST_BYTES = 500_000
_MOST_COUNTED = 1_000
_SKIPPED = frozenset({"node_modules", "target", "build", "dist", "venv", "__pycache__", "vendor"})
_TARGET = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)", re.M)
_XML_NAME = re.compile(r"<artifactId>([^<]{1,100})</artifactId>")


@dataclass(slots=True)
class _Facts:
    """What was found: commands to use, and sentences about the project."""

    commands: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)


def project_notes(root: Path) -> str:
    """Return the text of a PAI.md for the project in `root`."""
    facts = _Facts()
    for name, look in _SOURCES.items():
        text = _text(root / name)
        if text is not None:
            try:
                look(root, text, facts)
            except (ValueError, TypeError, AttributeError):
                facts.about.append(f"`{name}` is there, but it could not be read.")
    parts = ["# PAI.md"]
    for title, lines in (
        ("Commands", facts.commands),
        ("What This Is", facts.about),
        ("Architecture", _folders(root)),
    ):
        if lines:
            kept = list(dict.fromkeys(" ".join(clean(line).split()) for line in lines))[:_MOST]
            parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in kept))
    return "\n\n".join(parts) + "\n"


def _text(file: Path) -> str | None:
    """Return the text of a small regular file, None for anything else."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return opened.read(_MOST_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return None


def _python(_root: Path, text: str, facts: _Facts) -> None:
    content: dict[str, Any] = tomllib.loads(text)
    project, tools = content.get("project", {}), content.get("tool", {})
    facts.about.append(_named("A Python project", project.get("name"), project.get("description")))
    if "pytest" in tools:
        facts.commands.append("Test: `python -m pytest`")
    if "ruff" in tools:
        facts.commands.append("Lint: `ruff check .`")
    if "mypy" in tools:
        facts.commands.append("Types: `mypy`")
    facts.about += [
        f"The command `{name}` starts `{target}`."
        for name, target in project.get("scripts", {}).items()
    ]


def _node(root: Path, text: str, facts: _Facts) -> None:
    content: dict[str, Any] = json.loads(text)
    managers = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}
    manager = next((m for lock, m in managers.items() if (root / lock).exists()), "npm")
    facts.about.append(_named("A Node project", content.get("name"), content.get("description")))
    for script, command in content.get("scripts", {}).items():
        facts.commands.append(f"`{manager} run {script}` ({command})")


def _maven(root: Path, text: str, facts: _Facts) -> None:
    start = "./mvnw" if (root / "mvnw").exists() else "mvn"
    own = re.sub(r"<parent>.*?</parent>", "", text, flags=re.S)
    name = _XML_NAME.search(own)
    facts.about.append(_named("A Maven project", name[1] if name else None, None))
    facts.commands += [f"Test: `{start} -q test`", f"Build: `{start} -q package`"]


def _cargo(_root: Path, text: str, facts: _Facts) -> None:
    package = tomllib.loads(text).get("package", {})
    facts.about.append(_named("A Rust project", package.get("name"), package.get("description")))
    facts.commands += ["Test: `cargo test`", "Lint: `cargo clippy`"]


def _go(_root: Path, text: str, facts: _Facts) -> None:
    module = re.search(r"^module\s+(\S+)", text, re.M)
    facts.about.append(_named("A Go module", module[1] if module else None, None))
    facts.commands += ["Test: `go test ./...`", "Check: `go vet ./...`"]


def _make(_root: Path, text: str, facts: _Facts) -> None:
    targets = [name for name in dict.fromkeys(_TARGET.findall(text)) if name != "PHONY"]
    facts.commands += [f"`make {name}`" for name in targets]


_SOURCES: dict[str, Callable[[Path, str, _Facts], None]] = {
    "Makefile": _make,
    "pyproject.toml": _python,
    "package.json": _node,
    "pom.xml": _maven,
    "Cargo.toml": _cargo,
    "go.mod": _go,
}


def _named(kind: str, name: object, description: object) -> str:
    sentence = f"{kind}, `{name}`" if isinstance(name, str) and name else kind
    return (
        f"{sentence}: {description}"
        if isinstance(description, str) and description
        else f"{sentence}."
    )


def _folders(root: Path) -> list[str]:
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    found = []
    for name in names:
        if not name.startswith(".") and name not in _SKIPPED:
            count = sum(1 for _ in _files(root / name))
            if count:
                more = "+" if count == _MOST_COUNTED else ""
                found.append(f"`{name}/`: {count}{more} file{'' if count == 1 else 's'}")
    return found


def _files(folder: Path) -> list[str]:
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        found += [os.path.join(place, name) for name in files]  # noqa: PTH118  names only, many of them
        if len(found) >= _MOST_COUNTED:
            return found[:_MOST_COUNTED]
    return found


def write_notes(root: Path, *, force: bool) -> str:
    """Write the notes into PAI.md and return them.

    Raises FileExistsError when the file is there already (and is not to be replaced, or is no
    ordinary file), another OSError when it cannot be written.
    """
    file = root / NOTES
    if file.is_symlink() or (file.exists() and not (force and file.is_file())):
        raise FileExistsError(str(file))
    text = project_notes(root)
    fresh = file.with_name(f".{NOTES}.{os.getpid()}.tmp")
    try:
        with fresh.open("x", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        fresh.replace(file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return text
