"""The file tools together, sharing one memory of what the model has read."""

from __future__ import annotations

from typing import Any

from paicli.policy.path_guard import PathGuard
from paicli.tools.base import Tool
from paicli.tools.disk import Disk
from paicli.tools.edit import edit_file_tool, write_file_tool
from paicli.tools.project import create_project_tool
from paicli.tools.reading import list_dir_tool, read_file_tool
from paicli.tools.search import glob_files_tool, grep_code_tool


def file_tools(guard: PathGuard) -> list[Tool[Any]]:
    """Return the file tools for one session in the project that `guard` keeps."""
    disk = Disk(guard)
    return [
        read_file_tool(disk),
        write_file_tool(disk),
        edit_file_tool(disk),
        list_dir_tool(disk),
        glob_files_tool(disk),
        grep_code_tool(disk),
        create_project_tool(disk),
    ]
