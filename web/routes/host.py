"""The owner's pages: the owner key, and the set-up of game, options and seats.

The owner is `host` in addresses and names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import say
from companion.games.base import OptionRow
from companion.table.session import Phase
from web.routes.route import TableRouteGroup, answer_owner_key, ask_for_key, form, get

# Pages that may ask for the owner key. Once it is entered, the browser goes back there.
RETURN_PATHS = (
    "/settings",
    "/host/health",
    "/wifi",
    "/camera/phone",
    "/history",
    "/kit",
    "/host/hub",
    "/host/hub/game",
)


@dataclass(frozen=True)
class ChosenRow:
    """What the owner has chosen for an option of a game."""

    index: int | None
    """Index of the chosen choice, or None if the owner has typed a text, such as a map."""
    text: str
    """The typed text, or a sample to begin with. Empty for an option that takes no text."""


class HostPages(TableRouteGroup):
    """The routes under `/host`."""

    name = "host"

    @get("/host")
    def page(self) -> Any:
        """Show the owner the set-up of a game and the seats. Others are asked for the owner's key.

        The query `game` chooses a game, otherwise it is the current, the suggested or the last one.
        """
        if not self._auth.is_host():
            return ask_for_key(f"/{request.args.get('back', 'host')}")
        view = self._table.view()
        name = request.args.get("game") or view.game or view.board.suggested_game
        game = self._games.get(name or self._table.remembered_game or next(iter(self._games)))
        if game is None:
            raise NotFound
        chosen = self._table.last_choices.options(game.name) or {}
        # The stream changes one fragment (`_host.html`). On the page its three parts stand apart,
        # with the options of the game between them, so it is split at its marks.
        seats, match, foot = self.page_context.fragment("host", None).split("<!--part-->")
        return render_template(
            "host.html",
            seats=seats,
            match=match,
            foot=foot,
            live="/live/host",
            game=game,
            chosen_row=partial(chosen_row, chosen),
            is_on=view.phase in (Phase.ORDERS, Phase.STAGES),
        )

    @get("/owner", endpoint="owner")
    def key_page(self) -> Any:
        """Redirect to the owner's page.

        Until the owner key is first used, people at the machine or in its own Wi-Fi see the key
        here instead.
        """
        if not self.page_context.may_become_owner():
            return redirect("/host")
        urls = self.page_context.join_urls()
        address = f"{urls[0]}host" if urls else "/host"
        return render_template("owner_key.html", host_key=self._auth.host_key, address=address)

    @form("/host", endpoint="key")
    def enter_key(self, key: str, back: str) -> Response:
        """Make this browser the owner's, and lead back to the page that asked for the key."""
        # only known pages, because a forged form may name any address
        if back not in RETURN_PATHS:
            back = "/host/first/1" if self.page_context.is_first_evening else "/host"
        wrong = say(
            "That is not the owner’s key. It is on the table’s own screen, or run: companion "
            "host-key"
        )
        return answer_owner_key(key, back, wrong)


def chosen_row(chosen: Mapping[str, Any], row: OptionRow) -> ChosenRow:
    """Return what the owner has chosen for the option `row`: last time, or else its default.

    `chosen` has the values that were chosen last for a game, by the name of the option. The default
    of an option is its first choice.
    """
    # until the owner has typed a text, the value of the last choice is shown as a sample
    sample = str(row.choices[-1][1]) if row.free_text else ""
    # compare texts, because Python takes the number 1 and the value True for equal
    choices = [repr(choice) for _, choice in row.choices]
    value = chosen.get(row.name, row.choices[0][1])
    if repr(value) in choices:
        return ChosenRow(choices.index(repr(value)), sample)
    if row.free_text and isinstance(value, str):
        return ChosenRow(None, value)
    return ChosenRow(0, sample)
