"""What a decision of Scouts does: the next state, what is told of it, and the stages in which hands follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from companion.core.i18n import joined, listed, say
from companion.core.kit import Layout
from companion.games.base import Event, Outcome, Stage, Step
from companion.games.events import CommonEvent, EventKind
from companion.games.scouts.board import FAR, NAMES, SCOUT_FACES, SEAT_NAMES, SQUARES, squares_in
from companion.games.scouts.events import ScoutsEvent
from companion.games.scouts.notation import Decision, Kind
from companion.games.scouts.state import (
    SCOUTS,
    Position,
    State,
    by_seat,
    is_stack,
    lay_rock,
    layout_of,
    move_scout,
    pass_turn,
    place_scout,
)
from companion.games.screen import Headline


def play(state: State, decision: Decision) -> Step[State]:
    """Carry out a legal decision of the seat on turn."""
    match decision.kind:
        case Kind.PLACE:
            return _place(state, decision.squares[0])
        case Kind.END:
            return _end(state)
        case Kind.BOULDER | Kind.ROCK:
            return _lay(state, decision)
    return _move(state, decision)


def _event(
    state: State,
    kind: EventKind,
    text: str,
    rule: str,
    *,
    at: int | None = None,
    to: int | None = None,
    why: str | None = None,
) -> Event:
    """Return an event of the seat on turn."""
    places = [None if number is None else NAMES[number] for number in (at, to)]
    return Event(kind, text, state.seat, places[0], places[1], None, why, rule)


def _side(state: State) -> str:
    return SEAT_NAMES[state.position.seat]


def _place(state: State, square: int) -> Step[State]:
    after = place_scout(state.position, 1 << square)
    number = SCOUTS - (state.position.to_place - 1) // 2
    text = say("{side!c} places a scout on {square}.", side=_side(state), square=NAMES[square])
    why = say("Scout {number} of {total}.", number=number, total=SCOUTS)
    events = [_event(state, CommonEvent.PLACED, text, "setting-up", to=square, why=why)]
    stage = Stage(say("Place a scout"), {}, tuple(events), layout_of(after))
    if not after.to_place:
        text = say("The set-up is complete. White begins with one move.")
        events.append(Event(ScoutsEvent.BEGUN, text, rule="turns"))
        stage = replace(stage, events=tuple(events))
    return Step(
        replace(state, position=after, turn=0 if after.to_place else 1), tuple(events), (stage,)
    )


def _end(state: State) -> Step[State]:
    after = pass_turn(state.position)
    why = say("No scout can move.") if state.position.due else None
    event = _event(
        state,
        ScoutsEvent.ENDED,
        say("{side!c} ends the turn.", side=_side(state)),
        "turns",
        why=why,
    )
    return Step(replace(state, position=after, turn=state.turn + 1), (event,))


def _lay(state: State, decision: Decision) -> Step[State]:
    is_boulder = decision.kind is Kind.BOULDER
    after = lay_rock(state.position, 0 if is_boulder else 1, decision.covered)
    parts = {
        "side": _side(state),
        "squares": listed(NAMES[number] for number in squares_in(decision.covered)),
    }
    if is_boulder:
        title, text = (
            say("Lay the boulder"),
            say("{side!c} lays its boulder on {squares}.", **parts),
        )
    else:
        title, text = say("Lay the rock"), say("{side!c} lays its rock on {squares}.", **parts)
    why = say("It costs no move.")
    event = _event(
        state, ScoutsEvent(decision.kind), text, "rocks", to=decision.squares[0], why=why
    )
    stage = Stage(title, {}, (event,), layout_of(after))
    return Step(replace(state, position=after), (event,), (stage,))


# ---- plays ----------------------------------------------------------------------------------------------------------


def _move(state: State, decision: Decision) -> Step[State]:
    """Return a dash or jumps: one stage, and another one for a scout that is turned over."""
    before, squares, end = state.position, decision.squares, NAMES[decision.squares[-1]]
    origin, target = 1 << squares[0], 1 << squares[-1]
    after = move_scout(before, origin, target)
    is_dash = decision.kind is Kind.DASH
    events = [_dash_event(state, *squares)] if is_dash else _jump_events(state, squares)
    layout, outcome = layout_of(after), None
    scout, intel = SCOUT_FACES[before.seat]
    headlines: tuple[Headline, ...] = ()
    if after.is_won:
        reason = say("{side!c} brings intel home to {square}.", side=_side(state), square=end)
        events.append(_event(state, CommonEvent.WON, reason, "winning", to=squares[-1]))
        outcome = Outcome(frozenset({state.seat}), reason)
        home = say("{side!c} brings the intel home", side=_side(state))
        headlines = (Headline(home, "taken", (intel,)),)
    turns_over = bool(FAR[before.seat] & target and not before.intel & origin)
    laid = _before_turning(layout, before, squares[-1]) if turns_over else layout
    title = say("Dash") if is_dash else say("Jump")
    stages = [Stage(title, {}, tuple(events), laid, headlines=headlines)]
    if turns_over:
        text = say("{side!c} gathers intel on {square}.", side=_side(state), square=end)
        why = say("A scout on the other home rank is turned over.")
        turned = _event(state, ScoutsEvent.INTEL, text, "intel", at=squares[-1], why=why)
        events.append(turned)
        gathers = Headline(
            say("{side!c} gathers intel", side=_side(state)), "taken", (scout, intel)
        )
        title = say("Turn the scout over")
        stages.append(Stage(title, {}, (turned,), layout, headlines=(gathers,)))
    return Step(replace(state, position=after, outcome=outcome), tuple(events), tuple(stages))


def _before_turning(layout: Layout, before: Position, number: int) -> Layout:
    """Return the layout with the scout that has just come to this square not turned over yet."""
    square = SQUARES[number]
    return {**layout, square: (*layout[square][:-1], SCOUT_FACES[before.seat][0])}


def _dash_event(state: State, origin: int, target: int) -> Event:
    position, start, end = state.position, 1 << origin, 1 << target
    why = []
    if (position.own | position.foe) & end:
        owner = position.seat if position.own & end else 1 - position.seat
        why.append(
            say(
                "The {face} on {square} waits under it.",
                face=SCOUT_FACES[owner][0],
                square=NAMES[target],
            )
        )
    if is_stack(position, start):
        owner = position.seat if position.own_low & start else 1 - position.seat
        why.append(
            say(
                "The {face} on {square} is free again.",
                face=SCOUT_FACES[owner][0],
                square=NAMES[origin],
            )
        )
    parts = {"side": _side(state), "square": NAMES[origin], "to": NAMES[target]}
    text, rule = say("{side!c} dashes {square} to {to}.", **parts), "stacks" if why else "dash"
    return _event(
        state, ScoutsEvent.DASH, text, rule, at=origin, to=target, why=joined(" ", why) or None
    )


def _jump_events(state: State, squares: tuple[int, ...]) -> list[Event]:
    """Return one event for each jump."""
    events = []
    white = by_seat(state.position)[0][0]
    for here, there in pairwise(squares):
        between = (here + there) // 2
        owner = SEAT_NAMES[0 if white & 1 << between else 1]
        why = say("It jumps over {side}’s scout on {square}.", side=owner, square=NAMES[between])
        text = say(
            "{side!c} jumps {square} to {to}.",
            side=_side(state),
            square=NAMES[here],
            to=NAMES[there],
        )
        events.append(_event(state, ScoutsEvent.JUMP, text, "jump", at=here, to=there, why=why))
    return events
