"""The tournaments of a hub: applies actions of the director and results of tables, and logs
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import packed, say
from companion.league import director
from companion.league.league_file import Changes, Ledger, LogLine
from companion.league.player_cards import PlayerCards
from companion.league.ratings import Ladders
from companion.league.results import GameResult, KeptResult
from companion.league.tournament import Place, System, Tournament

DIRECTOR = "director"
UNRATED = 1500.0
"""Rating at which people without a rating enter."""


class TournamentKeeper:
    """Holds all tournaments and stores each change together with its line of the log."""

    def __init__(
        self,
        ledger: Ledger,
        cards: PlayerCards,
        ladders: Ladders,
        free_tables: Callable[[], Sequence[str]],
    ) -> None:
        self._ledger = ledger
        self._cards = cards
        self._ladders = ladders
        self._free_tables = free_tables
        self._tournaments = {tournament.id: tournament for tournament in ledger.store.tournaments()}

    def all(self) -> tuple[Tournament, ...]:
        """Return all tournaments, newest first."""
        with self._ledger.lock:
            return tuple(reversed(self._tournaments.values()))

    def of(self, number: int) -> Tournament | None:
        """Return the tournament with this number, or None."""
        return self._tournaments.get(number)

    @property
    def current(self) -> Tournament | None:
        """Return the newest tournament that has begun and is not over, else the newest that is not
        over.
        """
        on = [tournament for tournament in self.all() if not tournament.is_over]
        return next((tournament for tournament in on if tournament.rounds), on[0] if on else None)

    def new(
        self,
        name: str,
        system: System,
        game: str,
        options: Mapping[str, Any],
        *,
        rounds: int,
        minutes: int,
        team_size: int,
    ) -> Tournament:
        """Create a tournament without entrants. Raises `Malformed`."""
        with self._ledger.lock:
            number = max(self._tournaments, default=0) + 1
            tournament = director.new_tournament(
                number,
                name,
                system,
                game,
                dict(options),
                rounds=rounds,
                minutes=minutes,
                team_size=team_size,
            )
            self._store(tournament, LogLine(number, self._ledger.clock.wall_s(), DIRECTOR, "new"))
        return tournament

    def enter(
        self, number: int, people: Sequence[int], team: str = "", who: str = DIRECTOR
    ) -> Tournament:
        """Enter a person or a team with the current rating. Raises a `CompanionError`."""
        with self._ledger.lock:
            tournament = self._known(number)
            ratings = {rated.person: rated.rating for rated in self._ladders.of(tournament.game)}
            for person in people:
                self._cards.known(person)
            # the rating of a team is the mean of its people's ratings
            rating = sum(ratings.get(person, UNRATED) for person in people) / max(1, len(people))
            fresh = director.enter(tournament, people, rating, team)
            entrant = fresh.entrant_of(people[0])
            entry = entrant.number if entrant else 0
            self._store(fresh, LogLine(number, self._ledger.clock.wall_s(), who, "enter", entry))
        return fresh

    def direct(
        self,
        number: int,
        what: str,
        act: Callable[[Tournament], Tournament],
        *,
        entrant: int = 0,
        place: Place | None = None,
    ) -> Tournament:
        """Apply an action of the director and log it with what it changed. Raises a
        `CompanionError`.
        """
        with self._ledger.lock:
            before = self._known(number)
            after = act(before)
            others = [other for other in self._tournaments.values() if other.id != number]
            # the action may have opened boards that have no table yet
            after = director.seat(after, self._tables_without_board([*others, after], but=after))
            at_s = self._ledger.clock.wall_s()
            line = LogLine(number, at_s, DIRECTOR, what, entrant, place)
            if place is not None:
                ends = {
                    "before": _verdict_text(before, place),
                    "after": _verdict_text(after, place),
                }
                line = replace(line, **ends)
            self._store(after, line)
        return after

    def pair_round(self, number: int) -> Tournament:
        """Pair the next round and assign tables to its boards. Raises a `CompanionError`."""
        return self.direct(
            number, "pair", lambda before: director.pair_round(before, self._ledger.clock.wall_s())
        )

    def log(self, number: int) -> list[LogLine]:
        """Return the log of a tournament, newest line first."""
        return self._ledger.store.log(number)

    def seat_waiting(self) -> None:
        """Assign free tables to boards that wait for one."""
        with self._ledger.lock:
            for tournament in list(self._tournaments.values()):
                if tournament.is_over:
                    continue
                free = self._tables_without_board(self._tournaments.values(), but=tournament)
                fresh = director.seat(tournament, free)
                if fresh != tournament:
                    self._ledger.write(Changes(tournaments=[fresh]))
                    self._tournaments[tournament.id] = fresh
                    self._ledger.changed()

    def board_of(self, table: str) -> tuple[Tournament, Place] | None:
        """Return the open board that was paired at a table, with its tournament. None if there is
        none.
        """
        for tournament in self.all():
            if place := director.open_tables(tournament).get(table):
                return tournament, place
        return None

    def after(
        self, undone: Iterable[GameResult], kept: KeptResult | None, changes: Changes
    ) -> Mapping[int, Tournament]:
        """Return all tournaments after undoing some results and entering a new one.

        Changed tournaments and lines of the log are added to `changes`. The caller writes these,
        then passes the tournaments to `use`.
        """
        tournaments = dict(self._tournaments)
        for result in undone:
            self._take_back(result, tournaments, changes)
        if kept:
            self._report(kept, tournaments, changes)
        changes.tournaments = [
            tournament
            for number, tournament in tournaments.items()
            # tournaments are immutable, so a different object means a change
            if tournament is not self._tournaments.get(number)
        ]
        return tournaments

    def use(self, tournaments: Mapping[int, Tournament]) -> None:
        """Replace all tournaments with those that have just been written."""
        self._tournaments = dict(tournaments)

    def _take_back(
        self, result: GameResult, tournaments: dict[int, Tournament], changes: Changes
    ) -> None:
        for number, tournament in tournaments.items():
            fresh = director.take_back(tournament, result.key, result.table)
            if fresh is not None:
                tournaments[number] = fresh
                changes.log.append(
                    LogLine(number, self._ledger.clock.wall_s(), result.table, "take_back")
                )

    def _report(
        self, kept: KeptResult, tournaments: dict[int, Tournament], changes: Changes
    ) -> None:
        result = kept.result
        for number, tournament in tournaments.items():
            if result.table not in director.open_tables(tournament):
                continue
            line = LogLine(number, self._ledger.clock.wall_s(), result.table, "result")
            try:
                fresh, place = director.report(tournament, kept)
            except Illegal as refusal:
                # packed, so that the log can be shown in every language
                why = msgspec.json.encode(packed(refusal.message)).decode()
                changes.log.append(replace(line, what="refused", after=why))
                continue
            # the table is free again: assign it to the next waiting board
            tournaments[number] = director.seat(
                fresh, self._tables_without_board(tournaments.values(), but=fresh)
            )
            verdict = str(director.board_at(fresh, place).verdict)
            changes.log.append(replace(line, place=place, after=verdict))

    def _tables_without_board(
        self, tournaments: Iterable[Tournament], but: Tournament
    ) -> list[str]:
        """Return the tables without an open board. `but` replaces its older value in
        `tournaments`.
        """
        occupied = set(director.open_tables(but))
        for tournament in tournaments:
            if tournament.id != but.id:
                occupied.update(director.open_tables(tournament))
        return [table for table in self._free_tables() if table not in occupied]

    def _known(self, number: int) -> Tournament:
        tournament = self._tournaments.get(number)
        if tournament is None:
            raise Illegal(Refusal.WRONG_PHASE, say("There is no such tournament"))
        return tournament

    def _store(self, tournament: Tournament, line: LogLine) -> None:
        self._ledger.write(Changes(tournaments=[tournament], log=[line]))
        self._tournaments[tournament.id] = tournament
        self._ledger.changed()


def _verdict_text(tournament: Tournament, place: Place) -> str:
    try:
        return str(director.board_at(tournament, place).verdict or "")
    except CompanionError:
        return ""
