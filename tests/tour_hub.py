"""Helpers: tours of a hub's pages, and of two tables that play linked games over a hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from hub_room import HUB_KEY, NAMES, fill_room, open_hub_pages, open_league, store_result
from hub_tools import AdmittingHub, hub_settings
from internals import session_of
from service import Client
from tour import NOWHERE, Stop, TableTour
from waiting import until

from companion.core.clock import FakeClock
from companion.core.config import WebSettings
from companion.core.errors import Stale
from companion.core.kit import SEATS, Seat
from companion.hub.pair_client import SILENCE_TIMEOUT_S
from companion.hub_server.app import Hub
from companion.league.league import League
from companion.league.tournament import BoardVerdict, PairingSystem
from companion.table.remote.messages import RemoteGame
from companion.table.session import Phase, Session
from web.hub.room import HubRoom
from web.server.server import Server, open_server

# Tables of the room of `hub_room` that the tour watches, by number, and what each shows: a game by
# its name, or a game that is over, or no game.
WATCHED_TABLES = {
    1: "outbuffered",
    3: "over",
    4: "kahmate",
    5: "scouts",
    6: "arena",
    8: "binmat",
    12: "free",
}
# Games of the tour of two tables: in the first, both sides seal orders. In the second, they take
# turns.
PAIR_GAMES = ("outbuffered", "scouts")


class HubTour:
    """The tour of a hub without a network, whose tables are made up.

    Its client is the hub's owner, and `_player` is a guest who has a player's card.
    """

    def __init__(self, room: HubRoom, league: League, clock: FakeClock, server: Server) -> None:
        self.room = room
        self.league = league
        self._clock = clock
        self.server = server
        self.client = Client(f"http://127.0.0.1:{server.port}")
        self._player = Client(self.client.url)

    def stops(self) -> Iterator[Stop]:
        """Yield every page in every state. A page stays as it is until the next stop is taken."""
        yield Stop("hub-empty-screen", "/")
        for page in ("watch", "tournaments", "standings"):
            yield Stop(f"hub-empty-{page}", f"/{page}", is_guest=True)
        yield Stop("hub-key", "/host", is_guest=True)
        yield Stop("hub-missing", NOWHERE, is_guest=True)
        _enter_host_key(self.client, HUB_KEY)
        yield Stop("hub-empty-host", "/host")
        yield Stop("hub-empty-people", "/host/people")
        fill_room(self.room)
        yield Stop("hub-screen", "/")
        yield Stop("hub-watch", "/watch", is_guest=True)
        for number, state in WATCHED_TABLES.items():
            yield Stop(f"hub-{state}-watch", f"/watch/{number}", is_guest=True)
            if state != "free":
                yield Stop(f"hub-{state}-overlay-screen", f"/overlay/{number}", is_guest=True)
        yield Stop("hub-host", "/host")
        yield from self._people()
        yield from self._tournament()

    def _people(self) -> Iterator[Stop]:
        """Show a player's card, the standings after 40 results, and the owner's list of people."""
        yield Stop("hub-card-none", "/card", is_guest=True)
        _submit_form(self._player, "/card/make", name="Mara", shown="on")
        yield Stop("hub-card-new", "/card", client=self._player)
        for name in NAMES[1:9]:
            self.league.cards.create(name)
        rng = Random(5)
        for index in range(40):
            pair = rng.sample(range(1, 10), 2)
            winner = rng.choice((*SEATS, None))
            store_result(self.league, *pair, winner, "outbuffered", at_s=float(index))
        yield Stop("hub-standings", "/standings?game=outbuffered", is_guest=True)
        yield Stop("hub-people", "/host/people")

    def _tournament(self) -> Iterator[Stop]:
        """Show a tournament from before its first entry to its end."""
        tournaments = self.league.tournaments
        form = {
            "name": "Cup of the long evenings",
            "system": PairingSystem.SWISS,
            "game": "outbuffered",
        }
        _submit_form(self.client, "/host/tournaments", **form, rounds="3", minutes="20")
        yield Stop("hub-cup-new-director", "/host/tournament/1")
        for number in range(1, 10):  # the numbers of Mara and the eight others who have a card
            tournaments.enter(1, number)
        yield Stop("hub-cup-entered-director", "/host/tournament/1")
        yield Stop("hub-cup-entered", "/tournament/1", is_guest=True)
        tournaments.pair_round(1)
        yield from self._round("round")
        ends = (
            BoardVerdict.SOUTH,
            BoardVerdict.DRAW,
            BoardVerdict.NORTH_BY_DEFAULT,
            BoardVerdict.NEITHER,
        )
        for number, verdict in enumerate(ends, start=1):
            place = f"1.{number}.1"  # round, match and board
            _submit_form(
                self.client, "/host/tournament/1", do="decide", place=place, verdict=verdict
            )
        yield from self._round("decided")
        _submit_form(self.client, "/host/tournament/1", do="end")
        yield from self._round("over")
        yield Stop("hub-tournaments", "/tournaments")

    def _round(self, state: str) -> Iterator[Stop]:
        """Show a round to everybody, to the owner as the tournament's director, and to a player."""
        yield Stop(f"hub-cup-{state}-screen", "/")
        yield Stop(f"hub-cup-{state}", "/tournament/1", is_guest=True)
        yield Stop(f"hub-cup-{state}-director", "/host/tournament/1")
        yield Stop(f"hub-cup-{state}-card", "/card", client=self._player)


@contextmanager
def open_hub_tour() -> Iterator[HubTour]:
    """Open the tour of a hub in a temporary folder."""
    clock = FakeClock()
    room = HubRoom("Tuesday club", clock)
    with (
        TemporaryDirectory() as folder,
        open_league(
            Path(folder), clock, "id9", "id10", "id11", "id12", when_changed=room.notify
        ) as league,
        open_hub_pages(room, clock, league=league) as app,
        open_server(app, "127.0.0.1", 0) as server,
    ):
        server.start()
        yield HubTour(room, league, clock, server)


class PairTour:
    """The tour of two simulated tables that play games with each other over a real hub."""

    def __init__(self, hub: Hub, tables: Mapping[Seat, TableTour], clock: FakeClock) -> None:
        self.hub = hub
        self.tables = tables
        self.clock = clock
        self.client = tables[Seat.SOUTH].client

    def stops(self, games: tuple[str, ...] = PAIR_GAMES) -> Iterator[Stop]:
        """Yield every page in every state, and play each of these games once."""
        yield from self._before()
        for name in games:
            yield from self._game(name)
        yield from self._falls_silent()

    def _before(self) -> Iterator[Stop]:
        """Join the hub with both tables, and show the offer of a game."""
        for table in self.tables.values():
            _enter_host_key(table.client, table.companion.host_key)
            table.companion.hub.join(
                self.hub.urls()[0], self.hub.table_join_code.code, sends_names=True
            )
        self._until(
            "joining of both tables",
            lambda seat: "of Our club" in self.tables[seat].companion.hub.sentence,
        )
        yield Stop("tables-hub", "/host/hub")
        yield Stop("tables-offer", "/host/hub/game")
        self._offer("outbuffered")
        yield Stop("tables-offered", "/host/hub/game")
        yield Stop("tables-offered-host", "/host")
        for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
            self.tables[seat].client.post(f"/api/seat/{seat}/take", name=name)
        yield Stop("tables-card", "/seat/south/card")

    def _game(self, name: str) -> Iterator[Stop]:
        """Show a game from its set-up until South resigns."""
        self._agree(name)
        yield from self._everybody(f"tables-{name}-setup")
        yield Stop(f"tables-{name}-on", "/host/hub/game")
        yield Stop(f"tables-{name}-join", "/join", is_guest=True)
        yield Stop(f"tables-{name}-host", "/host")
        self._confirm()
        self._until("the first decision", lambda seat: self._phase(seat) is Phase.ORDERS)
        yield from self._everybody(f"tables-{name}-orders")

        # one side hands in, and the other table gets its message
        first = next(seat for seat in SEATS if seat in self._session(seat).awaited_seats)
        received = self._remote(first.other).received_count
        self._hand_in(first)
        self._until(
            "delivery of the first hand-in",
            lambda _: self._remote(first.other).received_count > received,
        )
        yield from self._everybody(f"tables-{name}-waits")

        # the other side hands in, in a game of turns after the stages of the first one's turn
        while first.other not in self._session(first.other).awaited_seats:
            self._confirm()
        self._hand_in(first.other)
        self._until(
            "the reveal at both tables",
            lambda seat: first.other not in self._session(seat).awaited_seats,
        )
        yield from self._everybody(f"tables-{name}-stages")

        self.tables[Seat.SOUTH].table.resign(Seat.SOUTH)
        self._until(
            "the end of the game at both tables", lambda seat: self._phase(seat) is Phase.OVER
        )
        yield from self._everybody(f"tables-{name}-over")

    def _falls_silent(self) -> Iterator[Stop]:
        """Agree on another game, and let North's table fall silent. South's then ends the game."""
        self._agree("outbuffered")
        self.tables[Seat.NORTH].companion.hub.close()
        self.clock.advance(SILENCE_TIMEOUT_S)
        self._until("a notice of the silence", lambda _: "silent" in self._notices(Seat.SOUTH))
        yield from self._everybody("tables-silent")
        yield Stop("tables-silent-host", "/host")
        # the first request asks the other table, the second ends the game without its consent
        for _ in range(2):
            self.tables[Seat.SOUTH].table.abandon()

    # ---- one step of a game ----

    def _everybody(self, state: str) -> Iterator[Stop]:
        """Yield stops at both tables' screens and seats, and at the page of South's spectators."""
        for seat, tour in self.tables.items():
            yield Stop(f"{state}-{seat}-screen", "/", client=tour.client)
            yield Stop(f"{state}-{seat}", f"/seat/{seat}", client=tour.client)
        yield Stop(f"{state}-watch", "/watch")

    def _agree(self, game: str) -> None:
        """Offer a game at South's table and accept it at North's."""
        north = self.tables[Seat.NORTH].client
        north.post("/api/host/hub/take", code=self._offer(game), name="Jonas")
        self._until("the beginning of the game", self._may_begin)

    def _offer(self, game: str) -> str:
        """Offer a game as South's host. Return the code by which another table accepts it."""
        return str(
            self.client.post("/api/host/hub/offer", game=game, seat="south", name="Mara")["code"]
        )

    def _session(self, seat: Seat) -> Session:
        return session_of(self.tables[seat].table)

    def _phase(self, seat: Seat) -> Phase:
        return self._session(seat).phase

    def _may_begin(self, seat: Seat) -> bool:
        """Return whether the game has begun at this table."""
        return self._phase(seat) in (Phase.SETUP, Phase.ORDERS)

    def _remote(self, seat: Seat) -> RemoteGame:
        remote = self._session(seat).remote
        assert remote
        return remote

    def _until(self, what: str, condition: Callable[[Seat], Any]) -> None:
        """Let both tables work until the condition is true for both seats.

        The messages between them take real time. The fake clock moves on meanwhile, because tables
        refuse messages that come too often.
        """

        def holds_at_both_tables() -> bool:
            self.clock.advance(0.005)
            for tour in self.tables.values():
                tour.table.step()
            return all(condition(seat) for seat in self.tables)

        until(what, holds_at_both_tables)

    def _notices(self, seat: Seat) -> str:
        return " ".join(self.tables[seat].table.view().devices.notices)

    def _confirm(self) -> None:
        """Confirm the board of each table that waits for that, and has not told the other yet."""
        for seat in SEATS:
            session = self._session(seat)
            if (
                session.phase in (Phase.SETUP, Phase.STAGES)
                and not self._remote(seat).has_reported_stage
            ):
                with suppress(Stale):  # a message of the other table has just begun the next stage
                    self.tables[seat].table.confirm(
                        "host", session.moment, session.stage_index, force=True
                    )

    def _hand_in(self, seat: Seat) -> None:
        session = self._session(seat)
        table = self.tables[seat].table
        if session.paused_by:
            table.resume(seat)
        action = session.require_game().random_action(session.state, seat, Random(3))
        table.hand_in(seat, session.moment, session.require_game().format(action))


@contextmanager
def open_pair_tour() -> Iterator[PairTour]:
    """Open the tour of two tables and their hub in a temporary folder."""
    clock = FakeClock()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder)
        web = WebSettings(host="127.0.0.1", port=0, viewers=64)
        hub = stack.enter_context(AdmittingHub(hub_settings(path / "hub", web=web), clock))
        tables = {
            seat: stack.enter_context(closing(TableTour(path / seat, clock))) for seat in SEATS
        }
        yield PairTour(hub, tables, clock)


def _enter_host_key(client: Client, key: str) -> None:
    _submit_form(client, "/host", key=key)


def _submit_form(client: Client, path: str, **form: str) -> None:
    """Submit a form, and require that the hub or table accepts it."""
    status, page, _ = client.send(path, urlencode(form).encode(), {"Accept": "text/html"})
    assert status == 200, page
