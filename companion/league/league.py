"""The league of a room of tables: people's cards, results, ratings and tournaments, kept before anybody sees them."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import packed, say
from companion.core.kit import Seat
from companion.core.network import plain_code
from companion.league import director
from companion.league.director import Place, Reported
from companion.league.people import MACHINE_NUMBER, MOST_PEOPLE, Person, new_person, player_name
from companion.league.ports import Changes, KeptResult, LeagueStore, LogLine, Season
from companion.league.ratings import Strength, ladder
from companion.league.results import GameFollowed, GameResult, Player, ResultChange, decided, follow, merged
from companion.league.tournament import System, Tournament
from companion.table.public.messages import PublicRecord

KEEP_S = 2.0
"""How far the records of tables were followed is kept so often; what came later is followed once more."""
DIRECTOR = "director"
LAST_S = 1e12
LOOKED_AT = 500
"""Of so many results it is known at the start about which ones two tables do not agree."""
MOST_NAME = 48


class League:
    """Everything may be asked by any thread. `free_tables` answers where a board may be played, the first first."""

    def __init__(
        self,
        store: LeagueStore,
        clock: Clock,
        free_tables: Callable[[], Sequence[str]] = tuple,
        when_changed: Callable[[], None] = lambda: None,
    ) -> None:
        kept = store.read()
        self._store = store
        self._clock = clock
        self._free_tables = free_tables
        self._when_changed = when_changed
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        """Held, behind the other one, while the disk is waited for: what was decided first is written first."""
        self._people = {person.number: person for person in kept.people}
        self._numbers = {person.card: person.number for person in kept.people}
        self._shown = set(kept.shown)
        self._seasons = list(kept.seasons)
        self._tournaments = {each.id: each for each in kept.tournaments}
        self._followed = dict(kept.followed)
        self._unkept: set[str] = set()
        self._kept_s = clock.monotonic_s()
        last = (kept.result for kept in store.results(LOOKED_AT) if not kept.is_void)
        self._contested = {result.key: result for result in last if result.against}
        self._ladders: dict[tuple[str, int], tuple[int, tuple[Strength, ...]]] = {}
        self.sequence = kept.sequence
        """How far the records of tables were followed, as the hub's store counts them."""
        self.machines = kept.machines
        """Do games against the machine count for ratings?"""
        self.version = 0
        """Another one after every change that a page could show."""

    # ---- people ------------------------------------------------------------------------------------------------------

    def people(self) -> tuple[Person, ...]:
        """Everybody with a card, by their numbers; those who were forgotten included."""
        with self._lock:
            return tuple(self._people.values())

    def person(self, number: int) -> Person | None:
        """Whoever has this number."""
        return self._people.get(number)

    def by_code(self, typed: str) -> Person | None:
        """Whose card this is; None: nobody's. Whoever asks slows guessing down."""
        code = plain_code(typed).encode()
        found = [p for p in self.people() if p.code and hmac.compare_digest(p.code.encode(), code)]
        return found[0] if found else None

    def make_card(self, name: str, is_shown: bool = True) -> Person:
        """A card for somebody new; raises `Malformed`, and `Illegal` where there are too many."""
        with self._lock:
            if len(self._people) >= MOST_PEOPLE:
                raise Illegal(
                    Refusal.WRONG_PHASE, say("This hub has {number} cards and makes no more", number=MOST_PEOPLE)
                )
            taken = {person.code for person in self._people.values()}
            person = new_person(max(self._people, default=0) + 1, name, is_shown, taken)
            self._keep_person(person)
        return person

    def change_card(self, number: int, name: str, is_shown: bool) -> Person:
        """Somebody wants to be called otherwise, or not to be named any more; raises `Malformed`, `Illegal`."""
        with self._lock:
            person = msgspec.structs.replace(self._known(number), name=player_name(name), is_shown=is_shown)
            self._keep_person(person)
        return person

    def forget(self, number: int) -> None:
        """Forget a name for good: results stay with the number, the card opens nothing any more."""
        with self._lock:
            person = msgspec.structs.replace(self._known(number), name="", code="", is_shown=False)
            self._keep_person(person)

    def show_card(self, code: str, table: str) -> Person:
        """Somebody shows a card at a table; raises `Illegal` for a code that is none. Whoever asks slows guessing."""
        with self._lock:
            person = self.by_code(code)
            if person is None:
                raise Illegal(Refusal.JOIN_CODE, say("No player’s card has this code"))
            if (person.card, table) not in self._shown:
                self._write(Changes(shown=[(person.card, table)]))
                self._shown.add((person.card, table))
        return person

    def _known(self, number: int) -> Person:
        person = self._people.get(number)
        if person is None or person.is_forgotten:
            raise Illegal(Refusal.WRONG_PHASE, say("There is no player {number}", number=number))
        return person

    def _keep_person(self, person: Person) -> None:
        self._write(Changes(people=[person]))
        self._people[person.number] = person
        self._numbers[person.card] = person.number
        self._changed()

    # ---- results -----------------------------------------------------------------------------------------------------

    def take(self, table: str, record: PublicRecord, at_s: float, sequence: int) -> None:
        """A table has told a record; `at_s` is when it was accepted there, by the hub's clock."""
        with self._lock:
            before = self._followed.get(table, GameFollowed())
            after, change = follow(table, before, record, at_s)
            if change == ResultChange():
                self._follow(table, after, sequence)
                return
            changes = self._unwritten(sequence)
            changes.followed[table] = after
            tournaments = dict(self._tournaments)
            if change.gone:
                changes.gone.append(change.gone)
                self._take_back(change.gone, tournaments, changes)
            if change.come:
                told = change.come
                kept = KeptResult(told, self._number(table, told.south), self._number(table, told.north))
                changes.come += self._come(kept)
                self._take_back(change.come, tournaments, changes)
                self._report(kept, tournaments, changes)
            changes.tournaments = [each for each in tournaments.values() if each is not self._tournaments.get(each.id)]
            self._write(changes)
            self._tournaments = tournaments
            for each in changes.come:
                self._note_contested(each)
            self._follow(table, after, sequence)
            self._unkept.clear()
            self._changed()

    def keep(self) -> None:
        """Time has passed: keep how far tables were followed. Tables may go on telling while the disk is waited for."""
        with self._lock:
            if not self._unkept or self._clock.monotonic_s() - self._kept_s < KEEP_S:
                return
            self._kept_s = self._clock.monotonic_s()
            changes = self._unwritten(self.sequence)
            self._unkept.clear()
            self._writing.acquire()
        try:
            self._store.write(changes)
        except BaseException:
            self._writing.release()
            with self._lock:
                self._unkept |= changes.followed.keys()
            raise
        self._writing.release()

    def begin_anew(self) -> None:
        """The hub's store is another one: whatever it tells is followed from its beginning."""
        with self._lock:
            self._write(Changes(sequence=0))
            self.sequence = 0

    def results(self, most: int, person: int | None = None) -> list[KeptResult]:
        """The last results, the newest first; of one person alone."""
        return self._store.results(most, person)

    def result(self, key: str) -> KeptResult | None:
        """The result of a game; None: there is none."""
        return self._store.result(key)

    def decide(self, key: str, winner: Seat | None) -> None:
        """The host says how a game ended about which its tables do not agree (None: a draw); raises `Illegal`."""
        with self._lock:
            kept = self._store.result(key)
            if kept is None or kept.result.against is None:
                raise Illegal(Refusal.WRONG_PHASE, say("About this game both tables agree"))
            whole = decided(kept.result, winner)
            numbers = {
                told.at: self._number(told.table, told.south if told.at is Seat.SOUTH else told.north)
                for told in (kept.result, kept.result.against)
            }
            self._write(Changes(come=[KeptResult(whole, numbers[Seat.SOUTH], numbers[Seat.NORTH])]))
            self._contested.pop(key, None)
            self._changed()

    @property
    def contested(self) -> tuple[GameResult, ...]:
        """The games about whose end their tables do not agree."""
        return tuple(self._contested.values())

    def set_void(self, key: str, is_void: bool) -> None:
        """The host says whether a result counts for ratings."""
        with self._lock:
            self._write(Changes(void=[(key, is_void)]))
            if kept := self._store.result(key):
                self._note_contested(kept)
            self._changed()

    def _note_contested(self, kept: KeptResult) -> None:
        self._contested.pop(kept.result.key, None)
        if kept.result.against and not kept.is_void:
            self._contested[kept.result.key] = kept.result

    def _follow(self, table: str, after: GameFollowed, sequence: int) -> None:
        self._followed[table] = after
        self.sequence = max(self.sequence, sequence)
        self._unkept.add(table)

    def _unwritten(self, sequence: int) -> Changes:
        followed = {table: self._followed[table] for table in self._unkept}
        return Changes(sequence=max(self.sequence, sequence), followed=followed)

    def _number(self, table: str, player: Player) -> int | None:
        """Who played, by the card that was shown at this very table."""
        if player.is_machine:
            return MACHINE_NUMBER
        return self._numbers.get(player.card) if (player.card, table) in self._shown else None

    def _come(self, told: KeptResult) -> list[KeptResult]:
        """What is to be kept of a result: of a game at two tables it is whole once both have told the same."""
        before = None if told.result.at is None else self._store.result(told.result.key)
        if before is None:
            return [told]
        fresh = merged(before.result, told.result)
        if fresh is None:
            return []
        if fresh.against:
            return [KeptResult(fresh, before.south, before.north)]
        south, north = (before, told) if before.result.at is Seat.SOUTH else (told, before)
        return [KeptResult(fresh, south.south, north.north)]

    def _take_back(self, result: GameResult, tournaments: dict[int, Tournament], changes: Changes) -> None:
        for number, each in tournaments.items():
            fresh = director.take_back(each, result.key, result.table)
            if fresh is not None:
                tournaments[number] = fresh
                changes.log.append(LogLine(number, self._clock.wall_s(), result.table, "take_back"))

    def _report(self, kept: KeptResult, tournaments: dict[int, Tournament], changes: Changes) -> None:
        result = kept.result
        told = Reported(
            result.table, result.key, result.game, dict(result.options), result.began_s, kept.south, kept.north,
            result.winner,
        )  # fmt: skip
        for number, each in tournaments.items():
            if result.table not in director.open_tables(each):
                continue
            line = LogLine(number, self._clock.wall_s(), result.table, "result")
            try:
                if result.at is not None:
                    raise Illegal(Refusal.WRONG_PHASE, say("It was played between two tables"))
                fresh, place = director.report(each, told)
            except Illegal as refusal:
                why = msgspec.json.encode(packed(refusal.message)).decode()
                changes.log.append(msgspec.structs.replace(line, what="refused", after=why))
                continue
            tournaments[number] = director.seat(fresh, self._free(tournaments.values(), but=fresh))
            verdict = str(director.board_at(fresh, place).verdict)
            changes.log.append(msgspec.structs.replace(line, place=place, after=verdict))

    # ---- ratings -----------------------------------------------------------------------------------------------------

    def seasons(self) -> tuple[Season, ...]:
        """The seasons, the first first; before the first one is 0, without a name."""
        with self._lock:
            return (Season(0, "", 0.0), *self._seasons)

    def new_season(self, name: str) -> Season:
        """A season begins now; raises `Malformed`."""
        title = " ".join(name.split())
        if not title or len(title) > MOST_NAME or not title.isprintable():
            raise Malformed(say("Give the season a name of at most {number} characters", number=MOST_NAME))
        with self._lock:
            season = Season(len(self._seasons) + 1, title, self._clock.wall_s())
            self._write(Changes(seasons=[season]))
            self._seasons.append(season)
            self._changed()
        return season

    def count_machines(self, machines: bool) -> None:
        """Games against the machine count for ratings from now on, or do not."""
        with self._lock:
            self._write(Changes(machines=machines))
            self.machines = machines
            self._changed()

    def ladder(self, game: str, season: int) -> tuple[Strength, ...]:
        """The ratings of a game in a season, the strongest first; raises `SystemTrouble`."""
        with self._lock:
            version, found = self._ladders.get((game, season), (-1, ()))
            if version != self.version:
                begins = [each.begins_s for each in self.seasons()]
                if not 0 <= season < len(begins):
                    return ()
                until_s = begins[season + 1] if season + 1 < len(begins) else LAST_S
                version = self.version
                found = ladder(self._store.games(game, begins[season], until_s), self.machines)
                self._ladders[game, season] = (version, found)
        return found

    # ---- tournaments -------------------------------------------------------------------------------------------------

    def tournaments(self) -> tuple[Tournament, ...]:
        """All tournaments, the newest first."""
        with self._lock:
            return tuple(reversed(self._tournaments.values()))

    def tournament(self, number: int) -> Tournament | None:
        """The tournament of that number."""
        return self._tournaments.get(number)

    @property
    def current(self) -> Tournament | None:
        """The tournament that is on: the newest one that is not over and has begun, else that is not over."""
        on = [each for each in self.tournaments() if not each.is_over]
        return next((each for each in on if each.rounds), on[0] if on else None)

    def new_tournament(
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
        """A tournament without anybody; raises `Malformed`."""
        with self._lock:
            number = max(self._tournaments, default=0) + 1
            made = director.new_tournament(
                number, name, system, game, dict(options), rounds=rounds, minutes=minutes, team_size=team_size
            )
            self._keep_tournament(made, LogLine(number, self._clock.wall_s(), DIRECTOR, "new"))
        return made

    def enter(self, number: int, people: Sequence[int], team: str = "", who: str = DIRECTOR) -> Tournament:
        """Somebody, or a team, takes part, with the rating that is known of them; raises a `CompanionError`."""
        with self._lock:
            tournament = self._on(number)
            known = {each.person: each.rating for each in self.ladder(tournament.game, len(self._seasons))}
            for person in people:
                self._known(person)
            rating = sum(known.get(person, 1500.0) for person in people) / max(1, len(people))
            fresh = director.enter(tournament, people, rating, team)
            entrant = fresh.entrant_of(people[0])
            entry = entrant.number if entrant else 0
            self._keep_tournament(fresh, LogLine(number, self._clock.wall_s(), who, "enter", entry))
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
        """The director does something; it is in the log with what it changed. Raises a `CompanionError`."""
        with self._lock:
            before = self._on(number)
            after = act(before)
            others = [each for each in self._tournaments.values() if each.id != number]
            after = director.seat(after, self._free([*others, after], but=after))
            was, is_now = ("", "") if place is None else (_end(before, place), _end(after, place))
            line = LogLine(number, self._clock.wall_s(), DIRECTOR, what, entrant, place, was, is_now)
            self._keep_tournament(after, line)
        return after

    def pair_round(self, number: int) -> Tournament:
        """Pair the next round, and give its boards tables; raises a `CompanionError`."""
        return self.direct(number, "pair", lambda tournament: director.pair_round(tournament, self._clock.wall_s()))

    def log(self, number: int) -> list[LogLine]:
        """What was done about a tournament, the newest first."""
        return self._store.log(number)

    def seat_waiting(self) -> None:
        """Tables may have become free: boards that wait for one get it."""
        with self._lock:
            for each in list(self._tournaments.values()):
                fresh = each if each.is_over else director.seat(each, self._free(self._tournaments.values(), but=each))
                if fresh != each:
                    self._write(Changes(tournaments=[fresh]))
                    self._tournaments[each.id] = fresh
                    self._changed()

    def board_of(self, table: str) -> tuple[Tournament, Place] | None:
        """The open board that was paired at a table, and its tournament."""
        for each in self.tournaments():
            if place := director.open_tables(each).get(table):
                return each, place
        return None

    def _free(self, tournaments: Any, but: Tournament) -> list[str]:
        """The tables without an open board; `but` counts as it is now."""
        taken = {table for each in tournaments if each.id != but.id for table in director.open_tables(each)}
        taken |= director.open_tables(but).keys()
        return [table for table in self._free_tables() if table not in taken]

    def _on(self, number: int) -> Tournament:
        found = self._tournaments.get(number)
        if found is None:
            raise Illegal(Refusal.WRONG_PHASE, say("There is no such tournament"))
        return found

    def _keep_tournament(self, tournament: Tournament, line: LogLine) -> None:
        self._write(Changes(tournaments=[tournament], log=[line]))
        self._tournaments[tournament.id] = tournament
        self._changed()

    def _write(self, changes: Changes) -> None:
        with self._writing:
            self._store.write(changes)

    def _changed(self) -> None:
        self.version += 1
        self._when_changed()


def _end(tournament: Tournament, place: Place) -> str:
    try:
        return str(director.board_at(tournament, place).verdict or "")
    except CompanionError:
        return ""
