"""Programs that run another command, and how to find it among their words, as data."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from paicli.policy.shell_words import Word, literal


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words look before the command begins.

    `valued`: options that take the next word. `operands`: how many words of its own come first.
    `assigns`: NAME=VALUE words come first. `code`: options whose value is shell code.
    `queries`: with one of these it only tells about a command. `joins`: the rest is joined and
    given to a shell.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    code: frozenset[str] = frozenset()
    queries: frozenset[str] = frozenset()
    joins: bool = False


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        _options("-u --unset -C --chdir"), assigns=True, code=_options("-S --split-string")
    ),
    "timeout": Wrapper(_options("-s --signal -k --kill-after"), operands=1),
    "gtimeout": Wrapper(_options("-s --signal -k --kill-after"), operands=1),
    "nice": Wrapper(_options("-n --adjustment")),
    "ionice": Wrapper(_options("-c --class -n --classdata -p --pid")),
    "chrt": Wrapper(_options("-p -T -P -D"), operands=1),
    "taskset": Wrapper(operands=1),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper(_options("-i --input -o --output -e --error")),
    "unbuffer": Wrapper(),
    "time": Wrapper(_options("-f --format -o --output")),
    "command": Wrapper(queries=_options("-v -V")),
    "builtin": Wrapper(),
    "exec": Wrapper(_options("-a")),
    "coproc": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chroot": Wrapper(operands=1),
    "fakeroot": Wrapper(_options("-l -s -i -b")),
    "unshare": Wrapper(_options("-S -G -R -w --setuid --setgid --root --wd")),
    "nsenter": Wrapper(_options("-t -S -G --target")),
    "flock": Wrapper(
        _options("-w --timeout -E --conflict-exit-code"), operands=1, code=_options("-c --command")
    ),
    "strace": Wrapper(_options("-o -e -p -s -u -E -a -b -I -O -S -X -P")),
    "ltrace": Wrapper(_options("-o -e -p -s -u -a -n -l -x -F")),
    "watch": Wrapper(_options("-n --interval -q --equexit"), joins=True),
    "script": Wrapper(
        _options("-I -O -B -T -E -o -m --log-in --log-out --log-io"),
        operands=1,
        code=_options("-c --command"),
    ),
    "xargs": Wrapper(
        _options(
            "-a --arg-file -d --delimiter -E -I -L -l -n -P -s --max-args --max-lines --max-procs "
            "--max-chars --replace --process-slot-var"
        )
    ),
    "parallel": Wrapper(
        _options("-j --jobs -a --arg-file -I --colsep -d --delimiter -S -n -N -L"), joins=True
    ),
    "caffeinate": Wrapper(_options("-t -w")),
    "arch": Wrapper(_options("-e -d")),
    "dbus-run-session": Wrapper(_options("--config-file --dbus-daemon")),
    "xvfb-run": Wrapper(_options("-n --server-num -s --server-args -e --error-file")),
    "firejail": Wrapper(),
    "proxychains": Wrapper(_options("-f")),
    "proxychains4": Wrapper(_options("-f")),
    "systemd-run": Wrapper(_options("-u --unit -p --property -E --setenv -M -H")),
}

SHELLS = frozenset({
    "sh", "bash", "zsh", "fish", "ksh", "ksh93", "mksh", "dash", "ash", "rbash", "csh", "tcsh", "yash",
    "pwsh", "elvish", "nu", "hush",
})  # fmt: skip
_SHELL_VALUED = _options("-o +o -O +O --rcfile --init-file")


def base_name(word: Word) -> str:
    """Return the name of the program that a word starts, without its folders."""
    return posixpath.basename(word.text)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a wrapper runs: words of a command, or shell code; `assigned` are variables it sets."""

    words: tuple[Word, ...] = ()
    code: tuple[Word, ...] = ()
    assigned: tuple[str, ...] = ()


def unwrap(words: tuple[Word, ...]) -> Unwrapped | None:
    """Return what the command runs when its program is a wrapper; None when it is not one."""
    name = base_name(words[0])
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    rest, code, queries = _behind_options(words, wrapper)
    if queries:
        return Unwrapped()
    assigned = []
    while wrapper.assigns and rest and "=" in rest[0].text:
        assigned.append(rest[0].text.partition("=")[0])
        rest = rest[1:]
    rest = rest if code else rest[wrapper.operands :]
    if name == "flock" and rest and rest[0].text in wrapper.code:
        return Unwrapped(code=rest[1:2])
    if wrapper.joins:
        return Unwrapped(code=(join(rest),) if rest else ())
    if name == "env" and code:
        return Unwrapped(code=(join((*code, *rest)),), assigned=tuple(assigned))
    return Unwrapped(rest, tuple(code), tuple(assigned))


def _behind_options(
    words: tuple[Word, ...], wrapper: Wrapper
) -> tuple[tuple[Word, ...], list[Word], bool]:
    """Return the words behind a wrapper's options, the code among them, and whether it only asks."""
    at, code = 1, []
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        option = words[at].text
        at += 1
        if option == "--":
            break
        name, equals, value = option.partition("=")
        if _has_letter(option, wrapper.queries):
            return (), [], True
        if name in wrapper.code or _clustered(name, wrapper.code):
            code.append(literal(value) if equals else (*words[at : at + 1], literal(""))[0])
            at += not equals
        elif _glued(option, wrapper.code):
            code.append(literal(option[2:]))
        elif name in wrapper.valued and not equals:
            at += 1
    return words[at:], code, False


def _has_letter(option: str, letters: frozenset[str]) -> bool:
    return bool(letters) and not option.startswith("--") and any(x[1] in option for x in letters)


def _glued(option: str, names: frozenset[str]) -> bool:
    """Tell whether a short option of these carries its value in the same word (`-S'ls -l'`)."""
    return len(option) > 2 and option[:2] in names


def _clustered(option: str, names: frozenset[str]) -> bool:
    """Tell whether the last letter of a cluster is one of these options (`-qc 'ls -l'`)."""
    return not option.startswith("--") and "-" + option[-1:] in names


def join(words: tuple[Word, ...]) -> Word:
    """Return the words as one, as `eval` sees them."""
    return literal(" ".join(word.text for word in words))


@dataclass(frozen=True, slots=True)
class ShellCall:
    """How a shell is started: with code to run, with a script file, or reading its input."""

    code: Word | None = None
    script: Word | None = None

    @property
    def reads_input(self) -> bool:
        """Tell whether the shell runs what comes in on its input."""
        if self.code is not None:
            return False
        return self.script is None or self.script.text in ("-", "/dev/stdin", "/proc/self/fd/0")


def shell_call(words: tuple[Word, ...]) -> ShellCall | None:
    """Return how the command starts a shell; None when it starts something else."""
    if base_name(words[0]) not in SHELLS:
        return None
    at, takes_code, reads = 1, False, False
    while at < len(words):
        option = words[at].text
        if option in ("--", "-") or not option.startswith(("-", "+")):
            at += option in ("--", "-")
            break
        at += 2 if option in _SHELL_VALUED else 1
        short = not option.startswith("--")
        takes_code = takes_code or (short and "c" in option) or option in ("--command", "-Command")
        reads = reads or (short and "s" in option)
    rest = words[at:]
    if takes_code:
        return ShellCall(code=rest[0] if rest else literal(""))
    if reads or not rest:
        return ShellCall()
    return ShellCall(script=rest[0])
