"""All players' cards of a hub. One card is a `Person` (see `companion.league.people`)."""

from __future__ import annotations

from msgspec.structs import replace

from companion.core.errors import does_not_exist, wrong_phase
from companion.core.i18n import say
from companion.core.network import matches_code
from companion.league.league_file import LeagueFile, put, put_shown
from companion.league.people import MACHINE_NUMBER, MAX_PEOPLE, Person, new_person, player_name
from companion.league.results import Player


class PlayerCards:
    """Creates, changes and forgets cards, and remembers at which tables each was shown.

    May be used from any thread. A change is stored before it is visible, and raises `SystemTrouble`
    if it cannot be.

    To show a card is to type its code at a table. `Person.is_shown` is something else: whether the
    name may appear on the hub's pages.
    """

    def __init__(self, file: LeagueFile) -> None:
        self._file = file
        self._people = {person.number: person for person in file.people()}
        # number of each card's person, by the card's id
        self._numbers = {person.card: person.number for person in self._people.values()}
        # pairs of a card's id and a table where it was shown
        self._shown_at_tables = file.shown_cards()

    def people(self) -> tuple[Person, ...]:
        """Return everybody with a card, sorted by number, including those who were forgotten."""
        with self._file.lock:
            return tuple(self._people.values())

    def person(self, number: int) -> Person | None:
        """Return the person with this number, or None."""
        # without the lock, because one look-up in a dict cannot meet a half-made change
        return self._people.get(number)

    def require(self, number: int) -> Person:
        """Return the person with this number.

        Raises `Illegal` if there is none or the person was forgotten.
        """
        person = self._people.get(number)
        if person is None or person.is_forgotten:
            raise does_not_exist(say("There is no player {number}", number=number))
        return person

    def find_by_code(self, typed: str) -> Person | None:
        """Return the person whose card has this code, or None.

        The caller has to limit the rate of attempts.
        """
        # a forgotten person has no code
        owners = [
            person for person in self.people() if person.code and matches_code(typed, person.code)
        ]
        return owners[0] if owners else None

    def create(self, name: str, is_shown: bool = True) -> Person:
        """Create a card for a new person.

        Raises `Malformed` for a bad name, and `Illegal` if there are too many cards.
        """
        with self._file.lock:
            if sum(not person.is_forgotten for person in self._people.values()) >= MAX_PEOPLE:
                raise wrong_phase(
                    say(
                        "This hub has {number} cards. Its owner has to forget one first.",
                        number=MAX_PEOPLE,
                    ),
                )
            person = new_person(max(self._people, default=0) + 1, name, is_shown)
            self._store(person)
        return person

    def change(self, number: int, name: str, is_shown: bool) -> Person:
        """Change somebody's name, and whether pages show it. Raises `Malformed` or `Illegal`."""
        with self._file.lock:
            person = replace(self.require(number), name=player_name(name), is_shown=is_shown)
            self._store(person)
        return person

    def forget(self, number: int) -> None:
        """Delete somebody's name and code for good. Results keep the number.

        Raises `Illegal` if there is no such person.
        """
        with self._file.lock:
            self._store(replace(self.require(number), name="", code="", is_shown=False))
            # the file's log may still hold the name and the code
            self._file.empty_log()

    def note_shown_at_table(self, person: Person, table: str) -> None:
        """Store that somebody's card was shown at a table, so that its games there count."""
        with self._file.lock:
            if (person.card, table) not in self._shown_at_tables:
                self._file.write(put_shown(person.card, table))
                self._shown_at_tables.add((person.card, table))

    def number_of(self, player: Player, table: str) -> int | None:
        """Return the number of a player.

        None if the player has no card that was shown at this table.
        """
        if player.is_machine:
            return MACHINE_NUMBER
        # a table could report any card, so only one that was shown there counts
        was_shown = (player.card, table) in self._shown_at_tables
        return self._numbers.get(player.card) if was_shown else None

    def _store(self, person: Person) -> None:
        self._file.write(put("people", person.number, person))
        self._people[person.number] = person
        self._numbers[person.card] = person.number
        self._file.notify()
