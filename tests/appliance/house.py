"""One machine through its tests: booted, put to sleep beside a copy of its disk, woken as often as wanted."""

from __future__ import annotations

import shutil
import time
from http.cookiejar import Cookie
from pathlib import Path
from random import Random
from typing import Self

from appliance.build import Disk
from appliance.evening import Evening
from appliance.machine import BOOT_S, Machine, MachineError, copy_image, until
from appliance.play import host_key, wait_for_pages


def boot(
    disk: Disk,
    folder: Path,
    image: Path | None = None,
    network: bool = True,
    panics: int = 1,
    stick: Path | None = None,
) -> tuple[Machine, float]:
    """A machine that has come up until its agent answers; and from switching on to the first page, in seconds.

    Where other programs share the cores the emulated kernel now and then ends in a panic before it has any disk: so
    often it is switched on once more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    image = image or copy_image(disk.image, folder / "disk.img")
    machine = Machine(disk, image, folder, network, stick=stick)
    try:
        machine.ask("read", "/proc/uptime", timeout_s=BOOT_S)
        wait_for_pages(machine, BOOT_S)
    except BaseException as error:
        machine.close()
        if (
            not isinstance(error, MachineError)
            or not panics
            or "Kernel panic" not in machine.console(60)
        ):
            raise
        return boot(disk, folder, image, network, panics - 1, stick)
    return machine, time.monotonic() - machine.began_s


class House:
    """The booted machine, and what is needed to wake others like it.

    The first thing it does is to sit two phones down and to keep memory and disk of that moment: a cut needs no boot.
    """

    def __init__(self, disk: Disk, folder: Path) -> None:
        self.disk, self.folder = disk, folder
        self.machine, self.ready_s = boot(disk, folder / "first")
        self._asleep, self.image = folder / "asleep", folder / "asleep.img"
        self._evening: Evening | None = None
        self._cookies: dict[str, list[Cookie]] = {}
        self._woken = 0

    def host_key(self) -> str:
        """As the machine's owner asks for it."""
        return host_key(self.machine)

    def fall_asleep(self) -> None:
        """Keep this moment, with two phones at the table, and go on from it."""
        key = self.host_key()
        self._evening = Evening(self.machine.url, key, Random(0))
        self._evening.sit_down()
        self._cookies = {seat: list(phone.jar) for seat, phone in self._evening.phones.items()}
        self.machine.run("sync")
        self.machine.sleep(self._asleep)
        copy_image(self.machine.image, self.image)
        self.machine = Machine(
            self.disk, self.machine.image, self.folder / "again", asleep=self._asleep
        )

    def stand_up(self) -> None:
        """The phones leave the table to whoever plays by the pads."""
        assert self._evening is not None
        self._evening.move(self.machine.url)
        self._evening.stand_up()

    def wake(self, log: Path | None = None) -> tuple[Machine, Evening]:
        """Another machine from the moment that was kept, and its people, to whom nothing was promised yet."""
        if self._evening is None:
            self.fall_asleep()
        assert self._evening is not None
        self._woken += 1
        folder = self.folder / f"woken-{self._woken}"
        folder.mkdir()
        image = copy_image(self.image, folder / "disk.img")
        machine = Machine(self.disk, image, folder, asleep=self._asleep, log=log)
        evening = Evening(machine.url, self._evening.key, Random(self._woken))
        for seat, phone in evening.phones.items():
            for cookie in self._cookies[seat]:
                phone.jar.set_cookie(cookie)
        return machine, evening

    def clear(self, machine: Machine) -> None:
        """Throw a woken machine's disk away."""
        machine.close()
        shutil.rmtree(machine.image.parent, ignore_errors=True)

    def page_comes(self, evening: Evening, timeout_s: float) -> float:
        """Seconds from now until a phone gets its page again."""
        began_s = time.monotonic()

        def look() -> bool:
            try:
                return bool(evening.view())
            except OSError:
                return False

        until("a phone's page", look, timeout_s)
        return time.monotonic() - began_s

    def close(self) -> None:
        self.machine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
