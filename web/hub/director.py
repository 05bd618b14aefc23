"""The page of a tournament's director: the hub's owner, who pairs rounds and decides results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.games import GAMES
from companion.league import tournament_rules
from companion.league.standings import format_half_points
from companion.league.tournament import BoardPlace, BoardVerdict, PairingSystem, Tournament
from web.error_pages import status_of
from web.hub.room import HubContext, HubRouteGroup
from web.hub.tournaments import SYSTEM_WORDS, VERDICT_WORDS, TournamentPages
from web.routes.route import form, get, host_only, host_page
from web.templating.phrases import parse_whole_number


class DirectorPages(HubRouteGroup):
    """The routes under `/host/tournament`."""

    name = "director"

    def __init__(self, hub: HubContext, pages: TournamentPages) -> None:
        super().__init__(hub)
        self._pages = pages

    # ---- pages ----

    @form("/host/tournaments", guard=host_only)
    def create(self) -> Any:
        """Create a tournament, and show its page."""
        try:
            tournament = self._tournaments.add(_new_tournament(request.form))
        except CompanionError as error:
            return self._pages.all(error.message, status_of(error))
        return redirect(f"/host/tournament/{tournament.id}", 303)

    @get("/host/tournament/<int:tournament_id>", guard=host_page)
    def page(self, tournament_id: int, error: str = "", status: int = 200) -> Any:
        """Show the director's page."""
        tournament = self._pages.require_tournament(tournament_id)
        page = render_template(
            "hub_director.html",
            tournament=tournament,
            league_words=self._pages.words,
            verdicts=VERDICT_WORDS,
            people=[
                person
                for person in self._cards.all()
                if not person.is_forgotten and tournament.entrant_of(person.number) is None
            ],
            tables=self._room.tables(),
            system=SYSTEM_WORDS[tournament.system],
            format_half_points=format_half_points,
            PairingSystem=PairingSystem,
            error=error,
        )
        return make_response(page, status)

    @form("/host/tournament/<int:tournament_id>", guard=host_only, form_page="page")
    def act(self, tournament_id: int) -> Any:
        """Carry out the action whose button was pressed, and show the page again."""
        self._pages.require_tournament(tournament_id)
        self._carry_out(tournament_id, request.form)
        return redirect(f"/host/tournament/{tournament_id}", 303)

    # ---- inside ----

    def _carry_out(self, tournament_id: int, fields: Mapping[str, str]) -> None:
        """Carry out on a tournament the action that the field `do` of a form names.

        Raises a `CompanionError` if it is not possible, and `NotFound` for an unknown action.
        """
        apply_action = partial(self._tournaments.apply_action, tournament_id)
        match fields.get("do", ""):
            case "enter":
                self._enter(tournament_id, fields.get("person", "")[:200].strip())
            case "pair":
                self._tournaments.pair_round(tournament_id)
            case "withdraw":
                entrant_number = _number(fields, "entrant", 0)
                apply_action(partial(tournament_rules.withdraw, entrant_number=entrant_number))
            case "unpair":
                apply_action(tournament_rules.unpair_round)
            case "decide":
                text = fields.get("verdict", "")
                verdict = _parse_choice(BoardVerdict, text) if text else None
                apply_action(
                    partial(tournament_rules.set_verdict, place=_place(fields), verdict=verdict)
                )
            case "move":
                table = self._room.table(_number(fields, "table", 0))
                table_id = table.id if table else ""
                apply_action(
                    partial(tournament_rules.move_board, place=_place(fields), table_id=table_id)
                )
            case "end":
                apply_action(tournament_rules.end)
            case _:
                raise NotFound

    def _enter(self, tournament_id: int, typed: str) -> None:
        """Enter the person whose card has the typed number (`#12`), or a new person by name."""
        if typed[:1] == "#":
            self._tournaments.enter(tournament_id, parse_whole_number(typed[1:]) or 0)
        else:
            self._tournaments.enter_newcomer(tournament_id, typed)


def _new_tournament(fields: Mapping[str, str]) -> Tournament:
    """Return the tournament that a form describes.

    Raises `NotFound` for an unknown game, and `Malformed` for any other wrong field.
    """
    # the field has a game and the index of one of its presets: `GAME/2` is the third preset
    game, _, preset_text = fields.get("game", "").partition("/")
    if game not in GAMES:
        raise NotFound
    presets = GAMES[game].presets
    preset = parse_whole_number(preset_text)
    options: Mapping[str, Any] = {}
    if preset is not None and preset < len(presets):
        options = presets[preset].options
    return tournament_rules.new_tournament(
        fields.get("name", "")[:200],
        _parse_choice(PairingSystem, fields.get("system", "")),
        game,
        options,
        rounds=_number(fields, "rounds", 5),
        minutes=_number(fields, "minutes", 0),
    )


def _number(fields: Mapping[str, str], name: str, default: int) -> int:
    """Return the number in a field of a form, or the default if there is none."""
    number = parse_whole_number(fields.get(name, ""))
    return default if number is None else number


def _place(fields: Mapping[str, str]) -> BoardPlace:
    """Return the place of the board that a form is about. Raises `Malformed`.

    The form counts from 1 and the place from 0: `2.1.1` is the first board of the first match in
    the second round, which is `BoardPlace(1, 0, 0)`.
    """
    match [parse_whole_number(part) for part in fields.get("place", "").split(".")]:
        case [int(round_), int(match_), int(board)] if min(round_, match_, board) > 0:
            return BoardPlace(round_ - 1, match_ - 1, board - 1)
    raise Malformed(say("There is no such board"))


def _parse_choice(enum_type: Any, text: str) -> Any:
    """Return the member of the enumeration with this value. Raises `Malformed`."""
    try:
        return enum_type(text)
    except ValueError:
        raise Malformed(say("This request cannot be read")) from None
