"""The plug is pulled at random moments: nothing that anybody was promised is lost, doubled or shown."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from appliance import cuts
from appliance.evening import Evening
from appliance.house import House, boot
from appliance.machine import Machine, copy_image

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]
CUTS, SHORT_CUTS = 25, 3
LONGEST_S = 8.0
REBOOTED = (0, 12)
"""After these cuts the machine is switched on again; the other disks are looked at from outside."""
NO_SYNC = "[Service]\nEnvironment=LD_PRELOAD=libeatmydata.so\n"
"""A service whose fsync does nothing: the control, without which a check that finds nothing says nothing."""


def play(evening: Evening, clock: bool, seconds: float) -> None:
    """A game of its kind until the power goes."""
    evening.begin(clock)
    evening.play(seconds)


@pytest.mark.parametrize("number", range(CUTS))
def test_the_plug_is_pulled(house: House, number: int, short: bool, figures: list[str]) -> None:
    if short and number >= SHORT_CUTS:
        pytest.skip("part of the long form")
    rng, is_clock = Random(f"cut {number}"), number % 2 == 1
    machine, evening = house.wake()
    try:
        play(evening, is_clock, rng.uniform(1.0, LONGEST_S))
        machine.pull_the_plug()
        found = cuts.examine(machine.image, machine.image.parent / "state", evening.promises)
        figures.append(
            f"cut {number + 1}: {'clock' if is_clock else 'sealed orders'}, {len(evening.promises.told)} inputs promised, "
            f"{found.inputs} on disk, {'whole' if found.is_whole else found}"
        )
        assert found.is_whole, found
        if number in REBOOTED:
            goes_on(house, machine, evening, is_clock, figures)
    finally:
        house.clear(machine)


def goes_on(
    house: House, cut: Machine, evening: Evening, is_clock: bool, figures: list[str]
) -> None:
    """Switched on again, the phones find their seats, the clock stands, nothing sealed is shown, play goes on."""
    with boot(house.disk, cut.image.parent / "again", cut.image)[0] as machine:
        evening.move(machine.url)
        house.page_comes(evening, 60)
        now = evening.view()
        assert now["game"] == ("binmat" if is_clock else "outbuffered")
        if is_clock:
            assert now["clock"]["paused"] == "restart"
            assert 0 <= now["clock"]["left_s"] <= now["clock"]["limit_s"]
        text = str(now)
        sealed = [
            told for told in evening.promises.told if told.moment == now["moment"] and told.salt
        ]
        assert not any(told.salt in text for told in sealed if now["phase"] == "orders")
        evening.play(5.0)
    figures.append("  … switched on again, it went on")


def test_every_flush_is_a_place_to_stop(
    house: House, tmp_path: Path, short: bool, figures: list[str]
) -> None:
    """A disk that forgets what it was not told to flush: the log of writes, replayed up to random flushes."""
    if short:
        pytest.skip("part of the long form")
    log = tmp_path / "writes"
    log.touch()
    machine, evening = house.wake(log)
    evening.position = lambda: cuts.count(log)
    try:
        before = copy_image(house.image, tmp_path / "before.img")
        play(evening, False, 25.0)
        machine.pull_the_plug()
        flushes = [number for number, write in enumerate(cuts.writes(log), 1) if write.is_flush]
        assert len(flushes) > 20, "there was nothing to replay"
        chosen = sorted(Random(0).sample(flushes, 10))
        done = 0
        for last in chosen:
            cuts.replay(log, before, done, last)
            done = last
            found = cuts.examine(
                copy_image(before, tmp_path / "cut.img"), tmp_path / "state", evening.until(last)
            )
            assert found.is_whole, f"cut after write {last}: {found}"
    finally:
        house.clear(machine)
    figures.append(
        f"log of writes: {len(flushes)} flushes, {len(chosen)} of them replayed, all whole"
    )


def test_without_sync_it_would_lose_inputs(house: House, short: bool, figures: list[str]) -> None:
    if short:
        pytest.skip("part of the long form")
    machine, evening = house.wake()
    try:
        machine.ask("write", "/run/systemd/system/companion.service.d/control.conf", NO_SYNC)
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "restart", "companion", timeout_s=300)
        house.page_comes(evening, 120)
        began_s = time.monotonic()
        play(evening, False, LONGEST_S)
        machine.pull_the_plug()
        found = cuts.examine(machine.image, machine.image.parent / "state", evening.promises)
    finally:
        house.clear(machine)
    figures.append(
        f"control without sync: {len(found.lost)} of {len(evening.promises.told)} promised inputs lost, "
        f"{time.monotonic() - began_s:.0f} s"
    )
    assert found.lost, "the check could not tell: it finds nothing even where nothing is synced"
