"""/init writes what the project's files say, and replaces nothing unasked."""

import os

import pytest

from paicli.ui.init import project_notes, write_notes


def test_a_python_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "thing"\ndescription = "Does it"\n[project.scripts]\nrun = "thing:main"\n'
        "[tool.pytest.ini_options]\n[tool.ruff]\n"
    )
    (tmp_path / "Makefile").write_text("X := 1\n.PHONY: test\ntest: ; pytest\nbench:\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "node_modules").mkdir()
    text = project_notes(tmp_path)
    for line in (
        "`make test`",
        "python -m pytest",
        "A Python project, `thing`: Does it",
        "`src/`: 1 file",
    ):
        assert line in text
    assert "node_modules" not in text
    assert "X" not in text.replace("Python", "")


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("package.json", '{"name": "x", "scripts": {"test": "vitest"}}', "`npm run test` (vitest)"),
        (
            "pom.xml",
            "<parent><artifactId>p</artifactId></parent><artifactId>own</artifactId>",
            "`own`",
        ),
        ("Cargo.toml", '[package]\nname = "c"', "cargo test"),
        ("go.mod", "module example.org/x\n", "`example.org/x`"),
        ("package.json", "{broken", "could not be read"),
        ("package.json", "[]", "could not be read"),
        ("pyproject.toml", "project = 3", "could not be read"),
    ],
)
def test_other_projects(tmp_path, name, content, wanted):
    (tmp_path / name).write_text(content)
    assert wanted in project_notes(tmp_path)


def test_an_empty_project_and_odd_files(tmp_path):
    os.mkfifo(tmp_path / "Makefile")
    (tmp_path / "pom.xml").mkdir()
    assert project_notes(tmp_path) == "# PAI.md\n"


def test_nothing_is_replaced_unasked(tmp_path):
    assert write_notes(tmp_path, force=False) == "# PAI.md\n"
    (tmp_path / "PAI.md").write_text("mine")
    with pytest.raises(FileExistsError):
        write_notes(tmp_path, force=False)
    write_notes(tmp_path, force=True)
    assert (tmp_path / "PAI.md").read_text() == "# PAI.md\n"
    (tmp_path / "PAI.md").unlink()
    (tmp_path / "PAI.md").symlink_to("/etc/hostname")
    with pytest.raises(FileExistsError):
        write_notes(tmp_path, force=True)
    assert os.listdir(tmp_path) == ["PAI.md"]
