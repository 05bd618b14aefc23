"""Fifth stage: every other square is empty by its print, or read once more from straight above, or unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.cards.reader import CardReader
from vision.detection.markers import Sighting
from vision.detection.rectified_search import BETTER, PLAIN, Way
from vision.pieces.snapshots import Snapshot
from vision.reading.look import NO_SQUARES, Look, Memory, Pieces, Vote
from vision.reading.place import placed_pieces

_CLEARLY = 0.85
"""A marker that does not decode and correlates so well with a print is that one without doubt."""


def judge(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Tell which squares are empty and which are unknown, and what the picture says by itself."""
    if look.kit is None or look.pose is None:
        squares = memory.active.board.squares if memory.active else ()
        return replace(look, vote=Vote(None, {}, frozenset(squares))), replace(memory, last=None)
    if look.cards is not None and memory.cards is not None:
        return replace(look, vote=_vote_of_cards(look, look.kit, memory.cards)), memory
    look, memory = _judged(look, memory)
    look = _with_vote(look)
    return look, replace(memory, last=replace(look, before=None))


def _judged(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Judge the squares that are asked; all others keep what the look before says."""
    assert look.kit is not None
    assert look.pieces is not None
    assert memory.squares is not None
    holes, times = look.kit.board.holes, Counter(memory.times)
    rest = frozenset(s for s in look.kit.board.squares if s not in look.pieces.seen and s not in holes)
    ask = rest & look.asked
    empty = set[Square]()
    if ask:
        first = shot = _snapshot(look, memory, ask, whole=look.before is None)
        empty = memory.squares.empty_among(shot, ask - look.pieces.doubtful - look.vague)
        is_close = look.still or look.before is not None
        if is_close and ask - empty:
            look, more = _look_closer(look, memory, shot, set(ask - empty), times)
            empty |= more
        assert look.pieces is not None
        empty -= look.pieces.doubtful | set(look.pieces.seen)
        if look.still:
            memory.squares.learn(first, empty)
    pieces = look.pieces
    assert pieces is not None
    if look.before is not None:
        empty |= look.before.empty - ask - pieces.doubtful - set(pieces.seen)
    unknown = frozenset(s for s in rest if s not in pieces.seen and s not in empty) | pieces.doubtful
    return replace(look, empty=frozenset(empty), unknown=unknown), replace(memory, times=times)


def _snapshot(look: Look, memory: Memory, squares: Collection[Square], *, whole: bool = False) -> Snapshot:
    """Look at these squares of a picture; `whole`: at all of the board's, as it has to be the first time."""
    assert look.kit is not None
    assert look.pose is not None
    assert look.pieces is not None
    assert memory.squares is not None
    assert memory.placer is not None
    board = look.kit.board
    every = whole or not memory.squares.has_looked
    corners = [s.marker for s in look.sightings if s.marker in board.corners]
    bodies = memory.placer.bodies(look.pieces.placed, board.squares if every else squares)
    return memory.squares.snapshot(look.luma, look.pose, corners, bodies, None if every else squares)


def _look_closer(
    look: Look, memory: Memory, shot: Snapshot, missing: set[Square], times: Counter[Square]
) -> tuple[Look, set[Square]]:
    """Read from straight above what lies on squares which nothing accounts for, and tell which are empty after all.

    So many squares as the picture's budget has; the others wait for the next one. `times` counts how often each is
    asked. Returns the look with the pieces that were read, and the empty squares.
    """
    assert look.pieces is not None
    assert memory.squares is not None
    bare, asked = set[Square](), _first(missing, look.budget.closer, times)
    for ways in (PLAIN, BETTER):
        more = _read_closer(look, memory, asked, ways)
        if not more:
            continue
        look = _with_more(look, memory, more)
        assert look.pieces is not None
        missing = missing - set(look.pieces.seen)
        if not missing:
            break
        # What these pieces hide is no longer taken for something that lies there.
        shot = _snapshot(look, memory, missing)
        bare |= memory.squares.empty_among(shot, missing - look.pieces.doubtful - look.vague)
        missing, asked = missing - bare, asked - set(look.pieces.seen) - bare
        if not asked:
            break
    assert look.pieces is not None
    rest = missing - look.pieces.doubtful - look.vague
    if look.still:
        shaded = _first(rest, look.budget.shaded, times)
        times.update(shaded)
        bare |= memory.squares.shaded_among(shot, shaded)
    return look, bare


def covered(look: Look, memory: Memory, squares: frozenset[Square]) -> frozenset[Square]:
    """Return those of these squares of the last look that are covered by what shows no marker."""
    if not squares or memory.squares is None or memory.placer is None:
        return NO_SQUARES
    assert look.kit is not None
    assert look.pose is not None
    assert look.pieces is not None
    bodies = memory.placer.bodies(look.pieces.placed, squares)
    shot = memory.squares.snapshot(look.luma, look.pose, (), bodies, squares)
    hidden = memory.squares.covered_among(shot, squares)
    return frozenset(hidden - memory.closer.marked(look.kit, look.pose, look.luma, hidden))


def _first(squares: set[Square], number: int, times: Counter[Square]) -> set[Square]:
    """Return so many of the squares, those first that were asked least often."""
    return set(sorted(squares, key=lambda square: (times[square], square))[:number])


def _read_closer(look: Look, memory: Memory, squares: set[Square], ways: Sequence[Way]) -> tuple[Sighting, ...]:
    """Return markers on these squares that no other look has found."""
    assert look.kit is not None
    assert look.pose is not None
    assert look.pieces is not None
    # What does not lie as a marker should may have been seen badly.
    shaky = {p.sighting.marker for p in look.pieces.placed if not (p.fits and p.sure)} - set(look.pieces.strangers)
    known = {sighting.marker for sighting in look.sightings} - shaky
    return memory.closer.look(look.kit, look.pose, look.luma, known=known, squares=squares, ways=ways)


def _with_more(look: Look, memory: Memory, more: tuple[Sighting, ...]) -> Look:
    """Return the look with these markers, which replace those of the same ids."""
    assert memory.placer is not None
    better = {sighting.marker for sighting in more}
    sightings = (*(s for s in look.sightings if s.marker not in better), *more)
    pieces = placed_pieces(memory.placer, sightings, memory.locator.unconfirmed)
    return replace(look, sightings=sightings, pieces=pieces)


# ---- what the picture says -------------------------------------------------------------------------------------------


def _with_vote(look: Look) -> Look:
    assert look.kit is not None
    pieces: Pieces | None = look.pieces
    assert pieces is not None
    beside = sorted(piece.face.name for piece in pieces.placed if piece.squares == {None})
    scores = {sighting.marker: sighting.score for sighting in look.sightings}
    sure = {square: scores[marker] for square, marker in pieces.markers.items()}
    vote = Vote(
        look.kit.game,
        pieces.seen,
        look.unknown,
        tuple(beside),
        pieces.strangers,
        markers=pieces.markers,
        guessed=frozenset(square for square, score in sure.items() if score < _CLEARLY),
    )
    sureness = sure | dict.fromkeys(look.empty, 1.0) | dict.fromkeys(look.unknown, 0.0)
    return replace(look, vote=vote, sureness=sureness)


def _vote_of_cards(look: Look, kit: Kit, reader: CardReader) -> Vote:
    """Return what a picture of a board of cards says."""
    assert look.cards is not None
    times = Counter(sighting.marker for sighting in look.sightings)
    own = {*kit.board.corners, *reader.markers}
    strangers = {m for m in times if m not in own} | {m for m in kit.board.corners if times[m] > 1}
    strangers |= set(look.cards.strangers)
    vague = look.vague & set(reader.zones)
    fans = {zone: cards for zone, cards in look.cards.fans.items() if zone not in vague}
    unknown = look.cards.unknown | vague
    told = NO_SQUARES | unknown, look.cards.beside, tuple(sorted(strangers)), fans
    return Vote(kit.game, {}, *told, stirred=bool(len(look.moving_px)))
