"""Games of cards and clocks: what each page shows, and to whom."""

from __future__ import annotations

import json
import re

import pytest
from web_fixtures import WebRig, error_of, page_text, view_of

from companion.core.grid import Square
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.session import Phase
from web.rendering import cards

# ---- what pages show -----------------------------------------------------------------------------


def test_the_table_screen_is_one_key(rig: WebRig) -> None:
    moment = rig.start_card_game()
    page = page_text(rig.browser(), "/")
    whole = re.search(r'<button class="whole"[^>]*data-post="/api/table/act"[^>]*>', page)
    assert whole
    (body,) = re.findall(r"data-body='([^']*)'", whole[0])
    assert json.loads(body) == {"moment": moment, "action": "."}
    assert ">110</text>" in page
    assert '<section class="half left side-ice on">' in page
    rig.table.pause("host")
    page = page_text(rig.browser(), "/")
    assert re.search(r'<button class="sign is-key[^>]*/api/table/resume', page)
    assert 'class="whole"' not in page


def test_seconds_are_cut_into_beats() -> None:
    assert cards.second_marks(0.25) == (0.0,)
    assert cards.second_marks(2.5) == (0.0, 0.4, 0.8)
    assert len(cards.second_marks(60)) == 12


def test_stacks_show_last_cards_and_a_count() -> None:
    known, _ = cards.visible_cards(None, ("5&", "3%"), (None, "3%"))
    assert known == [("5&", True), ("3%", False)]
    full, more = cards.visible_cards(None, tuple("abcdefgh"), (None,) * 8)
    assert (len(full), more) == (8, 0)
    last, more = cards.visible_cards(None, tuple("abcdefghijk"), (None,) * 11)
    assert ("".join(text for text, _ in last), more) == ("efghijk", 4)


def test_the_referee_shows_the_cards_it_reads(rig: WebRig) -> None:
    south, north = rig.sit("south"), rig.sit("north")
    moment = rig.start_card_game()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c3"})
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))

    def lay(*attackers: str) -> None:
        fans = {Square(3, 1): attackers, Square(3, 0): ("a^",)}
        rig.table.handle_reading(Reading({}, quiet=True, game="binmat", fans=fans))
        rig.table.step()

    lay("5&", "X")
    wall, phone = page_text(rig.browser(), "/"), page_text(south, "/seat/south")
    assert '<span class="cd big up">5&amp;</span><span class="cd big shut"></span>' in wall
    (read,) = re.findall(r"data-read='([^']*)'", phone)
    assert json.loads(read) == {"south": ["a^"], "north": ["5&", "X"]}
    assert 'id="enter"' not in page_text(north, "/seat/north")
    lay("5&", "3%")
    view = view_of(rig)
    assert view["laid"] == "3: 5& 3% / a^"
    assert view["fans"] == {"d1": ["a^"], "d2": ["5&", "3%"]}
    assert "That is right" in page_text(rig.browser(), "/")
    body = {"moment": view["moment"], "action": view["laid"]}
    assert rig.browser().post("/api/table/act", json=body).status_code == 200
    assert rig.table.view().phase is Phase.STAGES


@pytest.mark.parametrize(
    ("laid", "shown", "counted"),
    [("5& 3% >+ / 4^ 2#", 5, 3), ("@& 3% / 4^ 2#", 4, 0), ("?& 3% / 4^ 2#", 4, 0)],
)
def test_a_combat_shows_its_cards_on_every_page(
    rig: WebRig, laid: str, shown: int, counted: int
) -> None:
    """A trap and a bounce, too, which come to nothing."""
    south = rig.sit("south")
    rig.start_card_game()
    for action in ("c2", laid):
        body = {"moment": rig.table.view().moment, "action": action}
        south.post("/api/seat/south/hand-in", json=body)
    for path in ("/", "/watch", "/seat/south"):
        page = page_text(south, path)
        assert page.count('<li class="bigcard') == shown, path
        assert page.count('class="in"') == counted, path
        assert ("8 beats 6." in page) == ('class="comes-to"' in page) == bool(counted), path
    assert 'data-meanwhile="Lane 2"' in page_text(south, "/"), "the sign while the cards turn"


def test_a_seat_begins_a_game_each_named_way(rig: WebRig) -> None:
    south = rig.sit("south")
    rig.sit("north")
    south.post("/api/seat/south/choose", json={"game": "binmat"})
    page = page_text(south, "/seat/south")
    for number in range(len(GAMES["binmat"].presets)):
        assert f'{{"game":"binmat","preset":{number}}}' in page
        body = {"game": "binmat", "preset": number}
        assert south.post("/api/seat/south/start", json=body).status_code == 200
        rig.table.abandon()
    wrong = south.post("/api/seat/south/start", json={"game": "binmat", "preset": -1})
    assert "has no preset" in error_of(wrong)["message"]


# ---- the end -------------------------------------------------------------------------------------
