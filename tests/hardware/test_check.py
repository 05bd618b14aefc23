"""Test the check of the panel, first by values on mock pins, then on the owner's health page.

While a check runs, keys have no effect on the table. The check ends by itself unless the page
renews it, and then the lamps show the table again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from panel_tools import PanelRig
from setup_tools import ServiceRig, open_service_rig

from companion.core.config import PanelSettings
from companion.core.kit import SEATS, Seat
from companion.core.ports import SeatLamps, TurnLamp
from hardware.check import LEASE_S, PanelChecker
from web.rendering.wiring import HEADER_PIN_BY_GPIO, panel_wiring

# What the table shows at South: `south_1` and `south_turn` are lit.
TABLE_LAMPS = SeatLamps(frozenset({1}), TurnLamp.ON)


@pytest.fixture
def rig() -> Iterator[PanelRig]:
    opened = PanelRig()
    yield opened
    opened.panel.close()


def begin_check(rig: PanelRig) -> PanelChecker:
    """Begin a check of a panel on which the table has lit two lamps."""
    rig.show(TABLE_LAMPS)
    assert rig.lit() == {"south_1", "south_turn"}
    checker = PanelChecker(rig.panel, rig.clock)
    checker.begin()
    rig.panel.step()
    return checker


def test_checked_keys_are_seen_without_effect(rig: PanelRig) -> None:
    # During a check the page sees that a key is down, and later that it was tried. Although the key
    # is held for 1.5 s, the table gets neither the press nor the hold.
    checker = begin_check(rig)
    rig.hands.press("south_up")
    rig.after(2)
    assert (checker.state().down, checker.state().tried) == ({"south_up"}, {"south_up"})
    rig.after(1500)
    rig.hands.release("south_up")
    rig.after(100)
    assert (checker.state().down, checker.state().tried) == (set(), {"south_up"})
    assert rig.presses == []

    # After the check the same key reaches the table.
    checker.end()
    rig.hands.press("south_up")
    rig.after(100)
    assert [press.key for press in rig.presses] == ["up"]


def test_a_check_ends_when_nobody_renews_it(rig: PanelRig) -> None:
    # Renewed in time, the check goes on.
    checker = begin_check(rig)
    rig.after(1000 * (LEASE_S - 1))
    checker.renew()
    rig.after(1000 * (LEASE_S - 1))
    assert checker.state().on

    # Without another renewal it ends, and the lamps show the table.
    rig.after(1001)
    assert not checker.state().on
    assert rig.lit() == {"south_1", "south_turn"}

    # A page that comes too late does not begin it again.
    checker.renew()
    assert not checker.state().on, "a check that has ended must stay ended"


# ---- the page ------------------------------------------------------------------------------------


@pytest.fixture
def service_rig(tmp_path: Path) -> Iterator[ServiceRig]:
    with open_service_rig(tmp_path) as opened:
        yield opened


def test_the_owner_tries_keys_lamps_and_tones(service_rig: ServiceRig) -> None:
    # Nobody but the owner may do so.
    assert service_rig.browser().get("/host/health").status_code == 403
    for action in ("begin", "end", "light", "play"):
        assert service_rig.browser().post(f"/api/check/{action}", json={}).status_code == 403
    assert service_rig.browser().get("/live/check").status_code == 403

    # The page has a field for each key and lamp.
    page = service_rig.host.get("/host/health").get_data(as_text=True)
    assert 'data-key="south_up"' in page
    assert 'data-lamp="north_turn"' in page

    # The owner tries a key, which would take a free seat without the check, and a lamp.
    assert service_rig.post("/api/check/begin")[1]["on"] is True
    service_rig.tap_key("south_up")
    status, state = service_rig.post("/api/check/light", lamp="south_2", on=True)
    assert (status, state["lit"], state["tried"]) == (200, ["south_2"], ["south_up"])
    assert service_rig.lit() == {"south_2"}
    assert service_rig.table.view().seats[Seat.SOUTH].name is None, (
        "a key must not take a seat during a check"
    )

    # A tone can be heard. A lamp that does not exist is refused.
    service_rig.post("/api/check/play", cue="won")
    service_rig.panel.step()
    assert service_rig.hands.view().tone_hz
    assert service_rig.post("/api/check/light", lamp="nothing", on=True)[0] == 400

    # After the check the key takes the seat.
    assert service_rig.post("/api/check/end")[0] == 200
    service_rig.tap_key("south_up")
    assert service_rig.table.view().seats[Seat.SOUTH].name is not None


def test_no_check_runs_during_a_game(service_rig: ServiceRig) -> None:
    """Keys that are pressed during a game are secret, also from the owner of the table."""
    # A check that runs ends with the beginning of a game, and cannot be begun again.
    for seat in SEATS:
        service_rig.sit(seat, seat)
    service_rig.post("/api/check/begin")
    service_rig.table.new_game("outbuffered", {}, 1)
    assert not service_rig.check.state().on
    status, refusal = service_rig.post("/api/check/begin")
    assert status == 409
    assert "A game is on" in json.dumps(refusal)

    # South's key is an order of the game, and the state of the check does not show it.
    service_rig.table.confirm("host", service_rig.table.view().moment, 0)
    service_rig.tap_key("south_up")
    assert service_rig.table.view().seats[Seat.SOUTH].entered_count == 1
    assert service_rig.check.state().down == service_rig.check.state().tried == frozenset()
    assert "A game is on" in service_rig.host.get("/host/health").get_data(as_text=True)


def test_the_health_page_works_without_a_panel(tmp_path: Path) -> None:
    with open_service_rig(tmp_path, with_panel=False) as service_rig:
        page = service_rig.host.get("/host/health").get_data(as_text=True)
        assert "No pins here." in page
        assert '<table class="wires">' in page
        assert service_rig.post("/api/check/begin")[0] == 409


# ---- the wiring ----------------------------------------------------------------------------------


def test_gpio_numbers_match_the_header() -> None:
    # The 40-pin header of a Raspberry Pi has GPIO 0 to 27. Three of them are compared.
    assert sorted(HEADER_PIN_BY_GPIO) == list(range(28))
    assert (HEADER_PIN_BY_GPIO[2], HEADER_PIN_BY_GPIO[18], HEADER_PIN_BY_GPIO[21]) == (3, 12, 40)


def test_a_wire_names_its_pin_and_part() -> None:
    wired = {wire.name: wire for wire in panel_wiring(PanelSettings())}
    # Two pads with eight keys and four lamps each, table button, buzzer and system lamp.
    assert len(wired) == 27
    assert (wired["south_up"].pin, wired["south_up"].other_end) == (29, "ground, pin 9")
    assert wired["north_turn"].other_end == "3V3, pin 1"
    assert wired["south_1"].component == "330 ohms, then the lamp"


def test_the_page_lists_each_wire_once(service_rig: ServiceRig) -> None:
    names = {wire.name for wire in panel_wiring(PanelSettings())}
    assert {*service_rig.panel.buttons, *service_rig.panel.lamps, "buzzer", "system_lamp"} == names
    page = service_rig.host.get("/host/health").get_data(as_text=True)
    assert sorted(re.findall(r'data-wire="(\w+)"', page)) == sorted(names)
