"""Still tables: does the reader see that nothing moves, and that something does?

A table lies still before a camera as there are in real rooms, see `bench.reading.sensors`. After
`LEARNING` frames every frame has to be quiet, with the board in view and nothing false said. Then a piece is pushed by
half a square, one is turned in place and a hand comes in: each has to be seen within `NOTICE` frames, as movement or as
a change. The ranges of all conditions are covered evenly by the boards of all games in two sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from bench.reading.ground_truth import prints_of
from bench.reading.pictures import Verdict, wrong_entries
from bench.reading.scenes import default_kits, layout_of, ordinary_view
from bench.reading.sensors import RANGES, Room, Sensor
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.core.ports import Frame, Reading
from companion.printing.printed_kit import printed_table
from vision.detection.markers import Luma
from vision.reading.board_reader import board_reader

SIZES = (1280, 720), (1920, 1080)
LEARNING, STILL, NOTICE = 20, 60, 3
LEAST_QUIET = 0.98
SEED = "still"
"""What the cases are drawn from."""
EVENTS = ("push", "turn", "hand")
_SETTLING = 12
"""Frames after an event until the next one."""
_FRAME_S = 0.2


@dataclass(frozen=True)
class Case:
    """One table before one camera in one room."""

    name: str
    kit: Kit
    size: tuple[int, int]
    room: Room


@dataclass
class StillTally:
    """What was made of the cases of one condition."""

    condition: str
    frames: int = 0
    quiet: int = 0
    events: int = 0
    seen: int = 0
    wrong: int = 0
    worst: float = 1.0
    """The smallest share of quiet frames in any case."""
    faults: list[str] = field(default_factory=list)

    def verdicts(self) -> Iterator[Verdict]:
        """The judgement."""
        share = self.quiet / max(1, self.frames)
        told = (
            f"{self.quiet} of {self.frames} frames quiet ({share:.2%}, at least {LEAST_QUIET:.0%}; "
        )
        told += f"worst case {self.worst:.0%})"
        yield Verdict(f"still, {self.condition}", share >= LEAST_QUIET, told)
        told = f"{self.seen} of {self.events} seen (all), {self.wrong} frames with wrong entries (none allowed)"
        yield Verdict(
            f"still, {self.condition}: events", self.seen == self.events and not self.wrong, told
        )


def cases(condition: str, seed: str = SEED, sizes: Sequence[tuple[int, int]] = SIZES) -> list[Case]:
    """Every board in every size, their severities spread evenly over the condition's range."""
    rng = Random(f"{seed}-{condition}")
    boards = [(kit, size) for size in sizes for kit in default_kits().values()]
    ranks = list(range(len(boards)))
    rng.shuffle(ranks)
    found = []
    for (kit, size), rank in zip(boards, ranks, strict=True):
        room = RANGES[condition]((rank + rng.random()) / len(boards), rng)
        found.append(Case(f"{seed}-{condition}-{kit.game}-{size[1]}", kit, size, room))
    return found


class StillTable:
    """The table of a case, the camera above it, and the reader that looks."""

    def __init__(self, case: Case) -> None:
        self.case, self._rng = case, Random(case.name)
        view = replace(
            ordinary_view(self._rng), width=case.size[0], height=case.size[1], noise=0.0, light=1.0
        )
        self.table = printed_table(case.kit, view)
        self.table.set_up(
            _cards(case.kit, self._rng) if case.kit.deck else layout_of(case.kit, self._rng)
        )
        self._sensor = Sensor(case.room, self._rng.randrange(1000))
        self.reader = board_reader(default_kits())
        self._clean: Luma | None = None
        self._frames = 0

    def see(self) -> Reading:
        """Read the next frame."""
        if self._clean is None:
            self._clean = self.table.render_luma()
        self._frames += 1
        return self.reader.read(
            Frame(self._sensor.frame(self._clean), self._frames * _FRAME_S, self._frames)
        )

    def is_wrong(self, reading: Reading) -> list[str]:
        """A sentence for each square of which something false is said; of cards too."""
        if self.case.kit.deck is None:
            return wrong_entries(reading, prints_of(self.table), self.case.kit)
        lying: dict[Square, tuple[str, ...]] = {}
        for piece in self.table.pieces():
            if piece.square is not None:
                lying[piece.square] = (*lying.get(piece.square, ()), piece.face)
        return [
            f"{zone}: WRONG, {fan}"
            for zone, fan in reading.fans.items()
            if fan != lying.get(zone, ())
        ]

    def happen(self, event: str) -> None:
        """Push a piece by half a square, turn one, or hold a hand over the board."""
        lying = [piece for piece in self.table.pieces() if piece.square is not None]
        board = self.case.kit.board
        piece = self._rng.choice([lying[-1]] if self.case.kit.deck else lying)
        if event == "push":
            way = self._rng.choice((-1, 1)) * board.pitch_mm / 2
            self.table.nudge(piece.id, *self._rng.choice(((way, 0.0), (0.0, way))))
        elif event == "turn":
            self.table.turn(
                piece.id, piece.turn_deg + self._rng.choice((-1, 1)) * self._rng.uniform(40, 90)
            )
        else:
            self.table.hold_hand(self._rng.choice(board.squares))
        self._clean = None


def _cards(kit: Kit, rng: Random) -> Layout:
    """Fans of some cards in half of the zones."""
    assert kit.deck is not None
    cards = [card.name for card in kit.deck.cards]
    rng.shuffle(cards)
    zones = [square for square in kit.board.squares if square.rank in kit.deck.zones.values()]
    chosen = rng.sample(zones, len(zones) // 2)
    return {zone: tuple(cards.pop() for _ in range(rng.randint(1, 4))) for zone in chosen}


def watch(case: Case, tally: StillTally, still: int = STILL) -> None:
    """Look at one case, and count."""
    watched = StillTable(case)
    for _ in range(LEARNING):
        reading = watched.see()
    quiet, judged, wrong = 0, None, list[str]()
    for _ in range(still):
        reading = watched.see()
        quiet += reading.quiet and reading.game == case.kit.game
        if judged != reading:
            judged, wrong = reading, watched.is_wrong(reading) if reading.quiet else []
        tally.wrong += bool(wrong)
        tally.faults += [f"{case.name}: {fault}" for fault in wrong[:1]]
    tally.frames += still
    tally.quiet += quiet
    tally.worst = min(tally.worst, quiet / still)
    if quiet < LEAST_QUIET * still:
        tally.faults.append(f"{case.name}: {quiet} of {still} frames quiet; {case.room}")
    for event in EVENTS:
        before = reading
        watched.happen(event)
        after = [watched.see() for _ in range(NOTICE)]
        seen = any(not each.quiet or each != before for each in after)
        tally.events += 1
        tally.seen += seen
        if not seen:
            tally.faults.append(f"{case.name}: {event} not seen; {case.room}")
        for _ in range(_SETTLING):
            reading = watched.see()


def bench_stillness(
    conditions: Sequence[str] = tuple(RANGES),
    sizes: Sequence[tuple[int, int]] = SIZES,
    say: Callable[[str], None] = print,
    seed: str = SEED,
) -> list[StillTally]:
    """Look at all cases of these conditions; `say` is told what goes wrong."""
    tallies = []
    for condition in conditions:
        tally = StillTally(condition)
        for case in cases(condition, seed, sizes):
            watch(case, tally)
        for fault in tally.faults:
            say(f"    {fault}")
        tallies.append(tally)
    return tallies
