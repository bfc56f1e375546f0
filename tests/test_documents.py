"""Documents that would drift: variables, commands, both languages, both READMEs."""

import ast
import re
import string
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from paicli import i18n
from paicli.config import Settings
from paicli.ui.commands import BUILT_IN
from paicli.ui.plan_command import plan_command
from paicli.ui.safety_commands import SafetyCommands
from paicli.ui.session_commands import SessionCommands
from paicli.ui.settings_commands import SettingsCommands
from paicli.ui.undo_commands import UndoCommands

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "paicli"
READMES = ("README.md", "README.zh-CN.md")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_env_example_names_every_variable_with_its_default():
    written = dict(re.findall(r"^(?:# )?([A-Z][A-Z0-9_]*)=(.*)$", read(".env.example"), re.M))
    # The language's default is what the locale says; the example shows the last resort.
    defaults = {name: _as_written(value) for name, value in Settings.variables().items()}
    assert written == defaults


def _as_written(value):
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_env_example_changes_nothing_when_it_is_copied():
    assert re.findall(r"^[^#\n].*=.+$", read(".env.example"), re.M) == []


@pytest.mark.parametrize("name", READMES)
def test_the_readme_lists_the_commands_that_exist(name):
    rows = re.findall(r"^\| `(/[^`]*)` \|", read(name), re.M)
    listed = [row.replace("\\|", "|") for row in rows]
    unwired = [None] * 6
    commands = [
        *BUILT_IN,
        *SessionCommands(*unwired).commands(),
        *SafetyCommands(*unwired[:5]).commands(),
        *UndoCommands(*unwired[:3]).commands(),
        *SettingsCommands(None).commands(),
        plan_command(None),
    ]
    commands.sort(key=lambda command: command.name)
    assert listed == [f"/{c.name} {c.arguments}".rstrip() for c in commands]


@pytest.mark.parametrize("name", READMES)
def test_the_readme_shows_every_flag_of_the_command_line(name):
    told = subprocess.run(
        [sys.executable, "-m", "paicli", "--help"], capture_output=True, text=True, check=True
    )
    flags = set(re.findall(r"^ +(?:-\w,? )?.*?(--[a-z-]+)", told.stdout, re.M))
    block = read(name).partition("paicli [PROMPT]")[2].partition("```")[0]
    assert flags - set(re.findall(r"--[a-z-]+", block)) == {"--print"}  # shown as -p


def outline(name):
    """The skeleton of a README: levels of headings, code blocks without comments, rows of tables."""
    shape, code = [], None
    for line in read(name).splitlines():
        if line.startswith("```"):
            shape.append("```")
            code = not code
        elif code:
            shape.append(re.split(r"\s{2,}|\s+#", line.strip())[0])
        elif line.startswith("|"):
            shape.append(("row", tuple(re.findall(r"`([^`]*)`", line))))
        elif found := re.match(r"#+ |- |> ", line):
            shape.append(found[0])
    return shape


def test_both_readmes_have_the_same_structure():
    assert outline("README.md") == outline("README.zh-CN.md")


def test_both_readmes_begin_with_the_two_commands():
    for name in READMES:
        block = read(name).partition("```sh\n")[2].partition("```")[0]
        assert [line.split("#")[0].strip() for line in block.splitlines()] == [
            "make run",
            "make test",
        ]


def test_the_readmes_name_files_that_exist():
    for name in READMES:
        for target in re.findall(r"\]\(([^)#]+)\)", read(name)):
            assert "://" in target or (ROOT / target).exists(), target


def placeholders(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_both_languages_have_the_same_keys_and_placeholders():
    languages = [i18n.load(language) for language in i18n.LANGUAGES]
    shapes = [
        {key: placeholders(text.split("||")[0]) for key, text in texts.items()}
        for texts in languages
    ]
    for shape in shapes[1:]:
        assert shape == shapes[0]


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_texts_for_one_and_for_many_say_the_same(language):
    for key, text in i18n.load(language).items():
        one, *many = text.split("||")
        assert len(many) < 2, key
        assert all(placeholders(other) == placeholders(one) != [] for other in many), key


def test_one_is_told_apart_from_many():
    assert i18n.t("tool.files", n=1) == "1 file"
    assert [i18n.t("tool.files", n=n) for n in (0, 2)] == ["0 files", "2 files"]
    assert i18n.t("session.size", kilobytes=9, messages=1) == "1 message, 9 kB"


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_the_locales_are_read_as_toml_is(language):
    whole = tomllib.loads((ROOT / f"src/paicli/locales/{language}.toml").read_text())
    keyed = {
        f"{section}.{name}": text for section in whole for name, text in whole[section].items()
    }
    assert i18n.load(language) == keyed


def test_sections_of_the_locales_are_in_the_same_order():
    orders = [list(i18n.load(language)) for language in i18n.LANGUAGES]
    assert orders[0] == orders[1]


def used_keys():
    """Every text of the source shaped like a key, and the patterns of those put together."""
    sections = {key.split(".")[0] for key in i18n.load("en")}
    exact, patterns = set(), set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+"
                    for part in node.values
                ]
                pattern = "".join(parts)
                if re.match(rf"(?:{'|'.join(sections)})\\\.", pattern):
                    patterns.add(pattern)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in inside
            ) and re.fullmatch(rf"(?:{'|'.join(sections)})\.\w+", node.value):
                exact.add(node.value)
    return exact, patterns


def asked_keys():
    """The keys that are handed to `t(...)` as they stand."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name | ast.Attribute)
                and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) == "t"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                found.add(node.args[0].value)
    return found


def test_every_text_the_code_asks_for_exists():
    assert asked_keys() - set(i18n.load("en")) == set()


def test_no_text_is_left_over():
    exact, patterns = used_keys()
    unused = {
        key
        for key in set(i18n.load("en")) - exact
        if not any(re.fullmatch(pattern, key) for pattern in patterns)
    }
    assert unused == set()


def test_constraints_hold_versions_and_nothing_else():
    lines = read("constraints.txt").splitlines()
    assert [
        line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)
    ] == []
    project = tomllib.loads(read("pyproject.toml"))["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[\[>=<]", requirement)[0] for requirement in wanted}
    assert names - {line.split("==")[0] for line in lines} == set()
