"""All players' cards of a hub. One card is a `PlayerCard` (see `companion.league.people`)."""

from __future__ import annotations

from msgspec.structs import replace

from companion.core.errors import does_not_exist, wrong_phase
from companion.core.i18n import say
from companion.core.network import matches_code
from companion.league.league_file import LeagueFile, put, put_shown
from companion.league.people import (
    MACHINE_NUMBER,
    MAX_PEOPLE,
    PlayerCard,
    new_card,
    parse_player_name,
)
from companion.league.results import ReportedPlayer


class PlayerCards:
    """Creates, changes and forgets cards, and remembers at which tables each card was shown.

    To show a card is to type its code at a table. This object may be used from any thread. A change
    is stored before it is visible. If it cannot be stored, `SystemTrouble` is raised.
    """

    def __init__(self, file: LeagueFile) -> None:
        self._file = file
        # cards by number
        self._cards = {card.number: card for card in file.cards()}
        # number of each card, by its id
        self._numbers = {card.id: card.number for card in self._cards.values()}
        # pairs of a card's id and a table where it was shown
        self._shown_at_tables = file.shown_cards()

    def all(self) -> tuple[PlayerCard, ...]:
        """Return all cards, sorted by number, including those of forgotten people."""
        with self._file.lock:
            return tuple(self._cards.values())

    def find(self, number: int) -> PlayerCard | None:
        """Return the card of the person with this number, or None."""
        # without the lock, because one look-up in a dict cannot meet a half-made change
        return self._cards.get(number)

    def require(self, number: int) -> PlayerCard:
        """Return the card of the person with this number.

        Raises `Illegal` if there is none or the person was forgotten.
        """
        card = self._cards.get(number)
        if card is None or card.is_forgotten:
            raise does_not_exist(say("There is no player {number}", number=number))
        return card

    def find_by_code(self, typed: str) -> PlayerCard | None:
        """Return the card with this code, or None.

        The caller has to limit the rate of attempts.
        """
        # the card of a forgotten person has no code
        cards = [card for card in self.all() if card.code and matches_code(typed, card.code)]
        return cards[0] if cards else None

    def create(self, name: str, is_name_public: bool = True) -> PlayerCard:
        """Create a card for a new person.

        Raises `Malformed` for a bad name, and `Illegal` if there are too many cards.
        """
        with self._file.lock:
            if sum(not card.is_forgotten for card in self._cards.values()) >= MAX_PEOPLE:
                raise wrong_phase(
                    say(
                        "This hub has {number} cards. Its owner has to forget one first.",
                        number=MAX_PEOPLE,
                    ),
                )
            card = new_card(max(self._cards, default=0) + 1, name, is_name_public)
            self._store(card)
        return card

    def change(self, number: int, name: str, is_name_public: bool) -> PlayerCard:
        """Change somebody's name, and whether pages show it. Raises `Malformed` or `Illegal`."""
        with self._file.lock:
            card = replace(
                self.require(number), name=parse_player_name(name), is_name_public=is_name_public
            )
            self._store(card)
        return card

    def forget(self, number: int) -> None:
        """Delete somebody's name and code for good. Results keep the number.

        Raises `Illegal` if there is no such person.
        """
        with self._file.lock:
            self._store(replace(self.require(number), name="", code="", is_name_public=False))
            # the file's log may still hold the name and the code
            self._file.empty_log()

    def note_shown_at_table(self, card: PlayerCard, table_id: str) -> None:
        """Store that somebody's card was shown at a table, so that games with it there count."""
        with self._file.lock:
            if (card.id, table_id) not in self._shown_at_tables:
                self._file.write(put_shown(card.id, table_id))
                self._shown_at_tables.add((card.id, table_id))

    def number_of(self, player: ReportedPlayer, table_id: str) -> int | None:
        """Return the number of a player, or `MACHINE_NUMBER` for a machine.

        Return None if the player has no card that was shown at this table.
        """
        if player.is_machine:
            return MACHINE_NUMBER
        # a table could report any card, so only one that was shown there counts
        was_shown = (player.card, table_id) in self._shown_at_tables
        return self._numbers.get(player.card) if was_shown else None

    def _store(self, card: PlayerCard) -> None:
        self._file.write(put("people", card.number, card))
        self._cards[card.number] = card
        self._numbers[card.id] = card.number
        self._file.notify()
