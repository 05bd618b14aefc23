"""Settings tried in a process of its own, with bounds on memory and time, before they are written.

What the process does is in `companion.service.settings_child`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from companion.core.config import Settings
from companion.core.i18n import say
from companion.maintenance.settings.file import whole_text

CHILD = "companion.service.settings_child"
MEMORY_BYTES = 600_000_000
"""Four times what the service takes without a game."""
TIME_S = 40.0
"""A Raspberry Pi 4 needs some six seconds."""
_LOOK_S = 0.05


def try_in_child(settings: Settings, own_port: int, time_s: float = TIME_S) -> str:
    """What is wrong with these settings, in words; empty: nothing was found. `own_port` is in use by the caller."""
    with tempfile.TemporaryFile() as words:
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", CHILD, str(own_port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=words,
                env=_environment(),
            )
        except OSError:
            return ""  # no room for a second process: the next start is the trial
        with child:
            bound = _watch(child, whole_text(settings).encode(), time_s)
        if bound or child.returncode == 0:
            return bound
        words.seek(0)
        lines = words.read(100_000).decode(errors="replace").strip().splitlines()
    return lines[-1][:400] if lines else say("the trial ended without a message.")


def _watch(child: subprocess.Popen[bytes], text: bytes, time_s: float) -> str:
    """Give the child its settings, and end it when it takes too much; answers what that was."""
    assert child.stdin is not None
    with contextlib.suppress(OSError):
        child.stdin.write(text)
        child.stdin.close()
    end_s = time.monotonic() + time_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_LOOK_S)
            return ""
        if _memory_bytes(child.pid) > MEMORY_BYTES:
            child.kill()
            return say("they take too much memory.")
        if time.monotonic() > end_s:
            child.kill()
            return say("the companion does not start with them within {number} s.", number=f"{time_s:.0f}")


def _memory_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _environment() -> dict[str, str]:
    """The caller's, without its line to systemd: the child speaks for nobody. It imports this very program."""
    own = {name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", "RUNTIME_DIRECTORY")}
    return {**own, "PYTHONPATH": str(Path(__file__).parents[3])}
