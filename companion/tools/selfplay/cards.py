"""Simulated games of cards with hidden hands on two phones.

No card lies on the table, so the camera is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from companion.table.table_view import TableView
from companion.tools.selfplay import people
from companion.tools.selfplay.people import Match, Stuck

WAVERS = 0.1
"""Probability that a player takes an action back first, where that is allowed."""


@dataclass
class CardMatch(Match):
    """A game of lanes. `state` is the simulated people's own copy of the game."""

    def play_to_the_end(self) -> None:
        """Take the seats, start the clock, and play all turns."""
        for player in self.players.values():
            self.sit_down(player)
        self.companion.table.new_game(self.game.name, self.options, self.seed)
        self.simulation.world.set_up({})
        self.press_button("table")
        while self.look().phase is not Phase.OVER and self.report.turns < people.MAX_TURNS:
            self._pass_stages()
            if self.look().phase is Phase.ORDERS:
                self.report.turns += 1
                self._take_turn()

    def check(self, before: TableView, after: TableView) -> None:
        """Do nothing, because no cards are moved by hand."""

    def straighten(self) -> None:
        """Do nothing, because no cards lie on the table."""

    def _pass_stages(self) -> None:
        """Wait until all stages of a combat have been shown."""
        for _ in range(people.PATIENCE_FRAMES):
            if self.look().phase is not Phase.STAGES:
                return
            self.clock.advance(people.FRAME_S)
            self.companion.step_keys()
        raise Stuck(f"The combat does not end: the table says “{self.look().sign.text}”")

    def _take_turn(self) -> None:
        (seat,) = self.game.to_act(self.state)
        view = self.look()
        drawn = self.chance()
        if self.players[seat].machine:
            self.until("The machine has its turn", self.place())
            action = self.played()[seat]
        else:
            action = self._play_on_phone(seat, view)
        self.state = self.game.apply(self.state, {seat: action}, drawn).state
        # the table must show every viewer the same as the people's own game
        for viewer in (None, *SEATS):
            shown = self.companion.table.view(viewer).board.tableau
            self.report.misread_layouts += shown != self.game.card_ui(self.state, viewer)

    def _play_on_phone(self, seat: Seat, view: TableView) -> Any:
        """Hand in a random action. Sometimes take it back first, where that is allowed."""
        player = self.players[seat]
        if player.phone is None:
            raise Stuck("Hidden hands need a phone")
        action = self.game.random_action(self.state, seat, player.rng)
        body = {"moment": view.moment, "action": self.game.format(action)}
        is_reversible = self.game.is_reversible(self.state, seat, action)
        player.phone.post("hand-in", body)
        if is_reversible and player.rng.random() < WAVERS and self.look().phase is Phase.ORDERS:
            player.phone.post("take-back", {"moment": view.moment})
            player.phone.post("hand-in", {**body, "moment": self.look().moment})
        return action
