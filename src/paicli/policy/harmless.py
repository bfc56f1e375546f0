"""Commands that provably only read inside the project; all others need a review.

The command is read twice, by the tree and by a plain tokenizer, and only when both see the same
words is anything proven. Whatever is unusual is not harmless: expansions, substitutions,
redirections, background jobs, comments, several lines, programs that the project itself brings.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from paicli.policy.harmless_git import git_only_reads
from paicli.policy.readers import READERS, VERSION_QUERIES, find_operands, operands
from paicli.policy.shell_syntax import Parsed, SimpleCommand, parse
from paicli.policy.shell_words import UNKNOWN, Word

_KINDS = frozenset({
    "program", "list", "pipeline", "command", "command_name", "word", "string", "string_content", "raw_string",
    "concatenation", "number", "file_redirect", "redirected_statement", "file_descriptor", "simple_expansion",
    "special_variable_name",
})  # fmt: skip
_TAKE_ANYTHING = frozenset({"echo", "true", "false"})
_SEPARATORS = frozenset({";", "&&", "||", "|", "|&"})
_REDIRECTS = frozenset({">", ">>", "<", ">&", "<&", "&>"})
_ODD = re.compile(
    r"[^\x20-\x7e\t\u00a1-\U0010fffd]|[\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
_GLOB = "*?["
_LONGEST = 4_000
_MAX_MATCHES = 2_000


def why_not_harmless(command: str, root: Path) -> str | None:
    """Return why a command is not proven to only read inside `root`; None when it is proven."""
    command = command.strip(" \t\n")
    if len(command) > _LONGEST or _ODD.search(command):
        return "it is long, or holds unusual characters or several lines"
    parsed = parse(command)
    if not parsed.whole or not parsed.commands:
        return "it cannot be read for certain"
    if parsed.kinds - _KINDS:
        return "it does more than run plain commands"
    if not _both_readings_agree(command, parsed):
        return "it cannot be read for certain"
    try:
        place = _Place(root.resolve(strict=True))
        return next((why for simple in parsed.commands if (why := place.judge(simple))), None)
    except (OSError, ValueError, RuntimeError):
        return "its paths cannot be looked up"


def _both_readings_agree(command: str, parsed: Parsed) -> bool:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return False
    separators = sum(token in _SEPARATORS for token in tokens)
    if tokens and tokens[-1] == ";":
        separators -= 1
    if separators + 1 != len(parsed.commands):
        return False
    words = [
        (word.start, word.text)
        for simple in parsed.commands
        for word in (*simple.words, *(redirect.target for redirect in simple.redirects))
    ]
    expected = iter(text for _, text in sorted(words, key=lambda pair: pair[0]))
    wanted = next(expected, None)
    for token in tokens:
        if wanted in (token, token.replace("$?", UNKNOWN)):
            wanted = next(expected, None)
        elif token not in _SEPARATORS and token not in _REDIRECTS and not token.isdigit():
            return False
    return wanted is None


_CHARACTER_SET = re.compile(r"\[[!^]?[^\[/][^\[\]/]*\]")


def _widened(word: Word) -> str:
    """Return a pattern for Python that matches at least all that the shell's glob does.

    The two read sets of characters differently, so a set stands for any character.
    """
    text, active = word.text, word.active
    wide, at = "", 0
    while at < len(text):
        letter, on = text[at], active[at] == "1"
        plain_set = _CHARACTER_SET.match(text, at) if letter == "[" and on else None
        if plain_set and "0" not in active[at : plain_set.end()]:
            wide += "?"
            at = plain_set.end()
            continue
        if letter == "[" and on:
            wide += "*"
            at = text.find("/", at) if "/" in text[at:] else len(text)
            continue
        wide += f"[{letter}]" if letter in _GLOB and not on else letter
        at += 1
    return wide


@dataclass(slots=True)
class _Place:
    """Where the commands run: the project, and the folder inside it after a `cd`."""

    root: Path
    here: Path

    def __init__(self, root: Path) -> None:
        self.root = self.here = root

    def judge(self, simple: SimpleCommand) -> str | None:
        """Return why this command is not harmless, or None."""
        words = simple.words
        if not words or simple.assignments or simple.stdin is not None:
            return "it sets variables or is fed with text"
        if not all(self._may_redirect(r.operator, r.target) for r in simple.redirects):
            return "it redirects to or from a file"
        if any(word.has_active("{") for word in words) or not words[0].plain:
            return "the shell makes other words of it"
        name = words[0].text
        if name == "cd":
            return self._change_directory(simple)
        if any(not word.known for word in words) and name != "echo":
            return "it depends on a variable"
        if tuple(word.text for word in words) in VERSION_QUERIES:
            return self._not_of_the_system(name)
        return self._reads(name, words)

    def _may_redirect(self, operator: str, target: Word) -> bool:
        """Tell whether a redirection only reads: from a file inside the project, or to nowhere."""
        if operator in (">&", "<&"):
            return target.plain and target.text in ("1", "2", "-")
        if operator == "<" and target.plain and target.known:
            return self.is_inside(target)
        return operator in _REDIRECTS and target.plain and target.text == "/dev/null"

    def _reads(self, name: str, words: tuple[Word, ...]) -> str | None:
        arguments = words[1:]
        if name == "git":
            return self._not_of_the_system(name) or git_only_reads(arguments, self.here, self.root)
        if name in _TAKE_ANYTHING or (
            name == "command" and words[-1] is not words[0] and words[1].text in ("-v", "-V")
        ):
            globs = (word for word in arguments if word.has_active(_GLOB))
            strays = (word.text for word in globs if not self.is_inside(word))
            return next((f"{text} does not lie inside the project" for text in strays), None)
        reader = READERS.get(name)
        if reader is None and name != "find":
            return f"{name} is not among the commands that only read"
        found = find_operands(arguments) if reader is None else operands(reader, arguments)
        if not found.whole:
            return "an option is not known to only read"
        if any(self._becomes_names(word) for word in arguments if word not in found.paths):
            return "the shell may make names of files out of a pattern"
        if reader is not None and reader.builtin:
            return None
        for word in found.paths:
            if not self.is_inside(word):
                return f"{word.text} does not lie inside the project"
            if reader is not None and reader.files and not (self.here / word.text).is_file():
                return f"{word.text} is not a file"
        return self._not_of_the_system(name)

    def is_inside(self, word: Word) -> bool:
        """Tell whether every file that the word can stand for lies inside the project, links followed."""
        text = word.text
        if text == "-" or text == "/dev/null":
            return True
        if UNKNOWN in text or word.has_active("~{") or not text or "\ue001" in text:
            return False
        if not word.has_active(_GLOB):
            return self._inside(self.here / text)
        matches = self._matches(word)
        return matches is not None and all(self._inside(match) for match in matches)

    def _matches(self, word: Word) -> list[Path] | None:
        """Return at least every file that a glob can stand for; None when that cannot be told.

        Also when one of the names begins with a dash: the program would take it for an option.
        """
        parts = word.text.split("/")
        if any(part.startswith(".") and set(part) & set(_GLOB) for part in parts):
            return None
        if word.text.startswith("/") or ".." in parts:
            return None
        matches = list(islice(self.here.glob(_widened(word)), _MAX_MATCHES + 1))
        names = (str(match.relative_to(self.here)) for match in matches)
        if len(matches) > _MAX_MATCHES or any(name.startswith("-") for name in names):
            return None
        return matches

    def _becomes_names(self, word: Word) -> bool:
        """Tell whether the shell may put names of files in the place of a word that is no path."""
        return word.has_active(_GLOB) and self._matches(word) != []

    def _inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)

    def _change_directory(self, simple: SimpleCommand) -> str | None:
        if simple.place is not None or len(simple.words) != 2 or "CDPATH" in os.environ:
            return "it changes the directory in an unusual way"
        target = simple.words[1]
        if not target.plain or target.text.startswith("-") or not self.is_inside(target):
            return f"{target.text} does not lie inside the project"
        there = (self.here / target.text).resolve()
        if not there.is_dir():
            return f"{target.text} is no folder"
        self.here = there
        return None

    def _not_of_the_system(self, name: str) -> str | None:
        """Return why the program that runs under this name is not the system's own."""
        folders = os.environ.get("PATH", "").split(os.pathsep)
        found = shutil.which(name)
        if found is None or any(not folder.startswith("/") for folder in folders):
            return f"it is not certain which {name} would run"
        inside = any(Path(p).is_relative_to(self.root) for p in (found, os.path.realpath(found)))
        return f"the project brings its own {name}" if inside else None
