"""grep_code and glob_files: where something is, without reading everything."""

from __future__ import annotations

import json
import re
import time
from threading import Event

from pydantic import Field

from paicli.errors import PaiCliError, PolicyDenied, ToolFailed
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.text import clean
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.disk import Disk
from paicli.tools.encoding import BinaryFile, decode
from paicli.tools.engines import SECONDS, Found, Query, search
from paicli.tools.globs import Glob
from paicli.tools.lenient import LenientParameters
from paicli.tools.reading import printable
from paicli.tools.threads import in_thread
from paicli.tools.walk import Ignored, walk

_MAX_LINE_CHARS = 400
_SUGGESTED = 3


class GlobFiles(LenientParameters):
    """Find files by name pattern, like **/*.py or src/{a,b}/*.ts. What .gitignore names, links and
    build folders are left out."""

    pattern: str
    path: str = Field(".", description="folder to start in")
    max_results: int = Field(50, description="at most 200")


class GrepCode(LenientParameters):
    """Search file contents line by line; results have line numbers. What .gitignore names, binary
    files, files over 2 MB, links and build folders are left out."""

    pattern: str = Field(description="literal text, unless regex")
    path: str = Field(".", description="folder or file")
    glob: str = Field("", description="only files like *.java")
    regex: bool = False
    case_sensitive: bool = True
    context_lines: int = Field(0, description="0-5")
    max_results: int = Field(50, description="at most 200")
    head_limit: int = Field(20, description="per file, at most 50")
    max_chars: int = Field(24_000, description="1000-60000")


def glob_files_tool(disk: Disk) -> Tool[GlobFiles]:
    """Return the tool that finds files by name."""

    async def run(parameters: GlobFiles, _tell: Tell) -> ToolOutput:
        return await in_thread(lambda stop: find(parameters, stop))

    def find(parameters: GlobFiles, stop: Event) -> ToolOutput:
        guard = disk.guard
        start = guard.resolve(parameters.path or ".")
        name = "" if start == guard.root else guard.name(start)
        pattern = Glob(parameters.pattern, guard.root)
        ignored: Ignored | None = Ignored(guard.root)
        if ignored and ignored.folder(name):
            ignored = None
        limit = _within(parameters.max_results, 1, 200)
        hits: list[str] = []
        notes: list[str] = []
        until = time.monotonic() + SECONDS
        try:
            with guard.directory(start) as directory:
                for path, _, _ in walk(directory, name, ignored):
                    if pattern.matches(path) or (name and pattern.matches(path[len(name) + 1 :])):
                        hits.append(printable(path))
                    if len(hits) > limit:
                        notes.append(f"only the first {limit} are shown (max_results)")
                        break
                    if stop.is_set() or time.monotonic() > until:
                        notes.append(f"stopped after {SECONDS:.0f} seconds")
                        break
        except FileNotFoundError:
            raise ToolFailed(f"{parameters.path} does not exist.", "missing") from None
        return _listed(parameters.pattern, hits[:limit], notes)

    return Tool(
        name="glob_files",
        parameters=GlobFiles,
        run=run,
        effect=Effect.READ,
        subject=lambda parameters: parameters.pattern,
    )


def _listed(pattern: str, hits: list[str], notes: list[str]) -> ToolOutput:
    summary = t("tool.files", n=len(hits))
    partial = f"\npartial: true ({'; '.join(notes)})" if notes else ""
    if not hits:
        return ToolOutput(
            f"No file matches {pattern}.{partial} Files that .gitignore names, links and build "
            "folders are not searched.",
            summary=summary,
        )
    head = f"{len(hits)} file{'s' if len(hits) != 1 else ''}:\n"
    return ToolOutput(head + "\n".join(hits) + partial, summary=summary)


def grep_code_tool(disk: Disk) -> Tool[GrepCode]:
    """Return the tool that searches contents."""

    async def run(parameters: GrepCode, _tell: Tell) -> ToolOutput:
        query = _query(disk, parameters)
        try:
            found = await search(disk.guard, query)
        except OSError as error:
            raise ToolFailed(f"The search failed: {error.strerror or error}.") from None
        return await in_thread(lambda _stop: _Report(disk, parameters, found).output())

    return Tool(
        name="grep_code",
        parameters=GrepCode,
        run=run,
        effect=Effect.READ,
        subject=lambda parameters: parameters.pattern,
    )


def _query(disk: Disk, parameters: GrepCode) -> Query:
    start = disk.guard.resolve(parameters.path or ".")
    if not start.is_dir() and (not start.is_file() or start == disk.guard.root):
        kind = "is not a regular file" if start.exists() else "does not exist"
        raise ToolFailed(
            f"{parameters.path} {kind}. Give a folder or a file of the project.",
            "" if start.exists() else "missing",
        )
    if not parameters.pattern or "\0" in parameters.pattern:
        raise ToolFailed("The pattern is empty or holds a NUL character. Give a text to look for.")
    if "\n" in parameters.pattern or (
        parameters.regex and re.search(r"(?<!\\)(?:\\\\)*\\[nr]", parameters.pattern)
    ):
        raise ToolFailed("A pattern cannot span lines. Look for one of the lines.")
    if parameters.glob:
        Glob(parameters.glob, disk.guard.root)
    return Query(
        pattern=parameters.pattern,
        regex=parameters.regex,
        case_sensitive=parameters.case_sensitive,
        start=start,
        glob=parameters.glob,
        per_file=_within(parameters.head_limit, 1, 50) + 1,
        total=_within(parameters.max_results, 1, 200),
    )


def _within(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


class _Report:
    """The text about the matches: read again through the fence, bounded, with line numbers."""

    def __init__(self, disk: Disk, parameters: GrepCode, found: Found) -> None:
        self._disk = disk
        self._found = found
        self._parameters = parameters
        self._pattern = _highlight(parameters)
        self._per_file = _within(parameters.head_limit, 1, 50)
        self._left = _within(parameters.max_results, 1, 200)
        self._room = _within(parameters.max_chars, 1000, 60_000)
        self._around = _within(parameters.context_lines, 0, 5)
        self._notes: list[str] = []
        self._shown: dict[str, int] = {}
        self._matches = 0

    def output(self) -> ToolOutput:
        blocks = []
        for path, numbers in self._found.lines.items():
            if self._left <= 0 or self._room <= 0:
                break
            if block := self._file(path, numbers):
                blocks.append(block)
        if self._found.cut:
            self._notes.append("max_results reached: narrow the pattern, path or glob")
        if self._found.out_of_time:
            self._notes.append(f"stopped after {SECONDS:.0f} seconds: narrow path or glob")
        head = (
            f"{self._matches} match{'es' if self._matches != 1 else ''} in {len(self._shown)} "
            f"file{'s' if len(self._shown) != 1 else ''} (engine: {self._found.engine})"
        )
        parts = [head, *blocks]
        if self._notes:
            parts.append(f"partial: true ({'; '.join(dict.fromkeys(self._notes))})")
        if self._shown:
            parts.append("suggested_reads:\n" + "\n".join(self._suggested()))
        return ToolOutput("\n".join(parts), summary=t("tool.matches", n=self._matches))

    def _suggested(self) -> list[str]:
        return [
            json.dumps({"path": path, "offset": max(1, line - 20), "limit": 80}, ensure_ascii=False)
            for path, line in list(self._shown.items())[:_SUGGESTED]
        ]

    def _file(self, path: str, numbers: list[int]) -> str:
        lines = self._lines(path)
        if lines is None:
            return ""
        if len(numbers) > self._per_file:
            self._notes.append(f"head_limit: more matches in {printable(path)}")
        wanted = [number for number in numbers if number <= len(lines)][: self._per_file]
        if len(wanted) > self._left:
            self._notes.append("max_results reached: narrow the pattern, path or glob")
            wanted = wanted[: self._left]
        text = [printable(path)]
        last = 0
        for number in wanted:
            upto = min(number + self._around, len(lines))
            following = [other for other in wanted if number < other <= upto]
            stop = following[0] - 1 if following else upto
            for shown in range(max(last + 1, number - self._around), stop + 1):
                if self._around and last and shown > last + 1:
                    text.append("      --")
                text.append(self._line(shown, lines[shown - 1], shown == number))
                last = shown
            self._room -= sum(map(len, text[-2 * self._around - 1 :]))
            self._matches += 1
            self._left -= 1
            self._shown.setdefault(path, number)
            if self._room <= 0:
                self._notes.append("max_chars reached")
                break
        return "\n".join(text) if len(text) > 1 else ""

    def _line(self, number: int, line: str, hit: bool) -> str:
        mark = ("> " if hit else "  ") if self._around else ""
        return f"{mark}{number:5} | {self._cut(clean(line.removesuffix(chr(13))), hit)}"

    def _cut(self, line: str, hit: bool) -> str:
        if len(line) <= _MAX_LINE_CHARS:
            return line
        match = self._pattern.search(line) if hit and self._pattern else None
        begin = max(0, (match.start() if match else 0) - _MAX_LINE_CHARS // 4)
        piece = line[begin : begin + _MAX_LINE_CHARS]
        return f"{'… ' if begin else ''}{piece} … [line cut: {len(line):,} characters]"

    def _lines(self, path: str) -> list[str] | None:
        try:
            text = decode(self._disk.load(self._disk.guard.resolve(path)).data).text
        except (BinaryFile, PolicyDenied, PaiCliError):
            return None
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        return lines


def _highlight(parameters: GrepCode) -> re.Pattern[str] | None:
    """Return what finds the match in a long line; only for literal text, which is always quick."""
    if parameters.regex:
        return None
    flags = re.NOFLAG if parameters.case_sensitive else re.IGNORECASE
    return re.compile(re.escape(parameters.pattern), flags)
