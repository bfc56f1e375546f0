"""The house rules that no linter knows: sizes, late imports, broad handlers, names."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "paicli"
MODULES = sorted(SOURCE.rglob("*.py"))
LATE_IMPORTS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["paicli"]["late-imports"]
)
BROAD_HANDLERS = {"tools/registry.py", "agent/hooks.py", "ui/turns.py", "cli.py"}


def name_of(path):
    return str(path.relative_to(SOURCE))


def test_modules_stay_short():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    limits = {name: 250 if name == "agent/agent.py" else 400 for name in lengths}
    assert {name: n for name, n in lengths.items() if n > limits[name]} == {}


def test_imports_inside_functions_are_from_the_list():
    found = set()
    for path in MODULES:
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                elif isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                else:
                    continue
                found |= {
                    (name_of(path), name)
                    for name in names
                    if name.split(".")[0] not in LATE_IMPORTS | {"paicli"}
                }
    assert found == set()


def test_only_the_edges_catch_everything():
    found = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                names = (
                    {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
                    if node.type
                    else {"bare"}
                )
                if names & {"Exception", "BaseException", "bare"}:
                    found.add(name_of(path))
    assert found - BROAD_HANDLERS == set()


def test_no_type_checking_only_imports_hide_a_circle():
    assert [name_of(p) for p in MODULES if "TYPE_CHECKING" in p.read_text()] == []


def test_names_say_what_a_thing_is():
    bad = [
        (name_of(path), node.name)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and node.name.endswith(("Manager", "Helper", "Utils", "Util"))
    ]
    assert bad == []


def test_every_module_says_what_it_is_for():
    silent = [
        name_of(path)
        for path in MODULES
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_every_exemption_gives_its_reason():
    found = []
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            exemption = re.search(r"#\s*(?:noqa|type:\s*ignore)(.*)", line)
            if exemption and not re.match(
                r"(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[\w,-]+\])\s+\W*\w{2,}.*\w", exemption[1]
            ):
                found.append(f"{name_of(path)}:{number}")
    assert found == []


def test_modules_keep_their_private_names_to_themselves():
    found = [
        (name_of(path), f"{node.module}.{alias.name}")
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("paicli")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert found == []


def test_only_the_edges_print():
    found = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("print", "input", "breakpoint")
    }
    assert {name for name in found if "/" in name and not name.startswith("ui/")} == set()
