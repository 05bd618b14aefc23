"""What the guide of a first game points at: the next key or square of a seat's page, and ways on
the table's board.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

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


@dataclass(frozen=True)
class Tap:
    """One touch: a selector, or a square as `@c4`.

    It is done when one of `done` is on the page: a selector, and the text that it has where one is
    given. `instead` is what is touched first while the selector before it finds something, such as
    a slot that is filled otherwise.
    """

    target: str
    done: tuple[tuple[str, ...], ...] = ()
    instead: tuple[str, ...] = ()


def taps_of(view: TableView, seat: Seat, plays: Sequence[Play]) -> tuple[Tap, ...]:
    """Return every touch by which a seat gives the order of the lesson.

    None while it is not its turn.
    """
    guide = view.guide
    if guide is None or view.phase != "orders" or not view.seats[seat].awaited:
        return ()
    return tuple(_taps_for(view, guide.step.orders[seat], plays))


def plain_examples(view: TableView) -> list[list[str]]:
    """Return for each example the keys that spell it, for the script of the page."""
    examples = [list(_taps_for(view, text, ())) for text in view.own.examples]
    return [[tap.target for tap in taps[:-1]] for taps in examples]


def _taps_for(view: TableView, text: str, plays: Sequence[Play]) -> Iterator[Tap]:
    """Yield every touch that spells an action and hands it in."""
    board_ui = view.board.standing
    if view.board.tableau:
        yield from _card_taps(view.board.tableau, text)
        return
    # keys of a pad: each letter fills the next slot
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
        # the main key needs no tap before the one that commits
        main_keys = {key.name for key in board_ui.keys if key.is_main}
        for play in plays:
            if play.text == text and play.key not in main_keys:
                yield from _play_taps(play)
    yield Tap(COMMIT)


def _press(key: str) -> Tap:
    """Return the touch of a key that stays pressed."""
    return Tap(key, ((f"{key}[aria-pressed=true]",),))


def _play_taps(play: Play) -> Iterator[Tap]:
    if play.key:
        yield _press(f'[data-begin="{play.key}"]')
    # the page holds what was tapped so far, with a blank after each
    tapped = f"{play.key} "
    for square in play.touches:
        tapped += f"{square} "
        yield Tap(f"@{square}", ((f'#plays[data-taps^="{tapped}"]',),))


def _unit_taps(sheet: OrderSheet, text: str) -> Iterator[Tap]:
    """Yield for each piece itself, what it does, and in which direction."""
    ways = {way.letter: translate(way.initial or way.letter) for way in sheet.directions}
    for part in text.split(" "):
        # a part names the piece, then the kind of its order and a direction
        unit, _, code = part.partition(":")
        # whole codes are compared, as a kind may have no letter
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
    """Return how an order of this kind can be written."""
    return {kind.letter + way for way in ways} if kind.has_direction else {kind.letter}


def _card_taps(card_ui: CardUi, text: str) -> Iterator[Tap]:
    """Yield the card, the key and the lane. A card's first key needs no touch."""
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


def plain_taps(taps: Sequence[Tap]) -> list[list[Any]]:
    """Return touches for the script: target, what is done, what comes first instead."""
    return [[tap.target, tap.done, *tap.instead] for tap in taps]


def guided_board(view: TableView, quarters: int = 0) -> Markup:
    """Draw the table screen's board with the lesson's orders as arrows."""
    scene, guide = scene_of(view), view.guide
    if scene is None or guide is None or view.phase != "orders" or view.board.problems:
        return board_svg(scene, quarters) if scene else Markup()
    moves = [move for seat in SEATS for move in _ways(view, seat)]
    ends = Counter(move.target for move in moves)
    # Where two want the same square, neither stands there.
    moves = [replace(move, faces=() if ends[move.target] > 1 else move.faces) for move in moves]
    return board_svg(replace(scene, moves=tuple(moves)), quarters)


def _ways(view: TableView, seat: Seat) -> Iterator[HandMove]:
    """Yield what an order moves, step by step. What comes along is drawn at its last step."""
    layout, guide = view.board.layout, view.guide
    steps = [
        (origin or own_square(view, seat), target)
        for origin, target in (guide.ways.get(seat, ()) if guide else ())
    ]
    starts = {start for start, _ in steps}
    origins: dict[Square, Square] = {}
    for start, target in steps:
        if start is not None and target is not None and target != start:
            # where the piece stood before its first step
            origins[target] = origins.get(start, start)
            # only where the way ends on a free square does a piece appear
            is_last = target not in layout and target not in starts
            yield HandMove(layout.get(origins[target], ()) if is_last else (), start, target)
