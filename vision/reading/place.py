"""Fourth stage: which face lies on which square, by the height of each piece, or which cards lie open in which zone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.cards.reader import card_reader
from vision.detection.markers import Sighting
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.placing import Placed, Placer, faces_on_squares
from vision.pieces.regions import SquaresUnder
from vision.pose.pose import Pose
from vision.reading.look import Look, Memory, Pieces


def place(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Place all markers on the board."""
    kit, pose = look.kit, look.pose
    if kit is None or pose is None:
        return look, replace(memory, last=None)
    if memory.kit is not kit or (memory.squares is None and memory.cards is None):
        memory = _begin(kit, memory)
    if memory.cards is not None:
        cards = memory.cards.read(look.luma, pose, look.moving_px)
        return replace(look, cards=cards), replace(memory, last=None)
    memory = _at(kit, pose, memory)
    assert memory.placer is not None
    pieces = placed_pieces(memory.placer, look.sightings, memory.locator.unconfirmed)
    return replace(look, pieces=pieces, asked=_asked(look, memory, pieces.placed)), memory


def placed_pieces(placer: Placer, sightings: Iterable[Sighting], unconfirmed: frozenset[Square]) -> Pieces:
    """Return where pieces lie by these markers."""
    placed, strangers = placer.place(sightings)
    seen, markers, doubtful = faces_on_squares(placed, unconfirmed)
    return Pieces(tuple(placed), strangers, seen, markers, frozenset(doubtful))


def _begin(kit: Kit, memory: Memory) -> Memory:
    """Return the memory for another board."""
    squares = None if kit.deck else EmptySquares(kit.board)
    cards = card_reader(kit) if kit.deck else None
    return replace(memory, kit=kit, squares=squares, cards=cards, placer=None, under=None)


def _at(kit: Kit, pose: Pose, memory: Memory) -> Memory:
    """Return the memory with what is worked out once for each pose."""
    if memory.placer is not None and memory.placer.pose is pose:
        return memory
    return replace(memory, placer=Placer(kit, pose), under=SquaresUnder(kit, pose))


def _asked(look: Look, memory: Memory, placed: Iterable[Placed]) -> frozenset[Square]:
    """Return the squares to judge anew: all of them, or those about which the blocks that are due can tell."""
    before = look.before
    assert look.kit is not None
    assert memory.placer is not None
    if before is None or before.pieces is None or look.due is None or memory.under is None:
        return frozenset(look.kit.board.squares)
    paper, standing = memory.under.at(look.due)
    asked = paper | (standing - before.empty)
    for piece in before.pieces.placed:
        if id(piece.sighting) in look.gone:
            asked |= {square for square in piece.squares if square is not None}
    old = {id(piece) for piece in before.pieces.placed}
    come = [piece for piece in placed if id(piece) not in old]
    asked |= {square for piece in come for square in piece.squares if square is not None}
    if memory.resigned:
        # Of these a piece that was not there before may hide a part.
        asked |= memory.placer.beside(come, memory.resigned)
    return frozenset(asked)
