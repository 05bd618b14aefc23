"""Fifth stage: decide which squares without a piece are empty and which are unknown.

A square is empty only if its own print is visible. A square that neither shows its print nor has a
piece is read again from straight above. What remains is unknown. The result is the vote of this
picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from companion.core.grid import Square
from vision.detection.markers import Sighting
from vision.detection.rectified_search import ENHANCED, PLAIN, Preparation, read_from_above
from vision.pieces.empty_squares import find_empty, find_shaded, learn_bare
from vision.pieces.snapshots import Snapshot, take_snapshot
from vision.reading.look import Look, Memory, Pieces, Vote
from vision.reading.place import bodies_mm, place_pieces

# Minimum correlation of a marker that does not decode to be identified without doubt. `best_guess`
# already accepts .68. Below this limit three pictures have to agree, not two.
_MIN_CLEAR_SCORE = 0.85


def judge(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the empty and the unknown squares, and make the vote of this picture."""
    kit, pieces = look.kit, look.pieces
    if kit is None or pieces is None:
        vote = _vote_without_pieces(look, memory)
        return replace(look, vote=vote), replace(memory, reference=None)

    # Squares on which no piece was read.
    without_piece = set(kit.board.squares) - kit.board.holes - pieces.seen.keys()
    candidates = without_piece & look.squares_to_judge
    empty = set[Square]()
    attempts = Counter(memory.failed_attempts)
    # The first look at a board covers all of it.
    is_whole = look.reference is None
    if candidates or is_whole:
        shot, memory = _snapshot(look, memory, pieces, None if is_whole else candidates)
        certain = candidates - pieces.doubtful_squares - look.vague_squares
        empty = find_empty(memory.bare_looks, kit.board, shot, certain)
        missing = candidates - empty
        if missing and (look.is_still or not is_whole):
            look, pieces, bare = _examine_closer(look, memory, pieces, shot, missing, attempts)
            empty |= bare
        # A piece found in the closer look overrides the evidence of bare paper.
        empty -= pieces.doubtful_squares | pieces.seen.keys()
        if look.is_still:
            memory = replace(memory, bare_looks=learn_bare(memory.bare_looks, shot, empty))
    if look.reference is not None:
        # Squares that were not judged keep their state.
        empty |= (
            look.reference.empty_squares - candidates - pieces.doubtful_squares - pieces.seen.keys()
        )
    unknown = frozenset(without_piece - pieces.seen.keys() - empty) | pieces.doubtful_squares
    look = _with_vote(
        replace(look, pieces=pieces, empty_squares=frozenset(empty), unknown_squares=unknown),
        pieces,
    )
    return look, replace(memory, failed_attempts=attempts, reference=replace(look, reference=None))


def _snapshot(
    look: Look, memory: Memory, pieces: Pieces, squares: Set[Square] | None
) -> tuple[Snapshot, Memory]:
    """Return a snapshot of these squares, or of the whole board if `squares` is None."""
    sheet = memory.sheet
    assert sheet is not None
    # Parts of the board that pieces hide are not evidence.
    bodies = bodies_mm(pieces.kit, pieces.pose, pieces.placed)
    ids = {sighting.marker for sighting in look.sightings}
    corner_ids = ids.intersection(pieces.kit.board.corners)
    shot, sheet = take_snapshot(sheet, look.luma, pieces.pose, corner_ids, bodies, squares=squares)
    return shot, replace(memory, sheet=sheet)


def _examine_closer(  # noqa: PLR0917 - what is known of one picture
    look: Look,
    memory: Memory,
    pieces: Pieces,
    shot: Snapshot,
    missing: Set[Square],
    attempts: Counter[Square],
) -> tuple[Look, Pieces, set[Square]]:
    """Read the `missing` squares from straight above, and find those that are empty after all.

    The picture's budget limits the number of squares. The others wait for the next picture.
    `attempts` is updated with the failed attempts at each square. Returns the look and the pieces
    with those that were read, and the empty squares.
    """
    board, bare = pieces.kit.board, set[Square]()

    # A marker has more contrast than print or shadows, so squares with contrast come first.
    ranked = _rank_squares(missing, attempts, shot, is_contrast_first=True)
    candidates = set(ranked[: look.budget.closer_squares])
    for preparations in (PLAIN, ENHANCED):
        more = _read_from_above(look, pieces, candidates, preparations)
        if not more:
            continue
        look, pieces = _add_sightings(look, memory, pieces, more)
        missing = missing - pieces.seen.keys()
        if not missing:
            break
        # The new snapshot masks what the new pieces hide, so that it is not mistaken for an object.
        shot, _ = _snapshot(look, memory, pieces, missing)
        certain = missing - pieces.doubtful_squares - look.vague_squares
        bare |= find_empty(memory.bare_looks, board, shot, certain)
        missing = missing - bare
        candidates = candidates.difference(pieces.seen, bare)
        if not candidates:
            break
    if look.is_still:
        # Paper has less contrast than what lies on it, also under shadows.
        in_shade = missing - pieces.doubtful_squares - look.vague_squares
        ranked = _rank_squares(in_shade, attempts, shot, is_contrast_first=False)
        shaded, failed = find_shaded(board, shot, ranked, look.budget.shaded_failures)
        attempts.update(failed)
        bare |= shaded
    return look, pieces, bare


def _rank_squares(
    squares: Set[Square], attempts: Counter[Square], shot: Snapshot, *, is_contrast_first: bool
) -> list[Square]:
    """Return the squares, those with the fewest failed attempts first.

    Among these, the square with the most contrast comes first, or the one with the least.
    """
    sign, ranked = -1 if is_contrast_first else 1, []
    for square in squares:
        # Contrast is the standard deviation of the brightness within the square.
        contrast = float(shot.tones[shot.row_of[square]].std())
        ranked.append((attempts[square], sign * contrast, square))
    return [square for _, _, square in sorted(ranked)]


def _read_from_above(
    look: Look, pieces: Pieces, squares: Set[Square], preparations: Sequence[Preparation]
) -> tuple[Sighting, ...]:
    """Return the markers on these squares that no other scan has found."""
    known = {sighting.marker for sighting in look.sightings}
    for piece in pieces.placed:
        marker = piece.sighting.marker
        # A marker in an implausible place may have been read wrongly: it is searched for again.
        if not (piece.is_plausible and piece.is_sure) and marker not in pieces.strangers:
            known.discard(marker)
    return read_from_above(
        pieces.kit, pieces.pose, look.luma, known=known, squares=squares, preparations=preparations
    )


def _add_sightings(
    look: Look, memory: Memory, pieces: Pieces, more: tuple[Sighting, ...]
) -> tuple[Look, Pieces]:
    """Return look and pieces with these markers added. They replace those of the same ids."""
    ids = {sighting.marker for sighting in more}
    others = [sighting for sighting in look.sightings if sighting.marker not in ids]
    sightings = (*others, *more)
    pieces = place_pieces(pieces.kit, pieces.pose, sightings, memory.located.unconfirmed_squares)
    return replace(look, sightings=sightings), pieces


# ---- what the picture says -----------------------------------------------------------------------


def _with_vote(look: Look, pieces: Pieces) -> Look:
    """Return the look with its vote and the confidence of each square."""
    scores, confidence, guessed, beside = dict[int, float](), dict[Square, float](), set(), []
    for piece in pieces.placed:
        scores[piece.sighting.marker] = piece.sighting.score
        if not piece.squares:
            beside.append(piece.face.name)
    for square, marker in pieces.markers.items():
        confidence[square] = scores[marker]
        if scores[marker] < _MIN_CLEAR_SCORE:
            guessed.add(square)

    # The vote of this picture alone.
    vote = Vote(
        pieces.kit.game,
        pieces.seen,
        look.unknown_squares,
        tuple(sorted(beside)),
        pieces.strangers,
        markers=pieces.markers,
        guessed_squares=frozenset(guessed),
    )
    confidence |= dict.fromkeys(look.empty_squares, 1.0)
    confidence |= dict.fromkeys(look.unknown_squares, 0.0)
    return replace(look, vote=vote, confidence=confidence)


def _vote_without_pieces(look: Look, memory: Memory) -> Vote:
    """Return the vote of a picture with a board of cards, or without a board."""
    kit, reader, cards = look.kit, memory.card_reader, look.open_cards
    if kit is None or reader is None or cards is None:
        squares = memory.active_kit.board.squares if memory.active_kit else ()
        return Vote(None, {}, frozenset(squares))
    times = Counter(sighting.marker for sighting in look.sightings)

    # Markers of no card and no corner, and corners that are there twice.
    own = {*kit.board.corners, *reader.markers}
    strangers = times.keys() - own
    strangers |= {marker for marker in kit.board.corners if times[marker] > 1}
    strangers |= set(cards.duplicates)

    # Zones where the pose is vague are unknown.
    vague = look.vague_squares & set(reader.zones)
    fans = {zone: fan for zone, fan in cards.fans.items() if zone not in vague}
    return Vote(
        kit.game,
        {},
        cards.unknown | vague,
        cards.beside,
        tuple(sorted(strangers)),
        fans,
        is_stirred=look.moving_px is not None,
    )
