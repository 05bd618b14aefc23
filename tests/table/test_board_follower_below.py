"""What hands do below a piece that stays on top, which no picture shows: a carrier that stands up under the ball."""

from __future__ import annotations

from pathlib import Path

from table_tools import Played, both_seats, playing

from companion.core.grid import Square
from companion.core.kit import Seat
from companion.table.session import Phase

G2 = Square.parse("g2")
ROUNDS = (
    "h10-h9-h8 e10-e11-d11 . . h8-h7-h6-g6-g5 b11-b10-b9-b8 . g2-g3-g4xg5 6/6 5/2 g5-g4-g3-g2-g1 d11-d10-d9-d8 . "
    "h2-h1 f2-f1xg1 4/4"
)
"""South's fast piece is turned over with the ball on g2, and stands up there."""
PLACES = {
    Seat.SOUTH: "R@h2 R@d2 B@c2 T@f2 F@g2 S@e2",
    Seat.NORTH: "R@c11 R@a10 B@f10 T@e10 F@h10 S@b11",
}


def pass_stages(played: Played, until: str = "") -> None:
    """By the host's word, up to a stage."""
    while (view := played.table.view()).phase in (
        Phase.SETUP,
        Phase.STAGES,
    ) and view.turn.title != (until or None):
        played.table.confirm("host", view.moment, view.turn.stage, force=True)


def play(played: Played, action: str) -> None:
    """The next action, of one seat or, North's first, of both."""
    for text in action.split("/"):
        view = played.table.view()
        seat = min(seat for seat, sitter in view.seats.items() if sitter.awaited)
        played.table.hand_in(seat, view.moment, text)


def test_a_carrier_stands_up_under_the_ball_once_a_hand_was_there(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        both_seats(played)
        played.table.new_game("kahmate", {"starter": "north", "ball_card": 6}, seed=1)
        for seat, text in PLACES.items():
            played.table.hand_in(seat, played.table.view().moment, text)
        for action in ROUNDS.split():
            pass_stages(played)
            play(played, action)
        pass_stages(played, "Stand up")
        view = played.table.view()
        assert view.board.target is not None
        assert (view.board.layout[G2], view.board.target[G2]) == (
            ("blue fast turned over", "ball"),
            ("blue fast", "ball"),
        )
        played.show(view.board.target, game="kahmate")
        assert is_open(played), "all else is done, but the ball has not been lifted"
        played.show(view.board.target, unknown="g2", game="kahmate")
        assert is_open(played), "a hand is over it"
        played.show(view.board.target, game="kahmate")
        assert played.table.view().turn.title != "Stand up"


def is_open(played: Played) -> bool:
    """Is what hands have to do on g2 not ticked off yet?"""
    told = played.table.view().turn.instructions
    return [i.move.done for i in told if i.move.target == G2] == [False]
