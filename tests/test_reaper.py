"""An interrupted run of the tests leaves no browser behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from service import until

TESTS = Path(__file__).parent
RUN = """
import shutil, subprocess, sys, time
import reaper
driver = subprocess.Popen([sys.argv[1], "-c", "sleep 600 & wait"], start_new_session=True)
reaper.watch(driver.pid)
print(driver.pid, flush=True)
time.sleep(600)
"""


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie of somebody else's has ended as well.
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(not shutil.which("sh"), reason="needs a shell")
def test_what_was_begun_ends_with_the_run(tmp_path: Path) -> None:
    driver = tmp_path / "chromedriver"
    shutil.copy(os.path.realpath(str(shutil.which("sh"))), driver)
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(driver)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    with run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert is_there(pid)
        run.kill()
    until("the end", lambda: not is_there(pid))
