"""The host's options can be chosen between games and while the board is set up, and rest while a game is played."""

from __future__ import annotations

import re

from web_fixtures import HOST_KEY, Place, page_of


def fields(place: Place) -> tuple[int, int, bool]:
    """How many options there are, how many of them rest, and whether the page says why."""
    host = place.browser()
    host.post("/host", data={"key": HOST_KEY})
    page = page_of(host, "/host?game=outbuffered")
    is_said = re.search(r'id="fixed"[^>]*>', page)
    assert is_said
    return (
        page.count("<fieldset"),
        len(re.findall(r"<fieldset[^>]* disabled>", page)),
        "hidden" not in is_said[0],
    )


def test_options_rest_while_a_game_is_played(place: Place) -> None:
    number, resting, is_said = fields(place)
    assert number > 2
    assert (resting, is_said) == (0, False)
    place.to_orders()
    assert fields(place) == (number, number, True)
