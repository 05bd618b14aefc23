"""A club's evening: 64 people, eight rounds, twenty tables that crash, a hub that is killed again
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
    """The hub's league on a real file, and what its store holds: everything that tables have told
    so far.
    """

    def __init__(self, folder: Path, tables: int, seed: int) -> None:
        self.folder, self.clock, self.rng = folder, FakeClock(), Random(seed)
        self.tables = [f"table{number:02}" for number in range(tables)]
        self.told: list[tuple[str, PublicRecord, float]] = []
        self.entries = dict.fromkeys(self.tables, 0)
        self.games = dict.fromkeys(self.tables, 0)
        self.start()

    def start(self) -> None:
        self.league = League(self.folder, self.clock, lambda: self.tables)
        self.hear()

    def kill(self) -> None:
        """Kill the hub and start it again. Its store sends everything from where it was."""
        self.league.close()
        self.start()

    def hear(self, most: int | None = None) -> None:
        first = self.league.results.sequence
        for sequence, (table, record, at_s) in enumerate(
            self.told[first : None if most is None else first + most]
        ):
            self.league.results.process_record(table, record, at_s, first + sequence + 1)

    def tell(self, table: str, what: str, view: PublicView, cards: dict[Seat, str]) -> None:
        self.entries[table] += 1
        entry = self.entries[table]
        record = PublicRecord(
            entry, f"{table}-{entry}", 0, what, self.games[table], 0.0, view, cards=cards
        )
        self.told.append((table, record, self.clock.wall_s()))

    def play(self, table: str, cards: dict[Seat, str]) -> None:
        """Play a game to its end. Now and then the table crashes on the way and goes on."""
        self.games[table] += 1
        self.tell(table, "new_game", PublicView(Phase.SETUP, game=GAME), cards)
        for _ in range(self.rng.randrange(3)):
            self.tell(table, "hand_in", PublicView(Phase.ORDERS, game=GAME), cards)
        if self.rng.random() < 0.1:
            self.told.append(self.told[-1])  # what was told as the table crashed is told once more
        winners = self.rng.choice(((Seat.SOUTH,), (Seat.NORTH,), ()))
        over = PublicView(Phase.OVER, game=GAME, winners=winners)
        self.tell(table, "hand_in", over, cards)
        if self.rng.random() < 0.1:  # the last turn is taken back, and played again
            self.tell(table, "undo", PublicView(Phase.SETUP, game=GAME), cards)
            self.tell(table, "resign", over, cards)

    @property
    def now(self) -> Tournament:
        found = self.league.tournaments.find(1)
        assert found is not None
        return found


def play_round(evening: Evening) -> None:
    """Play all boards of a round, wherever there is a table."""
    while not (current := evening.now.round) or not current.is_decided:
        seated = tournament_rules.open_places_by_table(evening.now)
        assert seated
        for table, place in sorted(seated.items(), key=lambda _: evening.rng.random()):
            evening.clock.advance(60)
            board = tournament_rules.board_at(evening.now, place)
            cards = {}
            for seat, number in ((Seat.SOUTH, board.south), (Seat.NORTH, board.north)):
                person = evening.league.cards.find(number)
                assert person
                if evening.rng.random() < 0.8:  # the others forget their cards
                    evening.league.cards.note_shown_at_table(person, table)
                    cards[seat] = person.id
            evening.play(table, cards)
            if evening.rng.random() < 0.1:
                evening.play(table, cards)  # they like it so much that they play once more
            if evening.rng.random() < 0.15:
                evening.hear(evening.rng.randrange(4))
                evening.kill()
            evening.hear()


def test_64_people_play_eight_rounds_whatever_crashes(tmp_path: Path) -> None:
    evening = Evening(tmp_path, 20, 1)
    league = evening.league
    people = [league.cards.create(f"Name {number}").number for number in range(64)]
    made = league.tournaments.add(
        tournament_rules.new_tournament(
            "Club evening", PairingSystem.SWISS, GAME, {}, rounds=8, minutes=30
        )
    )
    for person in people:
        league.tournaments.enter(made.id, person)
    for number in range(8):
        evening.clock.advance(600)
        if number == 4:
            evening.league.tournaments.apply_action(
                made.id, lambda t: tournament_rules.withdraw(t, 7)
            )
        evening.league.tournaments.pair_round(made.id)
        assert len(tournament_rules.open_places_by_table(evening.now)) == 20
        evening.kill()
        play_round(evening)
    tournament = evening.now
    assert_sound(tournament)
    assert len(tournament.rounds) == 8
    boards = [
        board for each in tournament.rounds for match in each.matches for board in match.boards
    ]
    assert all(board.is_played and board.key for board in boards)
    assert len({board.key for board in boards}) == len(boards)  # each game decided one board
    assert max(abs(south_surplus(tournament, e.number)) for e in tournament.entrants) <= 2
    total = sum(row.half_points for row in standings(tournament))
    assert total == 2 * len(boards) + 2 * sum(
        count_byes(tournament, e.number) for e in tournament.entrants
    )
    evening.kill()
    assert evening.now == tournament
    results = evening.league.results.latest(10_000)
    assert len({kept.result.key for kept in results}) == len(results)
    evening.league.close()
