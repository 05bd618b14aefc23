"""What comes of games at two tables: one result for both, also where they disagree, and the score
of the evening.
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


def evenings(tables: list[TableAtHub]) -> list[dict[str, int] | None]:
    """Return the score of the evening by names, as each table shows it after the last game."""
    found: list[dict[str, int] | None] = []
    for table in tables:
        number = session_of(table.table).number
        past = History(
            table.journal,
            table.folder / "history",
            table.clock,
            current_game=lambda number=number: number,
        )
        finale = past.finale(number)
        assert finale
        names = {seat: sitters[-1].name for seat, sitters in past.line(number).players.items()}  # type: ignore[union-attr]
        found.append(
            finale.evening_score
            and {names[seat]: wins for seat, wins in finale.evening_score.items()}
        )
    return found


def test_the_score_of_the_evening_goes_by_names(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as tables:
        south, north = tables
        south.table.take_seat(Seat.SOUTH, "Mara")
        north.table.take_seat(Seat.NORTH, "Jonas")
        begin_linked_game(tables, "scouts")

        def gives_up(table: TableAtHub) -> None:
            remote = session_of(table.table).remote
            assert remote
            until(
                "it is set up",
                lambda: [confirm(each) for each in tables] and phases(tables) == [Phase.ORDERS] * 2,
            )
            table.table.resign(remote.own_seat)
            until("it is over", lambda: phases(tables) == [Phase.OVER] * 2)

        gives_up(south)
        assert evenings(tables) == [{"Mara": 0, "Jonas": 1}] * 2
        begin_linked_game(tables, "scouts")
        gives_up(north)
        assert evenings(tables) == [{"Mara": 1, "Jonas": 1}] * 2
        assert session_of(south.table).score == session_of(north.table).score == (1, 0, 0)


def confirm(table: TableAtHub) -> bool:
    """Confirm the set-up of the board, if that is asked for."""
    session = session_of(table.table)
    if session.phase is Phase.SETUP and session.remote and not session.remote.has_reported_stage:
        with suppress(CompanionError):
            table.table.confirm("host", session.moment, session.stage_index)
    return True


def test_a_game_at_two_tables_is_one_result(hub: Hub, tmp_path: Path) -> None:
    mara, jonas = (hub.league.cards.create(name) for name in ("Mara", "Jonas"))
    with two_tables(hub, tmp_path / "tables") as tables:
        begin_linked_game(tables)
        for table, seat, person in zip(tables, Seat, (mara, jonas), strict=True):
            table.table.take_seat(seat, person.name)
            table.table.show_card(seat, fetch_card_id(table.member, person.code))
        pair = session_of(tables[0].table).remote.remote_seat.id  # type: ignore[union-attr]
        key = f"pair.{pair}"
        play(tables, Random(7))
        until(
            "both have told it",
            lambda: (told := hub.league.results.find(key)) and told.result.own_seat is None,
        )
        whole = hub.league.results.find(key)
        assert whole is not None
        assert (whole.south, whole.north) == (mara.number, jonas.number)
        outcome = session_of(tables[0].table).outcome
        assert outcome is not None
        assert {whole.result.winner} - {None} == set(outcome.winners)
        forged = msgspec.structs.replace(
            records_at_hub(hub, tables[0].member.table_id)[-1],
            epoch=9,
            pair=PublicPair("f" * 16, Seat.SOUTH),
        )
        sequence = hub.league.results.sequence + 1
        hub.nats_connection.handle_record(tables[0].member.table_id, forged, 0.0, sequence, 0.0)
        assert hub.league.results.find("pair." + "f" * 16) is None
