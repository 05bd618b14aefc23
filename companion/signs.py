"""The one line that says what the table waits for, and the lamps that say it to the seats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from companion.games import GAMES
from companion.games.screen import Standing, Tableau
from companion.kit import SEATS, Kit, Seat
from companion.live import Instruction, Live, instructions
from companion.ports import SeatLamps, TurnLamp
from companion.referee import Problem, tops
from companion.session import BOTH, Phase, Session


@dataclass(frozen=True)
class Sign:
    """The one line that says what the table waits for, a smaller one that says why, and for whom it waits."""

    text: str
    small: str = ""
    seats: frozenset[Seat] = frozenset()


# ---- the sign -----------------------------------------------------------------------------------------------------


def sign_of(live: Live, viewer: Seat | None) -> Sign:
    """What the table waits for, in at most 40 characters, and why; then what lies on the table that has no place."""
    sign = _awaited_sign(live, viewer)
    strange = strange_words(live)
    return replace(sign, small=f"{sign.small} {strange}".strip()) if strange else sign


def strange_words(live: Live) -> str:
    """A sentence about a marker in view that belongs to no piece of this game, or is there twice; empty: none is."""
    session, reading = live.session, live.reading
    if reading is None or not reading.quiet or not live.watched or session.kit is None or not reading.strangers:
        return ""
    if session.phase in (Phase.LOBBY, Phase.OVER):
        return ""
    marker = reading.strangers[0]
    if own := _meaning(session.kit, marker):
        return f"The {own} is seen twice (marker {marker}): take one away."
    return f"{_elsewhere(marker)}: take it away."


@lru_cache(maxsize=64)
def _elsewhere(marker: int) -> str:
    """Where a marker belongs that is none of the game that is on, as the beginning of a sentence."""
    for game in GAMES.values():
        if other := _meaning(game.kit(game.options({})), marker):
            return f"The {other} of {game.title} lies here (marker {marker})"
    return f"Marker {marker} belongs to no piece of this game"


def _meaning(kit: Kit, marker: int) -> str:
    """What a marker is in a kit: a face, a card or a corner of the board; empty: nothing."""
    if marker in kit.board.corners:
        return "board’s corner"
    face = kit.face_of_marker(marker)
    cards = kit.deck.cards if kit.deck else ()
    return face.name if face else next((f"card {card.name}" for card in cards if card.marker == marker), "")


def _awaited_sign(live: Live, viewer: Seat | None) -> Sign:
    session = live.session
    if live.early:
        return Sign("Take your hands off the board", "The clock was pressed; the board is being read.")
    if live.choices and session.phase is Phase.ORDERS:
        return _asked_sign(live, viewer)
    if live.problems and session.phase is not Phase.LOBBY:
        problem = live.problems[0]
        small = live.why_not.message if live.why_not else _perhaps_hidden(live, problem) or problem.text
        return Sign(problem.sign, small, _owners(session.kit, problem.face))
    match session.phase:
        case Phase.LOBBY:
            return _lobby_sign(live)
        case Phase.SETUP | Phase.STAGES:
            return _hands_sign(live)
        case Phase.ORDERS:
            return _orders_sign(live, viewer)
        case Phase.OVER:
            return _over_sign(session)


def _asked_sign(live: Live, viewer: Seat | None) -> Sign:
    """The board can mean several plays."""
    (seat,) = live.session.awaited
    if viewer is seat:
        return Sign("Which play is it?", "The board can mean each of them: tap the right one.", frozenset({seat}))
    name = live.session.playing.sides[seat].name.capitalize()
    return Sign(f"{name}: tap which play it is", "The board can mean several.", frozenset({seat}))


def _perhaps_hidden(live: Live, problem: Problem) -> str:
    """Where a piece that is nowhere seen may lie out of the camera's sight; empty: nowhere."""
    reading, target = live.reading, live.session.target
    if reading is None or target is None:
        return ""
    if problem.home in reading.unknown:
        return f"The camera does not see {problem.home} now: put the piece there straight, or take the hand away."
    seen = [*reading.seen.values(), *reading.beside]
    if seen.count(problem.face) >= [*tops(target).values()].count(problem.face):
        return ""
    hidden = sorted(reading.unknown - set(target))
    if not hidden:
        return ""
    squares = " or ".join(map(str, hidden[:4]))
    return f"Is the {problem.face} on {squares}, where the camera does not see it? Then put it straight."


def _owners(kit: Kit | None, face: str) -> frozenset[Seat]:
    seat = kit.face(face).seat if kit and not kit.deck else None
    return frozenset({seat}) if seat else BOTH


def _lobby_sign(live: Live) -> Sign:
    free = [seat for seat in SEATS if seat not in live.session.seats]
    if len(free) == 2:
        return Sign("Scan a code to take a seat", "Or press any key of a pad.", BOTH)
    if free:
        return Sign(f"{free[0].title()}: take your seat", "Scan the code, or press a key of the pad.", frozenset(free))
    if live.suggested:
        title = live.suggested.capitalize()
        return Sign(f"Press ready to start {title}", "Its board lies on the table.", BOTH)
    return Sign("Choose a game", "On a phone, or put its board under the camera.", BOTH)


def _hands_sign(live: Live) -> Sign:
    session = live.session
    todo = [i for i in instructions(live) if not i.move.done]
    if todo:
        hidden = _hidden(live, todo)
        if hidden:
            return Sign(
                f"Camera does not see {hidden}",
                "Put the pieces straight, move the hand or the lamp, or confirm by hand.",
                BOTH,
            )
        seats = frozenset(i.seat for i in todo)
        if session.phase is Phase.SETUP:
            small = f"{len(todo)} pieces to go." if len(todo) > 1 else "One piece to go."
        else:
            small = " ".join(f"{i.text}." for i in todo[1:])
        if not live.watched:
            small = f"{small} Then press ready.".strip()
        return Sign(todo[0].text, small, seats if len(todo) > 1 else frozenset({todo[0].seat}))
    if session.phase is Phase.SETUP:
        return Sign("Take your hands off the board", "The camera takes a last look.")
    title = session.stages[session.stage].title if session.kit and session.kit.deck else "Nothing to move"
    return Sign(title, "The next step follows; ready skips the wait.")


def _hidden(live: Live, todo: list[Instruction]) -> str:
    """The squares that matter and are hidden from the camera, as words."""
    if not live.watched or live.reading is None or not live.reading.quiet:
        return ""
    squares = {square for i in todo for square in (i.move.origin, i.move.target) if square in live.reading.unknown}
    return " and ".join(sorted(map(str, squares)))


def _orders_sign(live: Live, viewer: Seat | None) -> Sign:
    session = live.session
    game, awaited = session.playing, session.awaited
    if shown := game.tableau(session.state, viewer) or game.standing(session.state, viewer):
        return _clock_sign(live, shown, viewer)
    names = {seat: game.sides[seat].name for seat in SEATS}
    offer = f"{names[session.draw_offer].capitalize()} offers a draw." if session.draw_offer else ""
    if viewer in awaited:
        grammar = game.pad(session.state, viewer) if viewer else None
        number = {1: "One order", 2: "Two orders", 3: "Three orders"}.get(
            grammar.length if grammar else 0, "Your orders"
        )
        other = viewer.other if viewer else Seat.SOUTH
        done = f"{names[other].capitalize()} has handed in. " if other in session.sealed else ""
        return Sign(f"{number} to go", offer or f"{done}Nobody sees yours before the reveal.", awaited)
    if viewer and awaited:
        return Sign(
            f"Waiting for {names[next(iter(awaited))]}", offer or "You are done. The table opens both at once.", awaited
        )
    if len(awaited) > 1:
        return Sign("Both: hand in your orders", offer, awaited)
    waiting = "".join(names[seat].capitalize() for seat in awaited)
    return Sign(f"{waiting}: hand in your orders", offer or "The other side is done.", awaited)


_STOPPED = {
    "start": "The clock has not been started.",
    "restart": "The companion was off. Turn and time are as they were.",
    "undo": "A turn was taken back. Turn and time are as they were.",
}


def _clock_sign(live: Live, shown: Tableau | Standing, viewer: Seat | None) -> Sign:
    """What a game says is awaited, or that its clock stands still, or who has handed in already."""
    session = live.session
    sides = session.playing.sides
    laid = next(iter(live.laid.values()), None) if session.is_open or len(session.awaited) == 1 else None
    laid = live.laid.get(viewer) if viewer in session.awaited and laid is None else laid
    if laid:
        return Sign("Read right? Then press ready", f"{laid}. If not, lay the cards apart or tap them.", BOTH)
    if session.paused:
        text = "Press ready to start the clock" if session.paused == "start" else "Press ready to go on"
        return Sign(text, _STOPPED.get(session.paused, "The clock stands still."), BOTH)
    offer = f"{sides[session.draw_offer].name.capitalize()} offers a draw." if session.draw_offer else ""
    if session.countdown and session.countdown.has_run_out:
        (seat,) = session.awaited
        return Sign(f"{sides[seat].name.capitalize()}: time is over", offer or shown.hint, session.awaited)
    if session.sealed and viewer not in session.awaited:
        names = " and ".join(sides[seat].name for seat in sorted(session.awaited))
        return Sign(f"Waiting for {names}", offer or "Both open together.", session.awaited)
    return Sign(shown.sign, offer or _unseen(live) or shown.hint, session.awaited)


def _unseen(live: Live) -> str:
    """What the camera does not see of a board on which the seat on turn may play by hand; empty: nothing."""
    session, reading = live.session, live.reading
    if session.board is None or live.has_cards or len(session.awaited) != 1 or not live.watched:
        return ""
    if reading is None or not reading.quiet or not reading.unknown:
        return ""
    if reading.foreign:
        squares = ", ".join(map(str, sorted(reading.foreign)[:4]))
        return f"The camera does not see a marker on {squares}: put the piece straight, or take away what lies there."
    squares = ", ".join(map(str, sorted(reading.unknown)[:4]))
    return f"The camera does not see {squares}: put the pieces there straight."


def _over_sign(session: Session) -> Sign:
    outcome, game = session.outcome, session.playing
    if outcome is None or not outcome.winners:
        again = "A tie: play it again" if game.replays_ties and game.outcome(session.state) else "Nobody wins"
        return Sign(again, outcome.reason if outcome else "", BOTH)
    names = " and ".join(game.sides[seat].name for seat in sorted(outcome.winners))
    return Sign(f"{names.capitalize()} wins", outcome.reason, outcome.winners)


# ---- the lamps ----------------------------------------------------------------------------------------------------


def lamps_of(live: Live) -> dict[Seat, SeatLamps]:
    """The steady pattern of every seat's lamps; depends on how many orders are entered, never on which."""
    return {seat: _seat_lamps(live, seat) for seat in SEATS}


def _seat_lamps(live: Live, seat: Seat) -> SeatLamps:
    session = live.session
    wrong = TurnLamp.WRONG if live.problems and session.phase is not Phase.LOBBY else None
    if session.phase is Phase.ORDERS:
        if seat in session.sealed:
            return SeatLamps(frozenset({1, 2, 3}), wrong or TurnLamp.OFF)
        count = live.drafts.get(seat, 0)
        entered = frozenset(range(1, count - (count - 1) // 3 * 3 + 1)) if count else frozenset()
        steady = TurnLamp.ON if session.is_open or session.playing.tableau(session.state, None) else TurnLamp.PULSE
        turn = steady if seat in session.awaited else TurnLamp.OFF
        if session.paused:
            turn = TurnLamp.PULSE
        return SeatLamps(entered, wrong or turn)
    if session.phase in (Phase.STAGES, Phase.SETUP):
        wanted = any(i.seat is seat and not i.move.done for i in instructions(live))
        step = frozenset({session.stage + 1}) if session.phase is Phase.STAGES else frozenset()
        return SeatLamps(step, wrong or (TurnLamp.HANDS if wanted else TurnLamp.OFF))
    return SeatLamps()
