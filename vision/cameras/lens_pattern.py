"""The printed pattern for calibrating a lens: a chessboard with markers in its white squares
(ChArUco).

Its axes are OpenCV's: origin at the upper left corner, x to the right, y down, in mm.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np

from companion.core.kit import CARD_DICTIONARY

# Number of squares across and down. They fit A4 and Letter.
COLUMNS = 7
ROWS = 9
# Side of a square.
SQUARE_MM = 25.0
# Side of the marker in every white square.
MARKER_MM = 18.0

# The pattern uses the last markers of the dictionary, which no board, piece or card has.
_LAST_MARKER = 249


@cache
def charuco_board() -> Any:
    """Return the page as OpenCV's ChArUco board. It is cached and must not be changed."""
    dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, CARD_DICTIONARY))
    count = COLUMNS * ROWS // 2
    ids = np.arange(_LAST_MARKER + 1 - count, _LAST_MARKER + 1, dtype=np.int32)
    return cv2.aruco.CharucoBoard((COLUMNS, ROWS), SQUARE_MM, MARKER_MM, dictionary, ids)
