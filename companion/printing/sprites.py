"""The drawings of `companion.core.drawings` and words as small pictures with transparency, to be put on other pictures.

A stamp is (height, width, 4) float32: red, green, blue times alpha, alpha, all 0 to 1.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.drawings import standalone

Stamp = NDArray[np.float32]
Picture = NDArray[np.uint8]
"""(height, width, 3): red, green, blue."""
Matrix = NDArray[np.float64]
INK, PAPER = "#1B1814", "#FFFFFF"

_FINER = 4
"""Drawings are drawn so many times larger and then made smaller, which smooths their edges."""
_SHIFT = 4
_CURVE = np.linspace(0.0, 1.0, 13)[1:, None]
_TURN = np.linspace(0.0, 2 * np.pi, 49)[:-1, None]
_DARK = 0.45
"""Fills that are darker have white printed on them."""


def rgb_of(colour: str) -> tuple[int, int, int]:
    """`#rrggbb` as three numbers.

    >>> rgb_of("#5B2A9D")
    (91, 42, 157)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def printed_on(fill: str) -> str:
    """White or ink, whichever is read on a fill."""
    red, green, blue = rgb_of(fill)
    return PAPER if (0.3 * red + 0.59 * green + 0.11 * blue) / 255 < _DARK else INK


@lru_cache(maxsize=512)
def drawing(name: str, fill: str, size_px: int, edge: str = INK, face: str = "") -> Stamp:
    """A drawing in a colour, `size_px` wide and high; raises KeyError for an unknown name."""
    from svglib.svglib import svg2rlg  # noqa: PLC0415 - it takes a fifth of a second to import

    svg = standalone(name, colour=fill, edge=edge, face=face or printed_on(fill))
    figure: Any = svg2rlg(io.BytesIO(svg.encode()))
    whole = size_px * _FINER
    canvas = np.zeros((whole, whole, 4), np.uint8)
    scale = whole / figure.width
    to_px = np.array([[scale, 0, 0], [0, -scale, whole], [0, 0, 1]])
    for shape, matrix in _shapes(figure, to_px):
        _draw(canvas, shape, matrix)
    small = cv2.resize(canvas, (size_px, size_px), interpolation=cv2.INTER_AREA)
    return np.asarray(small / np.float32(255), np.float32)


@lru_cache(maxsize=512)
def word(text: str, size_px: int, colour: str = INK, bold: bool = True) -> Stamp:
    """A line of text in a font of that size, as wide as it is and 1.3 sizes high."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - only pictures of games have words

    font = ImageFont.truetype(str(_fonts() / ("VeraBd.ttf" if bold else "Vera.ttf")), size_px)
    width = max(1, round(font.getlength(text)))
    mask = Image.new("L", (width, round(1.3 * size_px)))
    ImageDraw.Draw(mask).text((0, round(1.02 * size_px)), text, fill=255, font=font, anchor="ls")
    alpha = np.asarray(mask, np.float32)[..., None] / 255
    return np.asarray(np.concatenate([alpha * np.array(rgb_of(colour), np.float32) / 255, alpha], axis=2), np.float32)


def put(picture: Picture, stamp: Stamp, x: float, y: float) -> None:
    """Lay a stamp on a picture, its middle at pixel (x, y); what lies outside is cut off."""
    height, width = stamp.shape[:2]
    left, top = round(x - width / 2), round(y - height / 2)
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + width, picture.shape[1]), min(top + height, picture.shape[0])
    if x0 >= x1 or y0 >= y1:
        return
    part = stamp[y0 - top : y1 - top, x0 - left : x1 - left]
    under = picture[y0:y1, x0:x1]
    under[:] = np.asarray(under * (1 - part[..., 3:]) + 255 * part[..., :3] + 0.5, np.uint8)


def faded(stamp: Stamp, share: float) -> Stamp:
    """A stamp that lets through what lies below."""
    return np.asarray(stamp * np.float32(share), np.float32)


@lru_cache(maxsize=1)
def _fonts() -> Path:
    import reportlab  # noqa: PLC0415 - it brings two fonts along

    return Path(reportlab.__file__).parent / "fonts"


# ---- shapes of a drawing ---------------------------------------------------------------------------------------------


def _shapes(group: Any, matrix: Matrix) -> Iterator[tuple[Any, Matrix]]:
    """Every shape of a drawing with the (3, 3) matrix to pixels, the lowest first."""
    a, b, c, d, e, f = getattr(group, "transform", None) or (1, 0, 0, 1, 0, 0)
    here = matrix @ np.array([[a, c, e], [b, d, f], [0, 0, 1]])
    for shape in group.contents:
        if hasattr(shape, "contents"):
            yield from _shapes(shape, here)
        else:
            yield shape, here


def _outlines(shape: Any) -> list[tuple[Matrix, bool]]:
    """A shape as polygons and lines: points (n, 2), and whether each is closed."""
    kind = type(shape).__name__
    if kind in ("Circle", "Ellipse"):
        across, along = (shape.r, shape.r) if kind == "Circle" else (shape.rx, shape.ry)
        ring = np.hstack([np.cos(_TURN) * across, np.sin(_TURN) * along])
        ring += np.array([shape.cx, shape.cy])
        return [(ring, True)]
    found: list[tuple[Matrix, bool]] = []
    points: list[Any] = []
    values = iter(shape.points)
    for operator in shape.operators:  # as in reportlab: move, line, curve, close
        if operator == 3:
            found.append((np.array(points), True))
            points = []
        elif operator == 2:
            start = np.array(points[-1])
            one, other, end = (np.array([next(values), next(values)]) for _ in range(3))
            t = _CURVE
            curve = (1 - t) ** 3 * start + 3 * (1 - t) ** 2 * t * one + 3 * (1 - t) * t**2 * other + t**3 * end
            points += list(curve)
        else:
            if operator == 0 and points:
                found.append((np.array(points), False))
                points = []
            points.append((next(values), next(values)))
    if points:
        found.append((np.array(points), False))
    return found


def _draw(canvas: NDArray[np.uint8], shape: Any, matrix: Matrix) -> None:
    paths = [(_to_px(points, matrix), is_closed) for points, is_closed in _outlines(shape) if len(points) > 1]
    fill, stroke = getattr(shape, "fillColor", None), getattr(shape, "strokeColor", None)
    if fill is not None and paths:
        cv2.fillPoly(canvas, [path for path, _ in paths], _ink(fill), cv2.LINE_AA, _SHIFT)
    if stroke is not None:
        width = max(1, round(float(shape.strokeWidth) * abs(np.linalg.det(matrix[:2, :2])) ** 0.5))
        for path, is_closed in paths:
            cv2.polylines(canvas, [path], is_closed, _ink(stroke), width, cv2.LINE_AA, _SHIFT)


def _to_px(points: Matrix, matrix: Matrix) -> NDArray[np.int32]:
    px = points @ matrix[:2, :2].T + matrix[:2, 2] - 0.5
    return np.asarray((px * (1 << _SHIFT)).round(), np.int32)


def _ink(colour: Any) -> tuple[int, int, int, int]:
    """A colour of reportlab, opaque."""
    return round(colour.red * 255), round(colour.green * 255), round(colour.blue * 255), 255
