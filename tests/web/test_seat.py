"""What the pages of a seat and the table screen say in their markup: switches, shutters, codes of
free seats, the sign.
"""

from __future__ import annotations

import re

import pytest
from table_tools import follow_instructions
from web_fixtures import WebRig, page_text

from companion.core.kit import Seat


def begin(rig: WebRig, game: str) -> None:
    """End what is on, begin another game and say that its board is set."""
    if rig.table.view().phase in ("orders", "stages"):
        rig.table.resign(Seat.SOUTH)
    rig.table.new_game(game, {}, 1)
    follow_instructions(rig.table)


def test_a_fragment_names_the_page_it_fits(rig: WebRig) -> None:
    """Scripts of an older service, or in another language, notice it by this and load the page
    anew.
    """
    browser = rig.browser()
    for language in ("en", "fr"):
        browser.set_cookie("language", language)
        body, live = re.findall(r' data-page="([^"]+)"', page_text(browser, "/watch"))
        assert body == live
        assert body.endswith(f"/{language}")


def test_the_shutter_covers_all_a_seat_enters(rig: WebRig) -> None:
    phone = rig.sit("south")
    for game, secret in (
        ("outbuffered", '<div class="buffer" data-secret><ol class="slots '),
        ("kahmate", '<div class="view" data-secret>'),
        ("arena", 'class="order-sheet" data-secret'),
    ):
        begin(rig, game)
        assert secret in page_text(phone, "/seat/south"), game
    rig.table.resign(Seat.SOUTH)
    rig.start_card_game("full")
    assert '<div class="grip" data-secret><div class="held" id="hand"' in page_text(
        phone, "/seat/south"
    )


def codes(rig: WebRig) -> list[str]:
    """Return the seats whose codes are on the table screen while a game is on."""
    aside = re.findall(r'<aside class="codes".*?</aside>', page_text(rig.browser(), "/"))
    shown = re.findall(r">[^<]*/([sn])</span>", "".join(aside))
    assert re.findall(r'<a class="code" href="/([sn])"', "".join(aside)) == shown, "or by a click"
    return shown


def test_the_screen_keeps_a_free_seats_code(rig: WebRig) -> None:
    assert codes(rig) == [], "the lobby has its own"
    rig.start_game()
    assert codes(rig) == ["s", "n"]
    rig.sit("north", "Ben")
    assert codes(rig) == ["s"]
    assert 'class="page orders free1 ' in page_text(rig.browser(), "/")
    rig.sit("south")
    assert codes(rig) == []
    rig.table.resign(Seat.NORTH)
    assert 'data-post="/api/table/rematch"' in page_text(rig.browser(), "/")
    rig.table.free_seat(Seat.SOUTH)
    html = page_text(rig.browser(), "/")
    assert "Scan here to play against Ben" in html
    assert "rematch" not in html


def test_every_page_leads_back_to_the_seat(rig: WebRig) -> None:
    ada, there = rig.sit("south", "Ada"), '<a href="/seat/south">Back to your seat</a>'
    for path in ("/rules/", "/rules/arena", "/history", "/kit"):
        assert there in page_text(ada, path), path
    assert there not in page_text(rig.browser(), "/rules/")


@pytest.mark.parametrize(("north", "shown"), [("Ben", ("Ann", "Ben")), ("Ann", ("White", "Black"))])
def test_people_are_called_by_their_names(rig: WebRig, north: str, shown: tuple[str, str]) -> None:
    """On the sign, the clocks and the log; two of one name by the words of their sides."""
    rig.sit("south", "Ann")
    rig.sit("north", north)
    begin(rig, "scouts")
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "@a1")
    rig.table.confirm("host", rig.table.view().moment, 0)
    html = page_text(rig.browser(), "/")
    assert f"{shown[1]}: place a scout" in html
    assert f"{shown[0]} places a scout on a1." in html
    for name in shown:
        assert f"<span>{name}</span>" in html
