"""What screens show beside the board of Scouts, and how its decisions are tapped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from companion.core.i18n import joined, say, say_n
from companion.core.kit import SEATS, Seat
from companion.games.pads import PadGrammar
from companion.games.scouts.board import FILES, NAMES, ROCK_NAMES, SEAT_NAMES, SQUARES, squares_in
from companion.games.scouts.legal import due_words, home_rank
from companion.games.scouts.moves import (
    boulder_corners,
    chain_text,
    dashes,
    has_play,
    movers,
    places,
    rock_beginnings,
    rock_left,
    shortest,
)
from companion.games.scouts.state import PLAYS, Position, State
from companion.games.screen import BoardUi, ChoiceKey, Play

END = "."
END_KEY, BOULDER_KEY, ROCK_KEY = "end", "boulder", "rock"
_LONGEST_LABEL = 40
_MAY_LAY = {
    (True, True): say("The boulder and the rock may still be laid."),
    (True, False): say("The boulder may still be laid."),
    (False, True): say("The rock may still be laid."),
    (False, False): "",
}
"""By whether the seat on turn may still lay its boulder and its rock."""
_KEPT = {
    (True, True): say("boulder, rock left"),
    (True, False): say("boulder left"),
    (False, True): say("rock left"),
    (False, False): say("no rocks left"),
}
"""By whether a seat has its boulder and its rock beside the board."""


class ScoutsPad(PadGrammar):
    """Ready ends the turn. Plays are made on the board or tapped."""

    def text(self, draft: tuple[str, ...]) -> str | None:
        """Return the action, which ready alone can be."""
        return END if not draft else None


PAD = ScoutsPad((), length=0)


def standing(state: State, viewer: Seat | None) -> BoardUi:
    """Return what is awaited, what each side has left, and the keys of the viewer on turn."""
    position, side = state.position, SEAT_NAMES[state.position.seat]
    facts = {seat: _facts(state, index) for index, seat in enumerate(SEATS)}
    if state.outcome:
        return BoardUi(say("{side!c} wins", side=side), state.outcome.reason, facts=facts)
    if position.to_place:
        sign = say("{side!c}: place a scout on rank {rank}", side=side, rank=home_rank(position.seat))
        return BoardUi(sign, say("Scouts are placed in turns, one at a time."), facts=facts)
    keys = _keys(state) if viewer is state.seat else ()
    may_play = bool(position.due) and has_play(position)
    if may_play:
        sign = say("{side!c}: play {number} of {total}", side=side, number=_number(state), total=_plays(state))
    elif state.options.seconds:
        sign = say("{side!c}: press the clock", side=side)
    else:
        sign = say("{side!c}: end the turn", side=side)
    return BoardUi(sign, _hint(state, may_play), END, facts, keys=keys)


def _plays(state: State) -> int:
    """Return how many plays this turn has."""
    return 1 if state.turn == 1 else PLAYS


def _number(state: State) -> int:
    """Return the number of the play that is due, or of the last one."""
    return min(_plays(state), _plays(state) - state.position.due + 1)


def _hint(state: State, may_play: bool) -> str:
    position = state.position
    if may_play:
        return due_words(position) if state.turn > 1 else say("White’s first turn has one play.")
    done = say("No scout has a play left.") if position.due else say("All plays of this turn are made.")
    return joined(" ", (done, _MAY_LAY[rock_left(position, 0), rock_left(position, 1)]))


def _facts(state: State, index: int) -> str:
    """Return a few words on a seat: its scouts to place, or its play and what it has left."""
    position = state.position
    if position.to_place:
        left = (position.to_place + (1 if index == position.seat else 0)) // 2
        return say_n("{n} scout to place", "{n} scouts to place", left) if left else say("all scouts placed")
    kept = _KEPT[not position.rocks[2 * index], not position.rocks[2 * index + 1]]
    if index != position.seat or state.outcome:
        return kept
    play = say("play {number} of {total}", number=_number(state), total=_plays(state))
    return say("{play}; {kept}", play=play if position.due else say("all plays made"), kept=kept)


def _keys(state: State) -> tuple[ChoiceKey, ...]:
    position = state.position
    rocks = [
        ChoiceKey(key, ROCK_NAMES[kind].capitalize())
        for kind, key in enumerate((BOULDER_KEY, ROCK_KEY))
        if rock_left(position, kind)
    ]
    end = say("Press the clock") if state.options.seconds else say("End the turn")
    return (ChoiceKey(END_KEY, end, is_main=True), *rocks)


# ---- plays ----------------------------------------------------------------------------------------------------------


def plays(position: Position) -> Iterator[Play]:
    """Yield every decision as it is tapped.

    Of chains to the same square the shortest, then the first by its notation.
    """
    if position.is_won:
        return
    for number in squares_in(places(position)):
        label = say("Place a scout on {square}", square=NAMES[number])
        yield Play(f"@{NAMES[number]}", (SQUARES[number],), label)
    if position.to_place:
        return
    for origin in squares_in(movers(position)):
        for target in squares_in(dashes(position, origin)):
            text = f"{NAMES[origin]}-{NAMES[target]}"
            yield Play(text, (SQUARES[origin], SQUARES[target]), dash_label(origin, target))
        for chain in shortest(position, origin):
            yield Play(chain_text(chain), tuple(SQUARES[number] for number in chain), jump_label(chain))
    yield from _rock_plays(position)
    if not (position.due and has_play(position)):
        yield Play(END, (), say("End the turn"), END_KEY)


@cache
def dash_label(origin: int, target: int) -> str:
    """Return a dash in words."""
    return say("Dash {square} to {to}", square=NAMES[origin], to=NAMES[target])


def jump_label(chain: tuple[int, ...]) -> str:
    """Return a chain of jumps in words."""
    ends = {"square": NAMES[chain[0]], "to": NAMES[chain[-1]]}
    over = ", ".join(NAMES[(here + there) // 2] for here, there in pairwise(chain))
    told = say("Jump {square} to {to} over {squares}", **ends, squares=over)
    return (
        told
        if len(told) <= _LONGEST_LABEL
        else say("Jump {square} to {to} in {jumps} jumps", **ends, jumps=len(chain) - 1)
    )


def _rock_plays(position: Position) -> Iterator[Play]:
    if rock_left(position, 0):
        for corner in squares_in(boulder_corners(position)):
            yield _boulder_play(corner)
    if rock_left(position, 1):
        for beginnings, step in zip(rock_beginnings(position), (1, FILES), strict=True):
            for one in squares_in(beginnings):
                yield _rock_play(one, one + step)


@cache
def _boulder_play(corner: int) -> Play:
    name = NAMES[corner]
    label = say("Boulder on {square} to {to}", square=name, to=NAMES[corner + FILES + 1])
    return Play(f"B@{name}", (SQUARES[corner],), label, BOULDER_KEY)


@cache
def _rock_play(one: int, other: int) -> Play:
    first, second = NAMES[one], NAMES[other]
    label = say("Rock on {square} and {other}", square=first, other=second)
    return Play(f"R@{first}-{second}", (SQUARES[one], SQUARES[other]), label, ROCK_KEY)
