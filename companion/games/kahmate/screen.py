"""Screens and pads of Kahmate: the sign, the hands of cards, the present face-off, and the taps.

The classes that are filled here are explained in `companion/games/screen.py`. A seat is a `Seat`
here, but its number in a `State` (`Seat.number`, an index of `SEATS`).
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from companion.core.grid import Square
from companion.core.i18n import listed, say
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import Action, Kick, Pass, Run, Tackle
from companion.games.kahmate.board import (
    OWN_RANKS,
    PIECE_NAMES,
    ROLE_OF,
    SIDE_NAMES,
    SIDES,
    SOUTH,
    SQUARE_NAMES,
    SQUARES,
    TEAMS,
    rank_of,
)
from companion.games.kahmate.moves import (
    distinct_plays,
    kicks,
    movable_pieces,
    passes,
    square_count,
)
from companion.games.kahmate.state import FULL_HAND, RUNS_PER_TURN, ActionKind, ActionPlan, State
from companion.games.pads import Key, PadGrammar
from companion.games.screen import BoardUi, ChoiceKey, Duel, Duellist, HandCard, Placing, Play

# Proposed squares of each seat, in the order of `ROLES`: regular, regular, big, tough, fast, smart.
# They are a line on the second rank with smart behind it.
_PROPOSED_SQUARES = ("c2 f2 d2 e2 a2 d1", "f10 c10 e10 d10 h10 e11")
# Keys for plays that the target square does not identify. Run, pass, tackle and try need none.
_KEYS = (
    ChoiceKey("kick", say("Kick")),
    ChoiceKey("tackle2", say("Tackle with two")),
    ChoiceKey("end", say("End turn"), is_main=True),
)
# Rule behind a face-off, by the kind of action. A kick has none.
_HINTS = {
    ActionKind.TACKLE: say("A lead of more than 2 takes the ball."),
    ActionKind.RUN: say("The loser is turned over."),
    ActionKind.PASS: say("The interceptor gets the ball."),
}


def board_ui(state: State, seat: Seat | None) -> BoardUi:
    """Return what a viewer sees beside the board.

    Only the seat that may use keys and placing gets them.
    """
    if state.is_placing:
        placing = _build_placing(seat) if seat else None
        return BoardUi(_sign(state), _hint(state), placing=placing)
    return BoardUi(
        sign=_sign(state),
        hint=_hint(state),
        facts={owner: _run_count_text(state, owner) for owner in SEATS},
        hands={owner: _build_hand(state.cards[owner.number]) for owner in SEATS},
        keys=_usable_keys(state) if SEATS[state.seat] is seat else (),
        duel=_build_duel(state, state.pending_plan) if state.pending_plan else None,
    )


def _sign(state: State) -> str:
    """Return the sentence on what is due, in at most 40 characters."""
    side = SIDE_NAMES[state.seat]
    if state.outcome:
        return ""
    if state.is_placing:
        return say("Both: place your six pieces")
    if state.pending_plan:
        return say("Both: choose a card")
    if movable_pieces(state):
        if state.moved_pieces:
            return say("{side!c}: one more run", side=side)
        return say("{side!c}: run up to two", side=side)
    if any(passes(state)) or any(kicks(state)):
        return say("{side!c}: pass, kick or end the turn", side=side)
    return say("{side!c}: end the turn", side=side)


def _hint(state: State) -> str:
    """Return the reason or the rule behind the sign."""
    if state.is_placing:
        return say("Then cards decide the ball and who starts.")
    if state.pending_plan:
        return _HINTS[state.pending_plan.kind]
    return ""


def _run_count_text(state: State, seat: Seat) -> str:
    """Return the number of the next run for the seat on turn, and nothing for the other seat."""
    if seat.number != state.seat or state.outcome:
        return ""
    if not state.runs_left:
        return say("no run left")
    return say("run {number} of {total}", number=len(state.moved_pieces) + 1, total=RUNS_PER_TURN)


def _build_hand(cards: tuple[int, ...]) -> tuple[HandCard, ...]:
    """Return all six cards. Those that the seat does not hold are spent."""
    return tuple(HandCard(str(card), card not in cards) for card in FULL_HAND)


def _usable_keys(state: State) -> tuple[ChoiceKey, ...]:
    """Return the keys that have a legal play."""
    used = {play.key for play in plays(state, SEATS[state.seat])}
    return tuple(key for key in _KEYS if key.name in used)


def _build_placing(seat: Seat) -> Placing:
    return Placing(
        tuple((ROLE_OF[piece].letter, PIECE_NAMES[piece]) for piece in TEAMS[seat.number]),
        tuple(SQUARES[square] for square in OWN_RANKS[seat.number]),
        tuple(map(Square.parse, _PROPOSED_SQUARES[seat.number].split())),
    )


def _build_duel(state: State, plan: ActionPlan) -> Duel:
    """Return both sides of the present face-off."""
    attacking_piece = plan.mover
    attacker = Duellist(
        PIECE_NAMES[attacking_piece],
        SQUARES[state.piece_squares[attacking_piece]],
        _attack_text(state, plan),
        tuple(ROLE_OF[piece].attack for piece in plan.movers),
    )
    piece = plan.face_offs[state.face_offs_won].defender
    square = SQUARES[state.piece_squares[piece]]
    text = say("is in the way on {square}", square=square)
    if plan.kind is ActionKind.TACKLE:
        text = say("has the ball on {square}", square=square)
    elif plan.kind is ActionKind.PASS:
        text = say("intercepts on {square}", square=square)
    defender = Duellist(PIECE_NAMES[piece], square, text, (ROLE_OF[piece].defence,))
    # South's side comes first, whichever side attacks.
    pair = (attacker, defender) if state.seat == SOUTH else (defender, attacker)
    return Duel(dict(zip(SEATS, pair, strict=True)), _HINTS[plan.kind])


def _attack_text(state: State, plan: ActionPlan) -> str:
    """Return a few words on what the attacker does in a face-off."""
    start = SQUARE_NAMES[state.piece_squares[plan.mover]]
    if plan.kind is ActionKind.TACKLE:
        return say("tackles from {start}", start=start)
    if plan.kind is ActionKind.PASS:
        return say("passes from {start} to {end}", start=start, end=SQUARE_NAMES[plan.ball])
    return say("runs from {start}", start=start)


# ---- what can be tapped --------------------------------------------------------------------------


def plays(state: State, seat: Seat) -> tuple[Play, ...]:
    """Return the legal actions of the seat on turn as taps, one for each plan."""
    if state.is_placing or state.pending_plan or state.outcome or seat.number != state.seat:
        return ()
    return _plays(state)


@lru_cache(maxsize=8)
def _plays(state: State) -> tuple[Play, ...]:
    """Return the plays of the seat on turn. Pages ask for them several times in one position."""
    # Pages use the first play to a square, so the safest comes first.
    safest_first = sorted(distinct_plays(state), key=lambda pair: _risk(state, *pair))
    return tuple(build_play(state, action, plan) for action, plan in safest_first)


def _risk(state: State, action: Action, plan: ActionPlan | None) -> tuple[int, bool, int]:
    """Return a sort key that puts the safest path to a square first.

    It counts the opponents on the path, then a ball that is left behind, then the steps.
    """
    if plan is None:
        return 0, False, 0
    leaves_ball = isinstance(action, Run) and plan.ball != plan.end and state.ball in action.path
    return len(plan.face_offs), leaves_ball, square_count(action)


def build_play(state: State, action: Action, plan: ActionPlan | None) -> Play:
    """Return an action as a play, with its squares in tap order and a label.

    Only a kick, a tackle with two and the end of the turn need a key. Only a try, a run back to its
    start and a tackle with two need other taps than their first and last square.
    """
    if plan is None:
        return Play(str(action), (), say("End turn"), "end", is_by_hand=False)
    label = play_label(state, plan)
    key = ""
    taps: tuple[Square, ...] = ()
    squares_met = tuple(
        SQUARES[state.piece_squares[face_off.defender]] for face_off in plan.face_offs
    )
    match action:
        case Run(path=squares):
            taps = _run_taps(state, action)
        case Pass(start=start, end=end):
            squares = (start, end)
        case Kick(start=start, end=end):
            squares = (start, end)
            key = "kick"
        case Tackle(paths=paths, target=target):
            squares = (*itertools.chain(*paths), target)
            # The carrier is already the target.
            squares_met = ()
            if len(paths) > 1:
                key = "tackle2"
                taps = tuple(SQUARES[square] for square in (paths[0][0], paths[1][0], target))
        case _:
            raise AssertionError(f"{action} has no plan")
    if squares_met:
        label = say("{way} against {met}", way=label, met=" ".join(map(str, squares_met)))
    return Play(
        str(action), tuple(SQUARES[square] for square in squares), label, key, taps, squares_met
    )


def play_label(state: State, plan: ActionPlan) -> str:
    """Return what a plan does in words, without the opponents on its way."""
    origin = state.piece_squares[plan.mover]
    start = SQUARE_NAMES[origin]
    ball = SQUARE_NAMES[plan.ball]
    match plan.kind:
        case ActionKind.PASS:
            return say("Pass {start} to {end}", start=start, end=ball)
        case ActionKind.KICK:
            return say("Kick {start} to {end}", start=start, end=ball)
        case ActionKind.TACKLE:
            starts = listed(SQUARE_NAMES[state.piece_squares[piece]] for piece in plan.movers)
            parts = {"square": SQUARE_NAMES[state.ball], "starts": starts}
            # On the goal line the ball goes to a side, which the first tackler decides.
            if rank_of(plan.ball) == rank_of(state.ball):
                return say("Tackle {square} from {starts}, ball to {ball}", **parts, ball=ball)
            return say("Tackle {square} from {starts}", **parts)
    if plan.ends_in_goal:
        return say("Run {start} into goal", start=start)
    end = SQUARE_NAMES[plan.end]
    # Name the ball only if it is picked up on the way. At the end the square is enough.
    if plan.ball == plan.end and state.ball not in (origin, plan.end):
        return say("Run {start} to {end} with ball", start=start, end=end)
    return say("Run {start} to {end}", start=start, end=end)


def _run_taps(state: State, run: Run) -> tuple[Square, ...]:
    """Return the taps of a try (the goal) or of a run back to its start (its farthest square).

    Other runs need no special taps.
    """
    start = SQUARES[run.path[0]]
    last = SQUARES[run.path[-1]]
    if run.into_goal:
        # The goal is one rank beyond the last one.
        return start, last.shifted(0, 1 if state.seat == SOUTH else -1)
    if start == last:
        # The farthest square of a path that returns is its middle.
        middle = run.path[len(run.path) // 2]
        return start, SQUARES[middle]
    return ()


# ---- pads ----------------------------------------------------------------------------------------


# A pad without keys, where ready ends the turn.
_END_PAD = PadGrammar((), 0, ready_alone=".")
# Pad key of each card from 1 to 6.
_CARD_KEYS = ("up", "down", "left", "right", "a", "b")


def pad(state: State, seat: Seat) -> PadGrammar | None:
    """Return the cards in a face-off, or the end of the seat's own turn.

    Everything else is tapped or made by hand.
    """
    if state.is_placing or state.outcome:
        return None
    if state.pending_plan:
        return _card_pad(seat, state.cards[seat.number])
    return _END_PAD if SEATS[state.seat] is seat else None


@lru_cache(maxsize=128)
def _card_pad(seat: Seat, hand: tuple[int, ...]) -> PadGrammar:
    """Return a pad with a key for each card of a hand. Spent cards, which are public, have none."""
    drawing = SIDES[seat].drawing
    keys = tuple(
        Key(str(card), say("card {card}", card=str(card)), drawing, pad_key)
        for pad_key, card in zip(_CARD_KEYS, FULL_HAND, strict=True)
        if card in hand
    )
    return PadGrammar(keys, 1)
