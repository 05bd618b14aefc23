"""Games of cards: hidden hands on two phones, or real cards on the rendered table, where the
program is the referee.

The people play the full game in either case. As referee the table hears only of turns and combats, and reads the stacks
that hands lay open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from companion.core.grid import Square
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Step
from companion.games.tools import CardRehearsal, Showdown, tools_of
from companion.table.session import Phase
from companion.table.table_view import TableView
from companion.tools.selfplay import people
from companion.tools.selfplay.people import Match, Stuck

DAWDLES = 0.02
"""How often somebody lets the time of a turn run out."""
WAVERS = 0.1
WRONG = 0.3
"""How often a hand leaves a strange card in a lane while a combat is put away."""


@dataclass
class CardMatch(Match):
    """A game of lanes.

    `state` is the full game as the people know it, `laid` the open cards that hands have laid.
    """

    laid: Layout = field(default_factory=dict)

    def play_to_the_end(self) -> None:
        """Sit down, start the clock, take turns."""
        for player in self.players.values():
            self.sit_down(player)
        self.companion.table.new_game(self.game.name, self.options, self.seed)
        self.simulation.world.set_up({})
        self._press_table()
        while self.look().phase is not Phase.OVER and self.turns < people.MAX_TURNS:
            self._pass_stages()
            if self.look().phase is Phase.ORDERS:
                self.turns += 1
                self._take_turn()

    @property
    def _rehearsal(self) -> CardRehearsal:
        rehearsal = tools_of(self.game).rehearsal
        if rehearsal is None:
            raise Stuck(f"Nobody knows how people play {self.game.name}")
        return rehearsal

    @property
    def _has_real_cards(self) -> bool:
        has_machine = any(player.machine for player in self.players.values())
        return self._rehearsal.way(self.seed, has_machine=has_machine).has_real_cards

    def check(self, before: TableView, after: TableView) -> None:
        """Compare turns left, and with hidden hands all that anybody sees, with the people's own game."""

    def straighten(self) -> None:
        """Lay the open cards in straight fans again."""
        self.simulation.world.set_up(self.laid)

    def _pass_stages(self) -> None:
        """Let the parts of a combat be shown. No hands are wanted where the cards are on phones."""
        for _ in range(people.PATIENCE_FRAMES):
            if self.look().phase is not Phase.STAGES:
                return
            self.clock.advance(people.FRAME_S)
            self.companion.step_keys()
        raise Stuck(f"The combat does not end: the table says “{self.look().sign.text}”")

    # ---- turns -------------------------------------------------------------------------------------------------------

    def _take_turn(self) -> None:
        if not self.game.to_act(self.state):
            # Nobody can play on with the cards in hand, which the referee does not see: it counts to the last turn.
            self._press(self._due_seat(), self._rehearsal.end_turn)
            return
        (seat,) = self.game.to_act(self.state)
        view = self.look()
        rng = self.players[seat].rng
        drawn = self.chance()
        if self.players[seat].machine:
            self.until("The machine has its turn", view.moment, view.turn.stage, view.phase)
            self._follow(seat, self.played()[seat], drawn)
        elif rng.random() < DAWDLES and view.time.clock is not None:
            self.clock.advance(view.time.clock.limit_s)
            self.companion.step_keys()
            self._follow(seat, self._rehearsal.pass_turn, drawn)
        elif self._has_real_cards:
            self._play_with_cards(seat)
        else:
            self._play_on_phone(seat, view)
        self._compare()

    def _follow(self, seat: Seat, action: str, drawn: Random) -> Step[Any]:
        """Carry an action out in the people's own game."""
        step = self.game.apply(self.state, {seat: action}, drawn)
        self.state = step.state
        return step

    def _compare(self) -> None:
        """Compare what the table shows with the people's own game."""
        table = self.companion.table
        if self._has_real_cards:
            shown = table.view().board.tableau
            mine = self.game.tableau(self.state, None)
            self.count.misread += shown is None or mine is None or shown.count != mine.count
            return
        for viewer in (None, *SEATS):
            self.count.misread += table.view(viewer).board.tableau != self.game.tableau(
                self.state, viewer
            )

    def _play_on_phone(self, seat: Seat, view: TableView) -> None:
        """Hand an action in. Now and then take it back first, where that is allowed."""
        drawn = self.chance()
        player = self.players[seat]
        action = self.choose(list(self.game.legal_actions(self.state, seat)))
        if player.phone is None:
            raise Stuck("Hidden hands need a phone")
        if self.game.is_reversible(self.state, seat, action) and player.rng.random() < WAVERS:
            player.phone.post("hand-in", {"moment": view.moment, "action": action})
            if self.look().phase is Phase.ORDERS:
                player.phone.post("take-back", {"moment": view.moment})
                view = self.look()
            else:
                self._follow(seat, action, drawn)
                return
        player.phone.post("hand-in", {"moment": view.moment, "action": action})
        self._follow(seat, action, drawn)

    # ---- real cards --------------------------------------------------------------------------------------------------

    def _play_with_cards(self, seat: Seat) -> None:
        before, drawn = self.state, self.chance()
        legal = self.game.legal_actions(before, seat)
        action = self.choose(
            [action for action in legal if self._rehearsal.is_seen(before, action)]
        )
        step = self._follow(seat, action, drawn)
        if not step.stages:
            self._press(seat, self._rehearsal.end_turn)
            return
        self._lay(self._rehearsal.open_cards(before))
        self._fight(seat, self._rehearsal.showdown(before, seat, action))

    def choose(self, legal: list[str]) -> str:
        """Return an action, as people like them."""
        return self.rng.choices(legal, [self._rehearsal.liking(action) for action in legal])[0]

    def _press(self, seat: Seat, action: str) -> None:
        """Press once for the side on turn: its pad, its phone, or the table's button."""
        phone = self.players[seat].phone
        if phone is not None:
            phone.post("hand-in", {"moment": self.look().moment, "action": action})
        elif action == self._rehearsal.end_turn:
            self._press_table() if self.rng.random() < 0.3 else self.press(seat, "ready")
        else:
            for key in self._rehearsal.keys[action]:
                self.press(seat, key)

    def _press_table(self) -> None:
        hands = self.simulation.hands
        for act in (hands.press, hands.release):
            act("table")
            for _ in range(3):
                self.clock.advance(0.02)
                self.companion.step_keys()

    def _fight(self, seat: Seat, showdown: Showdown) -> None:
        """Call the combat, lay both stacks open, say yes to what the camera reads, and put the cards away."""
        mine, theirs = showdown.mine, showdown.theirs
        others = {
            zone: cards
            for zone, cards in self._rehearsal.open_cards(self.state).items()
            if zone != theirs
        }
        self._press(seat, self._rehearsal.call)
        self._lay({**others, **showdown.cards}, askew=True)
        words = self._read_aloud()
        self.count.misread += words != showdown.said
        self._say_yes(seat, words)
        self._put_away(others, mine, theirs)
        if self.look().phase is Phase.ORDERS and self.look().time.clock is None:
            is_won = self.game.outcome(self.state) is not None
            self._press(
                self._due_seat(), self._rehearsal.win if is_won else self._rehearsal.end_turn
            )

    def _lay(self, layout: Layout, askew: bool = False) -> None:
        """Lay open cards on the table, perhaps not quite straight, and let the camera look."""
        world, self.laid = self.simulation.world, layout
        world.set_up(layout)
        if askew:
            cards = {card for stack in layout.values() for card in stack}
            for piece in [piece for piece in world.pieces() if piece.face in cards]:
                world.nudge(piece.id, self.rng.uniform(-2, 2), self.rng.uniform(-2, 2))
                world.turn(piece.id, piece.turn_deg + self.rng.uniform(-5, 5))
        self.round(5)

    def _read_aloud(self) -> str:
        """Return what the camera reads.

        Hands lay the fans straight where it does not see everything.
        """
        for frame in range(people.PATIENCE_FRAMES):
            fans = self.look().own.laid
            if fans is not None:
                return fans
            if frame == people.PATIENCE_FRAMES // 2:
                self.straighten()
            self.round()
        raise Stuck(f"The camera does not read the cards: {self.look().board.fans}")

    def _say_yes(self, seat: Seat, said: str) -> None:
        phone = self.players[seat].phone
        if phone is not None:
            phone.post("hand-in", {"moment": self.look().moment, "action": said})
        else:
            self.press(seat, "ready")
        if self.look().phase is not Phase.STAGES:
            raise Stuck(f"The combat was not worked out: the table says “{self.look().sign.text}”")

    def _put_away(self, others: Layout, mine: Square, theirs: Square) -> None:
        """Follow the stages of a combat. Now and then a strange card is left in the lane first."""
        while (view := self.look()).phase is Phase.STAGES:
            place = (view.moment, view.turn.stage, view.phase)
            if view.turn.instructions:
                target = view.board.target or {}
                expected = self._rehearsal.open_cards(self.state).get(theirs, ())
                self.count.misread += sorted(target.get(theirs, ())) != sorted(expected)
                zones = {zone: cards for zone, cards in target.items() if cards}
                if self.rng.random() < WRONG:
                    self._leave_a_strange_card({**others, **zones}, mine)
                self.laid = {**others, **zones}
                self.simulation.world.set_up(self.laid)
            self.until("The combat is put away", *place)

    def _leave_a_strange_card(self, layout: Layout, zone: Square) -> None:
        """Lay a card that was in neither stack there: the table must name it."""
        view = self.look()
        used = {
            card
            for cards in (*layout.values(), *view.board.layout.values(), *view.board.fans.values())
            for card in cards
        }
        deck = view.kit.deck if view.kit else None
        strange = (
            self.rng.choice([card.name for card in deck.cards if card.name not in used])
            if deck
            else ""
        )
        self.count.wrong += 1
        self.simulation.world.set_up({**layout, zone: (strange,)})
        for _ in range(people.PATIENCE_FRAMES):
            self.round()
            if any(problem.face == strange for problem in self.look().board.problems):
                self.count.noticed += 1
                return

    def _due_seat(self) -> Seat:
        return next(seat for seat in SEATS if self.look().seats[seat].awaited)
