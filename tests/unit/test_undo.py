"""Taking back, bringing again, going back: what is touched, and above all what is not."""

import os
import time

import pytest

from paicli.errors import PaiCliError
from paicli.extensions.snapshots import pruning, rules, scan
from tests.unit.undo_trees import Desk, picture


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    yield desk
    desk.history.close()


def write(name, text):
    def step(root):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text.encode() if isinstance(text, str) else text)

    return step


def test_undo_redo_undo(desk):
    write("a", "1\n2\n")(desk.root)
    changed = desk.turn(write("a", "1\n3\n4\n"), write("new", "x\n"))
    assert [(one.path, one.action, one.added, one.removed) for one in changed] == [
        ("a", "changed", 2, 1),
        ("new", "created", 1, 0),
    ]
    done = desk.do("undo")
    assert [(one.path, one.action) for one in done.files] == [("a", "changed"), ("new", "deleted")]
    assert "took back" in done.for_model
    assert "- new was deleted" in done.for_model
    assert (desk.root / "a").read_text() == "1\n2\n"
    with pytest.raises(PaiCliError, match="nothing to take back"):
        desk.do("undo")
    desk.do("redo")
    assert (desk.root / "new").read_text() == "x\n"
    desk.do("undo")
    assert not (desk.root / "new").exists()


def test_a_new_turn_ends_what_redo_could_bring(desk):
    desk.turn(write("a", "1"))
    desk.do("undo")
    desk.turn(write("a", "2"))
    with pytest.raises(PaiCliError, match="nothing to bring back"):
        desk.do("redo")


def test_restore_goes_back_over_everything_also_over_a_restore(desk):
    for text in "123":
        desk.turn(write("a", text))
    desk.do("restore", 2)
    assert (desk.root / "a").read_text() == "1"
    desk.do("restore", 1)
    assert (desk.root / "a").read_text() == "3"
    desk.do("restore", 5)
    assert not (desk.root / "a").exists()
    with pytest.raises(PaiCliError, match="from 1 to 6"):
        desk.do("restore", 7)


def test_what_the_person_changed_since_is_named_and_stays(desk):
    desk.turn(write("a", "agent"), write("b", "agent"))
    (desk.root / "a").write_text("mine")
    plan = desk.history.plan("undo")
    assert plan.conflicts == ("a",)
    done = desk.history.carry_out(plan)
    assert done.left == ("a",)
    assert "a" in done.for_model.splitlines()[-1]
    assert (desk.root / "a").read_text() == "mine"
    assert not (desk.root / "b").exists()


def test_by_force_what_the_person_changed_goes_but_is_kept(desk):
    write("a", "old")(desk.root)
    desk.turn(write("a", "agent"))
    (desk.root / "a").write_text("mine")
    desk.do("undo", force=True)
    assert (desk.root / "a").read_text() == "old"
    desk.do("redo")
    assert (desk.root / "a").read_text() == "mine"


def test_an_edit_of_the_person_between_two_turns_is_as_far_back_as_it_goes(desk):
    desk.turn(write("a", "first"))
    (desk.root / "a").write_text("mine")
    desk.turn(write("a", "second"))
    done = desk.do("restore", 2)
    assert (desk.root / "a").read_text() == "mine"
    assert done.left == ("a",)


def test_an_edit_of_the_person_between_two_calls_of_one_turn(desk):
    write("a", "old")(desk.root)
    desk.history.before_change("x")
    write("a", "agent")(desk.root)
    desk.history.after_change()
    (desk.root / "a").write_text("mine")
    (desk.root / "note").write_text("mine too")
    desk.history.before_change("x")
    write("a", "agent again")(desk.root)
    desk.history.after_change()
    desk.history.close_turn()
    done = desk.do("undo")
    assert (desk.root / "a").read_text() == "mine"
    assert (desk.root / "note").read_text() == "mine too"
    assert done.left == ("a",)


def test_files_that_change_after_the_list_was_shown_stop_it(desk):
    desk.turn(write("a", "agent"), write("b", "agent"))
    plan = desk.history.plan("undo")
    (desk.root / "b").write_text("mine")
    with pytest.raises(PaiCliError, match="changed since the list"):
        desk.history.carry_out(plan)
    assert (desk.root / "a").read_text() == "agent"


def test_the_same_size_in_the_same_tick_is_seen(desk):
    for number in range(20):
        desk.turn(write("a", f"{number:02}"))
    for number in range(18, -1, -1):
        desk.do("undo")
        assert (desk.root / "a").read_text() == f"{number:02}"


def test_a_change_that_hides_its_time_is_seen(desk):
    write("a", "old")(desk.root)
    os.utime(desk.root / "a", ns=(10**18, 10**18))

    def sneak(root):
        (root / "a").write_text("new")
        os.utime(root / "a", ns=(10**18, 10**18))

    desk.turn(sneak)
    desk.do("undo")
    assert (desk.root / "a").read_text() == "old"


def test_ignored_files_git_and_what_is_outside_are_never_touched(desk, tmp_path):
    write(".gitignore", "*.log\nsecret/\n/only-top\n")(desk.root)
    write(".git/HEAD", "ref")(desk.root)
    (desk.root / "link-out").symlink_to("../outside")
    (tmp_path / "outside").mkdir()

    def step(root):
        for name in (".git/index", "x.log", "secret/key", "node_modules/m", "only-top"):
            write(name, "agent")(root)
        write("sub/only-top", "kept")(root)
        (root / "link-out" / "file").write_text("outside")

    changed = desk.turn(step)
    assert [one.path for one in changed] == ["sub/only-top"]
    before = picture(tmp_path, skip=("project/sub", "home"))
    desk.do("undo")
    assert picture(tmp_path, skip=("project/sub", "home")) == before
    assert not (desk.root / "sub").exists()


def test_a_file_that_only_came_into_sight_is_not_deleted(desk):
    write(".gitignore", ".env\nbuild/\n")(desk.root)
    write(".env", "KEY=1")(desk.root)
    write("build/out", "built")(desk.root)
    desk.turn(write(".gitignore", ""))
    desk.do("undo")
    assert (desk.root / ".env").read_text() == "KEY=1"
    assert (desk.root / "build/out").read_text() == "built"
    assert (desk.root / ".gitignore").read_text() == ".env\nbuild/\n"


def test_what_was_kept_stays_kept_when_it_becomes_ignored(desk):
    write("a.log", "old")(desk.root)
    desk.turn(write(".gitignore", "*.log"), lambda root: (root / "a.log").unlink())
    desk.do("undo")
    assert (desk.root / "a.log").read_text() == "old"


def test_a_folder_that_now_holds_other_things_stays(desk):
    desk.turn(write("dir/a", "agent"))
    (desk.root / "dir" / "mine").write_text("mine")
    desk.do("undo")
    assert picture(desk.root / "dir") == {"mine": ("file", 0o644, b"mine")}


def test_a_link_put_in_the_place_of_a_folder_is_not_written_through(desk, tmp_path):
    write("dir/a", "old")(desk.root)
    desk.turn(write("dir/a", "agent"))
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a").write_text("agent")
    (desk.root / "dir" / "a").unlink()
    (desk.root / "dir").rmdir()
    (desk.root / "dir").symlink_to(outside)
    done = desk.do("undo", force=False)
    assert done.left == ("dir/a",)
    with pytest.raises(PaiCliError, match="Nothing was changed"):
        desk.do("undo", force=True)
    assert (outside / "a").read_text() == "agent"


def test_too_large_files_are_named_not_touched(desk, monkeypatch):
    monkeypatch.setattr(scan, "LARGEST_FILE", 100)
    write("big", "x" * 200)(desk.root)
    desk.turn(write("big", "y" * 200), write("huge", "z" * 300), write("a", "1"))
    done = desk.do("undo")
    assert done.left == ("big", "huge")
    assert (desk.root / "big").read_text() == "y" * 200
    assert not (desk.root / "a").exists()


def test_special_files_are_left_alone(desk):
    os.mkfifo(desk.root / "pipe")
    desk.turn(write("a", "1"), lambda root: os.mkfifo(root / "second"))
    done = desk.do("undo")
    assert done.left == ("second",)
    assert (desk.root / "pipe").is_fifo()


def test_hard_links_sharing_one_file_come_back(desk):
    write("a", "old")(desk.root)
    os.link(desk.root / "a", desk.root / "b")
    before = picture(desk.root)
    desk.turn(write("a", "new"))
    desk.do("undo")
    assert picture(desk.root) == before
    desk.turn(lambda root: os.link(root / "a", root / "c"), lambda root: (root / "b").unlink())
    desk.do("undo")
    assert picture(desk.root) == before


def test_a_turn_that_changes_nothing_is_no_entry(desk):
    write("a", "1")(desk.root)
    assert desk.turn(lambda root: None) == []
    assert desk.turn(write("a", "2"), write("a", "1")) == []
    assert [one.files for one in desk.history.history()] == [1]


def test_nothing_is_made_where_nothing_was_changed(desk):
    assert desk.history.close_turn() == []
    assert desk.history.history() == []
    assert desk.history.diffs() == []
    assert desk.history.status().entries == 0
    desk.history.recover()
    with pytest.raises(PaiCliError):
        desk.history.plan("undo")
    assert not desk.home.exists()


def test_another_session_goes_on_where_the_first_ended(desk):
    desk.turn(write("a", "1"), text="write one")
    desk.history.close()
    desk.session = "two"
    desk.history = desk.another()
    assert desk.history.diffs() == []
    assert [one.text for one in desk.history.history()] == ["write one"]
    assert desk.history.plan("undo").about == "write one"
    desk.do("undo")
    assert not (desk.root / "a").exists()


def test_two_at_work_in_one_project(desk):
    other = desk.another()
    desk.history.before_change("one")
    write("a", "one")(desk.root)
    other.before_change("two")  # what it finds was done by the other, whose tool runs
    write("b", "two")(desk.root)
    other.after_change()
    desk.history.after_change()
    assert [one.path for one in other.close_turn()] == ["b"]
    assert [one.path for one in desk.history.close_turn()] == ["a"]
    other.carry_out(other.plan("undo"))
    assert not (desk.root / "b").exists()
    desk.do("undo")
    assert not (desk.root / "a").exists()
    other.close()


def test_diffs_of_an_entry_and_of_the_session(desk):
    desk.turn(write("a", "".join(f"{n}\n" for n in range(30))))
    desk.turn(write("a", "".join(f"{n if n != 20 else 'x'}\n" for n in range(30))))
    (diff,) = desk.history.diffs(1)
    assert "@@ -18,7 +18,7 @@\n" in diff.text
    assert "\n-20\n+x\n" in diff.text
    assert (diff.added, diff.removed) == (1, 1)
    (whole,) = desk.history.diffs()
    assert (whole.path, whole.added, whole.removed) == ("a", 30, 0)
    desk.turn(write("bin", b"\0\1"))
    assert "Binary" in desk.history.diffs(1)[0].text


def test_the_diff_of_a_session_goes_over_its_resumptions_and_leaves_others_out(desk):
    desk.turn(write("a", "1\n"))
    desk.turn(write("a", "1\n2\n"), write("b", ""))
    desk.history = desk.another()
    assert [(one.path, one.added) for one in desk.history.diffs()] == [("a", 2), ("b", 0)]
    desk.session = ""  # taken back from outside
    desk.do("undo")
    assert desk.history.diffs() == []
    desk.session = "two"
    desk.turn(write("c", "3\n"))
    assert [one.path for one in desk.history.diffs()] == ["c"]
    desk.session = "one"
    assert [(one.path, one.added) for one in desk.history.diffs()] == [("a", 1)]


def test_old_entries_and_their_contents_are_forgotten(desk, monkeypatch):
    desk.turn(write("a", os.urandom(60_000)))
    desk.turn(write("a", "now"))
    size = desk.history.status().bytes
    desk.history.close()
    real = time.time
    monkeypatch.setattr(pruning.time, "time", lambda: real() + 20 * 86_400)
    desk.history = desk.another()
    desk.turn(write("b", "1"))
    assert len(desk.history.history()) <= 1
    assert desk.history.status().bytes < size - 50_000


def test_the_oldest_goes_when_it_is_too_much(tmp_path):
    desk = Desk(tmp_path, megabytes=1)
    for _ in range(8):
        desk.turn(write("a", os.urandom(300_000)))
    assert desk.history.status().bytes <= 1024 * 1024
    assert 1 <= len(desk.history.history()) < 8
    before = (desk.root / "a").read_bytes()
    desk.do("undo")
    assert (desk.root / "a").read_bytes() != before
    desk.history.close()


def test_a_project_beyond_the_limits_says_so(tmp_path, monkeypatch):
    desk = Desk(tmp_path, megabytes=1)
    write("big", os.urandom(2_000_000))(desk.root)
    with pytest.raises(PaiCliError, match="PAICLI_SNAPSHOT_MAX_MB"):
        desk.history.before_change("x")
    assert desk.history.close_turn() == []
    monkeypatch.setattr(scan, "MOST_PATHS", 1)
    write("more", "1")(desk.root)
    with pytest.raises(PaiCliError, match="more than"):
        desk.history.before_change("x")
    desk.history.close()


def test_the_persons_own_excludes_are_added(tmp_path):
    desk = Desk(tmp_path, excludes=("data/", "*.bin"))
    changed = desk.turn(write("data/x", "1"), write("y.bin", "1"), write("z", "1"))
    assert [one.path for one in changed] == ["z"]
    assert desk.history.status().excludes == ("data/", "*.bin")
    desk.history.close()


def test_a_damaged_store_is_put_aside(desk):
    desk.turn(write("a", "1"))
    folder = desk.history.status().folder
    desk.history.close()
    for name in os.listdir(folder):
        if name.startswith("snapshots.db-"):
            os.unlink(os.path.join(folder, name))
    with open(os.path.join(folder, "snapshots.db"), "wb") as file:
        file.write(b"no database at all" * 1000)
    desk.history = desk.another()
    desk.turn(write("a", "2"))
    desk.do("undo")
    assert (desk.root / "a").read_text() == "1"


def test_a_damaged_content_stops_before_anything_is_touched(desk):
    write("a", "old")(desk.root)
    desk.turn(write("a", "agent"), write("b", "agent"))
    store = desk.history._store
    with store.locked():
        store._database.execute("UPDATE content SET data = x'00'")
    with pytest.raises(PaiCliError, match="missing or damaged"):
        desk.do("undo")
    assert (desk.root / "b").read_text() == "agent"


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "home").write_text("a file")
    desk = Desk(tmp_path)
    with pytest.raises(PaiCliError, match="cannot be used"):
        desk.history.before_change("x")
    assert "cannot be used" in desk.history.status().off or not desk.history.status().off


def test_paicli_s_own_folder_inside_the_project_is_left_out(tmp_path):
    desk = Desk(tmp_path)
    desk.home = desk.root / ".paicli"
    desk.history = desk.another()
    desk.turn(write("a", "1"))
    before = set(os.listdir(desk.home / "snapshots"))
    desk.do("undo")
    assert set(os.listdir(desk.home / "snapshots")) == before
    desk.history.close()


def test_snapshots_are_nobody_else_s_to_read(desk):
    desk.turn(write("a", "1"))
    folder = desk.history.status().folder
    assert os.stat(folder).st_mode & 0o077 == 0
    assert os.stat(os.path.join(folder, "snapshots.db")).st_mode & 0o077 == 0


def test_every_rule_that_leaves_something_out_is_shown(desk):
    assert desk.history.status().left_out == rules.ALWAYS_OUT
