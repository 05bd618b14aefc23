"""The printed board and the tops of pieces as pictures, for the rendered table: plain drawings of its own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import ParamSpec

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, DICTIONARY, Board, Card, Deck, Kit, Mark, Seat
from vision.detection.markers import marker_modules
from vision.lettering import size_px, write
from vision.pose.pose import Points

Bgr = NDArray[np.uint8]
"""(height, width, 3): blue, green, red."""

_PAPER, _DARK_TILE = (238, 243, 244), (205, 222, 230)
_INK = (24, 20, 27)
_BOARD_SCALE = 5.0  # px per mm of the board's texture
_CARD_SCALE = 6.0  # px per mm of a card's face


def bgr_of(rgb: str) -> tuple[int, int, int]:
    """`#rrggbb` as (blue, green, red).

    >>> bgr_of("#5B2A9D")
    (157, 42, 91)
    """
    red, green, blue = (int(rgb[i : i + 2], 16) for i in (1, 3, 5))
    return blue, green, red


@dataclass(frozen=True)
class Sheet:
    """The board as paper: a texture, and where its lower left corner lies."""

    picture: Bgr
    low_mm: tuple[float, float]
    high_mm: tuple[float, float]

    def to_texture(self) -> Points:
        """(3, 3): board coordinates to texture pixels."""
        s = _BOARD_SCALE
        return np.array([[s, 0, -self.low_mm[0] * s - 0.5], [0, -s, self.high_mm[1] * s - 0.5], [0, 0, 1]])


class _Pen:
    """Draws on a sheet in board millimetres."""

    def __init__(self, picture: Bgr, low_mm: tuple[float, float], high_mm: tuple[float, float]) -> None:
        self.picture, self._low, self._high = picture, low_mm, high_mm

    def _px(self, x_mm: float, y_mm: float) -> tuple[int, int]:
        """With four fractional bits, as OpenCV's `shift=4` wants it."""
        x, y = (x_mm - self._low[0]) * _BOARD_SCALE - 0.5, (self._high[1] - y_mm) * _BOARD_SCALE - 0.5
        return round(x * 16), round(y * 16)

    def lines(
        self, points_mm: list[tuple[float, float]], colour: tuple[int, int, int], width_mm: float, closed: bool = False
    ) -> None:
        """A path."""
        path = np.array([self._px(*point) for point in points_mm], dtype=np.int32)
        thick = max(1, round(width_mm * _BOARD_SCALE))
        cv2.polylines(self.picture, [path], closed, colour, thick, cv2.LINE_AA, 4)

    def fill(self, points_mm: list[tuple[float, float]], colour: tuple[int, int, int]) -> None:
        """A polygon."""
        path = np.array([self._px(*point) for point in points_mm], dtype=np.int32)
        cv2.fillPoly(self.picture, [path], colour, cv2.LINE_AA, 4)

    def ring(self, x_mm: float, y_mm: float, radius_mm: float, colour: tuple[int, int, int], width_mm: float) -> None:
        """A circle's line."""
        thick = max(1, round(width_mm * _BOARD_SCALE))
        centre = self._px(x_mm, y_mm)
        cv2.circle(self.picture, centre, round(radius_mm * _BOARD_SCALE * 16), colour, thick, cv2.LINE_AA, 4)

    def text(self, x_mm: float, y_mm: float, text: str, height_mm: float) -> None:
        """Letters whose lower left corner lies at the point."""
        x, y = self._px(x_mm, y_mm)
        scale = height_mm * _BOARD_SCALE / 22
        thick = max(1, round(scale * 2))
        write(self.picture, text, (x // 16, y // 16), scale, _INK, thick=thick)


def _rectangle(x: float, y: float, half: float, half_depth: float | None = None) -> list[tuple[float, float]]:
    deep = half if half_depth is None else half_depth
    return [(x - half, y + deep), (x + half, y + deep), (x + half, y - deep), (x - half, y - deep)]


def board_sheet(kit: Kit, dictionary: str = DICTIONARY) -> Sheet:
    """The printed board of a kit, its corner markers from this dictionary."""
    board = kit.board
    outside = 0.0 if board.labels_in_squares or kit.deck else 7.0
    low = (-8.0, -board.strip_mm - 3 - outside)
    high = (board.width_mm + 8.0, board.height_mm + board.strip_mm + 3 + outside)
    shape = (round((high[1] - low[1]) * _BOARD_SCALE), round((high[0] - low[0]) * _BOARD_SCALE), 3)
    pen = _Pen(np.full(shape, _PAPER, dtype=np.uint8), low, high)
    for square in board.squares:
        x, y = board.centre_mm(square)
        half, half_depth = board.square_mm / 2, (board.depth_mm or board.square_mm) / 2
        if board.tones == 2 and (square.file + square.rank) % 2 == 0:
            pen.fill(_rectangle(x, y, half, half_depth), _DARK_TILE)
        pen.lines(_rectangle(x, y, half, half_depth), _INK, 0.6, closed=True)
        if kit.deck:
            _draw_zone(pen, board, kit.deck, square)
        elif board.labels_in_squares:
            pen.text(x - half + 2, y + half - 5.5, str(square), 3.5)
    if outside:
        _draw_labels(pen, board)
    if board.has_goals:
        _draw_goals(pen, kit)
    for mark in board.marks:
        _draw_mark(pen, kit, mark)
    side = round(board.corner_mm * _BOARD_SCALE)
    for marker, (x, y) in board.corner_centres_mm.items():
        print_ = _printed(marker, side, dictionary)
        _stamp(pen.picture, print_, (x - low[0]) * _BOARD_SCALE, (high[1] - y) * _BOARD_SCALE)
    pen.text(board.width_mm / 2 - 6, -board.strip_mm / 2 - 2, "South", 4)
    pen.text(board.width_mm / 2 - 6, board.height_mm + board.strip_mm / 2 - 2, "North", 4)
    return Sheet(pen.picture, low, high)


def _stamp(picture: Bgr, print_: NDArray[np.uint8], x: float, y: float) -> None:
    """A square print with its middle at texture pixel (x, y)."""
    side = len(print_)
    left, top = round(x - side / 2), round(y - side / 2)
    picture[top : top + side, left : left + side] = print_


def _draw_zone(pen: _Pen, board: Board, deck: Deck, square: Square) -> None:
    """Where a fan begins, which way it grows, and beyond the zone the number of its lane."""
    seat = next((seat for seat, rank in deck.zones.items() if rank == square.rank), None)
    if seat is None:
        return
    x, middle = board.centre_mm(square)
    away = 1.0 if seat is Seat.SOUTH else -1.0
    edge = middle - away * board.depth_mm / 2
    first = edge + away * deck.height_mm / 2
    pen.lines(_rectangle(x, first, deck.width_mm / 2, deck.height_mm / 2), _INK, 0.3, closed=True)
    tip = edge + away * (board.depth_mm - 20)
    pen.lines([(x, tip - away * 60), (x, tip)], _INK, 0.8)
    pen.lines([(x - 8, tip - away * 10), (x, tip), (x + 8, tip - away * 10)], _INK, 0.8)
    pen.text(x - 4, edge - away * board.strip_mm / 2 - 5, str(square.file), 10)


def _draw_labels(pen: _Pen, board: Board) -> None:
    """Files beyond the strips, ranks on both sides."""
    for square in board.squares:
        x, y = board.centre_mm(square)
        if square.rank == 0:
            for line in (-board.strip_mm - 7.5, board.height_mm + board.strip_mm + 4):
                pen.text(x - 1.5, line, str(square)[0], 3.5)
        if square.file == 0:
            for line in (-7.0, board.width_mm + 2):
                pen.text(line, y - 1.5, str(square)[1:], 3.0)


def _draw_goals(pen: _Pen, kit: Kit) -> None:
    """The strips between the corner markers, lightly in the colour of who defends them, North's dotted."""
    board = kit.board
    reach, depth = board.corner_mm * 9 / 7 + 2, board.strip_mm - 4
    for seat, y in ((Seat.SOUTH, -board.strip_mm / 2), (Seat.NORTH, board.height_mm + board.strip_mm / 2)):
        tint = tuple(
            round(0.8 * paper + 0.2 * own) for paper, own in zip(_PAPER, bgr_of(kit.sides[seat].rgb), strict=True)
        )
        middle, half = board.width_mm / 2, board.width_mm / 2 - reach
        pen.fill(_rectangle(middle, y, half, depth / 2), (tint[0], tint[1], tint[2]))
        for column in range(round(2 * half / 6) if seat is Seat.NORTH else 0):
            for row in range(round(depth / 6)):
                pen.ring(reach + 3 + 6 * column, y - depth / 2 + 3 + 6 * row, 0.5, bgr_of(kit.sides[seat].rgb), 0.6)


def _draw_mark(pen: _Pen, kit: Kit, mark: Mark) -> None:
    board = kit.board
    (x, y), side = board.centre_mm(mark.square), board.square_mm
    colour = bgr_of(kit.sides[mark.seat].rgb) if mark.seat else _INK
    width = side * 0.06
    if mark.drawing == "wall":
        pen.fill(_rectangle(x, y, side / 2), _INK)
    elif mark.drawing.startswith(("start", "spawn")):
        for sx, sy in ((1, 1), (1, -1), (-1, -1), (-1, 1))[: 4 if mark.drawing.startswith("spawn") else 3]:
            far, near = side * 0.40, side * 0.24
            path = [(x + sx * far, y + sy * near), (x + sx * far, y + sy * far), (x + sx * near, y + sy * far)]
            pen.lines(path, _INK, width + 1)
            pen.lines(path, colour, width)
    elif mark.drawing == "base-n":
        for extra, ink in ((1.0, _INK), (0.0, colour)):
            r = side * 0.44
            pen.lines([(x, y + r), (x + r, y), (x, y - r), (x - r, y)], ink, width + extra, closed=True)
    else:
        pen.ring(x, y, side * 0.38, _INK, width + 1)
        pen.ring(x, y, side * 0.38, colour, width)


def _printed(marker: int, side: int, dictionary: str = DICTIONARY) -> NDArray[np.uint8]:
    """(side, side, 1): a marker in ink on paper."""
    print_ = cv2.resize(marker_modules(marker, dictionary), (side, side), interpolation=cv2.INTER_NEAREST)
    return np.asarray(np.maximum(print_, _INK[0])[..., None].clip(None, 243), dtype=np.uint8)


P = ParamSpec("P")


def _packed(most: int) -> Callable[[Callable[P, Bgr]], Callable[P, Bgr]]:
    """Keep the last so many pictures of a function packed: they have hardly more than two colours."""

    def keeping(draw: Callable[P, Bgr]) -> Callable[P, Bgr]:
        @lru_cache(maxsize=most)
        def packed(*args: P.args, **kwargs: P.kwargs) -> tuple[tuple[int, ...], bytes]:
            picture = draw(*args, **kwargs)
            return picture.shape, zlib.compress(picture.tobytes(), 1)

        @wraps(draw)
        def unpacked(*args: P.args, **kwargs: P.kwargs) -> Bgr:
            shape, pixels = packed(*args, **kwargs)  # type: ignore[arg-type]  # what names a picture is hashable
            return np.frombuffer(bytearray(zlib.decompress(pixels)), np.uint8).reshape(shape)

        return unpacked

    return keeping


def card_picture(card: Card, deck: Deck) -> Bgr:
    """The face of a card as it is printed: marker, value and suit, both large once more, the same turned by 180°."""
    return _card_picture(card, deck.width_mm, deck.height_mm, deck.marker_mm, deck.inset_mm)


@_packed(128)
def _card_picture(card: Card, width_mm: float, height_mm: float, marker_mm: float, inset_mm: float) -> Bgr:
    scale = _CARD_SCALE
    width, height, side, inset = (round(v * scale) for v in (width_mm, height_mm, marker_mm, inset_mm))
    half = np.full((height, width, 3), _PAPER, dtype=np.uint8)
    half[inset : inset + side, width - inset - side : width - inset] = _printed(card.marker, side, CARD_DICTIONARY)
    _write(half, f"{card.value}{card.suit}", inset, inset + round(10.3 * scale), 10.0 * scale)
    low = height // 2 - round(6 * scale)
    _write(half, card.value, width // 2 - round(14 * scale), low, 13.0 * scale / len(card.value))
    _write(half, card.suit, width // 2 + round(1.5 * scale), low, 13.0 * scale)
    half[height // 2 - round(0.5 * scale) : height // 2, inset + side : width - inset - side] = _INK
    whole = np.minimum(half, half[::-1, ::-1])
    cv2.rectangle(whole, (0, 0), (width - 1, height - 1), (120, 125, 125), max(1, round(0.2 * scale)))
    return whole


_AS_PRINTED, _HANGS = (1.0, "") if cv2.__version__.startswith("5") else (0.86, "#")
"""OpenCV 4 draws letters of its own: larger than those of a printed card, and this one hangs below the line."""


def _write(picture: Bgr, text: str, x: int, y: int, height: float) -> None:
    """Letters whose lower left corner lies at pixel (x, y)."""
    scale = _AS_PRINTED * height / 22
    thick = max(1, round(scale * 3.5))
    if _HANGS and _HANGS in text:
        y -= round(0.2 * height)
    write(picture, text, (x, y), scale, _INK, thick=thick)


@lru_cache(maxsize=4)
def back_picture(width_mm: float, height_mm: float) -> Bgr:
    """The common back of all cards: dark diagonal stripes in a white edge."""
    width, height, rim = (round(v * _CARD_SCALE) for v in (width_mm, height_mm, 2.0))
    back = np.full((height, width, 3), _PAPER, dtype=np.uint8)
    row, column = np.mgrid[rim : height - rim, rim : width - rim]
    striped = ((row + column) // round(7 * _CARD_SCALE)) % 2 == 0
    back[rim : height - rim, rim : width - rim] = np.where(striped[..., None], _INK, (57, 67, 74))
    return back


@lru_cache(maxsize=512)
@_packed(512)
def top_picture(
    marker: int,
    rgb: str,
    size: tuple[float, float],
    letter: str = "",
    *,
    name: str = "",
    lies: bool = False,
    dictionary: str = DICTIONARY,
) -> Bgr:
    """The top of a piece, of a width and depth in sides of its marker: rim, white tag, marker, a letter on all sides.

    With a name that stands, and a blot for its sign, on the sides of both players. One that `lies` has a white rim and
    its letters turned by a right angle.
    """
    side, white = 100, 129
    width, depth = (max(white + 2, round(part * side)) for part in size)
    colour = bgr_of(rgb)
    top = np.full((depth, width, 3), _PAPER if lies else colour, dtype=np.uint8)
    if lies:
        cv2.rectangle(top, (0, 0), (width - 1, depth - 1), colour, 8)
    if letter and width == depth:
        ink = _PAPER if sum(colour) < 380 and not lies else _INK
        rim = (min(width, depth) - white) // 2
        words = (f"* {name}", letter) * 2 if name else (letter,) * 4
        _write_rim(top, words, rim, ink, turns=1 if lies else 0)
    paper, print_ = np.full((white, white, 3), _PAPER, np.uint8), _printed(marker, side, dictionary)
    for extent, picture in ((white, paper), (side, print_)):
        left, upper = (width - extent) // 2, (depth - extent) // 2
        top[upper : upper + extent, left : left + extent] = picture
    return top


def _write_rim(top: Bgr, words: Sequence[str], rim: int, ink: tuple[int, int, int], turns: int) -> None:
    """Write into the middle of each side, to be read from there; `turns` right angles counter-clockwise."""
    if rim < 10:
        return
    for text in words:
        scale = (0.7 if len(text) < 3 else 0.55) * rim / 22
        wide, high = size_px(text, scale, max(1, round(2.5 * scale)))
        plate = np.full((rim, max(wide + 4, rim * min(len(text), 2)), 3), top[rim // 2, rim // 2], dtype=np.uint8)
        at = (plate.shape[1] - wide) // 2, (rim + high) // 2
        write(plate, text, at, scale, ink, thick=max(1, round(2.5 * scale)))
        plate = np.rot90(plate, turns)[:, : top.shape[1]]
        high, wide = plate.shape[:2]
        left = (top.shape[1] - wide) // 2
        top[top.shape[0] - high :, left : left + wide] = plate
        top[:] = np.rot90(top)
