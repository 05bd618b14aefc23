"""The printed page from which a lens is measured: a chessboard with markers in its white squares
(ChArUco).
"""

from __future__ import annotations

from companion.core.i18n import say, speaking
from companion.printing.kit_pages.sheets import FOOT_MM, MARGIN_MM, SIZES_MM, Paper, require_known
from companion.printing.pdf_pen import Pen
from vision.cameras.lens_pattern import COLUMNS, MARKER_MM, ROWS, SQUARE_MM, pattern


def calibration_page(paper: Paper = "a4", language: str = "en") -> bytes:
    """Return the page as a PDF in true millimetres.

    Raises `Malformed` for an unknown paper or language.
    """
    require_known(paper, language)
    with speaking(language):
        return _print(paper)


def _print(paper: Paper) -> bytes:
    width, height = SIZES_MM[paper]
    pen = Pen(width, height, say("Tabletop Companion: lens measurement"))
    pen.page()
    pen.head(say("Lens measurement"), "companion calibrate", MARGIN_MM)
    x = (width - COLUMNS * SQUARE_MM) / 2
    low = MARGIN_MM + FOOT_MM
    high = height - MARGIN_MM - 14
    _print_pattern(pen, x, low + (high - low - ROWS * SQUARE_MM) / 2)
    pen.ruler(MARGIN_MM, MARGIN_MM)
    pen.text(
        MARGIN_MM + 104, MARGIN_MM + 3.3, say("Glue it flat onto something stiff."), 3.2, bold=True
    )
    pen.text(
        MARGIN_MM + 104, MARGIN_MM + 0.6, say("Print at 100 %, matt. The bar is 100 mm long."), 2.8
    )
    return pen.bytes()


def _print_pattern(pen: Pen, x: float, y: float) -> None:
    """Draw the pattern with its lower left corner at (x, y) of the page.

    Marker by marker as OpenCV numbers them.
    """
    markers = iter(pattern().getIds().ravel().tolist())
    for row in range(ROWS):
        for column in range(COLUMNS):
            left = x + column * SQUARE_MM
            bottom = y + (ROWS - 1 - row) * SQUARE_MM
            if (column + row) % 2 == 0:
                pen.rectangle(
                    left,
                    bottom,
                    SQUARE_MM,
                    SQUARE_MM,
                    fill="#000000",
                )
            else:
                pen.marker(next(markers), left + SQUARE_MM / 2, bottom + SQUARE_MM / 2, MARKER_MM)
