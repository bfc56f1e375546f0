"""The program with standard streams that are closed, and the rights of what it keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HI = f"{sys.executable} -m paicli --demo -p hi"


def run(tmp_path, streams, program=HI):
    environ = {**os.environ, "PAICLI_HOME": str(tmp_path / "home"), "PAICLI_LANG": "en"}
    environ["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    return subprocess.run(
        ["bash", "-c", f"umask 022; exec {program} {streams}"],
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "how", ["-m paicli --version", "-m paicli --help", "-u -m paicli --version"]
)
def test_a_full_disk_behind_stdout_is_an_exit_code_and_no_complaint(tmp_path, how, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    done = run(tmp_path, ">/dev/full", program=f"{sys.executable} {how}")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("doctor", ""),
        ("--demo -p hi", "The output could not be written"),
        ("--demo -p hi --output-format json", "The output could not be written"),
        ("--demo -p hi --output-format stream-json", "The output could not be written"),
        ("--demo -p /help", "The output could not be written"),
    ],
)
def test_a_full_disk_behind_what_a_run_prints(tmp_path, how, said):
    done = run(tmp_path, ">/dev/full </dev/null", program=f"{sys.executable} -m paicli {how}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)
    assert said in done.stderr


def test_a_reader_that_left_and_letters_that_are_none_are_no_error_of_doctor(tmp_path):
    doctor = f"{sys.executable} -m paicli doctor"
    assert "internal error" not in run(tmp_path, "| true", program=doctor).stderr
    ascii_only = f"env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {doctor}"
    done = run(tmp_path, "", program=ascii_only)
    assert "internal error" not in done.stderr
    assert "PaiCLI" in done.stdout


def test_what_is_kept_is_for_the_person_alone(tmp_path):
    run(tmp_path, "</dev/null")
    home = tmp_path / "home"
    assert home.stat().st_mode & 0o077 == 0
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if path.stat().st_mode & 0o077] == []
