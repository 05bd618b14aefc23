"""Execution of decisions in Scouts: the next state, the events, and the stages on the board."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from companion.core.i18n import joined, listed, say
from companion.games.base import Step
from companion.games.events import CommonEvent
from companion.games.scouts.board import (
    FAR_RANKS,
    ROCK_KINDS,
    ROCK_NAMES,
    SCOUT_FACES,
    SIDE_NAMES,
    SQUARE_NAMES,
    SQUARES,
    ScoutsEvent,
    squares_in,
)
from companion.games.scouts.state import (
    SCOUTS_PER_SIDE,
    Decision,
    DecisionKind,
    Position,
    State,
    lay_rock,
    layout_of,
    move_scout,
    pass_turn,
    place_scout,
    scouts_by_seat,
)
from companion.games.screen import Headline
from companion.games.turn_log import TurnLog


def carry_out(state: State, decision: Decision) -> Step[State]:
    """Carry out a legal decision of the seat on turn."""
    log = TurnLog()
    position = state.position
    match decision.kind:
        case DecisionKind.PLACE:
            after = _carry_out_placing(log, position, decision.squares[0])
        case DecisionKind.END:
            after = _carry_out_end(log, position)
        case DecisionKind.BOULDER | DecisionKind.ROCK:
            after = _carry_out_rock(log, position, decision)
        case _:
            after = _carry_out_play(log, position, decision)
    turn = state.turn
    # The first turn begins after the last placing.
    if decision.kind is DecisionKind.END or (position.to_place and not after.to_place):
        turn += 1
    next_state = replace(state, position=after, turn=turn, outcome=log.outcome)
    return log.build_step(next_state)


def _carry_out_placing(log: TurnLog, position: Position, square: int) -> Position:
    """Place a scout. After the last one the game begins (rulebook, "Setup")."""
    after = place_scout(position, 1 << square)
    # Sides alternate, so this side has half of the rest (rounded down) left to place.
    number = SCOUTS_PER_SIDE - after.to_place // 2
    name = SQUARE_NAMES[square]
    text = say("{side!c} places a scout on {square}.", side=SIDE_NAMES[position.seat], square=name)
    why = say("Scout {number} of {total}.", number=number, total=SCOUTS_PER_SIDE)
    log.add_event(CommonEvent.PLACED, position.seat, text, "setting-up", to=name, why=why)
    if not after.to_place:
        text = say("The set-up is complete. White begins with one move.")
        log.add_event(ScoutsEvent.BEGUN, None, text, "turns")
    log.add_stage(say("Place a scout"), layout_of(after))
    return after


def _carry_out_end(log: TurnLog, position: Position) -> Position:
    text = say("{side!c} ends the turn.", side=SIDE_NAMES[position.seat])
    why = say("No scout can move.") if position.plays_due else None
    log.add_event(ScoutsEvent.ENDED, position.seat, text, "turns", why=why)
    return pass_turn(position)


def _carry_out_rock(log: TurnLog, position: Position, decision: Decision) -> Position:
    """Lay a boulder or a rock, which costs no play (rulebook, "Boulders")."""
    rock = ROCK_NAMES[ROCK_KINDS.index(decision.kind)]
    after = lay_rock(position, decision.kind, decision.covered)
    squares = listed(SQUARE_NAMES[number] for number in squares_in(decision.covered))
    parts = {"side": SIDE_NAMES[position.seat], "rock": rock, "squares": squares}
    text = say("{side!c} lays its {rock} on {squares}.", **parts)
    why = say("It costs no move.")
    name = SQUARE_NAMES[decision.squares[0]]
    log.add_event(ScoutsEvent(decision.kind), position.seat, text, "rocks", to=name, why=why)
    log.add_stage(say("Lay the {rock}", rock=rock), layout_of(after))
    return after


# ---- plays ---------------------------------------------------------------------------------------


def _carry_out_play(log: TurnLog, before: Position, decision: Decision) -> Position:
    """Carry out a dash or a chain of jumps (rulebook, "Moves" to "Winning").

    It is one stage, plus a second one if the scout is turned over.
    """
    seat = before.seat
    squares = decision.squares
    origin = 1 << squares[0]
    target = 1 << squares[-1]
    after = move_scout(before, origin, target)
    if decision.kind is DecisionKind.DASH:
        title = say("Dash")
        _report_dash(log, before, *squares)
    else:
        title = say("Jump")
        _report_jumps(log, before, squares)
    if after.is_won:
        side = SIDE_NAMES[seat]
        reason = say(
            "{side!c} brings intel home to {square}.", side=side, square=SQUARE_NAMES[squares[-1]]
        )
        log.end_game(seat, reason, "winning", say("The intel is home."))
        _, intel_face = SCOUT_FACES[seat]
        home = say("{side!c} brings the intel home", side=side)
        log.headlines.append(Headline(home, "taken", (intel_face,)))
    # Only a scout without intel gathers it on the far rank.
    if FAR_RANKS[seat] & target and not before.intel & origin:
        _gather_intel(log, after, squares[-1], title)
    else:
        log.add_stage(title, layout_of(after))
    return after


def _gather_intel(log: TurnLog, after: Position, end: int, title: str) -> None:
    """Add the two stages of a play that ends on the far rank (rulebook, "Gathering Intel").

    Players first put the scout down as it is, then turn it over. `title` is the title of the first
    stage.
    """
    side = SIDE_NAMES[after.seat]
    square = SQUARES[end]
    plain_face, intel_face = SCOUT_FACES[after.seat]
    layout = layout_of(after)
    log.add_stage(title, {**layout, square: (*layout[square][:-1], plain_face)})
    text = say("{side!c} gathers intel on {square}.", side=side, square=SQUARE_NAMES[end])
    why = say("A scout on the other home rank is turned over.")
    log.add_event(ScoutsEvent.INTEL, after.seat, text, "intel", square=SQUARE_NAMES[end], why=why)
    gathers = say("{side!c} gathers intel", side=side)
    log.headlines.append(Headline(gathers, "taken", (plain_face, intel_face)))
    log.add_stage(say("Turn the scout over"), layout)


def _report_dash(log: TurnLog, position: Position, origin: int, target: int) -> None:
    """Report a dash, and which scouts it buries or frees."""
    origin_bit = 1 << origin
    target_bit = 1 << target
    reasons = []
    if position.scouts & target_bit:
        owner = position.seat if position.own & target_bit else 1 - position.seat
        parts = {"face": SCOUT_FACES[owner][0], "square": SQUARE_NAMES[target]}
        reasons.append(say("The {face} on {square} waits under it.", **parts))
    if position.stacks & origin_bit:
        owner = position.seat if position.own_lower & origin_bit else 1 - position.seat
        parts = {"face": SCOUT_FACES[owner][0], "square": SQUARE_NAMES[origin]}
        reasons.append(say("The {face} on {square} is free again.", **parts))
    start = SQUARE_NAMES[origin]
    end = SQUARE_NAMES[target]
    side = SIDE_NAMES[position.seat]
    text = say("{side!c} dashes {square} to {to}.", side=side, square=start, to=end)
    rule = "stacks" if reasons else "dash"
    why = joined(" ", reasons) or None
    log.add_event(ScoutsEvent.DASH, position.seat, text, rule, square=start, to=end, why=why)


def _report_jumps(log: TurnLog, position: Position, squares: tuple[int, ...]) -> None:
    """Report each jump of a chain, and the scout that it jumps over."""
    # Nothing jumps over a stack, so the upper scouts are enough.
    (white, _), _ = scouts_by_seat(position)
    for origin, target in pairwise(squares):
        between = (origin + target) // 2
        owner = SIDE_NAMES[0 if white & 1 << between else 1]
        why = say(
            "It jumps over {side}’s scout on {square}.", side=owner, square=SQUARE_NAMES[between]
        )
        start = SQUARE_NAMES[origin]
        end = SQUARE_NAMES[target]
        side = SIDE_NAMES[position.seat]
        text = say("{side!c} jumps {square} to {to}.", side=side, square=start, to=end)
        log.add_event(ScoutsEvent.JUMP, position.seat, text, "jump", square=start, to=end, why=why)
