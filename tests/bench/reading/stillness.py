"""Measure whether the reader notices that nothing moves on a table, and that something does.

A table lies still in front of a camera, but in a realistic room, in which no two frames are the
same (`bench.reading.sensors`).

1. In the first `LEARNING_FRAMES` the reader learns how noisy the frames are.
2. In the next `STILL_FRAMES` it has to say that nothing moves, with the board found and nothing
   read wrongly.
3. Then a piece is pushed by half a square, another one is turned in place, and a hand comes in. The
   reader has to notice each of these events within `NOTICE_FRAMES`: it reports movement, or another
   reading.

That is repeated for the boards of all games, in two sizes of pictures, and for each condition. The
severities of a condition are spread evenly over these cases.
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

# Widths and heights of pictures.
SIZES = ((1280, 720), (1920, 1080))
LEARNING_FRAMES = 20
STILL_FRAMES = 60
NOTICE_FRAMES = 3
# Least share of the still frames that are quiet.
MIN_QUIET = 0.98
EVENTS = ("push", "turn", "hand")
# Number of frames after each event, so that the reader takes the table for still again.
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
    """Return the cases of a condition: every board in every size, with severities spread evenly."""
    rng = Random(f"still-{condition}")
    boards = [(kit, size) for size in sizes for kit in default_kits().values()]
    # each board gets another part of the range of severities
    parts = list(range(len(boards)))
    rng.shuffle(parts)
    result = []
    for (kit, size), part in zip(boards, parts, strict=True):
        room = RANGES[condition]((part + rng.random()) / len(boards), rng)
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
        # the rendered picture, until the next event changes the table
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
        """Cause one of `EVENTS`: push a piece by half a square, turn one, or hold a hand in."""
        lying = [piece for piece in self.table.pieces() if piece.square is not None]
        board = self.case.kit.board
        # of cards, the last one, because it lies on top of its fan
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
    """Return a layout with a fan of some cards in each of half the zones."""
    assert kit.deck is not None
    cards = [card.name for card in kit.deck.cards]
    rng.shuffle(cards)
    zones = [square for square in kit.board.squares if square.rank in kit.deck.zones.values()]
    chosen = rng.sample(zones, len(zones) // 2)
    return {zone: tuple(cards.pop() for _ in range(rng.randint(1, 4))) for zone in chosen}


def bench_stillness(quick: bool) -> bool:
    """Watch all cases of all conditions.

    Return whether enough frames are quiet, no event is missed and nothing is read wrongly.
    """
    good = True
    for condition in ("mixed",) if quick else tuple(RANGES):
        all_cases = cases(condition, SIZES[:1] if quick else SIZES)
        quiet_count, faults = 0, list[str]()
        for case in all_cases:
            quiet_count += _watch(case, faults)
        for fault in faults:
            print(f"    {fault}")
        frames = STILL_FRAMES * len(all_cases)
        share = quiet_count / frames
        figures = f"{share:.2%} of {frames} frames quiet (at least {MIN_QUIET:.0%}), "
        figures += f"{len(faults)} events missed or frames with wrong entries (none allowed)"
        good &= print_verdict(f"still, {condition}", share >= MIN_QUIET and not faults, figures)
    return good


def _watch(case: StillCase, faults: list[str]) -> int:
    """Watch one case, and append a sentence to `faults` for all that is missed or read wrongly.

    Return the number of frames that are quiet, of `STILL_FRAMES`.
    """
    watched = StillTable(case)
    for _ in range(LEARNING_FRAMES):
        reading = watched.read_next_frame()
    # a reading is judged again only if it differs from the one judged before
    quiet_count, judged = 0, None
    for _ in range(STILL_FRAMES):
        reading = watched.read_next_frame()
        quiet_count += reading.quiet and reading.game == case.kit.game
        if judged != reading and reading.quiet:
            judged = reading
            reading_faults = watched.faults_of(reading)
            faults += [f"{case.name}: {fault}" for fault in reading_faults[:1]]
    for event in EVENTS:
        before = reading
        watched.cause(event)
        after = [watched.read_next_frame() for _ in range(NOTICE_FRAMES)]
        if all(now.quiet and now == before for now in after):
            faults.append(f"{case.name}: {event} not noticed; {case.room}")
        for _ in range(_SETTLING_FRAMES):
            reading = watched.read_next_frame()
    return quiet_count
