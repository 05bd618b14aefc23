"""Opponents and help: the machine as a player, the coach, and the guide of a first game."""

from __future__ import annotations

from flask import render_template

from companion.core.errors import Illegal, Malformed, Refusal, wrong_phase
from companion.core.i18n import Verbatim, listed, say
from companion.core.kit import Seat
from companion.table.session import MACHINE
from companion.table.state import CoachSubject
from web.rendering.answers import AdviceJson, MachineSeated, Seated
from web.rendering.json_view import build_answer
from web.routes.api.body import SEAT_PART, ShortText
from web.routes.route import TableRouteGroup, post, seat_post, shared_post


class Opponents(TableRouteGroup):
    """The routes of opponents and coach under `/api/seat`.

    Anybody who may sit down can also let a machine sit down.
    """

    name = "opponents"

    @post(f"/api/seat/{SEAT_PART}/machine", endpoint="machine")
    def seat_machine(self, seat: str, name: ShortText, code: ShortText = "") -> MachineSeated:
        """Let a character play a free seat, or replace another character.

        `code` is the join code.
        """
        self.page_context.require_join_code(code)
        characters = [character.name for character in self._features.opponents]
        if name not in characters:
            text = say(
                "There is no such opponent: choose one of {names}",
                names=listed(map(Verbatim, characters)),
            )
            raise Malformed(text)
        this_seat = Seat(seat)
        # during a game, only people at the table may replace the character that plays there
        if self._table.view().seats[this_seat].door == MACHINE:
            self._require_at_table()
            self._table.machines.unseat_machine(this_seat)
        self._table.machines.seat_machine(this_seat, name)
        return {"seat": this_seat, "name": name}

    @post(f"/api/seat/{SEAT_PART}/machine-leaves", endpoint="machine_leaves")
    def remove_machine(self, seat: str, code: ShortText = "") -> Seated:
        """Remove the machine from a seat. `code` is the join code."""
        self.page_context.require_join_code(code)
        self._require_at_table()
        self._table.machines.unseat_machine(Seat(seat))
        return {"seat": None}

    @seat_post("coach")
    def coach(self, seat: Seat, moment: ShortText, about: CoachSubject) -> AdviceJson:
        """Ask the coach about an action.

        `about` is `now` for advice on the seat's next action, `last` for a judgement of its last
        action, or `theirs` for the machine's reasons for its own action. The coach tells the
        machine's reasons only once everybody knows its action.
        """
        coach = self._features.coach
        if coach is None:
            raise wrong_phase(say("There is no coach here"))
        advice = coach.ask(seat, moment, about)
        html = render_template("_advice.html", advice=advice)
        return build_answer(AdviceJson, advice, html=html)

    def _require_at_table(self) -> None:
        """Raise `Illegal` if a game is on and the requester is not at the table."""
        is_at_table = self._auth.is_at_table() or self._auth.is_host()
        if self.page_context.is_game_on and not is_at_table:
            text = say(
                "A game is on: only the players, the owner or the table’s own screen can change "
                "the opponent"
            )
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)


class Lessons(TableRouteGroup):
    """The routes of lessons, for people at a seat or at the table screen."""

    name = "lessons"

    @shared_post("lesson", "seat", "table")
    def begin(self, actor: str, game: ShortText) -> None:
        """Start the lesson of a game for the people who sit here. The machine plays free seats.

        `actor`, which `shared_post` passes to every method, makes no difference here.
        """
        if not self.page_context.has_sitters:
            raise wrong_phase(say("Nobody sits here: sit down first"))
        self.page_context.begin_lesson(game)

    @shared_post("skip-lesson", "seat", "table")
    def skip(self, actor: str) -> None:
        """End the guide of the lesson."""
        self._table.skip_lesson(actor)
