"""Ways to look at a board of cards, and what of it lies open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import cv2
import numpy as np

from companion.core.kit import Kit
from vision.pose.pose import Points
from vision.simulation.view import View, default_view


def views(kit: Kit, rng: Random) -> Iterator[View]:
    """Ways to look at a board of cards: from everywhere, in every light, with every ordinary fault of a camera."""
    plain, board = default_view(kit), kit.board
    kinds: tuple[dict[str, object], ...] = (
        {},
        {"light": 0.3, "noise": 4.0},
        {"defocus_px": 1.0},
        {
            "shadow": (
                rng.uniform(0, board.width_mm),
                rng.uniform(0, board.height_mm),
                rng.uniform(60, 200),
                0.45,
            )
        },
        {"gradient": 0.5, "light": 0.8},
        {"noise": 5.0},
        {"motion_px": 2.5, "motion_deg": rng.uniform(0, 180)},
        {"jpeg_quality": 50},
        {"cast_bgr": (0.6, 0.9, 1.1), "light": 0.7},
        {"defocus_px": 0.8, "light": 0.4, "noise": 3.0},
    )
    while True:
        for kind in kinds:
            place = {
                "tilt_deg": rng.uniform(0, 40),
                "turn_deg": rng.choice((0.0, 180.0, rng.uniform(-20, 20))),
                "board_turn_deg": rng.uniform(-6, 6),
                "fill": rng.uniform(0.86, 0.94),
                "k1": rng.uniform(-0.04, 0.0),
                "seed": rng.randrange(1000),
            }
            yield replace(plain, **place, **kind)  # type: ignore[arg-type]  # replace() checks the names itself


def share_outside(one: Points, others: Iterable[Points]) -> float:
    """How much of a convex outline lies in none of the others. Drawn on a raster of 1/8 mm."""
    low = one.min(axis=0) - 1
    shape = np.ceil((np.ptp(one, axis=0) + 2) * 8)[::-1].astype(int)
    mask = np.zeros(shape, np.uint8)
    cv2.fillPoly(mask, [((one - low) * 8).round().astype(np.int32)], 1)
    whole = int(mask.sum())
    for outline in others:
        cv2.fillPoly(mask, [((outline - low) * 8).round().astype(np.int32)], 0)
    return int(mask.sum()) / whole
