"""Helpers: the folder of a run of tests.

It has the files of tests, services and browsers, and the compiled templates of all applications.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

# A folder whose files are in memory.
IN_MEMORY = "/dev/shm"
# Minimum of free memory at which tests keep their files there.
MIN_FREE_BYTES = 2_000_000_000
# Name of the environment variable with the path of the folder.
FOLDER_VARIABLE = "COMPANION_TESTS_FOLDER"


def has_room_in_memory() -> bool:
    """Return whether the files of tests may lie in memory, and fit there.

    If `TMPDIR` is set, somebody has chosen another place.
    """
    return (
        "TMPDIR" not in os.environ
        and os.access(IN_MEMORY, os.W_OK)
        and shutil.disk_usage(IN_MEMORY).free >= MIN_FREE_BYTES
    )


def make_run_folder(config: pytest.Config) -> None:
    """Make the folder of this run, in memory if there is enough.

    Files are written and synced as usual, but without waiting for a disk. Workers find the folder
    in their environment.
    """
    if FOLDER_VARIABLE in os.environ:
        return
    if has_room_in_memory():
        folder = tempfile.mkdtemp(prefix="companion-", dir=IN_MEMORY)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        # pytest's folders for tests are not in the folder of this run, which is removed at its end.
        # So the files of a failed test can still be looked at.
        os.environ["PYTEST_DEBUG_TEMPROOT"] = IN_MEMORY
    else:
        folder = tempfile.mkdtemp(prefix="companion-")
    os.environ[FOLDER_VARIABLE] = folder
    # without bytecode files each worker would compile all modules again, which takes 15 s
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # tests keep all cores busy, so that several threads for one picture would only wait
    os.environ.setdefault("OPENCV_FOR_THREADS_NUM", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def templates_folder() -> Path | None:
    """Return the folder of compiled templates, or None outside of a run of tests."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) / "templates" if folder else None


def share_templates(state_dir: Path) -> None:
    """Let a service with this state folder use the compiled templates of this run."""
    shared = templates_folder()
    own = state_dir / "templates"
    if shared and not own.exists():
        shared.mkdir(mode=0o700, exist_ok=True)
        own.symlink_to(shared)
