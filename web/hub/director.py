"""The page of a tournament's director: the hub's owner, who pairs rounds and decides results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flask import make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.games import GAMES
from companion.league import tournament_rules
from companion.league.standings import format_halves
from companion.league.tournament import BoardEnd, BoardPlace, System, Tournament
from web.error_pages import status_of
from web.hub.room import HubContext, HubGroup
from web.hub.tournaments import SYSTEM_WORDS, VERDICT_WORDS, TournamentPages
from web.routes.route import form, get, host_only, host_page
from web.templating.phrases import whole_number


class DirectorPages(HubGroup):
    """The routes under `/host/tournament`."""

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
        tournament = self._pages.require_tournament(number)
        page = render_template(
            "hub_director.html",
            tournament=tournament,
            league_words=self._pages.words,
            verdicts=VERDICT_WORDS,
            people=[
                person
                for person in self._cards.people()
                if not person.is_forgotten and tournament.entrant_of(person.number) is None
            ],
            tables=self._room.tables(),
            system=SYSTEM_WORDS[tournament.system],
            format_halves=format_halves,
            System=System,
            error=error,
        )
        return make_response(page, status)

    @form("/host/tournament/<int:number>", guard=host_only, page="page")
    def act(self, number: int) -> Any:
        """Carry out the action of a submitted form."""
        self._act(number, request.form)
        return redirect(f"/host/tournament/{number}", 303)

    # ---- inside ----

    def _make(self, form: Mapping[str, str]) -> Tournament:
        """Create a tournament from the values of a form. Raises `Malformed`."""
        # `game/2` is the third preset of the game
        game, _, preset_text = form.get("game", "").partition("/")
        if game not in GAMES:
            raise NotFound
        presets, preset = GAMES[game].presets, whole_number(preset_text)
        options: Mapping[str, Any] = {}
        if preset is not None and preset < len(presets):
            options = presets[preset].options
        made = tournament_rules.new_tournament(
            form.get("name", "")[:200],
            _parse_choice(System, form.get("system", "")),
            game,
            options,
            rounds=_number(form, "rounds", 5),
            minutes=_number(form, "minutes", 0),
        )
        return self._tournaments.add(made)

    def _act(self, number: int, form: Mapping[str, str]) -> None:
        """Carry out the action `do` of a form on a tournament. Raises a `CompanionError`."""
        self._pages.require_tournament(number)
        tournaments = self._tournaments
        act: Callable[[Tournament], Tournament]
        match form.get("do", ""):
            case "enter":
                return self._enter(number, form.get("person", "")[:200].strip())
            case "pair":
                return tournaments.pair_round(number)
            case "withdraw":
                act = partial(tournament_rules.withdraw, entrant_number=_number(form, "entrant", 0))
            case "unpair":
                act = tournament_rules.unpair_round
            case "decide":
                end = form.get("verdict", "")
                verdict = _parse_choice(BoardEnd, end) if end else None
                act = partial(tournament_rules.decide, place=_place(form), verdict=verdict)
            case "move":
                table = self._room.table(_number(form, "table", 0))
                act = partial(
                    tournament_rules.move_board, place=_place(form), table=table.id if table else ""
                )
            case "end":
                act = tournament_rules.end
            case _:
                raise NotFound
        tournaments.direct(number, act)

    def _enter(self, number: int, typed: str) -> None:
        """Enter a card by its number (`#12`), or a new card for a name."""
        if typed[:1] == "#":
            person = whole_number(typed[1:]) or 0
        else:
            # raises if nobody may enter, before a card is made
            tournament_rules.enter(self._pages.require_tournament(number), 0, 0.0)
            person = self._cards.create(typed).number
        self._tournaments.enter(number, person)


def _number(form: Mapping[str, str], name: str, default: int) -> int:
    """Return the number in a field of a form, or the default."""
    number = whole_number(form.get(name, ""))
    return default if number is None else number


def _place(form: Mapping[str, str]) -> BoardPlace:
    """Parse the place of a board, such as `2.1.1`. The text counts from 1, the place from 0."""
    match [whole_number(part) for part in form.get("place", "").split(".")]:
        case [int(round_), int(match_), int(board)] if min(round_, match_, board) > 0:
            return round_ - 1, match_ - 1, board - 1
    raise Malformed(say("There is no such board"))


def _parse_choice(kind: Any, text: str) -> Any:
    """Return the member of an enumeration with this value. Raises `Malformed`."""
    try:
        return kind(text)
    except ValueError:
        raise Malformed(say("This request cannot be read")) from None
