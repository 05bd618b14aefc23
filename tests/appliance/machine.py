"""Helpers: boot a machine under QEMU, send requests to the agent in it, and pull its plug.

QEMU emulates two cores in software. Two virtio ports lead to the guest's agent and camera
(`guest/agent.py`, `guest/camera.py`), so that these need no network. Phones reach the service by a
forwarded port.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ports import free_port

from appliance.build import Disk
from companion.core.ports import Closeable

# Without AVX: QEMU's emulation of its masked loads also reads the masked memory, so that numpy's
# `minimum` is killed by a page fault.
ACCELERATOR = ("-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,avx=off,avx2=off")
MEMORY_MB = 1024
PAGES_PORT = 8080
# Timeout for booting. It is generous, because two shared cores emulate two others.
BOOT_S = 240.0
# Pin numbers of the keys of each pad.
SOUTH = {"up": 5, "down": 6, "left": 13, "right": 19, "a": 26, "b": 11, "back": 9, "ready": 10}
NORTH = {"up": 12, "down": 16, "left": 20, "right": 21, "a": 7, "b": 8, "back": 25, "ready": 24}
PADS = {"south": SOUTH, "north": NORTH}
# Pin numbers of the lamps of each pad: orders 1 to 3, then whose turn it is. North's last three
# lamps are wired to 3V3, so that the level 1 of their pins means dark.
LAMPS = {"south": (17, 27, 22, 4), "north": (23, 15, 14, 2)}
INVERTED = frozenset({15, 14, 2})
TABLE_BUTTON = 3
T = TypeVar("T")


class MachineError(Exception):
    """The machine did not do what was requested. Most messages end with lines of its console."""


def until(
    what: str, condition: Callable[[], T], timeout_s: float = 60.0, pause_s: float = 0.2
) -> T:
    """Wait until `condition` returns something true, and return that.

    Ask for it again after each pause of `pause_s`. Raises `MachineError` after `timeout_s`, with
    `what` as the name of the awaited thing.
    """
    end_s = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end_s:
            raise MachineError(f"waited {timeout_s:.0f} s in vain for {what}")
        time.sleep(pause_s)


class Machine(Closeable):
    """A running QEMU: a context manager whose `close` may be called twice.

    The machine is booted with the kernel of `disk`, but writes to `image`. `folder` gets its
    console and sockets. Without `network`, it has no network card. `stick` is the image of a second
    disk.
    """

    def __init__(
        self,
        disk: Disk,
        image: Path,
        folder: Path,
        network: bool = True,
        stick: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.image, self._folder = image, folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.began_at_s = time.monotonic()
        self._requests = 0
        command = self._command(disk, network)
        if stick:
            command += ["-drive", f"file={stick},format=raw,if=virtio,cache=writeback"]
        with (folder / "qemu.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            self._monitor = self._connect("monitor", 30)
            self._monitor_file = self._monitor.makefile("r")
            self._monitor_file.readline()
            self.monitor("qmp_capabilities")
            self._connect_agent()
        except BaseException:
            self.close()
            raise

    def _command(self, disk: Disk, network: bool) -> list[str]:
        folder = self._folder
        line = (
            "console=ttyS0 root=/dev/vda ro rootflags=noinit_itable panic=-1"
            " mitigations=off net.ifnames=0 quiet"
        )
        device = ["-drive", f"file={self.image},format=raw,if=none,id=d0,cache=writeback"]
        ports = [
            word
            for name in ("agent", "frames")
            for word in (
                "-chardev", f"socket,id={name},path={folder / name},server=on,wait=off",
                "-device", f"virtserialport,chardev={name},name=appliance.{name}",
            )
        ]  # fmt: skip
        forward = f"user,id=n0,hostfwd=tcp:127.0.0.1:{self.port}-:{PAGES_PORT}"
        return [
            "qemu-system-x86_64", *ACCELERATOR, "-M", "q35", "-m", str(MEMORY_MB), "-smp", "2",
            "-kernel", str(disk.kernel), "-initrd", str(disk.initrd), "-append", line,
            *device, "-device", "virtio-blk-pci,drive=d0,write-cache=on",
            *(
                ["-netdev", forward, "-device", "virtio-net-pci,netdev=n0"]
                if network
                else ["-nic", "none"]
            ),
            "-device", "virtio-rng-pci", "-device", "virtio-serial-pci", *ports,
            "-display", "none", "-nodefaults", "-no-reboot",
            "-serial", f"file:{folder / 'console'}",
            "-qmp", f"unix:{folder / 'monitor'},server=on,wait=off",
        ]  # fmt: skip

    def _connect_agent(self) -> None:
        """Connect to the guest's agent and camera by their virtio ports.

        A machine without such ports overrides this method and `_command`.
        """
        self._frames = self._connect("frames", 10)
        self._agent = self._connect("agent", 10)
        self._agent_file = self._agent.makefile("r")

    def require_running(self) -> None:
        """Raise `MachineError` when QEMU has ended."""
        if self._process.poll() is not None:
            raise MachineError(
                f"QEMU has ended: {(self._folder / 'qemu.log').read_text()}{self.console()}"
            )

    def _connect(self, name: str, timeout_s: float) -> socket.socket:
        """Connect to a socket of QEMU's as soon as QEMU has made it."""

        def attempt() -> socket.socket | None:
            self.require_running()
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(str(self._folder / name))
            except OSError:
                line.close()
                return None
            return line

        return until(f"QEMU's {name}", attempt, timeout_s, 0.05)  # type: ignore[return-value]  # None is waited away

    # ---- the agent inside ------------------------------------------------------------------------

    def ask(self, function: str, *arguments: Any, timeout_s: float = 90.0, **keywords: Any) -> Any:
        """Let the agent call one of its functions (`guest/agent.py`), and return the result.

        Raises `MachineError`.
        """
        self._requests += 1
        self._agent.settimeout(timeout_s)
        request = {
            "id": self._requests,
            "function": function,
            "arguments": arguments,
            "keywords": keywords,
        }
        try:
            self._agent.sendall(json.dumps(request).encode() + b"\n")
            while True:
                answer = json.loads(self._agent_file.readline() or "null")
                if answer is None:
                    raise MachineError(f"{function}: the machine is off")
                # an older request that timed out may be answered only now
                if answer["id"] == self._requests:
                    break
        except OSError as error:
            raise MachineError(
                f"{function}: no answer ({error}); the console ends with:\n{self.console()}"
            ) from None
        if "error" in answer:
            raise MachineError(f"{function}: {answer['error']}")
        return answer["answer"]

    def run(self, *command: str, check: bool = True, timeout_s: float = 60.0) -> str:
        """Run a command inside, and return its output.

        Raises `MachineError` if `check` is set and the command fails.
        """
        done = self.ask("run", list(command), timeout_s, timeout_s=timeout_s + 30)
        if check and done["status"]:
            raise MachineError(
                f"{' '.join(command)}: status {done['status']}: {done['out']}{done['err']}"
            )
        return str(done["out"])

    def unit_property(self, name: str, unit: str = "companion.service") -> str:
        """Return a property of a systemd unit."""
        return self.run("systemctl", "show", "-P", name, unit).strip()

    def press(self, seat: str, *keys: str) -> None:
        """Press and release keys of a side's pad."""
        self.ask("press", [PADS[seat][key] for key in keys])

    def lamp_levels(self, times: int = 80) -> dict[int, float]:
        """Return the share of time that each lamp is lit, from 0 to 1, by its pin.

        80 samples take more than half a second, which is longer than a lamp takes to blink once.
        """
        pins = [pin for side in LAMPS.values() for pin in side]
        samples = self.ask("lamps", pins, times=times, pause_s=0.007)
        shares = [sum(levels) / times for levels in zip(*samples, strict=True)]
        return {
            pin: 1 - share if pin in INVERTED else share
            for pin, share in zip(pins, shares, strict=True)
        }

    def show_picture(self, width: int, height: int, luma: bytes) -> None:
        """Show a picture to the camera from now on.

        `luma` has one byte of brightness for each pixel, row by row.
        """
        self._frames.settimeout(60)
        self._frames.sendall(struct.pack("<II", width, height) + luma)

    # ---- power -----------------------------------------------------------------------------------

    def console(self, lines: int = 25) -> str:
        """Return the last lines of the machine's serial console."""
        path = self._folder / "console"
        return (
            "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
            if path.exists()
            else ""
        )

    def monitor(self, command: str, **arguments: Any) -> Any:
        """Send a command to QEMU's monitor, and return its answer."""
        self._monitor.settimeout(60)
        self._monitor.sendall(
            json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n"
        )
        while True:
            answer = json.loads(self._monitor_file.readline())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise MachineError(f"{command}: {answer['error']['desc']}")

    def pull_the_plug(self) -> None:
        """Kill QEMU. What the guest has not written to its disk is lost, as by a power cut."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(30)
        self.close()

    def is_off(self) -> bool:
        """Return whether the machine has switched itself off."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End QEMU if it runs, and close all connections."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(30)
        for name in ("_monitor_file", "_agent_file", "_monitor", "_agent", "_frames"):
            # those that are not open yet have no attribute
            with contextlib.suppress(OSError, AttributeError):
                getattr(self, name).close()


def copy_image(source: Path, target: Path) -> Path:
    """Copy the image of a disk, which stays sparse, and return the copy."""
    target.unlink(missing_ok=True)
    subprocess.run(
        ["cp", "--reflink=auto", "--sparse=always", str(source), str(target)], check=True
    )
    return target
