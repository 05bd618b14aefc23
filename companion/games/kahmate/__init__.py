"""Kahmate: rugby on a board with six pieces a side and secret strength cards.

In a turn up to two pieces run, and the piece with the ball passes or kicks it. A tackle attacks the
other side's carrier and ends the turn. A piece that meets an opponent has a face-off with it: both
players secretly choose a card. Whoever runs over the far end with the ball wins.

The notation of actions: `b2-b3-c3` is a run, `b11-goal` a run into goal, `b5*c4` a pass, `b5!c8` a
kick, `b4-b5xb6` a tackle on b6 after a run to b5, `b4-b5&c7-c6xb6` a tackle by two pieces, `.` the
end of the turn, `3` a card, and `R@b1 R@d1 B@c2 T@e2 F@g1 S@d2` a placing of all six pieces.

The files of the game: `board` (squares, pieces, kit, events), `actions` (notation), `state`
(options, positions, and the plans of actions), `moves` (all legal actions), `legal` (why others are
refused), `turn` (what actions do), `screen` (screens, taps and pads), `words` (texts for people)
and `lesson`. A “ruling” in comments is the project's decision on what the rulebook leaves open.
`words` says it in the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.aids import Extras
from companion.games.base import Drawn, Game, Step, View
from companion.games.kahmate import board, legal, moves, screen, turn
from companion.games.kahmate.actions import Action, Kick, Pass, Run, Tackle, parse
from companion.games.kahmate.board import KahmateEvent
from companion.games.kahmate.lesson import HELP, LESSON
from companion.games.kahmate.moves import plan_action
from companion.games.kahmate.state import (
    KahmateOptions,
    State,
    first_state,
    layout_of,
    lead,
    view_details,
)
from companion.games.kahmate.words import EXTRAS, OPTION_ROWS, RULES

_COMMAND_WORDS: Mapping[type, str] = {
    Run: say("Run"),
    Pass: say("Pass"),
    Kick: say("Kick"),
    Tackle: say("Tackle"),
}


class Kahmate(Game[State, Action]):
    """The game Kahmate. An action is a placing, run, pass, kick, tackle, end of a turn or card.

    A state holds no secrets: placings and cards reach it through `apply` after both are handed in.
    """

    name = "kahmate"
    title = say("Kahmate")
    summary = say("Rugby on a board. Secret cards decide.")
    minutes = 25
    how_to_win = (
        say("Run the ball forward"),
        say("Caught? Secret cards decide"),
        say("Over their line, and you win"),
    )
    sides = board.SIDES
    options_type = KahmateOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = KahmateEvent
    turn_rule = "round"
    end_rule = "try"
    lesson = LESSON
    help_words = HELP
    chosen_options = frozenset({"start", "ball_card", "starter"})

    legal_actions = staticmethod(moves.legal_actions)
    random_action = staticmethod(moves.random_action)
    check = staticmethod(legal.check_action)
    apply = staticmethod(turn.carry_out)
    parse = staticmethod(parse)
    lead = staticmethod(lead)
    board_ui = staticmethod(screen.board_ui)
    plays = staticmethod(screen.plays)
    pad = staticmethod(screen.pad)
    laid_out = staticmethod(moves.laid_out)
    why_not = staticmethod(legal.find_broken_rule)

    def kit(self, options: KahmateOptions) -> Kit:
        return board.KIT

    def extras(self, options: KahmateOptions) -> Extras:
        return EXTRAS

    def setup(self, options: KahmateOptions, rng: Random) -> State:
        return first_state(options)

    def drawn(self, options: KahmateOptions) -> Drawn:
        """Return when the ball's card and the first seat are drawn.

        Never if both are chosen, or the whole start.
        """
        if options.start:
            return Drawn.NEVER
        if options.ball_card is None or options.starter is None:
            return Drawn.PLAY
        return Drawn.NEVER

    def to_act(self, state: State) -> frozenset[Seat]:
        """Return both seats for placings and face-offs, else the seat on turn."""
        if state.outcome:
            return frozenset()
        if state.is_placing or state.pending_plan:
            return frozenset(SEATS)
        return frozenset({SEATS[state.seat]})

    def view(self, state: State, seat: Seat | None) -> View:
        """Return phase, pieces, ball, cards and face-off, the same for all viewers."""
        return {**self.common_view(state), **view_details(state)}

    def commands(self, action: Action) -> tuple[str, ...]:
        """Return the word for a run, pass, kick or tackle, and nothing for other actions."""
        word = _COMMAND_WORDS.get(type(action))
        return (word,) if word else ()

    def expected(self, state: State) -> Layout | None:
        """Return the layout, with the ball on top of its carrier. None while pieces are placed.

        During a face-off it is the board before the action.
        """
        if state.is_placing:
            return None
        return layout_of(state.piece_squares, state.turns_to_miss, state.ball)

    def is_checked(self, state: State) -> bool:
        """Return False in placings and face-offs: players may already have moved pieces."""
        return not state.is_placing and state.pending_plan is None

    def is_reversible(self, state: State, seat: Seat, action: Action) -> bool:
        """Return whether the action is a run, pass or kick without a face-off and without a try.

        Such an action reveals nothing.
        """
        if isinstance(action, Run) and action.into_goal:
            return False
        return isinstance(action, Run | Pass | Kick) and not plan_action(state, action).face_offs

    def turn_number(self, state: State) -> int:
        return 0 if state.is_placing else state.turn

    def as_laid(self, state: State, seat: Seat, action: Action, step: Step[State]) -> Layout | None:
        """Return the board after a play by hand. The `step` is not needed for it."""
        return moves.as_laid(state, action)
