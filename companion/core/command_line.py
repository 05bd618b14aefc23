"""Commands of this program as people have to type them here, for sentences that contain one."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path


def shell_command(name: str, state_dir: str = "") -> str:
    """Return the line to type in a shell for the command with this name.

    On an installed table it is `companion NAME`, because the installation puts the program on the
    path of all users, together with its settings. In a copy of the source it begins with the
    program that was started, such as `.venv/bin/companion NAME`, and names `state_dir` as an option
    unless that is empty.
    """
    if "INVOCATION_ID" in os.environ:  # set by systemd for every service
        return f"companion {name}"
    program = shlex.quote(sys.argv[0])
    if Path(sys.argv[0]).stem != "companion":
        program = f"{shlex.quote(sys.executable)} -m companion"
    option = f" --state-dir {shlex.quote(state_dir)}" if state_dir else ""
    return f"{program} {name}{option}"


def public_shell_command(name: str) -> str:
    """Return the line as in `shell_command`, but without any absolute path of this machine.

    It is for pages that strangers see.
    """
    command = shell_command(name)
    # A quoted path begins with an apostrophe.
    has_path = command.startswith(("/", "'"))
    return f"companion {name}" if has_path else command
