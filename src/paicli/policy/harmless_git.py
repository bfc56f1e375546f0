"""When git only reads: its subcommands as data, and a repository that names no program to run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from paicli.policy.shell_words import Word

_PROBE_SECONDS = 3.0
_MAX_ENTRIES = 20_000
_MAX_ATTRIBUTES = 200_000

_READING = frozenset({
    "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "shortlog", "describe",
    "grep", "rev-list", "merge-base", "name-rev", "for-each-ref", "show-ref", "count-objects", "cat-file",
    "check-ignore", "diff-tree", "diff-index", "diff-files", "whatchanged", "cherry", "range-diff",
})  # fmt: skip
_LISTING = {
    "branch": ("-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--show-current", "--verbose",
               "--merged", "--no-merged", "--contains", "--no-color"),
    "tag": ("-l", "--list", "-n", "--contains", "--merged", "--no-merged", "--points-at"),
    "remote": ("-v", "--verbose"),
}  # fmt: skip
_TAKES_OPERANDS = frozenset({
    "-l", "--list", "--merged", "--no-merged", "--contains", "--points-at",
})  # fmt: skip
_SUBCOMMANDS = {
    "stash": ("list", "show"),
    "reflog": ("show",),
    "worktree": ("list",),
    "remote": ("get-url",),
}
_ACTING_OPTIONS = (
    "output", "output-directory", "ext-diff", "textconv", "open-files-in-pager", "no-index", "contents", "exec",
    "filters", "show-signature", "submodule", "recurse-submodules", "batch-command", "paginate", "ignore-revs-file",
    "exclude-from", "exclude-per-directory", "stdin", "pathspec-from-file", "git-dir", "work-tree", "file",
    "remerge-diff", "batch", "batch-check", "diff-merges", "help", "alternate-refs", "dirty", "broken",
)  # fmt: skip
_ACTING_LETTERS = {
    "grep": "Of",
    "diff": "O",
    "log": "O",
    "show": "O",
    "blame": "S",
    "ls-files": "X",
}
_ENVIRONMENT = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_TRACE", "GIT_TRACE2_EVENT",
)  # fmt: skip
_ALWAYS = (
    "core.fsmonitor",
    "core.hookspath",
    "diff.external",
    "log.showsignature",
    "extensions.partialclone",
)
_DRIVERS = ("filter.", "diff.", "merge.")
_DRIVER_ENDINGS = (".clean", ".smudge", ".process", ".textconv", ".command", ".driver")
_OF_PROJECT = (
    "core.pager",
    "core.worktree",
    "core.attributesfile",
    "core.sshcommand",
    "core.editor",
    "core.alternaterefscommand",
)
_OF_PROJECT_BEGINNINGS = (
    "pager.",
    "pretty.",
    "format.pretty",
    "alias.",
    "include",
    "trace2.",
    "gpg.",
)
_WORKS_ANYWHERE = frozenset({"diff", "grep", "shortlog", "rev-parse"})
"""The reading commands that do something where there is no repository."""
_NO_REPOSITORY = b"not a git repository (or any"
_ATTRIBUTES = (b"filter", b"diff", b"merge")
_GITLINK = "160000 "
_OFF = frozenset({"", "false", "no", "off", "0"})


def git_only_reads(arguments: tuple[Word, ...], directory: Path, root: Path) -> str | None:
    """Return why `git` with these arguments is not proven to only read; None when it is."""
    words = [word.text for word in arguments]
    while words[:1] in (["--no-pager"], ["-P"]):
        words = words[1:]
    if not words:
        return "it names no command of git"
    name, rest = words[0], words[1:]
    return (
        _acts(name, rest)
        or _leaves(rest, directory, root)
        or next((f"the environment sets {key}" for key in _ENVIRONMENT if key in os.environ), None)
        or (None if _only_complains(name, directory) else _names_program(directory))
    )


def _acts(name: str, rest: list[str]) -> str | None:
    """Return why the subcommand or one of its options may do more than read."""
    options = [word for word in rest if word.startswith("-") and len(word) > 1]
    operands = [word for word in rest if word not in options]
    if not (name in _READING or _only_lists(name, rest, options, operands)):
        return f"git {name} is not among the commands that only read"
    for option in options:
        bare = option.lstrip("-").partition("=")[0]
        if option.startswith("--"):
            if bare and any(acting.startswith(bare) for acting in _ACTING_OPTIONS):
                return f"{option} may do more than read"
        elif any(letter in bare for letter in _ACTING_LETTERS.get(name, "")):
            return f"{option} may do more than read"
        if "%G" in option:
            return "it checks signatures with a program"
    return None


def _only_lists(name: str, rest: list[str], options: list[str], operands: list[str]) -> bool:
    # Only the first word: `stash -m list` saves with «list» as its message.
    if rest and rest[0] in _SUBCOMMANDS.get(name, ()):
        return True
    if name in ("reflog",) and not operands:
        return True
    allowed = _LISTING.get(name)
    if allowed is None or any(option not in allowed for option in options):
        return False
    return not operands or bool(_TAKES_OPERANDS & set(options))


def _leaves(rest: list[str], directory: Path, root: Path) -> str | None:
    for word in rest:
        path = word.partition("=")[2] if word.startswith("-") else word
        looks_like_path = path.startswith(("/", "~", "../")) or path == ".." or "/../" in path
        if looks_like_path and not (directory / path).resolve().is_relative_to(root):
            return f"{word} does not lie inside the project"
    return None


def _names_program(directory: Path) -> str | None:
    """Return which program git would start here by configuration, attributes, hooks or submodules."""
    git_directory = _git(directory, "rev-parse", "--absolute-git-dir")
    listed = _git(directory, "config", "--list", "--includes", "--show-scope", "-z")
    if git_directory is None or listed is None:
        return "there is no repository of git here that can be looked at"
    drivers = False
    for scope, key, value in _settings(listed):
        own = scope in ("local", "worktree", "command")
        if (key in _ALWAYS or key.endswith(".promisor")) and value.lower() not in _OFF:
            return f"git's configuration sets {key}"
        if own and (key in _OF_PROJECT or key.startswith(_OF_PROJECT_BEGINNINGS)):
            return f"the repository's configuration sets {key}"
        if key.startswith(_DRIVERS) and key.endswith(_DRIVER_ENDINGS):
            if own:
                return f"the repository's configuration sets {key}"
            drivers = True
    top = Path(_git(directory, "rev-parse", "--show-toplevel") or str(directory)).resolve()
    folder = Path(git_directory)
    if (folder / "hooks" / "post-index-change").exists():
        return "the repository has a hook for reading commands"
    if (top / ".gitmodules").exists() or (folder / "modules").exists():
        return "the repository has submodules with a configuration of their own"
    entries = _git(top, "ls-files", "--stage")
    if entries is None or any(line.startswith(_GITLINK) for line in entries.split("\n")):
        return "the repository may have submodules with a configuration of their own"
    return _uses_drivers(top, folder) if drivers else None


def _settings(listed: str) -> Iterator[tuple[str, str, str]]:
    """Yield scope, lower-case key and value of `git config --list --show-scope -z`."""
    fields = listed.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, equals, value = entry.partition("\n")
        yield scope, key.lower(), value if equals else "true"


def _uses_drivers(top: Path, git_directory: Path) -> str | None:
    """Return why the person's own filters and converters may run: an attribute in the repository asks for them."""
    doubt = "the repository may ask for a filter or converter by its attributes"
    files = [git_directory / "info" / "attributes"]
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        seen += len(names) + len(folders)
        if seen > _MAX_ENTRIES:
            return doubt
        if ".gitattributes" in names:
            files.append(Path(folder) / ".gitattributes")
    for file in files:
        try:
            text = file.read_bytes()[:_MAX_ATTRIBUTES] if file.is_file() else b""
        except OSError:
            return doubt
        if any(word in text for word in _ATTRIBUTES) or len(text) == _MAX_ATTRIBUTES:
            return doubt
    return None


def _only_complains(name: str, directory: Path) -> bool:
    """Tell whether git would only say that there is no repository here."""
    if name in _WORKS_ANYWHERE:
        return False
    done = _run(directory, "rev-parse", "--git-dir")
    return done is not None and done.returncode != 0 and _NO_REPOSITORY in done.stderr


def _git(directory: Path, *arguments: str) -> str | None:
    """Return what git says about a repository; None when it fails."""
    done = _run(directory, *arguments)
    if done is None or done.returncode != 0:
        return None
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    """Run git with everything switched off that could start a program."""
    try:
        return subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *arguments],
            cwd=directory,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
