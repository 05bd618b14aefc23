"""Test of what the table screen shows at the end of a game, through Flask's client."""

from __future__ import annotations

import re

import pytest
from history_tools import play
from web_fixtures import WebRig

from companion.core.kit import Seat
from companion.games import GAMES


@pytest.mark.parametrize("game", GAMES)
def test_the_end_names_the_winner(game: str, rig: WebRig) -> None:
    # after twelve turns South resigns, unless the game is over before
    rig.sit("south", "Ann")
    rig.sit("north", "Ben")
    play(rig.table, rig.clock, game, turns=12)

    # the screen names the winner, finds no wrong receipt, and offers another game
    page = rig.browser().get("/").text
    outcome = rig.table.view().match.outcome
    assert outcome
    names = {Seat.SOUTH: "Ann wins", Seat.NORTH: "Ben wins"}
    headline = "".join(names[seat] for seat in outcome.winners) or "A draw"
    assert re.search(rf'<h1 class="result[^>]*>{headline}</h1>', page)
    assert 'class="refused"' not in page, "no receipt must be wrong"
    assert re.search(r'id="again" type="button" data-post="/api/table/rematch"', page)
