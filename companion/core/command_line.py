"""How to type a command of this program on this machine."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path


def command_words(name: str, state_dir: str = "") -> str:
    """Return a command as it has to be typed where this program was started.

    A service uses `companion`, which the installation has put on the path of all users together
    with its settings. A clone uses the program that was started, such as `.venv/bin/companion`.
    `state_dir` is added as an option there, if it is not empty.
    """
    if "INVOCATION_ID" in os.environ:  # set by systemd for every service
        return f"companion {name}"
    program = shlex.quote(sys.argv[0])
    if Path(sys.argv[0]).stem != "companion":
        program = f"{shlex.quote(sys.executable)} -m companion"
    return f"{program} {name}{f' --state-dir {shlex.quote(state_dir)}' if state_dir else ''}"


def public_command(name: str) -> str:
    """Return the same as `command_words`, but without any folder of this machine. For pages that
    strangers see.
    """
    words = command_words(name)
    return f"companion {name}" if words.startswith(("/", "'")) else words
