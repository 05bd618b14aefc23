"""What the board says: how it differs from what should lie there, what hands do next, which action explains it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from companion.core.errors import Ambiguous
from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.core.ports import Reading
from companion.games.base import Game


@dataclass(frozen=True)
class HandMove:
    """One thing a hand has to do with the faces of a stack, from the bottom to the top, as they lie afterwards.

    `origin` None: from beside the board, `target` None: off the board; the same square twice: it only turns over.
    """

    faces: tuple[str, ...]
    origin: Square | None
    target: Square | None
    done: bool = False
    turned: bool = False
    """Is a piece turned over on the way?"""


@dataclass(frozen=True)
class Before:
    """What lay on the board before a play, and the markers that were read there."""

    kit: Kit
    board: Layout
    markers: Mapping[Square, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """Something on the board that should not be so.

    `text` says which piece, where, and how to mend it; `sign` says only what to do. `face` is the piece, `square` where
    it is seen (or missing), `home` where it belongs.
    """

    face: str
    square: Square
    home: Square | None
    text: str
    sign: str


def tops(layout: Layout) -> dict[Square, str]:
    """Return the face on top of each square: what a camera can see of a layout."""
    shown = {}
    for square, faces in layout.items():
        if faces:
            shown[square] = faces[-1]
    return shown


def known_faces(reading: Reading, board: Layout) -> dict[Square, str]:
    """Return the face on top of each square.

    What is hidden now is as it was, unless that piece is seen elsewhere.
    """
    seen = {square: face for square, face in reading.seen.items() if square not in reading.unknown}
    was = tops(board)
    left = Counter(was.values()) - Counter(seen.values())
    for square in sorted(reading.unknown & was.keys()):
        if left[was[square]] > 0:
            left[was[square]] -= 1
            seen[square] = was[square]
    return seen


def as_people_lay(
    kit: Kit,
    layout: Layout,
    reading: Reading,
    before: Layout | None = None,
    touched: Collection[Square] = (),
) -> Reading:
    """Return the reading as if what is carried lay where the layout has it.

    A flag or a ball may lie above or below its carrier.

    Of the two only the upper one is seen. It stands for both where the other is seen nowhere else. A flag that lay
    there by itself `before` tells nothing of a robot that is to come, unless a hand has `touched` it since.
    """
    seen = dict(reading.seen)
    expected, there = Counter(tops(layout).values()), Counter(seen.values())
    for square, stack in layout.items():
        face = seen.get(square)
        if (
            len(stack) != 2
            or face != stack[0]
            or kit.face(face).carried == kit.face(stack[1]).carried
        ):
            continue
        lay_alone = before is not None and before.get(square) == (face,) and square not in touched
        is_clear = kit.face(stack[1]).carried or not lay_alone
        if is_clear and there[stack[1]] < expected[stack[1]]:
            seen[square] = stack[1]
            there[stack[1]] += 1
    return replace(reading, seen=seen) if seen != reading.seen else reading


def hand_moves(
    kit: Kit,
    before: Layout,
    after: Layout,
    reading: Reading | None = None,
    touched: Collection[Square] = (),
) -> tuple[HandMove, ...]:
    """Return the moves that turn one layout into another, each with whether the reading already shows it.

    Equal pieces are matched on their square, then in the order of their squares; what goes the same way is one move.
    What turns over under another piece is done where hands have `touched` its square.
    """
    before, after = kit.anchored(before), kit.anchored(after)
    reading = as_people_lay(kit, after, reading, before, touched) if reading else None
    gone, come = _surplus(kit, before, after), _surplus(kit, after, before)
    ways: dict[tuple[Square | None, Square | None], list[tuple[str, bool]]] = {}
    for kind in sorted(gone.keys() | come.keys()):
        for (origin, was), (target, face) in _pair_pieces(gone.get(kind, []), come.get(kind, [])):
            turned = bool(was and face) and was != face
            ways.setdefault((origin, target), []).append((face or was, turned))
    moves = []
    for (origin, target), pieces in ways.items():
        stack = (
            after[target] if target is not None else before[origin] if origin is not None else ()
        )
        ordered = tuple(sorted((face for face, _ in pieces), key=stack.index))
        done = _is_done(ordered, origin, target, after, reading)
        is_below = origin == target and target is not None and stack[-1] not in ordered
        done &= not is_below or target in touched
        moves.append(HandMove(ordered, origin, target, done, any(turned for _, turned in pieces)))
    return tuple(moves)


_Piece = tuple[Square | None, str]
_NOWHERE: _Piece = (None, "")


def _surplus(kit: Kit, one: Layout, other: Layout) -> dict[str, list[_Piece]]:
    """Return for each kind of piece the squares where `one` shows a face more often than `other`, and that face."""
    surplus: dict[str, list[_Piece]] = {}
    for square in sorted(one):
        missing = Counter(one[square]) - Counter(other.get(square, ()))
        for face, count in missing.items():
            surplus.setdefault(kit.kind(face), []).extend([(square, face)] * count)
    return surplus


def _pair_pieces(gone: list[_Piece], come: list[_Piece]) -> Iterator[tuple[_Piece, _Piece]]:
    """Yield where each piece was and will be: what stays on its square, then what keeps its face, then any."""
    gone, come = list(gone), list(come)
    for same in (itemgetter(0), itemgetter(1)):
        for old in list(gone):
            new = next((piece for piece in come if same(piece) == same(old)), None)
            if new is not None:
                gone.remove(old)
                come.remove(new)
                yield old, new
    yield from itertools.zip_longest(gone, come, fillvalue=_NOWHERE)


def _is_done(
    faces: tuple[str, ...],
    origin: Square | None,
    target: Square | None,
    after: Layout,
    reading: Reading | None,
) -> bool:
    if reading is None:
        return False
    left = origin in (None, target) or (
        origin not in reading.unknown and reading.seen.get(origin) not in faces
    )
    there = target is None or reading.seen.get(target) == after[target][-1]
    return left and there


def agrees(layout: Layout, reading: Reading, before: Layout | None = None) -> bool:
    """Return whether a settled reading shows exactly this layout.

    Every piece must be seen, but for what has not moved since `before`: a tall neighbour or a resting hand may hide it,
    also when what lay on top of it has gone.
    """
    if not reading.quiet or reading.game is None:
        return False
    unmoved = {
        square
        for square, stack in (before or {}).items()
        if layout.get(square) in (stack, stack[:-1] or stack)
    }
    expected = {
        square: face
        for square, face in tops(layout).items()
        if square not in unmoved or square not in reading.unknown
    }
    visible = {
        square: face for square, face in reading.seen.items() if square not in reading.unknown
    }
    return visible == expected


def cards_agree(layout: Layout, reading: Reading) -> bool:
    """Return whether the zones that a layout names show exactly its open cards, settled.

    The order within a fan does not matter.
    """
    if not reading.quiet or reading.game is None or reading.unknown & set(layout):
        return False
    return all(
        sorted(reading.fans.get(zone, ())) == sorted(cards) for zone, cards in layout.items()
    )


def card_problems(
    kit: Kit, before: Layout, target: Layout, reading: Reading
) -> tuple[Problem, ...]:
    """Return what is wrong in the zones that `target` names while hands turn `before` into it.

    Unknown zones say nothing.
    """
    found = []
    for zone, cards in sorted(target.items()):
        if zone in reading.unknown:
            continue
        seen = set(reading.fans.get(zone, ())) - {"X"}
        place = zone_words(kit, zone)
        for card in sorted(seen - set(before.get(zone, ())) - set(cards)):
            text = say("{card} does not belong in {place}: take it away.", card=card, place=place)
            sign = say("Take {card} out of lane {lane}", card=card, lane=zone.file)
            found.append(Problem(card, zone, None, text, sign))
        if "X" not in reading.fans.get(zone, ()):
            for card in sorted(set(cards) - seen):
                text = say(
                    "{card} is missing in {place}: lay it there, open.", card=card, place=place
                )
                sign = say("Put {card} back into lane {lane}", card=card, lane=zone.file)
                found.append(Problem(card, zone, zone, text, sign))
    return tuple(found)


def zone_words(kit: Kit, zone: Square) -> str:
    """Return a zone of a board of cards, such as “the attacker's stack of lane 3”."""
    seats = {rank: seat for seat, rank in kit.deck.zones.items()} if kit.deck else {}
    if zone.rank not in seats:
        return say("the other's stack of lane {lane}", lane=zone.file)
    return say(
        "the {colour}'s stack of lane {lane}",
        colour=kit.sides[seats[zone.rank]].name,
        lane=zone.file,
    )


def problems(kit: Kit, before: Layout, target: Layout, reading: Reading) -> tuple[Problem, ...]:
    """Return what is wrong on the board while hands turn `before` into `target` (the same layout: nothing may move).

    A square may show anything of what lay or will lie there, either face of it, and may be empty while a piece is on
    its way, but nothing that hides what belongs on top of it; unknown squares say nothing.
    """
    if kit.large:
        before, target = kit.anchored(before), kit.anchored(target)
        anchored = kit.anchored({square: (face,) for square, face in reading.seen.items()})
        reading = replace(reading, seen=tops(anchored))
    reading = as_people_lay(kit, target, reading)
    wrong: dict[Square, str | None] = {}
    for square in sorted(set(before) | set(target) | set(reading.seen)):
        if square in reading.unknown:
            continue
        face = reading.seen.get(square)
        allowed = {*before.get(square, ()), *target.get(square, ())}
        is_still = before.get(square) == target.get(square)
        if is_still:
            allowed = set(target.get(square, ())[-1:])
        if face is None and not (allowed and is_still):
            continue
        stack = target.get(square, ())
        # A piece that belongs below, such as one that fetches the ball, hides what lay there and belongs on top.
        is_hidden = face in stack[:-1] and before.get(square, ())[-1:] == stack[-1:]
        if is_hidden and face not in before[square]:
            wrong[square] = face
            continue
        if face not in allowed and (
            is_still or face is None or kit.kind(face) not in map(kit.kind, allowed)
        ):
            wrong[square] = face
    return _sentences(kit, wrong, before, target, reading)


def _sentences(
    kit: Kit, wrong: Mapping[Square, str | None], before: Layout, target: Layout, reading: Reading
) -> tuple[Problem, ...]:
    """Say each wrong square once, pairing a piece that is missing with the place where it is seen."""
    found: list[Problem] = []
    missing, lost = set(), set()
    for square, face in tops(target).items():
        if square not in reading.unknown and reading.seen.get(square) != face:
            missing.add(square)
            if square in wrong:
                lost.add(square)
    for square, shown in wrong.items():
        if shown is None:
            continue
        face = shown
        due = target.get(square, ("",))[-1]
        if kit.kind(face) == kit.kind(due):
            lost.discard(square)
            missing.discard(square)
            text = say(
                "{piece!c} expected on {square}: turn the piece over.", piece=due, square=square
            )
            sign = say("Turn the piece on {square} over", square=square)
            found.append(Problem(face, square, square, text, sign))
            continue
        if face in target.get(square, ())[:-1]:
            lost.discard(square)
            missing.discard(square)
            pattern = {"piece": due, "below": face, "square": square}
            text = say(
                "{piece!c} belongs on top of the {below} on {square}: lay it there.", **pattern
            )
            sign = say("Lay the {piece} on top on {square}", piece=due, square=square)
            found.append(Problem(due, square, square, text, sign))
            continue
        homes = [home for home in sorted(missing) if target[home][-1] == face]
        below = [
            home for home in sorted(target) if face in target[home][:-1] or home in reading.unknown
        ]
        homes += [home for home in below if face in target[home] and home != square]
        if not homes:
            text = say(
                "{piece!c} does not belong on {square}: take it off the board.",
                piece=face,
                square=square,
            )
            sign = say("Take the {piece} off {square}", piece=face, square=square)
            found.append(Problem(face, square, None, text, sign))
            continue
        home = homes[0]
        lost.discard(home)
        missing.discard(home)
        found.append(_astray(face, square, home, was_there=face in before.get(home, ())))
    for square in sorted(lost):
        found.append(_missing_problem(target[square][-1], square, wrong.get(square)))
    return tuple(found)


def _astray(face: str, square: Square, home: Square, was_there: bool) -> Problem:
    parts = {"piece": face, "square": square, "home": home}
    if was_there:
        text = say("{piece!c} expected on {home}, seen on {square}: move it back.", **parts)
    else:
        text = say("{piece!c} expected on {home}, seen on {square}: move it to {home}.", **parts)
    return Problem(face, square, home, text, say("Move the {piece} {square} to {home}", **parts))


def _missing_problem(face: str, square: Square, seen: str | None) -> Problem:
    if seen:
        parts = {"piece": face, "square": square, "other": seen}
        text = say(
            "{piece!c} is missing on {square} ({other} is seen there): put it there.", **parts
        )
    else:
        text = say("{piece!c} is missing on {square}: put it there.", piece=face, square=square)
    return Problem(
        face, square, square, text, say("Put the {piece} on {square}", piece=face, square=square)
    )


def explain(
    game: Game[Any, Any],
    seat: Seat,
    reading: Reading,
    outcomes: Iterable[tuple[Any, tuple[Layout, ...]]],
    before: Before,
) -> Any:
    """Return the one action among `outcomes` (action, layouts after it) that the reading shows, or None.

    What no action has moved may be hidden. Raises `Ambiguous` with the notations when several actions lead to what is
    seen, or when a piece is gone that may have left the board or lie under one that is carried, such as a ball.
    """

    def lying(layout: Layout) -> Reading:
        return as_people_lay(before.kit, layout, reading, before.board)

    fitting, hidden = [], []
    for action, layouts in outcomes:
        agreeing = [layout for layout in layouts if agrees(layout, lying(layout), before.board)]
        if any(_is_shown(layout, reading, before) for layout in agreeing):
            fitting.append(action)
        elif any(_may_be_meant(before.kit, layout, before.board) for layout in agreeing):
            hidden.append(action)
    if len(fitting) > 1 or (hidden and not fitting):
        words = say("The board matches several moves of {side}", side=game.sides[seat].name)
        raise Ambiguous(words, tuple(map(game.format, fitting or hidden)))
    return fitting[0] if fitting else None


def hidden_growth(kit: Kit, before: Layout, after: Layout) -> tuple[Square, ...]:
    """Return the squares on which a piece comes to lie on one that looks the same.

    No picture shows it, only its marker. What goes
    under one that is carried, such as a ball, counts where nothing else of a change can be seen."""
    is_all_hidden = tops(before) == tops(after)
    return tuple(
        square
        for square, stack in after.items()
        if len(stack) > len(before.get(square, ()))
        and before.get(square, ())[-1:] == stack[-1:]
        and (is_all_hidden or not kit.face(stack[-1]).carried)
    )


def known_markers(before: Mapping[Square, int], reading: Reading) -> dict[Square, int]:
    """Return the markers that are read on a board as it should be.

    While something is hidden, those read `before` stay.

    A hand that is still over the board may have laid a piece on one that looks the same.
    """
    if not reading.unknown:
        return dict(reading.markers)
    places = reading.unknown | reading.markers.keys()
    return {
        **reading.markers,
        **{square: marker for square, marker in before.items() if square in places},
    }


def shows_growth(before: Before, after: Layout, reading: Reading) -> bool:
    """Return whether every piece that comes to lie on one that looks the same is told by its marker.

    True where there is none.

    It is one that was read where a piece has left, or that was read nowhere while the one below was. A marker that
    was hidden before and is read now tells nothing: the piece may have been put straight.
    """
    left = {
        square for square, stack in before.board.items() if len(after.get(square, ())) < len(stack)
    }
    for square in hidden_growth(before.kit, before.board, after):
        now, was = reading.markers.get(square), before.markers.get(square)
        homes = {home for home, marker in before.markers.items() if marker == now}
        if now in (None, was) or (not homes & left if homes else was is None):
            return False
    return True


def turned_below(before: Layout, after: Layout) -> frozenset[Square]:
    """Return squares where a piece turns over under one that stays on top, such as a ball: no picture shows it."""
    both = ((square, before[square], after[square]) for square in before.keys() & after.keys())
    return frozenset(
        square
        for square, was, now in both
        if len(was) == len(now) and was != now and was[-1] == now[-1]
    )


def _is_shown(layout: Layout, reading: Reading, before: Before) -> bool:
    """Return whether the board shows more than that a piece is gone.

    On a piece that looks the same only its marker tells.
    """
    was, now = tops(before.board), tops(layout)
    grown = hidden_growth(before.kit, before.board, layout)
    if grown or any(was.get(square) != face for square, face in now.items()):
        return shows_growth(before, layout, reading)
    gone = _faces(before.board) - _faces(layout)
    return bool(gone) and gone <= Counter(reading.beside)


def _faces(layout: Layout) -> Counter[str]:
    return Counter(face for stack in layout.values() for face in stack)


def _may_be_meant(kit: Kit, layout: Layout, board: Layout) -> bool:
    """Return whether a piece has left the board, or gone under one that is carried on top.

    Both look as if it were only lifted.
    """
    return _faces(layout).total() < _faces(board).total() or any(
        kit.face(stack[-1]).carried and len(stack) > len(board[square])
        for square, stack in layout.items()
        if square in board
    )
