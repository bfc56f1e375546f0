"""What snapshots cost in a big tree, beside walks and git doing the like in the same run.

Run it by itself: `python -m tests.bench.snapshots [FILES]`.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paicli.extensions.snapshots.history import History
from paicli.extensions.snapshots.tree import Limits


def make_tree(root: Path, files: int) -> None:
    """Write `files` small source files, fifty to a folder, all different."""
    words = [f"word{n}" for n in range(400)]
    chance = random.Random(1)
    for number in range(files):
        folder = root / f"part{number // 2500}" / f"group{number // 50}"
        if number % 50 == 0:
            folder.mkdir(parents=True)
        lines = (" ".join(chance.choices(words, k=8)) for _ in range(chance.randint(10, 90)))
        (folder / f"f{number}.py").write_text(f"# {number}\n" + "\n".join(lines))


def bare_walk(root: Path) -> int:
    """Look at every file and do nothing else: the floor of any scan."""
    count, folders = 0, [str(root)]
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                count += entry.stat(follow_symlinks=False).st_size >= 0
    return count


def took(work) -> float:
    """Return the milliseconds that `work` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def best(work, times: int = 5) -> float:
    """Return the least milliseconds of some runs."""
    return min(took(work) for _ in range(times))


def main(files: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as place:
        root, home = Path(place) / "project", Path(place) / "home"
        root.mkdir()
        make_tree(root, files)
        time.sleep(2.1)  # so that no file counts as just written
        walk = best(lambda: bare_walk(root))
        git = ["git", f"--git-dir={place}/side", f"--work-tree={root}"]
        has_git = shutil.which("git") is not None

        def add() -> None:
            subprocess.run([*git, "add", "-A"], check=True)

        if has_git:
            subprocess.run([*git, "init", "-q"], check=True)
        history = History(home, root, Limits(), lambda _: None)
        rows = [("first snapshot", took(lambda: history.before_change("x")))]
        if has_git:
            rows.append(("  git add, the first", took(add)))
        history.after_change()
        rows.append(("look, nothing changed", best(history.after_change)))
        rows.append(("  a bare walk", walk))
        if has_git:
            rows.append(("  git add, nothing changed", best(add)))
        history.close_turn()

        def turn() -> None:
            history.before_change("x")
            (root / "part0" / "group0" / "f1.py").write_text(str(time.time_ns()))
            history.after_change()
            history.close_turn()

        rows.append(("a turn with one edit", best(turn)))
        plan = history.plan("undo")
        rows.append(("undo of one edit", took(lambda: history.carry_out(plan))))
        history.close()
        fresh = History(home, root, Limits(), lambda _: None)
        rows.append(("first look of a new session", took(lambda: fresh.before_change("x"))))
        fresh.close_turn()
        size = fresh.status().bytes
        fresh.close()
        whole = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        for name, milliseconds in rows:
            print(f"{name:32} {milliseconds:9.0f} ms  {milliseconds / walk:6.1f} x a bare walk")
        print(f"{files} files, {whole / 1e6:.0f} MB; kept in {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
