"""Simulated games of turns on a board, such as Scouts.

A play is what a seat does in one turn. It is made on the board under the camera, or tapped on a
phone.
"""

from __future__ import annotations

from typing import Any

from companion.core.kit import Layout, Seat
from companion.games.screen import Play
from companion.table.board_check import hand_moves
from companion.tools.selfplay import people
from companion.tools.selfplay.people import Stuck
from companion.tools.selfplay.pieces import SimulatedPieceGame

# Probability that a play is made on the board. Otherwise it is tapped, and hands follow. It was
# chosen by eye, so that a game has both.
BY_HAND_CHANCE = 0.75


class SimulatedTurnGame(SimulatedPieceGame):
    """A game on a board in which seats take turns.

    Hands carry out a play that was tapped, as in games of sealed orders. So this class differs from
    `SimulatedPieceGame` only in `give_orders`, which is called once for each decision, and in
    `act`, which that calls for each seat that is due.
    """

    def give_orders(self) -> None:
        """Start a paused chess clock, then let the seats that are due act."""
        clock = self.view().time.clock
        # A chess clock waits for a key before it runs.
        if clock and clock.paused:
            self.companion.table.resume("table")
        super().give_orders()

    def act(self, seat: Seat) -> Any:
        """Make a play on the board, or hand it in, and wait until the table has moved on.

        If both seats are due, as when both set up their pieces, both hand in sealed actions.
        """
        if len(self.game.to_act(self.state)) > 1:
            return super().act(seat)
        play = self._choose_play(seat)
        action = self.game.parse(play.text)
        step = self.game.apply(self.state, {seat: action}, self.turn_rng())
        layouts = self.game.layouts_by_hand(self.state, seat, action, step)
        key_before = self.progress_key()
        # Only a play that changes the board can be made there.
        changes_board = bool(layouts) and dict(layouts[0]) != dict(self.view().board.layout)
        if play.is_by_hand and changes_board and self.players[seat].rng.random() <= BY_HAND_CHANCE:
            self._play_on_board(seat, play, layouts[0])
        else:
            self.hand_in(seat, play.text)
        self.wait_for_progress(f"{play.text} is made", key_before)
        return action

    def _choose_play(self, seat: Seat) -> Play:
        """Return a random play that the phone offers, mostly one of the game's random player."""
        rng = self.players[seat].rng
        plays = {play.text: play for play in self.game.plays(self.state, seat)}
        # The random player may choose what the phone does not offer. Twenty attempts nearly always
        # find a play.
        for _ in range(20):
            action = self.game.random_action(self.state, seat, rng)
            play = plays.get(self.game.format(action))
            if play is not None:
                return play
        return rng.choice(list(plays.values()))

    # ---- hands -----------------------------------------------------------------------------------

    def _play_on_board(self, seat: Seat, play: Play, layout: Layout) -> None:
        """Make a play on the board by moving pieces until they form `layout`.

        If the layout can be the result of several plays, choose this one on the page. Raises
        `Stuck` if the table does not offer it there.
        """
        key_before = self.progress_key()
        for move in hand_moves(self.kit, self.view().board.layout, layout):
            self.carry_out(move, layout, wrong_chance=0.0)
        for _ in range(people.PATIENCE_FRAMES):
            now = self.companion.table.view(seat)
            if self.progress_key() != key_before:
                return
            if now.own.possible_actions:
                if play.text not in now.own.possible_actions:
                    choices = ", ".join(now.own.possible_actions)
                    raise Stuck(f"{play.text} was played, the table asks for one of {choices}")
                self.hand_in(seat, play.text)
                return
            self.run_frames()
