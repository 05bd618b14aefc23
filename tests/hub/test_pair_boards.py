"""One game at two tables, each under its own rendered camera: hands err on both boards, and both end the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

from inside import session_of
from remote_tools import GAME, same_game
from simulated_room import SimulatedRoom

from companion.core.kit import SEATS, Seat
from companion.table.board_check import tops
from companion.table.remote.remote_table import RemoteBeginning
from companion.table.session import Phase

NAMES = {Seat.SOUTH: "Mara", Seat.NORTH: "Jonas"}


class Side:
    """A simulated companion at which one seat is played, with hands that put a piece on a wrong square at times."""

    def __init__(self, folder: Path, seat: Seat, rng: Random) -> None:
        folder.mkdir()
        self.room, self.seat, self.rng = SimulatedRoom(folder), seat, rng
        self.table = self.room.table
        self.wrong = 0
        self.table.take_seat(seat, NAMES[seat])
        self.table.remote.begin(RemoteBeginning(GAME, 1, "outbuffered", {}, seat.other, NAMES[seat.other]), 1)

    def work(self) -> None:
        """Hands do what is asked for, and orders are handed in."""
        view, session = self.table.view(), session_of(self.table)
        if view.phase in (Phase.SETUP, Phase.STAGES) and not session.is_shown_here:
            target = view.board.target or {}
            if view.turn.instructions and self.rng.random() < 0.3:
                self._err(target)
            self.room.world.set_up(target)
        elif view.phase is Phase.ORDERS and self.seat in session.awaited:
            order = "".join(self.rng.choices("UDLRIS", k=3))
            self.table.hand_in(self.seat, view.moment, order)
        self.room.look(3)

    def _err(self, target: dict) -> None:  # type: ignore[type-arg] # a layout
        """A piece lies one square off: the table says which, and does not go on."""
        square = self.rng.choice(sorted(target))
        free = [each for each in self.table.view().kit.board.squares if each not in target]  # type: ignore[union-attr] # a game is on
        wrong = {**target, self.rng.choice(free): target[square]}
        del wrong[square]
        place = (self.table.view().moment, self.table.view().turn.stage)
        self.room.world.set_up(wrong)
        self.room.look(4)
        view = self.table.view()
        assert (view.moment, view.turn.stage) == place
        assert not session_of(self.table).is_shown_here
        self.wrong += 1


def test_two_boards_with_hands_that_err_end_with_the_same_game(tmp_path: Path) -> None:
    rng = Random(11)
    sides = [Side(tmp_path / seat, seat, rng) for seat in SEATS]
    try:
        for _ in range(400):
            for side, other in (sides, sides[::-1]):
                side.work()
                told, there = side.table.remote.progress, other.table.remote.progress
                assert told
                assert there
                for number in range(there.heard + 1, len(told.sent) + 1):
                    other.table.remote.hear(GAME, number, told.sent[number - 1])
            if all(session_of(side.table).phase is Phase.OVER for side in sides):
                break
            boards = {session_of(side.table).moment: session_of(side.table).board for side in sides}
            if len(boards) == 1 and all(session_of(side.table).phase is Phase.ORDERS for side in sides):
                seen = [{p.square: p.face for p in side.room.world.pieces() if p.square} for side in sides]
                assert seen[0] == seen[1] == tops(next(iter(boards.values())) or {})
        same_game(*(side.table for side in sides))
        assert all(side.wrong for side in sides)
    finally:
        for side in sides:
            side.room.companion.close()
