"""Draw SVG documents as one animated WebP, in a child process.

The converter holds Python's global interpreter lock while it draws a picture, for 50 ms on a PC. In
the service's own process it would stall the table, the keys and the lamps. A child process also
gives the memory for a hundred pictures back when it exits.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from companion.core.errors import SystemTrouble
from companion.core.i18n import say

# Font of all text. It comes with the PDF library.
FONT_FAMILY = "Bitstream Vera Sans"

# Timeout in seconds for one film. A hundred pictures take 5 s on a PC, and longer on a small Pi.
_TIMEOUT_S = 180.0
# Increment of the child's niceness (nice(2)), so that the service comes first.
_NICENESS = 10
# WebP quality, at most 100. Chosen by eye: a higher quality makes larger files, and a lower one
# blurs the labels of squares.
_QUALITY = 70
# Folder of the packages. The child runs in this folder, so that it finds the package `companion`
# whether that is installed or not.
_ROOT = Path(__file__).parents[2]


class Film(msgspec.Struct, frozen=True):
    """SVG documents that are shown one after the other, each for its duration."""

    documents: Sequence[str]
    durations_ms: Sequence[int]
    """For how long each document is shown."""
    style: str
    """CSS for all documents, without CSS variables, which the converter does not know."""
    background: str
    """CSS colour behind all documents."""


class FilmError(SystemTrouble):
    """The film could not be drawn."""

    kind = "film"


def font_file(*, bold: bool = False) -> Path:
    """Return the file of `FONT_FAMILY`, which every installation has."""
    import reportlab  # noqa: PLC0415 - only pictures of games need it

    return Path(reportlab.__file__).parent / "fonts" / ("VeraBd.ttf" if bold else "Vera.ttf")


def render_film(film: Film) -> bytes:
    """Return a film as an animated WebP that loops, drawn in a child process.

    Raises `FilmError`.
    """
    command = [sys.executable, "-m", "companion.printing.film"]
    try:
        result = subprocess.run(
            command,
            input=msgspec.json.encode(film),
            capture_output=True,
            check=True,
            cwd=_ROOT,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise FilmError(say("The moving picture could not be drawn: try again")) from error
    return result.stdout


def draw_film(film: Film) -> bytes:
    """Return a film as an animated WebP, drawn in this process. Only the child process calls it."""
    import resvg_py  # noqa: PLC0415 - the parent needs neither of these two
    from PIL import Image  # noqa: PLC0415

    fonts = [str(font_file()), str(font_file(bold=True))]
    pictures = []
    for document in film.documents:
        png = resvg_py.svg_to_bytes(
            svg_string=document,
            style_sheet=film.style,
            background=film.background,
            skip_system_fonts=True,
            font_files=fonts,
            font_family=FONT_FAMILY,
        )
        pictures.append(Image.open(io.BytesIO(bytes(png))).convert("RGB"))
    file = io.BytesIO()
    pictures[0].save(
        file,
        "WEBP",
        save_all=True,
        append_images=pictures[1:],
        duration=list(film.durations_ms),
        loop=0,
        quality=_QUALITY,
        # 0 is the fastest compression, and 6 makes the smallest files
        method=0,
    )
    return file.getvalue()


if __name__ == "__main__":
    os.nice(_NICENESS)
    sys.stdout.buffer.write(draw_film(msgspec.json.decode(sys.stdin.buffer.read(), type=Film)))
