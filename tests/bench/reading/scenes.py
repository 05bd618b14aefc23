"""Helpers: scenes in which a board is hard to read, each under one condition.

A scene has a name, such as `tilt-3-2` (condition, severity, number), and is the same in every run.
All pictures are 1080p, on tables of every kind. Each condition has the severities 1 to 4:

- *clean*: tables with busier and busier patterns, and at severity 4 a wide lens.
- *defocus*: a Gaussian blur of 1 to 4 px (its sigma).
- *motion*: a motion blur as wide as that of the defocus.
- *small*: 4 to 2.4 px for a module of a marker.
- *tilt*: 25, 36, 47 and 55 degrees.
- *low light*: a half to a fifth of the light, with noise of 3.5 to 8.
- *jpeg*: quality 60 to 15.
- *glare*: a lamp that the board reflects.
- *colour cast*: light like that of a candle, the sky or a party.
- *hand*: a hand over the board, which reaches farther in at each severity.
- *shadow*: a soft shadow, a hard edge, both, and the stripes of a window blind.
- *worn*: scratches, faded ink and curled sides.
- *mixed*: a little of everything.
- *half*: a board that fills less and less of the picture, with pieces turned freely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from table_pictures import rendered_table

from bench.reading.ground_truth import Print, prints_of
from bench.reading.scenery import TABLES, change_view
from companion.core.grid import Square
from companion.core.kit import LOOSE_MM, Kit, Layout
from companion.games import GAMES
from vision.simulation.table import SimulatedTable
from vision.simulation.view import CameraView, Glare, Shadow

SEVERITIES = (1, 2, 3, 4)
# A marker must be read if a module is at least this wide along its shortest side. That side then
# has 16 px, and at best 99 % of such markers can be read.
READABLE_MODULE_PX = 2.3
# If a reflection adds this brightness, of 255, black looks white, and the marker need not be read.
READABLE_VEIL = 200.0
# Number of scenes of each condition and severity.
SCENES_EACH = 4

# Width of a module of the marker of medium size in `small`, by severity.
_MODULE_PX = (4.0, 3.2, 2.7, 2.4)
_TILTS_DEG = (25.0, 36.0, 47.0, 55.0)
# A motion blur of this many px is as wide as a defocus of 1 px (the sigma of a Gaussian) at half
# its height.
_MOTION_PX_PER_SIGMA = 2.35
# Least number of corner markers that a hand leaves in sight. With fewer, a board cannot be located.
_MIN_CORNERS = 2
# Share of the scenes in which one piece lies on another, in games that have stacks.
_STACK_SHARE = 0.4
# For each game that has stacks: whether a piece that joins another one lies on top of it.
_STACKING = {"outbuffered": False, "scouts": True, "kahmate": True}
# Heights of pieces, which scenes have in turn. None stands for the heights of the kit.
_HEIGHTS_MM = (None, 2.0, None, 10.0)


@dataclass(frozen=True)
class Scene:
    """A picture to take: pieces on a board, a camera in some light, and perhaps a hand."""

    name: str
    kit: Kit
    layout: Layout
    view: CameraView
    nudges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """How far each face lies off the middle of its square: x mm, y mm, degrees."""
    hand: Square | None = None
    """The square over which a hand is held."""

    def picture(self) -> tuple[NDArray[np.uint8], tuple[Print, ...]]:
        """Return what the camera sees, (height, width), and every marker on the table."""
        table = self.table()
        return table.render_luma(), prints_of(table)

    def table(self) -> SimulatedTable:
        """Return the simulated table of the scene."""
        table = rendered_table(self.kit, self.view)
        table.set_up(self.layout)
        for piece in table.pieces():
            if piece.square is not None:
                x, y, degrees = self.nudges.get(piece.face, (0.0, 0.0, 0.0))
                table.nudge(piece.id, x, y)
                table.turn(piece.id, piece.turn_deg + degrees)
        table.hold_hand(self.hand)
        return table


def make_scene(name: str) -> Scene:
    """Make the scene with this name, such as `tilt-3-2`."""
    condition, severity, number = name.rsplit("-", 2)
    rng = Random(name)
    # neighbouring scenes have different boards and heights
    kits, offset = piece_kits(), list(CONDITIONS).index(condition)
    kit = kits[(int(number) + int(severity) + offset) % len(kits)]
    height = _HEIGHTS_MM[(int(number) + int(severity)) % len(_HEIGHTS_MM)]
    if height is not None:
        kit = replace(kit, faces=tuple(replace(face, height_mm=height) for face in kit.faces))
    layout = random_layout(kit, rng)
    layout = _stack_two(kit, layout, rng) if rng.random() < _STACK_SHARE else layout
    nudges = {face: random_nudge(kit, face, rng) for faces in layout.values() for face in faces}
    view = ordinary_view(rng)
    changes = CONDITIONS[condition](int(severity), kit, rng)
    # three of the changes are not those of a view
    hand_squares: list[Square] = changes.pop("hand", [])
    module_px = changes.pop("module_px", None)
    if changes.pop("freely", False):
        nudges = {
            face: (x, y, rng.uniform(0, 360)) if kit.face(face).size == (1, 1) else (x, y, turn)
            for face, (x, y, turn) in nudges.items()
        }
    view = change_view(view, changes)
    if module_px is not None:
        view = _move_camera_away(kit, layout, view, module_px)
    scene = Scene(name, kit, layout, view, nudges)
    if not hand_squares:
        return scene
    return replace(scene, hand=_choose_hand_square(scene.table(), hand_squares))


def _choose_hand_square(table: SimulatedTable, squares: Sequence[Square]) -> Square:
    """Return the first square over which a hand leaves two corner markers in sight.

    If there is none, return the last square.
    """
    for square in squares:
        table.hold_hand(square)
        corners = [print_ for print_ in prints_of(table) if print_.face is None]
        if sum(corner.visible_share == 1 for corner in corners) >= _MIN_CORNERS:
            return square
    return squares[-1]


@lru_cache(maxsize=1)
def default_kits() -> Mapping[str, Kit]:
    """Return the kits of all games with their default options."""
    return {name: game.kit(game.options({})) for name, game in GAMES.items()}


def piece_kits() -> tuple[Kit, ...]:
    """Return the kits of all games with pieces, and one more whose board has walls."""
    outbuffered = GAMES["outbuffered"]
    walls = next(value for label, value in outbuffered.option_rows[0].choices if label == "Walls")
    kits = (*default_kits().values(), outbuffered.kit(outbuffered.options({"board": walls})))
    return tuple(kit for kit in kits if kit.deck is None)


def random_layout(kit: Kit, rng: Random, min_share: float = 0.7, max_share: float = 1.0) -> Layout:
    """Put a random share of the pieces on random squares, with a random face up.

    The other pieces lie beside the board.
    """
    pieces = list(kit.pieces)
    rng.shuffle(pieces)
    free = {square for square in kit.board.squares if square not in kit.board.holes}
    layout: dict[Square, tuple[str, ...]] = {}
    for faces in pieces[: max(2, round(len(pieces) * rng.uniform(min_share, max_share)))]:
        face = kit.face(rng.choice(faces))
        fitting = [square for square in sorted(free) if free.issuperset(square.area(face.size))]
        if fitting:
            square = rng.choice(fitting)
            layout[square] = (face.name,)
            free.difference_update(square.area(face.size))
    return layout


def _stack_two(kit: Kit, layout: Layout, rng: Random) -> Layout:
    """Return the layout with one piece moved to the square of another one.

    It lies on top or beneath, as the game has it. If the game has pieces that are carried (a flag,
    the ball), one of these is moved to one of the others. Return the layout unchanged if the game
    has no stacks.
    """
    # squares of pieces that take one square
    single = [square for square, (face,) in layout.items() if kit.face(face).size == (1, 1)]
    carried = [square for square in single if kit.face(layout[square][0]).carried]
    if any(face.carried for face in kit.faces):
        movers, bases = carried, [square for square in single if square not in carried]
    else:
        movers, bases = single, single
    if kit.game not in _STACKING or not movers or not bases:
        return layout
    mover = rng.choice(movers)
    base = rng.choice([square for square in bases if square != mover] or [mover])
    if base == mover:
        return layout
    both = layout[base] + layout[mover]
    rest = {square: faces for square, faces in layout.items() if square not in (mover, base)}
    return {**rest, base: both if _STACKING[kit.game] else both[::-1]}


def random_nudge(kit: Kit, face: str, rng: Random) -> tuple[float, float, float]:
    """Choose how far a piece lies off the middle of its square: x mm, y mm, degrees.

    The larger the space between pieces on neighbouring squares, the farther off it may lie.
    """
    space_mm = (
        kit.board.square_mm - kit.tops_mm[kit.face(face).name][0]
        if kit.face(face).size == (1, 1)
        else LOOSE_MM
    )
    max_mm, max_deg = 1 + space_mm / 4, 3 + space_mm
    return (
        rng.uniform(-max_mm, max_mm),
        rng.uniform(-max_mm, max_mm),
        rng.uniform(-max_deg, max_deg),
    )


def ordinary_view(rng: Random) -> CameraView:
    """Make a random view of an ordinary camera above a table in good light."""
    changes = {
        "width": 1920,
        "height": 1080,
        "focal_ratio": rng.uniform(0.62, 0.98),
        "k1": rng.choice((0.0, 0.0, rng.uniform(-0.05, 0.0))),
        "tilt_deg": rng.uniform(8, 30),
        "turn_deg": rng.choice((0.0, 180.0)) + rng.uniform(-12, 12),
        "board_turn_deg": rng.uniform(-5, 5),
        "fill": rng.uniform(0.88, 0.94),
        "gradient": rng.uniform(0.0, 0.2),
        "vignette": rng.uniform(0.0, 0.3),
        "light": rng.uniform(0.75, 1.0),
        "kind": rng.choice(sorted(("wood", *TABLES))),
        "curl_mm": rng.choice((0.0, 0.0, rng.uniform(0.0, 1.5))),
        "seed": rng.randrange(1000),
    }
    return change_view(CameraView(), changes)


def _move_camera_away(kit: Kit, layout: Layout, view: CameraView, module_px: float) -> CameraView:
    """Return the view from farther away, where a module of the marker of medium size is so wide."""
    table = rendered_table(kit, view)
    table.set_up(layout)
    # the size is not quite in proportion to `fill`, so the second round corrects the first
    for _ in range(2):
        sizes = sorted(print_.module_px for print_ in prints_of(table) if print_.squares)
        view = replace(view, fill=view.fill * module_px / sizes[len(sizes) // 2])
        table.set_view(view)
    return view


# ---- conditions ----------------------------------------------------------------------------------


def random_spot_mm(kit: Kit, rng: Random) -> tuple[float, float]:
    """Choose a point on the board, in mm."""
    return rng.uniform(0.1, 0.9) * kit.board.width_mm, rng.uniform(0.1, 0.9) * kit.board.height_mm


def _clean(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    """Return a table with a busier pattern at each severity, and at severity 4 a wide lens."""
    table = ("wood", "pale", rng.choice(("cloth", "chequered")), "newspaper")[severity - 1]
    lens = (
        {"focal_ratio": rng.uniform(0.42, 0.5), "k1": rng.uniform(-0.08, -0.03)}
        if severity == 4
        else {}
    )
    return {"kind": table, **lens}


def _defocus(severity: int, _kit: Kit, _rng: Random) -> dict[str, Any]:
    return {"defocus_px": float(severity)}


def _motion(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    return {"motion_px": _MOTION_PX_PER_SIGMA * severity, "motion_deg": rng.uniform(0, 180)}


def _low_light(severity: int, _kit: Kit, _rng: Random) -> dict[str, Any]:
    return {"light": (0.5, 0.35, 0.25, 0.18)[severity - 1], "noise": 2.0 + 1.5 * severity}


def _shadow(severity: int, kit: Kit, rng: Random) -> dict[str, Any]:
    """Return a soft shadow, a hard tinted one with a straight edge, both, or that of a blind."""
    strength = (0.35, 0.5, 0.6, 0.7)[severity - 1]
    shadow = Shadow(*random_spot_mm(kit, rng), rng.uniform(40, 140), strength)
    soft: dict[str, Any] = {"shadow": shadow}
    if severity == 1:
        return soft
    edge = {
        "shadow_edge": (*random_spot_mm(kit, rng), rng.uniform(0, 360), strength),
        "shade_bgr": (0.7, 0.95, 1.1),
    }
    if severity == 4:
        return {
            "blind_shadow": (rng.uniform(0, 180), rng.uniform(10, 30), 0.5),
            "shade_bgr": (1.1, 0.95, 0.8),
        }
    return edge if severity == 2 else {**soft, **edge}


def _glare(severity: int, kit: Kit, rng: Random) -> dict[str, Any]:
    """Return a lamp that the board reflects."""
    return {"glare": Glare(*random_spot_mm(kit, rng), (12.0, 24.0, 36.0, 50.0)[severity - 1])}


def _jpeg(severity: int, _kit: Kit, _rng: Random) -> dict[str, Any]:
    return {"jpeg_quality": (60, 40, 25, 15)[severity - 1]}


def _colour_cast(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    strong = (0.85, 0.7, 0.5, 0.3)[severity - 1]
    cast = {
        "candle": (strong, 0.6 + 0.4 * strong, 1.1),
        "sky": (1.1, 0.95, strong),
        "party": (1.0, strong, 0.9),
    }
    return {"cast_bgr": cast[rng.choice(sorted(cast))]}


def _hand(severity: int, kit: Kit, rng: Random) -> dict[str, Any]:
    """Return squares for a hand, farther in at each severity.

    At severity 4 it also covers a corner.
    """
    board = kit.board
    # how many ranks the hand reaches in, from South's or from North's side
    depth = (0, round(board.ranks / 5), (board.ranks - 1) // 2, (board.ranks - 1) // 2)[
        severity - 1
    ]
    files = (0, board.files - 1) if severity == 4 else range(board.files)
    squares = [Square(file, rank) for file in files for rank in {depth, board.ranks - 1 - depth}]
    rng.shuffle(squares)
    skin = rng.choice(((122, 158, 208), (60, 90, 150), (40, 55, 90)))
    return {"hand": squares, "skin_bgr": skin}


def _small(severity: int, _kit: Kit, _rng: Random) -> dict[str, Any]:
    return {"module_px": _MODULE_PX[severity - 1]}


def _tilt(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    return {
        "tilt_deg": _TILTS_DEG[severity - 1],
        "turn_deg": rng.choice((0.0, 180.0)) + rng.uniform(-35, 35),
    }


def _worn(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    """Return tags with scratches, faded ink and sides that stand up."""
    return {"wear": severity / 4, "curl_mm": rng.uniform(0.5, 1.5) * severity}


def _mixed(severity: int, kit: Kit, rng: Random) -> dict[str, Any]:
    """Return a mixture of all difficulties, none of which is severe."""
    # how far each difficulty goes, from a quarter to all of its range
    part = severity / 4
    edge = {"shadow_edge": (*random_spot_mm(kit, rng), rng.uniform(0, 360), 0.2 + 0.3 * part)}
    blind = {"blind_shadow": (rng.uniform(0, 180), rng.uniform(12, 30), 0.2 + 0.3 * part)}
    return {
        "tilt_deg": rng.uniform(20, 28 + 20 * part),
        "defocus_px": rng.uniform(0.0, 1.5 * part),
        "motion_px": rng.uniform(0.0, 2.0 * part),
        "motion_deg": rng.uniform(0, 180),
        "light": rng.uniform(0.9 - 0.4 * part, 0.9),
        "noise": 1.5 + 2.5 * part * rng.random(),
        "shadow": Shadow(
            *random_spot_mm(kit, rng), rng.uniform(40, 140), rng.uniform(0.2, 0.2 + 0.3 * part)
        ),
        "jpeg_quality": round(90 - 50 * part * rng.random()),
        "cast_bgr": (1 - 0.5 * part * rng.random(), 1 - 0.2 * part * rng.random(), 1.0),
        "flicker": 0.3 * part * rng.random(),
        "wear": 0.7 * part * rng.random(),
        "curl_mm": 3.0 * part * rng.random(),
        **rng.choice(({}, edge, blind)),
    }


def _half(severity: int, _kit: Kit, rng: Random) -> dict[str, Any]:
    """Return a camera so far away that the board is small, and pieces that are turned freely."""
    fill = (0.7, 0.6, 0.55, 0.5)[severity - 1]
    return {
        "fill": fill,
        "freely": True,
        "tilt_deg": rng.uniform(5, 25),
        "noise": 1.0 + 0.5 * severity,
    }


# For each condition: a function that returns how a scene of a severity differs from an ordinary
# one. Besides changes for `change_view`, these may be `hand` (squares to choose from), `module_px`
# (for `_move_camera_away`) and `freely` (whether pieces are turned freely).
CONDITIONS: Mapping[str, Callable[[int, Kit, Random], dict[str, Any]]] = {
    "clean": _clean,
    "defocus": _defocus,
    "motion": _motion,
    "low light": _low_light,
    "shadow": _shadow,
    "glare": _glare,
    "jpeg": _jpeg,
    "colour cast": _colour_cast,
    "hand": _hand,
    "small": _small,
    "tilt": _tilt,
    "worn": _worn,
    "mixed": _mixed,
    "half": _half,
}
