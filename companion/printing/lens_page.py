"""The printed page for calibrating a lens: a chessboard with markers in its white squares.

OpenCV calls this pattern a ChArUco board.
"""

from __future__ import annotations

from companion.core.i18n import say
from companion.printing.pdf_pen import BLACK, Pen
from companion.printing.shared_drawings import draw_foot, draw_head
from companion.printing.tiling import Paper, page_size, printable_area
from vision.cameras.lens_pattern import COLUMNS, MARKER_MM, ROWS, SQUARE_MM, charuco_board

# Height of the page's head, above the pattern.
_HEAD_MM = 14.0


def calibration_pdf(paper: Paper) -> bytes:
    """Return the page as a PDF in true millimetres, in the current language."""
    pen = Pen(say("Tabletop Companion: lens measurement"))
    pen.start_page(*page_size(paper, landscape=False))
    draw_head(pen, say("Lens measurement"), "companion calibrate")
    draw_foot(
        pen,
        say("Glue it flat onto something stiff."),
        say("Print at 100 %, matt. The bar is 100 mm long."),
    )

    # the pattern is centred below the head
    area = printable_area(paper, landscape=False)
    x = (pen.width_mm - COLUMNS * SQUARE_MM) / 2
    y = area.bottom + (area.height - _HEAD_MM - ROWS * SQUARE_MM) / 2
    # ids of the markers by rows, as OpenCV numbers them
    markers = iter(charuco_board().getIds().ravel().tolist())
    for row in range(ROWS):
        for column in range(COLUMNS):
            middle_x = x + (column + 0.5) * SQUARE_MM
            middle_y = y + (ROWS - row - 0.5) * SQUARE_MM
            if (column + row) % 2 == 0:
                pen.centred_rectangle(middle_x, middle_y, SQUARE_MM, SQUARE_MM, fill=BLACK)
            else:
                pen.marker(next(markers), middle_x, middle_y, MARKER_MM)
    return pen.to_pdf()
