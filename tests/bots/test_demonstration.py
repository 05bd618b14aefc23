"""Two machines play where nobody does: when it begins, that any touch ends it, and that nothing of it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from table_tools import Played, playing

from companion.bots.base import Choice
from companion.bots.demonstration import END_S, HANDS_S, Demonstration
from companion.core.errors import Illegal
from companion.core.kit import Seat
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.session import Phase


class Quick:
    """A character's program that plays any legal order of Outbuffered."""

    def __init__(self, command: Sequence[str]) -> None:
        self._rng = Random(" ".join(command))

    def new(self, seat: Seat, options: Mapping[str, Any], deadline_s: float) -> None:
        """A game begins."""

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]], deadline_s: float) -> None:
        """A turn is over."""

    def choose(self, view: Mapping[str, Any], deadline_s: float) -> Choice:
        return Choice("".join(self._rng.choices("UDLR", k=3)), 1)

    def close(self) -> None:
        """It is gone."""


class Room:
    """A table, the demonstration beside it, and a clock that a test moves."""

    def __init__(self, played: Played) -> None:
        self.played, self.table = played, played.table
        self.demonstration = Demonstration(played.table, played.clock, Quick)

    def wait(self, seconds: float) -> None:
        """Time passes in steps of a second."""
        for _ in range(round(seconds)):
            self.played.wait(1.0)
            self.demonstration.step()

    @property
    def phase(self) -> Phase:
        """That of the demonstration's table."""
        assert self.demonstration.shown
        return self.demonstration.shown.view().phase


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with playing(tmp_path) as played:
        room = Room(played)
        with room.demonstration:
            yield room


def use_minutes(room: Room, minutes: int) -> None:
    room.table.use(replace(room.table.settings, demonstration_minutes=minutes))


def test_it_plays_whole_turns_with_invisible_hands(room: Room) -> None:
    assert room.demonstration.shown is None
    room.demonstration.begin()
    shown = room.demonstration.shown
    assert shown
    view = shown.view()
    assert (view.phase, [seat.name for seat in view.seats.values()]) == (Phase.SETUP, ["Zeno", "Bo"])
    room.wait(HANDS_S + 1)
    assert room.phase is Phase.ORDERS
    room.wait(4)
    assert room.phase is Phase.STAGES
    room.wait(40)
    assert shown.view().turn.number > 1


def test_after_a_game_comes_another_game(room: Room) -> None:
    room.demonstration.begin()
    shown = room.demonstration.shown
    assert shown
    first = shown.view().game
    room.wait(HANDS_S + 1)
    shown.resign(Seat.SOUTH)
    assert room.phase is Phase.OVER
    room.wait(END_S + 2)
    view = shown.view()
    assert view.phase is Phase.SETUP
    assert first != view.game
    assert view.game in GAMES


def test_nothing_of_it_is_at_the_table_or_in_its_journal(room: Room, tmp_path: Path) -> None:
    room.demonstration.begin()
    room.wait(30)
    view = room.table.view()
    assert (view.phase, view.game) == (Phase.LOBBY, None)
    assert all(seat.name is None for seat in view.seats.values())
    with Journal(tmp_path / "journal.sqlite", read_only=True) as journal:
        assert journal.restore().number == 0


def test_it_begins_by_itself_after_the_minutes_that_are_set(room: Room) -> None:
    room.wait(120)
    assert room.demonstration.shown is None, "as delivered it never does"
    use_minutes(room, 2)
    room.wait(1)
    assert room.demonstration.shown
    room.demonstration.touched()
    assert room.demonstration.shown is None
    room.wait(118)
    assert room.demonstration.shown is None, "the two minutes begin anew"
    room.wait(3)
    assert room.demonstration.shown


def test_sitting_down_ends_it_at_once(room: Room) -> None:
    room.demonstration.begin()
    room.wait(10)
    room.table.take_seat(Seat.SOUTH, "Ada")
    room.demonstration.step()
    assert room.demonstration.shown is None


def test_a_key_of_a_pad_ends_it(room: Room) -> None:
    room.demonstration.begin()
    room.played.press(Seat.NORTH, "a")
    room.demonstration.step()
    assert room.demonstration.shown is None, "a key takes the seat"


def test_another_board_under_the_camera_ends_it(room: Room) -> None:
    room.demonstration.begin()
    for game, is_on in (("outbuffered", True), (None, True), ("outbuffered", True), ("scouts", False)):
        room.played.show({}, game=game)
        room.demonstration.step()
        assert (room.demonstration.shown is not None) is is_on, game


def test_while_people_play_there_is_none(room: Room) -> None:
    room.table.take_seat(Seat.SOUTH, "Ada")
    room.played.begin()
    with pytest.raises(Illegal, match="A game is on: the demonstration waits until it is over"):
        room.demonstration.begin()
    use_minutes(room, 1)
    room.wait(70)
    assert room.demonstration.shown is None


def test_its_programs_end_with_it(tmp_path: Path) -> None:
    open_now: set[int] = set()

    class Counted(Quick):
        def __init__(self, command: Sequence[str]) -> None:
            super().__init__(command)
            open_now.add(id(self))

        def close(self) -> None:
            open_now.discard(id(self))

    with playing(tmp_path) as played, Demonstration(played.table, played.clock, Counted) as demonstration:
        demonstration.begin()
        for _ in range(10):
            played.wait(1.0)
            demonstration.step()
        assert len(open_now) == 2
        demonstration.touched()
        demonstration.step()
        assert not open_now
