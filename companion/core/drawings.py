"""Every piece, mark and order as SVG, the same on screen and on paper.

`DRAWINGS` has them all by name. Games, kits and pages refer to a drawing only by this name. Pages
show them by a `sprite`, and `companion.printing` takes each as a `standalone_svg`.

All drawings use a box of 100 x 100, x to the right, y down. South is round and plain, North angular
and dotted, so that the sides differ without colour. Colours come from outside: `currentColor` is
the side's fill, `--edge` (else `--line`) the outline, `--face` anything drawn on the fill,
`--stone` the rocks, `--stop` and `--on-stop` refusals, `--hatch-a` and `--hatch-b` the shutter over
what a seat hides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from xml.etree import ElementTree

# Colour of an outline: `--edge`, or `--line` where that is not set.
_EDGE = "var(--edge,var(--line))"
# The two colours of what is always dark or always light, whatever the side's colour.
_INK = "#1B1814"
_PAPER_WHITE = "#fff"
# Colour of the sign in print, in moving pictures and for a lamp. It equals `--sign` of the pages.
SIGN_COLOUR = "#FFC20E"
# North's dots, chosen by eye: their distance, the x and y of the first one, and their radius.
_DOT_PITCH = 9.0
_FIRST_DOT = 2.6
_DOT_RADIUS = 1.7


# ---- parts of drawings ---------------------------------------------------------------------------


def _outlined_shape(path: str, width: float, more: str = "") -> str:
    """Return a path filled with the side's colour, with an outline of this width.

    `more` has further attributes.
    """
    return f'<path d="{path}" fill="currentColor" stroke="{_EDGE}" stroke-width="{width:g}"{more}/>'


def _dot_overlay(path: str) -> str:
    """Return North's dots over a shape."""
    return f'<path d="{path}" fill="url(#dots)"/>'


def _cased_line(path: str) -> str:
    """Return a line in the side's colour, with a thin outline on both sides."""
    return (
        f'<path d="{path}" fill="none" stroke="var(--line)" stroke-width="8" '
        'stroke-linecap="square"/>'
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="4.6" '
        'stroke-linecap="square"/>'
    )


def _flat_shape(path: str) -> str:
    return f'<path d="{path}" fill="currentColor"/>'


def _bold_line(path: str) -> str:
    """Return a line as heavy as a bold letter."""
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="12"/>'


# Parts that several drawings share: outlines, then attributes and whole shapes.
_BODY_SOUTH = "M14 84V54a36 36 0 0 1 72 0v30a8 8 0 0 1-8 8H22a8 8 0 0 1-8-8z"
_BODY_NORTH = "M26 22H74L90 46V92H10V46z"
_PENNANT = "M25 10L84 38L25 66z"
_RHOMB = "M50 5L95 50L50 95L5 50z"
_SCOUT_RHOMB = "M50 7L93 50L50 93L7 50z"
_EYE_SHAPE = "M26 50a30 30 0 0 1 48 0a30 30 0 0 1-48 0z"
_ROUND_JOIN = ' stroke-linejoin="round"'
_SCOUT_NORTH = (
    f'<path d="{_SCOUT_RHOMB}" fill="{_INK}" stroke="var(--edge,{_INK})" '
    f'stroke-width="5"{_ROUND_JOIN}/>'
)
_SCOUT_SOUTH = (
    f'<circle cx="50" cy="50" r="38" fill="{_PAPER_WHITE}" stroke="{_INK}" stroke-width="6"/>'
)
_STONE_STYLE = f'fill="var(--stone)" stroke="var(--line)" stroke-width="4"{_ROUND_JOIN}'

# Robots without a face.
_ROBOT_SOUTH = (
    f'<path d="M50 20V9" stroke="{_EDGE}" stroke-width="5"/><circle cx="50" cy="9" r="6" '
    f'fill="{_EDGE}"/>' + _outlined_shape(_BODY_SOUTH, 5)
)
_ROBOT_NORTH = (
    f'<path d="M34 22V8M66 22V8" stroke="{_EDGE}" stroke-width="5"/>'
    + _outlined_shape(_BODY_NORTH, 5)
    + _dot_overlay(_BODY_NORTH)
)

_FACE_LINE = f'fill="none" stroke="{_EDGE}" stroke-width="5"'
_FACE_PLATE = f'fill="var(--face,#fff)" stroke="{_EDGE}" stroke-width="5"{_ROUND_JOIN}'
_PLAYER_LINE = (
    'fill="none" stroke="currentColor" stroke-width="11" '
    'stroke-linecap="round" stroke-linejoin="round"'
)


def _player_svg(head: tuple[int, int], limbs: str, speed: str = "") -> str:
    """Return a rugby player of Kahmate: the middle of the head, the limbs, and speed lines."""
    x, y = head
    drawing = f'<circle cx="{x}" cy="{y}" r="11" fill="currentColor"/>'
    drawing += f'<path d="{limbs}" {_PLAYER_LINE}/>'
    if speed:
        drawing += (
            f'<path d="{speed}" stroke="currentColor" stroke-width="7" stroke-linecap="round"/>'
        )
    return drawing


# ---- the drawings --------------------------------------------------------------------------------


# Rugby players of Kahmate, which are only printed.
_PLAYERS = {
    "player-r": _player_svg(
        (62, 15), "M56 34L46 58L62 70L56 92M46 58L36 76L16 78M56 36L74 46L86 36M56 36L38 40L30 54"
    ),
    "player-b": _player_svg(
        (50, 15), "M30 38H70L62 62H38zM42 62L38 92M58 62L62 92M30 38L16 62M70 38L84 62"
    ),
    "player-t": _player_svg(
        (78, 34), "M66 44L38 58L52 74L42 94M38 58L24 78L8 80M64 46L74 64L90 62"
    ),
    "player-f": _player_svg(
        (70, 15),
        "M62 34L54 58L70 68L84 88M54 58L44 80L24 84M62 36L80 44L92 34M62 36L46 42",
        "M6 30H34M2 48H28M8 66H30",
    ),
    "player-s": _player_svg(
        (44, 15), "M44 36V60L32 92M44 60L58 92M44 38L66 36L88 20M44 38L28 54L34 66"
    ),
}

# The inner SVG of every drawing, by name. `add_drawings` adds those of plug-in games when the
# program starts. Nothing changes it afterwards.
DRAWINGS: dict[str, str] = {
    # ---- pieces ----
    "robot-s": (
        _ROBOT_SOUTH + '<circle cx="36" cy="54" r="9" fill="var(--face,#fff)"/>'
        '<circle cx="64" cy="54" r="9" fill="var(--face,#fff)"/>'
        '<path d="M34 76h32" stroke="var(--face,#fff)" stroke-width="6" stroke-linecap="round"/>'
    ),
    "robot-n": (
        _ROBOT_NORTH + f'<path d="M22 46H78V62H22z" fill="var(--face,{_INK})"/>'
        f'<path d="M36 78h28" stroke="var(--face,{_INK})" stroke-width="7"/>'
    ),
    "flag-s": f'<path d="M24 96V10" stroke="{_EDGE}" stroke-width="7"/>'
    + _outlined_shape("M25 12h14a27 27 0 0 1 0 54H25z", 5),
    "flag-n": f'<path d="M24 96V8" stroke="{_EDGE}" stroke-width="7"/>'
    + _outlined_shape(_PENNANT, 5)
    + _dot_overlay(_PENNANT),
    "disc": f'<circle cx="50" cy="50" r="42" fill="currentColor" stroke="{_EDGE}" '
    'stroke-width="6"/>',
    "diamond": (
        _outlined_shape(_RHOMB, 6, _ROUND_JOIN)
        + _dot_overlay(_RHOMB)
        + '<path d="M50 22L78 50L50 78L22 50z" fill="currentColor"/>'
    ),
    "scout-s": f'{_SCOUT_SOUTH}<circle cx="50" cy="50" r="26" fill="none" stroke="{_INK}" '
    'stroke-width="3"/>',
    "scout-s2": f'{_SCOUT_SOUTH}<path d="{_EYE_SHAPE}" fill="{_INK}"/>'
    '<circle cx="50" cy="50" r="8" '
    f'fill="{_PAPER_WHITE}"/>',
    "scout-n": f'{_SCOUT_NORTH}<path d="M50 24L76 50L50 76L24 50z" fill="none" '
    f'stroke="{_PAPER_WHITE}" '
    'stroke-width="3"/>',
    "scout-n2": f'{_SCOUT_NORTH}<path d="{_EYE_SHAPE}" fill="{_PAPER_WHITE}"/>'
    '<circle cx="50" cy="50" r="8" '
    f'fill="{_INK}"/>',
    "ball": (
        '<g transform="rotate(-35 50 50)">'
        f'<ellipse cx="50" cy="50" rx="44" ry="27" fill="#B5651D" stroke="{_INK}" '
        'stroke-width="5"/>'
        f'<path d="M30 50h40M38 44v12M50 44v12M62 44v12" fill="none" stroke="{_PAPER_WHITE}" '
        'stroke-width="4"/></g>'
    ),
    "boulder": (
        f'<path d="M12 20L24 8L74 9L92 28L91 74L70 92L22 90L10 70z" {_STONE_STYLE}/>'
        '<path d="M24 8L38 38L92 28M38 38L22 90" fill="none" stroke="var(--line)" '
        'stroke-width="2.5"/>'
    ),
    "rock": (
        f'<g transform="translate(25 0)"><path d="M8 16L22 7L42 14L44 82L26 93L7 84z" '
        f"{_STONE_STYLE}/>"
        '<path d="M8 16L27 28L42 14M27 28L26 93" fill="none" stroke="var(--line)" '
        'stroke-width="2.5"/></g>'
    ),
    # ---- orders ----
    "order-up": _flat_shape("M50 10L88 52H64V90H36V52H12z"),
    "order-down": _flat_shape("M50 90L12 48H36V10H64V48H88z"),
    "order-left": _flat_shape("M10 50L52 12V36H90V64H52V88z"),
    "order-right": _flat_shape("M90 50L48 88V64H10V36H48V12z"),
    "order-idle": _flat_shape("M22 14H42V86H22zM58 14H78V86H58z"),
    "order-shoot": (
        '<circle cx="50" cy="50" r="15" fill="currentColor"/>'
        '<path d="M42 4H58V28H42zM42 72H58V96H42zM4 42H28V58H4zM72 42H96V58H72z" '
        'fill="currentColor"/>'
    ),
    # ---- signs ----
    "tick": '<path d="M12 54L40 80L88 22" fill="none" stroke="currentColor" stroke-width="14"/>',
    "cross": '<path d="M20 20L80 80M80 20L20 80" fill="none" stroke="var(--stop)" '
    'stroke-width="16"/>',
    "noentry": (
        '<circle cx="50" cy="50" r="46" fill="var(--stop)"/><path d="M20 40H80V60H20z" '
        'fill="var(--on-stop)"/>'
    ),
    "dice": (
        '<path d="M12 12H88V88H12z" fill="none" stroke="currentColor" stroke-width="10"/>'
        '<path d="M27 27h14v14H27zM59 27h14v14H59zM43 43h14v14H43zM27 59h14v14H27zM59 59h14v14H59z"'
        ' fill="currentColor"/>'
    ),
    "shield": (
        '<path d="M50 6L90 20V50C90 74 72 88 50 96C28 88 10 74 10 50V20z" fill="none" '
        'stroke="currentColor"'
        ' stroke-width="10"/>'
    ),
    "burst": _flat_shape(
        "M50 4L60 30L84 16L72 42L96 50L72 58L84 84L60 70L50 96L40 70L16 84L28 58L4 50L28 42L16 "
        "16L40 30z"
    ),
    "blade": (
        '<path d="M48 17L90 50L48 83V64H10V36H48z" fill="none" stroke="currentColor" '
        'stroke-width="10"'
        ' stroke-linejoin="miter"/>'
    ),
    "shot": (
        '<path d="M50 2V24M50 76V98M2 50H24M76 50H98M16 16L31 31M69 69L84 84M84 16L69 31M31 69L16 '
        '84" fill="none"'
        ' stroke="currentColor" stroke-width="8"/>'
    ),
    # ---- marks on squares ----
    # Three brackets in the corners of the square, whose label is in the fourth corner. South's
    # brackets are bent, North's are sharp.
    "start-s": _cased_line(
        "M68 14H78a8 8 0 0 1 8 8V32M86 68V78a8 8 0 0 1-8 8H68M32 86H22a8 8 0 0 1-8-8V68"
    ),
    "start-n": _cased_line("M68 14H86V32M86 68V86H68M32 86H14V68"),
    # Four brackets on a square where robots appear. Boards with these squares have their labels
    # outside.
    "spawn-s": _cased_line(
        "M68 14H78a8 8 0 0 1 8 8V32M86 68V78a8 8 0 0 1-8 8H68M32 86H22a8 8 0 0 1-8-8V68M14 32V22a8 "
        "8 0 0 1 8-8H32"
    ),
    "spawn-n": _cased_line("M68 14H86V32M86 68V86H68M32 86H14V68M14 32V14H32"),
    "base-s": _cased_line("M18 50a32 32 0 1 1 64 0a32 32 0 1 1-64 0z"),
    "base-n": _cased_line("M50 10L90 50L50 90L10 50z"),
    "wall": '<path d="M0 0H100V100H0z" fill="var(--line)"/>',
    # ---- suits of cards ----
    # The suits & % + ! ^ # of BINMAT, with lines as heavy as those of the digits beside them. They
    # differ by shape, not by colour.
    "suit-form": _bold_line(
        "M82 88L34 36C22 22 30 9 46 9C62 9 68 24 58 34C48 44 17 48 17 69C17 83 30 91 44 91C66 91 "
        "82 74 82 52"
    ),
    "suit-kin": _bold_line(
        "M10 27a15 15 0 1 1 30 0a15 15 0 1 1-30 0z M60 73a15 15 0 1 1 30 0a15 15 0 1 1-30 0z M80 "
        "10L20 90"
    ),
    "suit-data": _flat_shape("M40 8H60V40H92V60H60V92H40V60H8V40H40z"),
    "suit-chaos": _flat_shape("M37 6H63L57 62H43z")
    + '<circle cx="50" cy="82" r="12" fill="currentColor"/>',
    "suit-void": _flat_shape("M50 12L94 74H70L50 44L30 74H6z"),
    "suit-choice": _bold_line("M36 8L28 92M72 8L64 92M10 34H92M8 66H90"),
    **_PLAYERS,
    # ---- the machine's three characters ----
    # They are neither round like South nor angular like North, because a machine may play any seat.
    "face-pip": (
        f'<path d="M50 27c-7-5 7-9 0-15" {_FACE_LINE}/>'
        f'<circle cx="50" cy="9" r="6" fill="{_EDGE}"/>'
        '<path d="M50 26c23 0 34 21 34 40c0 19-15 28-34 28s-34-9-34-28c0-19 11-40 34-40z" '
        f"{_FACE_PLATE}/>"
        f'<circle cx="50" cy="54" r="15" {_FACE_LINE}/>'
        f'<circle cx="55" cy="50" r="6.5" fill="{_EDGE}"/>'
        f'<path d="M34 77q16 12 32 0" {_FACE_LINE} stroke-linecap="round"/>'
    ),
    "face-bo": (
        f'<path d="M31 20V10H69V20" {_FACE_LINE}/>'
        f'<path d="M14 20H86V70L73 94H27L14 70z" {_FACE_PLATE}/>'
        f'<path d="M2 40H14V62H2zM86 40H98V62H86z" fill="{_EDGE}"/>'
        '<path d="M24 46h22a11 11 0 0 1-22 0zM54 46h22a11 11 0 0 1-22 0zM20 46H48M52 46H80" '
        f"{_FACE_LINE}/>"
        f'<path d="M33 70H67M33 80H67" {_FACE_LINE}/>'
    ),
    "face-zeno": (
        f'<path d="M50 15V4M38 8H62" {_FACE_LINE}/>'
        + _outlined_shape("M50 14L80 34L72 96H28L20 34z", 5, _ROUND_JOIN)
        + "<path"
        ' d="M27 44L46 51V58L28 53zM73 44L54 51V58L72 53zM50 26l7 7l-7 7l-7-7z" '
        'fill="var(--face,#fff)"/>'
        '<path d="M40 78H56L62 73" fill="none" stroke="var(--face,#fff)" stroke-width="5"/>'
    ),
    # ---- robots that have won ----
    # A robot smiles when its side has won. During the game it has a straight face.
    "smile-s": (
        _ROBOT_SOUTH + '<path d="M26 58a10 11 0 0 1 20 0M54 58a10 11 0 0 1 20 0" fill="none" '
        'stroke="var(--face,#fff)"'
        ' stroke-width="6" stroke-linecap="round"/><path d="M32 69H68a18 15 0 0 1-36 0z" '
        'fill="var(--face,#fff)"/>'
    ),
    "smile-n": (
        _ROBOT_NORTH + f'<path d="M22 44H78V62H22z" fill="var(--face,{_INK})"/>'
        '<path d="M31 58L39 50L47 58M53 58L61 50L69 58" fill="none" stroke="currentColor" '
        'stroke-width="5"/>'
        f'<path d="M30 71H70L60 85H40z" fill="var(--face,{_INK})"/>'
    ),
    # ---- keys of pages ----
    "play": '<path d="M22 10L86 50L22 90z" fill="currentColor"/>',
    "bounce": (
        '<path d="M86 10V90" stroke="currentColor" stroke-width="12"/>'
        '<path d="M6 43H42V22L72 50L42 78V57H6z" fill="currentColor"/>'
    ),
    "home": (
        '<path d="M6 52L50 12L94 52M20 46V90H80V46" fill="none" stroke="currentColor" '
        'stroke-width="10"'
        ' stroke-linejoin="round"/>'
    ),
    "turning": (
        '<path d="M14 88V60a30 30 0 0 1 60 0v8" fill="none" stroke="currentColor" '
        'stroke-width="13"/>'
        '<path d="M50 60H98L74 92z" fill="currentColor"/>'
    ),
    "undo": (
        '<path d="M28 30H62a24 24 0 0 1 0 48H36" fill="none" stroke="currentColor" '
        'stroke-width="13"/>'
        '<path d="M2 30L38 4V56z" fill="currentColor"/>'
    ),
    "exchange": (
        '<path d="M10 34H70M90 66H30" fill="none" stroke="currentColor" stroke-width="11"/>'
        '<path d="M62 10L92 34L62 58zM38 42L8 66L38 90z" fill="currentColor"/>'
    ),
    "laptop": (
        '<path d="M18 20H82V66H18z" fill="none" stroke="currentColor" stroke-width="9" '
        'stroke-linejoin="round"/>'
        '<path d="M4 78H96V88H4z" fill="currentColor"/>'
    ),
    "bell": (
        '<path d="M22 78V44a28 28 0 0 1 56 0v34l9 8H13z" fill="none" stroke="currentColor" '
        'stroke-width="9" '
        'stroke-linejoin="round"/><path d="M50 16V6M42 93h16" stroke="currentColor" '
        'stroke-width="9"/>'
    ),
    "eye": (
        '<path d="M6 50a50 50 0 0 1 88 0a50 50 0 0 1-88 0z" fill="none" stroke="currentColor" '
        'stroke-width="9"/>'
        '<circle cx="50" cy="50" r="14" fill="currentColor"/>'
    ),
    "lever": (
        '<path d="M26 8V92M74 8V92" stroke="currentColor" stroke-width="9"/>'
        '<path d="M10 26H42V46H10zM58 56H90V76H58z" fill="currentColor"/>'
    ),
    "printer": (
        '<path d="M24 42V8H76V42M24 72H8V42H92V72H76M24 58H76V92H24z" fill="none" '
        'stroke="currentColor"'
        ' stroke-width="9" stroke-linejoin="round"/>'
    ),
}

# ---- adding and rendering ------------------------------------------------------------------------


# Drawings that are only printed and appear on no page.
PRINT_ONLY = frozenset(_PLAYERS)

# Name of a drawing: words of small letters and figures with hyphens between, such as `robot-s`.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def add_drawings(drawings: Mapping[str, str]) -> None:
    """Add the drawings of a plug-in game to `DRAWINGS`.

    Raises ValueError, and adds none, for an existing or invalid name and for invalid SVG.

    >>> add_drawings({"robot-s": "<path/>"})
    Traceback (most recent call last):
    ValueError: there is a drawing “robot-s” already
    """
    for name, inner in drawings.items():
        if name in DRAWINGS:
            raise ValueError(f"there is a drawing “{name}” already")
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"“{name}” is no name of a drawing: small letters, figures and hyphens"
            )
        try:
            ElementTree.fromstring(f"<svg>{inner}</svg>")
        except ElementTree.ParseError as error:
            raise ValueError(f"the drawing “{name}” is no SVG: {error}") from None
    DRAWINGS.update(drawings)


# Patterns that drawings and pages fill with: North's dots, and the stripes of the shutter.
PATTERNS = (
    f'<pattern id="dots" width="{_DOT_PITCH:g}" height="{_DOT_PITCH:g}" '
    'patternUnits="userSpaceOnUse">'
    f'<circle cx="{_FIRST_DOT:g}" cy="{_FIRST_DOT:g}" r="{_DOT_RADIUS:g}" '
    f'fill="var(--face,{_INK})" opacity=".5"/></pattern>'
    '<pattern id="hatch" width="12" height="12" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)">'
    '<rect width="12" height="12" fill="var(--hatch-b)"/><rect width="6" height="12" '
    'fill="var(--hatch-a)"/></pattern>'
)


def sprite(names: Collection[str] | None = None) -> str:
    """Return one hidden `<svg>` for a page, with the patterns and the named drawings.

    With None it has all drawings. Show a drawing with `<svg viewBox="0 0 100 100"><use
    href="#robot-s"/></svg>`, and set `color`, `--edge` and `--face`.
    """
    hidden = 'width="0" height="0" style="position:absolute" aria-hidden="true"'
    symbols_svg = symbols(DRAWINGS if names is None else names)
    return f"<svg {hidden}><defs>{PATTERNS}{symbols_svg}</defs></svg>"


def symbols(names: Iterable[str]) -> str:
    """Return a `<symbol>` for each of these drawings. Raises KeyError for an unknown name."""
    return "".join(
        f'<symbol id="{name}" viewBox="0 0 100 100">{DRAWINGS[name]}</symbol>' for name in names
    )


def standalone_svg(name: str, *, colour: str, edge: str, face: str) -> str:
    """Return a complete SVG document of one drawing, for converters without CSS and patterns.

    `colour` is the colour of the fill, `edge` that of outlines, and `face` that of what is drawn on
    the fill, each as `#rrggbb`. North's dots become circles in a plain colour half-way between fill
    and face. Raises KeyError for an unknown name.
    """
    values = {
        "edge": edge,
        "line": edge,
        "face": face,
        "stone": "#9C9282",
        "stop": "#B0250D",
        "on-stop": "#FFFFFF",
    }
    # Circles replace the pattern, then colours replace the variables.
    dots = _dots(colour, face)
    inner = _DOTTED_PATH.sub(
        lambda match: _clip_dots(dots, match[1], match.start()), DRAWINGS[name]
    )
    inner = _VARIABLE.sub(lambda match: values[match[1]], inner).replace("currentColor", colour)
    opening = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100" viewBox="0 0 100 100">'
    )
    return f"{opening}{inner}</svg>"


# A path of `_dot_overlay`.
_DOTTED_PATH = re.compile(r'<path d="([^"]*)" fill="url\(#dots\)"/>')
# A CSS variable. It may have a fallback, which may be another variable: `var(--edge,var(--line))`.
_VARIABLE = re.compile(r"var\(--([a-z-]+)(?:,(?:var\([^()]*\)|[^()]*))?\)")


def _dots(colour: str, face: str) -> str:
    """Return the dots of the pattern `dots` all over the box, as dashed lines with round ends.

    A dash of almost no length shows only its round ends, which are a dot.
    """
    channels = zip(bytes.fromhex(colour[1:]), bytes.fromhex(face[1:]), strict=True)
    mixed = bytes((fill + drawn) // 2 for fill, drawn in channels)
    # Eleven rows, 9 apart, fill the height of 100.
    rows = "".join(f"M{_FIRST_DOT:g} {_FIRST_DOT + row * _DOT_PITCH:g}H100" for row in range(11))
    return (
        f'<path d="{rows}" fill="none" stroke="#{mixed.hex()}" stroke-width="{2 * _DOT_RADIUS:g}" '
        f'stroke-linecap="round" stroke-dasharray="0.01 {_DOT_PITCH - 0.01:g}"/>'
    )


def _clip_dots(dots: str, path: str, number: int) -> str:
    """Return the dots within a path, and its outline once more over the dots that it cuts.

    `number` makes the id of the clip path unique in the document.
    """
    return (
        f'<clipPath id="inside{number}"><path d="{path}"/></clipPath>'
        f'<g clip-path="url(#inside{number})">{dots}</g>'
        f'<path d="{path}" fill="none" stroke="{_EDGE}" stroke-width="5"/>'
    )
