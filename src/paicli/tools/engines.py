"""Two ways to search the files for a pattern, ripgrep and our own, with the same answers.

Both are programs that print JSON lines; both are ended when there is enough, when time is up or
when the search is cancelled. They only say where the matches are; the text is read afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import resource
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paicli.errors import ToolFailed
from paicli.policy.path_guard import PathGuard
from paicli.tools import scan
from paicli.tools.globs import Glob
from paicli.tools.walk import EXCLUDED, Ignored

SECONDS = 8.0
_OTHER_ENCODINGS = (
    "gb18030",
    "shift_jis",
    "euc-jp",
    "big5",
    "euc-kr",
    "windows-1252",
    "windows-1251",
    "koi8-r",
)
_MOST_OTHERS = 200
"""Files in another encoding than UTF-8 that ripgrep tries all encodings on; where there are more, ours searches."""
_HANDLES = Path("/proc/self/fd").is_dir()  # a folder can be named by its open handle (Linux)
_MAX_BYTES = 2 * 1024 * 1024
_MAX_BYTES_OF_ONE = 50_000_000
_MAX_MEMORY = 1 << 30
_TYPE_GLOB = re.compile(r"[\w.*?-]+")
_RG = (
    *("--no-config", "--no-messages", "--hidden", "--crlf"),
    *("--no-require-git", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot"),
    *("--no-ignore-parent", "--no-follow"),
)


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, and where: `start` is a resolved path, a folder or a regular file."""

    pattern: str
    regex: bool
    case_sensitive: bool
    start: Path
    glob: str
    per_file: int
    total: int


@dataclass(slots=True)
class Found:
    """Where matches are: line numbers by file, in order. `cut`: there are more than asked for."""

    engine: str
    lines: dict[str, list[int]] = field(default_factory=dict)
    cut: bool = False
    out_of_time: bool = False
    died: bool = False
    """The engine was ended from outside, as when it asked for too much memory."""

    @property
    def count(self) -> int:
        return sum(map(len, self.lines.values()))


async def search(guard: PathGuard, query: Query) -> Found:
    """Search with ripgrep if there is one, else (or for a pattern only Python knows) without."""
    ripgrep = _ripgrep(guard.root)
    if ripgrep is not None and not _holds_rg_up(query.start):
        found, complaint = await _search_with_rg(ripgrep, guard, query)
        if complaint is None and not (
            found.died or await _missed_by_rg(ripgrep, guard, query, found)
        ):
            return found
        if complaint is not None and not (query.regex and _python_knows(query.pattern)):
            raise ToolFailed(f"ripgrep does not take the pattern: {complaint}")
    found, complaint = await _run(
        guard, query, "python", lambda ignore: _scan(guard, query, ignore)
    )
    if complaint is not None:
        raise ToolFailed(
            f"The pattern is not a regular expression of Python, which is used because ripgrep is "
            f"not installed: {complaint}. Python has no \\p{{…}}, [[:alpha:]] or \\z."
        )
    return found


async def _search_with_rg(ripgrep: str, guard: PathGuard, query: Query) -> tuple[Found, str | None]:
    """Search on all cores, in whatever order; in order, on one core, if there is more than asked for."""
    found, complaint = await _run(
        guard, query, "rg", lambda ignore: _rg(ripgrep, query, ("--json",), ignore=ignore)
    )
    if found.cut:
        found, complaint = await _run(
            guard,
            query,
            "rg",
            lambda ignore: _rg(ripgrep, query, ("--json", "--sort=path"), ignore=ignore),
        )
    found.lines = dict(
        sorted(found.lines.items(), key=lambda item: os.fsencode(item[0]).split(b"/"))
    )
    return found, complaint


async def _missed_by_rg(ripgrep: str, guard: PathGuard, query: Query, found: Found) -> bool:
    """Tell whether files in other encodings than UTF-8 hold the pattern too.

    ripgrep reads them only when it is told their encoding; ours finds that out for each file.
    """
    if query.pattern.isascii() or found.cut or found.out_of_time:
        return False
    folder = query.start.parent if query.start.is_file() else query.start
    start = _relative(guard, folder)

    async def listed(command: list[str], limit: int) -> list[str]:
        names: list[str] = []

        def take(line: bytes) -> bool:
            name = os.fsdecode(line.removesuffix(b"\r"))  # --crlf ends the names with it, too
            if name and _path({"text": name}, start) not in found.lines:
                names.append(name)
            return len(names) < limit

        await _read(command, folder, take, Found("rg"))
        return names

    not_utf8 = replace(query, pattern=".*", regex=True)
    odd = ("--files-with-matches", "--encoding=none", "--line-regexp", "--invert-match")
    files = await listed(_rg(ripgrep, not_utf8, odd, ignore=True), _MOST_OTHERS)
    if len(files) == _MOST_OTHERS:
        return True
    for encoding in _OTHER_ENCODINGS if files else ():
        options = ("--files-with-matches", f"--encoding={encoding}")
        if await listed([*_rg_pattern(ripgrep, query, *options), *files], 1):
            return True
    return False


def _python_knows(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _holds_rg_up(start: Path) -> bool:
    """Tell whether rules of the folder are a pipe or a device, which ripgrep would read without end."""
    for name in (".gitignore", ".rgignore"):
        with suppress(OSError):
            kind = (start / name).stat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                return True
    return False


def _ripgrep(root: Path) -> str | None:
    """Return the installed ripgrep; never one that lies in the project itself."""
    found = shutil.which("rg")
    if found is None or not Path(found).is_absolute():
        return None
    return None if Path(os.path.realpath(found)).is_relative_to(root) else found


def _rg(program: str, query: Query, options: Sequence[str], *, ignore: bool) -> list[str]:
    if query.start.is_file():
        return [*_rg_pattern(program, query, *options, "--no-ignore"), f"./{query.start.name}"]
    filters = [f"--max-filesize={_MAX_BYTES}"]
    if ignore:
        filters += [f"--glob=!{name}/" for name in EXCLUDED] + ["--glob=!.git"]
    else:
        filters.append("--no-ignore")
    if _TYPE_GLOB.fullmatch(query.glob):
        filters += [f"--type-add=wanted:{query.glob}", "--type=wanted"]
    return [*_rg_pattern(program, query, *options, *filters), "."]


def _rg_pattern(program: str, query: Query, *options: str) -> list[str]:
    """Return the command up to the files."""
    words = [program, *_RG, *options, f"--max-count={query.per_file}"]
    words += [] if query.regex else ["--fixed-strings"]
    words += [] if query.case_sensitive else ["--ignore-case"]
    return [*words, "-e", query.pattern, "--"]


def _scan(guard: PathGuard, query: Query, ignore: bool) -> list[str]:
    single = query.start.is_file()
    folder = query.start.parent if single else query.start
    return scan.command(
        {
            "pattern": query.pattern,
            "regex": query.regex,
            "case_sensitive": query.case_sensitive,
            "root": str(guard.root),
            "start": _relative(guard, folder),
            "file": query.start.name if single else "",
            "ignore": ignore,
            "glob": query.glob,
            "per_file": query.per_file,
            "max_bytes": _MAX_BYTES_OF_ONE if single else _MAX_BYTES,
        }
    )


def _relative(guard: PathGuard, path: Path) -> str:
    name = guard.name(path)
    return "" if name == "." else name


async def _run(
    guard: PathGuard, query: Query, engine: str, command: Callable[[bool], list[str]]
) -> tuple[Found, str | None]:
    """Run an engine and collect. Returns a complaint instead when it does not take the pattern."""
    single = query.start.is_file()
    folder = query.start.parent if single else query.start
    start = _relative(guard, folder)
    ignored: Ignored | None = Ignored(guard.root)
    if single or (ignored and ignored.folder(start)):
        ignored = None
    glob = Glob(query.glob, guard.root) if query.glob and not single else None
    found = Found(engine)

    def take(line: bytes) -> bool:
        message = json.loads(line)
        if message["type"] != "match":
            return True
        path = _path(message["data"]["path"], start if engine == "rg" else "")
        if path not in found.lines:
            if (ignored and ignored.file(path)) or (glob and not glob.matches(path)):
                return True
            if found.count > query.total:
                return False
        found.lines.setdefault(path, []).append(message["data"]["line_number"])
        return found.count <= query.total

    with guard.directory(folder) as directory:
        where = Path(f"/proc/self/fd/{directory}") if _HANDLES else folder
        complaint = await _read(command(ignored is not None), where, take, found)
    return found, complaint


async def _read(
    command: list[str], where: Path, take: Callable[[bytes], bool], found: Found
) -> str | None:
    wanted = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=where,
        env={name: os.environ[name] for name in wanted if name in os.environ},
    )
    if process.stdout is None or process.stderr is None:
        raise ToolFailed("The search could not be started.")
    if hasattr(resource, "prlimit"):  # Linux; a .gitignore can be a link to /dev/zero
        with suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))
    complete = False
    try:
        complete = await _lines(process.stdout, take, found)
        ended = await asyncio.wait_for(process.wait(), SECONDS) if complete else 0
        found.died = ended < 0
        if ended >= 2 and not found.lines:
            return _short(await process.stderr.read(20_000))
    except TimeoutError:
        found.out_of_time = True
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return None


async def _lines(stream: asyncio.StreamReader, take: Callable[[bytes], bool], found: Found) -> bool:
    """Hand the lines on until `take` has enough; False when it had. Raises TimeoutError."""
    until = time.monotonic() + SECONDS
    rest: list[bytes] = []
    while True:
        chunk = await asyncio.wait_for(stream.read(1 << 18), max(0.01, until - time.monotonic()))
        if not chunk:
            return True
        *lines, last = chunk.split(b"\n")
        for line in lines:
            whole = b"".join([*rest, line])
            rest.clear()
            if not take(whole):
                found.cut = True
                return False
        rest.append(last)


def _path(path: dict[str, Any], start: str) -> str:
    text = path["text"] if "text" in path else os.fsdecode(base64.b64decode(path["bytes"]))
    text = text.removeprefix("./")
    return f"{start}/{text}" if start else text


def _short(message: bytes) -> str:
    text = message.decode("utf-8", "replace").strip()
    return " ".join(text.split())[-500:] or "it is not valid"
