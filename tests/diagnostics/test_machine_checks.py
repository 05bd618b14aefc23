"""Test what the doctor finds out about a machine, and how it grades that.

The machine is a Raspberry Pi made of files below a folder that stands for `/`.
"""

from __future__ import annotations

import socket
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import pytest

from companion.diagnostics import machine_checks, network_checks, probes
from companion.diagnostics.findings import Finding, Grade
from companion.diagnostics.probes import Machine, MachineMemory

# The answer of `shutil.disk_usage`, in bytes.
Usage = namedtuple("Usage", "total used free")


@dataclass
class FakePi:
    """A Raspberry Pi made of files."""

    root: Path

    @property
    def machine(self) -> Machine:
        return Machine(self.root)

    def write(self, path: str, content: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def mount(self, mode: str, super_block: str = "rw") -> None:
        """Mount `/` from an SD card.

        :param mode: mode of this mount, `rw` or `ro`
        :param super_block: mode of the file system itself, which the kernel sets to `ro` after
            errors
        """
        self.write(
            "proc/self/mountinfo",
            "25 1 179:1 / /boot/firmware rw,relatime shared:1 - vfat /dev/mmcblk0p1 rw\n"
            f"26 1 179:2 / / {mode},noatime shared:2 - "
            f"ext4 /dev/root {super_block},errors=remount-ro\n"
            "27 1 0:22 / /run rw,nosuid - tmpfs tmpfs rw,size=803480k\nbroken line\n",
        )


@pytest.fixture
def pi(tmp_path: Path) -> FakePi:
    """A Raspberry Pi 5 on which everything is well."""
    made = FakePi(tmp_path / "root")
    made.write("proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0")
    made.write(
        "proc/meminfo", "MemTotal:        8245316 kB\nMemFree: 1 kB\nMemAvailable:    7000123 kB\n"
    )
    made.write("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n")
    made.write("sys/class/thermal/thermal_zone0/temp", "48312\n")
    made.mount("rw")
    return made


def grades_of(*findings: Finding) -> list[tuple[str, Grade]]:
    return [(finding.topic, finding.grade) for finding in findings]


# ---- board, temperature, voltage -----------------------------------------------------------------


def test_board_and_memory_are_reported(pi: FakePi) -> None:
    assert probes.read_memory(pi.machine) == MachineMemory(8245, 7000)
    assert machine_checks.check_memory(pi.machine) == Finding(
        "machine",
        Grade.OK,
        "Raspberry Pi 5 Model B Rev 1.0, 7000 of 8245 MB of memory are free.",
    )

    # 60 MB are too little.
    pi.write("proc/meminfo", "MemTotal: 8245316 kB\nMemAvailable: 60000 kB\n")
    assert machine_checks.check_memory(pi.machine).grade is Grade.WARN

    # If the memory is not known, there is still the model.
    pi.write("proc/meminfo", "nonsense")
    assert machine_checks.check_memory(pi.machine).text == "Raspberry Pi 5 Model B Rev 1.0."


@pytest.mark.parametrize(
    ("degrees", "grade"),
    [(-5.0, Grade.OK), (74.9, Grade.OK), (75.0, Grade.NOTE), (80.0, Grade.WARN)],
)
def test_a_high_temperature_is_graded(pi: FakePi, degrees: float, grade: Grade) -> None:
    pi.write("sys/class/thermal/thermal_zone0/temp", f"{degrees * 1000:.0f}\n")
    (finding,) = machine_checks.check_temperature(pi.machine)
    assert finding.grade is grade
    assert f"{degrees:.0f} °C" in finding.text


# Flags of the firmware, with the grades of the findings and the beginning of the first sentence.
#
# Bits 0 to 3 stand for the present: too low a voltage, a capped frequency, throttling, and the soft
# limit of the temperature. Bits 16 to 19 (the first digit of five) say the same of the time since
# the start.
THROTTLED = [
    (0x0, [Grade.OK], "The voltage is fine"),
    (0x1, [Grade.WARN], "The voltage is too low now"),
    (0x10000, [Grade.WARN], "The voltage has been too low since"),
    (0x50000, [Grade.WARN, Grade.NOTE], "The voltage has been too low since"),
    (0x50005, [Grade.WARN, Grade.WARN], "The voltage is too low now"),
    (0x80008, [Grade.WARN], "Heat or low voltage is slowing the processor down"),
    (0x20000, [Grade.NOTE], "The processor has been slowed down at times"),
    (0xE0000, [Grade.NOTE], "The processor has been slowed down at times"),
]


# Names of the device in older and in newer kernels.
@pytest.mark.parametrize("soc", ["soc", "soc@107c000000"])
@pytest.mark.parametrize(("flags", "grades", "words"), THROTTLED)
def test_flags_of_the_firmware_are_graded(
    pi: FakePi, soc: str, flags: int, grades: list[Grade], words: str
) -> None:
    pi.write(f"sys/devices/platform/{soc}/{soc}:firmware/get_throttled", f"{flags:x}\n")
    findings = list(machine_checks.check_power(pi.machine))
    assert [finding.grade for finding in findings] == grades
    assert findings[0].text.startswith(words)


# ---- the disk ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "super_block"), [("ro", "rw"), ("rw", "ro")])
def test_a_read_only_file_system_is_a_failure(
    pi: FakePi, tmp_path: Path, mode: str, super_block: str
) -> None:
    pi.mount(mode, super_block)
    finding = machine_checks.check_disk(pi.machine, tmp_path / "state")
    assert finding.grade is Grade.FAIL
    assert "read-only" in finding.text


@pytest.mark.parametrize(
    ("free_mb", "grade", "words"),
    [
        (199, Grade.FAIL, "Only 199 MB are free for "),
        (499, Grade.WARN, "Make room soon."),
        (500, Grade.OK, "500 MB are free"),
        (None, Grade.NOTE, "It is not known how much space is free for "),
    ],
)
def test_free_space_is_graded(
    pi: FakePi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free_mb: int | None,
    grade: Grade,
    words: str,
) -> None:
    measured_paths: list[Path] = []

    def disk_usage(path: Path) -> Usage:
        measured_paths.append(path)
        if free_mb is None:
            raise OSError(path)
        return Usage(0, 0, free_mb * 1_000_000)

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    finding = machine_checks.check_disk(pi.machine, tmp_path / "state" / "deep")
    assert (finding.grade, words in finding.text) == (grade, True)
    # Neither `state` nor `deep` exists yet.
    assert measured_paths == [tmp_path], "the nearest folder that exists must be measured"


# Lines of /proc/self/mountinfo: a read-only card, and an overlay over it. What is written goes to
# the overlay's upper folder, `/media/rw/upper`.
ROOT = "26 1 179:2 / / ro,noatime shared:2 - ext4 /dev/root ro\n"
OVERLAY = (
    "30 1 0:30 / / rw,relatime - overlay overlay "
    "rw,lowerdir=/media/ro,upperdir=/media/rw/upper,workdir=/media/rw/w\n"
)


@pytest.mark.parametrize(
    ("mounts", "marker_files", "is_lost"),
    [
        (ROOT, (), False),
        # The folder of the games is in memory.
        (ROOT + "27 1 0:22 / /var rw,nosuid - tmpfs tmpfs rw,size=80k\n", (), True),
        # The upper folder of the overlay is in memory, or on a USB stick.
        (ROOT + OVERLAY + "28 1 0:40 / /media/rw rw - tmpfs overlayroot rw\n", (), True),
        (ROOT + OVERLAY + "28 1 8:1 / /media/rw rw - ext4 /dev/sda1 rw\n", (), False),
        # The upper folder is not visible: the overlay of `raspi-config`, or that of a container.
        (ROOT + OVERLAY, (), True),
        (ROOT + OVERLAY, (".dockerenv",), False),
        # The games are on a USB stick, over the overlay.
        (ROOT + OVERLAY + "28 1 8:1 / /var/lib rw - ext4 /dev/sda1 rw\n", (), False),
        # Nothing is known.
        ("", (), False),
    ],
)
def test_games_kept_only_in_memory_are_warned_of(
    pi: FakePi, mounts: str, marker_files: tuple[str, ...], is_lost: bool
) -> None:
    pi.write("proc/self/mountinfo", mounts)
    for name in marker_files:
        pi.write(name, "")
    sentence = machine_checks.memory_only_warning(pi.machine, Path("/var/lib/tabletop-companion"))
    assert ("they are lost when the power goes off" in sentence) is is_lost


# ---- the clock and versions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timesync_file", "grade", "words"),
    [
        # systemd has set the clock by the network, has not set it yet, or is not used for that.
        ("timesync/synchronized", Grade.OK, "It was set by the network."),
        ("timesync/clock", Grade.NOTE, "No network has set the clock"),
        ("other", Grade.OK, "It is "),
    ],
)
def test_an_unset_clock_is_noted(pi: FakePi, timesync_file: str, grade: Grade, words: str) -> None:
    pi.write(f"run/systemd/{timesync_file}", "")
    finding = machine_checks.check_clock(pi.machine)
    assert (finding.grade, words in finding.text) == (grade, True)


def test_a_machine_without_any_files_is_checked(tmp_path: Path) -> None:
    """A check whose files are missing has no finding or says less, but does not fail."""
    bare = FakePi(tmp_path / "nothing")
    findings = [
        *machine_checks.run_all_checks(bare.machine, tmp_path / "state"),
        *network_checks.check_wifi(bare.machine),
        network_checks.check_local_name(bare.machine),
    ]
    assert {finding.topic for finding in findings} == {
        "machine",
        "disk",
        "clock",
        "versions",
        "network",
    }


# ---- the network and the service -----------------------------------------------------------------


def test_a_blocked_wifi_is_noted(pi: FakePi) -> None:
    for kind, soft, is_noted in (("wlan", 1, True), ("wlan", 0, False), ("bluetooth", 1, False)):
        pi.write("sys/class/rfkill/rfkill0/type", f"{kind}\n")
        pi.write("sys/class/rfkill/rfkill0/soft", f"{soft}\n")
        grades = grades_of(*network_checks.check_wifi(pi.machine))
        assert grades == [("wifi", Grade.NOTE)] * is_noted


def test_addresses_for_phones_are_listed() -> None:
    assert network_checks.check_addresses(["127.0.0.1"]).grade is Grade.NOTE
    assert network_checks.check_addresses(["192.0.2.7:8080", "table.local:8080"]).text == (
        "Phones reach the table at 192.0.2.7:8080, table.local:8080."
    )


def test_the_local_name_needs_avahi(pi: FakePi) -> None:
    assert network_checks.check_local_name(pi.machine).grade is Grade.NOTE
    pi.write("run/avahi-daemon/pid", "400\n")
    name = socket.gethostname().partition(".")[0]
    assert network_checks.check_local_name(pi.machine) == Finding(
        "network", Grade.OK, f"Its name on the network is {name}.local."
    )
