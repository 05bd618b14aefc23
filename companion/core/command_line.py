"""How a command of this program is typed on the machine on which it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def command_words(name: str, state_dir: str = "") -> str:
    """Return a command as it works where this program was started.

    `state_dir` is named where it is not the usual one.

    As a service it is `companion`, which the installation has put on everybody's path together with
    its settings. From a clone it is what was typed there, such as `.venv/bin/companion`.
    """
    if "INVOCATION_ID" in os.environ:  # systemd's, for every service that it starts
        return f"companion {name}"
    typed = Path(sys.argv[0])
    installed = shutil.which("companion")
    if typed.stem != "companion":
        program = f"{shlex.quote(sys.executable)} -m companion"
    elif installed and Path(installed).resolve() == typed.resolve():
        program = "companion"
    else:
        program = shlex.quote(str(typed))
    return f"{program} {name}{f' --state-dir {shlex.quote(state_dir)}' if state_dir else ''}"


def public_command(name: str) -> str:
    """Do as `command_words`, for pages that strangers see: no folder of this machine is named."""
    words = command_words(name)
    return f"companion {name}" if words.startswith(("/", "'")) else words
