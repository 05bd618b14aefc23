"""Measure how soon the reader has read a board again after each event of a game.

A hand comes over a square, does something there and goes. The first picture without the hand still
differs from the picture before. From then on nothing changes: the pictures are *quiet*. After each
event two quiet pictures are taken. In the first of them, or for some kinds of events in the second,
the board has to be *settled*: read completely, and without a mistake.

In a rough game, light and noise also change from picture to picture.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from bench.reading.ground_truth import prints_of
from bench.reading.pictures import is_readable, print_verdict, tops_of, wrong_entries
from bench.reading.scenery import change_view
from bench.reading.scenes import (
    CONDITIONS,
    default_kits,
    ordinary_view,
    piece_kits,
    random_layout,
    random_nudge,
)
from bench.reading.sensors import Room, Sensor
from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Frame, Reading
from companion.printing.printed_kit import printed_table
from vision.reading.board_reader import make_board_reader
from vision.simulation.view import CameraView

# Numbers of games, and of rough games under each condition.
GAMES_PLAYED = 15
ROUGH_GAMES = 10
# In which quiet picture a board has to be settled, by the kind of the event. After an event of
# another kind it has to be settled in the first one.
SETTLED_BY = {"take": 2, "start": 2}
# Least share of the readable pieces that are right, in all pictures.
MIN_RIGHT = 0.995
# Least share of the boards that are settled in time, in all games and in rough ones.
MIN_SETTLED = 0.99
MIN_SETTLED_ROUGH = 0.95
# JPEG quality of the rough games `jpeg`, as in the condition `jpeg` at severity 3.
_JPEG_QUALITY = 25
_QUIET_PICTURES = 2
_FRAME_S = 0.2
# Difficulties that the games have in turn. Rough games have others.
_DIFFICULTIES: tuple[dict[str, Any], ...] = (
    {},
    {"light": 0.35, "noise": 4.0},
    {"tilt_deg": 44.0},
    {"defocus_px": 1.2},
    {"jpeg_quality": 45, "noise": 2.0},
    {"blind_shadow": (30.0, 18.0, 0.4)},
    {"cast_bgr": (0.5, 0.8, 1.05), "vignette": 0.4},
    {"wear": 0.5, "curl_mm": 1.5},
    {"flicker": 0.04},
)


class BenchGame:
    """A game: a table, the reader that reads it, and the counts of what was read.

    `condition` is the condition of a rough game (`jpeg` or `mixed`), or an empty string.
    """

    def __init__(self, number: int, condition: str) -> None:
        # numbers of readable pieces and those read right, in all pictures, and of boards after
        # events and those settled in time
        self.pieces = self.right = self.boards = self.settled = 0
        self.faults: list[str] = []
        """What was read wrongly in quiet pictures."""
        self._rng = rng = Random(f"{condition}game-{number}")
        self._kit = piece_kits()[number % len(piece_kits())]
        view = ordinary_view(rng)
        self._sensor: Sensor | None = None
        if condition:
            view, room = _rough_view(condition, number, self._kit, view, rng)
            self._sensor = Sensor(room, number)
        else:
            view = change_view(view, _DIFFICULTIES[number % len(_DIFFICULTIES)])
        self.table = printed_table(self._kit, view)
        self.table.set_up(random_layout(self._kit, rng, 0.4, 0.7))
        self._reader = make_board_reader({**default_kits(), self._kit.game: self._kit})
        self._frames = 0
        # squares that the last event has changed
        self._touched: set[Square] = set()

    def play(self) -> None:
        """Play one event of each kind in random order, and a second move, in some 35 pictures."""
        self._settle("start")
        events = [
            self._move,
            self._put,
            self._take,
            self._capture,
            self._flip,
            self._rest,
            self._bump,
            self._lamp,
        ]
        events.append(self._move)
        self._rng.shuffle(events)
        for event in events:
            self._touched = set()
            kind = event()
            if kind:
                self._settle(kind)

    # ---- events: each returns its kind, or an empty string if it is impossible ----

    def _move(self, on_board: bool = True) -> str:
        """Move a piece to a free square, from another square or from beside the board."""
        piece, square = self._choose_piece(on_board=on_board)
        target = self._choose_free_square()
        if piece is None or target is None:
            return ""
        if square is not None:
            self._show_hand(square)
        self._put_down(piece, target)
        self._show_hand(target)
        self._touched = {target if square is None else square, target}
        return "move"

    def _put(self) -> str:
        """Put a piece from beside the board on a free square."""
        return self._move(on_board=False)

    def _take(self) -> str:
        """Take a piece off the board."""
        piece, square = self._choose_piece(on_board=True)
        if piece is None or square is None:
            return ""
        self.table.take_off(piece)
        self._show_hand(square)
        self._touched = {square}
        return "take"

    def _flip(self) -> str:
        """Turn a piece over."""
        piece, square = self._choose_piece(on_board=True, two_faced=True)
        if piece is None or square is None:
            return ""
        self.table.flip(piece)
        self._show_hand(square)
        self._touched = {square}
        return "flip"

    def _capture(self) -> str:
        """Take a piece away and put another one in its place, with one hand."""
        captured, target = self._choose_piece(on_board=True)
        piece, square = self._choose_piece(on_board=True)
        if captured is None or piece is None or target is None or square is None:
            return ""
        if piece == captured:
            return ""
        self.table.take_off(captured)
        self._show_hand(target)
        self._put_down(piece, target)
        self._show_hand(square)
        self._touched = {square, target}
        return "capture"

    def _rest(self) -> str:
        """Rest a hand on the board for four pictures."""
        square = self._rng.choice(self._kit.board.squares)
        for _ in range(4):
            self._show_hand(square)
        return "rest"

    def _bump(self) -> str:
        """Push and turn the whole board a little, as if somebody bumped into it."""
        view = self.table.view
        shift = self._rng.uniform(-8, 8), self._rng.uniform(-8, 8)
        board_turn_deg = view.board_turn_deg + self._rng.uniform(-2, 2)
        self.table.set_view(replace(view, shift_mm=shift, board_turn_deg=board_turn_deg))
        return "bump"

    def _lamp(self) -> str:
        """Change the light of the room."""
        self.table.set_view(
            replace(self.table.view, light=self.table.view.light * self._rng.choice((0.7, 1.25)))
        )
        return "lamp"

    def _put_down(self, piece: int, target: Square) -> None:
        """Put a piece down, not quite in the middle and not quite straight."""
        self.table.move_to(piece, target)
        face = next(lying.face for lying in self.table.pieces() if lying.id == piece)
        x_mm, y_mm, turn_deg = random_nudge(self._kit, face, self._rng)
        self.table.nudge(piece, x_mm, y_mm)
        self.table.turn(piece, turn_deg)

    def _show_hand(self, square: Square | None) -> None:
        self.table.hold_hand(square)
        self._read_picture()

    def _choose_piece(
        self, *, on_board: bool, two_faced: bool = False
    ) -> tuple[int | None, Square | None]:
        """Choose a random piece that takes one square. Return its id and its square.

        Both are None if there is no such piece. The square is None for one beside the board.
        """
        two_faced_kinds = {names[0] for names in self._kit.pieces if len(names) > 1}
        candidates = [
            (piece.id, piece.square)
            for piece in self.table.pieces()
            if (piece.square is not None) is on_board
            and self._kit.face(piece.face).size == (1, 1)
            and (not two_faced or self._kit.kind(piece.face) in two_faced_kinds)
        ]
        return self._rng.choice(candidates) if candidates else (None, None)

    def _choose_free_square(self) -> Square | None:
        taken = {
            square for print_ in prints_of(self.table) for square in print_.squares
        } | self._kit.board.holes
        return self._rng.choice(
            [square for square in self._kit.board.squares if square not in taken] or [None]
        )

    # ---- judging ----

    def _settle(self, kind: str) -> None:
        """Take the hand away, and note whether the board is settled in time."""
        self.table.hold_hand(None)
        self._read_picture()
        settled = [self._is_right(self._read_picture()) for _ in range(_QUIET_PICTURES)]
        self.boards += 1
        self.settled += any(settled[: SETTLED_BY.get(kind, 1)])

    def _read_picture(self) -> Reading:
        """Take a picture, read it, and count the readable pieces that are read right.

        If the reader takes the picture for quiet, note what is read wrongly.
        """
        self._frames += 1
        luma = self.table.render_luma()
        luma = self._sensor.frame(luma) if self._sensor else luma
        reading = self._reader.read(Frame(luma, self._frames * _FRAME_S, self._frames))
        prints = prints_of(self.table)
        for print_ in prints:
            if print_.squares and is_readable(print_):
                reported = {reading.seen.get(square) for square in print_.squares}
                self.pieces += 1
                self.right += reported == {print_.face}
        if reading.quiet:
            self.faults += wrong_entries(reading, prints, self._kit)
        return reading

    def _is_right(self, reading: Reading) -> bool:
        """Return whether the board is settled in a quiet picture.

        All readable pieces and all squares that the last event has changed must be read, and
        nothing wrongly.
        """
        tops = tops_of(prints_of(self.table))
        faces = {square: print_.face for square, print_ in tops.items()}
        readable = {square for square, print_ in tops.items() if is_readable(print_)}
        is_true = all(faces.get(square) == face for square, face in reading.seen.items())
        is_complete = readable <= set(reading.seen) and not self._touched & reading.unknown
        return reading.quiet and is_true and is_complete


def _rough_view(
    condition: str, number: int, kit: Kit, view: CameraView, rng: Random
) -> tuple[CameraView, Room]:
    """Return the view of a rough game, and its room, in which light and noise change all the time.

    What changes is therefore removed from the view. The games of `mixed` have its four severities
    in turn.
    """
    if condition == "jpeg":
        return replace(view, noise=0.0), Room(noise=rng.uniform(1.0, 4.0), quality=_JPEG_QUALITY)
    view = change_view(view, CONDITIONS[condition](1 + number % 4, kit, rng))
    room = Room(
        noise=view.noise,
        quality=view.jpeg_quality,
        flicker=rng.uniform(0, 0.05),
        bands=view.flicker,
        beat=rng.uniform(0.02, 0.98),
        jitter=0.01,
    )
    return replace(view, noise=0.0, jpeg_quality=None, flicker=0.0), room


def bench_games(quick: bool) -> bool:
    """Play games in front of the reader, and return whether every bar is kept."""
    good = True
    for name, condition, game_count, min_settled in (
        ("games", "", GAMES_PLAYED, MIN_SETTLED),
        ("rough games, jpeg", "jpeg", ROUGH_GAMES, MIN_SETTLED_ROUGH),
        ("rough games, mixed", "mixed", ROUGH_GAMES, MIN_SETTLED_ROUGH),
    ):
        games = [BenchGame(number, condition) for number in range(1 if quick else game_count)]
        for game in games:
            game.play()
        faults = [fault for game in games for fault in game.faults]
        boards, settled = sum(game.boards for game in games), sum(game.settled for game in games)
        figures = (
            f"{settled} of {boards} in time (at least {min_settled:.0%}), wrong: {faults or 'none'}"
        )
        good &= print_verdict(
            f"{name}, boards settled", settled >= min_settled * boards and not faults, figures
        )
        if not condition:
            pieces, right = sum(game.pieces for game in games), sum(game.right for game in games)
            figures = f"{right} of {pieces} right (at least {MIN_RIGHT:.1%})"
            good &= print_verdict(
                "games, pieces in all pictures", right >= MIN_RIGHT * pieces, figures
            )
    return good
