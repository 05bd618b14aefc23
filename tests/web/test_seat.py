"""Tests of the markup of seats' pages and of the table screen, through Flask's client.

They cover the shutter over secrets, the codes of free seats, the link back to the seat, and names.
"""

from __future__ import annotations

import re

import pytest
from table_tools import follow_instructions
from web_fixtures import WebRig, page_text

from companion.core.kit import Seat


def begin(rig: WebRig, game: str) -> None:
    """End the current game, begin another one and confirm that its board is set up."""
    if rig.table.view().phase in ("orders", "stages"):
        rig.table.resign(Seat.SOUTH)
    rig.table.new_game(game, {}, 1)
    follow_instructions(rig.table)


def test_a_fragment_names_the_page_it_fits(rig: WebRig) -> None:
    """A page and its fragment have the same name as long as they fit together.

    A script compares the names, and loads the page again if they differ. They differ after an
    update of the service, or when the language has changed.
    """
    browser = rig.browser()
    for language in ("en", "fr"):
        browser.set_cookie("language", language)
        page_name, fragment_name = re.findall(r' data-page="([^"]+)"', page_text(browser, "/watch"))
        assert page_name == fragment_name
        assert page_name.endswith(f"/{language}")


def test_the_shutter_covers_what_a_seat_enters(rig: WebRig) -> None:
    """The page of a seat has a shutter that covers every element with `data-secret`."""
    phone = rig.sit("south")
    for game, secret_element in (
        ("outbuffered", '<div class="buffer" data-secret><ol class="slots '),
        ("kahmate", '<div class="view" data-secret>'),
        ("arena", 'class="order-sheet" data-secret'),
    ):
        begin(rig, game)
        assert secret_element in page_text(phone, "/seat/south"), game
    rig.table.resign(Seat.SOUTH)
    rig.start_card_game("full")
    assert '<div class="grip" data-secret><div class="held" id="hand"' in page_text(
        phone, "/seat/south"
    )


def codes_beside_game(rig: WebRig) -> list[str]:
    """Return the letters of the seats whose codes are beside the game on the table screen."""
    aside = re.findall(r'<aside class="codes".*?</aside>', page_text(rig.browser(), "/"))
    shown = re.findall(r">[^<]*/([sn])</span>", "".join(aside))
    assert re.findall(r'<a class="code" href="/([sn])"', "".join(aside)) == shown, (
        "each code must be a link, too"
    )
    return shown


def test_the_screen_shows_codes_of_free_seats(rig: WebRig) -> None:
    """A code is a QR code, which leads a phone to the seat. In the lobby it has another place."""
    assert codes_beside_game(rig) == [], "the lobby must not show the codes twice"

    # a game begins, and people sit down one after the other
    rig.start_game()
    assert codes_beside_game(rig) == ["s", "n"]
    rig.sit("north", "Ben")
    assert codes_beside_game(rig) == ["s"]
    assert 'class="page orders free1 ' in page_text(rig.browser(), "/")
    rig.sit("south")
    assert codes_beside_game(rig) == []

    # the game is over: both may play again, but once South has left, somebody else may
    rig.table.resign(Seat.NORTH)
    assert 'data-post="/api/table/rematch"' in page_text(rig.browser(), "/")
    rig.table.free_seat(Seat.SOUTH)
    html = page_text(rig.browser(), "/")
    assert "Scan here to play against Ben" in html
    assert "rematch" not in html


def test_every_page_leads_back_to_the_seat(rig: WebRig) -> None:
    ada = rig.sit("south", "Ada")
    link = '<a href="/seat/south">Back to your seat</a>'
    for path in ("/rules/", "/rules/arena", "/history", "/kit"):
        assert link in page_text(ada, path), path
    assert link not in page_text(rig.browser(), "/rules/")


@pytest.mark.parametrize(("north", "shown"), [("Ben", ("Ann", "Ben")), ("Ann", ("White", "Black"))])
def test_people_are_called_by_their_names(rig: WebRig, north: str, shown: tuple[str, str]) -> None:
    """Sign, clocks and log call people by their names, or by their sides if both have one name."""
    rig.sit("south", "Ann")
    rig.sit("north", north)
    begin(rig, "scouts")
    # South places a scout on a1
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "@a1")
    rig.table.confirm("host", rig.table.view().moment, 0)
    html = page_text(rig.browser(), "/")
    assert f"{shown[1]}: place a scout" in html
    assert f"{shown[0]} places a scout on a1." in html
    for name in shown:
        assert f"<span>{name}</span>" in html
