"""What a process does that tries settings: python3 -m companion.service.settings_child OWN_PORT < settings.toml

It opens what the settings name, lays out the pads on pins that do not exist, binds the pages' port and asks for a page.
Cameras and pins themselves stay alone: the running service has them.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from companion.core.config import MqttSettings, Settings, VoiceSettings, read_settings
from companion.core.errors import CompanionError
from companion.maintenance.settings.sandbox import MEMORY_BYTES, TIME_S


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
