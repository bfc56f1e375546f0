"""The search without ripgrep, as a program of its own, so that it can be ended at any moment.

A regular expression that never comes to an end would hold the whole agent, were it tried inside.
It is given one JSON object on its command line and prints what `rg --json` prints of a match: the
path and the line's number.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from paicli.tools.encoding import BinaryFile, decode
from paicli.tools.globs import Glob
from paicli.tools.walk import Ignored, read_small, walk

_CPU_SECONDS = 20
_PROGRAM = """
import os, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
from paicli.tools.scan import main
main()
"""


def command(request: dict[str, Any]) -> list[str]:
    """Return the command that carries out a search in its working directory.

    `request`: pattern, regex, case_sensitive, root, start, file, ignore, glob, per_file, max_bytes.
    """
    paths = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())
    return [sys.executable, "-P", "-E", "-c", _PROGRAM, paths, json.dumps(request)]


def main() -> None:
    """Search, print, end; exit code 2 and a line on stderr for a pattern that cannot be used."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    request = json.loads(sys.argv[2])
    try:
        matches = _matcher(request)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    for path, data in _files(request):
        for number in _numbers(data, matches, request["per_file"]):
            found = {"path": {"text": path}, "line_number": number}
            sys.stdout.write(json.dumps({"type": "match", "data": found}) + "\n")
        sys.stdout.flush()


def _matcher(request: dict[str, Any]) -> Callable[[str], object]:
    pattern = request["pattern"]
    if request["case_sensitive"] and not request["regex"]:
        return lambda line: pattern in line
    flags = re.NOFLAG if request["case_sensitive"] else re.IGNORECASE
    return re.compile(pattern if request["regex"] else re.escape(pattern), flags).search


def _files(request: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if request["file"]:
        path = f"{request['start']}/{request['file']}" if request["start"] else request["file"]
        found: Iterator[tuple[str, int, str]] = iter([(path, here, request["file"])])
    else:
        root = Path(request["root"])
        ignored = Ignored(root) if request["ignore"] else None
        found = walk(here, request["start"], ignored)
    glob = Glob(request["glob"], Path(request["root"])) if request["glob"] else None
    for path, directory, name in found:
        if glob is not None and not glob.matches(path):
            continue
        data = read_small(directory, name, request["max_bytes"])
        if data:
            yield path, data


def _numbers(data: bytes, matches: Callable[[str], object], limit: int) -> Iterator[int]:
    try:
        lines = decode(data).text.split("\n")
    except BinaryFile:
        return
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if matches(line.removesuffix("\r")):
            yield number
            limit -= 1
            if limit == 0:
                return
