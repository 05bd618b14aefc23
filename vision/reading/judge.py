"""Fifth stage: decide which squares without a piece are empty and which are unknown.

A square is empty only if its own print is visible. The squares without a piece are judged in three
steps, each slower than the one before (`_judge_candidates`):

1. In plain light, a square that shows its paper and outline is empty.
2. In the *closer look*, squares that are still undecided are searched for markers once more, in a
   view from straight above.
3. Squares that are still undecided are empty if they show paper and outline under a shadow.

What remains is unknown. The result is the vote of this picture: what it alone says about all
squares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from companion.core.grid import Square
from vision.detection.markers import Sighting
from vision.detection.rectified_search import ENHANCED, PLAIN, Preprocessor, find_missed_pieces
from vision.pieces.empty_squares import find_empty_squares, find_shaded_squares, learn_appearances
from vision.pieces.snapshots import Snapshot, take_snapshot
from vision.reading.look import Look, Memory, Pieces, Vote
from vision.reading.place import occlusion_hulls_mm, place_pieces

# Minimum correlation between a marker that does not decode and its print, from which it counts as
# clearly read. With less (`markers.best_guess` accepts 0.68 and more), it is a guess, on which
# three pictures have to agree instead of two. Chosen by trial on rendered tables (`make bench
# ARGS=reading`). Larger: boards settle later.
_MIN_CLEAR_SCORE = 0.85


class _CloserLook(NamedTuple):
    """What is known after some squares were read from straight above."""

    look: Look
    """The look with the markers that were found."""
    pieces: Pieces
    """All pieces, including the pieces with these markers."""
    snapshot: Snapshot
    """A snapshot that masks what these pieces hide, at least for the undecided squares."""
    empty: set[Square]
    """Squares that are empty, as is seen now that these markers are known."""


def judge(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the empty and the unknown squares, and make the vote of this picture."""
    kit = look.kit
    pieces = look.pieces
    reference = look.reference
    if kit is None or pieces is None:
        vote = _vote_without_pieces(look, memory)
        return replace(look, vote=vote), replace(memory, reference=None)

    # Squares on which no piece was read. Holes, such as walls, cannot have one.
    without_piece = set(kit.board.squares) - kit.board.holes - pieces.seen.keys()
    candidates = without_piece & look.squares_to_judge

    # Which of them are empty? On a board that is read as a whole, this also measures its paper, so
    # it is done even without candidates.
    empty = set[Square]()
    if candidates or reference is None:
        look, memory, pieces, empty = _judge_candidates(look, memory, pieces, candidates)
        without_piece -= pieces.seen.keys()
    if reference is not None:
        # Squares that were not judged stay empty, unless a piece may lie there now.
        empty |= reference.empty_squares - candidates - pieces.doubtful_squares - pieces.seen.keys()

    # What is neither read nor empty is unknown.
    unknown = frozenset(without_piece - empty) | pieces.doubtful_squares
    look = _with_vote(
        replace(look, pieces=pieces, empty_squares=frozenset(empty), unknown_squares=unknown),
        pieces,
    )
    return look, replace(memory, reference=replace(look, reference=None))


def _judge_candidates(
    look: Look, memory: Memory, pieces: Pieces, candidates: Set[Square]
) -> tuple[Look, Memory, Pieces, set[Square]]:
    """Return the new look, memory and pieces, and the candidates that are empty.

    Candidates are the squares to judge on which no piece was read. Each step judges only the
    squares that are still undecided.
    """
    # Without a reference, the whole board is judged, and the brightness of its paper is measured.
    is_whole = look.reference is None

    # First step: plain light. A square with a doubtful piece or a vague pose is never called empty.
    snapshot, memory = _take_snapshot(look, memory, pieces, None if is_whole else candidates)
    testable = candidates - pieces.doubtful_squares - look.vague_squares
    empty = find_empty_squares(memory.empty_appearances, pieces.kit.board, snapshot, testable)
    undecided = candidates - empty

    # While something moves, skip the slow steps on a whole board. It is read again when all is
    # still.
    if undecided and (look.is_still or not is_whole):
        # Second step: the closer look.
        closer = _look_closer(look, memory, pieces, snapshot, undecided)
        look = closer.look
        pieces = closer.pieces
        empty |= closer.empty
        if look.is_still:
            # Third step: shadows with edges. A test that fails is slow, so the picture's budget
            # limits their number. Squares with little contrast come first: they are probably empty,
            # because paper has less contrast than what lies on it.
            undecided = undecided - pieces.seen.keys() - empty
            testable = undecided - pieces.doubtful_squares - look.vague_squares
            ranked = _rank_squares(
                testable, memory.failed_attempts, closer.snapshot, is_contrast_first=False
            )
            shaded, failed = find_shaded_squares(
                pieces.kit.board, closer.snapshot, ranked, look.budget.shaded_failures
            )
            empty |= shaded
            attempts = Counter(memory.failed_attempts) + Counter(failed)
            memory = replace(memory, failed_attempts=attempts)

    # A piece that was found in the closer look overrides the evidence of empty paper.
    empty = empty - pieces.seen.keys() - pieces.doubtful_squares
    if look.is_still:
        appearances = learn_appearances(memory.empty_appearances, snapshot, empty)
        memory = replace(memory, empty_appearances=appearances)
    return look, memory, pieces, empty


def _take_snapshot(
    look: Look, memory: Memory, pieces: Pieces, squares: Set[Square] | None
) -> tuple[Snapshot, Memory]:
    """Return a snapshot of these squares, or of the whole board if `squares` is None.

    A snapshot is what the picture shows on each square, whether or not a piece lies there.
    """
    paper = memory.paper
    # `place` has set it, because this is a board of pieces.
    assert paper is not None
    # What pieces hide is masked, because it says nothing about the squares there.
    hulls_mm = occlusion_hulls_mm(pieces.kit, pieces.pose, pieces.placed)
    ids = set(map(attrgetter("marker"), look.sightings))
    corner_ids = ids.intersection(pieces.kit.board.corners)
    snapshot, paper = take_snapshot(
        paper, look.luma, pieces.pose, corner_ids, hulls_mm, squares=squares
    )
    return snapshot, replace(memory, paper=paper)


# ---- the closer look -----------------------------------------------------------------------------


def _look_closer(
    look: Look, memory: Memory, pieces: Pieces, snapshot: Snapshot, undecided: Set[Square]
) -> _CloserLook:
    """Search the `undecided` squares for markers, in a view from straight above.

    So far these squares neither are empty nor have a piece. The picture's budget limits how many
    are searched, and the others wait for the next picture. Markers that are found also tell what
    their pieces hide, so squares nearby are tested for paper once more.
    """
    # A marker has more contrast than print or shadows, so squares with contrast come first.
    ranked = _rank_squares(undecided, memory.failed_attempts, snapshot, is_contrast_first=True)
    candidates = set(ranked[: look.budget.closer_squares])
    empty = set[Square]()
    for preprocessors in (PLAIN, ENHANCED):
        sightings = _search_markers(look, pieces, candidates, preprocessors)
        if not sightings:
            continue
        look, pieces = _add_sightings(look, memory, pieces, sightings)
        undecided = undecided - pieces.seen.keys()
        if not undecided:
            break
        # The new snapshot masks what the new pieces hide, so that it is not mistaken for an object.
        snapshot, _ = _take_snapshot(look, memory, pieces, undecided)
        testable = undecided - pieces.doubtful_squares - look.vague_squares
        empty |= find_empty_squares(memory.empty_appearances, pieces.kit.board, snapshot, testable)
        undecided = undecided - empty
        candidates = candidates.difference(pieces.seen, empty)
        if not candidates:
            break
    return _CloserLook(look, pieces, snapshot, empty)


def _rank_squares(
    squares: Set[Square],
    attempts: Mapping[Square, int],
    snapshot: Snapshot,
    *,
    is_contrast_first: bool,
) -> list[Square]:
    """Return the squares, those with the fewest failed `attempts` first.

    Among squares with equally many attempts, the one with the most contrast comes first, or the one
    with the least.
    """
    sign = -1 if is_contrast_first else 1

    def rank(square: Square) -> tuple[int, float, Square]:
        # Contrast is the standard deviation of the brightness within the square.
        contrast = float(snapshot.tones[snapshot.row_of[square]].std())
        return attempts.get(square, 0), sign * contrast, square

    return sorted(squares, key=rank)


def _search_markers(
    look: Look, pieces: Pieces, squares: Set[Square], preprocessors: Sequence[Preprocessor]
) -> tuple[Sighting, ...]:
    """Return further markers on and around these squares.

    These are markers that were not found in this picture yet, and those that may have been read
    wrongly. `preprocessors` are the ways in which the view is prepared, such as sharpening.
    """
    known_ids = {sighting.marker for sighting in look.sightings}
    for piece in pieces.placed:
        marker = piece.sighting.marker
        # A marker of an implausible size, or on no certain square, may have been read wrongly.
        # Search for it again.
        if (
            not (piece.is_plausible and piece.has_certain_squares)
            and marker not in pieces.strangers
        ):
            known_ids.discard(marker)
    return find_missed_pieces(
        pieces.kit,
        pieces.pose,
        look.luma,
        known_ids=known_ids,
        squares=squares,
        preprocessors=preprocessors,
    )


def _add_sightings(
    look: Look, memory: Memory, pieces: Pieces, more: tuple[Sighting, ...]
) -> tuple[Look, Pieces]:
    """Return look and pieces with `more` markers, which replace those with the same ids."""
    new_ids = {sighting.marker for sighting in more}
    others = [sighting for sighting in look.sightings if sighting.marker not in new_ids]
    sightings = (*others, *more)
    pieces = place_pieces(pieces.kit, pieces.pose, sightings, memory.location.unconfirmed_squares)
    return replace(look, sightings=sightings), pieces


# ---- what the picture says -----------------------------------------------------------------------


def _with_vote(look: Look, pieces: Pieces) -> Look:
    """Return the look at a board of pieces with its vote and the confidence of each square."""
    scores = dict[int, float]()
    confidence = dict[Square, float]()
    guessed = set()
    beside = []
    for piece in pieces.placed:
        scores[piece.sighting.marker] = piece.sighting.score
        if not piece.squares:
            beside.append(piece.face.name)
    for square, marker in pieces.markers.items():
        confidence[square] = scores[marker]
        if scores[marker] < _MIN_CLEAR_SCORE:
            guessed.add(square)

    vote = Vote(
        game=pieces.kit.game,
        seen=pieces.seen,
        unknown=look.unknown_squares,
        beside=tuple(sorted(beside)),
        strangers=pieces.strangers,
        markers=pieces.markers,
        guessed_squares=frozenset(guessed),
    )
    confidence |= dict.fromkeys(look.empty_squares, 1.0)
    confidence |= dict.fromkeys(look.unknown_squares, 0.0)
    return replace(look, vote=vote, confidence=confidence)


def _vote_without_pieces(look: Look, memory: Memory) -> Vote:
    """Return the vote of a picture with a board of cards, or without a board."""
    kit = look.kit
    reader = memory.card_reader
    cards = look.open_cards
    if kit is None or reader is None or cards is None:
        squares = memory.active_kit.board.squares if memory.active_kit else ()
        return Vote(None, {}, frozenset(squares))
    counts = Counter(sighting.marker for sighting in look.sightings)

    # Markers that belong to no card or corner, and duplicate markers of cards and corners.
    strangers = counts.keys() - {*kit.board.corners, *reader.markers}
    strangers |= {marker for marker in kit.board.corners if counts[marker] > 1}
    strangers |= set(cards.duplicates)

    # Zones where the pose is vague are unknown.
    vague = look.vague_squares & set(reader.zones)
    fans = {zone: fan for zone, fan in cards.fans.items() if zone not in vague}
    return Vote(
        game=kit.game,
        seen={},
        unknown=cards.unknown | vague,
        beside=cards.beside,
        strangers=tuple(sorted(strangers)),
        fans=fans,
        has_movement=look.moving_px is not None,
    )
