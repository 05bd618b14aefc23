"""Cards, counters and clocks as pages show them: the ring of turns and seconds, stacks, fans, and what can be tapped.

The ring is 720 units wide with its middle at (0, 0); x to the right, y down. Time is not drawn here: a script of the
page turns `data-due` (seconds by the service's clock) into what is left, so that a fragment holds while time runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from companion.core.i18n import headed, joined, say, say_n, translate
from companion.core.kit import SEATS, Card, Kit, Seat
from companion.games.screen import CardChoice, CardEntry, CardUi, ChoiceKey, Lane, Pile
from companion.table.table_view import ClockView, TableView

MAX_TICKS = 120
"""Maximum number of ticks. More of them would run together."""
MAX_BEATS = 30
"""Maximum limit in seconds that is cut into seconds. A longer one has twelve parts."""
ROOM = 4
"""Maximum number of cards below each other. Twice as many fit in two columns."""
_SWEEP = 292


# ---- the ring -----------------------------------------------------------------------------------------------------


def _spokes(turns: Iterable[float], inner: float, outer: float) -> str:
    """Draw radial strokes as one path. `turns` are parts of a full turn, clockwise from the top."""
    parts = []
    for turn in turns:
        across, down = math.sin(2 * math.pi * turn), -math.cos(2 * math.pi * turn)
        parts.append(
            f"M{inner * across:.1f} {inner * down:.1f}L{outer * across:.1f} {outer * down:.1f}"
        )
    return "".join(parts)


def beats_of(limit_s: float) -> tuple[float, ...]:
    """Return where the seconds of a limit begin, as parts of a full turn.

    A long one has twelve parts.
    """
    if limit_s > MAX_BEATS:
        return tuple(part / 12 for part in range(12))
    return tuple(second / limit_s for second in range(math.ceil(limit_s)))


def time_of(clock: ClockView | None) -> Markup:
    """Return the attributes by which a script draws the time that is left."""
    if clock is None:
        return Markup()
    due = "" if clock.due_s is None else f"{clock.due_s:.3f}"
    return Markup(
        f' data-due="{due}" data-left="{clock.left_s:.3f}" data-limit="{clock.limit_s:g}"'
    )


def _sweep(clock: ClockView, colour: str, radius: float, inner: float, outer: float) -> str:
    """Draw the seconds: a track, what is left in the side's colour, and gaps between them."""
    circle = f'r="{radius:g}" transform="rotate(-90)" pathLength="1000"'
    return (
        f'<circle class="track" r="{radius:g}"/><g class="side-{colour}"><circle class="sweep" {circle} '
        f'data-own="sweep"/></g><path class="beats" d="{_spokes(beats_of(clock.limit_s), inner, outer)}"/>'
    )


def ring(view: TableView, colour: str) -> Markup:
    """Draw the count in large figures, a tick for each of its steps, and the seconds between them.

    The last tick that is left is *now*, the one after it was spent last: an element of its own, so that it shrinks when
    it comes. `colour` is that of the side on turn.
    """
    count = view.board.tableau.count if view.board.tableau else None
    if count is None:
        return Markup()
    ticks = min(count.total, MAX_TICKS)
    left = math.ceil(count.number * ticks / count.total)
    rest = _spokes((place / ticks for place in range(left - 1)), 322, 350)
    spent = _spokes((place / ticks for place in range(left + 1, ticks)), 331, 337)
    last = _spokes([left / ticks], 312, 358) if left < ticks else ""
    now = _spokes([(left - 1) / ticks], 312, 358) if left else ""
    figures = str(count.number)
    squeezed = (
        ' x="-10" textLength="492" lengthAdjust="spacingAndGlyphs"' if len(figures) > 2 else ""
    )
    sweep = (
        _sweep(view.time.clock, colour, _SWEEP, 274, 310)
        if view.time.clock
        else f'<circle class="track" r="{_SWEEP}"/>'
    )
    words_of_count = say(
        "{number} of {total} {things}", number=count.number, total=count.total, things=count.label
    )
    words, unit = escape(translate(words_of_count)), escape(translate(count.label))
    return Markup(
        f'<svg class="turns" viewBox="-360 -360 720 720" role="img" aria-label="{words}"{time_of(view.time.clock)}>'
        f'<path class="rest" d="{rest}"/><path class="spent" d="{spent}"/>'
        f'<path class="last" id="tick-{left}" d="{last}"/><path class="now" d="{now}"/>{sweep}'
        f'<text class="figures" y="112"{squeezed}>{figures}</text>'
        f'<text class="unit" y="186">{unit}</text></svg>'
    )


def seconds(view: TableView, colour: str) -> Markup:
    """Draw the seconds alone, with their number in the middle."""
    if view.time.clock is None:
        return Markup()
    words = escape(translate(say("Seconds left")))
    return Markup(
        f'<svg class="seconds" viewBox="-58 -58 116 116" role="img" aria-label="{words}"{time_of(view.time.clock)}>'
        f'{_sweep(view.time.clock, colour, 48, 40, 57)}<text class="figures" y="21" data-own="seconds"></text></svg>'
    )


# ---- cards --------------------------------------------------------------------------------------------------------


def cards_of(kit: Kit | None) -> Mapping[str, Card]:
    """Return the cards of a kit by name."""
    return {card.name: card for card in kit.deck.cards} if kit and kit.deck else {}


def shown(kit: Kit | None, name: str) -> str:
    """Return a card as it is printed, such as `10&` for `a&`. An unknown name stays as it is."""
    card = cards_of(kit).get(name)
    return f"{card.value}{card.suit}" if card else name


@dataclass(frozen=True)
class StackCard:
    """A card of a stack on a page. `text` empty: its back. `own`: face down, but known to the viewer."""

    text: str
    own: bool = False


@dataclass(frozen=True)
class Stack:
    """A stack as a page draws it, from the bottom to the top: its last cards, and how many more lie below them."""

    cards: tuple[StackCard, ...]
    more: int
    wide: bool
    """Whether it has two columns."""


def stack_of(kit: Kit | None, pile: Pile, known: Pile, room: int = ROOM) -> Stack:
    """Return what is drawn of a stack. `known` is the same stack as everybody sees it."""
    is_open = known if len(known) == len(pile) else pile
    cards = [
        StackCard("" if name is None else shown(kit, name), own=name is not None and public is None)
        for name, public in zip(pile, is_open, strict=True)
    ]
    wide = len(cards) > room
    fits = 2 * room if wide else room
    visible = cards if len(cards) <= fits else cards[1 - fits :]
    return Stack(tuple(visible), len(cards) - len(visible), wide)


def lane_words(kit: Kit | None, lane: Lane, names: Mapping[Seat, str]) -> str:
    """Return a lane in words, as far as the viewer sees it."""

    def pile(cards: Pile) -> str:
        if not cards:
            return say("no card")
        known = " ".join(shown(kit, card) for card in cards if card is not None)
        count = say_n("{n} card", "{n} cards", len(cards))
        return joined(" ", (count, f"({known})")) if known else count

    parts = {
        "north": names[Seat.NORTH],
        "north_cards": pile(lane.north),
        "south": names[Seat.SOUTH],
        "south_cards": pile(lane.south),
        "deck": pile(lane.deck),
    }
    if not lane.discard:
        return say("{north} {north_cards}, {south} {south_cards}. Deck: {deck}.", **parts)
    return say(
        "{north} {north_cards}, {south} {south_cards}. Deck: {deck}, {number} discarded.",
        number=len(lane.discard),
        **parts,
    )


def fans_of(view: TableView) -> dict[Seat, tuple[str, ...]]:
    """Return the open cards that the camera reads for each seat. `X` is one that it cannot read."""
    zones = (
        view.board.tableau.entry.zones if view.board.tableau and view.board.tableau.entry else {}
    )
    return {
        seat: tuple(view.board.fans.get(zones[seat], ())) if seat in zones else () for seat in SEATS
    }


def lane_of(entry: CardEntry) -> str:
    """Return the number of the lane in which the cards lie that are asked for.

    Empty: it is unknown.
    """
    return next((str(zone.file) for zone in entry.zones.values()), "")


# ---- what can be tapped -------------------------------------------------------------------------------------------


def acting_seat(view: TableView) -> Seat | None:
    """Return the seat on turn, or None if nobody is or both are."""
    seats = [seat for seat in SEATS if view.seats[seat].awaited]
    return seats[0] if len(seats) == 1 else None


def plain_choices(tableau: CardUi) -> list[list[str | None]]:
    """Return the legal actions for a script: notation, key, card, lane."""
    return [[choice.text, choice.key, choice.card, choice.lane] for choice in tableau.choices]


def straight_keys(tableau: CardUi) -> list[tuple[ChoiceKey, str | None]]:
    """Return the keys that need neither card nor lane, each with its action or None."""
    ready = {choice.key: choice.text for choice in tableau.choices if _is_straight(choice)}
    return [(key, ready.get(key.name)) for key in tableau.keys]


def main_action(view: TableView) -> tuple[str, str] | None:
    """Return label and action of the one large key."""
    if view.own.laid:
        return say("That is right"), view.own.laid
    if view.board.tableau is None:
        return None
    keys = (
        (key.label, text) for key, text in straight_keys(view.board.tableau) if key.is_main and text
    )
    return next(keys, None)


def _is_straight(choice: CardChoice) -> bool:
    return choice.card is None and choice.lane is None


# ---- small pictures -----------------------------------------------------------------------------------------------


def lanes_sign(kit: Kit) -> Markup:
    """Draw a board of lanes as a small sign, a strip with its deck for each."""
    board = kit.board
    lanes = "".join(f"M{file * 12} 0h10v60h-10z" for file in range(board.files))
    decks = "".join(f"M{file * 12 + 1.5:g} 44h7v11h-7z" for file in range(board.files))
    across = f"M0 30h{board.files * 12 - 2}"
    width = board.files * 12 - 2
    return Markup(
        f'<svg class="mini board" viewBox="-1 -1 {width + 2} 62" aria-hidden="true"><path class="tile-1" d="{lanes}"/>'
        f'<path class="tile-3" d="{decks}"/><path class="lines" d="{lanes}{across}"/></svg>'
    )


def lanes_picture(kit: Kit, lanes: Iterable[Lane]) -> Markup:
    """Draw lanes, a column each: North stack, deck with its number of cards, South stack.

    480 units wide, 240 high; of a high stack the last three cards, and how many more there are.
    """
    lanes, names = tuple(lanes), {seat: kit.sides[seat].name for seat in SEATS}
    pitch = 480 / len(lanes)
    columns = []
    for place, lane in enumerate(lanes):
        north = _column(stack_of(kit, lane.north, lane.north, 2))
        south = _column(stack_of(kit, lane.south, lane.south, 2))
        drawn = [_card_at(2 + 25 * row, text) for row, text in enumerate(north)]
        drawn += [_card_at(214 - 25 * row, text) for row, text in enumerate(south)]
        count = f'<text y="128">{len(lane.deck)}</text>'
        deck = f'<rect class="tile-1" x="-16" y="105" width="32" height="30" rx="4"/>{count}'
        columns.append(
            f'<g transform="translate({pitch * (place + 0.5):g} 0)">{"".join(drawn)}{deck}</g>'
        )
    words = joined(
        " ",
        [
            headed(say("Lane {lane}", lane=lane.name), lane_words(kit, lane, names))
            for lane in lanes
        ],
    )
    gaps = "".join(f"M{pitch * place:g} 0v240" for place in range(1, len(lanes)))
    return _card_picture(f'<path class="gaps" d="{gaps}"/>{"".join(columns)}', words)


def _column(stack: Stack) -> list[str]:
    """Return the texts of a stack from its bottom, empty for a back."""
    return [f"+{stack.more}"] * bool(stack.more) + [card.text for card in stack.cards]


def _card_at(y: float, text: str) -> str:
    """Draw a card 68 units wide and 23 high in the middle of its column.

    Without a text it is a back.
    """
    kind = "rest" if text.startswith("+") else "up" if text else "back"
    rect = f'<rect class="{kind}" x="-34" y="{y:g}" width="68" height="23" rx="4"/>'
    return rect + (f'<text class="{kind}" y="{y + 18:g}">{escape(text)}</text>' if text else "")


def _card_picture(inside: str, words: str) -> Markup:
    label = escape(translate(words))
    return Markup(
        f'<svg class="dealt" viewBox="0 0 480 240" role="img" aria-label="{label}">{inside}</svg>'
    )
