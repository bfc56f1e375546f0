"""Tools on a large tree and a large file, against ripgrep and the least Python that does the same.

Run as a program it carries one tool call out and prints the seconds it took:
`python -m tests.bench.tools FOLDER TOOL ARGUMENTS-AS-JSON`.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from paicli.policy.path_guard import PathGuard
from paicli.tools.files import file_tools
from tests.bench.measure import ROOT, Figure, Place, median

FILES = 50_000
EDITED_BYTES = 5_000_000


def on_large_input(at: Place) -> Iterator[Figure]:
    """`grep_code` and `glob_files` on 50,000 files, `edit_file` on 5 MB."""
    for number in range(FILES):
        folder = at.project / f"d{number % 100}"
        folder.mkdir(exist_ok=True)
        text = f"value_{number} = {number}\n" + "some words to read through\n" * 8
        (folder / f"f{number}.py").write_text(text)
    rg = shutil.which("rg")
    searches = {
        "grep_code": (
            {"pattern": f"value_{FILES - 1} ="},
            ["-F", "--json", f"value_{FILES - 1} ="],
        ),
        "grep_code, no ASCII": ({"pattern": "没有"}, ["-F", "--json", "没有"]),
        "glob_files": ({"pattern": f"**/f{FILES - 1}.py"}, ["--files", "-g", f"f{FILES - 1}.py"]),
    }
    for tool, (arguments, words) in searches.items():
        bare = _seconds([rg, *words, "."], at.project) * 1000 if rg else None
        name = tool.partition(",")[0]
        ours = median(lambda name=name, given=arguments: _carried_out(at, name, given), 3) * 1000
        yield Figure(f"{tool} on {FILES} files", ours, "ms", bare, note="floor: rg" if rg else "")
    yield _edit(at)


def _edit(at: Place) -> Figure:
    file = at.project / "big.txt"
    line = "another line of a large file\n"
    content = line * (EDITED_BYTES // len(line))
    middle = len(content) // 2 // len(line) * len(line)

    def ours() -> float:
        file.write_text(content[:middle] + "the one place\n" + content[middle:])
        change = {"path": "big.txt", "old_text": "the one place", "new_text": "the other place"}
        return _carried_out(at, "edit_file", change)

    def bare() -> float:
        file.write_text(content[:middle] + "the one place\n" + content[middle:])
        started = time.perf_counter()
        text = file.read_bytes().decode().replace("the one place", "the other place", 1)
        with open(at.project / "big.new", "wb") as new:
            new.write(text.encode())
            new.flush()
            os.fsync(new.fileno())
        os.replace(at.project / "big.new", file)
        return time.perf_counter() - started

    floor = median(bare, 3) * 1000
    return Figure("edit_file on 5 MB", median(ours, 3) * 1000, "ms", floor)


def _seconds(command: list[str], folder: Path) -> float:
    def run() -> float:
        started = time.perf_counter()
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
        return time.perf_counter() - started

    return median(run, 3)


def _carried_out(at: Place, tool: str, arguments: dict[str, object]) -> float:
    command = [
        sys.executable,
        "-m",
        "tests.bench.tools",
        str(at.project),
        tool,
        json.dumps(arguments),
    ]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


async def _carry_out(folder: str, name: str, arguments: str) -> float:
    tool = next(tool for tool in file_tools(PathGuard(Path(folder))) if tool.name == name)
    parameters = tool.parameters(**json.loads(arguments))
    started = time.perf_counter()
    output = await tool.run(parameters, lambda _: None)
    seconds = time.perf_counter() - started
    if not output.ok:
        raise RuntimeError(output.text)
    return seconds


if __name__ == "__main__":
    print(asyncio.run(_carry_out(*sys.argv[1:])))
