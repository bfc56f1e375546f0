"""An operating-system sandbox around commands: bubblewrap on Linux, Seatbelt on macOS.

The project is writable, the system can be read, the home folder is invisible and there is no
network. What cannot be had in `auto` is done without, in `required` it is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from paicli.values import value

PROBE_SECONDS = 3.0
FOLDER = ".paicli-command-sandbox"

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
_RUNTIME_VARIABLES = ("JAVA_HOME", "GOROOT", "VIRTUAL_ENV")
_RUNTIME_FOLDER_NAMES = ("bin", "sbin", "shims")
_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_SEATBELT = "/usr/bin/sandbox-exec"
_SEATBELT_READABLE = (
    "/usr", "/bin", "/sbin", "/System", "/Library", "/private/etc", "/private/var/db",
    "/private/var/select", "/opt", "/Applications/Xcode.app", "/dev/fd",
)  # fmt: skip
_SEATBELT_DEVICES = ("/", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")


@value
class Launch:
    """How to start a command: its words and its environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@value
class SandboxState:
    """What there is: `kind` is `bubblewrap`, `seatbelt` or empty; `problem` says why there is none."""

    wanted: str
    kind: str = ""
    program: str = ""
    problem: str = ""

    @property
    def active(self) -> bool:
        """Tell whether commands run inside the sandbox."""
        return bool(self.kind)


class CommandSandbox:
    """Wraps the commands of one project. The probe runs once, when the first answer is needed.

    `when_missing` is told once, at the first command that has to do without, why that is.
    """

    def __init__(
        self,
        root: Path,
        wanted: str,
        platform: str = sys.platform,
        when_missing: Callable[[str], None] | None = None,
    ) -> None:
        self._root = root
        self._wanted = wanted
        self._platform = platform
        self._when_missing = when_missing
        self._found: SandboxState | None = None

    def state(self) -> SandboxState:
        """Return whether there is a sandbox, and why not."""
        if self._wanted == "off":
            return SandboxState("off")
        if self._found is None:
            self._found = self._detect()
        return self._found

    def refusal(self) -> str | None:
        """Return why no command may run, for the model: a sandbox is required and there is none."""
        state = self.state()
        if state.wanted != "required" or state.active:
            return None
        return (
            f"Commands are refused: PAICLI_COMMAND_SANDBOX=required, but there is no sandbox here "
            f"({state.problem}). The person can install bubblewrap (for example `apt install "
            f"bubblewrap`) or set PAICLI_COMMAND_SANDBOX=auto."
        )

    def launch(self, bash: str, command: str, environment: Mapping[str, str]) -> Launch:
        """Return how to start `command`, inside the sandbox when there is one. Raises OSError."""
        state = self.state()
        if not state.active:
            tell, self._when_missing = self._when_missing, None
            if state.problem and tell is not None:
                tell(state.problem)
            return Launch((bash, "-c", command), environment)
        root = self._root.resolve(strict=True)
        inside = _inside_environment(root, environment)
        if state.kind == "bubblewrap":
            arguments = bubblewrap_arguments(state.program, root, inside, command)
        else:
            arguments = seatbelt_arguments(state.program, root, inside, command)
        return Launch(arguments, inside)

    def _detect(self) -> SandboxState:
        if self._platform == "darwin":
            kind, program = "seatbelt", _SEATBELT
            test = [program, "-p", "(version 1)(allow default)", "/usr/bin/true"]
        elif self._platform.startswith("linux"):
            kind, program = "bubblewrap", _find_bubblewrap()
            # Without a process of its own as the first one inside, none is left to be collected.
            flags = ("--unshare-all", "--as-pid-1", "--ro-bind", "/", "/")
            test = [program, *flags, "/usr/bin/true"]
        else:
            return SandboxState(self._wanted, problem=f"none is known for {self._platform}")
        if not program or not Path(program).exists():
            return SandboxState(self._wanted, problem=f"{kind} is not installed")
        problem = _probe(test)
        if problem:
            return SandboxState(self._wanted, problem=f"{kind} does not work here: {problem}")
        return SandboxState(self._wanted, kind, program)


def _find_bubblewrap() -> str:
    folders = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry[:1] == "/"]
    return shutil.which("bwrap", path=os.pathsep.join([*folders, "/usr/bin"])) or ""


def _probe(arguments: Sequence[str]) -> str:
    """Return why the sandbox cannot start the simplest program; empty when it can."""
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not answer in time"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return ""
    return done.stderr.decode("utf-8", "replace").strip()[:200] or f"exit code {done.returncode}"


def _inside_environment(root: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment inside: a home and a temporary folder of its own below the project."""
    base = root / FOLDER
    home, temporary = base / "home", base / "tmp"
    for folder in (base, home, temporary):
        if folder.is_symlink():
            raise NotADirectoryError(20, "is a symbolic link", str(folder))
        folder.mkdir(exist_ok=True)
    ignore = base / ".gitignore"
    if not ignore.is_symlink() and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    own = {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TMP": str(temporary),
        "TEMP": str(temporary),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "PATH": os.pathsep.join([*_runtime_folders(environment), *_SYSTEM_PATH]),
    }
    return {**environment, **own}


def _runtime_folders(environment: Mapping[str, str]) -> list[str]:
    """Return the folders with tools outside the system's: those of PATH that are named like one."""
    wanted = [
        entry
        for entry in environment.get("PATH", "").split(os.pathsep)
        if entry.startswith("/") and Path(entry).name in _RUNTIME_FOLDER_NAMES
    ]
    return [entry for entry in dict.fromkeys(wanted) if not _in_system(entry)]


def _in_system(path: str) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in _SYSTEM_FOLDERS)


def _readable(environment: Mapping[str, str]) -> list[str]:
    homes = [environment.get(name, "") for name in _RUNTIME_VARIABLES]
    found = [*homes, *_runtime_folders(environment)]
    return [path for path in dict.fromkeys(found) if path.startswith("/") and not _in_system(path)]


def bubblewrap_arguments(
    program: str, root: Path, environment: Mapping[str, str], command: str
) -> tuple[str, ...]:
    """Return the words that run `command` under bubblewrap. The workspace comes last, above all else."""
    words = [program, "--die-with-parent", "--new-session", "--unshare-all"]
    for folder in _SYSTEM_FOLDERS:
        if Path(folder).is_symlink():
            words += ["--symlink", str(Path(folder).readlink()), folder]
        else:
            words += ["--ro-bind-try", folder, folder]
    words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for path in _readable(environment):
        words += ["--ro-bind-try", path, path]
    words += ["--bind", str(root), str(root), "--chdir", str(root)]
    return (*words, "--", "/bin/bash", "-c", command)


def seatbelt_arguments(
    program: str, root: Path, environment: Mapping[str, str], command: str
) -> tuple[str, ...]:
    """Return the words that run `command` under sandbox-exec."""
    readable = [*_SEATBELT_READABLE, str(root), *_readable(environment)]
    rules = [
        "(version 1)",
        "(deny default)",
        "(deny network*)",
        "(allow process*)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow mach-lookup)",
        "(allow file-read-metadata)",
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in readable),
        *(f"(allow file-read* (literal {_quoted(path)}))" for path in _SEATBELT_DEVICES),
        f"(allow file-write* (subpath {_quoted(str(root))}))",
        '(allow file-write* (literal "/dev/null"))',
    ]
    return (program, "-p", "\n".join(rules), "/bin/bash", "-c", command)


def _quoted(path: str) -> str:
    if not path.isprintable():
        raise OSError(22, "a path with control characters cannot be put into a rule", path)
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
