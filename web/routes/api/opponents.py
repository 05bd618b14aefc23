"""Who plays along: the machine, asked for a seat and sent away again, the coach, and the guide of a
first game.
"""

from __future__ import annotations

from flask import Response, jsonify, render_template

from companion.core.errors import Illegal, Malformed, Refusal, wrong_phase
from companion.core.i18n import Verbatim, listed, say
from companion.core.kit import SEATS, Seat
from companion.table.session import MACHINE
from companion.table.state import About
from web.context import PageContext
from web.rendering.answers import AdviceJson, MachineSeated, Seated
from web.rendering.json_view import plain_fields
from web.routes.api.body import SEAT, Body, GameName, Text
from web.routes.route import PageGroup, own_seat, post, shared


class Ask(Body, frozen=True):
    """One of the characters is to play. `code` is as for sitting down."""

    name: Text
    code: Text = ""


class Leave(Body, frozen=True):
    """The machine is to leave. `code` is as for sitting down."""

    code: Text = ""


class Question(Body, frozen=True):
    """What the coach is asked about: the action that is due (`now`), the own last one (`last`), or
    the machine’s (`theirs`), for which that one’s own reasons are told once everybody knows it.
    """

    moment: Text
    about: About


class Opponents(PageGroup):
    """The doors under `/api/seat` for whoever may sit down."""

    name = "opponents"

    @post(f"/api/seat/{SEAT}/machine", body=Ask, answer=MachineSeated)
    def machine(self, seat: str, body: Ask) -> Response:
        """Let a character play a free seat, or take the place of another one."""
        self._page_context.let_in(body.code)
        known = [character.name for character in self._features.opponents]
        if body.name not in known:
            text = say(
                "There is no such opponent: choose one of {names}",
                names=listed(map(Verbatim, known)),
            )
            raise Malformed(text)
        # to send a character away is for those at the table, to fill a free seat is not
        if self._table.view().seats[Seat(seat)].door == MACHINE:
            self._require_at_table()
            self._table.machines.unseat(Seat(seat))
        self._table.machines.seat(Seat(seat), body.name)
        return jsonify(seat=seat, name=body.name)

    @post(f"/api/seat/{SEAT}/machine-leaves", body=Leave, answer=Seated)
    def machine_leaves(self, seat: str, body: Leave) -> Response:
        """Make a seat free that the machine plays."""
        self._page_context.let_in(body.code)
        self._require_at_table()
        self._table.machines.unseat(Seat(seat))
        return jsonify(seat=None)

    @post(f"/api/seat/{SEAT}/coach", body=Question, guard=own_seat, answer=AdviceJson)
    def coach(self, seat: Seat, body: Question) -> Response:
        """Ask the coach what to do, what the last action was worth, or why the machine acted."""
        coach = self._features.coach
        if coach is None:
            raise wrong_phase(say("There is no coach here"))
        advice = coach.ask(seat, body.moment, body.about)
        html = render_template("_advice.html", advice=advice)
        return jsonify(html=html, **plain_fields(advice, "action", "why", "judgement"))

    def _require_at_table(self) -> None:
        """Raise `Illegal` for somebody who does not sit here and would take the opponent out of a
        game that is on.
        """
        may_ask = self._guard.is_at_table() or self._guard.is_host()
        if self._page_context.is_game_on and not may_ask:
            text = say(
                "A game is on: only the players, the owner or the table’s own screen can change "
                "the opponent"
            )
            raise Illegal(Refusal.NOT_YOUR_SEAT, text)


class Lessons(PageGroup):
    """The doors of lessons, for those who sit at the table or stand before its screen."""

    name = "lessons"

    @shared("lesson", "seat", "table", body=GameName)
    def begin(self, by: str, body: GameName) -> None:
        """Begin the lesson of a game for those who sit here.

        The machine plays a seat that is free.
        """
        if not self._page_context.has_sitters:
            raise wrong_phase(say("Nobody sits here: sit down first"))
        begin_lesson(self._page_context, body.game)

    @shared("skip-lesson", "seat", "table")
    def skip(self, by: str) -> None:
        """End the lesson's guide."""
        self._table.skip_lesson(by)


def begin_lesson(page_context: PageContext, game: str) -> None:
    """Begin the lesson of a game, with the first of the machine's characters at every seat that is
    free.
    """
    table = page_context.table
    table.begin_lesson(game)
    for seat in SEATS:
        if page_context.features.opponents and table.view().seats[seat].name is None:
            table.machines.seat(seat, page_context.features.opponents[0].name)
