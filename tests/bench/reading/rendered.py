"""What a frame of a rendered table costs, and how random tables of cards are read."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import cv2

from bench.reading.card_scenes import FRAMES_A_VIEW, deal
from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, DICTIONARY, Kit, Layout
from companion.core.ports import Reading
from companion.printing.printed_kit import printed_table
from vision.cards.fans import UNREAD
from vision.detection.markers import Luma, dictionary_of
from vision.reading.board_reader import board_reader
from vision.simulation.table import RenderedCamera


def bench_reader(kit: Kit, frames: int = 30) -> dict[str, float]:
    """Milliseconds a frame of a rendered table in its default view: `first`, `changed` and `still` (medians).

    `peer` is OpenCV's `ArucoDetector` with its defaults on the same picture, which finds markers and knows no board.
    """
    table, clock = printed_table(kit), FakeClock()
    squares = [square for square in kit.board.squares if square not in kit.board.holes]
    pieces = [piece for piece in kit.pieces if kit.face(piece[0]).size == (1, 1)]
    faces = [(card.name,) for card in kit.deck.cards] if kit.deck else pieces
    table.set_up({square: face[:1] for square, face in zip(squares, faces, strict=False)})
    reader, camera = board_reader({kit.game: kit}), RenderedCamera(table, clock)

    def cost_ms() -> float:
        frame = camera.frame()
        began = time.perf_counter()
        reader.read(frame)
        return (time.perf_counter() - began) * 1000

    first = cost_ms()
    changed, piece = [], next(piece.id for piece in table.pieces() if piece.square is not None)
    for number in range(frames):
        table.nudge(piece, 3.0 if number % 2 else -3.0, 0.0)
        changed.append(cost_ms())
    for _ in range(4):
        cost_ms()
    still = [cost_ms() for _ in range(frames)]
    return {
        "first": first,
        "changed": statistics.median(changed),
        "still": statistics.median(still),
        "peer": _bare_detector_ms(
            camera.frame().luma, frames, CARD_DICTIONARY if kit.deck else DICTIONARY
        ),
    }


@dataclass(frozen=True)
class CardCounts:
    """How tables of cards were read, a single picture each.

    Of `frames` pictures `complete` show a marker of every card and those of the board; of these `right` gave the
    exact stacks, those under a hand apart. `wrong` counts all pictures in which a card, an order or an empty zone was
    accepted that is not there; `missed` those in which only a card was left out that shows no whole marker. `ms` a
    picture, `peer_ms` OpenCV's `ArucoDetector` with its defaults on the same picture (medians).
    """

    frames: int
    complete: int
    right: int
    wrong: int
    missed: int
    ms: float
    peer_ms: float


def bench_cards(kit: Kit, frames: int, seed: int) -> CardCounts:
    """Read so many random tables of cards from single pictures, `FRAMES_A_VIEW` of one camera after the other."""
    counts: Counter[str] = Counter()
    costs, peer = [], []
    for number, dealt in enumerate(deal(kit, frames, seed)):
        if number % FRAMES_A_VIEW == 0:  # another camera, of which nothing is known
            reader = board_reader({kit.game: kit})
        began = time.perf_counter()
        reading = reader.read_picture(dealt.luma)
        costs.append((time.perf_counter() - began) * 1000)
        peer.append(_bare_detector_ms(dealt.luma, 1, CARD_DICTIONARY))
        strange = wrong_zones(reading, dealt.truth, kit.board.squares)
        parts = {z for z, stack in dealt.truth.items() if _is_part(reading.fans.get(z, ()), stack)}
        missed = [zone for zone in strange if zone in dealt.hidden & parts]
        counts["wrong"] += len(strange) > len(missed)
        counts["missed"] += bool(missed)
        if dealt.complete:
            counts["complete"] += 1
            stacks = {
                zone: stack for zone, stack in dealt.truth.items() if zone not in dealt.touched
            }
            counts["right"] += all(
                reading.fans.get(zone) == stack for zone, stack in stacks.items()
            )
    ms = statistics.median(costs)
    return CardCounts(
        frames,
        counts["complete"],
        counts["right"],
        counts["wrong"],
        counts["missed"],
        ms,
        statistics.median(peer),
    )


def _is_part(fan: tuple[str, ...], stack: tuple[str, ...]) -> bool:
    """Are these cards of a stack in its order, others of it left out?"""
    rest = iter(stack)
    return all(card in rest for card in fan)


def wrong_zones(reading: Reading, truth: Layout, zones: Iterable[Square]) -> list[Square]:
    """The zones in which a reading names a card that is not there, or takes a stack for whole that is another."""
    found = []
    for zone in zones:
        fan, real = reading.fans.get(zone, ()), truth.get(zone, ())
        strange = set(fan) - set(real) - ({UNREAD} if real else set())
        if strange or (zone not in reading.unknown and UNREAD not in fan and fan != real):
            found.append(zone)
    return found


def _bare_detector_ms(luma: Luma, frames: int, dictionary: str = DICTIONARY) -> float:
    detector = cv2.aruco.ArucoDetector(dictionary_of(dictionary))
    times = []
    for _ in range(frames):
        began = time.perf_counter()
        detector.detectMarkers(luma)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)
