"""What the guide of a first game points at: the next key or square of a seat's page, and ways on the table's board."""

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

    It is done when one of `done` is on the page: a selector, and the text that it has where one is given. `instead` is
    what is touched first while the selector before it finds something, such as a slot that is filled otherwise.
    """

    target: str
    done: tuple[tuple[str, str], ...] = ()
    instead: tuple[str, str] = ("", "")


def taps_of(view: TableView, seat: Seat, plays: Sequence[Play]) -> tuple[Tap, ...]:
    """Return every touch by which a seat gives the order of the lesson.

    None while it is not its turn.
    """
    guide = view.guide
    if guide is None or view.phase != "orders" or not view.seats[seat].awaited:
        return ()
    return _taps_for(view, guide.step.orders[seat], plays)


def plain_examples(view: TableView) -> list[list[str]]:
    """Return for each example the keys that spell it, for the script of the page."""
    return [[tap.target for tap in _taps_for(view, text, ())[:-1]] for text in view.own.examples]


def _taps_for(view: TableView, text: str, plays: Sequence[Play]) -> tuple[Tap, ...]:
    """Return every touch that spells an action and hands it in."""
    standing = view.board.standing
    if view.board.tableau:
        return tuple(_card_taps(view.board.tableau, text))
    if standing and standing.sheet:
        return (*_unit_taps(standing.sheet, text), Tap(COMMIT))
    if standing and standing.duel:
        return Tap(
            f'[data-card="{text}"]', ((f'[data-card="{text}"][aria-pressed=true]', ""),)
        ), Tap(COMMIT)
    play = next((play for play in plays if play.text == text), None)
    if play and standing:
        is_main = any(key.name == play.key and key.is_main for key in standing.keys)
        return (*(() if is_main else _play_taps(play)), Tap(COMMIT))
    if view.own.pad and not standing:
        return (
            *(_slot_tap(place, letter) for place, letter in enumerate(text, start=1)),
            Tap(HAND_IN),
        )
    return (Tap(COMMIT),)


def _slot_tap(place: int, letter: str) -> Tap:
    slot = f"#slots li:nth-child({place}) .slot"
    return Tap(
        f'.order[data-letter="{letter}"]',
        ((f'{slot}[data-letter="{letter}"]', ""),),
        (f"{slot}.full", "#back"),
    )


def _play_taps(play: Play) -> Iterator[Tap]:
    if play.key:
        pressed = f'[data-begin="{play.key}"]'
        yield Tap(pressed, ((f"{pressed}[aria-pressed=true]", ""),))
    tapped = [play.key]
    for square in play.touches:
        tapped.append(str(square))
        yield Tap(f"@{square}", ((f'#plays[data-taps^="{" ".join(tapped)} "]', ""),))


def _unit_taps(sheet: OrderSheet, text: str) -> Iterator[Tap]:
    """Yield for each piece itself, what it does, and in which direction."""
    for part in text.split(" "):
        unit, _, code = part.partition(":")
        own = f'[data-unit="{unit}"]'
        ways = {way.letter: translate(way.initial or way.letter) for way in sheet.directions}
        kind = next(i for i, each in enumerate(sheet.kinds) if code in _codes(each, ways))
        letter, has_direction = sheet.kinds[kind].letter, sheet.kinds[kind].has_direction
        way = code.removeprefix(letter)
        whole = (f"{own} b", f"{unit}:{letter}{ways.get(way, way)}")
        is_on = f"{own}[aria-pressed=true]"
        yield Tap(own, (whole, (is_on, "")))
        if letter:
            key = f'[data-kind="{kind}"]'
            yield Tap(key, (whole, (f"{key}[aria-pressed=true]", "")))
        if has_direction:
            yield Tap(f"[data-way={way}]", (whole,))


def _codes(kind: OrderKind, ways: Iterable[str]) -> set[str]:
    """Return how an order of this kind can be written."""
    return {kind.letter + way for way in ways} if kind.has_direction else {kind.letter}


def _card_taps(tableau: CardUi, text: str) -> Iterator[Tap]:
    """Yield the card, the key and the lane. A card's first key needs no touch."""
    choice = choice_of(tableau, text)
    if choice is None:
        return
    ways = [
        key.name
        for key in tableau.keys
        if any(c.key == key.name and c.card == choice.card for c in tableau.choices)
    ]
    if choice.card:
        card = f'.card[data-card="{choice.card}"]'
        yield Tap(card, ((f"{card}[aria-pressed=true]", ""),))
    if not choice.card or ways[:1] != [choice.key]:
        key = f'.pick[data-key="{choice.key}"]'
        yield Tap(key, ((f"{key}[aria-pressed=true]", ""),))
    if choice.lane is not None:
        yield Tap(f'.ln[data-lane="{choice.lane}"]')


def plain_taps(taps: Sequence[Tap]) -> list[list[Any]]:
    """Return touches for the script: target, what is done, what comes first instead."""
    return [
        [tap.target, [list(filter(None, each)) for each in tap.done], *filter(None, tap.instead)]
        for tap in taps
    ]


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
    first: dict[Square, Square] = {}
    for start, target in steps:
        if start is not None and target is not None and target != start:
            first[target] = first.get(start, start)
            is_last = target not in layout and target not in starts
            yield HandMove(layout.get(first[target], ()) if is_last else (), start, target)
