"""Which beginnings of commands make a rule, and which commands a rule is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paicli.policy.harmless import why_not_harmless
from paicli.policy.shell_syntax import SimpleCommand, parse
from paicli.policy.shell_words import Word
from paicli.policy.wrappers import SHELLS, WRAPPERS, unwrap

_PARTS_KINDS = frozenset({
    "program", "list", "pipeline", "command", "command_name", "word", "string", "string_content", "raw_string",
    "ansi_c_string", "concatenation", "number", "file_redirect", "redirected_statement", "file_descriptor",
    "simple_expansion", "variable_name", "special_variable_name", "variable_assignment", "comment",
})  # fmt: skip
_TAKEN_OFF = frozenset({"timeout", "env", "nice", "nohup", "time", "stdbuf", "ionice"})
_CALM_VARIABLES = frozenset({
    "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "CI", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS",
    "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "DEBUG", "VERBOSE",
})  # fmt: skip
_NEVER = frozenset({
    "sudo", "sudoedit", "doas", "su", "pkexec", "run0", "eval", "exec", "source", ".", "command", "builtin",
    "xargs", "parallel", "watch", "ssh", "trap", "alias", "{", "}", "!", "[[", "((", "if", "then", "else", "elif",
    "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function", "time", "coproc", "in",
})  # fmt: skip
_INTERPRETERS = frozenset({
    "python", "python3", "node", "ruby", "perl", "php", "deno", "bun", "lua", "Rscript", "awk", "gawk", "mawk",
    "osascript", "tclsh",
})  # fmt: skip
_CODE_OPTIONS = ("-c", "-e", "-E", "--eval", "-p", "--print", "-r")
_NOT_OFFERED = frozenset({
    "rm", "rmdir", "mv", "cp", "dd", "ln", "chmod", "chown", "kill", "pkill", "killall", "truncate", "shred", "tee",
    "curl", "wget", "scp", "rsync", "sftp", "nc", "install", "crontab", "systemctl", "launchctl", "mount", "umount",
    "find", "fd", "sed", "awk", "apt", "apt-get", "brew", "dnf", "yum", "pacman", "apk", "cd", "export", "unset",
})  # fmt: skip
_TWO_WORDS = frozenset({
    "git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "podman", "kubectl", "helm", "terraform", "make", "just",
    "poetry", "uv", "pip", "pip3", "pipenv", "pdm", "hatch", "conda", "dotnet", "mvn", "bundle", "rake", "gem", "gh",
    "composer", "mix", "flutter", "dart", "swift", "bazel", "npx", "bunx", "tox", "nox", "ruff", "rustup", "nix",
    "./gradlew", "./mvnw", "gradle", "ninja", "cmake", "deno", "bun",
})  # fmt: skip
_THIRD_TOO = frozenset({"run", "exec", "compose", "tool", "dlx", "x"})
_FIND_ACTS = ("-exec", "-ok", "-delete", "-fprint", "-fls")


@dataclass(frozen=True, slots=True)
class RulePart:
    """One simple command of a line: its words with wrappers taken off, and its source.

    `words` is empty when no rule can be about it. `plain`: its source can be judged alone.
    """

    words: tuple[Word, ...]
    text: str
    plain: bool


def parts(command: str) -> tuple[RulePart, ...]:
    """Return the simple commands of a line; nothing when it holds anything but plain commands."""
    parsed = parse(command)
    if not parsed.whole or parsed.kinds - _PARTS_KINDS or "\\\n" in command:
        return ()
    source = command.encode("utf-8", "replace")
    found = []
    for simple in parsed.commands:
        text = source[simple.start : simple.end].decode("utf-8", "replace")
        core = _core(simple)
        found.append(RulePart(core, text, plain=bool(core) and not simple.assignments))
    return tuple(found)


def _core(simple: SimpleCommand) -> tuple[Word, ...]:
    """Return the words that a rule is compared with; none when the command does more than its words say."""
    if any(name not in _CALM_VARIABLES for name, _ in simple.assignments):
        return ()
    for redirect in simple.redirects:
        if redirect.target.text != "/dev/null" and redirect.operator not in (">&", "<&"):
            return ()
        if redirect.operator in (">&", "<&") and redirect.target.text not in ("1", "2", "-"):
            return ()
    words = simple.words
    while words and words[0].plain and words[0].text in _TAKEN_OFF:
        inner = unwrap(words)
        if inner is None or inner.code or any(v not in _CALM_VARIABLES for v in inner.assigned):
            return ()
        own = words[1 : len(words) - len(inner.words)]
        if any(not word.plain or _acts_itself(words[0].text, word.text) for word in own):
            return ()
        words = inner.words
    if not words or not words[0].plain:
        return ()
    return words


def _acts_itself(wrapper: str, option: str) -> bool:
    """Tell whether an option makes a wrapper run the command elsewhere, or write a file."""
    long, letter = {"env": ("--chdir", "C"), "time": ("--output", "o")}.get(wrapper, ("", ""))
    if not long or not option.startswith("-"):
        return False
    if option.startswith("--"):
        return long.startswith(option.partition("=")[0])
    return letter in option


def matches(rule: tuple[str, ...], words: tuple[Word, ...]) -> bool:
    """Tell whether the command begins with the rule's words, each standing there as it is."""
    if len(words) < len(rule):
        return False
    if any(not word.plain or word.text != own for own, word in zip(rule, words, strict=False)):
        return False
    texts = [word.text for word in words]
    return not (rule[0] in ("find", "fd") and any(t.startswith(_FIND_ACTS) for t in texts))


def unfit(rule: tuple[str, ...]) -> str | None:
    """Return which text says why these words are no rule; None when they are one."""
    if not rule or not rule[0].strip() or any("\0" in word or "\n" in word for word in rule):
        return "no_words"
    name = rule[0].rpartition("/")[2]
    if name in _NEVER:
        return "never"
    if name in WRAPPERS or name in SHELLS or name.rstrip("0123456789.") in _INTERPRETERS:
        if len(rule) == 1 or (rule[1].startswith("-") and rule[1:2] != ("-m",)) or name in WRAPPERS:
            return "too_wide"
        if rule[1] == "-m" and len(rule) == 2:
            return "too_wide"
    return None


def offered_prefix(words: tuple[Word, ...]) -> tuple[str, ...]:
    """Return the beginning of a command that a person may allow from now on; empty when none is fit."""
    known = []
    for word in words:
        if not word.plain:
            break
        known.append(word.text)
    if not known or known[0].rpartition("/")[2] in _NOT_OFFERED:
        return ()
    length = 1
    name = known[0].rpartition("/")[2]
    if name.rstrip("0123456789.") in _INTERPRETERS or name in SHELLS:
        length = 3 if known[1:2] == ["-m"] else 2
        if any(word in _CODE_OPTIONS for word in known[1:]):
            return ()
    elif known[0] in _TWO_WORDS:
        length = 3 if known[1:2] and known[1] in _THIRD_TOO else 2
        if len(known) == 1:
            return () if len(words) > 1 or known[0] != "make" else ("make",)
    if len(known) < length or (length > 1 and known[1].startswith("-") and known[1] != "-m"):
        return ()
    prefix = tuple(known[:length])
    return prefix if unfit(prefix) is None else ()


def why_not_alone(part: RulePart, found: Sequence[RulePart], root: Path) -> str | None:
    """Return why one part alone is not harmless; behind a `cd` its paths would be others, so only a rule helps."""
    moves = any(other.words and other.words[0].text == "cd" for other in found)
    if not part.plain or (moves and part.words[0].text != "cd"):
        return "it cannot be judged by itself"
    return why_not_harmless(part.text, root)
