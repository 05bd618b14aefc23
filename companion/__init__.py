"""Tabletop Companion: the referee beside a real board game table."""

import os

__version__ = "1.0.0"

# The environment (`sys.prefix`) of the Debian package, which apt updates.
DEBIAN_HOME = "/usr/lib/tabletop-companion"

# Maximum number of pixels of a picture. It is enough for a camera of 64 megapixels. Without this
# limit, a small file that claims to be a picture of billions of pixels would fill the memory.
MAX_PIXELS = 2**26
# OpenCV reads the limit only once, when it is imported. So it is set before that.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(MAX_PIXELS))
