"""Words of a shell command, resolved as far as they can be without running anything.

A resolved word keeps for every character whether the shell still acts on it (a glob, a brace, a
tilde). What cannot be known becomes `UNKNOWN`; the home folder becomes `HOME`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

UNKNOWN = "\ue000"
HOME = "\ue001"
HERE = "\ue002"
"""Stand for what an expansion gives: something unknown, the home folder, the working directory."""

DOWNLOADED = UNKNOWN + "\ue003"
"""Stands for something unknown that came from the network."""

_MARKS = {UNKNOWN: "$_unknown", HOME: "$HOME", HERE: "$PWD", "\ue003": ""}
_SAYS_ITS_WORD = re.compile(
    r"\s*(?:which|command\s+-v|type\s+-[pP]|echo|printf|realpath)\s+([^\s;|&$`<>()]+)\s*"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_PARAMETER = re.compile(r"[!#]?([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])(?:\[[^]]*\])?(.*)", re.S)
_DEFAULT = re.compile(r":?[-=](.*)", re.S)
_ANSI_C = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_NUMBER = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")
_MAX_WORDS = 256


@dataclass(frozen=True, slots=True)
class Word:
    """A resolved word. `active` has a `1` for each character of `text` that is not quoted."""

    text: str
    active: str
    start: int = 0
    end: int = 0
    expands: bool = False
    """An expansion stood in it, known or not."""

    @property
    def known(self) -> bool:
        """Tell whether the text is exactly what a program would get, globs aside."""
        return UNKNOWN not in self.text

    @property
    def plain(self) -> bool:
        """Tell whether the shell does nothing at all with this word."""
        return not self.expands and not self.has_active("*?[~{")

    def has_active(self, characters: str) -> bool:
        """Tell whether the shell acts on one of these characters in the word."""
        return any(
            on == "1" and letter in characters
            for letter, on in zip(self.text, self.active, strict=True)
        )

    def code(self) -> str:
        """Return the word as shell code, for a shell that is given it to run."""
        return "".join(_MARKS.get(letter, letter) for letter in self.text)


def literal(text: str) -> Word:
    """Return a word that is just this text."""
    return Word(text, "0" * len(text))


class _Reader:
    """Reads one word's source from left to right."""

    def __init__(self, source: str, variables: Mapping[str, Word]) -> None:
        self.source = source
        self.at = 0
        self.variables = variables
        self.text: list[str] = []
        self.active: list[str] = []
        self.expands = False

    def put(self, text: str, *, active: bool = False) -> None:
        self.text.append(text)
        self.active.append(("1" if active else "0") * len(text))

    def read(self) -> None:
        source = self.source
        while self.at < len(source):
            letter = source[self.at]
            self.at += 1
            if letter == "\\":
                self.put(source[self.at : self.at + 1].replace("\n", ""))
                self.at += 1
            elif letter == "'":
                self.put(self._until("'"))
            elif letter == '"':
                self._double_quoted()
            elif letter in "$`":
                self._expansion(letter, quoted=False)
            elif letter in "<>" and source[self.at : self.at + 1] == "(":
                self._skip_brackets("(", ")")
                self.expands = True
                self.put(UNKNOWN)
            else:
                self.put(letter, active=True)

    def _until(self, end: str) -> str:
        stop = self.source.find(end, self.at)
        stop = len(self.source) if stop < 0 else stop
        piece = self.source[self.at : stop]
        self.at = stop + 1
        return piece

    def _double_quoted(self) -> None:
        source = self.source
        while self.at < len(source):
            letter = source[self.at]
            self.at += 1
            if letter == '"':
                return
            if letter == "\\":
                following = source[self.at : self.at + 1]
                self.at += 1
                self.put("" if following == "\n" else _in_quotes(following))
            elif letter in "$`":
                self._expansion(letter, quoted=True)
            else:
                self.put(letter)

    def _expansion(self, letter: str, *, quoted: bool) -> None:
        source = self.source
        following = source[self.at : self.at + 1]
        if letter == "`" or following == "(":
            self._substitution(letter)
            return
        if following == "{":
            start = self.at + 1
            self._skip_brackets("{", "}")
            self._parameter(source[start : self.at - 1])
            return
        if following == "'" and not quoted:
            self.at += 1
            self._ansi_c()
            return
        if following == '"' and not quoted:
            self.at += 1
            self._double_quoted()
            return
        if name := _VARIABLE.match(source, self.at):
            self.at = name.end()
            self._variable(name[0])
        else:
            self.put("$")

    def _substitution(self, letter: str) -> None:
        """Take what a command prints: of a few the text tells it, of all others nothing."""
        start = self.at
        if letter == "`":
            self._skip_backticks()
        else:
            start += 1
            self._skip_brackets("(", ")")
        inside = self.source[start : self.at - 1]
        self.expands = True
        if inside.strip() == "pwd":
            self.put(HERE)
        elif said := _SAYS_ITS_WORD.fullmatch(inside):
            self.put(resolve(said[1], self.variables).text)
        else:
            self.put(UNKNOWN)

    def _variable(self, name: str) -> None:
        self.expands = True
        value = self.variables.get(name)
        if value is not None:
            self.put(value.text, active=True)
        elif name == "HOME":
            self.put(HOME)
        elif name == "PWD":
            self.put(HERE)
        elif name == "IFS":
            self.put(" ", active=True)
        else:
            self.put(UNKNOWN)

    def _parameter(self, inside: str) -> None:
        match = _PARAMETER.fullmatch(inside)
        if match is None:
            self.expands = True
            self.put(UNKNOWN)
            return
        default = _DEFAULT.fullmatch(match[2])
        if default and match[1] not in self.variables and match[1] not in ("HOME", "PWD"):
            self.expands = True
            word = resolve(default[1], self.variables)
            self.put(word.text)
        else:
            self._variable(match[1])

    def _ansi_c(self) -> None:
        source = self.source
        while self.at < len(source):
            letter = source[self.at]
            self.at += 1
            if letter == "'":
                return
            if letter != "\\":
                self.put(letter)
            elif number := _NUMBER.match(source, self.at):
                self.at = number.end()
                digits = number[1] or number[2] or number[3]
                code = int(digits, 16) if digits else int(number[4], 8)
                self.put(chr(code) if code < 0x110000 else UNKNOWN)
            else:
                self.put(_ANSI_C.get(source[self.at : self.at + 1], UNKNOWN))
                self.at += 1

    def _skip_backticks(self) -> None:
        while self.at < len(self.source) and self.source[self.at] != "`":
            self.at += 2 if self.source[self.at] == "\\" else 1
        self.at += 1

    def _skip_brackets(self, opening: str, closing: str) -> None:
        """Go behind a balanced pair; quotes inside hide brackets, near enough."""
        depth = 0
        quote = ""
        while self.at < len(self.source):
            letter = self.source[self.at]
            self.at += 2 if letter == "\\" and quote != "'" else 1
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'\"":
                quote = letter
            elif letter == opening:
                depth += 1
            elif letter == closing:
                depth -= 1
                if depth == 0:
                    return


def _in_quotes(following: str) -> str:
    return following if following in '$`"\\' else "\\" + following


def resolve(source: str, variables: Mapping[str, Word], start: int = 0) -> Word:
    """Return the word that `source` gives, with what is known of `variables` put in."""
    reader = _Reader(source, variables)
    reader.read()
    text, active = "".join(reader.text), "".join(reader.active)
    if text.startswith("~") and active[0] == "1":
        user = re.match(r"~[\w.+-]*(?=/|\Z)", text)
        if user is not None:
            there = "0" * len(HOME) + active[user.end() :]
            return Word(HOME + text[user.end() :], there, start, start + len(source), expands=True)
    return Word(text, active, start, start + len(source), reader.expands)


def expand_braces(word: Word) -> list[Word]:
    """Return the words that `{a,b}` makes of a word; a word with too many is left as it is."""
    done: list[Word] = []
    waiting = [word]
    while waiting:
        current = waiting.pop()
        parts = _first_braces(current)
        if parts is None or len(waiting) + len(done) > _MAX_WORDS:
            done.append(current)
        else:
            waiting.extend(reversed(parts))
    return done


def _first_braces(word: Word) -> list[Word] | None:
    text, active = word.text, word.active
    opening = next(
        (at for at, letter in enumerate(text) if letter == "{" and active[at] == "1"), -1
    )
    while opening >= 0:
        depth, cuts, closing = 0, [opening], -1
        for at in range(opening, len(text)):
            if active[at] == "0":
                continue
            if text[at] == "{":
                depth += 1
            elif text[at] == "}":
                depth -= 1
                if depth == 0:
                    closing = at
                    break
            elif text[at] == "," and depth == 1:
                cuts.append(at)
        if closing >= 0 and len(cuts) > 1:
            ends = [*cuts[1:], closing]
            return [
                Word(
                    text[:opening] + text[cut + 1 : end] + text[closing + 1 :],
                    active[:opening] + active[cut + 1 : end] + active[closing + 1 :],
                    word.start,
                    word.end,
                    expands=True,
                )
                for cut, end in zip(cuts, ends, strict=True)
            ]
        opening = next(
            (at for at in range(opening + 1, len(text)) if text[at] == "{" and active[at] == "1"),
            -1,
        )
    return None


def join_lines(command: str) -> str:
    """Return the command with continued lines joined, as the shell reads it; quoted ones stay."""
    if "\\\n" not in command:
        return command
    out: list[str] = []
    quote = ""
    at = 0
    while at < len(command):
        letter = command[at]
        if letter == "\\" and quote != "'":
            pair = command[at : at + 2]
            out.append("" if pair == "\\\n" else pair)
            at += 2
            continue
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == "#" and not quote and (at == 0 or command[at - 1] in " \t\n;&|("):
            end = command.find("\n", at)
            end = len(command) if end < 0 else end
            out.append(command[at:end])
            at = end
            continue
        out.append(letter)
        at += 1
    return "".join(out)
