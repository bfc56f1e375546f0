"""A restore that is killed, or that the disk refuses, leaves the state before or the state after."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paicli.errors import PaiCliError
from tests.unit.undo_trees import Desk, picture

KILLED_AT = """
import os, signal, sys
from pathlib import Path
from tests.unit.undo_trees import Desk
from paicli.extensions.snapshots import restore

desk = Desk(Path(sys.argv[1]))
plan = desk.history.plan("undo")
left, count = int(sys.argv[2]), 0

def hook(event, arguments):
    global left, count
    if event.startswith("os.") or event == "open":
        count += 1
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

if left >= 0:
    sys.addaudithook(hook)
desk.history.carry_out(plan)
print(count)
"""


def build(root):
    (root / "keep").mkdir()
    for number in range(8):
        (root / "keep" / f"f{number}").write_text(f"old {number}\n" * number)
    (root / "gone").mkdir(mode=0o750)
    (root / "gone" / "in").mkdir()
    (root / "gone" / "in" / "deep.bin").write_bytes(bytes(range(256)))
    (root / "swap").write_text("a file")
    (root / "link").symlink_to("keep/f1")
    (root / "closed").mkdir()
    (root / "closed" / "x").write_text("x")
    (root / "closed").chmod(0o555)


def change(root):
    for number in range(6):
        (root / "keep" / f"f{number}").write_text("new\n")
    (root / "keep" / "f7").chmod(0o755)
    (root / "gone" / "in" / "deep.bin").unlink()
    (root / "gone" / "in").rmdir()
    (root / "gone").rmdir()
    (root / "swap").unlink()
    (root / "swap").mkdir()
    (root / "swap" / "inner").write_text("in the folder that was a file")
    (root / "link").unlink()
    (root / "link").write_text("no link")
    (root / "new").mkdir()
    (root / "new" / "file").write_text("new")
    (root / "closed").chmod(0o755)
    (root / "closed" / "x").unlink()
    (root / "closed").chmod(0o555)


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    build(desk.root)
    desk.before = picture(desk.root)
    desk.turn(change)
    desk.after = picture(desk.root)
    yield desk
    desk.history.close()
    (desk.root / "closed").chmod(0o755)


def run_until(tmp_path, event):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}
    return subprocess.run(
        [sys.executable, "-c", KILLED_AT, str(tmp_path), str(event)],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.timeout(240)
def test_a_killed_undo_is_rolled_back_or_was_done(desk, tmp_path):
    desk.history.close()
    whole = run_until(tmp_path, 10**6)
    assert whole.returncode == 0, whole.stderr
    assert picture(desk.root) == desk.before
    desk.do("redo")
    assert picture(desk.root) == desk.after
    events, rolled_back = int(whole.stdout), 0
    for event in sorted({1, 5, *range(8, events - 4, max(1, events // 24)), events - 4}):
        desk.history.close()
        assert run_until(tmp_path, event).returncode == -signal.SIGKILL
        desk.told.clear()
        desk.history = desk.another()
        desk.history.recover()
        now = picture(desk.root)
        assert now in (desk.before, desk.after), event
        rolled_back += any("rolled back" in line for line in desk.told)
        assert not (desk.history._store.folder / "restoring").exists()
        if now == desk.before:
            desk.do("redo")
        assert picture(desk.root) == desk.after
    assert rolled_back > 5
    desk.do("undo")
    assert picture(desk.root) == desk.before


@pytest.mark.timeout(120)
def test_a_kill_from_outside_at_any_time(desk, tmp_path):
    for delay in (0.15, 0.2, 0.25, 0.3):
        desk.history.close()
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED_AT, str(tmp_path), "-1"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        child.kill()
        child.wait()
        desk.history = desk.another()
        desk.history.recover()
        now = picture(desk.root)
        assert now in (desk.before, desk.after)
        if now == desk.before:
            desk.do("redo")


def test_what_somebody_wrote_into_a_half_done_undo_is_named_and_stays(desk, tmp_path):
    desk.history.close()
    for event in range(40, 400, 7):
        run_until(tmp_path, event)
        if (desk.home / "snapshots").exists() and list(desk.home.rglob("restoring")):
            break
    else:
        pytest.fail("never killed in the middle")
    (desk.root / "keep" / "f3").write_text("mine")
    desk.history = desk.another()
    desk.history.recover()
    assert (desk.root / "keep" / "f3").read_text() == "mine"
    assert any("keep/f3" in line for line in desk.told)
    assert not list(desk.root.rglob(".paicli-*"))


@pytest.mark.parametrize(
    "call", ["rename", "mkdir", "fsync", "rmdir", "symlink", "unlink", "chmod"]
)
def test_a_failure_half_way_leaves_the_state_before(desk, monkeypatch, call):
    real = getattr(os, call)
    plan = desk.history.plan("undo")
    calls = []

    def refuses(*arguments, **options):
        calls.append(arguments)
        if len(calls) == (1 if call in ("mkdir", "symlink") else 2):
            raise OSError(28, "No space left on device")
        return real(*arguments, **options)

    monkeypatch.setattr(os, call, refuses)
    with pytest.raises(PaiCliError, match="Nothing was changed: No space left on device"):
        desk.history.carry_out(plan)
    monkeypatch.undo()
    assert picture(desk.root) == desk.after
    desk.do("undo")
    assert picture(desk.root) == desk.before


def test_a_rollback_that_fails_too_is_tried_again(desk, monkeypatch):
    plan = desk.history.plan("undo")
    real, calls = os.rename, []

    def refuses(*arguments, **options):
        calls.append(arguments)
        if len(calls) > 2:
            raise OSError(5, "Input/output error")
        return real(*arguments, **options)

    monkeypatch.setattr(os, "rename", refuses)
    with pytest.raises(PaiCliError, match="next start"):
        desk.history.carry_out(plan)
    monkeypatch.undo()
    desk.history.close()
    desk.history = desk.another()
    desk.history.recover()
    assert picture(desk.root) == desk.after


def test_a_turn_that_was_killed_can_be_taken_back(tmp_path):
    desk = Desk(tmp_path)
    (desk.root / "a").write_text("old")
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom tests.unit.undo_trees import Desk\n"
        "desk = Desk(Path(sys.argv[1]))\ndesk.history.before_change('x')\n"
        "(desk.root / 'a').write_text('half')\nos.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=environment, check=False)
    desk.do("undo")
    assert (desk.root / "a").read_text() == "old"
    assert any("cut off" in line for line in desk.told)
    assert Path(desk.root / "a").exists()
