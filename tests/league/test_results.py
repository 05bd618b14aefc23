"""Results come from what tables tell, each once: whatever is told twice, taken back, or told by
somebody else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from hub_room import open_league
from internals import simulate_full_disk
from table_tools import TableRig, follow_instructions

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed, SystemTrouble
from companion.core.kit import SEATS, Seat
from companion.league.league import League
from companion.league.league_file import LeagueFile, put
from companion.league.people import PlayerCard, shown_name
from companion.league.ratings import rate_players
from companion.league.results import GameResult, ReportedPlayer, StoredResult
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicPair

TABLE = "a" * 16


class Told:
    """A table whose records are handed to a league."""

    def __init__(self, folder: Path, clock: FakeClock, name: str = TABLE) -> None:
        self.name, self.clock = name, clock
        folder.mkdir(exist_ok=True)
        self.journal = Journal(folder / "journal.sqlite")
        self.table = TableRig(self.journal, clock).table
        self.sequence = 0

    def sit(self, league: League, *people: PlayerCard) -> None:
        for seat, person in zip(SEATS, people, strict=False):
            self.table.take_seat(seat, "somebody")
            league.cards.note_shown_at_table(person, self.name)
            self.table.show_card(seat, person.id)

    def sit_two(self, league: League) -> None:
        """Seat Mara at South and Jonas at North, the league's first two people."""
        self.sit(league, league.cards.create("Mara"), league.cards.create("Jonas"))

    def play(self, loser: Seat | None, game: str = "scouts") -> None:
        """Play a whole game until somebody resigns (None: both agree on a draw)."""
        self.table.new_game(game, {}, seed=1)
        self.table.confirm("host", self.table.view().moment, 0)
        if loser:
            self.table.resign(loser)
        else:
            self.table.offer_draw(Seat.SOUTH)
            self.table.offer_draw(Seat.NORTH)

    def tell(self, league: League, epoch: int = 0, after: int = 0) -> None:
        """Send everything that is in the journal."""
        outbox = Outbox(self.journal)
        outbox.seek(after, epoch)
        while record := outbox.next():
            self.sequence += 1
            league.results.process_record(self.name, record, self.clock.wall_s(), self.sequence)
            outbox.note_sent()

    def close(self) -> None:
        self.table.close()
        self.journal.close()


@pytest.fixture
def told(tmp_path: Path, clock: FakeClock) -> Iterator[Told]:
    table = Told(tmp_path / "table", clock)
    yield table
    table.close()


def test_a_game_is_one_result_however_often_sent(league: League, told: Told) -> None:
    told.sit_two(league)
    told.play(Seat.NORTH)
    for epoch in (0, 0, 1, 2):  # the same once more, and from a store or a journal that was lost
        told.tell(league, epoch)
    (kept,) = league.results.latest(10)
    assert (kept.south, kept.north, kept.result.winner) == (1, 2, Seat.SOUTH)
    assert Outbox(told.journal).mark(kept.result.entry) == kept.result.mark
    assert [row.person for row in league.ratings("scouts")] == [1, 2]
    assert league.ratings("outbuffered") == ()
    told.play(None)
    told.tell(league, 2)
    rows = league.ratings("scouts")
    assert [(row.won, row.drawn, row.lost) for row in rows] == [(1, 1, 0), (0, 1, 1)]


def test_taking_the_last_turn_back_takes_the_result(league: League, told: Told) -> None:
    told.sit_two(league)
    told.table.new_game("scouts", {}, seed=1)
    told.table.confirm("host", told.table.view().moment, 0)
    seat = next(seat for seat in SEATS if told.table.view().seats[seat].is_awaited)
    play = told.table.coaching.plays(seat, told.table.view().moment)[0].text
    told.table.hand_in(seat, told.table.view().moment, play)
    follow_instructions(told.table)
    told.table.resign(Seat.SOUTH)
    told.tell(league)
    assert len(league.results.latest(10)) == 1
    told.table.undo()
    told.tell(league)
    assert league.results.latest(10) == []
    told.table.confirm("host", told.table.view().moment, 0, force=True)
    told.table.resign(Seat.NORTH)
    told.tell(league)
    (kept,) = league.results.latest(10)
    assert kept.result.winner is Seat.SOUTH


def test_what_is_no_result_counts_for_nothing(league: League, told: Told) -> None:
    told.sit_two(league)
    told.table.new_game("scouts", {}, seed=1)
    told.table.abandon()
    told.table.begin_lesson("scouts")
    told.table.confirm("host", told.table.view().moment, 0)
    told.table.resign(Seat.NORTH)
    told.tell(league)
    assert league.results.latest(10) == []
    for seat, name in zip(SEATS, ("Ada", "Ben"), strict=True):
        told.table.free_seat(seat)
        told.table.take_seat(seat, name)
        card = league.cards.create(name).id  # learned elsewhere, and never shown here
        told.table.show_card(seat, card)
    told.play(Seat.NORTH)
    told.tell(league)
    (result,) = league.results.latest(10)
    assert (result.south, result.north) == (None, None)


def test_games_against_the_machine_do_not_count(league: League, told: Told) -> None:
    told.sit(league, league.cards.create("Mara"))
    told.table.machines.seat_machine(Seat.NORTH, "Bo")
    told.play(Seat.NORTH)
    told.tell(league)
    assert len(league.results.latest(10)) == 1
    assert league.ratings("scouts") == ()


def test_a_forgotten_name_is_in_no_file(tmp_path: Path, clock: FakeClock, told: Told) -> None:
    folder = tmp_path / "hub"
    folder.mkdir()
    with open_league(folder, clock) as league:
        gertrude, jonas = league.cards.create("Gertrude"), league.cards.create("Jonas", False)
        told.sit(league, gertrude, jonas)
        told.play(Seat.NORTH)
        told.tell(league)
        assert (shown_name(gertrude), shown_name(jonas)) == ("Gertrude", "Player 2")
        league.cards.forget(1)
        assert league.cards.find_by_code(gertrude.code) is None
        with pytest.raises(Illegal):
            league.cards.change(1, "Gertrude", True)
        assert shown_name(league.cards.find(1)) == "Player 1"
        assert league.cards.create("New").number == 3
    for file in folder.iterdir():
        assert b"Gertrude" not in file.read_bytes(), file
        assert gertrude.code.encode() not in file.read_bytes(), file
    with open_league(folder, clock) as league:
        assert [row.person for row in league.ratings("scouts")] == [1, 2]


def test_a_void_result_does_not_count(league: League, told: Told) -> None:
    told.sit_two(league)
    told.play(Seat.NORTH)
    told.tell(league)
    (kept,) = league.results.latest(1)
    for is_void, people in ((True, []), (False, [1, 2])):
        league.results.set_void(kept.result.key, is_void)
        assert [row.person for row in league.ratings("scouts")] == people


def test_ratings_find_the_stronger() -> None:
    rng = Random(1)
    games = []
    for number in range(3000):
        one, other = rng.sample(range(1, 61), 2)
        winner = Seat.SOUTH if one < other else Seat.NORTH
        played = (
            "a" * 16,
            str(number),
            "scouts",
            {},
            number,
            number,
            ReportedPlayer(),
            ReportedPlayer(),
        )
        games.append(StoredResult(GameResult(*played, winner, 7, "mark"), one, other))
    rows = rate_players(games)
    assert len(rows) == 60
    assert sum(row.person <= 20 for row in rows[:20]) >= 17
    assert rows == rate_players(reversed(games))


def test_a_linked_game_counts_once_both_tables_agree(
    league: League, told: Told, tmp_path: Path, clock: FakeClock
) -> None:
    other = Told(tmp_path / "other", clock, "b" * 16)
    people = [league.cards.create("Mara"), league.cards.create("Jonas")]
    tables = (told, other)
    for table, seat, person in zip(tables, SEATS, people, strict=True):
        table.table.take_seat(seat, "somebody")
        league.cards.note_shown_at_table(person, table.name)
        table.table.show_card(seat, person.id)

    def tell(pair: str, epoch: int, *loser: Seat) -> None:
        """Send the game from each table's own side, with who has lost there."""
        for table, seat, lost in zip(tables, SEATS, loser, strict=False):
            table.play(lost)
            outbox = Outbox(table.journal)
            outbox.seek(0, epoch)
            while record := outbox.next():
                told.sequence += 1
                if record.view.moment.startswith(table.table.view().moment.partition(".")[0] + "."):
                    record = msgspec.structs.replace(record, pair=PublicPair(pair, seat))
                    league.results.process_record(table.name, record, clock.wall_s(), told.sequence)
                outbox.note_sent()

    tell("0" * 16, 0, Seat.NORTH)
    assert league.ratings("scouts") == ()  # one table alone can say what it likes
    assert league.results.find("pair." + "0" * 16).result.own_seat is Seat.SOUTH  # type: ignore[union-attr]
    tell("0" * 16, 1, Seat.NORTH, Seat.NORTH)
    (kept,) = league.results.latest(10)
    assert (kept.south, kept.north, kept.result.winner, kept.result.own_seat) == (
        1,
        2,
        Seat.SOUTH,
        None,
    )
    assert [(row.person, row.won) for row in league.ratings("scouts")] == [
        (1, 1),
        (2, 0),
    ]
    tell("1" * 16, 3, Seat.NORTH, Seat.SOUTH)  # they do not agree
    assert [row.won for row in league.ratings("scouts")] == [1, 0]
    other.close()


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with contextlib.closing(LeagueFile(tmp_path)) as file:
        simulate_full_disk(file)
        person = PlayerCard(1, "card", "abcdefgh", "x" * 100_000)
        with pytest.raises(SystemTrouble, match=r"league\.sqlite cannot be used: .* is full"):
            file.write(put("people", 1, person))
        assert file.cards() == []


def test_cards_are_refused_where_they_cannot_be(league: League, told: Told) -> None:
    mara = league.cards.create("Mara")
    with pytest.raises(Illegal, match="Nobody sits at South"):
        told.table.show_card(Seat.SOUTH, mara.id)
    told.sit(league, mara)
    told.table.take_seat(Seat.NORTH, "x")
    with pytest.raises(Illegal, match="at the other seat already"):
        told.table.show_card(Seat.NORTH, mara.id)
    with pytest.raises(Malformed):
        league.cards.create("a\x00b")
