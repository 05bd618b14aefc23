"""Simulated hands that make plays under the camera, and people who tap them instead."""

from __future__ import annotations

from typing import Any

from companion.core.kit import Layout, Seat
from companion.games.screen import Play
from companion.table.board_check import hand_moves
from companion.tools.selfplay import people
from companion.tools.selfplay.people import Stuck
from companion.tools.selfplay.pieces import PieceMatch

BY_HAND = 0.75
"""Probability that a play is made on the board. Otherwise it is tapped, and hands follow."""


class PlayMatch(PieceMatch):
    """A game in which seats take turns.

    A play is made on the board and recognised, or tapped and then followed by hands.
    """

    def give_orders(self) -> None:
        """Make one decision: of both seats together, or of the seat on turn."""
        clock = self.look().time.clock
        if clock and clock.paused:  # a chess clock waits for a key
            self.companion.table.resume("table")
        super().give_orders()

    def act(self, seat: Seat) -> Any:
        """Make a play on the board, or hand it in."""
        if len(self.game.to_act(self.state)) > 1:
            return super().act(seat)
        play = self._choose_play(seat)
        action = self.game.parse(play.text)
        step = self.game.apply(self.state, {seat: action}, self.chance())
        layouts = self.game.layouts_by_hand(self.state, seat, action, step)
        before = self.place()
        # only a play that changes the board can be made there
        is_seen = bool(layouts) and dict(layouts[0]) != dict(self.look().board.layout)
        if play.is_by_hand and is_seen and self.players[seat].rng.random() <= BY_HAND:
            self._play_on_board(seat, play, layouts[0])
        else:
            self.hand_in(seat, play.text)
        self.until(f"{play.text} is made", before)
        return action

    def _choose_play(self, seat: Seat) -> Play:
        """Return a play that the phone offers, chosen by the game's random player if possible."""
        rng = self.players[seat].rng
        plays = {play.text: play for play in self.game.plays(self.state, seat)}
        for _ in range(20):
            action = self.game.random_action(self.state, seat, rng)
            play = plays.get(self.game.format(action))
            if play is not None:
                return play
        return rng.choice(list(plays.values()))

    # ---- hands -----------------------------------------------------------------------------------

    def _play_on_board(self, seat: Seat, play: Play, laid: Layout) -> None:
        """Make a play on the board, and choose it on the page if the board is ambiguous."""
        before = self.place()
        for move in hand_moves(self.kit, self.look().board.layout, laid):
            self.follow(move, laid, wrong=0.0)
        for _ in range(people.PATIENCE_FRAMES):
            now = self.companion.table.view(seat)
            if self.place() != before:
                return
            if now.own.possible_actions:
                if play.text not in now.own.possible_actions:
                    choices = ", ".join(now.own.possible_actions)
                    raise Stuck(f"{play.text} was played, the table asks for one of {choices}")
                self.hand_in(seat, play.text)
                return
            self.round()
