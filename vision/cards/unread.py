"""Cards that were not read, by what else tells that they are there: print that no card explains, and print of the board
that is hidden.

What lies at the line between two zones, or reaches out of one zone into the next, may belong to either: where one of
them is unknown or holds an unread card already, it accounts for that. Nothing accounts for print at the edge of a card:
it may be that of a card below, in whichever zone it shows; but not what belongs to a thing, or to cards that lie face
down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import cv2
import numpy as np

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.cards.card_view import SCALE, CardView
from vision.cards.fans import UNREAD, Lying, Spread
from vision.cards.hidden_lines import SeenLines
from vision.cards.unexplained_print import Above, unexplained
from vision.pose.pose import Points

_PRINT_MM2 = 2.0
"""Less of it in a zone is no print."""
_AT_LINE_MM = 2.0
"""What lies so near to the line between two zones may belong to either, ..."""
_OVER_SIDE_MM = 5.0
"""... and print of the board that is hidden so far beyond it may be hidden by a card of either."""
_TOUCH_MM = 2.0
"""Print so close to a card may be that of one below it, wherever it lies."""
_PRINT_LONG_MM = 18.0
"""No print at the edge of a card is longer: this is the diagonal of a marker."""


Fan = tuple[Sequence[Lying], tuple[str, ...]]
"""Cards, and the names of all from the bottom to the top, `UNREAD` where that is a guess."""


class UnreadCards:
    """Looks for them in the zones of one kit."""

    def __init__(self, kit: Kit, zones: Sequence[Square]) -> None:
        assert kit.deck is not None
        self._board, self._deck, self._zones = kit.board, kit.deck, frozenset(zones)

    def find(
        self,
        view: CardView,
        lines: SeenLines,
        cards: Sequence[Lying],
        fans: Mapping[Square, Fan],
        accounted: Iterable[Square],
    ) -> dict[Square, Points]:
        """(N, 2) mm: where something of a card is seen that is none of the `cards`, by the zones in which it may lie.

        `fans` are those that lie in zones, and their orders. Zones that are `accounted` for are unknown, or known to
        hold an unread card.
        """
        known = set(accounted)
        found = self._print(view, cards, fans, known)
        known |= set(found)
        for places in lines.hidden:
            for zone in self._zones_near(places.mean(axis=0), known, _OVER_SIDE_MM):
                found.setdefault(zone, places)
        return found

    def _print(
        self,
        view: CardView,
        cards: Sequence[Lying],
        fans: Mapping[Square, Fan],
        known: set[Square],
    ) -> dict[Square, Points]:
        """Print that no card explains: first what lies in a zone or on its cards, then what may belong to others."""
        upper = _upper_cards(fans.values())
        blobs = list(unexplained(view, (self._board, self._deck), cards, upper))
        spread = Spread(card for lying, _ in fans.values() for card in lying)
        zone_of = {id(card): zone for zone, (lying, _) in fans.items() for card in lying}
        homes = [self._zones_at(places.mean(axis=0), _AT_LINE_MM) for places in blobs]
        large = (home for places, home in zip(blobs, homes, strict=True) if _long_mm(places) > _PRINT_LONG_MM)
        things = frozenset[Square]().union(*large) - set(fans)
        inside: dict[Square, list[Points]] = defaultdict(list)
        beside: dict[Square, list[Points]] = defaultdict(list)
        for places, home in zip(blobs, homes, strict=True):
            if len(home) == 1:
                inside[next(iter(home))].append(places)
            may_be_below = home.isdisjoint(things) or _over(places, spread, zone_of, 0.0)
            for zone in _over(places, spread, zone_of, _TOUCH_MM) - home if may_be_below else ():
                inside[zone].append(places)
        found = {zone: np.vstack(parts) for zone, parts in inside.items() if _is_print(parts)}
        for places, home in zip(blobs, homes, strict=True):
            if home.isdisjoint(known | set(found)):
                for zone in home | _over(places, spread, zone_of, _TOUCH_MM):
                    beside[zone].append(places)
        return found | {zone: np.vstack(parts) for zone, parts in beside.items() if _is_print(parts)}

    def _zones_at(self, place: Points, reach_mm: float) -> set[Square]:
        """The zones in which a place lies, beyond whose end it does, or out of which a card reaches so far."""
        board, (x, y) = self._board, place
        inside = float(y.clip(0, board.height_mm - 1))
        columns = (float((x + aside).clip(0, board.width_mm - 1)) for aside in (-reach_mm, 0.0, reach_mm))
        return {zone for column in columns if (zone := board.square_at(column, inside)) in self._zones and zone}

    def _zones_near(self, place: Points, known: set[Square], reach_mm: float) -> set[Square]:
        """Those of the zones at a place that have to answer for what is there."""
        zones = self._zones_at(place, reach_mm)
        return zones if zones.isdisjoint(known) else self._zones_at(place, 0.0) - known


def _over(places: Points, spread: Spread, zone_of: Mapping[int, Square], beside_mm: float) -> set[Square]:
    """The zones with a card on which, or so near to which, some of these places lie."""
    near = ((zone_of[id(card)], card) for card in spread.near(places, beside_mm))
    return {zone for zone, card in near if card.depth_inside(places).max() > -beside_mm}


def _long_mm(places: Points) -> float:
    return float(max(cv2.minAreaRect(places.astype(np.float32))[1]))


def _is_print(parts: Sequence[Points]) -> bool:
    return sum(len(part) for part in parts) / SCALE**2 >= _PRINT_MM2


def _upper_cards(fans: Iterable[Fan]) -> dict[str, Above]:
    """By name which cards may lie above each one: in a fan without an unread card by its order, and all cards of any
    other fan of which one shows a marker on it."""
    own, others = dict[str, frozenset[str]](), dict[str, frozenset[str]]()
    read, fan_of = list[Lying](), dict[str, frozenset[str]]()
    for lying, order in fans:
        cards = [card for card in lying if card.name != UNREAD]
        read += cards
        above = order if UNREAD not in order else ()
        own |= {card.name: frozenset(above[above.index(card.name) + 1 :] if above else ()) for card in cards}
        names = frozenset(card.name for card in cards)
        fan_of.update((name, names) for name in names)
    for lower, proved in zip(read, Spread(read).proofs.T, strict=True):
        fan = fan_of[lower.name]
        on_it = {read[index].name for index in np.flatnonzero(proved)}
        own[lower.name] = own[lower.name].union(on_it & fan, *(own[name] for name in on_it & fan)) - {lower.name}
        others[lower.name] = frozenset[str]().union(*(fan_of[name] for name in on_it - fan))
    return {
        name: Above(
            above,
            others[name].union(*(others[card] for card in above)),
            frozenset[str]().union(*(others[card] for card in fan_of[name])),
        )
        for name, above in own.items()
    }
