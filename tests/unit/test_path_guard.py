"""The fence: what is inside, what is not, and no gap between the check and the use."""

import os
import shutil
import threading
from contextlib import suppress

import pytest

from paicli.errors import PaiCliError, PolicyDenied, ToolFailed
from paicli.policy.path_guard import PathGuard
from paicli.policy.sensitive import why_ask


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("SECRET")
    (tmp_path / "ws-evil").mkdir()
    links = {
        "out": "../outside",
        "out.txt": "../outside/secret.txt",
        "in": "sub",
        "round": "../ws/a.txt",
        "loop": "loop2",
        "loop2": "loop",
        "ghost": "../outside/new.txt",
        "soon": "sub/new.txt",
        "chain": "in/../in",
        "absolute": "/etc",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("a.txt", "a.txt"),
        ("./sub/../a.txt", "a.txt"),
        ("sub/", "sub"),
        (".", ""),
        ("new/deep/x", "new/deep/x"),
        ("in/x", "sub/x"),
        ("round", "a.txt"),
        ("soon", "sub/new.txt"),
        ("chain", "sub"),
        ("$HOME/x", "$HOME/x"),
        ("a\nb", "a\nb"),
        ("．．/x", "．．/x"),
        ("..a", "..a"),
    ],
)
def test_inside(root, path, real):
    assert PathGuard(root).resolve(path) == root / real


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../outside/secret.txt", "nope/../../outside", "/etc/passwd", "/", "../ws-evil/x"),
        *("out", "out/x", "out/x/y", "out.txt", "ghost", "absolute/passwd", "in/../../outside"),
        *(
            "loop",
            "loop/x",
            "",
            "  ",
            "a\0b",
            "x" * 300,
            "d/" * 3000,
            "\ud800",
            "/proc/self/root/etc",
        ),
        *("sub/../../ws-evil", "{T}/outside", "//etc/passwd"),
    ],
)
def test_outside(root, path):
    with pytest.raises(PolicyDenied):
        PathGuard(root).resolve(path.replace("{T}", str(root.parent)))


def test_a_root_that_is_a_link(root):
    link = root.parent / "link"
    link.symlink_to(root)
    guard = PathGuard(link)
    assert guard.resolve(link / "a.txt") == root / "a.txt"
    assert guard.resolve(root / "a.txt") == root / "a.txt"


def test_a_root_that_vanished(root):
    guard = PathGuard(root / "sub")
    (root / "sub").rmdir()
    path = guard.resolve("x.txt")
    with pytest.raises(ToolFailed, match="does not exist any more"):
        guard.open_file(path)
    with pytest.raises(ToolFailed), guard.parent(path, create=True):
        pass
    assert not (root / "sub").exists()


@pytest.mark.parametrize("name", ["out", "out.txt", "in"])
def test_a_link_that_appears_after_the_check_is_not_followed(root, name):
    guard = PathGuard(root)
    with pytest.raises(PaiCliError):
        guard.open_file(root / name)
    with pytest.raises(PolicyDenied), guard.parent(root / name / "x", create=True):
        pass


def test_a_link_swapped_in_all_the_time_never_leads_out(root):
    """Somebody swaps a folder for a link as fast as they can; nothing outside is read or made."""
    guard = PathGuard(root)
    outside = root.parent / "outside"
    (root / "real").mkdir()
    (root / "real" / "secret.txt").write_text("harmless")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            with suppress(OSError):
                (root / "real").rename(root / "kept")
                (root / "real").symlink_to(outside)
                (root / "real").unlink()
                (root / "kept").rename(root / "real")
            if (root / "kept").exists():  # the guard made the folder while it was away
                shutil.rmtree(root / "real", ignore_errors=True)
                with suppress(OSError):
                    (root / "kept").rename(root / "real")

    thread = threading.Thread(target=swap)
    thread.start()
    read = set()
    try:
        for number in range(2_000):
            try:
                with open(guard.open_file(root / "real" / "secret.txt")) as file:
                    read.add(file.read())
                with guard.parent(root / "real" / f"n{number}" / "x", create=True):
                    pass
            except (PaiCliError, OSError):
                continue
    finally:
        stop.set()
        thread.join()
    assert read <= {"harmless"}
    assert os.listdir(outside) == ["secret.txt"]


def test_directories_made_for_nothing_are_taken_away(root):
    guard = PathGuard(root)
    with pytest.raises(OSError, match="full"), guard.parent(root / "x/y/z", create=True):
        raise OSError("full")
    assert not (root / "x").exists()


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "device"])
def test_only_regular_files_are_opened(root, kind, tmp_path):
    import socket

    target = root / "odd"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(root)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd")
        os.chdir(here)
    else:
        try:
            os.mknod(target, 0o20666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    with pytest.raises(ToolFailed, match="not a regular file"):
        PathGuard(root).open_file(target)


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git/config",
            ".git/hooks/pre-commit",
            "sub/.git/HEAD",
            ".GIT/config",
            ".git",
            ".g\u200cit/x",
        ),
        *(".env", ".env.local", "sub/.env.production", ".envrc", ".ENV"),
        *("id_rsa", "sub/id_ed25519", "server.key", "cert.pem", "a.p12", ".ssh/config", ".npmrc"),
        *(".netrc", ".aws/credentials", "link-to-env"),
    ],
)
def test_a_person_is_asked(root, path):
    (root / ".env").write_text("")
    (root / "link-to-env").symlink_to(".env")
    assert why_ask(PathGuard(root), path)


@pytest.mark.parametrize(
    "path",
    [
        "a.txt",
        ".gitignore",
        ".github/workflows/ci.yml",
        ".env.example",
        "environment.py",
        "src/keys.py",
        "monkey.py",
        "..",
        "git/x",
        "public.keyboard",
        ".envoy/x.yml",
    ],
)
def test_a_person_is_not_asked(root, path):
    assert why_ask(PathGuard(root), path) is None
