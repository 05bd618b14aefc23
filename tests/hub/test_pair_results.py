"""Test the results of games at two tables: one result for both tables, and the evening's score.

A result counts only if both tables report it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec
from hub_tools import TableAtHub, records_at_hub
from internals import session_of
from pair_tools import begin_linked_game, phases, play, two_tables
from waiting import until

from companion.archive.history import History
from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.hub.joining import fetch_card_id
from companion.hub_server.app import Hub
from companion.table.public.messages import PublicPair
from companion.table.session import Phase


def evening_score(table: TableAtHub) -> dict[str, int]:
    """Return the evening's score by name, as the table shows it after its last game."""
    number = session_of(table.table).game_number
    history = History(
        table.journal, table.folder / "history", table.clock, find_current_game=lambda: number
    )
    finale = history.finale(number)
    assert finale
    assert finale.evening_score
    line = history.line(number)
    assert line
    names = {seat: sitters[-1].name for seat, sitters in line.players.items()}
    return {names[seat]: wins for seat, wins in finale.evening_score.items()}


def test_the_evening_score_follows_names(hub: Hub, tmp_path: Path) -> None:
    """Each person wins one game of Scouts, and both tables count both games."""
    with two_tables(hub, tmp_path) as tables:
        south, north = tables
        south.table.take_seat(Seat.SOUTH, "Mara")
        north.table.take_seat(Seat.NORTH, "Jonas")
        begin_linked_game(tables, "scouts")

        def set_up_and_resign(table: TableAtHub) -> None:
            """Set up both boards, then let the player of a table resign."""
            remote = session_of(table.table).remote
            assert remote

            def are_set_up() -> bool:
                for table_of_pair in tables:
                    confirm_setup(table_of_pair)
                return phases(tables) == [Phase.ORDERS] * 2

            until("both boards are set up", are_set_up)
            table.table.resign(remote.own_seat)
            until("the game is over at both tables", lambda: phases(tables) == [Phase.OVER] * 2)

        set_up_and_resign(south)
        assert evening_score(south) == evening_score(north) == {"Mara": 0, "Jonas": 1}

        begin_linked_game(tables, "scouts")
        set_up_and_resign(north)
        assert evening_score(south) == evening_score(north) == {"Mara": 1, "Jonas": 1}
        assert session_of(south.table).score == session_of(north.table).score == (1, 0, 0)


def confirm_setup(table: TableAtHub) -> None:
    """Confirm the set-up of the board if the table waits for it."""
    session = session_of(table.table)
    if session.phase is Phase.SETUP and session.remote and not session.remote.has_reported_stage:
        with suppress(CompanionError):
            table.table.confirm("host", session.moment, session.stage_index)


def test_two_tables_report_one_result(hub: Hub, tmp_path: Path) -> None:
    mara, jonas = (hub.league.cards.create(name) for name in ("Mara", "Jonas"))
    with two_tables(hub, tmp_path / "tables") as tables:
        south, _ = tables
        begin_linked_game(tables)
        for table, seat, person in zip(tables, Seat, (mara, jonas), strict=True):
            table.table.take_seat(seat, person.name)
            table.table.show_card(seat, fetch_card_id(table.member, person.code))
        pair_id = session_of(south.table).remote.remote_seat.id  # type: ignore[union-attr]
        key = f"pair.{pair_id}"
        play(tables, Random(7))
        until(
            "both reports arrive",
            lambda: (stored := hub.league.results.find(key)) and stored.result.own_seat is None,
        )
        stored = hub.league.results.find(key)
        assert stored is not None
        assert (stored.south, stored.north) == (mara.number, jonas.number)
        outcome = session_of(south.table).outcome
        assert outcome is not None
        assert {stored.result.winner} - {None} == set(outcome.winners)

        # a record of a pair to which this table does not belong
        forged = msgspec.structs.replace(
            records_at_hub(hub, south.member.table_id)[-1],
            epoch=9,
            pair=PublicPair("f" * 16, Seat.SOUTH),
        )
        sequence = hub.league.results.sequence + 1
        hub.nats_connection.handle_record(
            south.member.table_id, forged, age_s=0.0, sequence=sequence, stored_at_s=0.0
        )
        assert hub.league.results.find("pair." + "f" * 16) is None
