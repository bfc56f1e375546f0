"""Which requests are answered without a plan: short looks, and nothing that could change anything."""

import pytest

from paicli.agent.plan_shortcut import is_simple_read


@pytest.mark.parametrize(
    "text",
    [
        "list the files",
        "List the files in src",
        "show me README.md",
        "What does agent.py hold?",
        "where is the Config class",
        "please read pyproject.toml",
        "how many tests are there",
        "find all TODOs",
        "列出文件",
        "查看 README.md",
        "读取 main.py 的内容",
        "当前目录有哪些文件？",
        "搜索 TODO",
        "显示 config.py",
    ],
)
def test_a_look_needs_no_plan(text):
    assert is_simple_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "list the files and delete the old ones",
        "list the files, then fix the bug",
        "list the files > out.txt",
        "list the files into out.txt",
        "list the files\nrm -rf .",
        "read a.py; write b.py",
        "show me the tests, also run them",
        "find and replace foo",
        "find all TODOs. Remove them.",
        "show the diff && git commit",
        "print `rm x`",
        "delete the files",
        "create a file list.txt",
        "run the tests",
        "read config.py, change the port",
        "show how the config was changed",
        "fix the typo in README",
        "list every file " + "in the project " * 10,
        "which files are unused? drop them",
        "what happens when you execute setup.py",
        "list files with spaces by renaming them",
        "查看文件然后删除",
        "查看并修改 a.py",
        "列出文件，再写一个总结到 b.txt",
        "读取 a.py，最后运行测试",
        "运行当前目录的文件",
        "执行 main.py",
        "删除文件",
        "创建文件",
        "在当前目录新建文件",
        "搜索 foo 替换成 bar",
        "查看 a.py 后把它移走",
        "显示文件；清空 b.txt",
        "列出文件 > a.txt",
        "查看 README and delete it",
        "查看当前目录的文件" * 5,
        "你好",
        "hello",
        "帮我安装依赖",
    ],
)
def test_everything_else_is_planned(text):
    assert not is_simple_read(text)
