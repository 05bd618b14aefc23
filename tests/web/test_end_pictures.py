"""What pages say of a game's end: who has won and how, and the score."""

from __future__ import annotations

import re

import pytest
from history_tools import play
from web_fixtures import Place

from companion.core.kit import Seat
from companion.games import GAMES


@pytest.mark.parametrize("game", GAMES)
def test_the_end_names_the_winner(game: str, place: Place) -> None:
    place.sit("south", "Ann")
    place.sit("north", "Ben")
    play(place.table, place.clock, game, 12)
    page = place.browser().get("/").text
    outcome = place.table.view().match.outcome
    assert outcome
    names = {Seat.SOUTH: "Ann wins", Seat.NORTH: "Ben wins"}
    head = "".join(names[seat] for seat in outcome.winners) or "A draw"
    assert re.search(rf'<h1 class="result[^>]*>{head}</h1>', page)
    assert 'class="refused"' not in page, "receipts that fit are not told"
    assert re.search(r'id="again" type="button" data-post="/api/table/rematch"', page)
