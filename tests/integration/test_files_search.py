"""grep_code and glob_files: ripgrep and our own search give the same answers on one tree."""

import os
import re
import shutil
import time

import pytest

from tests.integration.file_cases import Tools

RG = shutil.which("rg")
needs_rg = pytest.mark.skipif(RG is None, reason="ripgrep is not installed")


@pytest.fixture
def without_rg(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))


def make_tree(root):
    files = {
        "a.txt": b"needle one\nplain\nNeedle two\n",
        "sub/b.py": b"import os\nneedle = 1\n\nx = needle\n",
        "sub/deep/c.py": b"no newline at end needle",
        "crlf.txt": b"first\r\nneedle\r\nlast needle\r\n",
        "bom.py": b"\xef\xbb\xbfneedle first\n",
        "utf16.txt": "needle 中文\n".encode("utf-16"),
        "gb.txt": "注释 needle 中文\n".encode("gb18030"),
        "latin.txt": "caf\xe9 needle\n".encode("latin-1"),
        "binary.bin": b"needle\0needle\n",
        "late.bin": b"needle\n" + b"x" * 200_000 + b"\n\0needle\n",
        "formfeed.txt": b"one\x0cneedle\nu\xe2\x80\xa8needle\rneedle\nneedle\n",
        "-dash.txt": b"-needle -e --files\n",
        "sp ace/new\nline.txt": b"needle in odd name\n",
        "big.txt": b"needle\n" + b"y" * 2_200_000,
        "long.txt": b"z" * 50_000 + b"needle" + b"z" * 50_000 + b"\n",
        "many.txt": b"needle\n" * 120,
        ".hidden/h.txt": b"needle\n",
        ".env": b"KEY=needle\n",
        "node_modules/m.js": b"needle\n",
        "sub/build/out.txt": b"needle\n",
        "build.txt": b"needle\n",
        ".git/config": b"needle\n",
        ".gitignore": b"*.log\n/ignored/\n!keep.log\nsub/only-here.txt\n[bad\n",
        "x.log": b"needle\n",
        "keep.log": b"needle\n",
        "ignored/i.txt": b"needle\n",
        "sub/ignored/i.txt": b"needle\n",
        "sub/only-here.txt": b"needle\n",
        "sub/.gitignore": b"*.tmp\n!important.log\n",
        "sub/t.tmp": b"needle\n",
        "sub/important.log": b"needle\n",
        "Grüße/ü.txt": "needle ÄÖ ß\n".encode(),
        "empty.txt": b"",
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (root / os.fsdecode(b"bad\xff.txt")).write_bytes(b"needle\n")
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle SECRET\n")
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to(".")
    (root / "linked.txt").symlink_to("a.txt")
    os.mkfifo(root / "pipe")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("search") / "ws"
    root.mkdir()
    make_tree(root)
    return root


QUERIES = [
    {"pattern": "needle"},
    {"pattern": "needle", "max_results": 200, "head_limit": 50},
    {"pattern": "needle", "max_results": 3},
    {"pattern": "NEEDLE", "case_sensitive": False},
    {"pattern": "needle", "path": "sub"},
    {"pattern": "needle", "path": "./sub/deep/"},
    {"pattern": "needle", "path": "ignored"},
    {"pattern": "needle", "path": "node_modules"},
    {"pattern": "needle", "path": "a.txt", "context_lines": 2},
    {"pattern": "needle", "path": "x.log"},
    {"pattern": "needle", "path": "big.txt"},
    {"pattern": "needle", "path": "binary.bin"},
    {"pattern": "needle", "glob": "*.py", "context_lines": 1},
    {"pattern": "needle", "glob": "sub/**"},
    {"pattern": "needle", "glob": "*.{py,txt}", "path": "sub"},
    {"pattern": "needle$", "regex": True},
    {"pattern": "^needle", "regex": True},
    {"pattern": r"n\w+e = \d", "regex": True},
    {"pattern": "(?i)NEEDLE (one|two)", "regex": True},
    {"pattern": "^$", "regex": True, "path": "sub/b.py"},
    {"pattern": "x*", "regex": True, "path": "sub", "max_results": 4},
    {"pattern": r"needle(?= one)", "regex": True},
    {"pattern": "-needle"},
    {"pattern": "--files"},
    {"pattern": "-e"},
    {"pattern": "needle.one"},
    {"pattern": "ÄÖ"},
    {"pattern": "äö", "case_sensitive": False},
    {"pattern": "中文"},
    {"pattern": "中文", "path": "gb.txt"},
    {"pattern": "注.*[中国]文$", "regex": True},
    {"pattern": "没有"},
    {"pattern": "absent"},
]


def without_engine(text):
    return re.sub(r"engine: \w+", "engine", text)


@needs_rg
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: " ".join(map(str, query.values())))
def test_both_engines_say_the_same(tree, query, monkeypatch):
    tools = Tools(tree)
    with_rg = tools.do("grep_code", **query)
    monkeypatch.setenv("PATH", "")
    without = tools.do("grep_code", **query)
    assert with_rg.ok, with_rg
    assert "engine: python" in without.text
    assert without_engine(with_rg.text) == without_engine(without.text)


@needs_rg
def test_a_project_all_in_another_encoding_is_searched(tmp_path):
    for number in range(300):
        (tmp_path / f"{number:03}.txt").write_bytes(f"第 {number} 行\n".encode("gb18030"))
    text = Tools(tmp_path).do("grep_code", pattern="第 299 行").text
    assert "299.txt\n    1 | 第 299 行" in text


def both(monkeypatch):
    """Yield once with ripgrep, if there is one, and once without."""
    if RG:
        yield "rg"
    monkeypatch.setenv("PATH", "")
    yield "python"


def test_what_is_found_and_what_is_not(tree, monkeypatch):
    for engine in both(monkeypatch):
        text = Tools(tree).do("grep_code", pattern="needle", max_results=200).text
        assert f"engine: {engine}" in text
        for found in (
            "a.txt\n",
            "sub/b.py\n",
            "bom.py\n",
            ".hidden/h.txt",
            "keep.log",
            "-dash.txt",
        ):
            assert found in text, (engine, found)
        for absent in (
            "SECRET",
            "node_modules",
            "x.log",
            "ignored/i.txt\n    1 | needle\nout",
            "binary.bin",
            "late.bin",
            "big.txt",
            "loop/",
            ".git/config",
            "t.tmp",
        ):
            assert absent not in text, (engine, absent)
        assert "sub/ignored/i.txt" in text
        assert "new\\nline.txt" in text
        assert "\nline.txt" not in text


def test_context_marks_the_hits_and_shows_each_line_once(tree, monkeypatch):
    for _ in both(monkeypatch):
        text = Tools(tree).do("grep_code", pattern="needle", path="sub/b.py", context_lines=1).text
        assert "      1 | import os\n>     2 | needle = 1\n      3 | \n>     4 | x = needle" in text


def test_line_numbers_agree_with_read_file(tree, monkeypatch):
    for _ in both(monkeypatch):
        tools = Tools(tree)
        text = tools.do("grep_code", pattern="needle", path="formfeed.txt").text
        read = tools.do("read_file", path="formfeed.txt", offset=1).text
        hits = re.findall(r"^ +\d+ \| .*$", text, re.M)
        assert len(hits) == 3
        assert all(hit in read.split("\n") for hit in hits)


def test_long_lines_are_cut_around_the_match(tree, monkeypatch):
    for _ in both(monkeypatch):
        text = Tools(tree).do("grep_code", pattern="needle", path="long.txt").text
        assert "needle" in text.split("\n")[2]
        assert len(text) < 1200


def test_limits_are_told(tree, monkeypatch):
    for _ in both(monkeypatch):
        tools = Tools(tree)
        text = tools.do("grep_code", pattern="needle", glob="many.txt", head_limit=5).text
        assert "partial: true" in text
        assert "head_limit" in text
        assert "5 matches" in text
        text = tools.do(
            "grep_code", pattern="needle", glob="many.txt", head_limit=50, max_results=7
        ).text
        assert "7 matches" in text
        assert "max_results" in text
        wide = tools.do(
            "grep_code", pattern="needle", head_limit=50, max_results=200, max_chars=1000
        )
        assert "max_chars" in wide.text
        assert len(wide.text) < 2500


@pytest.mark.parametrize("pattern", ["(", "[", "*x", "a{2,1}"])
def test_a_bad_regex_is_explained(tree, monkeypatch, pattern):
    for _ in both(monkeypatch):
        outcome = Tools(tree).do("grep_code", pattern=pattern, regex=True)
        assert not outcome.ok
        assert "pattern" in outcome.text


@pytest.mark.parametrize("pattern", ["", "a\nb", "a\0b"])
def test_a_pattern_that_cannot_be_searched_is_refused(tree, pattern):
    assert not Tools(tree).do("grep_code", pattern=pattern).ok


@pytest.mark.parametrize("path", ["nope", "pipe", "../outside", "out", "/etc"])
def test_a_place_that_cannot_be_searched_is_refused(tree, path):
    assert not Tools(tree).do("grep_code", pattern="needle", path=path).ok
    assert not Tools(tree).do("glob_files", pattern="*", path=path).ok


def test_a_catastrophic_regex_ends_in_bounded_time(tmp_path, without_rg, monkeypatch):
    monkeypatch.setattr("paicli.tools.engines.SECONDS", 1.0)
    (tmp_path / "a.txt").write_text("a" * 60 + "b\n")
    outcome = Tools(tmp_path).do("grep_code", pattern="(a+)+$", regex=True)
    assert outcome.ok
    assert "stopped after" in outcome.text


async def test_a_cancelled_search_leaves_no_process(tmp_path, without_rg):
    import asyncio

    import psutil

    (tmp_path / "a.txt").write_text("a" * 60 + "b\n")
    task = asyncio.create_task(Tools(tmp_path).call("grep_code", pattern="(a+)+$", regex=True))
    me = psutil.Process()
    until = time.monotonic() + 20
    while not me.children() and time.monotonic() < until:  # noqa: ASYNC110  a process has no event
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert me.children() == []


def test_the_project_cannot_bring_its_own_search(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')\n")
    (tmp_path / "paicli").mkdir()
    (tmp_path / "paicli" / "__init__.py").write_text("raise SystemExit('hijacked')\n")
    fake = tmp_path / "rg"
    fake.write_text("#!/bin/sh\necho hijacked >> owned\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    outcome = Tools(tmp_path).do("grep_code", pattern="needle")
    assert "engine: python" in outcome.text
    assert "a.txt" in outcome.text
    assert not (tmp_path / "owned").exists()


def globbed(root, pattern, **more):
    outcome = Tools(root).do("glob_files", pattern=pattern, **more)
    assert outcome.ok, outcome
    return [
        line for line in outcome.text.split("\n")[1:] if line and not line.startswith("partial")
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", ["bom.py", "sub/b.py", "sub/deep/c.py"]),
        ("**/*.py", ".", ["bom.py", "sub/b.py", "sub/deep/c.py"]),
        ("sub/*.py", ".", ["sub/b.py"]),
        ("*.py", "sub", ["sub/b.py", "sub/deep/c.py"]),
        ("deep/*.py", "sub", ["sub/deep/c.py"]),
        ("sub/**/*.py", "sub", ["sub/b.py", "sub/deep/c.py"]),
        ("./sub/[ab].{py,txt}", ".", ["sub/b.py"]),
        ("sub/deep/", ".", ["sub/deep/c.py"]),
        ("**/h.txt", ".", [".hidden/h.txt"]),
        ("[!a].txt", ".", [".hidden/h.txt", "Grüße/ü.txt", "sub/ignored/i.txt"]),
        ("*.js", "node_modules", ["node_modules/m.js"]),
    ],
)
def test_glob_finds(tree, pattern, path, found):
    assert globbed(tree, pattern, path=path) == found


@pytest.mark.parametrize("pattern", ["*.js", "x.log", "linked.txt", "secret.txt", "*.tmp", "pipe"])
def test_glob_leaves_out(tree, pattern):
    assert "No file matches" in Tools(tree).do("glob_files", pattern=pattern).text


@pytest.mark.parametrize(
    "pattern",
    ["../outside/*", "/etc/*", "{.,..}/outside/*", "sub/../../outside/*", "", "{a,b}" * 9],
)
def test_glob_refuses(tree, pattern):
    assert not Tools(tree).do("glob_files", pattern=pattern).ok


def test_glob_takes_an_absolute_pattern_of_the_project(tree):
    assert globbed(tree, f"{tree}/sub/*.py") == ["sub/b.py"]


def test_glob_tells_its_limit(tree):
    outcome = Tools(tree).do("glob_files", pattern="**", max_results=2)
    assert "max_results" in outcome.text
    assert len(outcome.text.split("\n")) == 4


def test_glob_is_quick_whatever_the_pattern(tmp_path):
    (tmp_path / ("a" * 200)).write_text("x")
    assert "No file" in Tools(tmp_path).do("glob_files", pattern="*a" * 60 + "b").text
    assert "No file" in Tools(tmp_path).do("glob_files", pattern="**/" * 60 + "b").text


def test_rules_above_the_project_count_inside_a_git_repository(tmp_path, monkeypatch):
    root = tmp_path / "repository" / "part"
    root.mkdir(parents=True)
    (root.parent / ".git").mkdir()
    (root.parent / ".gitignore").write_text("*.gen\npart/made/\n")
    (root / "x.gen").write_text("needle\n")
    (root / "x.txt").write_text("needle\n")
    (root / "made").mkdir()
    (root / "made" / "y.txt").write_text("needle\n")
    assert globbed(root, "**") == ["x.txt"]
    for _ in both(monkeypatch):
        text = Tools(root).do("grep_code", pattern="needle").text
        assert "1 match in 1 file" in text


def test_a_project_that_became_a_file_is_no_place_to_search(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    tools = Tools(root)
    root.rmdir()
    root.write_text("needle")
    outcome = tools.do("grep_code", pattern="needle")
    assert (outcome.ok, "Give a folder" in outcome.text) == (False, True)
