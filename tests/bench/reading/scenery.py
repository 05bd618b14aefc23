"""Helpers: scenery that makes a rendered table hard to read.

`HardScenery` adds to the plain scenery of `vision.simulation.scenery`: tables of other kinds, hard
and striped shadows on the board, the dark corners of a lens, and worn or curled tags. Everything is
drawn from a seed, so that a scene looks the same in every run. Positions are in the axes of the
board (see `companion.core.kit`), in mm.
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
# Side of the part of a table that is drawn. The table repeats it.
_TABLE_MM = 350
# Pixels per mm of the drawn part of a table.
_TABLE_PX_PER_MM = 4
# Side of the square on which shadows are drawn, at 1 px per mm, and the distance of the board's
# origin from its left and lower edge.
_SHADE_MM = 800
_ORIGIN_MM = 200
# (3, 3): from board mm to pixels of the drawn shadows, whose rows are counted from above.
_TO_SHADE = np.array([[1.0, 0, _ORIGIN_MM], [0, -1.0, _SHADE_MM - _ORIGIN_MM], [0, 0, 1]])


@dataclass(frozen=True)
class HardScenery(Scenery):
    """Scenery with difficulties, each of which is off by default."""

    kind: str = "wood"
    """What the board lies on: `wood`, or one of `TABLES`."""
    vignette: float = 0.0
    """Share of the light that is lost in the picture's corners."""
    shadow_edge: tuple[float, float, float, float] | None = None
    """A hard shadow on one side of a straight edge: x and y of a point of the edge in mm, the
    direction in degrees in which the shadow lies from there, and the share of light that it
    takes."""
    blind_shadow: tuple[float, float, float] | None = None
    """The striped shadow of a window blind: the direction in degrees across its stripes, the width
    of a stripe in mm, and the share of light that a stripe takes."""
    shade_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factors of blue, green and red in the shadows, where other light falls than beside them."""
    wear: float = 0.0
    """How faded and scratched tags are, from 0 to 1."""
    curl_mm: float = 0.0
    """How high the left and right sides of tags stand up."""

    def table(self, seed: int) -> Texture:
        """Return the table. Raises KeyError for an unknown kind."""
        if self.kind == "wood":
            return super().table(seed)
        picture, to_texture = table_texture(self.kind, seed % TABLE_SEEDS)
        return Texture(picture, to_texture, cv2.BORDER_WRAP)

    def light(self, pose: Pose) -> Light | None:
        """Return the share of light that shadows and the vignette of the lens leave."""
        light = None
        if self.vignette:
            light = _vignette(pose.size, self.vignette)[..., None]
        if self.shadow_edge is None and self.blind_shadow is None:
            return light
        shade = Texture(self._draw_shade(), _TO_SHADE, cv2.BORDER_REPLICATE)
        darkness = render_texture(pose, (0, 0, *pose.size), 1, shade)
        # for each of 256 levels of darkness, the factors of blue, green and red: from a quarter of
        # the darkness on, the tint is full
        levels = np.arange(256, dtype=np.float32)[:, None] / 255
        tint = 1 - np.array(self.shade_bgr, dtype=np.float32)
        factors = ((1 - levels) * (1 - tint * np.minimum(1, 4 * levels))).astype(np.float32)
        shaded = cv2.LUT(cv2.merge([darkness] * 3), factors.reshape(256, 1, 3))
        return np.asarray(shaded if light is None else shaded * light, np.float32)

    def _draw_shade(self) -> NDArray[np.uint8]:
        """Return (800, 800): how dark the shadows are, from 0 to 255 for no light at all."""
        row, column = np.mgrid[0:_SHADE_MM, 0:_SHADE_MM].astype(np.float32)
        x_mm, y_mm = column - _ORIGIN_MM, _SHADE_MM - _ORIGIN_MM - row
        shade = np.zeros((_SHADE_MM, _SHADE_MM), np.float32)
        if self.shadow_edge is not None:
            edge_x_mm, edge_y_mm, degrees, strength = self.shadow_edge
            angle = math.radians(degrees)
            # how far a pixel lies beyond the edge, which is blurred over 1 mm
            beyond_mm = (x_mm - edge_x_mm) * math.cos(angle) + (y_mm - edge_y_mm) * math.sin(angle)
            shade = strength * (beyond_mm + 0.5).clip(0, 1)
        if self.blind_shadow is not None:
            degrees, stripe_mm, strength = self.blind_shadow
            angle = math.radians(degrees)
            # A period has a dark and a bright stripe. How far does a pixel lie inside the dark one?
            across_mm = (x_mm * math.cos(angle) + y_mm * math.sin(angle)) % (2 * stripe_mm)
            inside_mm = np.minimum(across_mm, 2 * stripe_mm - across_mm) - stripe_mm / 2
            stripes = (inside_mm + 0.5).clip(0, 1)
            shade = 1 - (1 - shade) * (1 - strength * stripes)
        return np.asarray(255 * shade, np.uint8)

    def top(self, printed: Bgr, seed: int) -> Bgr:
        """Return the picture of a piece's top, worn as it would be after years."""
        return wear_down(printed, self.wear, seed) if self.wear else printed

    def top_parts(self, corners_mm: Points) -> list[TopPart]:
        """Return the flat parts of a top. If tags are curled, these are narrow planes."""
        if not self.curl_mm:
            return super().top_parts(corners_mm)
        return curled_parts(corners_mm, self.curl_mm)


def change_view(view: CameraView, changes: Mapping[str, Any]) -> CameraView:
    """Return the view with other values of some fields, by name.

    They may be fields of the view itself or of `HardScenery`.
    """
    view_fields = {field.name for field in fields(CameraView)}
    view_changes = {name: value for name, value in changes.items() if name in view_fields}
    scenery_changes = {name: value for name, value in changes.items() if name not in view_fields}
    if scenery_changes:
        scenery = view.scenery if isinstance(view.scenery, HardScenery) else HardScenery()
        view_changes["scenery"] = replace(scenery, **scenery_changes)
    return replace(view, **view_changes)


# ---- tables --------------------------------------------------------------------------------------


@lru_cache(maxsize=3 * TABLE_SEEDS)
def table_texture(kind: str, seed: int) -> tuple[Bgr, Points]:
    """Draw a table of a kind, turned as the seed says.

    Return its picture, which repeats itself, and the matrix (3, 3) from board mm to pixels of the
    picture. Raises KeyError for an unknown kind.
    """
    picture = TABLES[kind](np.random.default_rng(seed))
    angle = math.radians((seed * 37) % 90)
    turn_and_scale = _TABLE_PX_PER_MM * np.array(
        [[math.cos(angle), -math.sin(angle)], [-math.sin(angle), -math.cos(angle)]]
    )
    to_texture = np.eye(3)
    to_texture[:2, :2] = turn_and_scale
    # whole repetitions away from the origin, so that no coordinate is negative
    to_texture[:2, 2] = 1e4 * picture.shape[0]
    return picture, to_texture


def _draw_pale_table(rng: Rng) -> Bgr:
    """Draw a white table with a few crumbs."""
    side_px = _TABLE_MM * _TABLE_PX_PER_MM
    picture = np.full((side_px, side_px, 3), (214, 222, 226), np.uint8)
    columns, rows = rng.integers(0, side_px, (2, 60))
    for x, y, radius in zip(columns, rows, rng.integers(1, 5, 60), strict=True):
        cv2.circle(picture, (int(x), int(y)), int(radius), (120, 150, 170), -1, cv2.LINE_AA)
    return picture


def _draw_cloth(rng: Rng) -> Bgr:
    """Draw a woven cloth with stripes of 25 mm in both directions, darkest where they cross."""
    side_px, stripe_px = _TABLE_MM * _TABLE_PX_PER_MM, 25 * _TABLE_PX_PER_MM
    stripes = ((np.arange(side_px) // stripe_px) % 2).astype(np.float32)
    # share of the colour in each pixel: 0, a half or 1
    share = ((stripes[:, None] + stripes[None, :]) / 2)[..., None]
    colour = np.array(((40, 30, 170), (120, 60, 20), (40, 90, 30))[rng.integers(3)], np.float32)
    cloth = (1 - share) * np.array([235, 238, 240], np.float32) + share * colour
    weave = rng.normal(0, 6, (side_px, side_px, 1)).astype(np.float32)
    return np.asarray((cloth + weave).clip(0, 255), np.uint8)


def _draw_chequers(rng: Rng) -> Bgr:
    """Draw white and nearly black squares of 20 to 26 mm.

    Half of them have an inner square of the other colour, so that they look like rims of markers.
    """
    side_px = _TABLE_MM * _TABLE_PX_PER_MM
    # an even number, so that the pattern goes on where the picture is repeated
    squares = int(rng.integers(14, 18)) // 2 * 2
    # for each pixel along a side: the square that it is in, and whether it is in the middle of that
    index = np.arange(side_px) * squares // side_px
    is_inner = np.abs(((np.arange(side_px) * squares / side_px) % 1) - 0.5) < 0.25
    dark = (index[:, None] + index[None, :]) % 2 == 0
    has_inner = (rng.random((squares, squares)) < 0.5)[np.ix_(index, index)]
    dark ^= is_inner[:, None] & is_inner[None, :] & has_inner
    ink = ((35, 30, 28), (60, 40, 25), (30, 45, 60))[rng.integers(3)]
    return np.asarray(np.where(dark[..., None], ink, (232, 236, 238)), np.uint8)


def _draw_newspaper(rng: Rng) -> Bgr:
    """Draw columns of text, headlines, and square codes as in advertisements."""
    # all in pixels. A page has four columns of parts with a height of 190
    side, margin, gap = _TABLE_MM * _TABLE_PX_PER_MM, 20, 14
    page = np.full((side, side, 3), (208, 218, 222), np.uint8)
    width = (side - 2 * margin) // 4
    for column in range(4):
        for y in range(margin, side - 150, 190):
            x = margin + column * width
            part = page[y : y + 190 - gap, x : x + width - gap]
            chance = rng.random()
            if chance < 0.15:
                _draw_square_code(part, rng)
            else:
                _draw_text(part, rng, is_headline=chance > 0.7)
    return page


def _draw_text(part: Bgr, rng: Rng, is_headline: bool) -> None:
    """Draw lines of random letters in a part of a page: 7 mm high in a headline, else 2.5 mm."""
    scale, thickness_px, line_px = (0.95, 3, 34) if is_headline else (0.36, 1, 14)
    for y in range(line_px, part.shape[0], line_px):
        letters = "".join(
            chr(ord("a") + number) if number < 26 else " "
            for number in rng.integers(0, 30, 60).tolist()
        )
        cv2.putText(
            part,
            letters,
            (0, y),
            cv2.FONT_HERSHEY_DUPLEX,
            scale,
            (40, 38, 36),
            thickness_px,
            cv2.LINE_AA,
        )


def _draw_square_code(part: Bgr, rng: Rng) -> None:
    """Draw a square code of random modules.

    Its three finder patterns are seven modules wide, as markers are.
    """
    size, module_px = 25, min(part.shape[:2]) // 27
    modules = (rng.random((size, size)) < 0.5).astype(np.uint8)
    finder = np.zeros((8, 8), np.uint8)
    finder[:7, :7] = 1
    finder[1:6, 1:6] = 0
    finder[2:5, 2:5] = 1
    modules[:8, :8], modules[:8, -8:], modules[-8:, :8] = finder, finder[:, ::-1], finder[::-1]
    code = cv2.resize(modules, (size * module_px,) * 2, interpolation=cv2.INTER_NEAREST)
    area = slice(module_px, module_px * (size + 1))
    part[area, area] = np.where(code[..., None] > 0, 226, 36)


# What a board may lie on, besides wood.
TABLES: Mapping[str, Callable[[Rng], Bgr]] = {
    "pale": _draw_pale_table,
    "cloth": _draw_cloth,
    "chequered": _draw_chequers,
    "newspaper": _draw_newspaper,
}


def _vignette(size: tuple[int, int], depth: float) -> NDArray[np.float32]:
    """Return (h, w): the share of light that a lens leaves, which is 1 - `depth` at the corners."""
    across, down = (np.linspace(-1, 1, length, dtype=np.float32) ** 2 for length in size)
    return np.asarray(1 - depth / 2 * (across[None, :] + down[:, None]), np.float32)


# ---- tags ----------------------------------------------------------------------------------------


def wear_down(top: Bgr, wear: float, seed: int) -> Bgr:
    """Return the picture of a piece's top with faded ink, stains and scratches.

    `wear` is from 0, as new, to 1.
    """
    rng, shape = np.random.default_rng(seed), top.shape[:2]
    patches = cv2.resize(
        rng.random((5, 5)).astype(np.float32), shape[::-1], interpolation=cv2.INTER_CUBIC
    )
    fade = (wear * (0.25 + 0.4 * patches))[..., None]
    # the ink, which is dark, fades in patches, but the paper does not
    faded = top + fade * (np.float32(205) - top) * (top < 140)
    # stains, at other places
    faded = faded * (1 - 0.25 * wear * np.roll(patches, 9, axis=0)[..., None])
    faded = np.asarray(faded.clip(0, 255), np.uint8)
    for _ in range(round(8 * wear)):  # scratches
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


def curled_parts(corners_mm: Points, lift_mm: float) -> list[TopPart]:
    """Return the parts of a tag that is bent, so that its left and right side stand up.

    The bend is a parabola across the tag, in six narrow planes. `corners_mm` is (4, 3), upper left
    first, clockwise. `lift_mm` is the height of the sides.
    """
    upper_left, upper_right, lower_right, lower_left = corners_mm
    planes = []
    for index in range(6):
        # shares of the width at the left and at the right edge of the plane, and the heights there
        shares = index / 6, (index + 1) / 6
        lifts = [np.array([0, 0, lift_mm * (2 * share - 1) ** 2]) for share in shares]
        upper = [
            upper_left + (upper_right - upper_left) * share + lift
            for share, lift in zip(shares, lifts, strict=True)
        ]
        lower = [
            lower_left + (lower_right - lower_left) * share + lift
            for share, lift in zip(shares, lifts, strict=True)
        ]
        planes.append(TopPart(np.array([upper[0], upper[1], lower[1], lower[0]]), *shares))
    return planes
