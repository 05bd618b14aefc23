"""The file that the first owners of a Pi can send: what is in it, what never is, and a simulated Pi made of it."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hardware.pin_owners import pin_owners
from picamera_tools import IMX219, IMX708, PiHost

from companion.cli import doctor
from companion.cli.doctor import first_pi
from companion.core.config import PanelSettings, Settings
from companion.core.errors import ConfigError, PanelError, SystemTrouble
from companion.diagnostics import first_pi as first
from companion.diagnostics.first_pi import FirstPi
from companion.diagnostics.probes import Machine


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[PiHost]:
    made = PiHost(monkeypatch)
    made.info.append({"Model": "imx219", "Id": IMX219})
    yield made
    made.close()


def put(root: Path, path: str, content: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def simulated(root: Path, profile: FirstPi, host: PiHost) -> Machine:
    """A machine of files and cameras as a profile tells them."""
    put(root, "proc/device-tree/model", profile.model + "\0")
    put(root, "proc/device-tree/system/linux,revision", bytes.fromhex(profile.revision))
    put(root, "etc/os-release", f'PRETTY_NAME="{profile.system}"\n')
    put(root, "proc/sys/kernel/osrelease", profile.kernel.rpartition(" ")[0])
    put(root, "proc/device-tree/chosen/bootloader/version", profile.bootloader)
    memory, contiguous = profile.memory_mb or (0, 0), profile.contiguous_mb or (0, 0)
    put(
        root,
        "proc/meminfo",
        f"MemTotal: {memory[0] * 1000} kB\nMemAvailable: {memory[1] * 1000} kB\n"
        f"CmaTotal: {contiguous[0] * 1024} kB\nCmaFree: {contiguous[1] * 1024} kB\n",
    )
    put(root, "sys/class/thermal/thermal_zone0/type", "cpu-thermal\n")
    put(root, "sys/class/thermal/thermal_zone0/temp", f"{(profile.temperature_c or 0) * 1000:.0f}\n")
    put(root, "proc/self/mountinfo", f"26 1 179:2 / / rw - {profile.file_system} /dev/root rw\n")
    rows = [f"pin {pin} (gpio{pin}): {name} (GPIO UNCLAIMED)" for pin, name in profile.pins.owners.items()]
    put(root, "sys/kernel/debug/pinctrl/fe200000.gpio-pinctrl-bcm2711/pinmux-pins", "\n".join(rows))
    host.info[:] = [{"Model": camera.sensor, "Id": camera.id} for camera in profile.cameras]
    host.modes = [
        {**mode, "size": tuple(mode["size"]), "crop_limits": tuple(mode["crop_limits"])}
        for mode in profile.cameras[0].modes
    ]
    if profile.cameras[0].controls:
        host.lacks = {name for name in ("AfMode", "LensPosition") if name not in profile.cameras[0].controls}
    return Machine(root, lambda _: "")


PROFILE = FirstPi(
    companion="1",
    model="Raspberry Pi 4 Model B Rev 1.4",
    revision="00c03114",
    system="Debian GNU/Linux 13 (trixie)",
    kernel="6.12.47+rpt-rpi-v8 x86_64",
    bootloader="1737000000",
    packages={},
    memory_mb=(3884, 3500),
    contiguous_mb=(320, 300),
    temperature_c=48.3,
    throttled=None,
    file_system="ext4",
    disk="",
    cameras=(
        first.FirstCamera("imx708", IMX708, ({"size": [2304, 1296], "bit_depth": 10, "fps": 56.0,
                                              "crop_limits": [0, 0, 4608, 2592]},)),
        first.FirstCamera("imx219", IMX219),
    ),
    pins=first.FirstPins({"14": "fe201000.serial", "15": "fe201000.serial"}),
)  # fmt: skip


def settings(folder: Path) -> Settings:
    return Settings(state_dir=str(folder / "state"), panel=PanelSettings())


@pytest.fixture
def machine(tmp_path: Path, host: PiHost, monkeypatch: pytest.MonkeyPatch) -> Machine:
    def no_pins(*_: object) -> None:
        raise PanelError("This machine is not a Raspberry Pi and has no pins: use the pages, or play --simulate.")

    monkeypatch.setattr(doctor, "Panel", no_pins)
    return simulated(tmp_path / "root", PROFILE, host)


def test_the_file_tells_the_machine_and_can_be_read_back_as_a_simulated_one(
    tmp_path: Path, machine: Machine, host: PiHost
) -> None:
    sent = tmp_path / "pi.json"
    assert first_pi(settings(tmp_path), sent, machine) == 0
    told = first.read(sent)
    assert (told.model, told.revision, told.system) == (PROFILE.model, PROFILE.revision, PROFILE.system)
    assert (told.memory_mb, told.contiguous_mb, told.temperature_c) == ((3884, 3500), (320, 300), 48.3)
    assert {camera.sensor for camera in told.cameras} == {"imx708", "imx219"}
    assert told.cameras[0].modes[0]["size"] == [2304, 1296]
    assert told.cameras[0].controls["LensPosition"] == [0.0, 15.0, 1.0]
    assert told.cameras[0].properties["PixelArraySize"] == [4608, 2592]
    assert told.pins.owners == PROFILE.pins.owners
    assert told.pins.problems[0].startswith("This machine is not a Raspberry Pi")
    assert set(told.reading_ms) == {"first", "still", "changed"}
    assert told.reading_ms["still"] < told.reading_ms["first"]
    assert not host.acquired, "every camera is given back"

    again = first.look(simulated(tmp_path / "again", told, host), tmp_path, told.pins)
    for name in ("model", "revision", "system", "kernel", "bootloader", "memory_mb", "contiguous_mb", "cameras"):
        assert getattr(again, name) == getattr(told, name), name
    assert {str(pin): owner.device for pin, owner in pin_owners(tmp_path / "again").items()} == told.pins.owners


def test_no_name_key_address_or_picture_is_in_it(tmp_path: Path, machine: Machine) -> None:
    for path, content in (
        ("proc/device-tree/serial-number", "10000000abcdef01\0"),
        ("etc/hostname", "marabella\n"),
        ("sys/class/net/wlan0/address", "dc:a6:32:01:02:03\n"),
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
    ):
        put(machine.root, path, content)
    sent = tmp_path / "pi.json"
    first_pi(settings(tmp_path), sent, machine)
    text = sent.read_text()
    for secret in ("abcdef01", "marabella", "dc:a6", str(tmp_path), socket.gethostname(), f'"{getpass.getuser()}"'):
        assert secret not in text, secret
    assert len(text) < 20_000, "no picture fits into it"
    assert set(json.loads(text)) == set(FirstPi.__struct_fields__), "nothing else is written"


def test_a_camera_that_is_busy_or_short_of_memory_says_so(tmp_path: Path, machine: Machine, host: PiHost) -> None:
    host.busy.add(IMX219)
    host.contiguous_bytes = 1 << 20
    told = {camera.sensor: camera for camera in first.look(machine, tmp_path, first.FirstPins()).cameras}
    assert "in use by another program" in told["imx219"].problem
    assert "Cannot allocate memory" in told["imx708"].problem
    assert told["imx708"].controls, "what it told before is kept"


def test_a_companion_that_runs_has_the_camera(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "ask_service", lambda _: ())
    with pytest.raises(SystemTrouble, match="systemctl stop companion"):
        first_pi(settings(tmp_path), tmp_path / "pi.json", machine)


@pytest.mark.parametrize(("content", "words"), [("{", "is not a file about a Pi"), ("{}", "is not a file about a Pi")])
def test_another_file_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "pi.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=words):
        first.read(path)
    with pytest.raises(SystemTrouble, match="cannot be read"):
        first.read(tmp_path / "gone.json")
    with pytest.raises(SystemTrouble, match="cannot be written"):
        first.write(PROFILE, tmp_path / "no" / "folder.json")
