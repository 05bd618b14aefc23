"""How to type a command of this program on this machine, for sentences that tell people to."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path


def command_words(name: str, state_dir: str = "") -> str:
    """Return a command as it has to be typed where this program was started.

    On an installed table that is `companion NAME`: the installation puts it on the path of all
    users, together with its settings. In a copy of the source it is the program that was started,
    such as `.venv/bin/companion NAME`. There `state_dir` becomes an option, if it is not empty.
    """
    if "INVOCATION_ID" in os.environ:  # set by systemd for every service
        return f"companion {name}"
    program = shlex.quote(sys.argv[0])
    if Path(sys.argv[0]).stem != "companion":
        program = f"{shlex.quote(sys.executable)} -m companion"
    option = f" --state-dir {shlex.quote(state_dir)}" if state_dir else ""
    return f"{program} {name}{option}"


def public_command(name: str) -> str:
    """Return a command as in `command_words`, but without any absolute path of this machine.

    For pages that strangers see.
    """
    command = command_words(name)
    # A quoted path begins with an apostrophe.
    has_path = command.startswith(("/", "'"))
    return f"companion {name}" if has_path else command
