"""What is proven to only read, and all that must not be taken for it. Nothing here is run."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paicli.policy.harmless import why_not_harmless

REPORTS = Path(__file__).parents[2].parent / "shared" / "cases" / "reports.jsonl"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    top = tmp_path_factory.mktemp("place")
    root = top / "project"
    (root / "src").mkdir(parents=True)
    (root / "f.txt").write_text("a\n")
    (root / "src" / "a.py").write_text("x = 1\n")
    (root / "src" / "b.py").write_text("x = 2\n")
    (root / ".env").write_text("A=1\n")
    (top / "outside").mkdir()
    (top / "outside" / "secret.txt").write_text("s\n")
    (root / "out").symlink_to(top / "outside")
    (root / "secret").symlink_to(top / "outside" / "secret.txt")
    (root / "src" / "inner").symlink_to("../f.txt")
    (root / "bin").mkdir()
    git(root, "init", "-q")
    return root


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


HARMLESS = [
    "ls",
    "ls -la",
    "ls -la src",
    "ls src bin",
    "ls *.txt",
    "ls src/*.py",
    "cat f.txt",
    "cat -n f.txt src/a.py",
    "cat ./src/../f.txt",
    "cat src/inner",
    "cat .env",
    "head -5 f.txt",
    "head -n 5 f.txt",
    "tail -n 20 f.txt",
    "wc -l src/*.py",
    "grep -rn 'x = ' src",
    "grep \"a|b\" f.txt",
    "grep -e a -e b f.txt",
    "grep --include='*.py' -r x .",
    "grep '$(touch x)' f.txt",
    "rg -n 'def .*' src",
    "rg x",
    "rg --files src",
    "find . -name '*.py'",
    "find src -type f -maxdepth 2 -print",
    "sort f.txt | uniq -c | sort -rn | head -3",
    "cat f.txt | tr a-z A-Z",
    "cut -d , -f 1 f.txt",
    "sed -n '1,20p' f.txt",
    "sed -n 5p f.txt",
    "jq .name f.txt",
    "diff f.txt src/a.py",
    "stat f.txt",
    "file f.txt",
    "du -sh .",
    "pwd",
    "whoami",
    "date",
    "date +%F",
    "uname -a",
    "echo hello",
    "echo 'a; b'",
    'echo "--- files ---"; ls',
    "echo done: $?",
    "ls || echo none",
    "echo f*",
    "echo no/*/such?",
    "ls && cat f.txt",
    "ls 2>/dev/null",
    "ls 2>&1 | head",
    "ls > /dev/null 2>&1",
    "cat < /dev/null",
    "wc -l < f.txt",
    "sort < src/a.py | head",
    "which python3",
    "type ls",
    "command -v git",
    "python3 --version",
    "cd src && ls",
    "cd src && cat a.py",
    "cd src && cat ../f.txt",
    "basename src/a.py",
    "git status",
    "git status --short",
    "git status -sb",
    "git log --oneline -5",
    "git log --oneline | head",
    "git log -p -- src/a.py",
    "git diff",
    "git diff --stat HEAD~1",
    "git diff --cached",
    "git show HEAD",
    "git show HEAD:src/a.py",
    "git branch",
    "git branch -a",
    "git branch --show-current",
    "git rev-parse --abbrev-ref HEAD",
    "git ls-files",
    "git blame f.txt",
    "git remote -v",
    "git tag",
    "git tag -l 'v*'",
    "git stash list",
    "git --no-pager log -3",
    "git grep -n x",
    "git log main..HEAD",
    "cd src && git status",
]  # fmt: skip

NOT_HARMLESS = [
    "",
    "touch owned",
    "ls\ntouch owned",
    "ls; touch owned",
    "ls && touch owned",
    "ls || touch owned",
    "ls | tee owned",
    "ls |& tee owned",
    "ls & touch owned",
    "ls &",
    "ls > owned",
    "ls >> owned",
    "ls >| owned",
    "ls 2> owned",
    "ls &> owned",
    "ls <> owned",
    "ls > /dev/nullx",
    "cat < secret",
    "cat < /etc/passwd",
    "cat < out/secret.txt",
    "cat < *",
    "ls < f.txt > owned",
    "echo $(touch owned)",
    'echo "$(touch owned)"',
    "echo `touch owned`",
    "cat <(touch owned)",
    "ls >(touch owned)",
    "echo ${x:=$(touch owned)}",
    "echo $((x=1))",
    "{ ls; }",
    "(ls)",
    "if true; then ls; fi",
    "for i in 1; do ls; done",
    "ls() { touch owned; }",
    "X=1 ls",
    "PATH=. ls",
    "LD_PRELOAD=./x.so ls",
    "X=1",
    "export X=1",
    "alias ls=touch",
    "! ls",
    "ls # x",
    "ls \\\ntouch",
    "cat <<E\nx\nE",
    "cat <<< x",
    "l''s; touch owned",
    "cat $X",
    "cat $HOME/.ssh/id_rsa",
    "cat ~/.ssh/id_rsa",
    "cat ~root/x",
    "cat /etc/passwd",
    "cat ../outside/secret.txt",
    "cat ..",
    "ls ..",
    "ls /",
    "ls ~",
    "cat secret",
    "cat out/secret.txt",
    "ls out",
    "ls out/",
    "ls */",
    "cat */secret.txt",
    "cat s*",
    "cat .*/x",
    "cat ../*/secret.txt",
    "echo /etc/*",
    "echo ../*",
    "echo out/*",
    "true */secret*",
    "command -v /bin/*",
    "cat {f.txt,/etc/passwd}",
    "cat src/../../outside/secret.txt",
    "cd out && ls",
    "cd .. && ls",
    "cd && ls",
    "cd /etc && cat passwd",
    "cd src; cd ..; cd ..; ls",
    "cd - && ls",
    "cd nowhere; cat secret",
    "grep -f /etc/passwd f.txt",
    "grep -fsecret f.txt",
    "grep -R x .",
    "grep -r x out",
    "grep x /etc/passwd",
    "grep --file=secret f.txt",
    "ls -L out",
    "rg --pre ./x a",
    "rg -L x",
    "rg -f secret f.txt",
    "rg x out",
    "find . -delete",
    "find . -exec touch owned ;",
    "find . -exec touch owned \\;",
    "find . -fprint owned",
    "find -L . -name x",
    "find / -name x",
    "find out -name x",
    "find . -newer /etc/passwd",
    "sort -o owned f.txt",
    "sort --output=owned f.txt",
    "sort --compress-program=./x f.txt",
    "sort --files0-from=secret",
    "uniq f.txt owned",
    "xxd f.txt owned",
    "xxd -r f.txt",
    "sed -i s/a/b/ f.txt",
    "sed -n 'w owned' f.txt",
    "sed 's/a/b/e' f.txt",
    "sed -n '1e touch owned' f.txt",
    "sed -n -e p f.txt",
    "jq 'import \"x\" as $x; .' f.txt",
    "jq -f secret f.txt",
    "jq env f.txt",
    "awk 'BEGIN{system(\"touch owned\")}'",
    "date -s 2020-01-01",
    "date 010101",
    "date -f secret",
    "date -I 010101",
    "hostname x",
    "tail -f f.txt",
    "tree -o owned",
    "file -C -m f.txt",
    "od -w /etc/passwd",
    "nl -p /etc/passwd",
    "diff -r src bin",
    "diff out src",
    "wc --files0-from=secret",
    "du -L .",
    "env",
    "printenv",
    "printf -v x y",
    "python3 -c 'print(1)'",
    "python3 x.py --version",
    "node -e 1",
    "cargo --version",
    "npm --version",
    "./ls",
    "bin/ls",
    "/tmp/ls",
    "xargs ls",
    "timeout 5 ls",
    "env ls",
    "bash -c ls",
    "eval ls",
    "time ls",
    "sudo ls",
    "command ls",
    "git",
    "git st",
    "git commit -m x",
    "git push",
    "git fetch",
    "git pull",
    "git checkout .",
    "git add .",
    "git reset --hard",
    "git clean -n",
    "git branch new",
    "git branch -d x",
    "git branch -D x",
    "git branch -m x",
    "git tag v1",
    "git tag -d v1",
    "git remote add x y",
    "git remote show origin",
    "git stash",
    "git stash pop",
    "git reflog expire --all",
    "git reflog delete x",
    "git worktree add x",
    "git config x y",
    "git -c core.fsmonitor=./x status",
    "git -c alias.st='!touch owned' st",
    "git --git-dir=x status",
    "git --exec-path=. status",
    "git -C .. status",
    "git -p log",
    "git log --output=owned",
    "git log --outp=owned",
    "git diff --output owned",
    "git diff --ext-diff",
    "git diff --textconv",
    "git diff --no-index f.txt /etc/passwd",
    "git diff --no-index f.txt secret",
    "git diff /etc/passwd /etc/group",
    "git diff f.txt ../outside/secret.txt",
    "git grep -O x",
    "git grep --open-files-in-pager=./x x",
    "git grep -f secret",
    "git log --show-signature",
    "git log --format=%G?",
    "git log --pretty=format:%GS",
    "git blame --contents secret f.txt",
    "git cat-file --textconv HEAD:f",
    "git cat-file --filters HEAD:f",
    "git diff --submodule=log",
    "git ls-remote",
    "git archive HEAD",
    "git bisect run x",
    "git difftool",
    "git show-index",
    "git rebase -i",
    "git log --exec=x",
    "git diff -O/etc/passwd",
    "ls\r; touch owned",
    "ls\u00a0; touch owned",
    "ls \u200b",
    "ls\x0btouch",
    "ls " + "a" * 5_000,
    "'",
    "ls (",
]  # fmt: skip


@pytest.mark.parametrize("command", HARMLESS)
def test_what_only_reads_is_proven(root, command):
    assert why_not_harmless(command, root) is None


@pytest.mark.parametrize("command", NOT_HARMLESS)
def test_anything_else_is_not(root, command):
    assert why_not_harmless(command, root)


def test_the_reported_bypasses_are_not_harmless(root):
    if not REPORTS.exists():
        pytest.skip("the case files are not part of the project")
    rows = [json.loads(line) for line in REPORTS.read_text(encoding="utf-8").split("\n") if line]
    checks = next(row for row in rows if row["id"] == "B28")["expect"]
    bypasses = next(check["classify_not"] for check in checks if "classify_not" in check)
    safe = next(check["classify_is"] for check in checks if "classify_is" in check)
    assert [c for c in bypasses["commands"] if why_not_harmless(c, root) is None] == []
    assert [c for c in safe["commands"] if why_not_harmless(c, root)] == []


@pytest.mark.parametrize(
    ("command", "only_reads"),
    [
        ("git status", True),
        ("git log --oneline", True),
        ("git branch -a", True),
        ("git diff f.txt g.txt", False),
        ("git grep x", False),
        ("git init", False),
        ("git status --output=owned", False),
    ],
)
def test_without_a_repository_git_only_complains(tmp_path, command, only_reads):
    (tmp_path / "f.txt").write_text("a\n")
    assert (why_not_harmless(command, tmp_path) is None) == only_reads


def test_a_broken_repository_is_one(tmp_path):
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert why_not_harmless("git status", tmp_path) is not None


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "f.txt").write_text("a\n")
    return tmp_path


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./owned"),
        ("core.fsmonitor", "true"),
        ("core.hooksPath", "hooks"),
        ("core.pager", "./owned"),
        ("pager.log", "./owned"),
        ("diff.external", "./owned"),
        ("diff.x.textconv", "./owned"),
        ("diff.x.command", "./owned"),
        ("filter.x.clean", "./owned"),
        ("filter.x.process", "./owned"),
        ("alias.status", "!./owned"),
        ("gpg.program", "./owned"),
        ("log.showSignature", "true"),
        ("format.pretty", "%GG"),
        ("pretty.mine", "%GG"),
        ("core.worktree", "/"),
        ("core.attributesFile", "x"),
        ("include.path", "../x"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
    ],
)
def test_a_repository_that_names_a_program_is_reviewed(repository, key, value):
    assert why_not_harmless("git status", repository) is None
    config = repository / ".git" / "config"
    section, _, name = key.rpartition(".")
    first, _, rest = section.partition(".")
    head = f'[{first} "{rest}"]' if rest else f"[{first}]"
    config.write_text(config.read_text() + f"\n{head}\n\t{name} = {value}\n")
    assert why_not_harmless("git status", repository)
    assert not (repository / "owned").exists()


def test_a_key_without_a_value_means_true(repository):
    config = repository / ".git" / "config"
    config.write_text(config.read_text() + "\n[core]\n\tfsmonitor\n")
    assert why_not_harmless("git status", repository)


def test_hooks_and_submodules_are_reviewed(repository):
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert why_not_harmless("git status", repository)
    hook.unlink()
    assert why_not_harmless("git status", repository) is None
    (repository / ".gitmodules").write_text("")
    assert why_not_harmless("git status", repository)


def test_the_persons_own_filters_count_where_the_repository_asks_for_them(
    repository, tmp_path_factory, monkeypatch
):
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text('[filter "lfs"]\n\tclean = git-lfs clean\n\tprocess = x\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    assert why_not_harmless("git status", repository) is None
    (repository / "deep").mkdir()
    (repository / "deep" / ".gitattributes").write_text("*.bin filter=lfs\n")
    assert why_not_harmless("git status", repository)


def test_a_program_that_the_project_brings_is_reviewed(root, monkeypatch):
    own = root / "bin" / "wc"
    own.write_text("#!/bin/sh\ntouch owned\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
    assert why_not_harmless("wc f.txt", root)
    assert why_not_harmless("cat f.txt", root) is None
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert why_not_harmless("cat f.txt", root)
    own.unlink()


def test_a_deleted_root_proves_nothing(tmp_path):
    assert why_not_harmless("ls", tmp_path / "gone")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ls cat.f/~$(){}|&;<>'\"`\\\n*?=[]!#-2>", max_size=40))
def test_whatever_is_proven_holds_nothing_that_acts(text):
    if why_not_harmless(text, Path("/usr")) is None:
        assert "touch" not in text
        bare = text.replace("\\", "")
        assert "$(" not in bare or "'" in bare
        assert "`" not in bare or "'" in bare
        assert "\n" not in text.strip()
