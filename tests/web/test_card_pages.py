"""Tests of the pages in BINMAT, a game of cards, through Flask's client and on values.

With real cards (`referee`), `.` ends a turn and `c3` declares combat in lane 3. The cards of a
combat are written as attacker, slash, defender: `5& 3% / a^`. A card is its value and its suit. `X`
is a card that the camera sees face down.
"""

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

# ---- pages ---------------------------------------------------------------------------------------


def test_the_whole_table_screen_is_one_key(rig: WebRig) -> None:
    """A touch presses the clock. While the clock is paused, the sign is the key that resumes it."""
    moment = rig.start_card_game()
    page = page_text(rig.browser(), "/")
    key = re.search(r'<button class="whole"[^>]*data-post="/api/table/act"[^>]*>', page)
    assert key
    (body,) = re.findall(r"data-body='([^']*)'", key[0])
    assert json.loads(body) == {"moment": moment, "action": "."}
    # 110 turns are left, and the defender at the left is on turn
    assert ">110</text>" in page
    assert '<section class="half left side-ice on">' in page
    rig.table.pause("host")
    page = page_text(rig.browser(), "/")
    assert re.search(r'<button class="sign is-key[^>]*/api/table/resume', page)
    assert 'class="whole"' not in page


def test_second_marks_are_shares_of_the_time() -> None:
    """There is a mark for each second that begins. A long time has twelve parts instead."""
    assert cards.second_marks(0.25) == (0.0,)
    assert cards.second_marks(2.5) == (0.0, 0.4, 0.8)
    assert len(cards.second_marks(60)) == 12


def test_stacks_show_last_cards_and_a_count() -> None:
    """Eight cards of a stack fit. Of more, the last seven are shown and the others counted."""
    # spectators do not know the first card, so for the viewer it is a secret
    shown, _ = cards.visible_cards(None, ("5&", "3%"), (None, "3%"))
    assert shown == [("5&", True), ("3%", False)]
    # eight cards, then eleven cards, none of which spectators know
    shown, hidden_count = cards.visible_cards(None, tuple("abcdefgh"), (None,) * 8)
    assert (len(shown), hidden_count) == (8, 0)
    shown, hidden_count = cards.visible_cards(None, tuple("abcdefghijk"), (None,) * 11)
    assert ("".join(text for text, _ in shown), hidden_count) == ("efghijk", 4)


def test_the_referee_shows_the_cards_it_reads(rig: WebRig) -> None:
    """In a combat in lane 3, the camera first sees one of the attacker's two cards face down.

    Once it can read all cards, the table screen offers to resolve the combat with them.
    """
    south = rig.sit("south")
    north = rig.sit("north")
    moment = rig.start_card_game()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c3"})
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))

    def read_fans(*attackers: str) -> None:
        # in lane 3, rank 1 is the zone of the attacker (North) and rank 0 that of the defender
        fans = {Square(3, 1): attackers, Square(3, 0): ("a^",)}
        rig.table.handle_reading(Reading({}, quiet=True, game="binmat", fans=fans))
        rig.table.step()

    # The screen shows what is read, and South's page takes it over. North has nothing to enter.
    read_fans("5&", "X")
    screen = page_text(rig.browser(), "/")
    phone = page_text(south, "/seat/south")
    assert '<span class="cd big up">5&amp;</span><span class="cd big shut"></span>' in screen
    (cards_read,) = re.findall(r"data-read='([^']*)'", phone)
    assert json.loads(cards_read) == {"south": ["a^"], "north": ["5&", "X"]}
    assert 'id="enter"' not in page_text(north, "/seat/north")

    # all cards can be read: they stand for an action, which the table screen confirms
    read_fans("5&", "3%")
    view = view_of(rig)
    assert view["laid"] == "3: 5& 3% / a^"
    assert view["fans"] == {"d1": ["a^"], "d2": ["5&", "3%"]}
    assert "That is right" in page_text(rig.browser(), "/")
    body = {"moment": view["moment"], "action": view["laid"]}
    assert rig.browser().post("/api/table/act", json=body).status_code == 200
    assert rig.table.view().phase is Phase.STAGES


@pytest.mark.parametrize(
    ("action", "card_count", "counted_count"),
    [("5& 3% >+ / 4^ 2#", 5, 3), ("@& 3% / 4^ 2#", 4, 0), ("?& 3% / 4^ 2#", 4, 0)],
)
def test_a_combat_shows_its_cards_on_every_page(
    rig: WebRig, action: str, card_count: int, counted_count: int
) -> None:
    """Every page shows all cards of a combat, marks those that count, and says the sums.

    In the first combat the attacker's 5 and 3 beat the defender's 4 and 2. The others end without
    sums, by a trap (`@`) or a bounce (`?`), so that no card counts.
    """
    south = rig.sit("south")
    rig.start_card_game()
    for next_action in ("c2", action):
        body = {"moment": rig.table.view().moment, "action": next_action}
        south.post("/api/seat/south/hand-in", json=body)
    for path in ("/", "/watch", "/seat/south"):
        page = page_text(south, path)
        assert page.count('<li class="bigcard') == card_count, path
        assert page.count('class="in"') == counted_count, path
        assert ("8 beats 6." in page) == ('class="comes-to"' in page) == bool(counted_count), path
    assert 'data-meanwhile="Lane 2"' in page_text(south, "/"), (
        "the sign must have words for the time in which the cards turn"
    )


def test_a_seat_can_start_every_preset(rig: WebRig) -> None:
    """A preset is a set of options that a game offers. Its number is its index."""
    south = rig.sit("south")
    rig.sit("north")
    south.post("/api/seat/south/choose", json={"game": "binmat"})
    page = page_text(south, "/seat/south")
    for number in range(len(GAMES["binmat"].presets)):
        assert f'{{"game":"binmat","preset":{number}}}' in page
        body = {"game": "binmat", "preset": number}
        assert south.post("/api/seat/south/start", json=body).status_code == 200
        rig.table.abandon()
    refused = south.post("/api/seat/south/start", json={"game": "binmat", "preset": -1})
    assert "has no preset" in error_of(refused)["message"]
