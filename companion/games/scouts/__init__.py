"""Scouts: walk to the opponent's home rank, gather intel and bring it back.

In a turn two scouts make a play each: a dash to a neighbouring square, or a chain of jumps over
other scouts. Two scouts on a square are a stack, and rocks block squares. A chess clock limits each
side.

The notation of actions: `@c1` places a scout, `c1-d2` is a dash, `c1^c3^e3` two jumps, `B@d5` lays
a boulder whose lower left square is d5, `R@d5-e5` lays a rock on two squares, and `.` ends the
turn.

The files of the game: `board` (squares as numbers and bit masks, kit, events), `state` (options,
positions, decisions and their notation), `moves` (all legal decisions), `legal` (why others are
refused), `turn` (what decisions do), `screen` (screens and taps), `words` (texts for people) and
`lesson`. A “ruling” in comments is the project's decision on what the rulebook leaves open. `words`
says it in the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.aids import Extras
from companion.games.base import Game, Step, View
from companion.games.pads import PadGrammar
from companion.games.scouts.board import (
    KIT,
    ROCK_KINDS,
    SIDES,
    SQUARE_NAMES,
    ScoutsEvent,
    squares_in,
)
from companion.games.scouts.legal import check_decision, find_broken_rule
from companion.games.scouts.lesson import HELP, LESSON
from companion.games.scouts.moves import legal_actions, random_action
from companion.games.scouts.screen import PAD, board_ui, plays
from companion.games.scouts.state import (
    Decision,
    DecisionKind,
    ScoutsOptions,
    State,
    first_state,
    layout_of,
    lead,
    parse,
    scouts_by_seat,
)
from companion.games.scouts.turn import carry_out
from companion.games.scouts.words import EXTRAS, OPTION_ROWS, RULES
from companion.games.screen import ChessClock

_COMMAND_WORDS = {
    DecisionKind.DASH: say("Dash"),
    DecisionKind.JUMP: say("Jump"),
    DecisionKind.BOULDER: say("Boulder"),
    DecisionKind.ROCK: say("Rock"),
}


class Scouts(Game[State, Decision]):
    """The game Scouts. All information is open."""

    name = "scouts"
    title = say("Scouts")
    summary = say("Leap over anyone. First one home wins.")
    minutes = 20
    how_to_win = (
        say("Leap over friend or foe"),
        say("Turn over on the far rank"),
        say("Carry it home first"),
    )
    sides = SIDES
    options_type = ScoutsOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = ScoutsEvent
    turn_rule = "turns"
    end_rule = "winning"
    lesson = LESSON
    help_words = HELP
    chosen_options = frozenset({"start"})

    legal_actions = staticmethod(legal_actions)
    random_action = staticmethod(random_action)
    parse = staticmethod(parse)
    lead = staticmethod(lead)
    why_not = staticmethod(find_broken_rule)
    board_ui = staticmethod(board_ui)
    plays = staticmethod(plays)

    def kit(self, options: ScoutsOptions) -> Kit:
        return KIT

    def extras(self, options: ScoutsOptions) -> Extras:
        return EXTRAS

    def setup(self, options: ScoutsOptions, rng: Random) -> State:
        return first_state(options)

    def to_act(self, state: State) -> frozenset[Seat]:
        return frozenset() if state.outcome else frozenset({state.seat})

    def check(self, state: State, seat: Seat, action: Decision) -> None:
        check_decision(state, action)

    def commands(self, action: Decision) -> tuple[str, ...]:
        """Return the word for a dash, jump or rock. A placing and the end of a turn have none."""
        word = _COMMAND_WORDS.get(action.kind)
        return (word,) if word else ()

    def apply(self, state: State, actions: Mapping[Seat, Decision], rng: Random) -> Step[State]:
        return carry_out(state, actions[state.seat])

    def view(self, state: State, seat: Seat | None) -> View:
        """Return scouts, rocks, the plays that are due and the outcome. Nothing is hidden.

        - `scouts`: the squares of each side, as `upper` (including single scouts), `lower` and
          `with_intel`. `pieces` lists the scouts one by one, because two scouts of a side may share
          a square.
        - `rocks`: the squares of each side's boulder and rock, once they are laid.
        - `turn`: the number of the turn, or 0 during the set-up.
        - `to_place`: the number of scouts of both sides that are not on the board yet.
        - `due`: the number of plays left in this turn.
        - `played`: the square of the scout that made the last play of this turn, or nothing.
        """
        position = state.position
        rocks: dict[str, dict[str, list[str]]] = {seat: {} for seat in SEATS}
        # In the order of `ROCK_FACES`: South's boulder and rock, then North's.
        for index, covered in enumerate(position.rocks):
            if covered:
                rocks[SEATS[index // 2]][ROCK_KINDS[index % 2]] = _square_names(covered)
        scouts = {}
        for owner, (upper, lower) in zip(SEATS, scouts_by_seat(position), strict=True):
            levels = (("upper", upper, position.intel), ("lower", lower, position.lower_intel))
            scouts[owner] = {
                "upper": _square_names(upper),
                "lower": _square_names(lower),
                "with_intel": _square_names(upper & position.intel | lower & position.lower_intel),
                "pieces": [
                    {"square": name, "level": level, "intel": name in _square_names(intel)}
                    for level, mask, intel in levels
                    for name in _square_names(mask)
                ],
            }
        return {
            **self.common_view(state),
            "turn": state.turn,
            "to_place": position.to_place,
            "due": position.plays_due,
            "played": _square_names(position.last_mover),
            "scouts": scouts,
            "rocks": rocks,
        }

    def expected(self, state: State) -> Layout:
        return layout_of(state.position)

    def chess_clock(self, state: State) -> ChessClock | None:
        """Return the clock, which starts when the set-up is complete (ruling, "Clock")."""
        if not state.options.seconds or not state.turn or state.outcome:
            return None
        return ChessClock(state.options.seconds, state.options.increment)

    def is_reversible(self, state: State, seat: Seat, action: Decision) -> bool:
        """Return whether the game goes on after the action. Nothing is hidden that it reveals."""
        return carry_out(state, action).state.outcome is None

    def turn_number(self, state: State) -> int:
        return state.turn

    def pad(self, state: State, seat: Seat) -> PadGrammar | None:
        """Return the pad on which ready ends the seat's own turn, once the set-up is complete."""
        if seat is state.seat and state.turn and not state.outcome:
            return PAD
        return None


def _square_names(mask: int) -> list[str]:
    return [SQUARE_NAMES[number] for number in squares_in(mask)]
