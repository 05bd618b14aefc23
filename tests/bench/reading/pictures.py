"""Single pictures: how completely and how truly the reader reads, beside OpenCV's detector.

A piece is *readable* when its marker and half a module of white round it lie in the picture with nothing in front, its
modules have `READABLE_MODULE_PX` along the shorter side, and no reflection of `READABLE_VEIL` lies on it: decided from
the geometry of the scene, whatever anybody reads. *Found* is the share of readable pieces, on the board and beside it,
whose id is told; *right* the share of those on the board that are put on their squares. *Wrong ids* are markers taken
for others, *phantoms* ids where no marker is, *wrong entries* squares of which something false is said: a face that is
not there, or (by the reader, who alone speaks of empty squares) "empty" where a piece lies.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.reading.ground_truth import Print
from bench.reading.peers import Peer, aruco, squares_found
from bench.reading.scenes import (
    CONDITIONS,
    READABLE_MODULE_PX,
    READABLE_VEIL,
    SCENES,
    SEVERITIES,
    Scene,
    default_kits,
    scene,
)
from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Reading
from vision.reading.board_reader import board_reader

READER = "reader"
BOUNDS = {
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
    "foreign lens": (0.97, 2),
}
"""By condition: at least so many of the readable pieces are right, and no entry is wrong, up to this severity."""
UNSURE = {"clean": 0.01, "shadow": 0.05}
"""By condition: so many of the bare squares may be left unsure, at most."""
_NEAR_PX = 4.0
"""A marker reported this near to where one is, or within 0.4 of its side, is meant to be that one."""


@dataclass
class Score:
    """What one method made of the scenes of one severity; `ms` a picture."""

    condition: str
    severity: int
    method: str
    readable: int = 0
    found: int = 0
    on_board: int = 0
    right: int = 0
    wrong_ids: int = 0
    phantoms: int = 0
    wrong_entries: int = 0
    bare: int = 0
    """Squares without a piece, of boards that were found; only the reader speaks of them."""
    unsure: int = 0
    """Those of them that were not told to be empty: most show nothing but paper, some are hidden by a hand."""
    ms: list[float] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Take another one's counts too."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ms += other.ms

    @property
    def found_share(self) -> float:
        """Of the readable pieces, those whose id was told; 1 when there was none to read."""
        return self.found / self.readable if self.readable else 1.0

    @property
    def right_share(self) -> float:
        """Of the readable pieces on the board, those on their squares; 1 when there was none."""
        return self.right / self.on_board if self.on_board else 1.0

    @property
    def false(self) -> int:
        """Ids that nobody should have told."""
        return self.wrong_ids + self.phantoms

    def plain(self) -> dict[str, object]:
        """For JSON, `ms` being the median."""
        return {**asdict(self), "ms": round(statistics.median(self.ms), 2)}


_COUNTS = (
    "readable",
    "found",
    "on_board",
    "right",
    "wrong_ids",
    "phantoms",
    "wrong_entries",
    "bare",
    "unsure",
)


@dataclass(frozen=True)
class Verdict:
    """One line of the judgement: what was asked for, and whether it holds."""

    what: str
    holds: bool
    told: str

    def sentence(self) -> str:
        """The line for people."""
        return f"{self.what:<44} {self.told}  {'ok' if self.holds else 'SHORT'}"


# ---- one picture -------------------------------------------------------------------------------------------------


def is_readable(print_: Print) -> bool:
    """Can a marker be asked for? See the top of this module."""
    whole = print_.shown >= 0.999
    return whole and print_.module_px >= READABLE_MODULE_PX and print_.veil < READABLE_VEIL


def tops_of(prints: Sequence[Print]) -> dict[Square, Print]:
    """What lies on top of each square."""
    return {square: print_ for print_ in prints for square in print_.squares}


def judge_reading(reading: Reading, prints: Sequence[Print], kit: Kit, tally: Score) -> list[str]:
    """Count what the reader said of one picture; answers sentences on everything that is not as it should be."""
    tops = tops_of(prints)
    beside = Counter(reading.beside)
    faults = []
    for print_ in (p for p in prints if p.face is not None and is_readable(p)):
        tally.readable += 1
        if not print_.squares:
            told = beside[print_.face or ""] > 0
            beside[print_.face or ""] -= 1
            tally.found += told
        else:
            told = print_.marker in reading.markers.values()
            tally.found += told
            tally.on_board += 1
            right = all(reading.markers.get(square) == print_.marker for square in print_.squares)
            tally.right += right
            if not right:
                faults.append(
                    f"{print_.squares[0]}: {print_.face} ({print_.module_px:.1f} px a module) not read"
                )
        if not told:
            faults.append(f"{print_.face} beside the board not read" if not print_.squares else "")
    for square, marker in reading.markers.items():
        if square not in tops:
            tally.phantoms += 1
        elif tops[square].marker != marker:
            tally.wrong_ids += 1
    tally.phantoms += len(set(reading.strangers) - {print_.marker for print_ in prints})
    bare = set(kit.board.squares) - kit.board.holes - set(tops) if reading.game else set()
    tally.bare += len(bare)
    tally.unsure += len(bare & reading.unknown)
    wrong = wrong_entries(reading, prints, kit)
    tally.wrong_entries += len(wrong)
    return [fault for fault in (*faults, *wrong) if fault]


def wrong_entries(reading: Reading, prints: Sequence[Print], kit: Kit) -> list[str]:
    """A sentence for each square of which a reading says something false."""
    if reading.game is None:
        return []
    tops, found = tops_of(prints), []
    if reading.game != kit.game:
        found.append(f"the board of {reading.game} instead of {kit.game}")
    for square in kit.board.squares:
        told, real = reading.seen.get(square), tops.get(square)
        if told is not None and (real is None or real.face != told):
            found.append(f"{square}: WRONG, {told} instead of {real.face if real else 'nothing'}")
        elif told is None and real is not None and square not in reading.unknown:
            found.append(f"{square}: WRONG, empty instead of {real.face}")
    return found


def judge_peer(
    peer: Peer, luma: NDArray[np.uint8], prints: Sequence[Print], kit: Kit, tally: Score
) -> None:
    """Let a detector read one picture and count what it said."""
    began_s = time.process_time()
    sightings = peer.find(luma)
    tally.ms.append((time.process_time() - began_s) * 1000)
    found: set[int] = set()
    for sighting in sightings:
        near = [p for p in prints if _is_near(p, sighting.centre_px)]
        if any(p.marker == sighting.marker for p in near):
            found.add(sighting.marker)
        elif near:
            tally.wrong_ids += 1
        else:
            tally.phantoms += 1
    places = squares_found(kit, sightings, prints)
    for print_ in (p for p in prints if p.face is not None and is_readable(p)):
        tally.readable += 1
        tally.found += print_.marker in found
        if print_.squares:
            tally.on_board += 1
            tally.right += print_.marker in found and set(places.get(print_.marker, ())) == set(
                print_.squares
            )
    tops = tops_of(prints)
    for marker, squares in places.items():
        tally.wrong_entries += sum(
            square not in tops or tops[square].marker != marker for square in squares
        )


def _is_near(print_: Print, centre_px: NDArray[np.float64]) -> bool:
    reach = max(_NEAR_PX, 0.4 * 7 * print_.module_px)
    return bool(np.abs(print_.corners_px.mean(axis=0) - centre_px).max() < reach)


def read_scene(
    wanted: Scene, peer: Peer | None, keep: Path | None
) -> tuple[list[Score], list[str]]:
    """Let the reader and the peer read one scene; answers the counts, and what the reader did not read or read wrongly."""
    condition, severity, _ = wanted.name.rsplit("-", 2)
    tallies, faults = [], list[str]()
    luma, prints = wanted.picture()
    reader = board_reader({**default_kits(), wanted.kit.game: wanted.kit})
    tally = Score(condition, int(severity), READER)
    began_s = time.process_time()
    reading = reader.read_picture(luma)
    tally.ms.append((time.process_time() - began_s) * 1000)
    faults = judge_reading(reading, prints, wanted.kit, tally)
    tallies.append(tally)
    if peer is not None:
        tally = Score(condition, int(severity), peer.name)
        judge_peer(peer, luma, prints, wanted.kit, tally)
        tallies.append(tally)
    if keep is not None and faults:
        keep_picture(keep, wanted, (luma, prints), reading, faults)
    return tallies, faults


def keep_picture(
    folder: Path,
    kept: Scene,
    picture: tuple[NDArray[np.uint8], Sequence[Print]],
    reading: Reading,
    faults: list[str],
) -> None:
    """The picture and its truth, for who looks why it was not read."""
    luma, prints = picture
    folder.mkdir(parents=True, exist_ok=True)
    name = kept.name.replace(" ", "_")
    cv2.imwrite(str(folder / f"{name}.png"), luma)
    truth: dict[str, Any] = {
        "scene": kept.name,
        "game": kept.kit.game,
        "view": {key: value for key, value in asdict(kept.view).items() if value is not None},
        "faults": faults,
        "prints": [
            {
                "marker": p.marker,
                "face": p.face,
                "squares": [str(square) for square in p.squares],
                "corners_px": p.corners_px.round(1).tolist(),
                "shown": round(p.shown, 3),
                "module_px": round(p.module_px, 2),
                "readable": is_readable(p),
            }
            for p in prints
        ],
        "seen": {str(square): face for square, face in reading.seen.items()},
        "unknown": sorted(map(str, reading.unknown)),
    }
    (folder / f"{name}.json").write_text(
        json.dumps(truth, indent=1, ensure_ascii=False), encoding="utf-8"
    )


# ---- all pictures ------------------------------------------------------------------------------------------------


def bench_pictures(
    number: int = SCENES,
    only: str = "",
    keep: Path | None = None,
    say: Callable[[str], None] = print,
    severities: Sequence[int] = SEVERITIES,
) -> tuple[list[Score], list[Verdict]]:
    """Read so many scenes of every condition and severity; `only` takes those whose name begins so.

    Answers the counts by condition, severity and method, and the judgement by condition. `say` is told each line.
    """
    peer = aruco()
    methods = [READER, peer.name]
    say(_head(methods))
    everything, verdicts = list[Score](), list[Verdict]()
    for condition in CONDITIONS:
        rows = list[Score]()
        for severity in severities:
            cell = {method: Score(condition, severity, method) for method in methods}
            for wanted in _wanted(condition, severity, number, only):
                tallies, faults = read_scene(wanted, peer, keep)
                for tally in tallies:
                    cell[tally.method].add(tally)
                if faults and condition in BOUNDS and severity <= BOUNDS[condition][1]:
                    say(f"    {wanted.name} ({wanted.kit.game}): {'; '.join(faults)}")
            if cell[READER].ms:
                rows += cell.values()
                say(_row(f"{condition} {severity}", list(cell.values())))
        if rows:
            verdicts += judged(condition, rows)
            everything += rows
    return everything, verdicts


def _wanted(condition: str, severity: int, number: int, only: str) -> Iterator[Scene]:
    names = (f"{condition}-{severity}-{index + 1}" for index in range(number))
    return (scene(name) for name in names if name.startswith(only))


def judged(condition: str, rows: Sequence[Score]) -> Iterator[Verdict]:
    """What is asked of the reader in one condition: the bound where there is one, and never to be worse than a peer."""
    if condition in BOUNDS:
        least, severest = BOUNDS[condition]
        own = _sum(row for row in rows if row.method == READER and row.severity <= severest)
        what = (
            condition
            if severest == max(SEVERITIES)
            else f"{condition}, severity {severest} and less"
        )
        told = (
            f"{own.right} of {own.on_board} right ({own.right_share:.2%}, at least {least:.1%}), "
        )
        told += f"{own.wrong_entries} wrong entries (none allowed); "
        unsure, most = own.unsure / max(1, own.bare), UNSURE.get(condition, 1.0)
        told += f"{unsure:.1%} of the bare squares unsure" + (
            f" (at most {most:.0%})" if most < 1 else ""
        )
        holds = own.right_share >= least and not own.wrong_entries and unsure <= most
        yield Verdict(what, holds, told)
    methods = dict.fromkeys(row.method for row in rows)
    sums = {method: _sum(row for row in rows if row.method == method) for method in methods}
    own = sums.pop(READER)
    if sums:
        found, right = (
            max(s.found_share for s in sums.values()),
            max(s.right_share for s in sums.values()),
        )
        false = min(s.false for s in sums.values())
        told = f"found {own.found_share:.2%} (best peer {found:.2%}), right {own.right_share:.2%} ({right:.2%}), "
        told += f"false ids {own.false} ({false})"
        holds = own.found_share >= found and own.right_share >= right and own.false <= false
        yield Verdict(f"{condition}, beside the best peer", holds, told)


def _sum(rows: Iterable[Score]) -> Score:
    total = Score("", 0, "")
    for row in rows:
        total.add(row)
    return total


def _head(methods: Sequence[str]) -> str:
    told = "".join(f" | {method + ':  found  right  w ph en   cost':>36}" for method in methods)
    return f"{'':<14} pieces{told}"


def _row(name: str, cell: Sequence[Score]) -> str:
    """One severity of a condition, all methods side by side; cost as a multiple of OpenCV's defaults."""
    unit = next((statistics.median(tally.ms) for tally in cell if tally.method == "ArUco"), 1.0)
    told = "".join(
        f" | {t.found_share:8.1%} {t.right_share:6.1%} {t.wrong_ids:2} {t.phantoms:2} {t.wrong_entries:2} "
        f"{statistics.median(t.ms):4.0f} ms {statistics.median(t.ms) / unit:3.1f} x"
        for t in cell
    )
    return f"{name:<14} {cell[0].readable:6}{told}"
