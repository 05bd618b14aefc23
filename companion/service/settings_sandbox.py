"""Settings tried in a process of its own, with bounds on memory and time, before they are written.

The child opens what the settings name, lays out the pads on pins that do not exist, binds the pages' port and asks for
a page. Cameras and pins themselves stay alone: the running service has them.

python3 -m companion.service.settings_sandbox OWN_PORT < settings.toml
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from companion.core.config import MqttSettings, Settings, VoiceSettings, read_settings
from companion.core.errors import CompanionError
from companion.core.i18n import say
from companion.maintenance.settings.file import whole_text

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
                [sys.executable, "-P", "-m", "companion.service.settings_sandbox", str(own_port)],
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
    return lines[-1][:400] if lines else say("the trial ended without a word.")


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
            return say("the companion does not come up with them in {number} s.", number=f"{time_s:.0f}")


def _memory_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _environment() -> dict[str, str]:
    """The caller's, without its line to systemd: the child speaks for nobody. It imports this very program."""
    own = {name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", "RUNTIME_DIRECTORY")}
    return {**own, "PYTHONPATH": str(Path(__file__).parents[2])}


# ---- in the child ----------------------------------------------------------------------------------------------------


def try_here(settings: Settings, own_port: int) -> None:
    """Build the service with these settings, and ask for a page; raises what is wrong with them."""
    import msgspec  # noqa: PLC0415 - as below

    from companion.core.clock import FakeClock  # noqa: PLC0415
    from companion.service.app import Companion  # noqa: PLC0415 - after the bounds are set: it brings the whole program
    from companion.service.systemd import until_answered  # noqa: PLC0415
    from vision.cameras.catalogue import CameraOpener, is_device  # noqa: PLC0415

    if not is_device(settings.camera.source):
        with contextlib.closing(CameraOpener(settings.camera, FakeClock()).open()) as camera:
            camera.frame()
    port = 0 if settings.web.port == own_port else settings.web.port
    with tempfile.TemporaryDirectory(prefix="companion-trial-") as folder:
        tried = msgspec.structs.replace(
            settings,
            state_dir=folder,
            web=msgspec.structs.replace(settings.web, port=port),
            voice=VoiceSettings(by="off"),
            mqtt=MqttSettings(),
        )
        with Companion(tried, simulate=True, clock=FakeClock(), threads=False) as companion:
            until_answered(companion.server.port, settings.web.host)


def _set_bounds() -> None:
    """What the caller looks at, too; whoever is short of memory ends this process first."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (4 * MEMORY_BYTES, 4 * MEMORY_BYTES))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(TIME_S), int(TIME_S) + 1))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def main(arguments: Sequence[str]) -> int:
    """Try the settings that are given; says what is wrong in its last line."""
    _set_bounds()
    try:
        try_here(read_settings(sys.stdin.read()), int(arguments[0]))
    except CompanionError as error:
        print(error.message, file=sys.stderr)
        return 1
    except Exception as error:  # whatever it is, the service would end by it
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
