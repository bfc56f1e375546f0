"""Homes and projects that may not be read, written or found: the work goes on, or one line says why not."""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from paicli.config_files import expanded, user_home
from paicli.policy.trust import Trust
from tests.integration.program import ROOT, pointing_at
from tests.model_server import ModelServer, ask, call, say

STRANGER = 54321
"""A user that the machine does not know, as in a container that was given a number to run as."""


@pytest.fixture
def place():
    """A folder that a user without rights can reach; pytest's own are for the tester alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_stranger(program, project, environ):
    user = {"user": STRANGER, "group": STRANGER, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run(
        program, cwd=project, env=environ, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL,
        timeout=60, **user,
    )  # fmt: skip


@functools.cache
def a_python():
    """Return a Python that another user can start and that can load PaiCLI; this one may be the tester's own."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path]),
    }
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    check = f"import sys, httpx, paicli; assert sys.version.startswith('{wanted}.')"
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if as_stranger([python, "-c", check], "/", environ).returncode == 0:
                return python, environ
        except OSError:
            continue
    pytest.skip("another user has no Python that can load PaiCLI")


def run_as_stranger(project, *arguments, server=None, **environ):
    python, readable = a_python()
    environ = readable | environ | (pointing_at(server) if server else {})
    ended = as_stranger([python, "-m", "paicli", *arguments], project, environ)
    assert "Traceback" not in ended.stderr
    assert "internal error" not in ended.stderr
    return ended


def works(project, **environ):
    turns = [
        ask(call("write_file", path="a.txt", content="x"), call("execute_command", command="id")),
        say("done"),
    ]
    with ModelServer(turns) as server:
        return run_as_stranger(project, "-p", "go", server=server, **environ)


def owned(folder):
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(folder, STRANGER, STRANGER)
    return folder


@pytest.mark.parametrize("closed", [".paicli", ".paicli/snapshots", ".paicli/sessions"])
def test_a_home_that_somebody_elses_rights_close(place, closed):
    project = owned(place / "project")
    inner = owned(place / "home")
    for name in closed.split("/"):
        inner = owned(inner / name)
    inner.chmod(0)
    ended = works(project, HOME=str(place / "home"))
    inner.chmod(0o700)
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert (project / "a.txt").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_user_without_a_home_works_on_without_what_is_kept_there(place):
    project = owned(place / "project")
    ended = works(project)
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert "The session cannot be saved" in ended.stderr
    assert sorted(path.name for path in project.iterdir()) == ["a.txt"]


def test_a_project_that_may_be_listed_and_not_entered_is_named(place):
    project = owned(place / "project")
    project.chmod(0o444)
    ended = run_as_stranger(place, "-p", "go", "-C", str(project), HOME=str(place))
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert str(project) in ended.stderr


def test_a_name_that_is_nobodys_stays_as_it_is(monkeypatch):
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
    monkeypatch.setenv("HOME", "relative")
    assert user_home() == Path("/nonexistent")


def test_in_the_home_folder_its_own_files_are_nothing_to_trust(tmp_path):
    own = tmp_path / ".paicli"
    (own / "logs").mkdir(parents=True)
    (own / "logs" / "paicli.log").write_text("x")
    assert Trust(own, tmp_path).state().covered == ()
    assert Trust(tmp_path / "elsewhere", tmp_path).state().covered == (".paicli/logs/paicli.log",)
