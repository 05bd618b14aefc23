"""Games of cards and clocks: what each page shows, and to whom."""

from __future__ import annotations

import json
import re

import pytest
from web_fixtures import Place, error_of, page_of, view_of

from companion.core.grid import Square
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.games.screen import CardChoice, CardUi, ChoiceKey
from companion.table.session import Phase
from web.rendering import cards

PUBLIC = ("/", "/?screen", "/watch", "/api/view")


# ---- what pages show ---------------------------------------------------------------------------------------------------


def test_the_table_screen_is_one_key_while_anybody_may_act(place: Place) -> None:
    moment = place.to_clock()
    page = page_of(place.browser(), "/")
    whole = re.search(r'<button class="whole"[^>]*>', page)
    assert whole
    assert "/api/table/act" in whole[0]
    assert json.loads(re.search(r"data-body='([^']*)'", whole[0])[1]) == {
        "moment": moment,
        "action": ".",
    }  # type: ignore[index] # asserted above
    assert ">110</text>" in page
    assert '<section class="half left side-ice on">' in page
    assert "Combat</button>" in page
    place.table.pause("host")
    page = page_of(place.browser(), "/")
    sign = re.search(r'<button class="sign is-key[^>]*>', page)
    assert sign
    assert "/api/table/resume" in sign[0]
    assert 'class="whole"' not in page
    place.table.abandon()
    place.to_clock("full")
    assert "whole" not in page_of(place.browser(), "/")


def drawn(place: Place) -> dict[str, int]:
    """How many ticks of each kind the table screen draws."""
    page = page_of(place.browser(), "/")
    paths = re.findall(r'<path class="(rest|last|spent|now)"[^>]* d="([^"]*)"', page)
    return {name: path.count("M") for name, path in paths}


def test_ticks_are_as_many_as_turns_and_never_too_many_to_see(place: Place) -> None:
    for turns, ticks in ((110, 110), (40, 40), (998, cards.MAX_TICKS)):
        place.to_clock(turns=turns)
        assert drawn(place) == {"rest": ticks - 1, "spent": 0, "last": 0, "now": 1}
        place.table.abandon()


def test_the_tick_that_was_spent_last_is_another_element_each_turn(place: Place) -> None:
    place.to_clock(turns=40)
    for left in (39, 38, 37):
        place.table.act(place.table.progress().moment, ".")
        assert drawn(place) == {"rest": left - 1, "spent": 39 - left, "last": 1, "now": 1}
        assert f'<path class="last" id="tick-{left}"' in page_of(place.browser(), "/")


def test_seconds_are_cut_into_beats() -> None:
    assert cards.beats_of(5.0) == (0.0, 0.2, 0.4, 0.6, 0.8)
    assert cards.beats_of(0.25) == (0.0,)
    assert cards.beats_of(2.5) == (0.0, 0.4, 0.8)
    assert len(cards.beats_of(60)) == 12


def test_stacks_show_their_last_cards_and_how_many_more() -> None:
    few = cards.stack_of(None, ("5&", None), ("5&", None))
    assert [(one.text, one.own) for one in few.cards] == [("5&", False), ("", False)]
    own = cards.stack_of(None, ("5&", "3%"), (None, "3%"))
    assert [(one.text, one.own) for one in own.cards] == [("5&", True), ("3%", False)]
    many = cards.stack_of(None, tuple("abcdefghijk"), (None,) * 11)
    assert ("".join(one.text for one in many.cards), many.more, many.wide) == ("efghijk", 4, True)


def test_whoever_sits_has_the_own_stack_below_on_the_phone(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    place.to_clock("full")
    for key in ("draw", "down"):
        place.table.hand_in(Seat.SOUTH, view_of(place)["moment"], "--")
        choices = place.table.view(Seat.NORTH).board.tableau.choices  # type: ignore[union-attr] # it has lanes
        done = next(choice for choice in choices if choice.key == key)
        place.table.hand_in(Seat.NORTH, view_of(place)["moment"], done.text)
    for client, seat, is_below in ((north, "north", True), (south, "south", False)):
        lane = (
            page_of(client, f"/seat/{seat}")
            .split(f'data-lane="{done.lane}"')[1]
            .split("</button>")[0]
        )
        card = "cd own" if is_below else "cd shut"
        assert (lane.index(card) > lane.index('class="dk')) is is_below


def test_keys_that_need_no_card_carry_their_action() -> None:
    keys = (
        ChoiceKey("done", "Done", is_main=True),
        ChoiceKey("play", "Play"),
        ChoiceKey("pass", "Pass"),
    )
    tableau = CardUi(
        keys=keys, choices=(CardChoice(".", "done"), CardChoice("p5&1", "play", "5&", "1"))
    )
    assert [action for _, action in cards.straight_keys(tableau)] == [".", None, None]
    assert cards.plain_choices(tableau)[1] == ["p5&1", "play", "5&", "1"]


def test_the_referee_asks_for_cards_and_shows_what_it_reads(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    moment = place.to_clock()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c3"})
    place.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
    fans = {Square(3, 1): ("5&", "X"), Square(3, 0): ("a^",)}
    place.table.saw(Reading({}, quiet=True, game="binmat", fans=fans))
    place.table.step()
    wall, phone = page_of(place.browser(), "/"), page_of(south, "/seat/south")
    assert '<span class="cd big up">5&amp;</span><span class="cd big shut"></span>' in wall
    assert '<span class="cd big up">10^</span>' in wall
    read = re.search(r"data-read='([^']*)'", phone)
    assert read
    assert json.loads(read[1]) == {"south": ["a^"], "north": ["5&", "X"]}
    assert 'id="enter"' not in page_of(north, "/seat/north")
    place.table.saw(Reading({}, quiet=True, game="binmat", fans={Square(2, 1): ("5&",)}))
    place.table.step()
    tableau = place.table.view().board.tableau
    assert tableau is not None
    assert tableau.entry is not None
    assert {zone.file for zone in tableau.entry.zones.values()} == {3}, "the lane that was named"
    fans = {Square(3, 1): ("5&", "3%"), Square(3, 0): ("a^",)}
    place.table.saw(Reading({}, quiet=True, game="binmat", fans=fans))
    place.table.step()
    view = view_of(place)
    assert view["laid"] == "3: 5& 3% / a^"
    assert view["fans"] == {"d1": ["a^"], "d2": ["5&", "3%"]}
    assert "That is right" in page_of(place.browser(), "/")
    assert place.table.view().sign.text == "Tap “That is right” on a phone"
    body = {"moment": view["moment"], "action": view["laid"]}
    assert place.browser().post("/api/table/act", json=body).status_code == 200
    assert place.table.view().phase is Phase.STAGES


def test_a_combat_shows_its_cards_on_every_page(place: Place) -> None:
    south = place.sit("south")
    place.to_clock()
    for action in ("c2", "5& 3% >+ / 4^ 2#"):
        south.post(
            "/api/seat/south/hand-in", json={"moment": place.table.view().moment, "action": action}
        )
    for path in ("/", "/watch", "/seat/south"):
        page = page_of(south, path)
        assert page.count('<li class="bigcard') == 5, path
        assert page.count('<li class="bigcard lost"') == 2, path
        assert page.count('class="in"') == 3, path
        assert "8 beats 6." in page, path
        assert path == "/watch" or 'class="chance' not in page, "it would lie on the cards"
    assert 'data-meanwhile="Lane 2"' in page_of(south, "/"), "the sign while the cards turn"
    view = place.table.view()
    south.post("/api/seat/south/read", json={"moment": view.moment, "stage": 0, "told": 0})
    assert place.table.view().sign.text == "Attacker: discard 2# 4^ 5& 3% >+"
    assert page_of(south, "/").count('<li class="bigcard') == 5, (
        "what is read stays while hands are at work"
    )


@pytest.mark.parametrize("cards", ["@& 3% / 4^ 2#", "?& 3% / 4^ 2#"])
def test_a_trap_and_a_bounce_show_their_cards_on_every_page(place: Place, cards: str) -> None:
    south = place.sit("south")
    place.to_clock("referee")
    for action in ("c2", cards):
        south.post(
            "/api/seat/south/hand-in", json={"moment": place.table.view().moment, "action": action}
        )
    for path in ("/", "/watch", "/seat/south"):
        page = page_of(south, path)
        assert page.count('<li class="bigcard') == 4, path
        assert 'class="comes-to"' not in page, path


def test_who_draws_after_a_combat_is_named_on_every_page(place: Place) -> None:
    """The attacker draws, although the defender declared the combat and it is his turn."""
    south = place.sit("south")
    place.to_clock()
    for action in ("c", "5& 3% >+ / 4^ 2#"):
        south.post(
            "/api/seat/south/hand-in", json={"moment": place.table.view().moment, "action": action}
        )
    while (view := place.table.view()).phase is Phase.STAGES:
        place.table.confirm("host", view.moment, view.turn.stage)
    assert view.sign.text.startswith("Attacker: draw")
    assert "Waiting for attacker" in page_of(south, "/seat/south")
    heads = re.findall(r"<h2>.*?<span>(\w+)</span>", page_of(place.browser(), "/"))
    assert heads == ["Defender", "Attacker"]


def test_cards_that_are_tapped_in_belong_to_the_lane_that_is_known(place: Place) -> None:
    """It is known from who called the combat, or from the camera."""
    south = place.sit("south")

    def lane() -> str:
        found = re.search(r'id="enter"[^>]* data-lane="([^"]*)"', page_of(south, "/seat/south"))
        assert found
        return found[1]

    moment = place.to_clock()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c3"})
    assert lane() == "3"
    place.table.abandon()
    moment = place.to_clock()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c"})
    assert lane() == ""
    place.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
    place.table.saw(Reading({}, quiet=True, game="binmat", fans={Square(5, 1): ("5&", "X")}))
    place.table.step()
    assert lane() == "5"
    moment = place.table.view().moment
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "5: 5& 3% / 4^"})
    while (view := place.table.view()).board.target is None:
        place.table.confirm("host", view.moment, view.turn.stage)
    assert place.table.view().board.target == {Square(5, 1): (), Square(5, 0): ()}


def test_a_clock_that_stands_still_looks_so_on_every_page(place: Place) -> None:
    south = place.sit("south")
    for way in ("referee", "full"):
        place.to_clock(way)
        pages = ("/", "/watch", "/seat/south")
        assert not any(
            re.search(r'<main [^>]*class="[^"]*\bstill\b', page_of(south, path)) for path in pages
        )
        place.table.pause("host")
        assert all(
            re.search(r'<main [^>]*class="[^"]*\bstill\b', page_of(south, path)) for path in pages
        )
        place.table.abandon()


def test_the_phone_offers_no_slots_in_a_game_of_cards(place: Place) -> None:
    south = place.sit("south")
    for way in ("referee", "full"):
        place.to_clock(way)
        page = page_of(south, "/seat/south")
        assert "data-length" not in page
        assert 'class="slot' not in page
        assert "lay" in page or "Turn done" in page
        place.table.abandon()


def test_who_waits_has_no_key_that_acts(place: Place) -> None:
    north = place.sit("north")
    place.to_clock()
    page = page_of(north, "/seat/north")
    assert "Waiting for defender" in page
    assert "/api/seat/north/hand-in" not in page
    assert "/api/seat/north/pause" in page


def test_a_seat_begins_a_game_in_each_way_that_it_names(place: Place) -> None:
    south = place.sit("south")
    place.sit("north")
    south.post("/api/seat/south/choose", json={"game": "binmat"})
    page = page_of(south, "/seat/south")
    for number, way in enumerate(preset.options for preset in GAMES["binmat"].presets):
        assert f'{{"game":"binmat","preset":{number}}}' in page
        assert (
            south.post(
                "/api/seat/south/start", json={"game": "binmat", "preset": number}
            ).status_code
            == 200
        )
        assert place.table.view().board.tableau
        assert bool(place.table.view().board.tableau.lanes) is (way.get("way", "full") == "full")  # type: ignore[union-attr] # asserted above
        place.table.abandon()
    for number in (-1, len(GAMES["binmat"].presets)):
        wrong = south.post("/api/seat/south/start", json={"game": "binmat", "preset": number})
        assert (wrong.status_code, "can be started in" in error_of(wrong)["message"]) == (400, True)
    assert (
        south.post("/api/seat/south/start", json={"game": "chess", "preset": 7}).status_code == 400
    )


@pytest.mark.parametrize("game", sorted(GAMES))
def test_the_hosts_rows_can_choose_every_way_to_begin(game: str) -> None:
    rows = {row.name: [value for _, value in row.choices] for row in GAMES[game].option_rows}
    for preset in GAMES[game].presets:
        assert all(value in rows[name] for name, value in preset.options.items())


def test_the_rules_show_suits_and_cards(place: Place) -> None:
    page = page_of(place.browser(), "/rules/binmat")
    assert "<h2>Suits</h2>" in page
    assert page.count('class="cd up"') == 13
    assert 'href="#suit-' in page
    assert "<h2>Pieces</h2>" not in page
    assert "<h2>Pieces</h2>" in page_of(place.browser(), "/rules/outbuffered")


# ---- the end -----------------------------------------------------------------------------------------------------------


def test_the_end_of_a_game_that_was_only_timed_shows_no_bare_number(place: Place) -> None:
    place.to_clock()
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, ".")
    place.table.resign(Seat.SOUTH)
    page = page_of(place.browser(), "/")
    assert '<svg class="hail"' in page
    assert 'class="still' not in page
