"""The demo task against a real server: set PAICLI_LIVE_BASE_URL (and PAICLI_LIVE_MODEL, PAICLI_LIVE_KEY)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paicli import config
from paicli.llm.probes import probe
from paicli.llm.providers import select

ROOT = Path(__file__).parents[2]
BASE_URL = os.environ.get("PAICLI_LIVE_BASE_URL", "")
pytestmark = [
    pytest.mark.skipif(not BASE_URL, reason="no real server: PAICLI_LIVE_BASE_URL is not set"),
    pytest.mark.timeout(900),
]


def environ(home):
    return {
        "LOCAL_BASE_URL": BASE_URL,
        "LOCAL_MODEL": os.environ.get("PAICLI_LIVE_MODEL", ""),
        "LOCAL_API_KEY": os.environ.get("PAICLI_LIVE_KEY", ""),
        "PAICLI_PROVIDER": "local",
        "PAICLI_HOME": str(home),
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(ROOT / "src"),
    }


def test_the_demo_task(tmp_path):
    project = tmp_path / "project"
    shutil.copytree(ROOT / "demo", project)
    hello = next(project.rglob("Hello.java"))
    task = f"Read {hello.relative_to(project)} and change what it prints to Hello PaiCLI"
    done = subprocess.run(
        [sys.executable, "-m", "paicli", "-p", task, "-C", str(project)],
        env=environ(tmp_path / "home"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Hello PaiCLI" in hello.read_text()


async def test_the_probes(tmp_path):
    settings = config.load(tmp_path, environ(tmp_path), {}).settings
    probes = await probe(select(settings), settings)
    assert probes[0].name == "stream"
    assert probes[0].ok, probes
