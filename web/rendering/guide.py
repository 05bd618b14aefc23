"""What the guide of a first game highlights: the next key or square of a seat's page, and arrows on
the table's board.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup

from companion.core.grid import Square
from companion.core.i18n import translate
from companion.core.kit import SEATS, Seat
from companion.games.screen import CardUi, OrderKind, OrderSheet, Play
from companion.games.spelling import choice_of
from companion.table.board_check import HandMove
from companion.table.table_view import TableView
from web.rendering.board import board_svg
from web.rendering.board_picture import own_square, scene_of

HAND_IN, COMMIT = "#hand-in", "#commit"


class Tap(NamedTuple):
    """One tap, as the script reads it: a CSS selector, or a square such as `@c4`.

    It is done when one of `done` matches the page: a selector and, optionally, the text of its
    element. `instead` has two selectors: while the first matches, the second is tapped before the
    target, for example to empty a slot that holds another letter.
    """

    target: str
    done: tuple[tuple[str, ...], ...] = ()
    instead: tuple[str, ...] = ()


def taps_of(view: TableView, seat: Seat, plays: Sequence[Play]) -> tuple[Tap, ...]:
    """Return every tap with which a seat enters the order of the lesson.

    Empty while it is not the seat's turn.
    """
    guide = view.guide
    if guide is None or view.phase != "orders" or not view.seats[seat].awaited:
        return ()
    return tuple(_taps_for(view, guide.step.orders[seat], plays))


def plain_examples(view: TableView) -> list[list[str]]:
    """Return the keys that spell each example, for the script of the page."""
    examples = [list(_taps_for(view, text, ())) for text in view.own.examples]
    return [[tap.target for tap in taps[:-1]] for taps in examples]


def _taps_for(view: TableView, text: str, plays: Sequence[Play]) -> Iterator[Tap]:
    """Yield every tap that enters an action and hands it in."""
    board_ui = view.board.standing
    if view.board.tableau:
        yield from _card_taps(view.board.tableau, text)
        return
    # pad keys: each letter fills the next slot
    if board_ui is None and view.own.pad:
        for place, letter in enumerate(text, start=1):
            slot = f"#slots li:nth-child({place}) .slot"
            filled = f'{slot}[data-letter="{letter}"]'
            yield Tap(f'.order[data-letter="{letter}"]', ((filled,),), (f"{slot}.full", "#back"))
        yield Tap(HAND_IN)
        return
    if board_ui and board_ui.sheet:
        yield from _unit_taps(board_ui.sheet, text)
    elif board_ui and board_ui.duel:
        yield _press(f'[data-card="{text}"]')
    elif board_ui:
        # a play with a main key needs only the tap that commits it
        main_keys = {key.name for key in board_ui.keys if key.is_main}
        for play in plays:
            if play.text == text and play.key not in main_keys:
                yield from _play_taps(play)
    yield Tap(COMMIT)


def _press(key: str) -> Tap:
    """Return the tap on a key that stays pressed."""
    return Tap(key, ((f"{key}[aria-pressed=true]",),))


def _play_taps(play: Play) -> Iterator[Tap]:
    if play.key:
        yield _press(f'[data-begin="{play.key}"]')
    # the page's list of taps so far, with a blank after each
    tapped = f"{play.key} "
    for square in play.touches:
        tapped += f"{square} "
        yield Tap(f"@{square}", ((f'#plays[data-taps^="{tapped}"]',),))


def _unit_taps(sheet: OrderSheet, text: str) -> Iterator[Tap]:
    """Yield taps on each piece, its kind of order and its direction."""
    ways = {way.letter: translate(way.initial or way.letter) for way in sheet.directions}
    for part in text.split(" "):
        # each part has the piece, then the kind of its order and a direction
        unit, _, code = part.partition(":")
        # compare whole codes, as a kind may have no letter
        number = next(n for n, kind in enumerate(sheet.kinds) if code in _codes(kind, ways))
        kind = sheet.kinds[number]
        way = code.removeprefix(kind.letter)
        own = f'[data-unit="{unit}"]'
        # what the piece shows once its order is complete
        whole = (f"{own} b", f"{unit}:{kind.letter}{ways.get(way, way)}")
        yield Tap(own, (whole, (f"{own}[aria-pressed=true]",)))
        if kind.letter:
            key = f'[data-kind="{number}"]'
            yield Tap(key, (whole, (f"{key}[aria-pressed=true]",)))
        if kind.has_direction:
            yield Tap(f"[data-way={way}]", (whole,))


def _codes(kind: OrderKind, ways: Iterable[str]) -> set[str]:
    """Return all codes of a kind of order."""
    return {kind.letter + way for way in ways} if kind.has_direction else {kind.letter}


def _card_taps(card_ui: CardUi, text: str) -> Iterator[Tap]:
    """Yield taps on the card, the key and the lane. The first key of a card needs no tap."""
    choice = choice_of(card_ui, text)
    if choice is None:
        return
    keys_of_card = {other.key for other in card_ui.choices if other.card == choice.card}
    first_key = next((key.name for key in card_ui.keys if key.name in keys_of_card), None)
    if choice.card:
        yield _press(f'.card[data-card="{choice.card}"]')
    if not choice.card or first_key != choice.key:
        yield _press(f'.pick[data-key="{choice.key}"]')
    if choice.lane is not None:
        yield Tap(f'.ln[data-lane="{choice.lane}"]')


def guided_board(view: TableView, quarters: int = 0) -> Markup:
    """Draw the table screen's board with arrows for the lesson's orders."""
    scene, guide = scene_of(view), view.guide
    if scene is None or guide is None or view.phase != "orders" or view.board.problems:
        return board_svg(scene, quarters) if scene else Markup()
    moves = [move for seat in SEATS for move in _ways(view, seat)]
    ends = Counter(move.target for move in moves)
    # two pieces that want the same square both stay off it
    moves = [replace(move, faces=() if ends[move.target] > 1 else move.faces) for move in moves]
    return board_svg(replace(scene, moves=tuple(moves)), quarters)


def _ways(view: TableView, seat: Seat) -> Iterator[HandMove]:
    """Yield the moves of an order, step by step. The piece and what it carries appear at the last
    step.
    """
    layout, guide = view.board.layout, view.guide
    steps = [
        (origin or own_square(view, seat), target)
        for origin, target in (guide.ways.get(seat, ()) if guide else ())
    ]
    starts = {start for start, _ in steps}
    origins: dict[Square, Square] = {}
    for start, target in steps:
        if start is not None and target is not None and target != start:
            # square of the piece before its first step
            origins[target] = origins.get(start, start)
            # a piece appears only where its path ends on a free square
            is_last = target not in layout and target not in starts
            yield HandMove(layout.get(origins[target], ()) if is_last else (), start, target)
