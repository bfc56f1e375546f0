"""A command line taken apart: the simple commands in it, wherever they stand, and how pipes join them.

The tree comes from tree-sitter-bash and is walked iteratively, so that no depth breaks it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from paicli.policy.shell_words import (
    DOWNLOADED,
    UNKNOWN,
    Word,
    expand_braces,
    join_lines,
    literal,
    resolve,
)

LONGEST = 16_000
"""Bytes of a command that is taken apart; a longer one is for a reviewer."""

_WORDS = frozenset({
    "word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number",
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "brace_expression",
    "arithmetic_expansion", "extglob_pattern", "regex", "test_operator", "variable_name", "array", "special_variable_name",
})  # fmt: skip
_MAX_FUNCTION_NODES = 50_000
_MAX_VARIABLE = 2_000
_MAX_RESOLVED = 300_000
"""Characters of words that are resolved for one command: those of nested ones count in each."""
_BEFORE_KEYWORD = re.compile(
    rb"(?<![^\s;&|({!])(?:!|time(?:[ \t]+-p)?)[ \t]+(?=(?:[{!]|if|case|for|while|until|select|time|function|\[\[)\s|\w+[ \t]*\(\))"
)
_FROM_NETWORK = re.compile(r"(?:\$\(|`)\s*(?:curl|wget)\b")
_BRACED_PROGRAM = re.compile(rb"(?<![^\s;&|(!`])\{(?=[^\s{}]*,)")
_TWO_BRACKETS = re.compile(rb"(?<!\$)\(\(")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command stands in a pipeline, and where that pipeline stands in another."""

    pipeline: int
    stage: int
    around: Place | None

    def outwards(self) -> Iterator[Place]:
        """Yield this place and those around it, at most a hundred."""
        place: Place | None = self
        for _ in range(100):
            if place is None:
                return
            yield place
            place = place.around


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection: `operator` without its descriptor, and the word behind it."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command with its words; `stdin` is the text of a heredoc or here-string fed to it."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: str | None = None
    place: Place | None = None
    start: int = 0
    end: int = 0
    input_words: tuple[Word, ...] = ()
    """The words of here-strings: what they expand is fed to the command."""


@dataclass(slots=True)
class Parsed:
    """All simple commands in the order of the source. `whole` False: not all of it was understood.

    `kinds` are the kinds of node that occur: what else than plain commands there is. `bombs` are
    functions that start themselves again and again.
    """

    commands: list[SimpleCommand] = field(default_factory=list)
    whole: bool = True
    kinds: set[str] = field(default_factory=set)
    bombs: list[str] = field(default_factory=list)
    variables: dict[str, Word] = field(default_factory=dict)


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


_pipelines = itertools.count(1)


def parse(
    command: str, variables: Mapping[str, Word] | None = None, around: Place | None = None
) -> Parsed:
    """Take a command apart. `variables` are known beforehand; `around` is where its output or input goes."""
    source = join_lines(command).encode("utf-8", "replace")
    # The parser takes a keyword behind `!` or `time` for a program; without them it reads on well.
    source = _BEFORE_KEYWORD.sub(lambda match: b" " * len(match[0]), source)
    parsed = Parsed(variables=dict(variables or {}))
    if len(source) > LONGEST or b"\0" in source:
        parsed.whole = False
        return parsed
    tree = _parser().parse(source)
    if tree.root_node.has_error:
        # `((` may be two subshells; only what follows tells, and the parser takes it for arithmetic.
        # And it takes `{a,b}` in a program's place for a group; quotes of nothing before it tell otherwise.
        spaced = _BRACED_PROGRAM.sub(b"''{", _TWO_BRACKETS.sub(b"( (", source))
        again = _parser().parse(spaced)
        if again.root_node.has_error:
            parsed.whole = False
        else:
            tree, source = again, spaced
    _Walk(source, parsed).run(tree.root_node, around)
    return parsed


class _Walk:
    """One walk over a tree, without recursion."""

    def __init__(self, source: bytes, parsed: Parsed) -> None:
        self._source = source
        self._parsed = parsed
        self._waiting: list[tuple[Any, Place | None, Any]] = []
        self._function_nodes = 0
        self._resolved = 0

    def run(self, root: Any, around: Place | None) -> None:
        self._waiting = [(root, around, None)]
        while self._waiting:
            node, place, outer = self._waiting.pop()
            kind = node.type
            if node.is_named or kind == "&":
                self._parsed.kinds.add(kind)
            if node.is_error or node.is_missing:
                self._parsed.whole = False
            if kind in ("command", "declaration_command", "unset_command"):
                self._command(node, place, outer)
            elif kind == "variable_assignment":
                self._assign(node)
            elif kind == "function_definition":
                self._function(node)
            elif kind == "for_statement":
                self._loop_variable(node)
            if kind == "redirected_statement":
                self._redirected(node, place)
            elif kind == "pipeline":
                self._pipeline(node, place)
            else:
                self._push(node.children, place)

    def _push(self, nodes: list[Any], place: Place | None) -> None:
        self._waiting.extend((node, place, None) for node in reversed(nodes))

    def _pipeline(self, node: Any, place: Place | None) -> None:
        number = next(_pipelines)
        stage = 0
        stages = []
        for child in node.children:
            if child.type in ("|", "|&"):
                stage += 1
            else:
                stages.append((child, Place(number, stage, place), None))
        self._waiting.extend(reversed(stages))

    def _redirected(self, node: Any, place: Place | None) -> None:
        """A statement with redirections behind it; a heredoc may hide the rest of a pipeline in its node."""
        body = node.child_by_field_name("body")
        hidden = [
            part
            for child in node.children
            if child.type == "heredoc_redirect"
            for part in child.children
            if part.type in ("pipeline", "list", "command")
        ]
        if any(part.type == "pipeline" for part in hidden):
            number = next(_pipelines)
            for part in reversed(hidden):
                self._waiting.append((part, Place(number, 1, place), None))
            place = Place(number, 0, place)
        else:
            self._push(hidden, place)
        skipped = {part.id for part in hidden}
        if body is None or body.type != "command":
            self._command(node, place, node)
        for child in reversed(node.children):
            if body is not None and child.id == body.id:
                self._waiting.append((child, place, node))
            elif child.type == "heredoc_redirect":
                self._push([part for part in child.children if part.id not in skipped], place)
            else:
                self._waiting.append((child, place, None))

    def _command(self, node: Any, place: Place | None, outer: Any) -> None:
        """Collect a command's words, and the redirections of the statement around it."""
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        stdin: str | None = None
        fed: list[Word] = []
        if node.type in ("declaration_command", "unset_command"):
            words.append(literal(self._text(node.children[0])))
        children = [] if node is outer else list(node.children)
        for child in children + (list(outer.children) if outer is not None else []):
            kind = child.type
            if kind == "command_name" or kind in _WORDS:
                words += expand_braces(self._word(child))
            elif kind == "variable_assignment":
                if words:
                    words.append(self._word(child))
                else:
                    assignments.append(self._assignment(child))
            elif kind == "file_redirect":
                redirect, more = self._redirect(child)
                redirects.append(redirect)
                words += more
            elif kind == "herestring_redirect":
                fed += [self._word(part) for part in child.children if part.type in _WORDS]
                stdin = fed[-1].code() if fed else ""
            elif kind == "heredoc_redirect":
                stdin, more = self._heredoc(child)
                words += more
        self._parsed.commands.append(
            SimpleCommand(
                tuple(words),
                tuple(assignments),
                tuple(redirects),
                stdin,
                place,
                node.start_byte,
                node.end_byte,
                tuple(fed),
            )
        )

    def _text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _word(self, node: Any) -> Word:
        self._resolved += node.end_byte - node.start_byte
        if self._resolved > _MAX_RESOLVED:
            self._parsed.whole = False
            return Word(UNKNOWN, "0", node.start_byte, node.end_byte, expands=True)
        word = resolve(self._text(node), self._parsed.variables, node.start_byte)
        return Word(word.text, word.active, node.start_byte, node.end_byte, word.expands)

    def _redirect(self, node: Any) -> tuple[Redirect, list[Word]]:
        """Return a redirection, and the words behind its target: they belong to the command."""
        parts = [child for child in node.children if child.type != "file_descriptor"]
        operator = self._text(parts[0]) if parts else ""
        words = [self._word(part) for part in parts[1:]]
        return Redirect(operator, words[0] if words else literal("")), words[1:]

    def _heredoc(self, node: Any) -> tuple[str, list[Word]]:
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        words = [self._word(child) for child in node.children if child.type in _WORDS]
        if body is None or start is None:
            return "", words
        begin = self._source.find(b"\n", start.end_byte) + 1 or body.start_byte
        return self._source[begin : body.end_byte].decode("utf-8", "replace"), words

    def _assignment(self, node: Any) -> tuple[str, Word]:
        name, _, value = self._text(node).partition("=")
        word = resolve(value, self._parsed.variables, node.start_byte)
        before = self._parsed.variables.get(name.rstrip("+"))
        if name.endswith("+") and before is not None:
            word = replace(word, text=before.text + word.text, active=before.active + word.active)
        return name.rstrip("+"), word

    def _assign(self, node: Any) -> None:
        if node.parent is None or node.parent.type != "command":
            self._parsed.kinds.add("lasting_assignment")
        name, value = self._assignment(node)
        self._remember(name, value)
        if _FROM_NETWORK.search(self._text(node)):
            self._parsed.variables[name] = Word(DOWNLOADED, "00", expands=True)

    def _remember(self, name: str, value: Word) -> None:
        if len(value.text) <= _MAX_VARIABLE and value.known:
            self._parsed.variables[name] = value
        else:
            self._parsed.variables.pop(name, None)

    def _loop_variable(self, node: Any) -> None:
        """Let a loop's variable stand for its most telling value: one that is a root or a home."""
        named = [child for child in node.children if child.is_named]
        if not named or named[0].type != "variable_name":
            return
        values = [self._word(child) for child in named[1:] if child.type in _WORDS]
        telling = [value for value in values if value.known]
        if telling:
            shortest = min(telling, key=lambda value: (len(value.text), value.text))
            self._remember(self._text(named[0]), shortest)

    def _function(self, node: Any) -> None:
        """Note a function that starts itself twice over, or in the background."""
        name = self._text(node.child_by_field_name("name") or node.children[0]).strip()
        body = node.child_by_field_name("body")
        if body is None:
            return
        calls = background = 0
        waiting = [body]
        while waiting:
            current = waiting.pop()
            waiting.extend(current.children)
            self._function_nodes += 1
            if self._function_nodes > _MAX_FUNCTION_NODES:
                self._parsed.whole = False
                return
            if current.type == "&":
                background += 1
            elif current.type == "command_name" and self._word(current).text == name:
                calls += 1
        if background and calls:
            self._parsed.bombs.append(name)
