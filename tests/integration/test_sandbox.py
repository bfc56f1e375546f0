"""The sandbox: its arguments everywhere, and the real thing where it works."""

import os
import sys

import pytest

from paicli.config import load
from paicli.policy.sandbox import CommandSandbox, bubblewrap_arguments, seatbelt_arguments
from paicli.tools.processes import Processes
from paicli.tools.shell import ExecuteCommandParameters, shell_tool
from tests.model_server import ModelServer, ask, call, say


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root.resolve()


@pytest.fixture
def run(root):
    sandbox = CommandSandbox(root, "auto")
    if not sandbox.state().active:
        pytest.skip(f"no sandbox on this machine: {sandbox.state().problem}")
    processes = Processes()
    tool = shell_tool(root, load(root, {}, {}).settings, processes, sandbox)

    async def run_it(command, **more):
        return await tool.run(ExecuteCommandParameters(command=command, **more), lambda text: None)

    yield run_it
    processes.end_all()


def test_bubblewrap_is_told_what_may_be_seen(root):
    environment = {"PATH": "/opt/tools/bin:/usr/bin:relative:/opt/other", "JAVA_HOME": "/opt/jdk"}
    words = list(bubblewrap_arguments("/usr/bin/bwrap", root, environment, "echo 'a b'"))
    assert words[:4] == ["/usr/bin/bwrap", "--die-with-parent", "--new-session", "--unshare-all"]
    assert words[-4:] == ["--", "/bin/bash", "-c", "echo 'a b'"]
    text = " ".join(words)
    assert f"--bind {root} {root} --chdir {root}" in text
    assert "--ro-bind-try /opt/tools/bin /opt/tools/bin" in text
    assert "--ro-bind-try /opt/jdk /opt/jdk" in text
    assert "/opt/other" not in text
    assert "--share-net" not in text
    assert text.index("--tmpfs /tmp") < text.index(f"--bind {root}")


def test_seatbelt_is_told_what_may_be_seen(root):
    words = seatbelt_arguments("/usr/bin/sandbox-exec", root, {"PATH": "/usr/bin"}, "echo a")
    assert words[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert words[-3:] == ("/bin/bash", "-c", "echo a")
    rules = words[2].splitlines()
    assert rules[:3] == ["(version 1)", "(deny default)", "(deny network*)"]
    assert f'(allow file-write* (subpath "{root}"))' in rules
    assert len([rule for rule in rules if "file-write" in rule]) == 2


def test_a_path_that_cannot_be_a_rule_is_refused(root):
    with pytest.raises(OSError, match="control characters"):
        seatbelt_arguments("x", root / "a\nb", {}, "ls")
    quoted = seatbelt_arguments("x", root / 'a"b\\c', {}, "ls")[2]
    assert 'a\\"b\\\\c' in quoted


def test_off_changes_nothing(root):
    sandbox = CommandSandbox(root, "off")
    launch = sandbox.launch("/bin/bash", "ls", {"A": "1"})
    assert launch.arguments == ("/bin/bash", "-c", "ls")
    assert launch.environment == {"A": "1"}
    assert sandbox.refusal() is None
    assert not (root / ".paicli-command-sandbox").exists()


@pytest.mark.parametrize("platform", ["linux", "darwin", "aix"])
def test_auto_does_without_and_required_refuses(root, platform, monkeypatch):
    monkeypatch.setattr("paicli.policy.sandbox._SEATBELT", "/nowhere/sandbox-exec")
    monkeypatch.setattr("paicli.policy.sandbox._find_bubblewrap", lambda: "")
    told = []
    auto = CommandSandbox(root, "auto", platform, told.append)
    assert not auto.state().active
    assert auto.state().problem
    assert auto.refusal() is None
    assert told == []
    for _ in range(2):
        assert auto.launch("/bin/bash", "ls", {}).arguments == ("/bin/bash", "-c", "ls")
    assert told == [auto.state().problem]
    required = CommandSandbox(root, "required", platform)
    assert "refused" in required.refusal()
    assert "apt install bubblewrap" in required.refusal()


def test_a_sandbox_that_does_not_start_is_none(root, tmp_path, monkeypatch):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("paicli.policy.sandbox._find_bubblewrap", lambda: str(broken))
    assert "no namespaces here" in CommandSandbox(root, "required", "linux").refusal()


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is of Linux")
def test_a_wanted_sandbox_that_is_not_there_is_told_once(paicli, tmp_path):
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n")
    broken.chmod(0o755)
    env = {
        "PAICLI_COMMAND_SANDBOX": "auto",
        "PATH": f"{broken.parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = ask(call("execute_command", command="touch a"))
    with ModelServer([command, command, say("done")]) as server:
        ended = paicli.run("-p", "go", server=server, env=env)
    assert (ended.code, ended.out) == (0, "done\n")
    assert ended.err.count("no namespaces here") == 1


async def test_inside_the_project_is_writable_and_the_rest_is_not(run, root, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "persons-home"))
    (tmp_path / "persons-home").mkdir()
    (tmp_path / "persons-home" / "secret").write_text("hidden words")
    output = await run(
        "echo x > made; pwd; cat made; echo $HOME; touch $HOME/a $TMPDIR/b && ls /usr"
    )
    assert output.ok, output.text
    assert (root / "made").read_text() == "x\n"
    assert str(root / ".paicli-command-sandbox" / "home") in output.text
    assert (root / ".paicli-command-sandbox" / ".gitignore").read_text() == "*\n"
    for command in (
        f"cat {tmp_path}/persons-home/secret",
        "touch /usr/owned",
        "touch /etc/owned",
    ):
        output = await run(command)
        assert not output.ok, command
        assert "hidden words" not in output.text
    # There is another /tmp inside: what is written there is seen by nobody.
    await run(f"touch {tmp_path}/owned")
    assert not (tmp_path / "owned").exists()


async def test_there_is_no_network_inside(run):
    server = __import__("socket").create_server(("127.0.0.1", 0))
    with server:
        port = server.getsockname()[1]
        output = await run(f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected")
    assert "connected" not in output.text


async def test_a_timeout_ends_what_runs_inside(run):
    seconds = f"341.{os.getpid()}"
    output = await run(
        f"sleep {seconds} & setsid sleep {seconds} & sleep {seconds}", timeout_seconds=1
    )
    assert "Timed out" in output.text
    if sys.platform.startswith("linux"):
        from paicli.tools import process_table

        found = [
            pid for pid in process_table.snapshot() if seconds in process_table.command_line(pid)
        ]
        assert [pid for pid in found if pid != os.getpid()] == []


async def test_a_link_in_place_of_the_sandboxs_folder_is_refused(run, root, tmp_path):
    (root / ".paicli-command-sandbox").symlink_to(tmp_path)
    with pytest.raises(Exception, match="symbolic link"):
        await run("ls")
