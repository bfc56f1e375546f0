"""Diffs: what any diff program makes of two texts, at a bounded cost."""

import random
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paicli.tools.changes import diff


def patched(before, text):
    """Apply a unified diff the plain way."""
    old = re.findall("[^\n]*\n|[^\n]+", before)
    new, place = [], 0
    lines = text.split("\n")[2:-1]
    for index, line in enumerate(lines):
        if header := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            start = int(header[1]) - (header[2] != "0")
            new += old[place:start]
            place = start
        elif line[0] in " -":
            cut = lines[index + 1].startswith("\\") if index + 1 < len(lines) else False
            assert old[place] == line[1:] + ("" if cut else "\n")
            if line[0] == " ":
                new.append(old[place])
            place += 1
        elif line[0] == "+":
            cut = index + 1 < len(lines) and lines[index + 1].startswith("\\")
            new.append(line[1:] + ("" if cut else "\n"))
    return "".join(new + old[place:])


@settings(max_examples=300, deadline=None)
@given(st.text("ab\n", max_size=60), st.text("ab\n", max_size=60))
def test_a_diff_leads_from_one_text_to_the_other(before, after):
    change = diff("f", before, after)
    assert patched(before, change.text or "\n\n") == after
    assert change.added == len(re.findall(r"^\+(?!\+\+ )", change.text, re.M))


def test_shape():
    change = diff("d/f.py", "a\nb\nc\n", "a\nB\nc\n")
    assert change.text == "--- a/d/f.py\n+++ b/d/f.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    assert (change.path, change.added, change.removed) == ("d/f.py", 1, 1)


def test_a_new_file_and_a_missing_last_newline():
    assert diff("f", None, "a").text == (
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
    )


def test_the_same_text_is_no_change():
    assert diff("f", "a\n", "a\n").text == ""


def test_patch_takes_it(tmp_path):
    rng = random.Random(5)
    before = "".join(f"line {rng.randrange(40)}\n" for _ in range(300))
    lines = before.split("\n")
    for _ in range(12):
        lines[rng.randrange(len(lines) - 1)] = f"new {rng.random()}"
    after = "\n".join(lines)
    (tmp_path / "f").write_text(before)
    subprocess.run(
        ["patch", "-s", "f"],
        cwd=tmp_path,
        input=diff("f", before, after).text,
        text=True,
        check=True,
    )
    assert (tmp_path / "f").read_text() == after


@pytest.mark.parametrize("kind", ["unique", "equal", "shuffled"])
def test_huge_changes_are_bounded(kind):
    rng = random.Random(1)
    lines = [f"line {n if kind != 'equal' else 0}\n" for n in range(60_000)]
    changed = [f"new {line}" if n % 1000 == 0 else line for n, line in enumerate(lines)]
    if kind == "shuffled":
        rng.shuffle(changed)
    change = diff("f", "".join(lines), "".join(changed))
    assert len(change.text) < 400_000
    if kind != "shuffled":
        assert (change.added, change.removed) == (60, 60)


def test_one_huge_line_is_cut():
    assert len(diff("f", "x" * 3_000_000, "y" * 3_000_000).text) < 4_000
