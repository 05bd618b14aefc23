"""Simulated games of cards with hidden hands on two phones.

No card lies on the table, so the camera is not used.
"""

from __future__ import annotations

from typing import Any

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from companion.tools.selfplay import people
from companion.tools.selfplay.people import SimulatedGame, Stuck

# Probability that a player takes an action back and hands it in again, where that is allowed. It
# was chosen by eye, so that this happens a few times in a game.
CHANGED_MIND_CHANCE = 0.1


class SimulatedCardGame(SimulatedGame):
    """A game of cards that the table deals. People play it on phones alone."""

    def finish_set_up(self) -> None:
        """Start the clock with the table button."""
        self.press_button("table")

    def follow_stage(self) -> None:
        """Wait until all stages of a combat have been shown. Raises `Stuck` if they do not end."""
        for _ in range(people.PATIENCE_FRAMES):
            if self.view().phase is not Phase.STAGES:
                return
            self.clock.advance(people.FRAME_S)
            self.companion.step_keys()
        raise Stuck(f"The combat does not end: the table says “{self.view().sign.text}”")

    def give_orders(self) -> None:
        """Take a turn.

        Then compare the cards that the table shows to each viewer with the truth.
        """
        super().give_orders()
        for viewer in (None, *SEATS):
            shown = self.companion.table.view(viewer).board.card_ui
            self.report.misread_layouts += shown != self.game.card_ui(self.state, viewer)

    def act(self, seat: Seat) -> Any:
        """Hand in a random action. Sometimes take it back and hand it in again."""
        player = self.players[seat]
        action = self.game.random_action(self.state, seat, player.rng)
        text = self.game.format(action)
        moment = self.view().moment
        self.hand_in(seat, text)
        # The table has carried out the action at once, so that taking it back undoes a turn.
        may_undo = (
            self.game.is_reversible(self.state, seat, action) and self.view().phase is Phase.ORDERS
        )
        if player.phone and may_undo and player.rng.random() < CHANGED_MIND_CHANCE:
            player.phone.post("take-back", {"moment": moment})
            self.hand_in(seat, text)
        return action
