"""Test a ready card in an emulated Raspberry Pi 3B: it boots, is played on, and its plug is pulled.

The machine has the kernel's drivers for the board's pins, card slot and network.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from appliance import build, cuts, pi
from appliance.evening import Evening
from appliance.machine import copy_image, until
from appliance.play import host_key

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(7200)]
# For each start, how long people play after their first accepted input until the plug is pulled, in
# seconds. None if it is pulled while the service starts.
PLAY_TIMES_S = (20.0, 6.0, None, 12.0, 2.0)
PAGE_TIMEOUT_S = 900.0
# The text file on the card with its owner's settings. Windows ends its lines in \r\n.
CARD_SETTINGS = "country = de\r\nname = club\r\n"


@pytest.fixture(scope="module")
def card(deb: Callable[[str], Path], figures: list[str]) -> build.Disk:
    """A card with the package of the working tree."""
    try:
        pi.require_tools()
        card = pi.card(deb("arm64"))
    except build.CannotBuild as reason:
        pytest.skip(f"no emulated Raspberry Pi: {reason}")
    figures.append(
        f"card of the emulated Raspberry Pi: {card.build_s:.0f} s, "
        f"{card.image.stat().st_blocks * 512 / 1e6:.0f} MB"
    )
    return card


def fetch_page(machine: pi.Pi, path: str) -> str:
    """Wait for a page over the machine's network, and return it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def fetch() -> str:
        machine.require_running()
        try:
            with opener.open(machine.url + path, timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    return until(f"the page {path}", fetch, PAGE_TIMEOUT_S, 2.0)


def test_a_card_boots_and_survives_pulled_plugs(
    card: build.Disk, tmp_path: Path, figures: list[str]
) -> None:
    """Start the card, and pull the plug after each start. Then start it once more."""
    image = copy_image(card.image, tmp_path / "card.img")
    (tmp_path / "settings").write_text(CARD_SETTINGS)
    copied = (str(tmp_path / "settings"), "::tabletop-companion.txt")
    build.run("mcopy", "-o", "-i", f"{image}@@{pi.BOOT_AT}", *copied)
    evening: Evening | None = None
    for number, play_s in enumerate((*PLAY_TIMES_S, 0.0)):
        with pi.switch_on(card, image, tmp_path / f"boot-{number}") as machine:
            if play_s is None:
                machine.pull_the_plug()
            else:
                evening = join_table(machine, evening, figures)
                if number == len(PLAY_TIMES_S):
                    return
                evening.play(play_s)
                machine.pull_the_plug()

        # check a copy of the root partition
        assert evening is not None
        cut, skip = tmp_path / "cut.img", f"skip={pi.ROOT_AT // pi.MIB}"
        build.run("dd", f"if={image}", f"of={cut}", "bs=1M", skip, "conv=sparse")
        report = cuts.examine(cut, tmp_path / "state", evening.promises)
        figures.append(
            f"  cut {number + 1}: {len(evening.promises.accepted)} inputs accepted, "
            f"{report.records} on the card"
        )
        assert report.is_whole, report


def join_table(machine: pi.Pi, evening: Evening | None, figures: list[str]) -> Evening:
    """Wait for the pages, and check that the phones still have their seats. Return the evening.

    After the first start, when there is no evening yet, check the machine, sit down and begin a
    game.
    """
    page = fetch_page(machine, "/")
    figures.append(
        f"emulated Pi: page after {time.monotonic() - machine.began_at_s:.0f} s (emulated)"
    )
    assert "</html>" in page
    is_first = evening is None
    if evening is None:
        check_card_settings(machine)
        check_board(machine, figures)
        evening = Evening(machine.url, host_key(machine), Random(3))
        evening.sit_down()
    evening.move_to(machine.url)
    assert evening.fetch_view()["seats"]["south"]["name"] == "South", "a seat is lost"
    if is_first:
        evening.begin(has_clock=False)
    return evening


def check_card_settings(machine: pi.Pi) -> None:
    """Check that the machine has the name from the card's text file.

    Also check that it has asked for no user and has made none, as Raspberry Pi OS would.
    """
    assert machine.run("uname", "-n") == "club\n"
    assert "127.0.1.1\tclub" in machine.run("cat", "/etc/hosts")
    assert machine.unit_property("ConditionResult", "userconfig.service") == "no"
    users = [line.split(":") for line in machine.run("getent", "passwd").splitlines()]
    assert not [user[0] for user in users if 1000 <= int(user[2]) < 60000]


def check_board(machine: pi.Pi, figures: list[str]) -> None:
    """Check the board's model, the driver of its pins, and that the service has opened these."""
    report = json.loads(machine.run("companion", "doctor", "--json", check=False, timeout_s=600))
    texts = {finding["topic"]: finding["text"] for finding in report["findings"]}
    figures.append(f"  {texts['machine']}")
    assert "Raspberry Pi 3 Model B" in texts["machine"]
    lines = machine.run("cat", "/sys/bus/gpio/devices/gpiochip0/of_node/compatible").strip("\0\n")
    assert "bcm2835-gpio" in lines
    assert json.loads(fetch_page(machine, "/health"))["pins"] == "ok"
    log = machine.run("journalctl", "-u", "companion", "-o", "cat", "--no-pager")
    assert "Pads: 17 buttons, 8 lamps." in log, log[-3000:]
