"""The tournaments of a hub: what the director and the results make of them, line by line in a
log.
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
"""Somebody enters with it who has no rating yet."""


class TournamentKeeper:
    """Keeps each change with the line that says who made it."""

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
        """Return all tournaments, the newest first."""
        with self._ledger.lock:
            return tuple(reversed(self._tournaments.values()))

    def of(self, number: int) -> Tournament | None:
        """Return the tournament of that number."""
        return self._tournaments.get(number)

    @property
    def current(self) -> Tournament | None:
        """Return the tournament that is on: the newest one that is not over and has begun, else
        that is not over."""
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
        """Make a tournament without anybody. Raises `Malformed`."""
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
            self._keep(tournament, LogLine(number, self._ledger.clock.wall_s(), DIRECTOR, "new"))
        return tournament

    def enter(
        self, number: int, people: Sequence[int], team: str = "", who: str = DIRECTOR
    ) -> Tournament:
        """Enter somebody, or a team, with the rating that is known of them.

        Raises a `CompanionError`.
        """
        with self._ledger.lock:
            tournament = self._on(number)
            ratings = {rated.person: rated.rating for rated in self._ladders.of(tournament.game)}
            for person in people:
                self._cards.known(person)
            # a team is as strong as its people on average
            rating = sum(ratings.get(person, UNRATED) for person in people) / max(1, len(people))
            fresh = director.enter(tournament, people, rating, team)
            entrant = fresh.entrant_of(people[0])
            entry = entrant.number if entrant else 0
            self._keep(fresh, LogLine(number, self._ledger.clock.wall_s(), who, "enter", entry))
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
        """Do what the director wants.

        It is in the log with what it changed. Raises a `CompanionError`.
        """
        with self._ledger.lock:
            before = self._on(number)
            after = act(before)
            others = [other for other in self._tournaments.values() if other.id != number]
            # what was done may have opened boards that have no table yet
            after = director.seat(after, self._free([*others, after], but=after))
            at_s = self._ledger.clock.wall_s()
            line = LogLine(number, at_s, DIRECTOR, what, entrant, place)
            if place is not None:
                ends = {"before": _end(before, place), "after": _end(after, place)}
                line = replace(line, **ends)
            self._keep(after, line)
        return after

    def pair_round(self, number: int) -> Tournament:
        """Pair the next round, and give its boards tables. Raises a `CompanionError`."""
        return self.direct(
            number, "pair", lambda before: director.pair_round(before, self._ledger.clock.wall_s())
        )

    def log(self, number: int) -> list[LogLine]:
        """Return what was done about a tournament, the newest first."""
        return self._ledger.store.log(number)

    def seat_waiting(self) -> None:
        """Give tables that have become free to boards that wait for one."""
        with self._ledger.lock:
            for tournament in list(self._tournaments.values()):
                if tournament.is_over:
                    continue
                free = self._free(self._tournaments.values(), but=tournament)
                fresh = director.seat(tournament, free)
                if fresh != tournament:
                    self._ledger.write(Changes(tournaments=[fresh]))
                    self._tournaments[tournament.id] = fresh
                    self._ledger.changed()

    def board_of(self, table: str) -> tuple[Tournament, Place] | None:
        """Return the open board that was paired at a table, and its tournament."""
        for tournament in self.all():
            if place := director.open_tables(tournament).get(table):
                return tournament, place
        return None

    def after(
        self, undone: Iterable[GameResult], kept: KeptResult | None, changes: Changes
    ) -> Mapping[int, Tournament]:
        """Return the tournaments when these results are taken back and this one has come.

        `changes` gets all that changes.

        They are so once they are written, by `use`.
        """
        tournaments = dict(self._tournaments)
        for result in undone:
            self._take_back(result, tournaments, changes)
        if kept:
            self._report(kept, tournaments, changes)
        changes.tournaments = [
            tournament
            for number, tournament in tournaments.items()
            # nothing is changed in place, so what is another object has changed
            if tournament is not self._tournaments.get(number)
        ]
        return tournaments

    def use(self, tournaments: Mapping[int, Tournament]) -> None:
        """Write the tournaments as they are now."""
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
                # packed, so that the log can be read in every language
                why = msgspec.json.encode(packed(refusal.message)).decode()
                changes.log.append(replace(line, what="refused", after=why))
                continue
            # the table is free again: the next board that waits may have it
            tournaments[number] = director.seat(fresh, self._free(tournaments.values(), but=fresh))
            verdict = str(director.board_at(fresh, place).verdict)
            changes.log.append(replace(line, place=place, after=verdict))

    def _free(self, tournaments: Iterable[Tournament], but: Tournament) -> list[str]:
        """Return the tables without an open board. `but` counts as it is now."""
        occupied = set(director.open_tables(but))
        for tournament in tournaments:
            if tournament.id != but.id:
                occupied.update(director.open_tables(tournament))
        return [table for table in self._free_tables() if table not in occupied]

    def _on(self, number: int) -> Tournament:
        tournament = self._tournaments.get(number)
        if tournament is None:
            raise Illegal(Refusal.WRONG_PHASE, say("There is no such tournament"))
        return tournament

    def _keep(self, tournament: Tournament, line: LogLine) -> None:
        self._ledger.write(Changes(tournaments=[tournament], log=[line]))
        self._tournaments[tournament.id] = tournament
        self._ledger.changed()


def _end(tournament: Tournament, place: Place) -> str:
    try:
        return str(director.board_at(tournament, place).verdict or "")
    except CompanionError:
        return ""
