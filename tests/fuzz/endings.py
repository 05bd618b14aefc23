"""Checks at the end of a fuzzed game: it can be played on, and its journal restores it."""

from __future__ import annotations

from random import Random
from typing import Any

from internals import session_of
from table_tools import follow_instructions

from companion.storage.journal import Journal
from companion.table.session import Phase, Session
from companion.table.table import Table


def restorable_parts(session: Session) -> tuple[Any, ...]:
    """Return the parts of a session that its journal must restore."""
    return (
        session.seats, session.game_number, session.seed, session.state, session.phase,
        session.tick, session.sealed, session.stage_index, session.turns,
        session.layout, session.outcome, session.score, session.draw_offer,
    )  # fmt: skip


def check_replay(table: Table, journal: Journal) -> None:
    """Check that the journal restores the table as it is."""
    session, current = journal.restore(), session_of(table)
    assert not journal.notice, journal.notice
    # Once a game is over, the table goes to the lobby, but does not write that to the journal.
    if current.phase is Phase.LOBBY and session.phase is Phase.OVER:
        session = session.lobby
    restored, now = restorable_parts(session), restorable_parts(current)
    assert restored == now, (
        "the journal restores another table: "
        f"{[pair for pair in zip(restored, now, strict=True) if pair[0] != pair[1]]}"
    )


def follow_and_resume(table: Table) -> None:
    """Carry out all instructions, and let paused clocks run."""
    follow_instructions(table)
    if session_of(table).paused_by:
        table.resume("host")


def play_turns(table: Table, turns: int, rng: Random) -> None:
    """Play some turns with random actions of all awaited seats. Check that each turn ends."""
    for _ in range(turns):
        follow_and_resume(table)
        moment = ""
        # Several clocks may have run out meanwhile, and each step handles only one of them.
        while moment != table.view().moment:
            moment = table.view().moment
            table.step()
        session = session_of(table)
        if session.phase is not Phase.ORDERS:
            break
        for seat in sorted(session.awaited_seats):
            action = session.require_game().random_action(session.state, seat, rng)
            table.hand_in(seat, session.moment, session.require_game().format(action))
        after = session_of(table)
        has_ended = after.moment != session.moment or after.phase is not Phase.ORDERS
        assert has_ended, "the turn does not end although all actions are handed in"


def check_game_goes_on(table: Table, journal: Journal, turns: int) -> None:
    """Check that the journal restores the table, now and after so many more turns."""
    check_replay(table, journal)
    play_turns(table, turns, Random(1))
    check_replay(table, journal)
