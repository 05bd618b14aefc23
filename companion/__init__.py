"""Tabletop Companion: the referee beside a real board game table."""

import os

__version__ = "1.0.0"

DEBIAN_HOME = "/usr/lib/tabletop-companion"
"""The environment (`sys.prefix`) of Debian's package, which apt brings up to date."""

MAX_PIXELS = 2**26
"""So many pixels a picture has at most: a small file can say that it is a picture of a billion."""
os.environ.setdefault(
    "OPENCV_IO_MAX_IMAGE_PIXELS", str(MAX_PIXELS)
)  # OpenCV reads it once, when it is imported
