"""What the pages of a seat and the table screen say in their markup: switches, shutters, codes of
free seats, the sign.
"""

from __future__ import annotations

import re

import pytest
from table_tools import follow_instructions
from web_fixtures import Place, page_text

from companion.core.kit import Seat


def begin(place: Place, game: str) -> None:
    """End what is on, begin another game and say that its board is set."""
    if place.table.view().phase in ("orders", "stages"):
        place.table.resign(Seat.SOUTH)
    place.table.new_game(game, {}, 1)
    follow_instructions(place.table)


def test_a_fragment_names_the_page_it_fits(place: Place) -> None:
    """Scripts of an older service, or in another language, notice it by this and load the page
    anew.
    """
    browser = place.browser()
    for language in ("en", "fr"):
        browser.set_cookie("language", language)
        body, live = re.findall(r' data-page="([^"]+)"', page_text(browser, "/watch"))
        assert body == live
        assert body.endswith(f"/{language}")


def test_the_shutter_covers_all_a_seat_enters(place: Place) -> None:
    phone = place.sit("south")
    for game, secret in (
        ("outbuffered", '<div class="buffer" data-secret><ol class="slots '),
        ("kahmate", '<div class="view" data-secret>'),
        ("arena", 'class="order-sheet" data-secret'),
    ):
        begin(place, game)
        assert secret in page_text(phone, "/seat/south"), game
    place.table.resign(Seat.SOUTH)
    place.to_clock("full")
    assert '<div class="grip" data-secret><div class="held" id="hand"' in page_text(
        phone, "/seat/south"
    )


def codes(place: Place) -> list[str]:
    """Return the seats whose codes are on the table screen while a game is on."""
    aside = re.findall(r'<aside class="codes".*?</aside>', page_text(place.browser(), "/"))
    shown = re.findall(r">[^<]*/([sn])</span>", "".join(aside))
    assert re.findall(r'<a class="code" href="/([sn])"', "".join(aside)) == shown, "or by a click"
    return shown


def test_the_screen_keeps_a_free_seats_code(place: Place) -> None:
    assert codes(place) == [], "the lobby has its own"
    place.to_orders()
    assert codes(place) == ["s", "n"]
    place.sit("north", "Ben")
    assert codes(place) == ["s"]
    assert 'class="page orders free1 ' in page_text(place.browser(), "/")
    place.sit("south")
    assert codes(place) == []
    place.table.resign(Seat.NORTH)
    assert 'data-post="/api/table/rematch"' in page_text(place.browser(), "/")
    place.table.free_seat(Seat.SOUTH)
    html = page_text(place.browser(), "/")
    assert "Scan here to play against Ben" in html
    assert "rematch" not in html


def test_every_page_leads_back_to_the_seat(place: Place) -> None:
    ada, there = place.sit("south", "Ada"), '<a href="/seat/south">Back to your seat</a>'
    for path in ("/rules/", "/rules/arena", "/history", "/kit"):
        assert there in page_text(ada, path), path
    assert there not in page_text(place.browser(), "/rules/")


@pytest.mark.parametrize(("north", "shown"), [("Ben", ("Ann", "Ben")), ("Ann", ("White", "Black"))])
def test_people_are_called_by_their_names(place: Place, north: str, shown: tuple[str, str]) -> None:
    """On the sign, the clocks and the log; two of one name by the words of their sides."""
    place.sit("south", "Ann")
    place.sit("north", north)
    begin(place, "scouts")
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "@a1")
    place.table.confirm("host", place.table.view().moment, 0)
    html = page_text(place.browser(), "/")
    assert f"{shown[1]}: place a scout" in html
    assert f"{shown[0]} places a scout on a1." in html
    for name in shown:
        assert f"<span>{name}</span>" in html
