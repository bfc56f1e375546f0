"""Reading, writing and editing: everything about a file that was not asked to change stays."""

import asyncio
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paicli.errors import EditError, PolicyDenied
from paicli.i18n import t, use
from tests.integration.file_cases import Tools

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def tools(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    return Tools(root)


@pytest.fixture
def root(tools):
    return tools.guard.root


def names(folder):
    return sorted(os.listdir(folder))


# ---- read_file and list_dir


def test_read_whole(tools, root):
    (root / "a.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    outcome = tools.do("read_file", path="a.py")
    assert outcome.text == "a.py (2 lines, CRLF line ends):\nx = 1\ny = 2\n"
    assert outcome.output.summary == "2 lines"


def test_read_a_range_and_go_on(tools, root):
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 501)))
    first = tools.do("read_file", path="a.txt", offset=1)
    assert "   1 | line 1\n" in first.text
    assert "(lines 1-200 of 500)" in first.text
    assert "offset=201" in first.text
    last = tools.do("read_file", path="a.txt", offset="499", limit="10")
    assert last.text == "a.txt (lines 499-500 of 500):\n  499 | line 499\n  500 | line 500"
    past = tools.do("read_file", path="a.txt", offset=501)
    assert past.ok
    assert "there is no line 501" in past.text


def test_a_range_of_numbered_lines_can_be_copied_into_an_edit(tools, root):
    (root / "a.py").write_text("def f():\n    return 1\n")
    shown = tools.do("read_file", path="a.py", offset=1).text.split("\n", 1)[1]
    outcome = tools.do("edit_file", path="a.py", old_text=shown, new_text="pass\n")
    assert outcome.ok
    assert (root / "a.py").read_text() == "pass\n\n"


def test_lines_end_where_grep_thinks_they_do(tools, root):
    (root / "a.txt").write_bytes("a\u2028b\x0cc\x85d\x1ce\rf\ng".encode())
    assert "(lines 1-2 of 2)" in tools.do("read_file", path="a.txt", offset=1).text


def test_one_huge_line_in_a_range_is_bounded(tools, root):
    (root / "one.txt").write_text("y" * 3_000_000)
    outcome = tools.do("read_file", path="one.txt", offset=1, limit=2000)
    assert len(outcome.text) < 5_000
    assert "3,000,000 characters" in outcome.text
    (root / "many.txt").write_text(("y" * 3_000 + "\n") * 2_000)
    outcome = tools.do("read_file", path="many.txt", offset=1, limit=2000)
    assert len(outcome.text) < 64_000
    assert "go on with offset=" in outcome.text


def test_what_is_kept_inline(tools):
    tool = tools.by_name["read_file"]
    assert tool.keeps_inline(tool.parameters(path="a", offset=1))
    assert not tool.keeps_inline(tool.parameters(path="a"))


def test_an_output_put_aside_is_not_put_aside_again(tools, root):
    folder = root / ".paicli" / "tool-outputs"
    folder.mkdir(parents=True)
    (folder / "001.txt").write_text("line\n" * 100_000)
    outcome = tools.do("read_file", path=".paicli/tool-outputs/001.txt")
    assert "offset=201" in outcome.text
    assert len(outcome.text) < 32_000


def test_an_empty_file_and_a_missing_one(tools, root):
    (root / "empty").write_text("")
    (root / "readme.md").write_text("x")
    assert tools.do("read_file", path="empty").ok
    missing = tools.do("read_file", path="redme.md")
    assert not missing.ok
    assert "Did you mean readme.md?" in missing.text


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path.name)])
def test_what_is_no_file_is_refused_at_once(tools, root, make):
    make(root / "odd")
    for name, more in [
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old_text": "a", "new_text": "b"}),
    ]:
        outcome = tools.do(name, path="odd", **more)
        assert not outcome.ok
    assert names(root) == ["odd"]


def test_list_dir(tools, root):
    for name in ("b.txt", "a.txt", ".hidden", "evil\x1b]0;x\x07\n[D] forged"):
        (root / name).write_text("")
    (root / "dir").mkdir()
    (root / "link").symlink_to("/etc")
    outcome = tools.do("list_dir", path=".")
    assert outcome.text.split("\n") == [
        ". (6 entries):",
        "[F] .hidden",
        "[F] a.txt",
        "[F] b.txt",
        "[D] dir/",
        "[F] evil\\x1b]0;x\\x07\\n[D] forged",
        "[L] link",
    ]
    assert not tools.do("list_dir", path="a.txt").ok
    assert not tools.do("list_dir", path="nope").ok
    assert tools.do("list_dir", path="dir").text == "dir is empty."


# ---- writing


def test_write_makes_folders_and_shows_the_change(tools, root):
    outcome = tools.do("write_file", path="new/deep/x.py", content="a\nb\n")
    assert (root / "new/deep/x.py").read_text() == "a\nb\n"
    assert outcome.output.summary == "+2 −0"
    assert outcome.output.display.text.startswith("--- /dev/null\n+++ b/new/deep/x.py\n")


def test_new_files_follow_the_umask(tools, root):
    old = os.umask(0o027)
    try:
        tools.do("write_file", path="d/x", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "d/x").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o750


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644, 0o4755, 0o664])
def test_mode_stays(tools, root, mode):
    (root / "x").write_text("a\n")
    (root / "x").chmod(mode)
    assert tools.do("edit_file", path="x", old_text="a", new_text="b").ok
    assert tools.do("write_file", path="x", content="c\n").ok
    assert stat.S_IMODE((root / "x").stat().st_mode) == mode
    assert names(root) == ["x"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_stays(tools, root):
    (root / "x").write_text("a\n")
    os.chown(root / "x", 1234, 2345)
    assert tools.do("edit_file", path="x", old_text="a", new_text="b").ok
    found = (root / "x").stat()
    assert (found.st_uid, found.st_gid) == (1234, 2345)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_stay(tools, root):
    (root / "x").write_text("a\n")
    try:
        os.setxattr(root / "x", "user.paicli", b"kept")
    except OSError:
        pytest.skip("this file system keeps none")
    assert tools.do("edit_file", path="x", old_text="a", new_text="b").ok
    assert os.getxattr(root / "x", "user.paicli") == b"kept"


def test_a_link_stays_a_link(tools, root):
    (root / "real").mkdir()
    (root / "real/t.md").write_text("hello\n")
    (root / "link.md").symlink_to("real/t.md")
    (root / "soon.md").symlink_to("real/new.md")
    assert tools.do("edit_file", path="link.md", old_text="hello", new_text="bye").ok
    assert tools.do("write_file", path="soon.md", content="new\n").ok
    assert os.readlink(root / "link.md") == "real/t.md"
    assert (root / "real/t.md").read_text() == "bye\n"
    assert (root / "real/new.md").read_text() == "new\n"
    assert names(root / "real") == ["new.md", "t.md"]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", "c\nd", b"\xef\xbb\xbfc\r\nd\r\n"),
        ("注释 甲\r\n".encode("gb18030"), "甲", "乙\n丙", "注释 乙\r\n丙\r\n".encode("gb18030")),
        ("コメント 一\n".encode("cp932"), "一", "二", "コメント 二\n".encode("cp932")),
        (b"caf\xe9 x", "x", "\u00fc", b"caf\xe9 \xfc"),
        ("a\r\n中".encode("utf-16"), "a", "b", "b\r\n中".encode("utf-16")),
        ("中文字 ".encode() + b"\xff x\n", "x", "y", "中文字 ".encode() + b"\xff y\n"),
        (b"a\nb\r\nc\rd", "c", "e", b"a\nb\r\ne\rd"),
    ],
)
def test_an_edit_keeps_the_rest_byte_for_byte(tools, root, before, old, new, after):
    (root / "x").write_bytes(before)
    outcome = tools.do("edit_file", path="x", old_text=old, new_text=new)
    assert outcome.ok, outcome
    assert (root / "x").read_bytes() == after


def test_overwriting_keeps_encoding_mark_and_line_ends(tools, root):
    (root / "x").write_bytes(b"\xef\xbb\xbfa\r\n")
    (root / "y").write_bytes("注释文字\n".encode("gb18030"))
    assert "CRLF" in tools.do("write_file", path="x", content="b\nc\n").text
    assert (root / "x").read_bytes() == b"\xef\xbb\xbfb\r\nc\r\n"
    assert tools.do("write_file", path="y", content="新的\n").ok
    assert (root / "y").read_bytes() == "新的\n".encode("gb18030")


def test_what_the_file_cannot_hold_is_refused(tools, root):
    before = b"caf\xe9 x\n"
    (root / "x").write_bytes(before)
    for name, more in [
        ("edit_file", {"old_text": "x", "new_text": "中"}),
        ("write_file", {"content": "中"}),
    ]:
        outcome = tools.do(name, path="x", **more)
        assert not outcome.ok
        assert "Latin-1" in outcome.text
        assert (root / "x").read_bytes() == before


def test_binary_is_not_edited_but_may_be_replaced(tools, root):
    (root / "x").write_bytes(b"a\0b")
    assert not tools.do("read_file", path="x").ok
    assert tools.do("edit_file", path="x", old_text="a", new_text="b").reason == "BinaryFile"
    assert tools.do("write_file", path="x", content="text\n").ok
    assert (root / "x").read_text() == "text\n"


def test_limits_of_size(tools, root):
    big = "x" * (5 * 1024 * 1024 + 1)
    outcome = tools.do("write_file", path="../x", content=big)
    assert "5 MB" in outcome.text
    (root / "x").write_text("x" * 5 * 1024 * 1024)
    assert not tools.do("edit_file", path="x", old_text="x", new_text="yy", replace_all=True).ok
    assert not tools.do("edit_file", path="x", old_text="x" * 5_000_000, new_text="yy").ok
    assert (root / "x").stat().st_size == 5 * 1024 * 1024


def test_nothing_to_change(tools, root):
    (root / "x").write_text("same\n")
    before = (root / "x").stat().st_mtime_ns
    outcome = tools.do("write_file", path="x", content="same\n")
    assert outcome.ok
    assert "nothing was written" in outcome.text
    assert (root / "x").stat().st_mtime_ns == before


@pytest.mark.parametrize("path", ["d/", ".", "", "~/x", "../x", "a.txt/x", "x" * 300, "a\0b"])
def test_paths_that_cannot_be_written(tools, root, path):
    (root / "a.txt").write_text("a")
    assert not tools.do("write_file", path=path, content="x").ok
    assert names(root) == ["a.txt"]


# ---- what the session knows


def test_a_file_changed_behind_the_back_is_not_overwritten_once(tools, root):
    (root / "f").write_text("green\n")
    tools.do("read_file", path="f")
    (root / "f").write_text("purple\n")
    refused = tools.do("write_file", path="f", content="mine\n")
    assert not refused.ok
    assert "changed on disk" in refused.text
    assert (root / "f").read_text() == "purple\n"
    assert tools.do("write_file", path="f", content="mine\n").ok


def test_own_writes_and_a_second_look_refresh_the_memory(tools, root):
    (root / "f").write_text("a\n")
    tools.do("read_file", path="f", offset=1)
    assert tools.do("edit_file", path="f", old_text="a", new_text="b").ok
    assert tools.do("write_file", path="f", content="c\n").ok
    (root / "f").write_text("theirs\n")
    tools.do("read_file", path="f")
    assert tools.do("write_file", path="f", content="d\n").ok


def test_what_was_never_read_may_be_overwritten(tools, root):
    (root / "f").write_text("old\n")
    outcome = tools.do("write_file", path="f", content="new\n")
    assert outcome.ok
    assert "-old" in outcome.output.display.text


def test_an_edit_goes_on_when_the_text_still_matches(tools, root):
    (root / "f").write_text("a\nb\n")
    tools.do("read_file", path="f")
    (root / "f").write_text("theirs\nb\n")
    assert tools.do("edit_file", path="f", old_text="b", new_text="c").ok
    assert (root / "f").read_text() == "theirs\nc\n"


async def test_twenty_edits_in_one_reply_all_land(tools, root):
    (root / "f").write_text("".join(f"slot {n:02}: empty\n" for n in range(20)))
    outcomes = await asyncio.gather(
        *(
            tools.call(
                "edit_file", path="f", old_text=f"slot {n:02}: empty", new_text=f"slot {n:02}: full"
            )
            for n in range(20)
        )
    )
    assert all(outcome.ok for outcome in outcomes)
    assert (root / "f").read_text() == "".join(f"slot {n:02}: full\n" for n in range(20))
    assert names(root) == ["f"]


# ---- what a person is shown and asked


def test_a_preview_shows_the_change_and_makes_none(tools, root):
    (root / "f").write_text("a\n")
    change = tools.preview("edit_file", path="f", old_text="a", new_text="b")
    assert (change.added, change.removed) == (1, 1)
    assert tools.preview("write_file", path="g/h", content="x\n").added == 1
    with pytest.raises(EditError, match="old_text is not in the file"):
        tools.preview("edit_file", path="f", old_text="nope", new_text="b")
    with pytest.raises(PolicyDenied):
        tools.preview("write_file", path="../x", content="x")
    assert (root / "f").read_text() == "a\n"
    assert names(root) == ["f"]


def test_sensitive_files_are_asked_about_in_the_persons_language(tools, root):
    use("zh")
    try:
        assert tools.asks("write_file", path=".env", content="x") == t("tool.asks_env")
        assert "git" in tools.asks("edit_file", path=".git/config", old_text="a", new_text="b")
        assert tools.asks("create_project", name=".git/hooks", type="x")
        assert tools.asks("write_file", path="a.py", content="x") is None
    finally:
        use("en")


# ---- when it goes wrong


def test_a_full_disk_leaves_the_old_file_and_no_litter(tools, root):
    """A limit on file sizes stands for the full disk: both fail in the middle of a write."""
    (root / "old").write_text("old\n")
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from tests.integration.file_cases import Tools\n"
        "tools = Tools(sys.argv[1])\n"
        "for path in ('old', 'new/deep/x'):\n"
        "    outcome = tools.do('write_file', path=path, content='x' * 100_000)\n"
        "    assert not outcome.ok and 'Nothing was changed' in outcome.text, outcome\n"
    )
    run_python(program, root)
    assert (root / "old").read_text() == "old\n"
    assert names(root) == ["old"]


def test_missing_permissions_leave_everything_as_it_was(tools, root):
    (root / "locked").write_text("old\n")
    (root / "locked").chmod(0o444)
    (root / "folder").mkdir()
    (root / "folder/x").write_text("old\n")
    (root / "secret").write_text("old\n")
    (root / "secret").chmod(0o000)
    (root / "folder").chmod(0o555)
    for path in (root.parent, root.parent.parent, root.parent.parent.parent):
        path.chmod(path.stat().st_mode | 0o055)
    program = (
        "import concurrent.futures.thread, difflib, os, sys\n"  # nobody may not read them later
        "from tests.integration.file_cases import Tools\n"
        "if os.geteuid() == 0: os.setegid(65534); os.seteuid(65534)\n"
        "tools = Tools(sys.argv[1])\n"
        "for path in ('locked', 'folder/x', 'folder/new', 'folder/a/b', 'secret'):\n"
        "    outcome = tools.do('write_file', path=path, content='new')\n"
        "    assert not outcome.ok and 'ermission' in outcome.text, (path, outcome)\n"
    )
    run_python(program, root)
    (root / "folder").chmod(0o755)
    assert (root / "locked").read_text() == (root / "folder/x").read_text() == "old\n"
    assert names(root) == ["folder", "locked", "secret"]
    assert names(root / "folder") == ["x"]


def run_python(program, root):
    subprocess.run(
        [sys.executable, "-c", program, str(root)],
        env=os.environ | {"PYTHONPATH": f"{SOURCE}:{SOURCE.parent}"},
        cwd=SOURCE.parent,
        check=True,
        timeout=50,
    )


async def test_a_cancelled_write_changes_nothing_and_leaves_nothing(tools, root):
    (root / "f").write_text("old\n")
    with tools_lock(tools, root / "f"):
        task = asyncio.create_task(tools.call("write_file", path="f", content="new\n"))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (root / "f").read_text() == "old\n"
    assert names(root) == ["f"]


def tools_lock(tools, path):
    """Hold a path's lock, as a slow writer would."""
    run = tools.by_name["write_file"].run
    write = next(c.cell_contents for c in run.__closure__ if callable(c.cell_contents))
    disk = next(
        c.cell_contents for c in write.__closure__ if hasattr(c.cell_contents, "exclusively")
    )
    return disk.exclusively(path)


LOOP = """
import sys
from tests.integration.file_cases import Tools
tools = Tools(sys.argv[1])
print("ready", flush=True)
for number in range(10**9):
    letter = "abcdefghij"[number % 10]
    assert tools.do("write_file", path="f", content=letter * 300_000).ok
"""


def test_killed_at_any_moment_the_file_is_the_old_or_the_new_one(root):
    (root / "f").write_text("z" * 300_000)
    rng = random.Random(7)
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(root)],
            env=os.environ | {"PYTHONPATH": f"{SOURCE}:{SOURCE.parent}"},
            cwd=SOURCE.parent,
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        text = (root / "f").read_text()
        assert len(text) == 300_000
        assert len(set(text)) == 1


def common(one, other):
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


CONTENT = st.text("ab \t\r\n\"'“—ﬁé中😀\ufeff|1", max_size=40)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(CONTENT, CONTENT, CONTENT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]))
def test_any_edit_leaves_the_rest_of_the_bytes(tools, root, content, old, new, encoding):
    """Refused: the same bytes. Done: the bytes before and after the replaced piece are the same."""
    path = root / "f"
    before = content.encode(encoding)
    path.write_bytes(before)
    outcome = tools.do("edit_file", path="f", old_text=old, new_text=new)
    after = path.read_bytes()
    if not outcome.ok:
        assert after == before
        return
    head = common(before, after)
    tail = common(before[head:][::-1], after[head:][::-1])
    longest = len(old.encode(encoding)) * 3 + len(content) - len(content.replace(" ", "")) + 8
    assert len(before) - head - tail <= longest
    assert names(root) == ["f"]


# ---- create_project


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("java", ["pom.xml", "src/main/java", "src/main/resources"]),
        ("python", ["main.py", "my_app/__init__.py", "requirements.txt"]),
        ("node", ["package.json"]),
        ("rust", []),
    ],
)
def test_create_project(tools, root, kind, made):
    outcome = tools.do("create_project", name="parts/My App", type=kind.upper())
    assert outcome.ok, outcome
    assert all((root / "parts/My App" / name).exists() for name in made)
    assert not tools.do("create_project", name="parts", type=kind).ok
    if kind == "python":
        done = subprocess.run(
            [sys.executable, "main.py"], cwd=root / "parts/My App", capture_output=True, check=True
        )
        assert done.stdout == b"Hello from my_app\n"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "", "a.txt", "a.txt/b", "full", "."])
def test_create_project_refuses(tools, root, name):
    (root / "a.txt").write_text("a")
    (root / "full").mkdir()
    (root / "full/x").write_text("x")
    assert not tools.do("create_project", name=name, type="python").ok
    assert names(root) == ["a.txt", "full"]
    assert names(root / "full") == ["x"]


# ---- what models send


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "f", "offset": "1", "limit": None}),
        ("read_file", {"path": "f", "offset": 0, "limit": 0}),
        ("read_file", {"path": "f", "offset": -5, "limit": 10**9}),
        ("edit_file", {"path": "f", "old_text": 7, "new_text": 8, "replace_all": "true"}),
        (
            "grep_code",
            {"pattern": 7, "path": None, "glob": "", "regex": "false", "context_lines": "99"},
        ),
        ("glob_files", {"pattern": "*", "path": "", "max_results": "100000"}),
        ("list_dir", {}),
    ],
)
def test_lenient_arguments(tools, root, name, arguments):
    (root / "f").write_text("7\n")
    assert tools.do(name, **arguments).ok


def test_the_manual_is_lean_and_plain(tools):
    size = 0
    for tool in tools.by_name.values():
        schema = tool.parameters.model_json_schema()
        assert "$defs" not in schema
        assert all("anyOf" not in value for value in schema["properties"].values())
        size += len(tool.description) + sum(
            len(value.get("description", "")) + 40 for value in schema["properties"].values()
        )
    assert size < 4_000
