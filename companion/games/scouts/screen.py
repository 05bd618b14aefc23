"""Screens of Scouts beside the board, and the taps of its actions.

The classes that are filled here are explained in `companion/games/screen.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.pads import PadGrammar
from companion.games.scouts.board import (
    ROCK_FACES,
    ROCK_KINDS,
    ROCK_NAMES,
    SCOUT_FACES,
    SIDE_NAMES,
    SQUARES,
    squares_in,
)
from companion.games.scouts.moves import has_play, has_rock, legal_decisions, shortest_chains
from companion.games.scouts.state import PLAYS_PER_TURN, Decision, DecisionKind, State
from companion.games.screen import BoardUi, ChoiceKey, Play

# Action that ends the turn, which anybody at the table may take.
_END = "."
# A pad on which ready ends the turn. Plays are made on the board or tapped.
PAD = PadGrammar((), length=0, ready_alone=_END)


def board_ui(state: State, seat: Seat | None) -> BoardUi:
    """Return what is due, what each side has left, and the keys for the viewer on turn."""
    if state.outcome:
        return BoardUi("")
    position = state.position
    side = SIDE_NAMES[position.seat]
    kept = {owner: _faces_beside(state, owner.number) for owner in SEATS}
    if position.to_place:
        return BoardUi(say("{side!c}: place a scout", side=side), kept=kept)
    keys = _keys(state) if seat is state.seat else ()
    # White's first turn has one play.
    turn_plays = 1 if state.turn == 1 else PLAYS_PER_TURN
    plays_made = turn_plays - position.plays_due
    # True for each play that is made.
    marks = {state.seat: tuple(number < plays_made for number in range(turn_plays))}
    hint = ""
    if position.plays_due and has_play(position):
        sign = _plays_due_sign(state, side)
    else:
        hint = say("No scout can move.") if position.plays_due else ""
        sign = say("{side!c}: end the turn", side=side)
        if state.options.seconds:
            sign = say("{side!c}: press your clock", side=side)
    return BoardUi(sign, hint, open_action=_END, kept=kept, plays=marks, keys=keys)


def _plays_due_sign(state: State, side: str) -> str:
    """Return the sentence on how many scouts must still move in this turn."""
    if state.position.plays_due > 1:
        return say("{side!c}: two scouts to move", side=side)
    if state.turn == 1:
        return say("{side!c}: one scout to move", side=side)
    return say("{side!c}: one more scout", side=side)


def _faces_beside(state: State, seat_number: int) -> tuple[str, ...]:
    """Return the faces of a seat's pieces beside the board: scouts to place, boulder, rock."""
    position = state.position
    # Sides alternate, so the seat on turn has to place one more if the total is odd.
    scouts_to_place = (position.to_place + (seat_number == position.seat)) // 2
    plain_face, _ = SCOUT_FACES[seat_number]
    scouts = (plain_face,) * scouts_to_place
    rocks = list(zip(ROCK_FACES, position.rocks, strict=True))
    # South's boulder and rock are the first two.
    own_rocks = rocks[2 * seat_number : 2 * seat_number + 2]
    return (*scouts, *(face for face, squares in own_rocks if not squares))


def _keys(state: State) -> tuple[ChoiceKey, ...]:
    position = state.position
    rocks = [
        ChoiceKey(key, name.capitalize())
        for key, name in zip(ROCK_KINDS, ROCK_NAMES, strict=True)
        if has_rock(position, DecisionKind(key))
    ]
    end = say("Press your clock") if state.options.seconds else say("End turn")
    return (ChoiceKey(DecisionKind.END, end, is_main=True), *rocks)


# ---- plays ---------------------------------------------------------------------------------------


def plays(state: State, seat: Seat) -> Iterator[Play]:
    """Yield every legal action of a seat as taps.

    Only the shortest chain of jumps to each square is included (`shortest_chains`).
    """
    if seat is state.seat:
        yield from map(build_play, legal_decisions(state.position, shortest_chains))


@lru_cache(maxsize=4096)
def build_play(decision: Decision) -> Play:
    """Return a decision as taps, with a label of at most 40 characters.

    A dash has two squares and a chain of jumps all of its squares. A boulder or rock has a key and
    all squares that it covers, and the end of the turn only a key.
    """
    kind = decision.kind
    text = str(decision)
    if kind is DecisionKind.END:
        return Play(text, (), say("End turn"), kind, is_by_hand=False)
    numbers = (
        tuple(squares_in(decision.covered)) if kind is DecisionKind.BOULDER else decision.squares
    )
    squares = tuple(SQUARES[number] for number in numbers)
    ends = {"square": squares[0], "to": squares[-1]}
    match kind:
        case DecisionKind.PLACE:
            return Play(text, squares, say("Place a scout on {square}", square=squares[0]))
        case DecisionKind.DASH:
            return Play(text, squares, say("Dash {square} to {to}", **ends))
        case DecisionKind.JUMP:
            return Play(text, squares, say("Jump {square} to {to}", **ends))
        case DecisionKind.ROCK:
            return Play(text, squares, say("Rock on {square} and {to}", **ends), kind)
    # One tap on its lower left square places a boulder.
    return Play(text, squares, say("Boulder on {square} to {to}", **ends), kind, squares[:1])
