"""The folder of a run: what tests, their services and browsers leave behind, and the templates that
all their applications share.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

IN_MEMORY = "/dev/shm"
# Least free memory at which tests keep their files there.
MIN_FREE_BYTES = 2_000_000_000
# Name of the environment variable with the path of the folder.
FOLDER_VARIABLE = "COMPANION_TESTS_FOLDER"


def has_room_in_memory() -> bool:
    """May tests' files lie in memory? A `TMPDIR` that somebody has chosen stays."""
    return (
        "TMPDIR" not in os.environ
        and os.access(IN_MEMORY, os.W_OK)
        and shutil.disk_usage(IN_MEMORY).free >= MIN_FREE_BYTES
    )


def make_run_folder(config: pytest.Config) -> None:
    """Begin the folder of this run, in memory where there is enough of it; workers find it in their
    environment.

    Everything is written and synced as ever; only nobody waits for a disk.
    """
    if FOLDER_VARIABLE in os.environ:
        return
    if has_room_in_memory():
        folder = tempfile.mkdtemp(prefix="companion-", dir=IN_MEMORY)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.environ["PYTEST_DEBUG_TEMPROOT"] = (
            IN_MEMORY  # files of tests that fail are kept beyond this run
        )
    else:
        folder = tempfile.mkdtemp(prefix="companion-")
    os.environ[FOLDER_VARIABLE] = folder
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # to compile everything anew takes each worker fifteen seconds
    sys.dont_write_bytecode = False
    # As many tests run as there are cores: threads for one picture would only wait for each other.
    os.environ.setdefault("OPENCV_FOR_THREADS_NUM", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def compiled_templates() -> Path | None:
    """The folder in which applications keep compiled templates. None outside of a run."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) / "templates" if folder else None


def share_templates(state: Path) -> None:
    """Let a service with its state in this folder find the templates that others have compiled."""
    shared, own = compiled_templates(), state / "templates"
    if shared and not own.exists():
        shared.mkdir(mode=0o700, exist_ok=True)
        own.symlink_to(shared)
