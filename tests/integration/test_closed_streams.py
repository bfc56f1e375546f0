"""The program with standard streams that are closed, and the rights of what it keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HI = f"{sys.executable} -m paicli --demo -p hi"


def run(tmp_path, streams):
    environ = {**os.environ, "PAICLI_HOME": str(tmp_path / "home"), "PAICLI_LANG": "en"}
    environ["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    return subprocess.run(
        ["bash", "-c", f"umask 022; exec {HI} {streams}"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("streams", ["<&-", ">&- </dev/null", "2>&- </dev/null", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_internal_error(tmp_path, streams):
    done = run(tmp_path, streams)
    assert done.returncode == 0
    assert "internal error" not in done.stderr


def test_what_is_kept_is_for_the_person_alone(tmp_path):
    run(tmp_path, "</dev/null")
    home = tmp_path / "home"
    assert home.stat().st_mode & 0o077 == 0
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if path.stat().st_mode & 0o077] == []
