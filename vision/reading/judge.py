"""Fifth stage: classify every other square as empty by its print, read again from straight above,
or unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from operator import attrgetter

from companion.core.grid import Square
from vision.detection.markers import Sighting
from vision.detection.rectified_search import BETTER, PLAIN, Way, read_closer
from vision.pieces.empty_squares import empty_among, learn_bare, shaded_among
from vision.pieces.snapshots import Snapshot, take_snapshot
from vision.reading.look import Look, Memory, Pieces, Vote
from vision.reading.place import bodies_mm, placed_pieces

_MIN_CLEAR_SCORE = 0.85
"""Correlation from which a marker that does not decode is identified without doubt."""


def judge(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the empty and the unknown squares, and make the vote of this picture."""
    kit, pieces = look.kit, look.pieces
    if kit is None or pieces is None:
        return replace(look, vote=_other_vote(look, memory)), replace(memory, last=None)

    # Squares on which no piece was read.
    squares_left = set(kit.board.squares) - kit.board.holes - pieces.seen.keys()
    ask = squares_left & look.asked
    empty = set[Square]()
    times = Counter(memory.times)
    # The first look at a board covers all of it.
    whole = look.before is None
    if ask or whole:
        shot, memory = _snapshot(look, memory, pieces, None if whole else ask)
        certain = ask - pieces.doubtful - look.vague
        empty = empty_among(memory.bare_looks, kit.board, shot, certain)
        # The snapshot before markers are searched for again.
        first = shot
        if (look.still or not whole) and ask - empty:
            look, pieces, bare = _examine_closer(look, memory, pieces, shot, ask - empty, times)
            empty |= bare
        # A piece found in the closer look overrides the evidence of bare paper.
        empty -= pieces.doubtful | pieces.seen.keys()
        if look.still:
            memory = replace(memory, bare_looks=learn_bare(memory.bare_looks, first, empty))
    if look.before is not None:
        # Squares that were not asked keep their state.
        empty |= look.before.empty - ask - pieces.doubtful - pieces.seen.keys()
    unknown = frozenset(squares_left - pieces.seen.keys() - empty) | pieces.doubtful
    look = _with_vote(replace(look, pieces=pieces, empty=frozenset(empty), unknown=unknown), pieces)
    return look, replace(memory, times=times, last=replace(look, before=None))


def _snapshot(
    look: Look, memory: Memory, pieces: Pieces, squares: Set[Square] | None
) -> tuple[Snapshot, Memory]:
    """Take a snapshot of these squares, or of the whole board if `squares` is None."""
    sheet = memory.sheet
    assert sheet is not None
    # Parts of the board that pieces hide are not evidence.
    bodies = bodies_mm(pieces.kit, pieces.pose, pieces.placed)
    corners = set(pieces.kit.board.corners).intersection(map(attrgetter("marker"), look.sightings))
    shot, sheet = take_snapshot(sheet, look.luma, pieces.pose, corners, bodies, squares=squares)
    return shot, replace(memory, sheet=sheet)


def _examine_closer(  # noqa: PLR0917 - what is known of one picture
    look: Look,
    memory: Memory,
    pieces: Pieces,
    shot: Snapshot,
    missing: Set[Square],
    times: Counter[Square],
) -> tuple[Look, Pieces, set[Square]]:
    """Read unexplained squares from straight above, and find those that are empty after all.

    The picture's budget limits the number of squares. The others wait for the next picture. `times`
    counts the failed attempts at each square. Returns the look and the pieces with those that were
    read, and the empty squares.
    """
    board, bare = pieces.kit.board, set[Square]()

    # A marker has more contrast than print or shadows, so squares with contrast come first.
    candidates = set(_rank_squares(missing, times, shot, most=1)[: look.budget.closer])
    for ways in (PLAIN, BETTER):
        more = _read_closer(look, pieces, candidates, ways)
        if not more:
            continue
        look, pieces = _add_sightings(look, memory, pieces, more)
        missing = missing - pieces.seen.keys()
        if not missing:
            break
        # The new snapshot masks what the new pieces hide, so that it is not mistaken for an object.
        shot, _ = _snapshot(look, memory, pieces, missing)
        certain = missing - pieces.doubtful - look.vague
        bare |= empty_among(memory.bare_looks, board, shot, certain)
        missing = missing - bare
        candidates = candidates.difference(pieces.seen, bare)
        if not candidates:
            break
    if look.still:
        # Paper has less contrast than what lies on it, also under shadows.
        in_shade = missing - pieces.doubtful - look.vague
        ranked = _rank_squares(in_shade, times, shot, most=-1)
        shaded, vain = shaded_among(board, shot, ranked, look.budget.shaded)
        times.update(vain)
        bare |= shaded
    return look, pieces, bare


def _rank_squares(
    squares: Set[Square], times: Counter[Square], shot: Snapshot, *, most: int
) -> list[Square]:
    """Return the squares, those with the fewest failed attempts first.

    Ties go to the square with the most contrast, or with the least if `most` is -1.
    """
    ranked = []
    for square in squares:
        # Contrast is the standard deviation of the brightness within the square.
        contrast = float(shot.tones[shot.row[square]].std())
        ranked.append((times[square], -most * contrast, square))
    return [square for _, _, square in sorted(ranked)]


def _read_closer(
    look: Look, pieces: Pieces, squares: Set[Square], ways: Sequence[Way]
) -> tuple[Sighting, ...]:
    """Return the markers on these squares that no other scan has found."""
    known = {sighting.marker for sighting in look.sightings}
    for piece in pieces.placed:
        marker = piece.sighting.marker
        # A marker in an implausible place may have been read wrongly: it is searched for again.
        if not (piece.fits and piece.sure) and marker not in pieces.strangers:
            known.discard(marker)
    return read_closer(pieces.kit, pieces.pose, look.luma, known=known, squares=squares, ways=ways)


def _add_sightings(
    look: Look, memory: Memory, pieces: Pieces, more: tuple[Sighting, ...]
) -> tuple[Look, Pieces]:
    """Return look and pieces with these markers added. They replace those of the same ids."""
    better = {sighting.marker for sighting in more}
    sightings = (*(s for s in look.sightings if s.marker not in better), *more)
    pieces = placed_pieces(pieces.kit, pieces.pose, sightings, memory.located.unconfirmed)
    return replace(look, sightings=sightings), pieces


# ---- what the picture says -----------------------------------------------------------------------


def _with_vote(look: Look, pieces: Pieces) -> Look:
    """Return the look with its vote and its sureness."""
    scores, sureness, guessed, beside = dict[int, float](), dict[Square, float](), set(), []
    for piece in pieces.placed:
        scores[piece.sighting.marker] = piece.sighting.score
        if not piece.squares:
            beside.append(piece.face.name)
    for square, marker in pieces.markers.items():
        sureness[square] = scores[marker]
        if scores[marker] < _MIN_CLEAR_SCORE:
            guessed.add(square)

    # The vote of this picture alone.
    vote = Vote(
        pieces.kit.game,
        pieces.seen,
        look.unknown,
        tuple(sorted(beside)),
        pieces.strangers,
        markers=pieces.markers,
        guessed=frozenset(guessed),
    )
    sureness |= dict.fromkeys(look.empty, 1.0) | dict.fromkeys(look.unknown, 0.0)
    return replace(look, vote=vote, sureness=sureness)


def _other_vote(look: Look, memory: Memory) -> Vote:
    """Return the vote of a picture with a board of cards, or without a board."""
    kit, reader, lying = look.kit, memory.cards, look.cards
    if kit is None or reader is None or lying is None:
        squares = memory.active.board.squares if memory.active else ()
        return Vote(None, {}, frozenset(squares))
    times = Counter(sighting.marker for sighting in look.sightings)

    # Markers of no card and no corner, and corners that are there twice.
    own = {*kit.board.corners, *reader.markers}
    strangers = {m for m in times if m not in own} | {m for m in kit.board.corners if times[m] > 1}
    strangers |= set(lying.duplicates)

    # Zones where the pose is vague are unknown.
    vague = look.vague & set(reader.zones)
    return Vote(
        kit.game,
        {},
        lying.unknown | vague,
        lying.beside,
        tuple(sorted(strangers)),
        {zone: cards for zone, cards in lying.fans.items() if zone not in vague},
        stirred=look.moving_px is not None,
    )
