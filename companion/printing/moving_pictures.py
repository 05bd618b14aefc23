"""A game as a moving picture to be shared: the board through the game, in the drawings of pages and sheets, and beside
it what the camera saw.

Says nothing in any language: names, turns as figures, and at the end the sign beside whoever has won.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from companion.core.drawings import SIGN
from companion.core.grid import Square
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.screen import Badge, Lane, Pile
from companion.printing.sprites import INK, Picture, drawing, faded, printed_on, put, rgb_of, word

WIDTH_PX, BOARD_PX = 480, 520
"""Of the picture, and at most of its board's height."""
_HEAD, _EDGE = 44, 12
_PAPER, _TILE, _TILE_2, _INK_2, _WELL = "#F4EEE1", "#FFFBF2", "#EFE7D6", "#51493F", "#E6DDCA"
_HATCH = "#4A4339"
_ROOM, _GOAL = 44.0, 54.0
_SHOWN_CARDS = 5
_COLOURS = 96
_QUALITY = 70
_PHOTOGRAPH_SHAPE = 1.0
"""Width by height of the place for photographs."""


@dataclass(frozen=True)
class Leaf:
    """One picture of the game: the board, or the lanes of a game of cards; `caption` is a few figures."""

    caption: str
    layout: Layout = field(default_factory=dict)
    came_from: frozenset[Square] = frozenset()
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    figure: str = ""
    """Drawn large where there is neither board nor lane."""
    winners: frozenset[Seat] = frozenset()
    photograph: bytes = b""
    """The table, as JPEG; empty: as in the picture before."""


def share_webp(kit: Kit, names: Mapping[Seat, str], leaves: Sequence[Leaf], frame_ms: int, last_ms: int) -> bytes:
    """As `share_gif`, with the photographs beside the board; WebP keeps their colours in a tenth of the room."""
    from PIL import Image  # noqa: PLC0415 - only pictures of games need it

    artist = _Artist(kit, names)
    beside = _Beside(artist.height if any(leaf.photograph for leaf in leaves) else 0)
    pictures = [Image.fromarray(beside.put(artist.picture(leaf), leaf.photograph)) for leaf in leaves]
    file = io.BytesIO()
    pictures[0].save(
        file,
        "WEBP",
        save_all=True,
        append_images=pictures[1:],
        duration=[frame_ms] * (len(pictures) - 1) + [last_ms],
        loop=0,
        quality=_QUALITY,
        method=0,
    )
    return file.getvalue()


class _Beside:
    """The place for photographs at the right of the board, so many pixels high (0: none); each stays until the next."""

    def __init__(self, height: int) -> None:
        self._ground = np.full(
            (height, round(height * _PHOTOGRAPH_SHAPE) if height else 0, 3), rgb_of(_PAPER), np.uint8
        )

    def put(self, picture: Picture, photograph: bytes) -> Picture:
        """The picture with the photograph beside it; one that cannot be read is left out."""
        height, width = self._ground.shape[:2]
        if not height:
            return picture
        seen = cv2.imdecode(np.frombuffer(photograph, np.uint8), cv2.IMREAD_COLOR) if photograph else None
        if seen is not None:
            room = height - 2 * _EDGE, width - _EDGE
            scale = min(room[0] / seen.shape[0], room[1] / seen.shape[1])
            small = cv2.resize(seen, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            self._ground[:] = rgb_of(_PAPER)
            top, left = (height - small.shape[0]) // 2, (width - _EDGE - small.shape[1]) // 2
            self._ground[top : top + small.shape[0], left : left + small.shape[1]] = small[..., ::-1]
        return np.hstack([picture, self._ground])


def share_gif(kit: Kit, names: Mapping[Seat, str], leaves: Sequence[Leaf], frame_ms: int, last_ms: int) -> bytes:
    """The leaves one after the other as a GIF that begins anew; the last one stays for `last_ms`."""
    from PIL import Image  # noqa: PLC0415 - only pictures of games need it

    artist = _Artist(kit, names)
    pictures = [Image.fromarray(artist.picture(leaf)) for leaf in leaves]
    half = len(pictures) // 2
    both = Image.new("RGB", (pictures[0].width, 3 * pictures[0].height))
    for place, picture in enumerate((pictures[0], pictures[half], pictures[-1])):
        both.paste(picture, (0, place * picture.height))
    palette = both.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    plain = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    file = io.BytesIO()
    plain[0].save(
        file,
        "GIF",
        save_all=True,
        append_images=plain[1:],
        duration=[frame_ms] * (len(plain) - 1) + [last_ms],
        loop=0,
        optimize=False,
    )
    return file.getvalue()


class _Artist:
    """Draws the leaves of one game; what never changes is drawn once."""

    def __init__(self, kit: Kit, names: Mapping[Seat, str]) -> None:
        self.kit, self.board = kit, kit.board
        self._names = names
        pitch = 100 * self.board.pitch_mm / self.board.square_mm
        self._pitch = pitch
        self._across = pitch * (self.board.files - 1) + 100
        self._along = pitch * (self.board.ranks - 1) + 100
        inside = self.board.labels_in_squares
        self._room = 0.0 if inside else _ROOM
        self._goal = _GOAL if self.board.has_goals else 0.0
        self._scale = min(
            (WIDTH_PX - 2 * _EDGE) / (self._across + self._room),
            BOARD_PX / (self._along + self._room + 2 * self._goal),
        )
        if kit.deck:
            self.height = _HEAD + 430
        else:
            self.height = _HEAD + 2 * _EDGE + round(self._scale * (self._along + self._room + 2 * self._goal))
        self._left = (WIDTH_PX - self._scale * (self._across - self._room)) / 2
        self._top = _HEAD + _EDGE + self._goal * self._scale
        self._ground: Picture | None = None

    def picture(self, leaf: Leaf) -> Picture:
        """One leaf, (height, width, 3)."""
        if self._ground is None:
            self._ground = self._blank() if self.kit.deck else self._drawn_ground()
        picture = self._ground.copy()
        self._head(picture, leaf)
        if leaf.lanes:
            _Lanes(picture).draw(leaf.lanes)
        elif self.kit.deck:
            put(picture, word(leaf.figure, 150), WIDTH_PX / 2, self.height / 2)
        else:
            self._traces(picture, leaf)
            self._pieces(picture, leaf)
        return picture

    def _blank(self) -> Picture:
        return np.full((self.height, WIDTH_PX, 3), rgb_of(_PAPER), np.uint8)

    def _head(self, picture: Picture, leaf: Leaf) -> None:
        """Both sides with their names, the winner's on the yellow of the sign, and the turn at the right."""
        caption = word(leaf.caption, 17)
        put(picture, caption, WIDTH_PX - _EDGE - caption.shape[1] / 2, 22)
        x, room = float(_EDGE), (WIDTH_PX - caption.shape[1] - 3 * _EDGE) / 2
        for seat in SEATS:
            side = self.kit.sides[seat]
            name = self._fitting(self._names.get(seat, ""), room - 36)
            width = 34 + (name.shape[1] + 6 if name is not None else 0)
            if seat in leaf.winners:
                picture[6:38, round(x) - 4 : round(x) + width] = rgb_of(SIGN)
            put(picture, drawing(side.drawing, side.rgb, 26), x + 13, 21)
            if name is not None:
                put(picture, name, x + 32 + name.shape[1] / 2, 22)
            x += width + 10
        picture[_HEAD - 4 : _HEAD - 2, _EDGE:-_EDGE] = rgb_of(INK)

    @staticmethod
    def _fitting(name: str, room: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None:
        """A name that is cut to its room."""
        if not name:
            return None
        while len(name) > 2 and word(name, 15).shape[1] > room:
            name = name[:-2].rstrip(" …") + "…"
        return word(name, 15)

    # ---- the board ----

    def _at(self, square: Square) -> tuple[float, float]:
        """The middle of a square in the picture."""
        x = self._left + self._scale * (square.file * self._pitch + 50)
        return x, self._top + self._scale * ((self.board.ranks - 1 - square.rank) * self._pitch + 50)

    def _px(self, size: float) -> int:
        return max(2, round(self._scale * size))

    def _drawn_ground(self) -> Picture:
        picture, board = self._blank(), self.board
        for seat in SEATS if board.has_goals else ():
            self._goal_of(picture, seat)
        half = self._scale * 50
        for square in board.squares:
            x, y = self._at(square)
            tone = _TILE_2 if board.tones == 2 and (square.file + square.rank) % 2 == 0 else _TILE
            corners = (round(x - half), round(y - half)), (round(x + half), round(y + half))
            cv2.rectangle(picture, *corners, rgb_of(tone), -1)
            cv2.rectangle(picture, *corners, rgb_of(INK), 1, cv2.LINE_AA)
        if not board.gap_mm:
            first, last = self._at(Square(0, board.ranks - 1)), self._at(Square(board.files - 1, 0))
            low = (round(first[0] - half) - 1, round(first[1] - half) - 1)
            high = (round(last[0] + half) + 1, round(last[1] + half) + 1)
            cv2.rectangle(picture, low, high, rgb_of(INK), 2, cv2.LINE_AA)
        for mark in board.marks:
            fill = self.kit.sides[mark.seat].rgb if mark.seat else INK
            put(picture, drawing(mark.drawing, fill, self._px(100)), *self._at(mark.square))
        self._labels(picture)
        return picture

    def _goal_of(self, picture: Picture, seat: Seat) -> None:
        """The strip behind a seat's last rank: plain for South, dotted for North."""
        height, side = self._goal * self._scale, self.kit.sides[seat]
        y = self._top + self._scale * self._along if seat is Seat.SOUTH else self._top - height
        x0, x1 = round(self._left), round(self._left + self._scale * self._across)
        cv2.rectangle(picture, (x0, round(y)), (x1, round(y + height)), rgb_of(side.rgb), -1)
        if seat is Seat.NORTH:
            for x in range(x0 + 5, x1, 7):
                for row in range(round(y) + 4, round(y + height), 7):
                    cv2.circle(picture, (x, row), 1, rgb_of(printed_on(side.rgb)), -1, cv2.LINE_AA)
        cv2.rectangle(picture, (x0, round(y)), (x1, round(y + height)), rgb_of(INK), 2, cv2.LINE_AA)

    def _labels(self, picture: Picture) -> None:
        board = self.board
        if board.labels_in_squares:
            for square in board.squares:
                if square not in board.holes:
                    x, y = self._at(square)
                    name = word(str(square), self._px(15), _INK_2)
                    put(picture, name, x - self._scale * 42 + name.shape[1] / 2, y - self._scale * 38)
            return
        below = self._top + self._scale * (self._along + self._goal + 26)
        for file in range(board.files):
            put(picture, word(chr(97 + file), self._px(28), _INK_2), self._at(Square(file, 0))[0], below)
        for rank in range(board.ranks):
            _, y = self._at(Square(0, rank))
            put(picture, word(str(rank + 1), self._px(28), _INK_2), self._left - self._scale * 26, y)

    def _traces(self, picture: Picture, leaf: Leaf) -> None:
        """Two dots where a piece has come from."""
        for square in leaf.came_from:
            x, y = self._at(square)
            for across in (-12, 12):
                spot = (round(x + self._scale * across), round(y + self._scale * 38))
                cv2.circle(picture, spot, max(2, round(self._scale * 7)), rgb_of(INK), -1, cv2.LINE_AA)

    # ---- pieces ----

    def _pieces(self, picture: Picture, leaf: Leaf) -> None:
        """What covers several squares first, then every stack from the back to the front."""
        big: dict[str, list[Square]] = {}
        for square, faces in leaf.layout.items():
            for name in faces:
                if self.kit.face(name).size != (1, 1):
                    big.setdefault(name, []).append(square)
        for name, squares in big.items():
            self._big(picture, name, [self._at(square) for square in squares])
        for square in sorted(leaf.layout, key=lambda square: -square.rank):
            small = [name for name in leaf.layout[square] if name not in big]
            self._stack(picture, small, *self._at(square), leaf.badges.get(square))

    def _stack(self, picture: Picture, names: Sequence[str], x: float, y: float, badge: Badge | None) -> None:
        standing = [name for name in names if not self.kit.face(name).carried]
        carried = [name for name in names if self.kit.face(name).carried]
        has_bar = badge is not None and badge.share is not None
        size, lift = (64.0, -9.0) if has_bar else (74.0, 2.0)
        low, step = 6.0 * (len(standing) - 1), 12.0
        for level, name in enumerate(standing):
            at = x + self._scale * (step * level - low), y + self._scale * (lift + low - step * level)
            self._piece(picture, name, *at, size)
        for place, name in enumerate(carried):
            spot = (4.0 + 8 * place, 3.0) if not standing else (33.0 - 14 * place, -31.0)
            self._piece(
                picture, name, x + self._scale * spot[0], y + self._scale * spot[1], 52.0 if not standing else 46.0
            )
        if badge is not None and badge.share is not None:
            self._bar(picture, badge.share, x, y)

    def _piece(self, picture: Picture, name: str, x: float, y: float, size: float) -> None:
        face = self.kit.face(name)
        fill = self.kit.sides[face.seat].rgb if face.seat else _TILE
        stamp = drawing(face.drawing, _TILE if face.lies else fill, self._px(size), face=_TILE if face.lies else "")
        put(picture, faded(stamp, 0.8) if face.lies else stamp, x, y)
        if face.letter:
            ink = INK if face.lies else printed_on(fill)
            letter = word(face.letter, self._px(size * (0.5 if len(face.letter) == 1 else 0.4)), ink)
            put(picture, np.rot90(letter, -1) if face.lies else letter, x, y)

    def _big(self, picture: Picture, name: str, centres: Sequence[tuple[float, float]]) -> None:
        """One that covers several squares, upright unless it lies across, with its owner's shape on it."""
        face = self.kit.face(name)
        xs, ys = [x for x, _ in centres], [y for _, y in centres]
        cell = 100 * self._scale
        width, height = max(xs) - min(xs) + cell, max(ys) - min(ys) + cell
        x, y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
        is_square = face.size[0] == face.size[1]
        size = round(max(width, height) if is_square else 2 * max(cell, min(width, height)))
        stamp = drawing(face.drawing, self.kit.sides[face.seat].rgb if face.seat else _TILE, size)
        put(picture, np.rot90(stamp, -1) if width > height else stamp, x, y)
        if face.seat:
            side = self.kit.sides[face.seat]
            put(picture, drawing(side.drawing, side.rgb, self._px(34)), x + 8 * self._scale, y + 14 * self._scale)

    def _bar(self, picture: Picture, share: float, x: float, y: float) -> None:
        """What a piece has left, in five parts below it."""
        filled = max(0.0, min(1.0, share)) * 5
        for part in range(5):
            left, top = x + self._scale * (16 * part - 38.5), y + self._scale * 32
            right, bottom = left + self._scale * 11, top + self._scale * 12
            inside = max(0.0, min(1.0, filled - part))
            cv2.rectangle(picture, (round(left), round(top)), (round(right), round(bottom)), rgb_of(INK), 1)
            if inside:
                end = (round(left + inside * (right - left)), round(bottom))
                cv2.rectangle(picture, (round(left), round(top)), end, rgb_of(INK), -1)


class _Lanes:
    """Lanes of a game of cards: North's stack above, the deck between, South's below; backs are the shutter."""

    TOP, DECK, BOTTOM = 76, 244, 306
    STEP = 32

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    def draw(self, lanes: Sequence[Lane]) -> None:
        """All of them, side by side."""
        width = (WIDTH_PX - 2 * _EDGE) / len(lanes)
        for place, lane in enumerate(lanes):
            x, half = _EDGE + width * (place + 0.5), round(width / 2 - 4)
            put(self._picture, word(lane.name, 18), x, 60)
            for top in (self.TOP, self.BOTTOM):
                corners = (round(x) - half, top), (round(x) + half, top + 160)
                cv2.rectangle(self._picture, *corners, rgb_of(_WELL), -1)
            self._stack(lane.north, x, half, self.TOP + 16)
            self._stack(lane.south[::-1], x, half, self.BOTTOM + 16)
            corners = (round(x) - half, self.DECK), (round(x) + half, self.BOTTOM - 10)
            cv2.rectangle(self._picture, *corners, rgb_of(INK), 2)
            put(self._picture, word(str(len(lane.deck)), 22), x, (self.DECK + self.BOTTOM - 10) / 2)

    def _stack(self, pile: Pile, x: float, half: int, y: int) -> None:
        """Cards from above to below; what has no room is counted."""
        shown = list(pile)
        if len(shown) > _SHOWN_CARDS:
            shown = shown[: _SHOWN_CARDS - 1]
            put(self._picture, word(f"+{len(pile) - len(shown)}", 16), x, y + self.STEP * (_SHOWN_CARDS - 1))
        for place, card in enumerate(shown):
            self._card(card, x, half, y + self.STEP * place)

    def _card(self, card: str | None, x: float, half: int, y: int) -> None:
        low, high = (round(x) - half + 4, y - 13), (round(x) + half - 4, y + 13)
        cv2.rectangle(self._picture, low, high, rgb_of(_TILE if card else INK), -1)
        if card is None:
            for start in range(low[0] - 26, high[0], 12):
                part = self._picture[low[1] : high[1], low[0] : high[0]]
                cv2.line(part, (start - low[0], 26), (start - low[0] + 26, 0), rgb_of(_HATCH), 4, cv2.LINE_AA)
        else:
            put(self._picture, word(card, 17), x, y)
        cv2.rectangle(self._picture, low, high, rgb_of(INK), 2, cv2.LINE_AA)
