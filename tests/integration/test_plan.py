"""Plan mode of the whole program: nothing changes before the yes, and afterwards what the rules say."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from paicli.tools.files import file_tools
from tests.model_server import Gate, ask, call, chunk, http, say, stream

ROOT = Path(__file__).parents[2]
GOAL = "make the thing work again and check it"


class Project:
    """A project folder with a home of its own, and the program started in it."""

    def __init__(self, folder):
        self.root, self.home = folder / "project", folder / "home"
        self.root.mkdir()
        self.home.mkdir()

    def start(self, server, *arguments, **environ):
        settings = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT / "src"),
            "LANG": "C.UTF-8",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "paicli", *arguments],
            cwd=self.root,
            env=settings | server.environ() | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, server, *arguments, **environ):
        process = self.start(server, *arguments, **environ)
        process.out, process.err = process.communicate(timeout=50)
        assert "Traceback" not in process.out + process.err
        return process

    def tree(self):
        """Everything that can be known of the folder without changing it."""
        found = {}
        for path in sorted([self.root, *self.root.rglob("*")]):
            status = path.lstat()
            content = b""
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = path.read_bytes()
            found[str(path.relative_to(self.root))] = (
                stat.filemode(status.st_mode),
                status.st_mtime_ns,
                status.st_size if path.is_file() else 0,
                content,
            )
        return found


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def task(id_, *needs, kind="FILE_WRITE"):
    return {"id": id_, "description": f"do {id_}", "type": kind, "dependencies": list(needs)}


def submit(*tasks):
    return ask(call("submit_plan", summary="the plan", findings="", tasks=list(tasks)))


def own_task(request):
    """The id of the task whose agent sent this request."""
    first = next(m["content"] for m in request.messages if m["role"] == "user")
    found = re.search(r"## Your task: (\w+)", first)
    return found[1] if found else ""


# Before the yes

TRICKS = """
touch new
> new
echo x > new
echo x >> a.txt
cat a.txt >| new
ls 1> new
ls 2> new
ls &> new
exec > new; ls
cat a.txt > "$(echo new)"
tee new < a.txt
ls | tee new
ls ; touch new
ls && touch new
ls || touch new
! ls || touch new
ls & touch new
ls
touch new
ls $(touch new)
ls `touch new`
ls "$(touch new)"
cat <(touch new)
ls > >(tee new)
echo ${X:=$(touch new)}
: ${X:=$(touch new)}
[ -n "$(touch new)" ]
[[ $(touch new) ]]
(touch new)
{ touch new; }
if true; then touch new; fi
for x in 1; do touch new; done
while ls > new; do break; done
case x in x) touch new;; esac
f() { touch new; }; f
ls() { touch new; }; ls
alias ls='touch new'; ls
function cat { touch new; }; cat a.txt
A=1 touch new
PATH=.:$PATH ls
env touch new
env -S 'touch new'
command touch new
builtin eval 'touch new'
eval 'touch new'
exec touch new
nohup ls
time -o new ls
timeout 5 touch new
nice touch new
xargs touch < names.txt
echo new | xargs touch
bash -c 'touch new'
sh script.sh
. ./script.sh
source script.sh
./script.sh
python3 -c 'open("new","w")'
python3 script.py
perl -e 'open(F,">new")'
perl -i -pe 's/a/b/' a.txt
awk 'BEGIN{print "x" > "new"}'
awk 'BEGIN{system("touch new")}'
sed -i s/a/b/ a.txt
sed --in-place=.bak s/a/b/ a.txt
sed 'w new' a.txt
sed -n '1e touch new' a.txt
sed -e 's/a/touch new/e' a.txt
find . -delete
find . -name a.txt -exec rm {} \\;
find . -execdir touch new \\;
find . -ok rm {} \\;
find . -fprint new
find . -fprintf new %p
find . -fls new
sort -o new a.txt
sort --output=new a.txt
sort --compress-program=./script.sh -S 1k big.txt
uniq a.txt new
split a.txt
csplit a.txt 1
cp a.txt new
mv a.txt new
ln -s a.txt new
rm a.txt
rmdir empty
mkdir new
chmod 600 a.txt
truncate -s 0 a.txt
dd if=a.txt of=new
install a.txt new
patch -i fix.patch
tar cf new a.txt
gzip a.txt
zip new a.txt
rg --pre ./script.sh x
rg --pre=./script.sh x
rg --hostname-bin ./script.sh x
grep x a.txt > new
tree -o new
diff --output=new a.txt b.txt
less -o new a.txt
less a.txt
man -P 'touch new' ls
ed a.txt
vim -c 'w new' -c q a.txt
curl -o new file:///etc/hostname
wget -O new http://127.0.0.1/
git init
git add a.txt
git add -N other.txt
git commit -am x
git stash
git checkout .
git reset --hard
git clean -fd
git branch new
git branch -D main
git tag new
git config x.y z
git config --global x.y z
git remote add x y
git fetch
git gc
git diff --output=new
git diff --output new
git log --output=new
git show --output=new
git -c core.pager='touch new' -p log
git -c core.fsmonitor=./script.sh status
git -c diff.external=./script.sh diff --ext-diff
git -c alias.st='!touch new' st
git --exec-path=. status
git grep -O./script.sh x
git grep --open-files-in-pager=./script.sh x
git archive -o new HEAD
git format-patch -1
git bundle create new HEAD
git worktree add new
git update-index --refresh
git update-ref refs/heads/new HEAD
git symbolic-ref HEAD refs/heads/new
git reflog expire --all
git notes add -m x
git apply fix.patch
git describe --dirty --always
git describe --broken --always
git blame --contents=a.txt a.txt > new
git cat-file --textconv HEAD:a.txt
GIT_EXTERNAL_DIFF=./script.sh git diff
GIT_PAGER=./script.sh git -p log
GIT_TRACE=new git status
GIT_OPTIONAL_LOCKS=1 git status
GIT_CONFIG_COUNT=0 git diff
export GIT_CONFIG_COUNT=0; git diff
unset GIT_CONFIG_COUNT; git diff
env -i git diff
git -c diff.autoRefreshIndex=true diff
GIT_TRACE2_EVENT=$PWD/new git status
history -w new
printf -v X x; printf x > new
read X < a.txt; touch new
cd empty && touch new
pushd empty; touch new
cat a.txt > /dev/tcp/127.0.0.1/9
coproc touch new
trap 'touch new' EXIT
set -o noclobber; echo x >| new
enable -f ./script.sh x
mapfile -C 'touch new' -c 1 < a.txt
PROMPT_COMMAND='touch new' ls
LESSOPEN='|./script.sh %s' less a.txt
make
npm test
pytest
node -e 'require("fs").writeFileSync("new","x")'
sudo touch new
date -s now
script -c ls new
strace -o new ls
busybox touch new
""".strip().replace("\\\\", "\\")

HARMLESS = [
    "cat big.txt",
    "ls -la",
    "git status",
    "git diff",
    "git log --stat",
    "git diff --stat HEAD",
    "git show",
    "git diff --cached",
    "git blame a.txt",
    "git ls-files",
    "grep -rn x .",
    "find . -name '*.txt'",
    "head -c 200000 big.txt",
]


def tricky_project(project):
    root = project.root
    (root / "a.txt").write_text("a\nx\n")
    (root / "b.txt").write_text("b\n")
    (root / "names.txt").write_text("new\n")
    (root / "big.txt").write_text("line of some length\n" * 20_000)
    (root / "script.py").write_text("open('new', 'w')\n")
    (root / "fix.patch").write_text("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+changed\n")
    (root / "Makefile").write_text("all:\n\ttouch new\n")
    (root / "package.json").write_text('{"scripts": {"test": "touch new"}}')
    (root / "test_x.py").write_text("open('new', 'w')\n")
    for name in ("script.sh", "ls"):
        (root / name).write_text("#!/bin/sh\ntouch new\n")
        (root / name).chmod(0o755)
    (root / "empty").mkdir()
    (root / "link").symlink_to("a.txt")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y"]
    for arguments in (["init", "-q"], ["add", "a.txt", "b.txt"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], cwd=root, check=True, capture_output=True)
    (root / "a.txt").write_text("a\nx\ny\n")
    os.utime(root / "b.txt", (1, 1))  # git would like to refresh its index


def every_way_to_change(guard_root):
    """A call of every tool, and every trick of a shell."""
    calls = [
        call("write_file", path="new", content="x"),
        call("write_file", path="a.txt", content="x"),
        call("write_file", path="deep/er/new", content="x"),
        call("edit_file", path="a.txt", old_text="a", new_text="b"),
        call("create_project", name="new", type="python"),
        call("read_file", path="a.txt"),
        call("read_file", path="big.txt"),
        call("list_dir", path="."),
        call("glob_files", pattern="**/*"),
        call("grep_code", pattern="line", path="."),
        call("finish_task", ok=True, result="x"),
        call("no_such_tool"),
    ]
    calls += [call("execute_command", command=line) for line in TRICKS.splitlines()]
    calls += [
        call("execute_command", command=TRICKS),
        call("execute_command", command="ls\ntouch new"),
    ]
    calls += [call("execute_command", command=line) for line in HARMLESS]
    return calls


def test_before_the_yes_no_byte_on_disk_changes(project, model_server):
    tricky_project(project)
    before = project.tree()
    calls = every_way_to_change(project.root)
    assert {tool.name for tool in file_tools(None)} <= {wanted.name for wanted in calls}
    batches = [calls[start : start + 12] for start in range(0, len(calls), 12)]
    server = model_server(*(ask(*batch) for batch in batches), submit(task("a")))
    ended = project.run(
        server,
        *("-p", GOAL, "--mode", "plan", "--output-format", "stream-json"),
        PAICLI_CONTEXT_WINDOW="1000000",  # all of it without a summary
    )
    assert project.tree() == before
    assert ended.returncode == 0
    assert server.review_requests == []
    results = [json.loads(line) for line in ended.out.splitlines()]
    ran = [r for r in results if r["type"] == "tool_result" and r["ok"]]
    assert len(ran) >= 4 + len(HARMLESS)  # reading is what works


def test_a_simple_look_changes_nothing_either(project, model_server):
    tricky_project(project)
    before = project.tree()
    server = model_server(
        ask(call("write_file", path="new", content="x"), call("read_file", path="big.txt")),
        ask(
            call("execute_command", command="touch new"),
            call("execute_command", command="rm a.txt"),
        ),
        say("Some files."),
    )
    ended = project.run(server, "-p", "list the files", "--mode", "plan")
    assert project.tree() == before
    assert ended.out == "Some files.\n"
    assert ended.returncode == 4


def test_the_plan_is_printed_and_nothing_carried_out(project, model_server):
    server = model_server(
        ask(call("write_file", path="new", content="x")),
        submit(task("a", kind="FILE_READ"), task("b", kind="ANALYSIS"), task("c", "a", "b")),
    )
    ended = project.run(server, "-p", GOAL, "--mode", "plan")
    assert (ended.returncode, list(project.root.iterdir())) == (0, [])
    assert ended.out == (
        "📋 the plan\n3 tasks · 2 steps\n\n"
        "1 ┌ task_1 · read · do a\n"
        "  └ task_2 · think · do b\n"
        "2 ─ task_3 ← task_1, task_2 · write · do c\n"
    )


def test_the_plan_as_json(project, model_server):
    server = model_server(submit(task("x"), task("y", "x")))
    ended = project.run(server, "-p", GOAL, "--mode", "plan", "--output-format", "json")
    result = json.loads(ended.out)
    assert (result["status"], ended.returncode) == ("done", 0)
    assert [one["id"] for one in result["plan"]["tasks"]] == ["task_1", "task_2"]


def test_the_next_question_knows_the_proposed_plan(project, model_server):
    server = model_server(submit(task("a")), say("I will."))
    project.run(server, "-p", GOAL, "--mode", "plan")
    project.run(server, "-c", "-p", "do it")
    roles = [(m["role"], m["content"]) for m in server.requests[1].messages[1:]]
    assert roles[0] == ("user", GOAL)
    assert "- task_1 FILE_WRITE: do a" in roles[1][1]
    assert server.requests[1].tool_names != server.requests[0].tool_names


def test_no_usable_plan_is_one_clear_line(project, model_server):
    server = model_server(submit(task("a", "z")), submit(task("a", "z")))
    ended = project.run(server, "-p", GOAL, "--mode", "plan")
    assert (ended.returncode, ended.out) == (1, "")
    assert 'depends on \\"z\\"' in json.dumps(ended.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--approve-plan", "x"),
        ("-p", "x", "--approve-plan", "--mode", "auto"),
        ("-p", "--approve-plan"),
    ],
)
def test_wrong_usage(project, model_server, arguments):
    ended = project.run(model_server(), *arguments)
    assert (ended.returncode, ended.out) == (2, "")
    assert len(ended.err.strip().splitlines()) == 1


# After it


def scripted_tasks(failing=(), before=None):
    """Each task writes a file named after itself, then finishes; `failing` ones say that they failed."""

    def answer(request):
        id_ = own_task(request)
        assert id_, request.messages[-1]
        if before is not None and (turn := before(id_, request)):
            return turn
        if request.messages[-1]["role"] == "user":
            return ask(call("write_file", path=f"{id_}.txt", content=id_))
        return ask(call("finish_task", ok=id_ not in failing, result=f"result of {id_}"))

    return answer


def thirty():
    """Three chains of ten."""
    return [task(f"t{n}", *([f"t{n - 1}"] if n % 10 != 1 else [])) for n in range(1, 31)]


def test_thirty_tasks_with_a_failure_in_the_middle(project, model_server):
    server = model_server(submit(*thirty()), *[scripted_tasks({"task_16"})] * 60)
    ended = project.run(server, "-p", GOAL, "--approve-plan")
    assert ended.returncode == 3
    done = [n for n in range(1, 31) if n not in range(16, 21)]
    assert {p.name for p in project.root.iterdir()} == {f"task_{n}.txt" for n in [*done, 16]}
    lines = [line for line in ended.out.splitlines() if line.startswith("- ")]
    assert lines == [
        *(f"- ✓ task_{n} do t{n} — result of task_{n}" for n in done),
        "- ✗ task_16 do t16 — result of task_16",
        *(f"- – task_{n} do t{n} — it depends on task_{n - 1}" for n in range(17, 21)),
    ]


def test_thirty_tasks_with_an_early_failure_are_planned_anew(project, model_server):
    def tasks(request):
        if not own_task(request) or request.messages[0]["content"] == "":
            return submit(task("again"), task("last", "again"))
        return scripted_tasks({"task_10"})(request)

    server = model_server(submit(*thirty()), *[tasks] * 60)
    ended = project.run(server, "-p", GOAL, "--approve-plan")
    assert ended.returncode == 0
    asked = [r for r in server.requests if not own_task(r)]
    assert len(asked) == 2
    assert "task_10: do t10 [failed] result of task_10" in asked[1].messages[-1]["content"]
    assert asked[1].messages_bytes.startswith(asked[0].messages_bytes)
    assert "- ✓ task_32 do last" in ended.out
    assert ended.out.count("another plan replaced this one") == 20


def test_a_server_error_is_a_failure_like_any_other(project, model_server):
    def breaks(id_, _request):
        return http(400, {"error": {"message": "broken"}}) if id_ == "task_3" else None

    server = model_server(
        submit(task("a"), task("b"), task("c"), task("d")), *[scripted_tasks(before=breaks)] * 12
    )
    ended = project.run(server, "-p", GOAL, "--approve-plan")
    assert ended.returncode == 3
    assert (project.root / "task_4.txt").exists()
    assert re.search(r"- ✗ task_3 do c — .*broken", ended.out)


def test_stream_json_tells_the_tasks_as_notices(project, model_server):
    server = model_server(submit(task("a")), *[scripted_tasks()] * 2)
    ended = project.run(server, "-p", GOAL, "--approve-plan", "--output-format", "stream-json")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    kinds = [line["kind"] for line in lines if line["type"] == "notice"]
    assert kinds == ["plan_proposed", "plan_started", "task_started", "task_done"]
    assert lines[-1]["type"] == "result"


def test_killed_in_the_middle_it_goes_on_with_the_remaining_tasks(project, model_server):
    gate = Gate()

    def stops(id_, request):
        if id_ == "task_3" and not gate.opened.is_set():
            return stream(chunk({"content": "I"}), gate)
        return None

    server = model_server(submit(*thirty()[:5]), *[scripted_tasks(before=stops)] * 40)
    process = project.start(server, "-p", GOAL, "--approve-plan")
    assert gate.reached.wait(20)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    gate.open()
    asked = len(server.requests)
    ended = project.run(server, "-c", "-p", "--approve-plan")
    assert ended.returncode == 0
    assert [own_task(r) for r in server.requests[asked:]] == [
        f"task_{n}" for n in (3, 4, 5) for _ in range(2)
    ]
    first = server.requests[asked].messages[-1]["content"]
    assert "An earlier attempt at it was interrupted" in first
    assert "result of task_2" in first
    again = project.run(server, "-c", "-p", "--approve-plan")
    assert again.returncode == 1


def test_going_on_with_something_else_says_that_a_plan_was_left(project, model_server):
    gate = Gate()

    def stops(id_, _request):
        return stream(chunk({"content": "I"}), gate) if id_ == "task_2" else None

    server = model_server(submit(*thirty()[:3]), *[scripted_tasks(before=stops)] * 3, say("Hi."))
    process = project.start(server, "-p", GOAL, "--approve-plan")
    assert gate.reached.wait(20)
    process.send_signal(signal.SIGINT)
    out, _err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "- ✓ task_1 do t1 — result of task_1" in out
    assert "- ⊘ task_2 do t2 — stopped while it ran; it may be done in part" in out
    assert "- ⊘ task_3 do t3 — not begun" in out
    ended = project.run(server, "-c", "-p", "hello")
    assert ended.out == "Hi.\n"
    assert "2 of 3 tasks are left" in ended.err
    known = server.requests[-1].messages[-2]["content"]
    assert "task_1: do t1 [done] result of task_1" in known
