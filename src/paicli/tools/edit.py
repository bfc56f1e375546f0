"""write_file and edit_file: a file's new content, with everything else about it as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from pydantic import Field

from paicli.display import Diff
from paicli.errors import EditError, PolicyDenied, ToolFailed
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.policy.sensitive import why_ask
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.changes import diff
from paicli.tools.disk import Disk, FileImage
from paicli.tools.encoding import UTF8, BinaryFile, Decoded, decode
from paicli.tools.lenient import LenientParameters
from paicli.tools.text_match import apply_edit
from paicli.tools.threads import in_thread

MAX_BYTES = 5 * 1024 * 1024


class WriteFile(LenientParameters):
    """Create a file, or replace its whole content. Missing folders are made. To change a part of a
    file use edit_file."""

    path: str = Field(description="inside the project")
    content: str = Field(description="the whole new text, at most 5 MB")


class EditFile(LenientParameters):
    """Replace a piece of a file. old_text must be copied exactly from the file, without line
    numbers, and be found once: take enough lines around it. Encoding and line ends are kept."""

    path: str
    old_text: str
    new_text: str = Field(description="may be empty to delete")
    replace_all: bool = Field(default=False, description="replace every exact occurrence")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What will be written where, and what the model and the person are told about it."""

    path: Path
    data: bytes
    was: FileImage | None
    before: str | None
    after: str
    report: str


def write_file_tool(disk: Disk) -> Tool[WriteFile]:
    """Return the tool that creates files and replaces them whole."""

    async def run(parameters: WriteFile, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda stop: write(parameters, stop))

    def write(parameters: WriteFile, stop: Event) -> ToolOutput:
        _check_size(parameters)
        path = _target(disk, parameters.path)
        with disk.exclusively(path):
            plan = _plan_write(disk, path, parameters.content)
            if plan.was is not None and disk.changed_since_seen(plan.was):
                raise ToolFailed(
                    f"{disk.guard.name(path)} was changed on disk since you last read it, not by "
                    "you. Nothing was written. Read it again; if it shall be replaced all the "
                    "same, call write_file again.",
                    "changed",
                )
            return _carry_out(disk, plan, stop)

    return Tool(
        name="write_file",
        parameters=WriteFile,
        run=run,
        effect=Effect.WRITE,
        subject=lambda parameters: parameters.path,
        preview=lambda parameters: _diff(
            disk, _plan_write(disk, _target(disk, parameters.path), parameters.content)
        ),
        guard=lambda parameters: _refusal(disk, parameters.path, parameters),
        asks=lambda parameters: why_ask(disk.guard, parameters.path),
    )


def edit_file_tool(disk: Disk) -> Tool[EditFile]:
    """Return the tool that replaces a piece of a file."""

    async def run(parameters: EditFile, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda stop: edit(parameters, stop))

    def edit(parameters: EditFile, stop: Event) -> ToolOutput:
        path = _target(disk, parameters.path)
        with disk.exclusively(path):
            return _carry_out(disk, _plan_edit(disk, path, parameters), stop)

    return Tool(
        name="edit_file",
        parameters=EditFile,
        run=run,
        effect=Effect.WRITE,
        subject=lambda parameters: parameters.path,
        preview=lambda parameters: _diff(
            disk, _plan_edit(disk, _target(disk, parameters.path), parameters)
        ),
        guard=lambda parameters: _refusal(disk, parameters.path),
        asks=lambda parameters: why_ask(disk.guard, parameters.path),
    )


def _check_size(parameters: WriteFile) -> None:
    size = len(parameters.content.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise PolicyDenied(
            f"content has {size:,} bytes; the limit is 5 MB. Write less, or let a command make the "
            "file."
        )


def _target(disk: Disk, path: str) -> Path:
    real = disk.guard.resolve(path)
    if path.endswith(("/", "/.")) or real == disk.guard.root:
        raise ToolFailed(f"{path} names a folder. Give the path of a file.")
    if re.match(r"~(\w*/|$)", path) and not (disk.guard.root / Path(path).parts[0]).exists():
        raise PolicyDenied(
            f"{path}: ~ is not expanded, and the home folder is outside the project. Give a path "
            "inside the project."
        )
    return real


def _refusal(disk: Disk, path: str, written: WriteFile | None = None) -> str | None:
    try:
        if written is not None:
            _check_size(written)
        _target(disk, path)
    except PolicyDenied as denied:
        return str(denied)
    except ToolFailed:
        return None  # told when it runs: not a matter of policy
    return None


def _diff(disk: Disk, plan: _Plan) -> Diff:
    return diff(disk.guard.name(plan.path), plan.before, plan.after)


def _carry_out(disk: Disk, plan: _Plan, stop: Event) -> ToolOutput:
    name = disk.guard.name(plan.path)
    if plan.was is not None and plan.was.data == plan.data:
        disk.saw(plan.was)
        return ToolOutput(
            f"{name} has this content already; nothing was written.", summary=t("tool.unchanged")
        )
    disk.replace(plan.path, plan.data, plan.was, stop)
    change = _diff(disk, plan)
    return ToolOutput(
        f"{plan.report} +{change.added} −{change.removed} lines.",
        summary=f"+{change.added} −{change.removed}",
        display=change,
    )


def _plan_write(disk: Disk, path: Path, content: str) -> _Plan:
    name = disk.guard.name(path)
    was = disk.load_if_there(path)
    if was is None:
        return _Plan(path, UTF8.encode(content), None, None, content, f"Created {name}.")
    try:
        old = decode(was.data)
    except BinaryFile:
        data = UTF8.encode(content)
        return _Plan(path, data, was, None, content, f"Replaced {name}, which was binary.")
    encoding = old.encoding
    if encoding.errors != "strict":
        encoding = replace(encoding, errors="strict")
    if encoding.mark:
        content = content.removeprefix("\ufeff")
    kept = [f"its encoding ({encoding.label})"] if encoding.label else []
    if _all_crlf(old.text) and "\r\n" not in content and "\n" in content:
        content = content.replace("\n", "\r\n")
        kept.append("its CRLF line ends")
    note = f" Kept {' and '.join(kept)}." if kept else ""
    return _Plan(
        path, encoding.encode(content), was, old.text, content, f"Wrote {name} over.{note}"
    )


def _all_crlf(text: str) -> bool:
    newlines = text.count("\n")
    return newlines > 0 and text.count("\r\n") == newlines


def _plan_edit(disk: Disk, path: Path, parameters: EditFile) -> _Plan:
    name = disk.guard.name(path)
    was = disk.load(path)
    old = _decoded(name, was)
    if len(was.data) > 2 * MAX_BYTES:
        raise ToolFailed(f"{name} is larger than 5 MB, too large for edit_file. Use a command.")
    try:
        edit = apply_edit(
            old.text,
            _without_mark(parameters.old_text, old),
            _without_mark(parameters.new_text, old),
            parameters.replace_all,
        )
    except EditError as error:
        raise EditError(f"{error} (file: {name})", error.reason) from None
    data = old.encoding.encode(edit.content)
    if len(data) > MAX_BYTES:
        raise PolicyDenied(f"{name} would be larger than 5 MB after the edit. Nothing was changed.")
    notes = []
    if parameters.replace_all:
        notes.append(f"{edit.count} occurrences")
    if edit.prefixes_stripped:
        notes.append("line numbers in old_text were ignored: leave them out")
    if edit.fuzzy:
        notes.append("matched although blanks or punctuation differ: the file has other ones")
    note = f" ({'; '.join(notes)})" if notes else ""
    report = f"Edited {name} at line {edit.line}{note}."
    return _Plan(path, data, was, old.text, edit.content, report)


def _decoded(name: str, image: FileImage) -> Decoded:
    try:
        return decode(image.data)
    except BinaryFile as error:
        raise BinaryFile(f"{name} cannot be edited as text. {error}") from None


def _without_mark(text: str, old: Decoded) -> str:
    """Drop a byte order mark that the model copied: it belongs to the file, not to its text."""
    return text.removeprefix("\ufeff") if old.encoding.mark else text
