"""What pages say of a game's end: who has won and how, the score, and no story that is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from history_tools import play
from web_fixtures import open_place

from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase


@pytest.mark.parametrize("turns", [3000, 5])
@pytest.mark.parametrize("game", GAMES)
def test_the_end_is_told_without_stories_of_its_own(game: str, turns: int, tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        phone = place.sit("south", "Ann")
        place.sit("north", "Ben")
        play(place.table, place.clock, game, turns)
        page = place.browser().get("/").get_data(as_text=True)
        outcome = place.table.view().match.outcome
        assert outcome
        names = {Seat.SOUTH: "Ann wins", Seat.NORTH: "Ben wins"}
        head = names[next(iter(outcome.winners))] if outcome.winners else "A draw"
        assert re.search(rf'<h1 class="result[^>]*>{head}</h1>', page)
        assert page.count("<img") == 0, "photographs stay in the replay"
        assert 'class="refused"' not in page, "receipts that fit are not told"
        told = phone.get("/seat/south").get_data(as_text=True)
        for joy in ("best moment", "apology", "surprised", "planned it", "bow"):
            assert joy not in page + told
        assert re.search(r'id="again" type="button" data-post="/api/table/rematch"', page)


def test_only_the_winners_robot_smiles_and_only_at_the_end(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        place.sit("south", "Ann"), place.sit("north", "Ben")
        place.table.new_game("outbuffered", {}, 1)
        place.table.confirm("host", place.table.view().moment, 0, force=True)
        smile = GAMES["outbuffered"].sides[Seat.SOUTH].cheering
        assert f'href="#{smile}"' not in place.browser().get("/").get_data(as_text=True)
        place.table.resign(Seat.NORTH)
        page = place.browser().get("/").get_data(as_text=True)
        assert f'href="#{smile}"' in page
        assert f'href="#{GAMES["outbuffered"].sides[Seat.NORTH].cheering}"' not in page


@pytest.mark.parametrize("first", ["SII", "ISI"])
def test_a_board_that_nobody_can_set_up_any_more_is_shown_as_it_was(
    tmp_path: Path, first: str
) -> None:
    """Who is hit cannot come back: the other stands on his start."""
    with open_place(tmp_path) as place:
        place.to_orders()
        for orders in (("UUU", "UUI"), ("RRI", "III"), (first, "III")):
            for seat, text in zip(Seat, orders, strict=True):
                place.table.hand_in(seat, place.table.view().moment, text)
            while (view := place.table.view()).phase is Phase.STAGES:
                place.table.confirm("host", view.moment, view.turn.stage, force=True)
        assert view.phase is Phase.OVER
        assert "c4" in {str(square) for square in view.board.layout}
        assert "c2" in {str(square) for square in view.board.layout}
