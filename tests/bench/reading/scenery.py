"""Helpers: scenery that makes a rendered table hard to read, such as newspapers and worn tags.

Everything is drawn from a seed, so that a scene looks the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.pose.pose import Points, Pose
from vision.simulation.printed import Bgr
from vision.simulation.render import render_texture
from vision.simulation.scenery import TABLE_SEEDS, Light, Scenery, Texture, TopPart
from vision.simulation.view import CameraView

Rng = np.random.Generator
# Side of the drawn part of a table, which repeats itself.
_TABLE_MM = 350
# Pixels per mm of a table that is printed or woven.
_TABLE_PX_PER_MM = 4
# Side of the square round the board's origin on which lights are drawn, at 1 px per mm.
_LIGHT_MM = 800
# (3, 3): from board mm to pixels of the drawn light.
_TO_LIGHT = np.array([[1.0, 0, 200], [0, -1.0, _LIGHT_MM - 200], [0, 0, 1]])


@dataclass(frozen=True)
class HardScenery(Scenery):
    """Scenery with difficulties, each of which is off by default."""

    kind: str = "wood"
    """One of `TABLES`."""
    vignette: float = 0.0
    """How much darker the picture's corners are."""
    window: tuple[float, float, float, float] | None = None
    """The edge of a hard shadow: x mm, y mm, degrees, strength. The shadow lies where the angle
    points."""
    blind: tuple[float, float, float] | None = None
    """The striped shadow of a blind: degrees, mm wide, strength."""
    shade_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """The tint of the light where the window's light does not fall."""
    wear: float = 0.0
    """How faded and scratched tags are, 0 to 1."""
    curl_mm: float = 0.0
    """How far the two sides of tags stand up."""

    def table(self, seed: int) -> Texture:
        """Draw the table. Raises KeyError for an unknown kind."""
        if self.kind == "wood":
            return super().table(seed)
        picture, to_texture = table_texture(self.kind, seed % TABLE_SEEDS)
        return Texture(picture, to_texture, cv2.BORDER_WRAP)

    def light(self, pose: Pose) -> Light | None:
        """Draw a window's light, and the lens's vignette."""
        light = None
        if self.vignette:
            light = _vignette(pose.size, self.vignette)[..., None]
        if self.window is None and self.blind is None:
            return light
        shade = Texture(self._shade_texture(), _TO_LIGHT, cv2.BORDER_REPLICATE)
        dark = render_texture(pose, (0, 0, *pose.size), 1, shade)
        tones = np.arange(256, dtype=np.float32)[:, None] / 255
        tint = 1 - np.array(self.shade_bgr, dtype=np.float32)
        passing = ((1 - tones) * (1 - tint * np.minimum(1, 4 * tones))).astype(np.float32)
        shaded = cv2.LUT(cv2.merge([dark] * 3), passing.reshape(256, 1, 3))
        return np.asarray(shaded if light is None else shaded * light, np.float32)

    def _shade_texture(self) -> NDArray[np.uint8]:
        """Return (800, 800): how dark the shade is, 255 where no light of the window falls."""
        row, column = np.mgrid[0:_LIGHT_MM, 0:_LIGHT_MM].astype(np.float32)
        x, y = column - 200, _LIGHT_MM - 200 - row
        shade = np.zeros((_LIGHT_MM, _LIGHT_MM), np.float32)
        if self.window is not None:
            x_mm, y_mm, degrees, strength = self.window
            angle = math.radians(degrees)
            beyond = (x - x_mm) * math.cos(angle) + (y - y_mm) * math.sin(angle)
            shade = strength * (beyond + 0.5).clip(0, 1)
        if self.blind is not None:
            degrees, wide_mm, strength = self.blind
            angle = math.radians(degrees)
            along = (x * math.cos(angle) + y * math.sin(angle)) % (2 * wide_mm)
            stripes = (np.minimum(along, 2 * wide_mm - along) - wide_mm / 2 + 0.5).clip(0, 1)
            shade = 1 - (1 - shade) * (1 - strength * stripes)
        return np.asarray(255 * shade, np.uint8)

    def top(self, printed: Bgr, seed: int) -> Bgr:
        """Return the top of a piece, worn as it would be after years."""
        return wear_down(printed, self.wear, seed) if self.wear else printed

    def top_parts(self, corners_mm: Points) -> list[TopPart]:
        """Return the narrow planes of a tag whose two sides stand up."""
        if not self.curl_mm:
            return super().top_parts(corners_mm)
        return curled_parts(corners_mm, self.curl_mm)


def change_view(view: CameraView, changes: Mapping[str, Any]) -> CameraView:
    """Return the view with other values of its own fields, and of those of `HardScenery`."""
    names = {field.name for field in fields(CameraView)}
    own = {name: value for name, value in changes.items() if name in names}
    hard = {name: value for name, value in changes.items() if name not in names}
    if hard:
        scenery = view.scenery if isinstance(view.scenery, HardScenery) else HardScenery()
        own["scenery"] = replace(scenery, **hard)
    return replace(view, **own)


# ---- tables --------------------------------------------------------------------------------------


@lru_cache(maxsize=3 * TABLE_SEEDS)
def table_texture(kind: str, seed: int) -> tuple[Bgr, Points]:
    """Draw a table. Return its picture and the (3, 3) matrix from board mm to px.

    Raises KeyError.
    """
    picture = TABLES[kind](np.random.default_rng(seed))
    angle = math.radians((seed * 37) % 90)
    turn = _TABLE_PX_PER_MM * np.array(
        [[math.cos(angle), -math.sin(angle)], [-math.sin(angle), -math.cos(angle)]]
    )
    to_texture = np.eye(3)
    to_texture[:2, :2] = turn
    to_texture[:2, 2] = 1e4 * picture.shape[0]  # far from any edge: no coordinate is negative
    return picture, to_texture


def _draw_pale_table(rng: Rng) -> Bgr:
    """Draw a white table with a few crumbs."""
    side = _TABLE_MM * _TABLE_PX_PER_MM
    picture = np.full((side, side, 3), (214, 222, 226), np.uint8)
    for x, y, radius in zip(
        *(rng.integers(0, side, 60) for _ in range(2)), rng.integers(1, 5, 60), strict=True
    ):
        cv2.circle(picture, (int(x), int(y)), int(radius), (120, 150, 170), -1, cv2.LINE_AA)
    return picture


def _draw_cloth(rng: Rng) -> Bgr:
    """Draw a woven cloth with checks of 25 mm in one colour: where stripes cross, it is dark."""
    side, check = _TABLE_MM * _TABLE_PX_PER_MM, 25 * _TABLE_PX_PER_MM
    stripes = ((np.arange(side) // check) % 2).astype(np.float32)
    share = (stripes[:, None] + stripes[None, :]) / 2
    colour = np.array(((40, 30, 170), (120, 60, 20), (40, 90, 30))[rng.integers(3)], np.float32)
    cloth = (1 - share[..., None]) * np.array([235, 238, 240], np.float32) + share[
        ..., None
    ] * colour
    weave = rng.normal(0, 6, (side, side, 1)).astype(np.float32)
    return np.asarray((cloth + weave).clip(0, 255), np.uint8)


def _draw_chequers(rng: Rng) -> Bgr:
    """Draw white and nearly black squares of 20 to 26 mm. Some look like the rims of markers."""
    side = _TABLE_MM * _TABLE_PX_PER_MM
    squares = int(rng.integers(14, 18)) // 2 * 2
    at = np.arange(side) * squares // side
    dark = (at[:, None] + at[None, :]) % 2 == 0
    inner = np.abs(((np.arange(side) * squares / side) % 1) - 0.5) < 0.25
    dark ^= inner[:, None] & inner[None, :] & (rng.random((squares, squares)) < 0.5)[np.ix_(at, at)]
    ink = ((35, 30, 28), (60, 40, 25), (30, 45, 60))[rng.integers(3)]
    return np.asarray(np.where(dark[..., None], ink, (232, 236, 238)), np.uint8)


def _draw_newspaper(rng: Rng) -> Bgr:
    """Draw columns of text, headlines, and square codes as in advertisements."""
    side, margin, gap = _TABLE_MM * _TABLE_PX_PER_MM, 20, 14
    page = np.full((side, side, 3), (208, 218, 222), np.uint8)
    width = (side - 2 * margin) // 4
    for column in range(4):
        for row in range(margin, side - 150, 190):
            x = margin + column * width
            part = page[row : row + 190 - gap, x : x + width - gap]
            kind = rng.random()
            if kind < 0.15:
                _draw_square_code(part, rng)
            else:
                _draw_text(part, rng, headline=kind > 0.7)
    return page


def _draw_text(part: Bgr, rng: Rng, headline: bool) -> None:
    """Draw text in a part of a page, with letters of 2.5 or 7 mm."""
    scale, thick, pitch = (0.95, 3, 34) if headline else (0.36, 1, 14)
    for row in range(pitch, part.shape[0], pitch):
        letters = "".join(
            chr(97 + int(code)) if code < 26 else " " for code in rng.integers(0, 30, 60)
        )
        cv2.putText(
            part,
            letters,
            (0, row),
            cv2.FONT_HERSHEY_DUPLEX,
            scale,
            (40, 38, 36),
            thick,
            cv2.LINE_AA,
        )


def _draw_square_code(part: Bgr, rng: Rng) -> None:
    """Draw random modules with three finder patterns, 7 modules wide like the markers."""
    size, module = 25, min(part.shape[:2]) // 27
    modules = (rng.random((size, size)) < 0.5).astype(np.uint8)
    finder = np.zeros((8, 8), np.uint8)
    finder[:7, :7] = 1
    finder[1:6, 1:6] = 0
    finder[2:5, 2:5] = 1
    modules[:8, :8], modules[:8, -8:], modules[-8:, :8] = finder, finder[:, ::-1], finder[::-1]
    large = cv2.resize(modules, (size * module,) * 2, interpolation=cv2.INTER_NEAREST)[..., None]
    part[module : module * (size + 1), module : module * (size + 1)] = np.where(large > 0, 226, 36)


# What a board may lie on, besides wood.
TABLES: Mapping[str, Callable[[Rng], Bgr]] = {
    "pale": _draw_pale_table,
    "cloth": _draw_cloth,
    "chequered": _draw_chequers,
    "newspaper": _draw_newspaper,
}


def _vignette(size: tuple[int, int], depth: float) -> NDArray[np.float32]:
    """Return (h, w): how much light comes through a lens to each pixel, `depth` less at the
    corners.
    """
    across, down = (np.linspace(-1, 1, length, dtype=np.float32) ** 2 for length in size)
    return np.asarray(1 - depth / 2 * (across[None, :] + down[:, None]), np.float32)


# ---- tags ----------------------------------------------------------------------------------------


def wear_down(top: Bgr, wear: float, seed: int) -> Bgr:
    """Age the top of a piece: `wear`, 0 to 1, fades the ink in patches, scratches and stains it."""
    rng, shape = np.random.default_rng(seed), top.shape[:2]
    patches = cv2.resize(
        rng.random((5, 5)).astype(np.float32), shape[::-1], interpolation=cv2.INTER_CUBIC
    )
    fade = (wear * (0.25 + 0.4 * patches))[..., None]
    faded = top + fade * (np.float32(205) - top) * (top < 140)  # the ink fades, the paper does not
    faded = faded * (1 - 0.25 * wear * np.roll(patches, 9, axis=0)[..., None])
    faded = np.asarray(faded.clip(0, 255), np.uint8)
    for _ in range(round(8 * wear)):
        start = rng.integers(0, (shape[1], shape[0]))
        angle, length = rng.uniform(0, 2 * math.pi), rng.uniform(0.1, 0.7) * shape[1]
        end = (start + length * np.array([math.cos(angle), math.sin(angle)])).astype(int)
        scratched = faded.copy()
        cv2.line(
            scratched,
            start.tolist(),
            end.tolist(),
            (int(rng.choice((90, 190, 220))),) * 3,
            1,
            cv2.LINE_AA,
        )
        depth = float(rng.uniform(0.3, 0.9))
        faded = np.asarray(cv2.addWeighted(scratched, depth, faded, 1 - depth, 0), np.uint8)
    return faded


def curled_parts(corners_mm: Points, lift_mm: float, parts: int = 6) -> list[TopPart]:
    """Return a tag whose two sides stand up by `lift_mm`, as narrow planes.

    `corners_mm` is (4, 3), upper left first, clockwise.
    """
    a, b, c, d = corners_mm
    planes = []
    for number in range(parts):
        shares = number / parts, (number + 1) / parts
        lifts = [np.array([0, 0, lift_mm * (2 * share - 1) ** 2]) for share in shares]
        upper = [a + (b - a) * share + lift for share, lift in zip(shares, lifts, strict=True)]
        lower = [d + (c - d) * share + lift for share, lift in zip(shares, lifts, strict=True)]
        planes.append(TopPart(np.array([upper[0], upper[1], lower[1], lower[0]]), *shares))
    return planes
