"""Whatever is done to the files, turn by turn: taking everything back brings the very same tree."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.undo_trees import Desk, picture

NAMES = ("a", "b.txt", "c.bin", "dir", "dir/x", "dir/y", "dir/sub", "dir/sub/z", "中文", "e\udcff")
CONTENT = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"", b"one\ntwo\n", b"\r\n", b"\0\1" * 900])
)
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o400, 0o2755])
PATHS = st.sampled_from(NAMES)
TARGETS = st.sampled_from(["a", "dir", "../outside", "/nowhere", "./b.txt", "a//b/"])

STEP = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENT),
    st.tuples(st.just("append"), PATHS, CONTENT),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("mode"), PATHS, MODES),
    st.tuples(st.just("link"), PATHS, TARGETS),
    st.tuples(st.just("folder"), PATHS, st.sampled_from([0o755, 0o700, 0o555])),
    st.tuples(st.just("move"), PATHS, PATHS),
)


def carry_out(root, step):
    """Do one step as a shell command would; what is impossible is left out."""
    kind, path, *more = step
    at = root / path
    with contextlib.suppress(OSError, shutil.Error):
        if kind in ("write", "append"):
            at.parent.mkdir(exist_ok=True)
            if not at.is_symlink():
                with open(at, "wb" if kind == "write" else "ab") as file:
                    file.write(more[0])
        elif kind == "delete":
            if at.is_dir() and not at.is_symlink():
                shutil.rmtree(at)
            else:
                at.unlink()
        elif kind == "mode":
            if not at.is_symlink():
                at.chmod(more[0] | (0o700 if at.is_dir() else 0))
        elif kind == "link":
            at.symlink_to(more[0])
        elif kind == "folder":
            at.mkdir()
            at.chmod(more[0])
        else:
            os.rename(at, root / more[0])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    start=st.lists(STEP, max_size=8),
    turns=st.lists(st.lists(STEP, min_size=1, max_size=6), min_size=1, max_size=5),
    back_and_forth=st.lists(st.sampled_from(["undo", "redo"]), max_size=8),
)
def test_taking_everything_back_brings_the_same_tree(start, turns, back_and_forth):
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        (Path(folder) / "outside").write_text("not ours")
        for step in start:
            carry_out(desk.root, step)
        trees = [picture(desk.root)]
        for steps in turns:
            before = len(desk.history.history())
            desk.turn(*(lambda root, step=step: carry_out(root, step) for step in steps))
            if len(desk.history.history()) > before:
                trees.append(picture(desk.root))
            else:
                assert picture(desk.root) == trees[-1]
        place = len(trees) - 1
        for move in [*back_and_forth, *["undo"] * len(trees)]:
            target = place + (1 if move == "redo" else -1)
            if not 0 <= target < len(trees):
                continue
            desk.do(move)
            place = target
            assert picture(desk.root) == trees[place]
        assert place == 0
        everything = len(desk.history.history())
        if everything:
            desk.do("restore", everything)
            assert picture(desk.root) == trees[0]
        assert (Path(folder) / "outside").read_text() == "not ours"
        desk.history.close()
