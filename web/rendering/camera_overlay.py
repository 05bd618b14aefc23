"""How the board that the camera sees is drawn: what is read on each square and how surely, and where reading is hard.

Units are millimetres on the board, x to the right and y down; South sits below. Colours come from the style sheet.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from companion.core.grid import Square
from companion.core.i18n import headed, joined, say, say_n, translate
from companion.core.kit import Board, Kit
from companion.core.ports import BoardSeen, SquareSeen, Weakness
from web.rendering.pieces import piece, use
from web.templating.phrases import tenths

_NAMED_INSIDE = 5
"""Boards of at most so many files have room for the names of their squares."""
_SURE = 0.95
"""What is read at least so surely needs no figure."""

WEAK_WORDS = {
    Weakness.CUT: say("Cut off"),
    Weakness.GLARE: say("Glare"),
    Weakness.DARK: say("Dark"),
    Weakness.BLUR: say("Not sharp"),
    Weakness.SMALL: say("Too small"),
    Weakness.TWIN: say("Two boards"),
}
"""What a kind of weak place is called."""

WEAK_DRAWINGS = {
    Weakness.CUT: '<path d="M12 44V12H44M56 12H88V88H56M44 88H12V56" stroke-dasharray="14 10"/>',
    Weakness.GLARE: (
        '<circle cx="50" cy="50" r="17"/><path d="M50 4V22M50 78V96M4 50H22M78 50H96M17 17L30 30M70 70L83 83'
        'M83 17L70 30M30 70L17 83"/>'
    ),
    Weakness.DARK: '<path d="M62 10A42 42 0 1 0 90 66A34 34 0 0 1 62 10z" fill="currentColor"/>',
    Weakness.BLUR: (
        '<circle cx="50" cy="50" r="8" fill="currentColor"/><circle cx="50" cy="50" r="26" stroke-dasharray="11 9"/>'
        '<circle cx="50" cy="50" r="43" stroke-dasharray="5 11"/>'
    ),
    Weakness.SMALL: '<circle cx="42" cy="42" r="28"/><path d="M63 63L92 92M28 42H56"/>',
    Weakness.TWIN: '<path d="M12 12H62V70H12zM38 84H88V30"/>',
}
"""A sign for each kind, 100 x 100, in lines."""


def weak_symbols() -> Markup:
    """One hidden `<svg>` with a `<symbol>` for every kind of weak place, `weak-glare` and so on."""
    symbols = "".join(
        f'<symbol id="weak-{kind}" viewBox="0 0 100 100"><g fill="none" stroke="currentColor" stroke-width="9">'
        f"{drawing}</g></symbol>"
        for kind, drawing in WEAK_DRAWINGS.items()
    )
    return Markup(f'<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false">{symbols}</svg>')


def read_svg(seen: BoardSeen, picture: str) -> Markup:
    """The board from straight above (`picture` is its address) with what is read on each square drawn over it."""
    low_x, low_y, high_x, high_y = seen.area_mm
    width, height = high_x - low_x, high_y - low_y
    left, below = _room(seen.kit)
    box = f"{-left:g} 0 {width + left:g} {height + below:g}"
    drawn = "".join(_read(seen.kit, each, *_corner(seen, each.square)) for each in seen.squares)
    return Markup(
        f'<svg class="seen" viewBox="{box}" role="img" aria-label="{escape(translate(read_words(seen)))}">'
        f'<image href="{escape(picture)}" width="{width:g}" height="{height:g}" preserveAspectRatio="none"/>'
        f"{drawn}{_edge_names(seen, height)}</svg>"
    )


def weak_svg(seen: BoardSeen) -> Markup:
    """The map of weak places: a sign on each, and how many pixels a module of a marker has there."""
    board = seen.kit.board
    top, (left, below) = seen.area_mm[3] - board.height_mm, _room(seen.kit)
    box = f"{-1 - left:g} {top - 1:g} {board.width_mm + 2 + 2.2 * left:g} {board.height_mm + 2 + below:g}"
    drawn = "".join(_weak(seen.kit, each, *_corner(seen, each.square)) for each in seen.squares)
    return Markup(
        f'<svg class="weak" viewBox="{box}" role="img" aria-label="{escape(translate(weak_sentence(seen)))}">'
        f"{drawn}{_edge_names(seen, top + board.height_mm)}{_edge_figures(seen)}</svg>"
    )


def read_words(seen: BoardSeen) -> str:
    """What is read, as a text twin: `purple robot a1, lime robot c4 (80 %)`, and what is not."""

    def name(each: SquareSeen) -> str:
        return square_words(seen.kit, each.square)

    read = [
        joined(" ", (*each.faces, name(each), "" if each.sure >= _SURE else f"({_percent(each.sure)})"))
        for each in seen.squares
        if each.known and each.faces
    ]
    unknown = [name(each) for each in seen.squares if not each.known]
    told = joined(", ", read) or say("No piece is read")
    return joined(". ", (told, say("Not read: {squares}", squares=joined(", ", unknown)))) if unknown else told


def weak_places(seen: BoardSeen) -> tuple[tuple[Weakness, str], ...]:
    """Each kind of weak place that there is, with its squares in words."""
    found = []
    for kind in Weakness:
        squares = [
            square_words(seen.kit, each.square) for each in sorted(seen.squares, key=_place) if kind in each.weak
        ]
        if len(squares) == len(seen.squares):
            found.append((kind, say("everywhere")))
        elif squares:
            some, number = joined(", ", squares[:12]), len(squares) - 12
            found.append((kind, say("{some} and {number} more", some=some, number=number) if number > 0 else some))
    return tuple(found)


def weak_sentence(seen: BoardSeen) -> str:
    """The map of weak places as a text twin."""
    found = [headed(WEAK_WORDS[kind], squares) for kind, squares in weak_places(seen)]
    return joined(". ", found) or say("No weak spot")


def count_words(seen: BoardSeen) -> str:
    """How many pieces are read on the board and beside it, and how many squares are not, in words."""
    read = sum(len(each.faces) for each in seen.squares if each.known)
    unknown = sum(not each.known for each in seen.squares)
    words = []
    if seen.kit.deck:
        words.append(say_n("One card read", "{n} cards read", read) if read else say("No card read"))
    else:
        words.append(say_n("One piece read", "{n} pieces read", read) if read else say("No piece read"))
    if seen.reading.beside:
        words.append(say("{number} beside the board", number=len(seen.reading.beside)))
    if unknown and seen.kit.deck:
        words.append(say_n("one zone not", "{n} zones not", unknown))
    elif unknown:
        words.append(say_n("one square not", "{n} squares not", unknown))
    return joined("", (joined(", ", words), "."))


def square_words(kit: Kit, square: Square) -> str:
    """A square by its name; a zone of cards by its lane and side, such as `lane 0 attacker`."""
    sides = {rank: kit.sides[seat].name for seat, rank in kit.deck.zones.items()} if kit.deck else {}
    if square.rank not in sides:
        return str(square)
    return say("lane {lane} {colour}", lane=square.file, colour=sides[square.rank])


def _place(each: SquareSeen) -> Square:
    return each.square


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _size(board: Board) -> tuple[float, float]:
    return board.square_mm, board.depth_mm or board.square_mm


def _corner(seen: BoardSeen, square: Square) -> tuple[float, float]:
    """The upper left corner of a square in the picture's millimetres."""
    board = seen.kit.board
    width, depth = _size(board)
    x, y = board.centre_mm(square)
    return x - width / 2 - seen.area_mm[0], seen.area_mm[3] - y - depth / 2


def _room(kit: Kit) -> tuple[float, float]:
    """Room for the names of ranks at the left and of files below, where squares are too many to be named inside."""
    board = kit.board
    many = board.files > _NAMED_INSIDE and not kit.deck
    return (board.square_mm * 0.8, board.square_mm * 0.7) if many else (0.0, 0.0)


def _edge_names(seen: BoardSeen, bottom: float) -> str:
    """Ranks at the left and files below a picture that ends at `bottom`."""
    board, (left, below) = seen.kit.board, _room(seen.kit)
    if not left:
        return ""
    unit = board.square_mm
    names = [
        (board.centre_mm(Square(file, 0))[0], bottom + below * 0.72, chr(97 + file)) for file in range(board.files)
    ]
    for rank in range(board.ranks):
        y = seen.area_mm[3] - board.centre_mm(Square(0, rank))[1]
        names.append((-left * 0.5, y + unit * 0.16, str(rank + 1)))
    return "".join(
        f'<text class="edge" x="{x:.1f}" y="{y:.1f}" font-size="{unit * 0.46:.1f}">{name}</text>'
        for x, y, name in names
    )


def _edge_figures(seen: BoardSeen) -> str:
    """The fewest pixels a module of each rank, at the right, where squares are too small for a figure each."""
    board, (left, _) = seen.kit.board, _room(seen.kit)
    if not left:
        return ""
    unit = board.square_mm
    figures = []
    for rank in range(board.ranks):
        fewest = min((each.module_px for each in seen.squares if each.square.rank == rank), default=0.0)
        y = seen.area_mm[3] - board.centre_mm(Square(0, rank))[1] + unit * 0.15
        at = f'x="{board.width_mm + left * 0.6:.1f}" y="{y:.1f}"'
        figures.append(f'<text {at} font-size="{unit * 0.42:.1f}">{tenths(fewest)}</text>')
    return "".join(figures)


def _read(kit: Kit, each: SquareSeen, x: float, y: float) -> str:
    """A square's frame and name; the drawing of what is read; the shutter over what is not."""
    width, depth = _size(kit.board)
    unit = kit.board.square_mm
    frame = f'x="{x:.1f}" y="{y:.1f}" width="{width:g}" height="{depth:g}"'
    parts = [f'<rect class="sq" {frame}/>'] if each.known else [f'<rect class="sq unread" {frame}/>']
    if each.known and each.faces:
        parts.append(_faces(kit, each, x + width, y + depth))
    elif not each.known:
        parts.append(_label("?", x + width / 2, y + depth / 2, unit * 0.4))
    if _room(kit) == (0.0, 0.0):
        parts.append(
            _label(str(each.square.file if kit.deck else each.square), x + unit * 0.15, y + unit * 0.1, unit * 0.18)
        )
    return "".join(parts)


def _faces(kit: Kit, each: SquareSeen, right: float, bottom: float) -> str:
    """What is read, in the lower right corner of its square: a piece's drawing, or the names of cards."""
    unit = kit.board.square_mm
    if kit.deck:
        lines = [" ".join(each.faces[start : start + 2]) for start in range(0, len(each.faces), 2)]
        height = unit * 0.3
        return "".join(
            _label(line, right - unit * 0.5, bottom - height * (len(lines) - row - 0.4), height * 0.8)
            for row, line in enumerate(lines)
        )
    middle = unit * 0.24
    x, y = right - middle, bottom - middle
    plate = (
        f'<rect class="plate" x="{x - middle:.1f}" y="{y - middle:.1f}" width="{2 * middle:.1f}"'
        f' height="{2 * middle:.1f}"/>'
    )
    sure = (
        "" if each.sure >= _SURE else _label(_percent(each.sure), right - unit * 0.5, bottom - unit * 0.6, unit * 0.15)
    )
    return plate + piece(kit, each.faces[-1], round(x, 1), round(y, 1), round(unit * 0.44, 1)) + sure


def _label(text: str, x: float, y: float, size: float) -> str:
    """Words on a plate of paper, its middle given: they are read over any picture."""
    wide, high = size * (0.64 * len(text) + 0.5), size * 1.2
    return (
        f'<rect class="plate" x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'
        f'<text x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size:.1f}">{escape(text)}</text>'
    )


def _weak(kit: Kit, each: SquareSeen, x: float, y: float) -> str:
    """A tile with the sign of what is worst there, and the pixels a module where there is room for a figure."""
    board = kit.board
    (width, depth), unit = _size(board), board.square_mm
    kind = each.weak[0] if each.weak else None
    is_named = _room(kit) == (0.0, 0.0)
    middle_x, middle_y = x + width / 2, y + depth * (0.42 if is_named else 0.5)
    colour = "bad" if kind else "good"
    parts = [f'<rect class="{colour}" x="{x:.1f}" y="{y:.1f}" width="{width:g}" height="{depth:g}"/>']
    if kind:
        size = unit * (0.5 if is_named else 0.7)
        parts.append(use(f"weak-{kind}", round(middle_x, 1), round(middle_y, 1), round(size, 1), "hit"))
    else:
        parts.append(f'<circle class="dot" cx="{middle_x:.1f}" cy="{middle_y:.1f}" r="{unit * 0.06:.1f}"/>')
    if is_named:
        size = min(unit * 0.21, board.width_mm * 0.06)
        at = f'x="{middle_x:.1f}" y="{y + depth * 0.5 + unit * 0.38:.1f}"'
        parts.append(f'<text {at} font-size="{size:.1f}">{tenths(each.module_px)}</text>')
    return "".join(parts)
