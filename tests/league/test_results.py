"""Test how a league makes results of the records that tables send, by values and real journals.

A game gives one result, however often it is sent. Undone games, lessons, games against the machine,
and games at two tables that only one of them has reported do not count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from hub_room import make_result, open_league
from internals import simulate_full_disk
from table_tools import TableRig, follow_instructions

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed, SystemTrouble
from companion.core.kit import SEATS, Seat
from companion.league.league import League
from companion.league.league_file import LeagueFile, put
from companion.league.people import PlayerCard, shown_name
from companion.league.ratings import rate_players
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicPair

TABLE_ID = "a" * 16


class ReportingTable:
    """A table with a journal, which sends its records to a league. `name` is its id at the hub."""

    def __init__(self, folder: Path, clock: FakeClock, name: str = TABLE_ID) -> None:
        self.name, self.clock = name, clock
        folder.mkdir(exist_ok=True)
        self.journal = Journal(folder / "journal.sqlite")
        self.rig = TableRig(self.journal, clock)
        self.table = self.rig.table
        self.sequence = 0

    def sit(self, league: League, *people: PlayerCard) -> None:
        """Seat people, South's first, and show their cards at this table."""
        for seat, person in zip(SEATS, people, strict=False):
            self.table.take_seat(seat, "somebody")
            league.cards.note_shown_at_table(person, self.name)
            self.table.show_card(seat, person.id)

    def sit_two(self, league: League) -> None:
        """Seat Mara at South and Jonas at North, the league's first two people."""
        self.sit(league, league.cards.create("Mara"), league.cards.create("Jonas"))

    def play(self, loser: Seat | None, game: str = "scouts") -> None:
        """Play a game until somebody resigns, or until both agree on a draw if `loser` is None."""
        self.table.new_game(game, {}, seed=1)
        self.rig.confirm()
        if loser:
            self.table.resign(loser)
        else:
            self.table.offer_draw(Seat.SOUTH)
            self.table.offer_draw(Seat.NORTH)

    def send(self, league: League, epoch: int = 0, after: int = 0) -> None:
        """Send all records of the journal after the entry with this number, under an epoch."""
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
def reporter(tmp_path: Path, clock: FakeClock) -> Iterator[ReportingTable]:
    table = ReportingTable(tmp_path / "table", clock)
    yield table
    table.close()


def test_a_game_sent_repeatedly_is_one_result(league: League, reporter: ReportingTable) -> None:
    reporter.sit_two(league)
    reporter.play(Seat.NORTH)
    # The records are sent, and then sent again. A higher epoch means that the hub has lost its
    # store or the table its journal.
    for epoch in (0, 0, 1, 2):
        reporter.send(league, epoch)
    (stored,) = league.results.latest(10)
    assert (stored.south, stored.north, stored.result.winner) == (1, 2, Seat.SOUTH)
    assert Outbox(reporter.journal).mark_of(stored.result.entry) == stored.result.mark
    assert [row.person for row in league.ratings("scouts")] == [1, 2]
    assert league.ratings("outbuffered") == ()

    # a draw in a second game
    reporter.play(loser=None)
    reporter.send(league, 2)
    rows = league.ratings("scouts")
    assert [(row.won, row.drawn, row.lost) for row in rows] == [(1, 1, 0), (0, 1, 1)]


def test_undoing_the_last_turn_removes_the_result(league: League, reporter: ReportingTable) -> None:
    reporter.sit_two(league)
    reporter.table.new_game("scouts", {}, seed=1)
    reporter.rig.confirm()
    seat = next(seat for seat in SEATS if reporter.rig.view.seats[seat].is_awaited)
    play = reporter.table.coaching.plays(seat, reporter.rig.view.moment)[0].text
    reporter.rig.hand_in(seat, play)
    follow_instructions(reporter.table)
    reporter.table.resign(Seat.SOUTH)
    reporter.send(league)
    assert len(league.results.latest(10)) == 1

    # the turn before the end is undone, so the game goes on
    reporter.table.undo()
    reporter.send(league)
    assert league.results.latest(10) == []

    # it ends again, with another winner
    reporter.rig.confirm(force=True)
    reporter.table.resign(Seat.NORTH)
    reporter.send(league)
    (stored,) = league.results.latest(10)
    assert stored.result.winner is Seat.SOUTH


def test_lessons_and_unknown_cards_count_for_nobody(
    league: League, reporter: ReportingTable
) -> None:
    # a game that is abandoned, and a lesson
    reporter.sit_two(league)
    reporter.table.new_game("scouts", {}, seed=1)
    reporter.table.abandon()
    reporter.table.begin_lesson("scouts")
    reporter.rig.confirm()
    reporter.table.resign(Seat.NORTH)
    reporter.send(league)
    assert league.results.latest(10) == []

    # a game with cards that were shown only at other tables
    for seat, name in zip(SEATS, ("Ada", "Ben"), strict=True):
        reporter.table.free_seat(seat)
        reporter.table.take_seat(seat, name)
        # a table could copy the id of a card. The hub was not asked for it by a code here
        card = league.cards.create(name).id
        reporter.table.show_card(seat, card)
    reporter.play(Seat.NORTH)
    reporter.send(league)
    (result,) = league.results.latest(10)
    assert (result.south, result.north) == (None, None)


def test_games_against_the_machine_do_not_count(league: League, reporter: ReportingTable) -> None:
    reporter.sit(league, league.cards.create("Mara"))
    reporter.table.machines.seat_machine(Seat.NORTH, "Bo")
    reporter.play(Seat.NORTH)
    reporter.send(league)
    assert len(league.results.latest(10)) == 1
    assert league.ratings("scouts") == ()


def test_a_forgotten_name_is_in_no_file(
    tmp_path: Path, clock: FakeClock, reporter: ReportingTable
) -> None:
    """The results of a forgotten person stay, under the person's number."""
    folder = tmp_path / "hub"
    folder.mkdir()
    with open_league(folder, clock) as league:
        gertrude = league.cards.create("Gertrude")
        jonas = league.cards.create("Jonas", is_name_public=False)
        reporter.sit(league, gertrude, jonas)
        reporter.play(Seat.NORTH)
        reporter.send(league)
        assert (shown_name(gertrude), shown_name(jonas)) == ("Gertrude", "Player 2")

        league.cards.forget(gertrude.number)
        assert league.cards.find_by_code(gertrude.code) is None
        with pytest.raises(Illegal):
            league.cards.change(1, "Gertrude", True)
        assert shown_name(league.cards.find(1)) == "Player 1"
        assert league.cards.create("New").number == 3, "a forgotten number was given again"

    for file in folder.iterdir():
        assert b"Gertrude" not in file.read_bytes(), file
        assert gertrude.code.encode() not in file.read_bytes(), file
    with open_league(folder, clock) as league:
        assert [row.person for row in league.ratings("scouts")] == [1, 2]


def test_a_void_result_does_not_count(league: League, reporter: ReportingTable) -> None:
    reporter.sit_two(league)
    reporter.play(Seat.NORTH)
    reporter.send(league)
    (stored,) = league.results.latest(1)
    for is_void, people in ((True, []), (False, [1, 2])):
        league.results.set_void(stored.result.key, is_void)
        assert [row.person for row in league.ratings("scouts")] == people


def test_ratings_find_the_stronger() -> None:
    rng = Random(1)
    games = []
    for number in range(3000):
        south, north = rng.sample(range(1, 61), 2)
        # the lower number always wins
        winner = Seat.SOUTH if south < north else Seat.NORTH
        games.append(make_result(south, north, winner, at_s=number))
    rows = rate_players(games)
    assert len(rows) == 60
    strong_among_first = sum(row.person <= 20 for row in rows[:20])
    assert strong_among_first >= 17
    # the order in which results come from the file does not matter
    assert rows == rate_players(reversed(games))


def test_a_linked_game_counts_once_both_tables_agree(
    league: League, reporter: ReportingTable, tmp_path: Path, clock: FakeClock
) -> None:
    other_table = ReportingTable(tmp_path / "other", clock, "b" * 16)
    people = [league.cards.create("Mara"), league.cards.create("Jonas")]
    tables = (reporter, other_table)
    for table, seat, person in zip(tables, SEATS, people, strict=True):
        table.table.take_seat(seat, "somebody")
        league.cards.note_shown_at_table(person, table.name)
        table.table.show_card(seat, person.id)

    def send(pair: str, epoch: int, *losers: Seat) -> None:
        """Play the linked game at one or both tables, each with its loser, and send its records."""
        for table, seat, table_loser in zip(tables, SEATS, losers, strict=False):
            table.play(table_loser)
            game = table.rig.view.moment.partition(".")[0]
            outbox = Outbox(table.journal)
            outbox.seek(0, epoch)
            while record := outbox.next():
                reporter.sequence += 1
                if record.view.moment.startswith(f"{game}."):
                    record = msgspec.structs.replace(record, pair=PublicPair(pair, seat))
                    league.results.process_record(
                        table.name, record, clock.wall_s(), reporter.sequence
                    )
                outbox.note_sent()

    # South's table alone reports that North has lost
    send("0" * 16, 0, Seat.NORTH)
    assert league.ratings("scouts") == ()
    assert league.results.find("pair." + "0" * 16).result.own_seat is Seat.SOUTH  # type: ignore[union-attr]

    # both tables report it
    send("0" * 16, 1, Seat.NORTH, Seat.NORTH)
    (stored,) = league.results.latest(10)
    assert (stored.south, stored.north) == (1, 2)
    assert (stored.result.winner, stored.result.own_seat) == (Seat.SOUTH, None)
    assert [(row.person, row.won) for row in league.ratings("scouts")] == [(1, 1), (2, 0)]

    # in another game the two tables disagree
    send("1" * 16, 3, Seat.NORTH, Seat.SOUTH)
    assert [row.won for row in league.ratings("scouts")] == [1, 0]
    other_table.close()


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with contextlib.closing(LeagueFile(tmp_path)) as file:
        simulate_full_disk(file)
        person = PlayerCard(1, "card", "abcdefgh", "x" * 100_000)
        with pytest.raises(SystemTrouble, match=r"league\.sqlite cannot be used: .* is full"):
            file.write(put("people", 1, person))
        assert file.cards() == []


def test_a_card_needs_its_own_occupied_seat(league: League, reporter: ReportingTable) -> None:
    mara = league.cards.create("Mara")
    with pytest.raises(Illegal, match="Nobody sits at South"):
        reporter.table.show_card(Seat.SOUTH, mara.id)
    reporter.sit(league, mara)
    reporter.table.take_seat(Seat.NORTH, "x")
    with pytest.raises(Illegal, match="at the other seat already"):
        reporter.table.show_card(Seat.NORTH, mara.id)
    # not about seats: a name that cannot be shown
    with pytest.raises(Malformed):
        league.cards.create("a\x00b")
