"""Test a tournament's round at a table: the key that begins its game, and the result at the hub."""

from __future__ import annotations

from pathlib import Path

from hub_tools import running_hub
from internals import app_of, session_of
from simulated_room import local_settings
from waiting import until
from web_fixtures import page_text

from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.league.tournament import BoardPlace, BoardVerdict, PairingSystem
from companion.league.tournament_rules import board_at, new_tournament
from companion.service.app import Companion

BEGIN_ROUND = "/api/seat/south/begin-round"


def test_a_phone_begins_the_rounds_game(tmp_path: Path) -> None:
    settings = local_settings(tmp_path / "table", table=TableSettings(reading_time_s=0.1))
    with (
        running_hub(tmp_path / "hub") as hub,
        Companion(settings, simulate=True) as companion,
    ):
        phone = app_of(companion.server).test_client()

        def has_key() -> bool:
            """Return whether South's phone has the key that begins the round's game."""
            return BEGIN_ROUND in page_text(phone, "/seat/south")

        # a tournament of two people, who sit at the table
        companion.hub.join(hub.urls()[0], hub.table_join_code.code, sends_names=False)
        until("the table reports its state", lambda: (table := hub.room.table(1)) and table.state)
        league = hub.league
        cup = league.tournaments.add(
            new_tournament(
                "Cup", PairingSystem.SWISS, "scouts", {"seconds": 300}, rounds=1, minutes=0
            )
        )
        for name in ("Mara", "Jonas"):
            league.tournaments.enter(cup.id, league.cards.create(name).number)
        companion.table.take_seat(Seat.NORTH, "Jonas")
        phone.post("/api/seat/south/take", json={"name": "Mara"})
        assert not has_key()

        # the round is paired, and South begins its game with the options of the tournament
        league.tournaments.pair_round(cup.id)
        until("the phone has the key", has_key)
        assert "Round 1: " in page_text(phone, "/seat/south")
        assert phone.post(BEGIN_ROUND, json={}).status_code == 200
        assert companion.table.view().game == "scouts"
        assert session_of(companion.table).options.seconds == 300
        assert not has_key()

        # North resigns, so South has won the only board of the round
        companion.table.confirm("host", companion.table.view().moment, 0, force=True)
        companion.table.resign(Seat.NORTH)
        verdict = until(
            "the result reaches the tournament",
            lambda: board_at(league.tournaments.find(cup.id), BoardPlace(0, 0, 0)).verdict,
        )
        assert verdict is BoardVerdict.SOUTH
        until(
            "the table has no other game of the round",
            lambda: not companion.table.view().match.round_players,
        )
        assert not has_key()


def test_joining_drops_the_round_of_an_earlier_hub(tmp_path: Path) -> None:
    """The earlier hub can no longer clear it, and the new hub has not paired it."""
    with (
        running_hub(tmp_path / "hub") as hub,
        Companion(local_settings(tmp_path / "table"), simulate=True) as companion,
    ):
        companion.table.set_round("Round 1: Mara sits at South, Jonas at North.", ("scouts", {}))
        companion.hub.join(hub.urls()[0], hub.table_join_code.code, sends_names=False)
        assert not companion.table.view().match.round_players
