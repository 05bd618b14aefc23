"""Decide who may ask the coach about what, by the owner's setting and the state of the game.

The player opposite a machine may always ask for its reasons, as soon as they reveal nothing secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from companion.core.errors import wrong_phase
from companion.core.grid import Square
from companion.core.i18n import Verbatim, say
from companion.core.kit import Seat
from companion.games.action_words import SpelledOrder, spell_action, spell_legal_action
from companion.games.help import possibilities
from companion.games.screen import Play, Possible
from companion.table.lesson_progress import lesson_step_index
from companion.table.records import AskCoach
from companion.table.seats.machine_seats import MachineTurn, machine_turn, state_after_turns
from companion.table.session import Phase, Session, turn_is_over
from companion.table.state import CoachSubject, TableState
from companion.table.store import TableStore

# The owner's setting for games with a coach: only those against the machine, all, or none.
CoachRule = Literal["machine", "always", "never"]


@dataclass(frozen=True)
class CoachQuestion:
    """A seat's question to the coach: what to do now, or how good its last action was."""

    turn: MachineTurn
    """The decision that the question is about, as the coach may know it."""
    action: str = ""
    """The action that the seat has taken, in notation. Empty if the decision is still due."""


@dataclass(frozen=True)
class MachineReasons:
    """A machine's reasons for its last turn."""

    heading: str
    """The machine's name and the turn, as a sentence."""
    action: str
    """Its actions in notation, joined by "; "."""
    orders: tuple[SpelledOrder, ...]
    """The same actions in words and drawings."""
    why: tuple[str, ...]


def _coach_subjects(session: Session, seat: Seat, rule: CoachRule) -> list[CoachSubject]:
    """Return what a seat may ask the coach about.

    It may ask nothing before the first decision, during a lesson, which has its guide, in a game at
    two tables, and if people deal the cards, because then the program does not know them.
    """
    if session.game is None or session.phase in (Phase.LOBBY, Phase.SETUP):
        return []
    if session.remote is not None or lesson_step_index(session) is not None:
        return []
    is_against_machine = session.is_machine_seat(seat.other)
    is_allowed = rule == "always" or (rule == "machine" and is_against_machine)
    is_person = seat in session.seats and not session.is_machine_seat(seat)
    if not (is_allowed and is_person) or session.game.is_dealt_by_hand(session.options):
        return []
    subjects: list[CoachSubject] = []
    if seat in session.awaited_seats:
        subjects.append("now")
    if session.own_turn_indices(seat):
        subjects.append("last")
    return subjects


def explained_turn_indices(live: TableState, seat: Seat) -> list[int]:
    """Return the indices in `Session.turns` of the actions that a machine gives reasons for.

    These are all actions of the machine's last turn for which it has given reasons. Reasons reveal
    the action. So those of a sealed action stay secret, and in a game with hidden information all
    reasons stay secret until the game is over.
    """
    session = live.session
    game = live.session.game
    if game is None or not session.is_machine_seat(seat) or session.remote is not None:
        return []
    if game.hides(session.options) and session.phase is not Phase.OVER:
        return []
    turns = session.turns
    indices = [
        index
        for index in session.own_turn_indices(seat)
        if live.machine_reasons.get((seat, turns[index].moment))
    ]
    return [index for index in indices if turns[index].number == turns[indices[-1]].number]


class Coaching:
    """Answers a seat's private questions: what it may do now, and what the coach may be asked.

    Pages call it, from any thread. It tells what a seat may do only if the seat has to act and
    names the present moment.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def subjects(self, seat: Seat) -> tuple[CoachSubject, ...]:
        """Return what a seat may ask about now: first the coach, then the machine opposite."""
        live = self._store.live
        subjects = _coach_subjects(live.session, seat, self._store.settings.coach)
        if seat in live.session.seats and explained_turn_indices(live, seat.other):
            subjects.append("theirs")
        return tuple(subjects)

    def ask(self, seat: Seat, moment: str, about: CoachSubject) -> CoachQuestion:
        """Return a seat's question for the coach, and mark a running game as coached.

        Raises `Stale` for another moment, and `Illegal` if the seat may not ask.
        """
        session = self._store.session
        session.require_moment(moment)
        if about == "theirs" or about not in self.subjects(seat):
            raise wrong_phase(say("There is nothing to ask the coach now"))
        question = CoachQuestion(machine_turn(session, seat))
        if about == "last":
            index = session.own_turn_indices(seat)[-1]
            action = session.turns[index].sealed[seat].action
            question = CoachQuestion(machine_turn(session, seat, index), action)
        if seat not in session.coached_seats and session.phase is not Phase.OVER:
            self._store.submit(AskCoach(seat))
        return question

    def spell(self, seat: Seat, moment: str, action: str) -> tuple[SpelledOrder, ...]:
        """Return a seat's action for the current or an earlier turn, in words and drawings.

        Raises a `CompanionError` if it is not legal there, and `Stale` if the turn no longer
        exists.
        """
        session = self._store.session
        moments = [*(turn.moment for turn in session.turns), session.moment]
        if moment not in moments:
            raise turn_is_over()
        state = state_after_turns(session, moments.index(moment))
        return spell_legal_action(session.require_game(), state, seat, action)

    def reasons(self, seat: Seat, moment: str) -> MachineReasons:
        """Return the reasons of the machine opposite a seat. The game is not marked as coached.

        Raises `Stale` for another moment, and `Illegal` if there are none to show.
        """
        live = self._store.live
        machine = seat.other
        session = live.session
        session.require_moment(moment)
        indices = explained_turn_indices(live, machine)
        if not indices:
            raise wrong_phase(say("The machine has nothing to explain right now"))
        actions: list[str] = []
        orders: list[SpelledOrder] = []
        why: dict[str, None] = {}  # in order, without duplicates
        for index in indices:
            turn = session.turns[index]
            action = turn.sealed[machine].action
            actions.append(action)
            state = state_after_turns(session, index)
            orders += spell_action(session.require_game(), state, machine, action)
            why |= dict.fromkeys(live.machine_reasons[machine, turn.moment])
        name = Verbatim(session.seats[machine].name)
        number = session.turns[indices[-1]].number
        heading = say("{name}, at the start", name=name)
        if number:
            heading = say("{name}, turn {turn}", name=name, turn=number)
        return MachineReasons(heading, "; ".join(actions), tuple(orders), tuple(why))

    # ---- what a seat may do now ----

    def planned_squares(self, seat: Seat, moment: str, entered: str) -> tuple[Square | None, ...]:
        """Return the square to which each order entered so far would lead (see `Game.plan`).

        `entered` is the notation of these orders. Empty if the seat does not have to act, or if the
        game has no plans.
        """
        session = self._session_if_due(seat, moment)
        if session is None:
            return ()
        return session.require_game().plan(session.state, seat, entered) or ()

    def possibilities(self, seat: Seat, moment: str, entered: str) -> tuple[Possible, ...]:
        """Return what a seat may do next after the orders entered so far."""
        session = self._session_if_due(seat, moment)
        if session is None:
            return ()
        return possibilities(session.require_game(), session.state, seat, entered)

    def plays(self, seat: Seat, moment: str) -> tuple[Play, ...]:
        """Return the actions that a seat can tap on its board now.

        Empty unless only this seat has to act.
        """
        session = self._session_if_due(seat, moment)
        if session is None or session.awaited_seats != {seat}:
            return ()
        return tuple(session.require_game().plays(session.state, seat))

    def _session_if_due(self, seat: Seat, moment: str) -> Session | None:
        """Return the session if the seat has to act at this moment, else None."""
        session = self._store.session
        return session if moment == session.moment and seat in session.awaited_seats else None
