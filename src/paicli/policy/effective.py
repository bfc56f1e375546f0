"""The commands that really run: wrappers taken off, code for nested shells parsed again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import dropwhile

from paicli.policy.shell_syntax import Parsed, Place, SimpleCommand, parse
from paicli.policy.shell_words import UNKNOWN, Word, literal
from paicli.policy.wrappers import base_name, join, shell_call, unwrap

_MAX_DEPTH = 8
_MAX_COMMANDS = 20_000
_MAX_CODE = 64_000
_PRINTING = frozenset({"echo", "printf"})
_KEYWORDS = frozenset({"{", "!", "if", "then", "elif", "else", "while", "until", "do"})
"""What the parser sometimes takes for a program's name: behind `!` and `time`."""
_ECHO_OPTIONS = frozenset({"-e", "-n", "-E", "-ne", "-en", "--"})
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,4})|[nt])")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True, slots=True)
class Effective:
    """A program that runs, with its words. `simple` is the command of the source it came from."""

    words: tuple[Word, ...]
    simple: SimpleCommand
    unit: int

    @property
    def name(self) -> str:
        """Return the program's name without its folders."""
        return base_name(self.words[0])

    @property
    def arguments(self) -> tuple[Word, ...]:
        """Return the words behind the program's name."""
        return self.words[1:]


@dataclass(slots=True)
class Effects:
    """All that runs, and what was left open: `whole` False means a reviewer has to look."""

    commands: list[Effective] = field(default_factory=list)
    simple: list[SimpleCommand] = field(default_factory=list)
    bombs: list[str] = field(default_factory=list)
    whole: bool = True
    budget: int = _MAX_CODE
    units: int = 0


def effects(command: str) -> Effects:
    """Return everything that a command line runs, as far as its text tells."""
    result = Effects()
    waiting: list[tuple[str, Mapping[str, Word], Place | None, int]] = [(command, {}, None, 0)]
    while waiting:
        code, variables, place, depth = waiting.pop(0)
        result.budget -= len(code)
        if depth > _MAX_DEPTH or result.budget < 0 or len(result.commands) > _MAX_COMMANDS:
            result.whole = False
            break
        parsed = parse(code, variables, place)
        nested = _collect(parsed, result)
        waiting += [
            (inner, parsed.variables, inner_place, depth + 1) for inner, inner_place in nested
        ]
    return result


def _collect(parsed: Parsed, result: Effects) -> list[tuple[str, Place | None]]:
    """Add the commands of one parsed text, and return the code that they give to shells."""
    result.whole = result.whole and parsed.whole
    result.bombs += parsed.bombs
    result.units += 1
    result.simple += parsed.commands
    nested: list[tuple[str, Place | None]] = []
    printed = _printed_words(parsed)
    for simple in parsed.commands:
        waiting = [simple.words + _given_by_xargs(simple, printed)]
        for _ in range(len(simple.words) + 1):
            if not waiting:
                break
            words = _program_first(waiting.pop())
            if not words:
                continue
            effective = Effective(words, simple, result.units)
            result.commands.append(effective)
            code, inner = _runs(effective)
            waiting += inner
            nested += [(word.code(), simple.place) for word in code if word.text]
    nested += _printed_into_shells(parsed)
    return nested


def _printed_words(parsed: Parsed) -> dict[int, list[tuple[int, tuple[Word, ...]]]]:
    """Return what `echo` and `printf` print in each pipeline, with the stage where they stand."""
    printed: dict[int, list[tuple[int, tuple[Word, ...]]]] = {}
    for simple in parsed.commands:
        if simple.place and simple.words and simple.words[0].text in _PRINTING:
            words = tuple(
                Word(piece, "0" * len(piece), expands=True)
                for word in simple.words[1:]
                for piece in _ESCAPE.sub(_unescaped, word.text).replace("\0", " ").split()
            )
            printed.setdefault(simple.place.pipeline, []).append((simple.place.stage, words))
    return printed


def _given_by_xargs(
    simple: SimpleCommand, printed: Mapping[int, list[tuple[int, tuple[Word, ...]]]]
) -> tuple[Word, ...]:
    """Return the words that `xargs` gets from its neighbour in the pipeline and passes on."""
    if not any(word.text.endswith("xargs") for word in simple.words):
        return ()
    if simple.stdin is not None:
        return tuple(Word(p, "0" * len(p), expands=True) for p in simple.stdin.split())
    if simple.place is None:
        return ()
    return tuple(
        word
        for stage, words in printed.get(simple.place.pipeline, [])
        if stage == simple.place.stage - 1
        for word in words
    )


def _unescaped(match: re.Match[str]) -> str:
    """Return the character that `printf` or `echo -e` prints for an escape."""
    if match[1] or match[2]:
        return chr(int(match[1], 16) if match[1] else int(match[2], 8) & 0xFF)
    return "\t" if match[0] == "\\t" else "\n"


def _printed_text(simple: SimpleCommand) -> str:
    """Return what an `echo` or `printf` prints, as code, its options left out."""
    words = (word for word in simple.words[1:] if word.text != UNKNOWN)
    return " ".join(word.code() for word in dropwhile(lambda w: w.text in _ECHO_OPTIONS, words))


def _only_keywords(text: str) -> bool:
    pieces = text.split()
    return bool(pieces) and all(piece in _KEYWORDS for piece in pieces)


def _program_first(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Drop keywords before a program, and split its word when it came out of a variable."""
    while words and "0" not in words[0].active and _only_keywords(words[0].text):
        words = words[1:]
    if words and words[0].expands and " " in words[0].text.strip():
        pieces = [literal(piece) for piece in words[0].text.split()]
        return (*pieces, *words[1:])
    return words


def _runs(command: Effective) -> tuple[list[Word], list[tuple[Word, ...]]]:
    """Return the shell code and the commands that a command runs in turn."""
    name, words = command.name, command.words
    if unwrapped := unwrap(words):
        return list(unwrapped.code), [unwrapped.words] if unwrapped.words else []
    if call := shell_call(words):
        if call.code is not None:
            return [call.code], []
        stdin = command.simple.stdin
        return [literal(stdin)] if call.reads_input and stdin else [], []
    if name == "eval":
        return [join(command.arguments)], []
    if name == "trap" and command.arguments:
        return [next((w for w in command.arguments if w.text != "--"), literal(""))], []
    if name == "find":
        return [], _find_commands(words)
    return [], []


def _find_commands(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    found, at = [], 0
    while at < len(words):
        at += 1
        if words[at - 1].text in _FIND_RUNS:
            start = at
            while at < len(words) and words[at].text not in (";", "+"):
                at += 1
            found.append(words[start:at])
    return found


def _printed_into_shells(parsed: Parsed) -> list[tuple[str, Place | None]]:
    """Return what `echo` and `printf` print, or a heredoc holds, where a later stage is a shell."""
    shells: dict[int, int] = {}
    for simple in parsed.commands:
        words = simple.words
        while words and (unwrapped := unwrap(words)):
            words = unwrapped.words
        call = shell_call(words) if words else None
        if call is not None and call.reads_input:
            for place in simple.place.outwards() if simple.place else ():
                shells[place.pipeline] = max(shells.get(place.pipeline, 0), place.stage)
    if not shells:
        return []
    printed: list[tuple[str, Place | None]] = []
    for simple in parsed.commands:
        places = simple.place.outwards() if simple.place else ()
        if not any(place.stage < shells.get(place.pipeline, -1) for place in places):
            continue
        if simple.stdin:
            printed.append((simple.stdin, None))
        elif simple.words and simple.words[0].text in _PRINTING:
            text = _printed_text(simple)
            printed.append((_ESCAPE.sub(_unescaped, text), None))
    return printed
