"""Single pictures: how completely and how truly the reader reads.

A piece is *readable* when its marker and half a module of white round it lie in the picture with nothing in front, its
modules have `READABLE_MODULE_PX` along the shorter side, and no reflection of `READABLE_VEIL` lies on it: decided from
the geometry of the scene, whatever anybody reads. *Found* is the share of readable pieces, on the board and beside it,
whose id is told; *right* the share of those on the board that are put on their squares. *Wrong entries* are squares of
which something false is said: a face that is not there, or "empty" where a piece lies.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.reading.ground_truth import Print
from bench.reading.scenes import (
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
}
"""By condition: at least so many of the readable pieces are right, and no entry is wrong, up to this severity."""
UNSURE = {"clean": 0.01, "shadow": 0.05}
"""By condition: so many of the bare squares may be left unsure, at most."""


@dataclass
class Score:
    """What the reader made of the scenes of one severity, or of one condition."""

    readable: int = 0
    found: int = 0
    on_board: int = 0
    right: int = 0
    wrong_entries: int = 0
    bare: int = 0
    """Squares without a piece, of boards that were found."""
    unsure: int = 0
    """Those of them that were not told to be empty: most show nothing but paper, some are hidden by a hand."""
    ms: float = 0.0

    def add(self, other: Score) -> None:
        """Take another one's counts too."""
        for name, count in asdict(other).items():
            setattr(self, name, getattr(self, name) + count)

    @property
    def right_share(self) -> float:
        """Of the readable pieces on the board, those on their squares; 1 when there was none."""
        return self.right / self.on_board if self.on_board else 1.0


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


def read_scene(wanted: Scene, keep: Path | None) -> tuple[Score, list[str]]:
    """Let the reader read one scene; answers the counts, and what it did not read or read wrongly."""
    luma, prints = wanted.picture()
    reader = board_reader({**default_kits(), wanted.kit.game: wanted.kit})
    tally = Score()
    began_s = time.process_time()
    reading = reader.read_picture(luma)
    tally.ms = (time.process_time() - began_s) * 1000
    faults = judge_reading(reading, prints, wanted.kit, tally)
    if keep is not None and faults:
        keep_picture(keep, wanted, (luma, prints), reading, faults)
    return tally, faults


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
) -> tuple[dict[str, Score], list[Verdict]]:
    """Read so many scenes of every condition, up to the severity that has a bar.

    `only` takes scenes whose name begins so; `say` is told each line. Answers the counts and the judgement by condition.
    """
    say(f"{'':<14} pieces   found  right  wrong  a picture")
    scores, verdicts = dict[str, Score](), list[Verdict]()
    for condition, (_, severest) in BOUNDS.items():
        total = Score()
        for severity in (each for each in severities if each <= severest):
            cell, pictures = Score(), 0
            for wanted in _wanted(condition, severity, number, only):
                tally, faults = read_scene(wanted, keep)
                cell.add(tally)
                pictures += 1
                if faults:
                    say(f"    {wanted.name} ({wanted.kit.game}): {'; '.join(faults)}")
            if pictures:
                total.add(cell)
                found = cell.found / max(1, cell.readable)
                say(
                    f"{condition + ' ' + str(severity):<14} {cell.readable:6} {found:7.1%} "
                    f"{cell.right_share:6.1%} {cell.wrong_entries:6} {cell.ms / pictures:7.0f} ms"
                )
        if total.ms:
            scores[condition] = total
            verdicts.append(judged(condition, total))
    return scores, verdicts


def _wanted(condition: str, severity: int, number: int, only: str) -> Iterator[Scene]:
    names = (f"{condition}-{severity}-{index + 1}" for index in range(number))
    return (scene(name) for name in names if name.startswith(only))


def judged(condition: str, score: Score) -> Verdict:
    """Return what is asked of the reader in one condition, and whether it holds."""
    least, severest = BOUNDS[condition]
    what = (
        condition if severest == max(SEVERITIES) else f"{condition}, severity {severest} and less"
    )
    unsure, most = score.unsure / max(1, score.bare), UNSURE.get(condition, 1.0)
    told = (
        f"{score.right} of {score.on_board} right ({score.right_share:.2%}, at least {least:.1%}), "
        f"{score.wrong_entries} wrong entries (none allowed); {unsure:.1%} of the bare squares unsure"
        + (f" (at most {most:.0%})" if most < 1 else "")
    )
    holds = score.right_share >= least and not score.wrong_entries and unsure <= most
    return Verdict(what, holds, told)
