"""read_file and list_dir: what is there, as the model can use it.

A line ends at LF or CRLF, as in grep, git and editors of code; a lone CR, U+2028 or a form feed is
part of its line. All line numbers of the file tools count this way.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from paicli.errors import ToolFailed
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.text import clean
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.disk import Disk
from paicli.tools.encoding import BinaryFile, Decoded, decode
from paicli.tools.lenient import LenientParameters
from paicli.tools.threads import in_thread

_DEFAULT_LINES = 200
_MAX_LINES = 2_000
_MAX_RANGE_CHARS = 60_000
_MAX_LINE_CHARS = 2_000
_WHOLE_MAX_CHARS = 5 * 1024 * 1024
_PUT_ASIDE_CHARS = 30_000
_MAX_ENTRIES = 2_000
_OUTPUTS = (".paicli", "tool-outputs")


class ReadFile(LenientParameters):
    """Read a text file. Without offset and limit: the whole text. With one of them: numbered lines
    (`12 | text`), and how to go on; the numbers are no part of the file."""

    path: str
    offset: int = Field(0, description="first line, from 1")
    limit: int = Field(0, description="number of lines, default 200, at most 2000")


class ListDir(LenientParameters):
    """List a folder's direct entries, hidden ones too: [D] folder, [F] file, [L] link."""

    path: str = "."


def read_file_tool(disk: Disk) -> Tool[ReadFile]:
    """Return the tool that reads a file."""

    async def run(parameters: ReadFile, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda _stop: read(parameters))

    def read(parameters: ReadFile) -> ToolOutput:
        path = disk.guard.resolve(parameters.path)
        image = disk.load(path)
        name = disk.guard.name(path)
        try:
            decoded = decode(image.data)
        except BinaryFile as error:
            raise BinaryFile(f"{name} cannot be shown. {error}") from None
        disk.saw(image)
        if _ranged(parameters):
            start, limit = max(1, parameters.offset), parameters.limit or _DEFAULT_LINES
            return _numbered(name, decoded, start, limit, _MAX_RANGE_CHARS)
        if _too_long(path, decoded.text):
            return _numbered(name, decoded, 1, _DEFAULT_LINES, _PUT_ASIDE_CHARS // 2)
        return _whole(name, decoded)

    def _too_long(path: Path, text: str) -> bool:
        """Tell whether the whole text would be put aside for ever, or is no longer text to read."""
        put_aside = path.relative_to(disk.guard.root).parts[:2] == _OUTPUTS
        return len(text) > (_PUT_ASIDE_CHARS if put_aside else _WHOLE_MAX_CHARS)

    return Tool(
        name="read_file",
        parameters=ReadFile,
        run=run,
        effect=Effect.READ,
        subject=lambda parameters: parameters.path,
        keeps_inline=_ranged,
    )


def _ranged(parameters: ReadFile) -> bool:
    return parameters.offset != 0 or parameters.limit != 0


def _whole(name: str, decoded: Decoded) -> ToolOutput:
    text = decoded.text
    count = _line_count(text)
    if not text:
        return ToolOutput(f"{name} is empty.", summary=t("tool.lines", n=0))
    about = [f"{count} line{'s' if count != 1 else ''}"]
    if "\r\n" in text:
        mixed = text.count("\n") != text.count("\r\n")
        about.append("CRLF and LF line ends" if mixed else "CRLF line ends")
        text = text.replace("\r\n", "\n")
    if decoded.encoding.label:
        about.append(decoded.encoding.label)
    if not text.endswith("\n"):
        about.append("no newline at the end")
    return ToolOutput(
        f"{name} ({', '.join(about)}):\n{clean(text)}", summary=t("tool.lines", n=count)
    )


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _numbered(name: str, decoded: Decoded, start: int, limit: int, room: int) -> ToolOutput:
    lines = decoded.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if start > total:
        return ToolOutput(
            f"{name} has {total} line{'s' if total != 1 else ''}; there is no line {start}.",
            summary=t("tool.lines", n=0),
        )
    limit = min(max(limit, 1), _MAX_LINES)
    widest = max(_MAX_LINE_CHARS, room // (2 * limit))
    shown: list[str] = []
    for number, line in enumerate(lines[start - 1 : start - 1 + limit], start):
        text = clean(line.removesuffix("\r"))
        if len(text) > widest:
            text = f"{text[:widest]} … [line cut: it has {len(text):,} characters]"
        room -= len(text) + 8
        if room < 0 and shown:
            break
        shown.append(f"{number:5} | {text}")
    last = start + len(shown) - 1
    head = f"{name} (lines {start}-{last} of {total})"
    if decoded.encoding.label:
        head += f", {decoded.encoding.label}"
    more = f"\nMore lines follow: go on with offset={last + 1}." if last < total else ""
    return ToolOutput(f"{head}:\n" + "\n".join(shown) + more, summary=t("tool.lines", n=len(shown)))


def list_dir_tool(disk: Disk) -> Tool[ListDir]:
    """Return the tool that lists a folder."""

    async def run(parameters: ListDir, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda _stop: entries(parameters))

    def entries(parameters: ListDir) -> ToolOutput:
        path = disk.guard.resolve(parameters.path or ".")
        shown = disk.guard.name(path)
        try:
            with disk.guard.directory(path) as directory, os.scandir(directory) as found:
                names = sorted((os.fsencode(entry.name), _line(entry)) for entry in found)
        except FileNotFoundError:
            raise ToolFailed(
                f"{shown} does not exist. List the folder above it.", "missing"
            ) from None
        except OSError as error:
            raise ToolFailed(f"{shown} cannot be listed: {error.strerror}.") from None
        summary = t("tool.entries", n=len(names))
        if not names:
            return ToolOutput(f"{shown} is empty.", summary=summary)
        text = "\n".join(line for _, line in names[:_MAX_ENTRIES])
        if len(names) > _MAX_ENTRIES:
            text += f"\n… and {len(names) - _MAX_ENTRIES} more. Use glob_files with a pattern."
        plural = "ies" if len(names) != 1 else "y"
        return ToolOutput(f"{shown} ({len(names)} entr{plural}):\n{text}", summary=summary)

    return Tool(
        name="list_dir",
        parameters=ListDir,
        run=run,
        effect=Effect.READ,
        subject=lambda parameters: parameters.path,
    )


def _line(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        kind = "L"
    elif entry.is_dir(follow_symlinks=False):
        kind = "D"
    else:
        kind = "F" if entry.is_file(follow_symlinks=False) else "?"
    return f"[{kind}] {printable(entry.name)}{'/' if kind == 'D' else ''}"


def printable(name: str) -> str:
    """Return a file's name on one line, whatever characters it is made of."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)
