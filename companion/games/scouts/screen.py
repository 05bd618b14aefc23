"""What screens show beside the board of Scouts, and how its decisions are tapped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from companion.games.base import PadGrammar
from companion.games.scouts.board import FILES, NAMES, ROCK_NAMES, SEAT_NAMES, SQUARES, squares_in
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
from companion.games.scouts.refusals import due_words, home_rank
from companion.games.scouts.state import PLAYS, Position, State
from companion.games.screen import ChoiceKey, Play, Standing
from companion.kit import SEATS, Seat

END = "."
END_KEY, BOULDER_KEY, ROCK_KEY = "end", "boulder", "rock"
_LONGEST_LABEL = 40


class ScoutsPad(PadGrammar):
    """Ready ends the turn; plays are made on the board or tapped."""

    def text(self, draft: tuple[str, ...]) -> str | None:
        """Ready alone is an action."""
        return END if not draft else None


PAD = ScoutsPad((), length=0)


def standing(state: State, viewer: Seat | None) -> Standing:
    """What is awaited, what each side has left, and the keys of the viewer on turn."""
    position, name = state.position, SEAT_NAMES[state.position.seat].capitalize()
    facts = {seat: _facts(state, index) for index, seat in enumerate(SEATS)}
    if state.outcome:
        return Standing(f"{name} wins", state.outcome.reason, facts=facts)
    if position.to_place:
        sign = f"{name}: place a scout on rank {home_rank(position.seat)}"
        return Standing(sign, "Scouts are placed in turns, one at a time.", facts=facts)
    keys = _keys(state) if viewer is state.seat else ()
    may_play = bool(position.due) and has_play(position)
    sign = f"{name}: play {_number(state)} of {_plays(state)}" if may_play else f"{name}: {_end_words(state)}"
    return Standing(sign, _hint(state, may_play), END, facts, keys=keys, turn=state.turn)


def _plays(state: State) -> int:
    """How many plays this turn has."""
    return 1 if state.turn == 1 else PLAYS


def _number(state: State) -> int:
    """The number of the play that is due, or of the last one."""
    return min(_plays(state), _plays(state) - state.position.due + 1)


def _end_words(state: State) -> str:
    return "press the clock" if state.options.seconds else "end the turn"


def _hint(state: State, may_play: bool) -> str:
    position = state.position
    if may_play:
        return due_words(position) if state.turn > 1 else "White’s first turn has one play."
    done = "No scout has a play left." if position.due else "All plays of this turn are made."
    left = [rock for kind, rock in enumerate(ROCK_NAMES) if rock_left(position, kind)]
    return f"{done} The {' and the '.join(left)} may still be laid." if left else done


def _facts(state: State, index: int) -> str:
    """A few words on a seat: its scouts to place, or its play and what it has left."""
    position = state.position
    if position.to_place:
        left = (position.to_place + (1 if index == position.seat else 0)) // 2
        return "all scouts placed" if not left else f"{left} scout{'s' if left > 1 else ''} to place"
    rocks = [rock for kind, rock in enumerate(ROCK_NAMES) if not position.rocks[2 * index + kind]]
    kept = f"{', '.join(rocks)} left" if rocks else "no rocks left"
    is_on_turn = index == position.seat and not state.outcome
    return f"play {_number(state)} of {_plays(state)}; {kept}" if is_on_turn else kept


def _keys(state: State) -> tuple[ChoiceKey, ...]:
    position = state.position
    rocks = [
        ChoiceKey(key, key.capitalize())
        for kind, key in enumerate((BOULDER_KEY, ROCK_KEY))
        if rock_left(position, kind)
    ]
    return (ChoiceKey(END_KEY, _end_words(state).capitalize(), is_main=True), *rocks)


# ---- plays ----------------------------------------------------------------------------------------------------------


def plays(position: Position) -> Iterator[Play]:
    """Every decision as it is tapped; of chains to the same square the shortest, then the first by its notation."""
    if position.is_won:
        return
    for number in squares_in(places(position)):
        yield Play(f"@{NAMES[number]}", (SQUARES[number],), f"Place a scout on {NAMES[number]}")
    if position.to_place:
        return
    for origin in squares_in(movers(position)):
        for target in squares_in(dashes(position, origin)):
            text, label = f"{NAMES[origin]}-{NAMES[target]}", f"Dash {NAMES[origin]} to {NAMES[target]}"
            yield Play(text, (SQUARES[origin], SQUARES[target]), label)
        for chain in shortest(position, origin):
            yield Play(chain_text(chain), tuple(SQUARES[number] for number in chain), _jump_label(chain))
    yield from _rock_plays(position)
    if not (position.due and has_play(position)):
        yield Play(END, (), "End the turn", END_KEY)


def _jump_label(chain: tuple[int, ...]) -> str:
    label = f"Jump {NAMES[chain[0]]} to {NAMES[chain[-1]]}"
    over = ", ".join(NAMES[(here + there) // 2] for here, there in pairwise(chain))
    told = f"{label} over {over}"
    return told if len(told) <= _LONGEST_LABEL else f"{label} in {len(chain) - 1} jumps"


def _rock_plays(position: Position) -> Iterator[Play]:
    if rock_left(position, 0):
        for corner in squares_in(boulder_corners(position)):
            name = NAMES[corner]
            yield Play(
                f"B@{name}", (SQUARES[corner],), f"Boulder on {name} to {NAMES[corner + FILES + 1]}", BOULDER_KEY
            )
    if rock_left(position, 1):
        for beginnings, step in zip(rock_beginnings(position), (1, FILES), strict=True):
            for one in squares_in(beginnings):
                first, second = NAMES[one], NAMES[one + step]
                squares = (SQUARES[one], SQUARES[one + step])
                yield Play(f"R@{first}-{second}", squares, f"Rock on {first} and {second}", ROCK_KEY)
