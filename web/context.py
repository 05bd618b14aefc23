"""What the routes of a table share: the table itself, authentication, streams, and fragments.

A fragment is the HTML of the changing part of a live page, drawn by a template such as
`_seat.html`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from flask import render_template, request

from companion.core.clock import Clock
from companion.core.errors import Illegal, Refusal, wrong_phase
from companion.core.i18n import current_language, say, side_names
from companion.core.kit import SEATS, Seat
from companion.games.base import Game
from companion.maintenance.own_wifi import HOTSPOT_NET
from companion.maintenance.settings.words import WORDS
from companion.table.session import BETWEEN_GAMES, Phase
from companion.table.table import Table
from companion.table.table_view import TableView
from web.features import Features
from web.rendering import cards
from web.security.auth import Auth, is_own_screen
from web.security.codes import JoinCode
from web.server.sse import Streams
from web.server.worker import Worker
from web.templating.phrases import end_words, rule_words

# Seconds without an open stream after which a seat's phone counts as gone. A phone that loads its
# page again, or changes its network, is without a stream for only a few seconds.
GONE_AFTER_S = 30.0
# Names of the choices of the setting that says whom the coach advises.
_COACH_CHOICES = WORDS["table.coach"].choices


class PhonePresence:
    """Finds the seats whose phone is gone. Thread-safe.

    A phone that shows the page of its seat holds a stream open. So a phone counts as gone if its
    seat has had no open stream for `GONE_AFTER_S` during a game. The service's housekeeping calls
    `update` every few seconds.
    """

    def __init__(self, table: Table, now_s: Callable[[], float]) -> None:
        self._table = table
        self._now_s = now_s
        self._stream_counts: Counter[Seat] = Counter()
        # When the phone of each seat was last present. The key also has the sitting
        # (`SeatView.sitting`), because the next person at the seat starts anew.
        self._last_present_at_s: dict[tuple[Seat, str], float] = {}
        self._lock = threading.Lock()
        self.gone_seats: frozenset[Seat] = frozenset()

    def count_stream(self, *seats: Seat) -> Callable[[], None]:
        """Count one more stream of each of these seats.

        Return the function to call when the stream ends.
        """
        self._count(seats, 1)
        return lambda: self._count(seats, -1)

    def _count(self, seats: tuple[Seat, ...], change: int) -> None:
        with self._lock:
            for seat in seats:
                self._stream_counts[seat] += change
        self.update()

    def update(self) -> None:
        """Find the seats whose phone is gone, and redraw all pages if that has changed."""
        view = self._table.view()
        now_s = self._now_s()
        is_game_on = view.phase not in BETWEEN_GAMES
        with self._lock:
            previous = self._last_present_at_s
            self._last_present_at_s = {}
            for seat in SEATS:
                sitter = view.seats[seat]
                # a door is what a seat is played by, and only phones need a stream
                needs_stream = is_game_on and sitter.door == "phone"
                is_present = not needs_stream or self._stream_counts[seat] > 0
                # a sitting that is new starts now, because its phone cannot have a stream yet
                key = (seat, sitter.sitting)
                self._last_present_at_s[key] = now_s if is_present else previous.get(key, now_s)
            gone_seats = frozenset(
                seat
                for (seat, _), present_at_s in self._last_present_at_s.items()
                if now_s - present_at_s >= GONE_AFTER_S
            )
            has_changed = gone_seats != self.gone_seats
            self.gone_seats = gone_seats
        if has_changed:
            self._table.redraw()


class Fragments:
    """Cache of fragments, so that a page is drawn once for all its viewers. Thread-safe.

    Viewers share a fragment if they have the same language and URL prefix. The cache keeps the
    fragments of the latest `max_versions` versions of each page.
    """

    def __init__(self, max_versions: int) -> None:
        self._max_versions = max_versions
        # For each page, a lock that is held while the page is drawn, and its fragments by version.
        self._pages: dict[tuple[object, ...], tuple[threading.Lock, dict[object, str]]] = {}

    def get(self, page: object, version: object, draw: Callable[[], str]) -> str:
        """Return the fragment of a page at a version, which `draw` makes if there is none yet.

        `page` is any hashable value that stands for the page.
        """
        # links in a fragment begin with the URL prefix, and a proxy may serve pages under another
        key = (page, current_language(), request.script_root)
        lock, versions = self._pages.setdefault(key, (threading.Lock(), {}))
        # Many viewers wake at once. The page's lock lets the first one draw while they wait, and
        # viewers of other pages do not wait for it.
        with lock:
            if version not in versions:
                versions[version] = draw()
                if len(versions) > self._max_versions:
                    # a dict iterates in order of insertion, so the first one is the oldest
                    del versions[next(iter(versions))]
            return versions[version]


class LivePart(NamedTuple):
    """The changing part of a page, of which a fragment is drawn for each version of the table."""

    page: str
    """Name of its template without underscore and suffix, such as `seat` for `_seat.html`."""
    viewer: Seat | None
    """The seat that looks, or None for a page that everybody may see."""
    is_own_screen: bool = False
    """Whether the machine's own screen shows it."""
    is_at_table: bool = False
    """Whether the viewer is at the table, and so may see the join code and the Wi-Fi."""


@dataclass
class PageContext:
    """What the routes of a table share. Made once by `create_app`, and thread-safe.

    Properties are the same for everybody. Methods may depend on the requester, and then read
    Flask's current request.
    """

    table: Table
    games: Mapping[str, Game[Any, Any]]
    """The games by name."""
    clock: Clock
    auth: Auth
    streams: Streams
    join_urls: Callable[[], tuple[str, ...]]
    """Returns the URLs of the first page, the best one for phones first."""
    join_code: JoinCode | None
    """Code that is needed to sit down, or None if anybody may."""
    features: Features
    presence: PhonePresence
    """The seats whose phone is gone."""
    worker: Worker = field(default_factory=Worker)
    """Thread that makes pictures, PDFs and films."""
    # two versions, because after a change some viewers may still wait for the one before
    _fragments: Fragments = field(default_factory=partial(Fragments, max_versions=2))

    # ---- the table ----

    @property
    def is_first_evening(self) -> bool:
        """Whether the table still asks a new owner its first questions.

        It stops when the owner has ended the questions, or when a game has been played.
        """
        upkeep = self.features.upkeep
        history = self.features.history
        if not self.features.has_first_evening or upkeep is None or upkeep.is_first_evening_over():
            return False
        return history is None or history.count() == 0

    @property
    def is_game_on(self) -> bool:
        """Whether a game has started and is not over."""
        return self.table.progress().phase not in BETWEEN_GAMES

    @property
    def has_sitters(self) -> bool:
        """Whether any seat is occupied, by a person or a machine."""
        return any(seat.name is not None for seat in self.table.view().seats.values())

    def begin_lesson(self, game: str) -> None:
        """Start the lesson of a game. The first of `features.opponents` plays every free seat."""
        self.table.begin_lesson(game)
        for seat in SEATS:
            if self.features.opponents and self.table.view().seats[seat].name is None:
                self.table.machines.seat_machine(seat, self.features.opponents[0].name)

    def require_pads(self) -> None:
        """Raise `Illegal` if the table has no pads."""
        if not self.features.equipment.has_pads:
            raise wrong_phase(say("There are no pads here: continue by phone"))

    # ---- the requester ----

    def may_become_owner(self) -> bool:
        """Return whether the requester may see the owner key, to become the first owner.

        That is anybody at the machine's own screen or in its own Wi-Fi, until the key is used.
        """
        own_wifi = self.features.own_wifi
        address = request.remote_addr or ""
        is_near = bool(own_wifi and own_wifi.hotspot and address.startswith(HOTSPOT_NET))
        return (is_own_screen() or is_near) and not self.auth.site.is_key_used()

    def needs_code(self) -> bool:
        """Return whether the requester needs the join code to sit down."""
        is_at_table = self.auth.is_at_table() or self.auth.is_host()
        return self.join_code is not None and not is_at_table

    def require_at_table(self) -> None:
        """Raise `Illegal` if a code is needed and the requester is not at the table."""
        if self.needs_code():
            message = say("Only a seat, the owner or the table’s own screen can do that here")
            raise Illegal(Refusal.NOT_YOUR_SEAT, message)

    def require_join_code(self, typed: str) -> None:
        """Raise `Illegal` if a code is needed and `typed` is not that code."""
        if self.join_code is not None and self.needs_code():
            self.join_code.require(typed, request.remote_addr or "")

    def rule_link(self, rule: str | None) -> tuple[str, str] | None:
        """Return the link to a paragraph of the rules of the current game, or None.

        `rule` is the id of the paragraph. A link has a URL and a text.
        """
        game = self.games.get(self.table.view().game or "") if rule else None
        if not rule or not game:
            return None
        return f"{request.script_root}/rules/{game.name}#{rule}", rule_words(game, rule)

    # ---- fragments ----

    def fragment(
        self,
        page: str,
        viewer: Seat | None,
        is_own_screen: bool = False,
        is_at_table: bool = False,
    ) -> str:
        """Return the live part of a page for one viewer, in the language of the request.

        It is drawn once per change and language. `LivePart` explains the parameters.
        """
        part = LivePart(page, viewer, is_own_screen, is_at_table)
        return self._fragments.get(part, self.table.version, partial(self._draw, part))

    def _draw(self, part: LivePart) -> str:
        """Render the template of a part.

        All templates of parts get the same values, and a few get some more by `_page_values`.
        """
        table = self.table
        features = self.features
        viewer = part.viewer
        view, public_view = self._views(viewer)
        # only in a game of pieces can moves be tapped on the board
        acting_seat = cards.acting_seat(view) if view.board.board_ui else None
        # only these pages have buttons for moves: to choose what the board means, and for anybody
        # to tap in an open game or in a lesson
        shows_plays = view.own.possible_actions or view.turn.is_open or view.guide is not None
        may_know_code = part.is_at_table or part.page == "host"
        with side_names(table.player_names()):
            plays = (
                table.coaching.plays(acting_seat, view.moment)
                if acting_seat and shows_plays
                else ()
            )
            finale = None
            if features.history and view.phase is Phase.OVER:
                # the moment `3.2` belongs to game 3
                finale = features.history.finale(int(view.moment.partition(".")[0]))
            return render_template(
                f"_{part.page}.html",
                view=view,
                public_card_ui=public_view.board.card_ui,
                viewer=viewer,
                settings=table.settings,
                plays=plays,
                coach=table.coaching.subjects(viewer) if viewer and features.coach else (),
                finale=finale,
                end=end_words(finale, viewer) if finale and view.match.outcome else None,
                urls=self.join_urls(),
                join_code=self.join_code.current() if self.join_code and may_know_code else "",
                may_sit=part.is_at_table or self.join_code is None,
                **self._page_values(part, view.phase),
            )

    def _page_values(self, part: LivePart, phase: Phase) -> dict[str, Any]:
        """Return the template values that a part of only one page needs."""
        table = self.table
        match part.page:
            case "table":
                # the seat at the left comes first
                is_turned = table.settings.tip_south == "right"
                shows_wifi = part.is_at_table and phase is Phase.LOBBY
                return {
                    "SEATS": SEATS[::-1] if is_turned else SEATS,
                    "wifi": self.features.equipment.wifi() if shows_wifi else None,
                    "is_own_screen": part.is_own_screen,
                }
            case "host":
                coach_for = _COACH_CHOICES[table.settings.coach] if self.features.coach else None
                return {"host_key": self.auth.host_key, "coach_for": coach_for}
            case "workbench":
                return {"pads": {seat: table.view(seat).own.pad for seat in SEATS}}
            case "pass":
                # the small print of a seat's sign, on the cover of a shared phone
                return {"seat_small": table.view(SEATS[0]).sign.small}
        return {}

    def _views(self, viewer: Seat | None) -> tuple[TableView, TableView]:
        """Return a viewer's view of the table, and the public view of the same version.

        A card that only the viewer's own view shows is secret, and templates mark it.
        """
        while True:
            view = self.table.view(viewer)
            public_view = view if viewer is None else self.table.view()
            # if the table has changed between the two calls, take both views again
            if public_view.version == view.version:
                return view, public_view
