"""Test a whole club evening by values: 64 people, eight rounds and twenty tables at one league.

Tables crash and send records again, people forget to show their cards, and the hub is killed again
and again.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from league_tools import assert_sound, count_byes, south_surplus

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.league import tournament_rules
from companion.league.league import League
from companion.league.standings import standings
from companion.league.tournament import PairingSystem, Tournament
from companion.table.public.messages import PublicRecord, PublicView
from companion.table.session import Phase

GAME = "scouts"


class Evening:
    """A league on a real file, and the hub's store: all records that tables have sent so far."""

    def __init__(self, folder: Path, tables: int, seed: int) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.rng = Random(seed)
        self.tables = [f"table{number:02}" for number in range(tables)]
        # the table, the record, and the time at which the hub has stored it
        self.sent_records: list[tuple[str, PublicRecord, float]] = []
        # number of the last journal entry and of the last game, by table
        self.entries = dict.fromkeys(self.tables, 0)
        self.games = dict.fromkeys(self.tables, 0)
        self.start()

    def start(self) -> None:
        """Open the league, and let it process the records that it does not have yet."""
        self.league = League(self.folder, self.clock, lambda: self.tables)
        self.process()

    def kill(self) -> None:
        """Restart the league. The store sends it all records that it has not processed yet."""
        self.league.close()
        self.start()

    def process(self, limit: int | None = None) -> None:
        """Let the league process the records that are new to it, or at most `limit` of them."""
        start = self.league.results.sequence
        end = None if limit is None else start + limit
        for sequence, (table, record, at_s) in enumerate(self.sent_records[start:end], start + 1):
            self.league.results.process_record(table, record, at_s, sequence)

    def send(self, table: str, what: str, view: PublicView, cards: dict[Seat, str]) -> None:
        """Send the record of a table's next input. `what` is its name, and `view` follows it."""
        self.entries[table] += 1
        entry = self.entries[table]
        record = PublicRecord(
            entry, f"{table}-{entry}", 0, what, self.games[table], 0.0, view, cards=cards
        )
        self.sent_records.append((table, record, self.clock.wall_s()))

    def play(self, table: str, cards: dict[Seat, str]) -> None:
        """Play a game to its end. Now and then the table crashes on the way, and goes on."""
        self.games[table] += 1
        self.send(table, "new_game", PublicView(Phase.SETUP, game=GAME), cards)
        for _ in range(self.rng.randrange(3)):
            self.send(table, "hand_in", PublicView(Phase.ORDERS, game=GAME), cards)
        # a table that has crashed while sending a record sends the record again
        if self.rng.random() < 0.1:
            self.sent_records.append(self.sent_records[-1])
        winners = self.rng.choice(((Seat.SOUTH,), (Seat.NORTH,), ()))
        over = PublicView(Phase.OVER, game=GAME, winners=winners)
        self.send(table, "hand_in", over, cards)
        # the last turn is undone, then a seat resigns
        if self.rng.random() < 0.1:
            self.send(table, "undo", PublicView(Phase.SETUP, game=GAME), cards)
            self.send(table, "resign", over, cards)

    @property
    def tournament(self) -> Tournament:
        tournament = self.league.tournaments.find(1)
        assert tournament is not None
        return tournament


def play_round(evening: Evening) -> None:
    """Play all boards of the current round at the tables that have one."""
    while not (current := evening.tournament.round) or not current.is_decided:
        places = tournament_rules.open_places_by_table(evening.tournament)
        assert places, "no table has an open board"
        for table, place in sorted(places.items(), key=lambda _: evening.rng.random()):
            evening.clock.advance(60)
            board = tournament_rules.board_at(evening.tournament, place)
            cards = {}
            for seat, number in ((Seat.SOUTH, board.south), (Seat.NORTH, board.north)):
                person = evening.league.cards.find(number)
                assert person
                # a fifth of the people do not show their cards
                if evening.rng.random() < 0.8:
                    evening.league.cards.note_shown_at_table(person, table)
                    cards[seat] = person.id
            evening.play(table, cards)
            # a second game at the same table, which must not count
            if evening.rng.random() < 0.1:
                evening.play(table, cards)
            # the hub is killed when it has processed only some of the records
            if evening.rng.random() < 0.15:
                evening.process(evening.rng.randrange(4))
                evening.kill()
            evening.process()


def test_64_people_play_eight_rounds_despite_crashes(tmp_path: Path) -> None:
    # 64 people enter a tournament
    evening = Evening(tmp_path, tables=20, seed=1)
    league = evening.league
    people = [league.cards.create(f"Name {number}").number for number in range(64)]
    cup = league.tournaments.add(
        tournament_rules.new_tournament(
            "Club evening", PairingSystem.SWISS, GAME, {}, rounds=8, minutes=30
        )
    )
    for person in people:
        league.tournaments.enter(cup.id, person)

    # they play eight rounds, and entrant 7 withdraws after the fourth
    for rounds_played in range(8):
        evening.clock.advance(600)
        if rounds_played == 4:
            evening.league.tournaments.apply_action(
                cup.id, lambda tournament: tournament_rules.withdraw(tournament, 7)
            )
        evening.league.tournaments.pair_round(cup.id)
        assert len(tournament_rules.open_places_by_table(evening.tournament)) == 20
        evening.kill()
        play_round(evening)

    # each board was decided by one game, and sides are balanced
    tournament = evening.tournament
    assert_sound(tournament)
    assert len(tournament.rounds) == 8
    boards = [
        board for played in tournament.rounds for match in played.matches for board in match.boards
    ]
    assert all(board.is_played and board.key for board in boards)
    assert len({board.key for board in boards}) == len(boards), "a game has decided two boards"
    surpluses = [south_surplus(tournament, entrant.number) for entrant in tournament.entrants]
    assert max(map(abs, surpluses)) <= 2
    # two half points for each board, and for each bye
    half_points = sum(row.half_points for row in standings(tournament))
    byes = sum(count_byes(tournament, entrant.number) for entrant in tournament.entrants)
    assert half_points == 2 * len(boards) + 2 * byes

    # a restart changes nothing, and no game has two results
    evening.kill()
    assert evening.tournament == tournament
    results = evening.league.results.latest(10_000)
    assert len({stored.result.key for stored in results}) == len(results)
    evening.league.close()
