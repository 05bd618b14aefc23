"""The sentences that the table says aloud: whose turn it is, what happened, warnings and results.
They use only what everybody may know.

A sentence is said when the table waits for something of another kind, not at every line of a list,
and never twice in one step of a turn. Screens and the machine's own voice say the same sentences.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.core.ports import CameraState, Utterance
from companion.table.session import Phase
from companion.table.table_view import TableView

MAX_RECENT = 4
"""Number of sentences that are kept for a screen that lags behind."""
HURRIED_S = 15.0
"""Maximum duration in seconds of turns that are too short to be announced. Tones do that."""


class Announcer:
    """Makes sentences of the table's changes, each once, for any number of voices.

    `version` and `view` are the table's, the view being that of a spectator. Sentence numbers count
    up from `began_s`, a Unix time, so that they also grow over a restart.
    """

    def __init__(
        self,
        version: Callable[[], int],
        view: Callable[[], TableView],
        began_s: float,
        everything: bool = False,
    ) -> None:
        self.everything = everything
        self._version = version
        self._view = view
        self._number = round(began_s * 1000)
        self._recent: deque[Utterance] = deque(maxlen=MAX_RECENT)
        self._before: TableView | None = None
        self._seen_version = -1
        self._said: set[tuple[str, int, str]] = set()
        self._lock = threading.Lock()

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first, including those of the newest change."""
        with self._lock:
            if self._version() != self._seen_version:
                view = self._view()
                self._seen_version = view.version
                self._note(view)
            return tuple(self._recent)

    def _note(self, view: TableView) -> None:
        before, self._before = self._before, view
        # A new listener hears no old news.
        if before is None:
            return
        if before.moment != view.moment or before.help != view.help:
            self._said.clear()  # who asks once more hears it once more
        for text in sentences(before, view, self.everything):
            place = (view.moment, view.turn.stage, str.__str__(text))
            if text and place not in self._said:
                self._said.add(place)
                self._number += 1
                self._recent.append(Utterance(self._number, text))


def sentences(before: TableView, view: TableView, everything: bool) -> Iterator[str]:
    """Yield the sentences for a change between two views of a spectator."""
    if view.viewer is not None or before.viewer is not None:
        raise ValueError("a voice knows what everybody knows")
    yield from (notice for notice in view.devices.notices if notice not in before.devices.notices)
    if (
        view.devices.camera.state is CameraState.TROUBLE
        and before.devices.camera.state is not CameraState.TROUBLE
    ):
        yield view.devices.camera.sentence
    if everything:
        yield from _newly_seated(before, view)
    yield from _happened(before, view, everything)
    if view.help and not before.help:
        yield from (
            say("{word!c}: {result}.", word=row.word, result=row.result)
            for row in view.help
            if row.result
        )
    if view.match.draw_offer is not None and view.match.draw_offer is not before.match.draw_offer:
        yield view.match.offer_words
    if view.phase is Phase.OVER:
        if before.phase is not Phase.OVER:
            yield view.sign.text
            yield view.sign.small
    elif _kind(view, everything) != _kind(before, everything):
        yield _awaited(view, everything)


def _newly_seated(before: TableView, view: TableView) -> Iterator[str]:
    for seat in SEATS:
        if (name := view.seats[seat].name) and before.seats[seat].name is None:
            yield say("{name} sits at {side}.", name=Verbatim(name), side=_side(view, seat))


def _happened(before: TableView, view: TableView, everything: bool) -> Iterator[str]:
    """Yield the events of a step that was just opened, or of a turn without steps."""
    if view.phase is Phase.STAGES:
        is_new = (before.phase, before.moment, before.turn.stage) != (
            view.phase,
            view.moment,
            view.turn.stage,
        )
        if is_new and (everything or not view.turn.headline):  # else the sign tells it
            yield from (event.text for event in view.turn.events if everything or event.kind.cue)
    elif (
        everything
        and before.phase is Phase.ORDERS
        and before.moment != view.moment
        and view.match.log[-1:] != before.match.log[-1:]
    ):
        yield from view.match.log[-1:]


def _kind(view: TableView, everything: bool) -> tuple[object, ...]:
    """Return what the table waits for, without the details that change while pieces are moved."""
    number = view.turn.headline.number if view.turn.headline else None
    step = (view.phase, view.moment, view.turn.stage, number)
    if view.board.problems:
        return (*step, view.board.problems[0].sign)
    if view.phase in (Phase.SETUP, Phase.STAGES):
        # Pieces are moved line by line, and every line changes the sign.
        return (*step, view.sign.text) if everything else step
    if view.phase is Phase.LOBBY:
        return (*step, view.sign.text)
    return (
        *step,
        view.sign.seats,
        bool(view.own.possible_actions),
        bool(view.time.clock and view.time.clock.paused),
    )


def _awaited(view: TableView, everything: bool) -> str:
    """Return the sign's sentence, or a shorter one. Empty if nothing needs to be said."""
    if view.phase is Phase.SETUP and not view.board.problems and not everything:
        return say("Set up the board.")
    clock = view.time.clock
    if (
        view.phase is Phase.ORDERS
        and clock
        and not view.time.clocks
        and clock.limit_s <= HURRIED_S
        and not clock.paused
    ):
        # In a fast game only the side is said, or nothing. Tones do the rest.
        seats = view.sign.seats
        return _side(view, next(iter(seats))).capitalize() if everything and len(seats) == 1 else ""
    return view.sign.text


def _side(view: TableView, seat: Seat) -> str:
    """Return the name of a seat: its side in the game, or its seat at the table."""
    side = view.seats[seat].side
    return side.name if side else {Seat.SOUTH: say("South"), Seat.NORTH: say("North")}[seat]
