"""Fuzz targets: events at a table in any order, and pairs of tables that keep a secret.

Twins are two tables that differ only in what South hides. They must give equal answers to everybody
but South: a difference would tell something of the secret.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from flask import Flask
from hypothesis import strategies as st
from internals import session_of

from companion.archive.history import History
from companion.core.clock import FakeClock
from companion.core.config import TableSettings, WebSettings
from companion.core.errors import CompanionError
from companion.core.grid import Square
from companion.core.i18n import LANGUAGES
from companion.core.kit import SEATS, Seat
from companion.core.ports import CameraState, CameraStatus, PadKey, Press, Reading
from companion.games import GAMES
from companion.games.binmat.cards import DECK
from companion.storage.journal import Journal
from companion.table import reducer
from companion.table.board_check import top_faces
from companion.table.session import Phase
from companion.table.table import Table
from fuzz.endings import check_game_goes_on, follow_and_resume
from fuzz.running import Probe, Target
from fuzz.texts import GAME, ODD_TEXTS
from web.app import create_app
from web.features import Features, SiteConfig

# Squares, some of which are on no board.
SQUARES = st.builds(Square, st.integers(0, 10), st.integers(0, 10))
# Faces of the pieces of all games.
FACES = sorted({face.name for game in GAMES.values() for face in game.kit(game.options({})).faces})


# ---- events --------------------------------------------------------------------------------------


class FuzzedTable:
    """A table without pages, and a method for each kind of event that may happen to it."""

    def __init__(self, table: Table, clock: FakeClock, seed: int) -> None:
        self.table, self.clock, self.rng = table, clock, Random(seed)

    def do(self, event: tuple[Any, ...]) -> None:
        """Carry out one event, which is the name of a method and its arguments.

        It may be refused, but raise no other error. Everybody's view must work afterwards.
        """
        kind, *arguments = event
        with contextlib.suppress(CompanionError):
            getattr(self, kind)(*arguments)
        self.table.step()
        for viewer in (None, *SEATS):
            self.table.view(viewer)

    def press(self, seat: Seat | None, key: PadKey, held: bool, late_s: float) -> None:
        """Press a key of a pad, or of the table if `seat` is None. It was pressed `late_s` ago."""
        self.table.press(Press(seat, key, self.clock.monotonic_s() - late_s, held))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def see(self, changes: dict[Square, str], unknown: frozenset[Square], is_quiet: bool) -> None:
        """Let the camera read the layout that the table wants, or the last one, with some changes.

        The reader names only squares and faces of the game on the table, because it has found that
        game's board. On a board of cards it reads no pieces.
        """
        view, now_s = self.table.view(), self.clock.monotonic_s()
        if view.kit is None or view.kit.deck is not None:
            self.table.handle_reading(Reading({}, at_s=now_s, quiet=is_quiet, game=view.game))
            return

        squares, faces = frozenset(view.kit.board.squares), view.kit.tops_mm
        layout = view.board.target if self.rng.random() < 0.5 else view.board.layout
        shown = dict(top_faces(layout or {}))
        shown |= {square: face for square, face in changes.items() if square in squares}
        shown = {square: face for square, face in shown.items() if face in faces}
        reading = Reading(shown, unknown & squares, quiet=is_quiet, game=view.game, at_s=now_s)
        self.table.handle_reading(reading)

    def camera(self, state: CameraState, sentence: str) -> None:
        """Set the state of the camera."""
        self.table.set_camera_status(CameraStatus(state, sentence))

    def hand_in(self, seat: Seat, text: str | None) -> None:
        """Hand in a text on a phone.

        None stands for a legal action, or an empty one out of turn.
        """
        session = session_of(self.table)
        if text is None:
            text = ""
            if seat in session.awaited_seats:
                game = session.require_game()
                text = game.format(game.random_action(session.state, seat, self.rng))
        self.table.hand_in(seat, session.moment, text, "5a17")

    def confirm(self, by: str, force: bool) -> None:
        """Confirm the layout that the table wants, by force or only if the camera agrees.

        `by` is who confirms it: a seat, the owner (`host`), or `table` for the table button.
        """
        view = self.table.view()
        self.table.confirm(by, view.moment, view.turn.stage, force)

    def ask(self, request: str, seat: Seat) -> None:
        """Carry out one of `REQUESTS`, or a rarer one. `seat` is who asks, if that matters."""
        table, moment = self.table, self.table.view().moment
        {
            "undo": table.undo,
            "take back": lambda: table.take_back(seat, moment),
            "pause": lambda: table.pause(str(seat)),
            "resume": lambda: table.resume(str(seat)),
            "resign": lambda: table.resign(seat),
            "draw": lambda: table.offer_draw(seat),
            "rematch": table.rematch,
            "swap": table.swap_seats,
            "leave": lambda: table.free_seat(seat),
            "sit": lambda: table.take_seat(seat, "Somebody", "pad"),
            "move": lambda: table.move_to_phone(seat),
            "pad": lambda: table.change_door(seat, "pad"),
            "abandon": table.abandon,
        }[request]()

    def start(self, game: str, seed: int) -> None:
        """Begin a new game with the options of one of its presets."""
        self.table.new_game(game, dict(self.rng.choice(GAMES[game].presets).options), seed)


# Requests for `FuzzedTable.ask` that come often. Those that end a game are rarer, see `_events`.
REQUESTS = [
    "undo", "take back", "pause", "resume", "resume", "draw",
    "rematch", "swap", "leave", "sit", "sit", "move", "pad",
]  # fmt: skip


def _events() -> st.SearchStrategy[tuple[Any, ...]]:
    """Return events for `FuzzedTable.do`: the name of a method, and its arguments.

    What stands there more than once comes more often.
    """
    seat = st.sampled_from(SEATS)
    keys = st.tuples(
        st.just("press"),
        st.sampled_from([*SEATS, *SEATS, None]),
        st.sampled_from(list(PadKey)),
        st.sampled_from([False, False, True]),
        st.floats(0, 2),
    )
    changes = st.dictionaries(SQUARES, st.sampled_from(FACES), max_size=2)
    unknown = st.frozensets(SQUARES, max_size=2)
    sees = st.tuples(st.just("see"), changes, unknown, st.sampled_from([True, True, True, False]))
    hand_in = st.tuples(
        st.just("hand_in"), seat, st.one_of(st.none(), st.none(), st.none(), ODD_TEXTS)
    )
    confirm = st.tuples(
        st.just("confirm"),
        st.sampled_from(["south", "north", "host", "table"]),
        st.sampled_from([True, True, False]),
    )
    return st.one_of(
        keys, keys, keys, sees, sees, sees, hand_in, hand_in, hand_in, confirm, confirm, confirm,
        st.tuples(st.just("wait"), st.sampled_from([0.1, 0.5, 3.0, 60.0])),
        st.tuples(st.just("ask"), st.sampled_from(REQUESTS), seat),
        st.one_of(
            st.tuples(st.just("camera"), st.sampled_from(list(CameraState)), ODD_TEXTS),
            st.tuples(st.just("start"), GAME, st.integers(0, 99)),
            st.tuples(st.just("ask"), st.sampled_from(["resign", "abandon"]), seat),
        ),
    )  # fmt: skip


@contextmanager
def events(folder: Path, seed: int) -> Iterator[Probe]:
    """Carry out events in any order in all games. Then play on, and check the journal."""
    clock = FakeClock()
    with (
        Journal(folder / "journal.sqlite") as journal,
        Table(journal, clock, TableSettings(reading_time_s=0.1)) as table,
    ):
        fuzzed = FuzzedTable(table, clock, seed)
        fuzzed.start(sorted(GAMES)[seed % len(GAMES)], seed)

        def check(case: list[tuple[Any, ...]]) -> tuple[str, int]:
            if table.view().phase in (Phase.LOBBY, Phase.OVER):
                fuzzed.start(fuzzed.rng.choice(sorted(GAMES)), fuzzed.rng.randrange(100))
            for event in case:
                fuzzed.do(event)
            return str(table.view().phase), len(case)

        def finish() -> None:
            check_game_goes_on(table, journal, turns=5)

        yield Probe(st.lists(_events(), min_size=1, max_size=25), check, finish)


# ---- twins ---------------------------------------------------------------------------------------

# By game: what South hides at the first twin, and at the second one. In BINMAT these are the first
# cards of the deck, of which South draws one. In the other games South seals an action.
SECRETS = {
    "outbuffered": (["UUS"], ["DRI"]),
    "arena": (["1:N 2:aE 3:D"], ["1:E 2:X 3:N"]),
    "kahmate": (["R@c2 R@f2 B@c1 T@e2 F@a2 S@d1"], ["R@a1 R@b1 B@c1 T@d1 F@e1 S@f1"]),
    "binmat": (["5&", "a#"], ["a#", "5&"]),
}
# SHA-256 sums, such as receipts. They differ between twins, but tell nothing of the secret.
RECEIPT = re.compile(rb"\b[0-9a-f]{64}\b")


class Twin:
    """A table with its pages, at which South hides something. It is one of a pair."""

    def __init__(self, folder: Path, name: str, stack: contextlib.ExitStack) -> None:
        self.clock = FakeClock()
        self.journal = stack.enter_context(Journal(folder / name / "journal.sqlite"))
        self.table = stack.enter_context(
            Table(self.journal, self.clock, TableSettings(reading_time_s=0.1))
        )
        history = History(
            self.journal,
            folder / name / "history",
            self.clock,
            find_current_game=lambda: self.table.progress().number,
        )
        site = SiteConfig(
            WebSettings(), lambda: ("http://192.0.2.7:8080/",), b"k" * 32, "abcde-fghij"
        )
        self.app: Flask = create_app(self.table, GAMES, self.clock, site, Features(history=history))
        stack.callback(self.app.extensions["streams"].close)
        self.people = {role: self.app.test_client() for role in ("south", "north", "nobody")}
        for seat in SEATS:
            self.people[str(seat)].post(f"/api/seat/{seat}/take", json={"name": f"Player {seat}"})

    def hide(self, game: str, texts: list[str], other_cards: list[str]) -> None:
        """Begin a game in which South has sealed an action, or has drawn a card from the deck.

        `texts` is that action, or the first cards of the deck, and `other_cards` the other cards.
        """
        view = self.table.view()
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            self.table.abandon()
        if game == "binmat":
            self.table.new_game(game, {"deck": [*texts, *other_cards]}, 1)
            self.table.resume("host")
            # draw a card from lane 0
            self.table.hand_in(Seat.SOUTH, self.table.view().moment, "d0")
            return
        self.table.new_game(game, {}, 1)
        follow_and_resume(self.table)
        self.table.hand_in(Seat.SOUTH, self.table.view().moment, texts[0], "5a17")

    def is_of_earlier_game(self, path: str) -> bool:
        """Return whether the path is that of an earlier game, whose secrets are open."""
        match = re.match(r"/history/(\d+)", path)
        return match is not None and int(match[1]) < self.table.progress().number

    def progress_key(self) -> tuple[Any, ...]:
        """Return a key of where the game stands. Once it has changed, the secret may be open."""
        session = session_of(self.table)
        return session.moment, session.phase, Seat.SOUTH in session.sealed, sorted(session.seats)


def _paths() -> st.SearchStrategy[Any]:
    """Return requests of North or of a stranger: method, path, body and language.

    The value `NOW` in a body stands for the current moment.
    """
    seats = ("south", "north")
    pages = ["/", "/watch", "/clock", "/api/view", "/history", "/api/history", "/pass", "/host"]
    pages += [f"{path}/{seat}" for seat in seats for path in ("/join", "/seat")]
    pages += [f"/api/seat/{seat}/{what}" for seat in seats for what in ("view", "plays")]
    ends = ("", ".json", ".txt", "/scene/0")
    pages += [f"/history/{number}{end}" for number in range(1, 6) for end in ends]
    doors = ["hand-in", "take-back", "mine", "plan", "confirm", "by-pad", "draw", "start", "take"]
    posts = [f"/api/seat/{seat}/{door}" for seat in seats for door in doors]
    posts += [f"/api/table/{door}" for door in ("act", "back", "pause", "resume")]
    posts += [f"/api/host/{door}" for door in ("undo", "abandon", "confirm", "preview")]
    actions = ["UUS", "DRI", "d0", "d3", "p5&1", "pa#1", "--"]
    body = st.fixed_dictionaries(
        {},
        optional={
            "moment": st.sampled_from(["NOW", "NOW", "NOW", "1.0"]),
            "action": st.sampled_from(actions) | ODD_TEXTS,
            "entered": st.sampled_from(["", "U", "UUS", "1:N"]),
            "stage": st.integers(0, 2),
            "force": st.booleans(),
            "name": ODD_TEXTS,
            "game": GAME,
        },
    )
    language = st.sampled_from(list(LANGUAGES))
    return st.one_of(
        st.tuples(st.just("get"), st.sampled_from(pages), st.none(), language),
        st.tuples(st.just("post"), st.sampled_from(posts), body, language),
    )


@contextmanager
def twins(folder: Path, seed: int) -> Iterator[Probe]:
    """Send equal requests to twins, and compare the answers.

    Begin anew whenever a request may have opened South's secret.
    """
    name = sorted(SECRETS)[seed % len(SECRETS)]
    first, second = SECRETS[name]
    other_cards = [card for card in DECK if card not in first]
    real_receipt = reducer.receipt_of
    # a real receipt is a hash of the secret, and would differ between twins
    reducer.receipt_of = lambda *_: "ab" * 32
    try:
        with contextlib.ExitStack() as stack:
            pair = (Twin(folder, "first", stack), Twin(folder, "second", stack))

            def begin() -> None:
                for twin, texts in zip(pair, (first, second), strict=True):
                    twin.hide(name, texts, other_cards)

            begin()

            def check(cases: list[Any]) -> tuple[str, int]:
                word = "same"
                for (method, path, body, language), role in cases:
                    # a game that is over shows all its cards
                    if name == "binmat" and pair[0].is_of_earlier_game(path):
                        continue
                    key_before = pair[0].progress_key()
                    answers = [_answer(twin, method, path, body, language, role) for twin in pair]
                    phases = {twin.table.view().phase for twin in pair}
                    if pair[0].progress_key() != key_before or len(phases) > 1:
                        begin()
                        word = "opened"
                        continue
                    assert answers[0] == answers[1], (
                        f"{method} {path} shows {role} South's secret: {answers}"
                    )
                return word, len(cases)

            def finish() -> None:
                for twin in pair:
                    check_game_goes_on(twin.table, twin.journal, 2)

            cases = st.lists(
                st.tuples(_paths(), st.sampled_from(["north", "north", "nobody"])),
                min_size=1,
                max_size=8,
            )
            yield Probe(cases, check, finish)
    finally:
        reducer.receipt_of = real_receipt


def _answer(
    twin: Twin, method: str, path: str, body: Any, language: str, role: str
) -> tuple[int, str, bytes]:
    """Send a request to a twin. Return the status, the headers and the content of its answer.

    Cookies are left out, as they contain random text.
    """
    twin.clock.advance(0.05)
    content: dict[str, Any] = {}
    if body is not None:
        moment = twin.table.view().moment
        content = {
            "data": json.dumps(
                {name: moment if value == "NOW" else value for name, value in body.items()}
            ),
            "content_type": "application/json",
        }
    answer = twin.people[role].open(
        path,
        method=method,
        headers={"Accept-Language": language},
        environ_base={"REMOTE_ADDR": "192.0.2.5"},
        **content,
    )
    headers = sorted((key, value) for key, value in answer.headers if key != "Set-Cookie")
    page = answer.get_data()
    answer.close()
    return answer.status_code, str(headers), RECEIPT.sub(b"RECEIPT", page)


TARGETS = (
    Target("events", share=0.25, batch=400, open_probe=events),
    Target("twins", share=0.06, batch=300, open_probe=twins),
)
