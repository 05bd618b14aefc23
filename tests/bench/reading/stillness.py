"""Measure whether the reader notices that nothing moves on a table, and when something does.

A table lies still in front of a camera in a realistic room (`bench.reading.sensors`). After the
first `LEARNING_FRAMES` every frame has to be quiet, with the board found and nothing read wrongly.
Then a piece is pushed by half a square, one is turned in place, and a hand comes in. The reader has
to notice each within `NOTICE_FRAMES`, as movement or as a change. The boards of all games, each in
two sizes of pictures, are spread evenly over the range of each condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from bench.reading.ground_truth import prints_of
from bench.reading.pictures import print_verdict, wrong_entries
from bench.reading.scenes import default_kits, ordinary_view, random_layout
from bench.reading.sensors import RANGES, Room, Sensor
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.core.ports import Frame, Reading
from companion.printing.printed_kit import printed_table
from vision.detection.markers import Luma
from vision.reading.board_reader import make_board_reader

SIZES = (1280, 720), (1920, 1080)
LEARNING_FRAMES, STILL_FRAMES, NOTICE_FRAMES = 20, 60, 3
# Least share of the still frames that are quiet.
MIN_QUIET = 0.98
EVENTS = ("push", "turn", "hand")
# Number of frames between two events.
_SETTLING_FRAMES = 12
_FRAME_S = 0.2


@dataclass(frozen=True)
class StillCase:
    """A table, the size of the camera's pictures, and the room."""

    name: str
    kit: Kit
    size: tuple[int, int]
    room: Room


def cases(condition: str, sizes: Sequence[tuple[int, int]]) -> list[StillCase]:
    """Return every board in every size, with severities spread evenly over the range."""
    rng = Random(f"still-{condition}")
    boards = [(kit, size) for size in sizes for kit in default_kits().values()]
    ranks = list(range(len(boards)))
    rng.shuffle(ranks)
    result = []
    for (kit, size), rank in zip(boards, ranks, strict=True):
        room = RANGES[condition]((rank + rng.random()) / len(boards), rng)
        result.append(StillCase(f"still-{condition}-{kit.game}-{size[1]}", kit, size, room))
    return result


class StillTable:
    """The table of a case, the camera above it, and the reader."""

    def __init__(self, case: StillCase) -> None:
        self.case, self._rng = case, Random(case.name)
        view = replace(
            ordinary_view(self._rng), width=case.size[0], height=case.size[1], noise=0.0, light=1.0
        )
        self.table = printed_table(case.kit, view)
        lay = fans_of if case.kit.deck else random_layout
        self.table.set_up(lay(case.kit, self._rng))
        self._sensor = Sensor(case.room, self._rng.randrange(1000))
        self.reader = make_board_reader(default_kits())
        self._clean: Luma | None = None
        self._frames = 0

    def read_next_frame(self) -> Reading:
        """Take the next frame and read it."""
        if self._clean is None:
            self._clean = self.table.render_luma()
        self._frames += 1
        return self.reader.read(
            Frame(self._sensor.frame(self._clean), self._frames * _FRAME_S, self._frames)
        )

    def faults_of(self, reading: Reading) -> list[str]:
        """Return a sentence for each square or zone that is read wrongly."""
        if self.case.kit.deck is None:
            return wrong_entries(reading, prints_of(self.table), self.case.kit)
        lying: dict[Square, tuple[str, ...]] = {}
        for piece in self.table.pieces():
            if piece.square is not None:
                lying[piece.square] = (*lying.get(piece.square, ()), piece.face)
        fans = reading.fans.items()
        return [f"{zone}: WRONG, {fan}" for zone, fan in fans if fan != lying.get(zone, ())]

    def cause(self, event: str) -> None:
        """Push a piece by half a square, turn one, or hold a hand over the board."""
        lying = [piece for piece in self.table.pieces() if piece.square is not None]
        board = self.case.kit.board
        piece = self._rng.choice([lying[-1]] if self.case.kit.deck else lying)
        if event == "push":
            shift_mm = self._rng.choice((-1, 1)) * board.pitch_mm / 2
            self.table.nudge(piece.id, *self._rng.choice(((shift_mm, 0.0), (0.0, shift_mm))))
        elif event == "turn":
            self.table.turn(
                piece.id, piece.turn_deg + self._rng.choice((-1, 1)) * self._rng.uniform(40, 90)
            )
        else:
            self.table.hold_hand(self._rng.choice(board.squares))
        self._clean = None


def fans_of(kit: Kit, rng: Random) -> Layout:
    """Return fans of some cards in half of the zones."""
    assert kit.deck is not None
    cards = [card.name for card in kit.deck.cards]
    rng.shuffle(cards)
    zones = [square for square in kit.board.squares if square.rank in kit.deck.zones.values()]
    chosen = rng.sample(zones, len(zones) // 2)
    return {zone: tuple(cards.pop() for _ in range(rng.randint(1, 4))) for zone in chosen}


def bench_stillness(quick: bool) -> bool:
    """Watch all cases.

    Return whether enough frames are quiet, no event is missed and nothing is read wrongly.
    """
    good = True
    for condition in ("mixed",) if quick else tuple(RANGES):
        all_cases = cases(condition, SIZES[:1] if quick else SIZES)
        quiet, missed = 0, list[str]()
        for case in all_cases:
            quiet += _watch(case, missed)
        for fault in missed:
            print(f"    {fault}")
        frames = STILL_FRAMES * len(all_cases)
        share = quiet / frames
        figures = f"{share:.2%} of {frames} frames quiet (at least {MIN_QUIET:.0%}), "
        figures += f"{len(missed)} events missed or frames with wrong entries (none allowed)"
        good &= print_verdict(f"still, {condition}", share >= MIN_QUIET and not missed, figures)
    return good


def _watch(case: StillCase, missed: list[str]) -> int:
    """Watch one case, and add what is missed or wrong to `missed`.

    Return the number of quiet frames.
    """
    watched = StillTable(case)
    for _ in range(LEARNING_FRAMES):
        reading = watched.read_next_frame()
    quiet, judged = 0, None
    for _ in range(STILL_FRAMES):
        reading = watched.read_next_frame()
        quiet += reading.quiet and reading.game == case.kit.game
        if judged != reading and reading.quiet:
            judged = reading
            faults = watched.faults_of(reading)
            missed += [f"{case.name}: {fault}" for fault in faults[:1]]
    for event in EVENTS:
        before = reading
        watched.cause(event)
        after = [watched.read_next_frame() for _ in range(NOTICE_FRAMES)]
        if all(now.quiet and now == before for now in after):
            missed.append(f"{case.name}: {event} not noticed; {case.room}")
        for _ in range(_SETTLING_FRAMES):
            reading = watched.read_next_frame()
    return quiet
