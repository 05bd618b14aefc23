"""Games: hands that move, put, take, turn over, capture and rest, and what settles when.

A hand comes over a square, does something there and goes. The picture in which it is gone for the first time is the
last that moved; those after it are *quiet*. Nothing more happens for two quiet pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.reading.ground_truth import prints_of
from bench.reading.pictures import Verdict, is_readable, keep_picture, tops_of, wrong_entries
from bench.reading.scenery import changed_view
from bench.reading.scenes import (
    CONDITIONS,
    Scene,
    default_kits,
    kits,
    layout_of,
    nudge_of,
    ordinary_view,
)
from bench.reading.sensors import Room, Sensor
from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Frame, Reading
from companion.printing.printed_kit import printed_table
from vision.reading.board_reader import board_reader
from vision.simulation.view import View

GAMES_PLAYED = 15
ROUGH = ("jpeg", "mixed")
"""Games before a camera that encodes every frame anew, with its own noise and the lamps of that moment."""
ROUGH_GAMES = 10
"""Games of each of these kinds."""
KINDS = ("start", "move", "put", "take", "capture", "flip", "rest", "bump", "lamp")
QUIET_AT = {"take": 2}
"""A board has to be settled in the first quiet picture; after a piece was taken away in the second one."""
LEAST_RIGHT, LEAST_SETTLED = 0.995, 0.99
LEAST_SETTLED_ROUGH = 0.95
_JPEG_3 = 25
"""The quality of `jpeg`, severity 3."""
_QUIET = 2
_FRAME_S = 0.2
_TROUBLE: tuple[dict[str, Any], ...] = (
    {},
    {"light": 0.35, "noise": 4.0},
    {"tilt_deg": 44.0},
    {"defocus_px": 1.2},
    {"jpeg_quality": 45, "noise": 2.0},
    {"blind": (30.0, 18.0, 0.4)},
    {"cast_bgr": (0.5, 0.8, 1.05), "vignette": 0.4},
    {"wear": 0.5, "curl_mm": 1.5},
    {"flicker": 0.04, "spots": 8},
)


@dataclass
class GameTally:
    """What was made of all games."""

    games: int = 0
    frames: int = 0
    pieces: int = 0
    right: int = 0
    boards: int = 0
    settled: int = 0
    wrong: int = 0
    lags: Counter[str] = field(default_factory=Counter)
    """How often a board was settled right in the first, second… quiet picture, or `never`, by kind of event."""

    @property
    def right_share(self) -> float:
        """Of the pieces that were readable in any picture, those that were on their squares."""
        return self.right / max(1, self.pieces)

    @property
    def settled_share(self) -> float:
        """Of the boards that hands left, those settled right in time."""
        return self.settled / max(1, self.boards)

    def rough_verdicts(self, kind: str) -> list[Verdict]:
        """The judgement of games before a rough camera of this kind."""
        settled = f"{self.settled} of {self.boards} in time ({self.settled_share:.2%}, "
        settled += f"at least {LEAST_SETTLED_ROUGH:.0%})"
        return [
            Verdict(
                f"rough games, {kind}: boards settled right",
                self.settled_share >= LEAST_SETTLED_ROUGH,
                settled,
            ),
            Verdict(
                f"rough games, {kind}: wrong layouts accepted",
                not self.wrong,
                f"{self.wrong} (none allowed)",
            ),
        ]

    def verdicts(self) -> list[Verdict]:
        """The judgement."""
        right = f"{self.right} of {self.pieces} right ({self.right_share:.2%}, at least {LEAST_RIGHT:.1%})"
        settled = f"{self.settled} of {self.boards} in time ({self.settled_share:.2%}, at least {LEAST_SETTLED:.0%})"
        return [
            Verdict("games, pieces in all pictures", self.right_share >= LEAST_RIGHT, right),
            Verdict("games, boards settled right", self.settled_share >= LEAST_SETTLED, settled),
            Verdict(
                "games, wrong layouts accepted", not self.wrong, f"{self.wrong} (none allowed)"
            ),
        ]

    def plain(self) -> dict[str, object]:
        """For JSON."""
        names = ("games", "frames", "pieces", "right", "boards", "settled", "wrong")
        return {
            **{name: getattr(self, name) for name in names},
            "lags": dict(sorted(self.lags.items())),
        }


class Played:
    """One game: a table, the reader that looks at it, and what it has told; `rough` is one of `ROUGH`."""

    def __init__(
        self,
        number: int,
        tally: GameTally,
        keep: Path | None,
        say: Callable[[str], None],
        rough: str = "",
    ) -> None:
        self.name, self._tally, self._keep, self._say = (
            f"{rough} game {number + 1}".strip(),
            tally,
            keep,
            say,
        )
        self._rng = Random(f"{rough}game-{number}")
        self._kit = kits()[number % len(kits())]
        trouble: Mapping[str, Any] = {} if rough else _TROUBLE[number % len(_TROUBLE)]
        view = changed_view(ordinary_view(self._rng), trouble)
        self._sensor: Sensor | None = None
        if rough:
            view, room = _rough_view(rough, number, self._kit, view, self._rng)
            self._sensor = Sensor(room, number)
        self.table = printed_table(self._kit, view)
        self.table.set_up(layout_of(self._kit, self._rng, 0.4, 0.7))
        self._reader = board_reader({**default_kits(), self._kit.game: self._kit})
        self._frames = 0
        self._touched: set[Square] = set()

    def play(self) -> None:
        """Some 35 pictures: the board as it lies, then one event of each kind in some order, and one more move."""
        self._tally.games += 1
        self._settle("start")
        events = [
            self._move,
            self._put,
            self._take,
            self._capture,
            self._flip,
            self._rest,
            self._bump,
            self._lamp,
        ]
        events.append(self._move)
        self._rng.shuffle(events)
        for event in events:
            self._touched = set()
            kind = event()
            if kind:
                self._settle(kind)

    # ---- events: each answers its kind, or nothing where this kit has no such thing ----

    def _move(self) -> str:
        piece, square = self._a_piece(on_board=True)
        target = self._free_square()
        if piece is None or target is None:
            return ""
        self._hand_over(square)
        self._lay(piece, target)
        self._hand_over(target)
        self._touched = {square, target} if square else {target}
        return "move"

    def _put(self) -> str:
        piece, _ = self._a_piece(on_board=False)
        target = self._free_square()
        if piece is None or target is None:
            return ""
        self._lay(piece, target)
        self._hand_over(target)
        self._touched = {target}
        return "put"

    def _take(self) -> str:
        piece, square = self._a_piece(on_board=True)
        if piece is None or square is None:
            return ""
        self.table.take_off(piece)
        self._hand_over(square)
        self._touched = {square}
        return "take"

    def _capture(self) -> str:
        """A piece goes away and another one comes into its place, all by one hand."""
        taken, target = self._a_piece(on_board=True)
        piece, square = self._a_piece(on_board=True)
        if taken is None or piece is None or target is None or square is None or piece == taken:
            return ""
        self.table.take_off(taken)
        self._hand_over(target)
        self._lay(piece, target)
        self._hand_over(square)
        self._touched = {square, target}
        return "capture"

    def _flip(self) -> str:
        piece, square = self._a_piece(on_board=True, two_faced=True)
        if piece is None or square is None:
            return ""
        self.table.flip(piece)
        self._hand_over(square)
        self._touched = {square}
        return "flip"

    def _rest(self) -> str:
        square = self._rng.choice(self._kit.board.squares)
        for _ in range(4):
            self._hand_over(square)
        return "rest"

    def _bump(self) -> str:
        view = self.table.view
        shift = self._rng.uniform(-8, 8), self._rng.uniform(-8, 8)
        turned = view.board_turn_deg + self._rng.uniform(-2, 2)
        self.table.look(replace(view, shift_mm=shift, board_turn_deg=turned))
        return "bump"

    def _lamp(self) -> str:
        """Somebody makes more or less light."""
        self.table.hold_view(light=self.table.view.light * self._rng.choice((0.7, 1.25)))
        return "lamp"

    def _lay(self, piece: int, target: Square) -> None:
        """Put a piece down, not quite in the middle and not quite straight."""
        self.table.move_to(piece, target)
        face = next(lying.face for lying in self.table.pieces() if lying.id == piece)
        x_mm, y_mm, turn_deg = nudge_of(self._kit, face, self._rng)
        self.table.nudge(piece, x_mm, y_mm)
        self.table.turn(piece, turn_deg)

    def _hand_over(self, square: Square | None) -> None:
        self.table.hold_hand(square)
        self._see()

    def _a_piece(
        self, *, on_board: bool, two_faced: bool = False
    ) -> tuple[int | None, Square | None]:
        """A piece of a single square."""
        turning = {names[0] for names in self._kit.pieces if len(names) > 1}
        found = [
            (piece.id, piece.square)
            for piece in self.table.pieces()
            if (piece.square is not None) is on_board
            and self._kit.face(piece.face).size == (1, 1)
            and (not two_faced or self._kit.kind(piece.face) in turning)
        ]
        return self._rng.choice(found) if found else (None, None)

    def _free_square(self) -> Square | None:
        taken = {
            square for print_ in prints_of(self.table) for square in print_.squares
        } | self._kit.board.holes
        return self._rng.choice(
            [square for square in self._kit.board.squares if square not in taken] or [None]
        )

    # ---- judging ----

    def _settle(self, kind: str) -> None:
        """The hand goes; is the board settled right in the first quiet pictures, and when?"""
        self.table.hold_hand(None)
        self._see()
        lag = 0
        for number in range(1, _QUIET + 1):
            reading = self._see()
            if not lag and self._is_right(reading):
                lag = number
        late = not 0 < lag <= QUIET_AT.get(kind, 2 if kind == "start" else 1)
        self._tally.boards += 1
        self._tally.settled += not late
        self._tally.lags[f"{kind} {lag or 'never'}"] += 1
        if late:
            self._tell(kind, f"settled {lag or 'never'}; {self._missing(reading)}")

    def _see(self) -> Reading:
        """Take a picture, read it, and judge what is said of the pieces that show."""
        self._frames += 1
        luma = self.table.render_luma()
        luma = self._sensor.frame(luma) if self._sensor else luma
        frame = Frame(luma, self._frames * _FRAME_S, self._frames)
        reading = self._reader.read(frame)
        prints = prints_of(self.table)
        self._last = frame, reading, prints
        self._tally.frames += 1
        for print_ in prints:
            if print_.squares and is_readable(print_):
                self._tally.pieces += 1
                self._tally.right += all(
                    reading.seen.get(square) == print_.face for square in print_.squares
                )
        faults = wrong_entries(reading, prints, self._kit) if reading.quiet else []
        self._tally.wrong += bool(faults)
        if faults:
            self._tell("quiet", "; ".join(faults))
        return reading

    def _tell(self, what: str, fault: str) -> None:
        """Say what went wrong in the last picture, and keep it."""
        self._say(f"    {self.name} ({self._kit.game}), picture {self._frames}, {what}: {fault}")
        if self._keep is not None:
            frame, reading, prints = self._last
            kept = Scene(f"{self.name}-{self._frames}", self._kit, {}, self.table.view)
            keep_picture(self._keep, kept, (frame.luma, prints), reading, [f"{what}: {fault}"])

    def _is_right(self, reading: Reading) -> bool:
        return reading.quiet and not self._missing(reading)

    def _missing(self, reading: Reading) -> str:
        """What of the layout is not told as it is: readable pieces, and the squares that were touched."""
        prints = prints_of(self.table)
        tops = tops_of(prints)
        wanted = {square: p.face for square, p in tops.items() if is_readable(p)}
        strange = {
            square
            for square, face in reading.seen.items()
            if square not in tops or tops[square].face != face
        }
        missing = {
            square for square, face in wanted.items() if reading.seen.get(square) != face
        } | strange
        missing |= self._touched & reading.unknown
        told = ", ".join(map(str, sorted(missing)))
        return f"not right: {told}" if missing else ("" if reading.quiet else "not quiet")


def _rough_view(rough: str, number: int, kit: Kit, view: View, rng: Random) -> tuple[View, Room]:
    """What stays the same from frame to frame, and what does not; `mixed` in all of its severities."""
    if rough == "jpeg":
        return replace(view, noise=0.0), Room(noise=rng.uniform(1.0, 4.0), quality=_JPEG_3)
    view = changed_view(view, CONDITIONS[rough](1 + number % 4, kit, rng))
    room = Room(
        noise=view.noise,
        quality=view.jpeg_quality,
        flicker=rng.uniform(0, 0.05),
        bands=view.flicker,
        beat=rng.uniform(0.02, 0.98),
        jitter=0.01,
    )
    return replace(view, noise=0.0, jpeg_quality=None, flicker=0.0), room


def bench_games(
    number: int = GAMES_PLAYED,
    keep: Path | None = None,
    say: Callable[[str], None] = print,
    rough: str = "",
) -> GameTally:
    """Play so many games in front of the reader, of this of the `ROUGH` kinds; `say` is told what goes wrong, `keep` a
    folder for these pictures."""
    tally = GameTally()
    for index in range(number):
        Played(index, tally, keep, say, rough).play()
    lags = ", ".join(f"{what} {times}" for what, times in sorted(tally.lags.items()))
    say(f"{tally.games} games, {tally.frames} pictures; settled in quiet picture: {lags}")
    return tally
