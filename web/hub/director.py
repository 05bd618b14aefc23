"""The director's page of a tournament, and the same actions as JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from flask import Response, jsonify, make_response, redirect, render_template, request
from msgspec import Meta
from werkzeug.exceptions import NotFound

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.games import GAMES
from companion.league import director
from companion.league.people import player_name
from companion.league.standings import format_halves
from companion.league.tournament import BoardEnd, Place, System, Tournament
from web.error_pages import status_of
from web.hub.room import HubContext, HubGroup
from web.hub.tournaments import SYSTEM_WORDS, VERDICT_WORDS, TournamentPages
from web.routes.api.body import Body, LongText, ShortText
from web.routes.route import form, get, host_only, host_page, post
from web.templating.phrases import whole_number

DONE_WORDS = {
    "new": say("Tournament made"),
    "enter": say("Entry"),
    "withdraw": say("Withdrawn"),
    "rest": say("Rests in the next round"),
    "no_rest": say("Plays in the next round after all"),
    "pair": say("Round paired"),
    "unpair": say("Pairing taken back"),
    "decide": say("Result entered"),
    "move": say("Table changed"),
    "end": say("Tournament ended"),
    "result": say("Result from the table"),
    "take_back": say("The table took its result back"),
    "refused": say("Result refused"),
}


class Wish(Body, frozen=True):
    """Request of a program: the values of the form's fields by name, as text."""

    given: Annotated[dict[ShortText, LongText], Meta(max_length=12)]


class DirectorPages(HubGroup):
    """The routes under `/host/tournament`, and the same under `/api/hub/tournament`."""

    name = "director"

    def __init__(self, hub: HubContext, pages: TournamentPages) -> None:
        super().__init__(hub)
        self._pages = pages

    # ---- pages ----

    @form("/host/tournaments", guard=host_only)
    def make(self) -> Any:
        """Create a tournament from the form."""
        try:
            tournament = self._make(request.form)
        except CompanionError as error:
            return self._pages.all(error.message, status_of(error))
        return redirect(f"/host/tournament/{tournament.id}", 303)

    @get("/host/tournament/<int:number>", guard=host_page)
    def page(self, number: int, error: str = "", status: int = 200) -> Any:
        """Show the director's page."""
        tournament = self._pages.known(number)
        page = render_template(
            "hub_director.html",
            t=tournament,
            w=self._pages.words,
            log=self._tournaments.log(number),
            done=DONE_WORDS,
            verdicts=VERDICT_WORDS,
            people=[
                person
                for person in self._cards.people()
                if not person.is_forgotten and tournament.entrant_of(person.number) is None
            ],
            tables=self._room.tables(),
            system=SYSTEM_WORDS[tournament.system],
            halves=format_halves,
            System=System,
            error=error,
        )
        return make_response(page, status)

    @form("/host/tournament/<int:number>", guard=host_only, page="page")
    def act(self, number: int) -> Any:
        """Carry out the action of a submitted form."""
        self._act(number, request.form)
        return redirect(f"/host/tournament/{number}", 303)

    # ---- programs ----

    @post("/api/hub/tournaments", body=Wish, guard=host_only)
    def make_by_json(self, body: Wish) -> Response:
        """Create a tournament, for programs."""
        return jsonify(tournament=self._make(body.given).id)

    @post("/api/hub/tournament/<int:number>", body=Wish, guard=host_only)
    def act_by_json(self, number: int, body: Wish) -> Response:
        """Carry out an action of the director, for programs, and return the tournament."""
        self._act(number, body.given)
        return self._pages.json(number)

    # ---- inside ----

    def _make(self, form: Mapping[str, str]) -> Tournament:
        """Create a tournament from the values of a form. Raises `Malformed`."""
        # `game/2` is the third preset of the game
        game, _, way = form.get("game", "").partition("/")
        if game not in GAMES:
            raise NotFound
        presets, preset = GAMES[game].presets, whole_number(way)
        options: Mapping[str, Any] = {}
        if preset is not None and preset < len(presets):
            options = presets[preset].options
        made = director.new_tournament(
            form.get("name", "")[:200],
            _one_of(System, form.get("system", "")),
            game,
            options,
            rounds=_number(form, "rounds", 5),
            minutes=_number(form, "minutes", 0),
            team_size=_number(form, "team_size", 1),
        )
        return self._tournaments.add(made)

    def _act(self, number: int, form: Mapping[str, str]) -> None:
        self._pages.known(number)
        tournaments, what = self._tournaments, form.get("do", "")
        act: Callable[[Tournament], Tournament]
        entrant, place = 0, None
        match what:
            case "enter":
                return self._enter(
                    number, form.get("people", "")[:2000], form.get("team", "")[:200]
                )
            case "pair":
                return tournaments.pair_round(number)
            case "withdraw":
                entrant = _number(form, "entrant", 0)
                act = partial(director.withdraw, number=entrant)
            case "rest" | "no_rest":
                entrant = _number(form, "entrant", 0)
                act = partial(director.rest, number=entrant, is_resting=what == "rest")
            case "unpair":
                act = director.unpair_round
            case "decide":
                place, end = _place(form), form.get("verdict", "")
                verdict = _one_of(BoardEnd, end) if end else None
                act = partial(director.decide, place=place, verdict=verdict)
            case "move":
                place, table = _place(form), self._room.table(_number(form, "table", 0))
                act = partial(director.move, place=place, table=table.id if table else "")
            case "end":
                act = director.end
            case _:
                raise NotFound
        tournaments.direct(number, what, act, entrant=entrant, place=place)

    def _enter(self, number: int, typed: str, team: str) -> None:
        """Enter people, one a line: `#12` for a card, or a name for which a card is made.

        A refused entry makes no cards.
        """
        entries: list[int | str] = []
        # check all lines first, so that an invalid one leaves no cards for the others
        for line in filter(None, map(str.strip, typed.splitlines())):
            if line[0] == "#" and line[1:].isdecimal():
                entries.append(self._cards.require(whole_number(line[1:]) or 0).number)
            else:
                entries.append(player_name(line))
        # for the check, people without a card get negative numbers, which no card has
        people = [
            entry if isinstance(entry, int) else -place for place, entry in enumerate(entries, 1)
        ]
        director.enter(self._pages.known(number), people, 0.0, team)
        people = [
            entry if isinstance(entry, int) else self._cards.make(entry).number for entry in entries
        ]
        self._tournaments.enter(number, people, team)


def _number(form: Mapping[str, str], name: str, missing: int) -> int:
    number = whole_number(form.get(name, ""))
    return missing if number is None else number


def _place(form: Mapping[str, str]) -> Place:
    """Parse the place of a board, such as `2.1.1`. The text counts from 1, the place from 0."""
    match [whole_number(part) for part in form.get("place", "").split(".")]:
        case [int(round_), int(match_), int(board)] if min(round_, match_, board) > 0:
            return round_ - 1, match_ - 1, board - 1
    raise Malformed(say("There is no such board"))


def _one_of(kind: Any, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise Malformed(say("This request cannot be read")) from None
