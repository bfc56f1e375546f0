"""Repositories and file names made by somebody who wants a reading command to write or to run."""

import subprocess

import pytest

from paicli.policy.harmless import why_not_harmless
from paicli.policy.permissions import Permissions


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("a\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "x")
    return root


@pytest.mark.parametrize("command", ["sort *", "rg x *", "ls [^a]*", "cat [[:punct:]]*", "find *"])
def test_a_glob_that_gives_options_is_reviewed(root, command):
    (root / "--pre=sh").touch()
    (root / "-oowned").touch()
    assert why_not_harmless(command, root) is not None


@pytest.mark.parametrize(
    "command", ["printf *; ls", "rg * .", "find . -name *", "grep [a-z]* a.txt", "head -n * a.txt"]
)
def test_a_glob_that_is_no_path_is_reviewed_when_it_matches(root, command):
    assert why_not_harmless(command, root) is not None


@pytest.mark.parametrize("command", ["ls *", "cat a*", "grep [0-9] a.txt", "find . -name *.py"])
def test_a_plain_glob_stays_harmless(root, command):
    assert why_not_harmless(command, root) is None


def test_a_repository_inside_without_gitmodules_makes_status_one_for_review(root):
    assert why_not_harmless("git status", root) is None
    inner = root / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-qm", "x", "--allow-empty")
    git(root, "add", "inner")
    assert why_not_harmless("git status", root) is not None


@pytest.mark.parametrize(
    "command",
    [
        "git stash -m list",
        "git stash -m show",
        "git log --help",
        "git log --diff-merges=remerge -p",
        "git log --alternate-refs",
    ],
)
def test_options_of_git_that_act_are_reviewed(root, command):
    assert why_not_harmless(command, root) is not None


@pytest.mark.parametrize("key", ["core.alternateRefsCommand", "merge.x.driver"])
def test_settings_that_name_a_program_are_reviewed(root, key):
    git(root, "config", key, "./owned")
    assert why_not_harmless("git log", root) is not None


@pytest.mark.parametrize(
    "command",
    ["env -C / make", "env --ch=/ make", "env -iC/ make", '"time" -o x make', "env -u $X make"],
)
def test_a_rule_does_not_cover_a_wrapper_that_acts_itself(tmp_path, command):
    rules = Permissions(tmp_path / "home", tmp_path, ["make"])
    assert rules.allows("stdbuf -oL make")
    assert rules.allows("timeout -s KILL 5 make")
    assert not rules.allows(command)
