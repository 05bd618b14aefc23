"""Measure how completely and how correctly single pictures are read.

A piece is *readable* if nothing covers its marker and half a module of white around it, if they are
in the picture, if a module is at least `READABLE_MODULE_PX` wide along the shortest side, and if
reflections on the marker are weaker than `READABLE_VEIL`. All of that depends on the scene alone,
not on the reader.

A piece is read *right* if the reader reports its marker on all of its squares. A square is *wrong*
if the reader reports a face that is not there, or an empty square where a piece lies. A square of
which the reader is *unsure* is neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.reading.ground_truth import Print
from bench.reading.scenes import (
    READABLE_MODULE_PX,
    READABLE_VEIL,
    SCENES_EACH,
    SEVERITIES,
    default_kits,
    make_scene,
)
from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Reading
from vision.reading.board_reader import make_board_reader

# For each condition: the least share of the readable pieces that are right, and the highest
# severity that is measured. No square may be wrong.
BARS = {
    "clean": (0.995, 4),
    "defocus": (0.995, 2),
    "motion": (0.995, 2),
    "low light": (0.995, 4),
    "shadow": (0.995, 4),
    "jpeg": (0.995, 4),
    "colour cast": (0.995, 4),
    "small": (0.995, 2),
    "tilt": (0.995, 3),
    "glare": (0.97, 4),
    "hand": (0.97, 4),
    "worn": (0.97, 2),
    "mixed": (0.97, 4),
    "half": (0.97, 4),
}
# For each condition: the largest share of the bare squares that may be left unsure.
MAX_UNSURE = {"clean": 0.01, "shadow": 0.05}
QUICK_SEVERITIES = (2, 4)


def print_verdict(name: str, is_kept: bool, figures: str) -> bool:
    """Print a name, its figures, and whether the bar is kept. Return `is_kept`."""
    print(f"{name:<44} {figures}  {'ok' if is_kept else 'SHORT'}", flush=True)
    return is_kept


@dataclass
class Tally:
    """Counts of what the reader has read rightly and wrongly in some pictures."""

    name: str = ""
    pictures: int = 0
    found: int = 0
    """Number of pictures in which a board was found."""
    pieces: int = 0
    """Number of readable pieces on boards."""
    right: int = 0
    """Number of readable pieces that were read right."""
    bare: int = 0
    """Number of squares without a piece, on boards that were found."""
    unsure: int = 0
    """Number of bare squares of which the reader was unsure, as when a hand hides them."""
    wrong: list[str] = field(default_factory=list)
    """A sentence for each wrong square."""

    def add(self, reading: Reading, prints: Sequence[Print], kit: Kit) -> None:
        """Count what a reading says of a picture with these prints."""
        self.pictures += 1
        tops = tops_of(prints)
        for print_ in [p for p in prints if p.squares and is_readable(p)]:
            reported = {reading.markers.get(square) for square in print_.squares}
            self.pieces += 1
            self.right += reported == {print_.marker}
        if reading.game is not None:
            self.found += 1
            bare = set(kit.board.squares) - kit.board.holes - set(tops)
            self.bare += len(bare)
            self.unsure += len(bare & reading.unknown)
        self.wrong += wrong_entries(reading, prints, kit)

    def judge(self, min_right: float, max_unsure: float = 1.0) -> bool:
        """Print the figures.

        Return whether no square is wrong and both shares are within bounds.
        """
        for fault in self.wrong:
            print(f"    {self.name}: {fault}")
        right_share = self.right / max(1, self.pieces)
        unsure_share = self.unsure / max(1, self.bare)
        figures = (
            f"{self.right} of {self.pieces} right ({right_share:.2%}, at least {min_right:.1%}), "
            f"{len(self.wrong)} wrong entries (none allowed), "
            f"{self.found} of {self.pictures} boards found, "
            f"{unsure_share:.1%} of the bare squares unsure (at most {max_unsure:.0%})"
        )
        is_kept = right_share >= min_right and not self.wrong and unsure_share <= max_unsure
        return print_verdict(self.name, is_kept, figures)


def is_readable(print_: Print) -> bool:
    """Return whether a marker is readable, as this module's docstring says."""
    is_whole = print_.visible_share >= 0.999
    return is_whole and print_.module_px >= READABLE_MODULE_PX and print_.veil < READABLE_VEIL


def tops_of(prints: Sequence[Print]) -> dict[Square, Print]:
    """Return the print of the top piece on each square.

    Later prints replace earlier ones, because they lie above them.
    """
    return {square: print_ for print_ in prints for square in print_.squares}


def wrong_entries(reading: Reading, prints: Sequence[Print], kit: Kit) -> list[str]:
    """Return a sentence for each square of which a reading says something false."""
    if reading.game is None:
        return []
    tops, faults = tops_of(prints), []
    if reading.game != kit.game:
        faults.append(f"the board of {reading.game} instead of {kit.game}")
    for square in kit.board.squares:
        reported, top = reading.seen.get(square), tops.get(square)
        actual = top.face if top else None
        if reported is not None and reported != actual:
            faults.append(f"{square}: WRONG, {reported} instead of {actual or 'nothing'}")
        elif reported is None and actual is not None and square not in reading.unknown:
            faults.append(f"{square}: WRONG, empty instead of {actual}")
    return faults


def bench_pictures(only: str, quick: bool) -> bool:
    """Read the scenes whose names begin with `only`, up to the highest severity that has a bar.

    Return whether every bar is kept.
    """
    good = True
    scenes_each, severities = (1, QUICK_SEVERITIES) if quick else (SCENES_EACH, SEVERITIES)
    for condition, (min_right, max_severity) in BARS.items():
        names = (
            f"{condition}-{severity}-{index + 1}"
            for severity in severities
            for index in range(scenes_each)
            if severity <= max_severity
        )
        tally = Tally(condition)
        for scene in (make_scene(name) for name in names if name.startswith(only)):
            luma, prints = scene.picture()
            reader = make_board_reader({**default_kits(), scene.kit.game: scene.kit})
            tally.add(reader.read_picture(luma), prints, scene.kit)
        if tally.pictures:
            good &= tally.judge(min_right, MAX_UNSURE.get(condition, 1.0))
    return good
