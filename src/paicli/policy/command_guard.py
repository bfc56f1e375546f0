"""Refuse the commands that nobody can want an agent to run, whoever approves them."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from paicli.policy.dangerous_paths import Places, is_device
from paicli.policy.effective import Effective, Effects, effects
from paicli.policy.shell_words import DOWNLOADED, UNKNOWN, Word
from paicli.policy.wrappers import shell_call

_PRIVILEGE = frozenset({
    "sudo", "sudoedit", "sudo-rs", "doas", "su", "su-exec", "gosu", "pkexec", "run0", "gksu", "gksudo",
    "kdesu", "kdesudo", "visudo",
})  # fmt: skip
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_POWER_VERBS = frozenset({
    "poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep",
})  # fmt: skip
_FORMATTING = frozenset(
    {"mkfs", "mke2fs", "mkdosfs", "mkntfs", "mkswap", "newfs", "wipefs", "blkdiscard"}
)
_DOWNLOADING = frozenset({
    "curl", "wget", "wget2", "fetch", "aria2c", "http", "https", "xh", "xhs", "curlie", "lynx", "w3m",
    "nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "lwp-download", "GET",
})  # fmt: skip
_SAVE_FLAGS = frozenset({"-o", "-O", "--output", "--output-document"})
_INTERPRETING = frozenset({"python", "perl", "ruby", "node", "php", "lua", "deno", "bun"})
_SOURCING = frozenset({".", "source"})
_CODE_FLAGS = frozenset({"-c", "-e", "-E", "-r", "-p", "--eval", "--print"})
_WRITING_LAST = frozenset({"cp", "install", "rsync", "scp"})
_WRITING_ALL = frozenset({"tee", "shred", "truncate", "sponge"})
_PARTITIONING = {
    **dict.fromkeys(("fdisk", "sfdisk", "cfdisk"), frozenset({"-l", "--list", "-s"})),
    "sgdisk": frozenset({"-p", "--print"}),
    "parted": frozenset({"-l", "--list"}),
}
"""The programs for partitions, with the flags that make them only read."""
_FORK_BOMB = re.compile(r":\s*\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;?\s*:")
_NAMED = sorted(_PRIVILEGE | _POWER | _FORMATTING | {"rm", "dd", "chmod", "mkfs.ext4"})
_WORLD_WRITABLE = re.compile(r"0?0?[0-7]*[2367]|([augo]*[ao][augo]*|\+|=)[+=]?[rwxXst]*w[rwxXst]*")

_ADVICE = "Work inside the project, or tell the person what to run themselves."


class CommandGuard:
    """Asks of a command line whether something in it must never run. Pure: it runs nothing.

    It is an aid against accidents, not a fence: a command can do harm in ways no text shows. What
    it cannot read it lets pass to the review. With `root` it also protects the project's parents.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._places = Places(root)

    def check(self, command: str) -> str | None:
        """Return why the command is refused, as a sentence for the model, or None."""
        found = effects(command)
        if found.bombs or (not found.whole and _FORK_BOMB.search(command)):
            return _sentence("it starts itself again and again until the machine stands still")
        directories = _Directories(self._places)
        for effective in found.commands:
            if reason := self._judge(effective, directories):
                return _sentence(reason)
            directories.follow(effective)
        reason = _writes_to_device(found) or _runs_download(found)
        return _sentence(reason) if reason else None

    def _judge(self, command: Effective, directories: _Directories) -> str | None:
        name = _telling_name(command)
        if name in _PRIVILEGE:
            return f"{name} would give it other rights than the person's own"
        if name in _POWER or _is_power_verb(name, command):
            return f"{name} would stop the machine"
        if name in _FORMATTING or name.startswith(("mkfs.", "newfs_")):
            return f"{name} erases a whole device"
        rule = _RULES.get(name)
        return rule(command, directories) if rule else None


def _sentence(reason: str) -> str:
    return f"This command is refused whoever approves it: {reason}. {_ADVICE}"


def _telling_name(command: Effective) -> str:
    """Return the program's name; for a glob the first dangerous name that it can stand for."""
    name = command.name
    if command.words[0].has_active("*?["):
        return next((known for known in _NAMED if fnmatch.fnmatchcase(known, name)), name)
    return name


def _is_power_verb(name: str, command: Effective) -> bool:
    verbs = [word.text for word in command.arguments if not word.text.startswith("-")][:1]
    if name in ("systemctl", "loginctl"):
        return bool(verbs) and verbs[0] in _POWER_VERBS
    return name in ("init", "telinit") and verbs in (["0"], ["6"])


class _Directories:
    """Where the shell stands while one command follows the other, as far as `cd` tells."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.current = ""

    def follow(self, command: Effective) -> None:
        """Take a change of directory into account."""
        if command.name not in ("cd", "pushd"):
            return
        target = [word for word in command.arguments if word.text not in ("-P", "-L", "-e", "--")]
        self.current = self.places.within(self.current, target[0]) if target else self.places.home

    def vital(self, word: Word) -> str | None:
        """Return what the path is when losing it would be a disaster."""
        return self.places.vital(word, self.current)

    def is_system(self, word: Word) -> bool:
        """Tell whether the path is the root or a folder of the system, the home folder left aside."""
        return self.places.vital(word, self.current) in ("the whole disk", "a system folder")


def _flags_and_operands(words: tuple[Word, ...]) -> tuple[list[str], list[Word]]:
    """Split words into options and operands; options may stand anywhere before `--`."""
    flags: list[str] = []
    operands: list[Word] = []
    for at, word in enumerate(words):
        if word.text == "--":
            operands += words[at + 1 :]
            break
        if word.text.startswith("-") and len(word.text) > 1:
            flags.append(word.text)
        else:
            operands.append(word)
    return flags, operands


def _has_flag(flags: list[str], letters: str, long: str) -> bool:
    """Tell whether an option is among the flags, also in a cluster or as a shortened long one."""
    for flag in flags:
        if flag.startswith("--"):
            if len(flag) > 3 and long.startswith(flag):
                return True
        elif any(letter in flag for letter in letters):
            return True
    return False


def _rm(command: Effective, directories: _Directories) -> str | None:
    flags, operands = _flags_and_operands(command.arguments)
    if not _has_flag(flags, "rR", "--recursive"):
        return None
    for word in operands:
        if what := directories.vital(word):
            return f"it deletes {what} with everything in it"
    return None


def _chmod(command: Effective, directories: _Directories) -> str | None:
    flags, operands = _flags_and_operands(command.arguments)
    modes = [flag for flag in flags if re.fullmatch(r"-[rwxXst]+", flag) and flag != "-R"]
    if not _has_flag(flags, "R", "--recursive"):
        return None
    opens = bool(operands) and (
        command.name == "chmod" and _WORLD_WRITABLE.fullmatch(operands[0].text) is not None
    )
    for word in operands if modes else operands[1:]:
        what = directories.vital(word)
        if what and (opens or directories.is_system(word)):
            return f"it changes the rights of {what} and of everything in it"
    return None


def _dd(command: Effective, _: _Directories) -> str | None:
    for word in command.arguments:
        if word.text.startswith("of=") and is_device(word.text[3:]):
            return f"it writes to the device {word.text[3:]}"
    return None


def _find(command: Effective, directories: _Directories) -> str | None:
    words = command.arguments
    starts: list[Word] = []
    for word in words:
        if word.text in ("-H", "-L", "-P"):
            continue
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    texts = [word.text for word in words]
    deletes = "-delete" in texts or any(
        text in ("-exec", "-execdir") and texts[at + 1 : at + 2] in (["rm"], ["/bin/rm"])
        for at, text in enumerate(texts)
    )
    depth = texts[texts.index("-maxdepth") + 1 :][:1] if "-maxdepth" in texts else []
    for word in starts:
        what = directories.vital(word)
        if what and deletes:
            return f"it deletes what it finds in {what}"
        if what in ("the whole disk", "the home folder") and depth not in (["0"], ["1"], ["2"]):
            return f"it searches {what}, which takes very long and reads what is not its business"
    return None


def _last_operand(command: Effective, _: _Directories) -> str | None:
    operands = _flags_and_operands(command.arguments)[1]
    if operands and is_device(operands[-1].text):
        return f"it writes to the device {operands[-1].text}"
    return None


def _mv(command: Effective, directories: _Directories) -> str | None:
    words = list(command.arguments)
    targets = [at for at, word in enumerate(words) if word.text in ("-t", "--target-directory")]
    if targets:
        del words[targets[0] : targets[0] + 2]
    operands = _flags_and_operands(tuple(words))[1]
    for word in operands if targets else operands[:-1]:
        if what := directories.vital(word):
            return f"it moves {what} away"
    return None if targets else _last_operand(command, directories)


def _partitions(command: Effective, directories: _Directories) -> str | None:
    flags = {word.text for word in command.arguments}
    return None if flags & _PARTITIONING[command.name] else _every_operand(command, directories)


def _every_operand(command: Effective, _: _Directories) -> str | None:
    for word in _flags_and_operands(command.arguments)[1]:
        if is_device(word.text):
            return f"it writes to the device {word.text}"
    return None


def _kill(command: Effective, _: _Directories) -> str | None:
    words = [word.text for word in command.arguments]
    if words[:1] and words[0] in ("-s", "-n", "--signal"):
        words = words[2:]
    elif len(words) > 1 and words[0].startswith("-"):
        words = words[1:]
    return "it ends every process that the person runs" if "-1" in words else None


_RULES: dict[str, Callable[[Effective, _Directories], str | None]] = {
    "rm": _rm,
    "grm": _rm,
    "srm": _rm,
    "chmod": _chmod,
    "chown": _chmod,
    "chgrp": _chmod,
    "dd": _dd,
    "dcfldd": _dd,
    "find": _find,
    "mv": _mv,
    "kill": _kill,
    "killall5": lambda _command, _directories: "it ends every process that the person runs",
    **dict.fromkeys(_WRITING_LAST, _last_operand),
    **dict.fromkeys(_WRITING_ALL, _every_operand),
    **dict.fromkeys(_PARTITIONING, _partitions),
}


def _writes_to_device(found: Effects) -> str | None:
    for simple in found.simple:
        for redirect in simple.redirects:
            if ">" in redirect.operator and is_device(redirect.target.text):
                return f"it writes to the device {redirect.target.text}"
    return None


def _runs_download(found: Effects) -> str | None:
    """Return a reason when what comes from the network is run unseen."""
    reason = "it runs what it downloads, unseen"
    first: dict[int, int] = {}
    spans: list[tuple[int, int, int]] = []
    for command in found.commands:
        if command.name in _DOWNLOADING:
            spans.append((command.unit, command.simple.start, command.simple.end))
            for place in command.simple.place.outwards() if command.simple.place else ():
                first[place.pipeline] = min(place.stage, first.get(place.pipeline, place.stage))
    saved: set[str] = set()
    for command in found.commands:
        programs = [word for word in _program_words(command) if word is not command.words[0]]
        programs += [command.words[0]] if "/" in command.words[0].text else []
        if any(posixpath.normpath(word.text) in saved for word in programs):
            return reason
        if command.name in _DOWNLOADING:
            saved.update(posixpath.normpath(name) for name in _saved_by(command) if name)
        if _reads_program(command) and any(
            place.stage > first.get(place.pipeline, place.stage)
            for place in (command.simple.place.outwards() if command.simple.place else ())
        ):
            return reason
        for word in _program_words(command):
            if DOWNLOADED in word.text or _holds(word, command.unit, spans):
                return reason
    return None


def _saved_by(command: Effective) -> Iterator[str]:
    """Yield the files that a download is written to."""
    for at, word in enumerate(command.arguments):
        if word.text in _SAVE_FLAGS and at + 1 < len(command.arguments):
            yield command.arguments[at + 1].text
        yield word.text.partition("=")[2]
        if "://" in word.text:  # what wget and `curl -O` call it
            yield posixpath.basename(word.text.partition("?")[0])
    for redirect in command.simple.redirects:
        if ">" in redirect.operator:
            yield redirect.target.text


def _reads_program(command: Effective) -> bool:
    """Tell whether the command runs what comes in on its input."""
    if call := shell_call(command.words):
        return call.reads_input or (call.code is not None and call.code.text in ("", UNKNOWN))
    if command.name == "eval":
        return all(word.text == UNKNOWN for word in command.arguments)
    texts = [word.text for word in command.arguments]
    if command.name in _SOURCING:
        return texts[:1] in (["/dev/stdin"], ["-"], ["/proc/self/fd/0"])
    return _interprets(command) and texts in ([], ["-"])


def _interprets(command: Effective) -> bool:
    return command.name.rstrip("0123456789.") in _INTERPRETING


def _interpreted(words: tuple[Word, ...]) -> Word | None:
    """Return the word that holds, or names, the program of a language other than the shell's."""
    for at, word in enumerate(words):
        if word.text in _CODE_FLAGS:
            return words[at + 1] if at + 1 < len(words) else None
        if not word.text.startswith("-"):
            return word
    return None


def _program_words(command: Effective) -> Iterator[Word]:
    """Yield the words of a command that hold the program it runs."""
    yield command.words[0]
    call = shell_call(command.words)
    if call is not None:
        yield from (word for word in (call.code, call.script) if word is not None)
    if command.name == "eval" or command.name in _SOURCING:
        yield from command.arguments
    if _interprets(command) and (program := _interpreted(command.arguments)) is not None:
        yield program
    if (call is not None and call.reads_input) or _reads_program(command):
        yield from (redirect.target for redirect in command.simple.redirects)
        yield from command.simple.input_words


def _holds(word: Word, unit: int, spans: list[tuple[int, int, int]]) -> bool:
    return any(unit == of and word.start <= start and end <= word.end for of, start, end in spans)
