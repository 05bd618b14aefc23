"""The sentences that the table says aloud: whose turn it is, what happened, warnings and results.

The sentences are made by comparing two views of a spectator, so they contain only what everybody
may know. Three rules decide what is said:

- What the table waits for (its sign) is said when it changes, but not for every piece that hands
  have to move (`_wait_key`).
- Nothing is said twice in one stage, which is the part of a turn that hands carry out at once.
- If somebody asks for help again, the answer is said again.
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

# Maximum number of sentences for a screen that asks late. Older sentences are old news.
MAX_RECENT = 4
# Time limit in seconds up to which a turn is announced by tones alone, because a sentence would
# take too much of it. Chosen by eye.
MAX_UNANNOUNCED_TURN_S = 15.0


class Announcer:
    """Turns the table's changes into numbered sentences, for any number of voices.

    `SpeechPolicy` owns it. It has no thread: whoever asks for the `recent` sentences makes it look
    at the table. Any thread may ask.

    :param get_version: returns a number that grows with each change of the table
    :param get_view: returns what a spectator may know
    :param began_at_s: Unix time of the start, in seconds. The first sentence gets the number of its
        milliseconds, so that numbers also grow over a restart
    :param says_everything: whether to say also who sits down, every event, and every instruction to
        hands
    """

    def __init__(
        self,
        get_version: Callable[[], int],
        get_view: Callable[[], TableView],
        began_at_s: float,
        says_everything: bool = False,
    ) -> None:
        self.says_everything = says_everything
        self._get_version = get_version
        self._get_view = get_view
        self._number = round(began_at_s * 1000)
        self._recent: deque[Utterance] = deque(maxlen=MAX_RECENT)
        self._last_view: TableView | None = None
        self._last_version = -1
        # What was said in the present moment of the game: moment, stage and English text.
        self._said: set[tuple[str, int, str]] = set()
        self._lock = threading.Lock()

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first, including those of the newest change."""
        with self._lock:
            if self._get_version() != self._last_version:
                before = self._last_view
                self._last_view = view = self._get_view()
                self._last_version = view.version
                # What happened before the first look at the table is old news.
                if before:
                    self._add_sentences(before, view)
            return tuple(self._recent)

    def _add_sentences(self, before: TableView, view: TableView) -> None:
        # After a request for help everything may be said again, so that the answer is heard even if
        # it is the same as before.
        if before.moment != view.moment or before.help != view.help:
            self._said.clear()
        for text in describe_change(before, view, self.says_everything):
            # `str.__str__` gives the English text, whatever the language of this thread.
            key = (view.moment, view.turn.stage, str.__str__(text))
            if text and key not in self._said:
                self._said.add(key)
                self._number += 1
                self._recent.append(Utterance(self._number, text))


def describe_change(before: TableView, view: TableView, says_everything: bool) -> Iterator[str]:
    """Yield the sentences for a change between two views of a spectator. Some may be empty.

    Notices and trouble come first, then what happened, and what the table waits for comes last.
    Raises `ValueError` for the view of a seat, which may contain secrets.
    """
    if view.viewer is not None or before.viewer is not None:
        raise ValueError("sentences are made only from a view that everybody may see")
    yield from (notice for notice in view.devices.notices if notice not in before.devices.notices)
    camera = view.devices.camera
    was_in_trouble = before.devices.camera.state is CameraState.TROUBLE
    if camera.state is CameraState.TROUBLE and not was_in_trouble:
        yield camera.sentence
    if says_everything:
        yield from _arrival_sentences(before, view)
    yield from _event_sentences(before, view, says_everything)
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
    elif _wait_key(view, says_everything) != _wait_key(before, says_everything):
        yield _wait_sentence(view, says_everything)


def _arrival_sentences(before: TableView, view: TableView) -> Iterator[str]:
    for seat in SEATS:
        if (name := view.seats[seat].name) and before.seats[seat].name is None:
            yield say("{name} sits at {side}.", name=Verbatim(name), side=_side_name(view, seat))


def _event_sentences(before: TableView, view: TableView, says_everything: bool) -> Iterator[str]:
    """Yield the events of a stage that was just opened, or the log line of a turn without stages.

    If not everything is said, only events that also have a sound are, and no event if the turn has
    a headline. The headline is said as a part of the sign.
    """
    if view.phase is Phase.STAGES:
        stage = (view.phase, view.moment, view.turn.stage)
        is_new = stage != (before.phase, before.moment, before.turn.stage)
        if is_new and (says_everything or not view.turn.headline):
            for event in view.turn.events:
                if says_everything or event.kind.cue:
                    yield event.text
    elif (
        says_everything
        and before.phase is Phase.ORDERS
        and before.moment != view.moment
        and view.match.log[-1:] != before.match.log[-1:]
    ):
        yield from view.match.log[-1:]


def _wait_key(view: TableView, says_everything: bool) -> tuple[object, ...]:
    """Return a key for what the table waits for. A sentence is due when the key changes.

    So the key has everything that deserves a sentence. Details that change while pieces are moved
    are left out. The index of a headline (what has happened, which stands in the sign until it is
    read) is in the key, so that a sentence is due when the headline comes and when it goes.
    """
    headline_index = view.turn.headline.index if view.turn.headline else None
    stage = (view.phase, view.moment, view.turn.stage, headline_index)
    if view.board.problems:
        return (*stage, view.board.problems[0].sign)
    if view.phase in (Phase.SETUP, Phase.STAGES):
        # Pieces are moved one after another, and every move changes the sign.
        return (*stage, view.sign.text) if says_everything else stage
    if view.phase is Phase.LOBBY:
        return (*stage, view.sign.text)
    return (
        *stage,
        view.sign.seats,
        bool(view.own.possible_actions),
        bool(view.time.clock and view.time.clock.paused),
    )


def _wait_sentence(view: TableView, says_everything: bool) -> str:
    """Return what the table waits for. Empty if it need not be said.

    This is the sign, except in two cases. While the board is set up, it is one general sentence
    unless everything is said. In a turn with a short time limit, it is empty unless everything is
    said, and then it is only the name of the side whose turn it is.
    """
    if view.phase is Phase.SETUP and not view.board.problems and not says_everything:
        return say("Set up the board.")
    clock = view.time.clock
    if (
        view.phase is not Phase.ORDERS
        or not clock
        or clock.paused
        # Chess clocks limit the game and not the turn.
        or view.time.clocks
        or clock.limit_s > MAX_UNANNOUNCED_TURN_S
    ):
        return view.sign.text
    # In a fast game at most the name of the side is spoken. Tones tell the rest.
    seats = view.sign.seats
    if not says_everything or len(seats) != 1:
        return ""
    (seat,) = seats
    return _side_name(view, seat).capitalize()


def _side_name(view: TableView, seat: Seat) -> str:
    """Return the name of a seat's side in the game, or of the seat itself between games."""
    side = view.seats[seat].side
    if side:
        return side.name
    return say("South") if seat is Seat.SOUTH else say("North")
