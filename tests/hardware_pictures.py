"""Draw the printed parts of docs/building.md from their OpenSCAD sources (`make docs-pictures`)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageChops

DOCS = Path(__file__).resolve().parents[1] / "docs"
CAD = DOCS / "cad"
PICTURES = DOCS / "pictures"
MAX_PICTURE_BYTES = 150_000
# Pictures are drawn so many times larger, and then made smaller, which smooths their edges.
_SUPERSAMPLING = 2
# White space around a part.
_MARGIN_PX = 16


class Shot(NamedTuple):
    """A picture of a printed part."""

    name: str
    """The picture's file, without `.png`."""
    source: str
    """The OpenSCAD file, without `.scad`."""
    part: str
    """The value of the OpenSCAD file's variable `part`. `all` shows all parts together."""
    turn_deg: tuple[float, float]
    """The camera's rotation about x and z."""
    size_px: tuple[int, int] = (480, 400)
    settings: str = ""
    """More OpenSCAD statements, which change variables of the file."""


# All pictures, each with name, OpenSCAD file, part, rotation, and mostly a size.
SHOTS = (
    Shot("arm", "camera_arm", "all", (68, 24), (680, 680)),
    Shot("arm-head", "camera_arm", "head", (68, 24), (480, 420)),
    Shot("arm-clamp", "camera_arm", "clamp", (55, 40)),
    Shot("arm-foot", "camera_arm", "foot", (50, 25)),
    Shot("arm-elbow", "camera_arm", "elbow", (60, 205)),
    Shot("arm-end", "camera_arm", "end", (65, 120)),
    Shot("arm-case", "camera_arm", "case", (45, 25)),
    Shot("arm-lid", "camera_arm", "lid", (60, 25)),
    Shot("pad", "pad_case", "all", (40, 12), (640, 460)),
    Shot("pad-small", "pad_case", "all", (40, 12), (640, 460), "key=12;"),
    Shot("pad-shell", "pad_case", "shell", (40, 205)),
    Shot("pad-floor", "pad_case", "floor", (40, 25)),
)


def draw_picture(shot: Shot) -> None:
    """Draw one part in at most 96 colours, and crop the picture to the part's outline."""
    width, height = (_SUPERSAMPLING * side for side in shot.size_px)
    x_deg, z_deg = shot.turn_deg
    camera = f"--camera=0,0,0,{x_deg},0,{z_deg},500"
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.png"
        command = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else []
        command += f"openscad -q --autocenter --viewall --colorscheme=Tomorrow {camera}".split()
        command += ["--projection=p", f"--imgsize={width},{height}", "-o", str(raw)]
        # a preview has colours for several parts, and a full rendering the exact shape of one
        if shot.part not in ("all", "head"):
            command.append("--render=1")
        command += ["-D", f'part="{shot.part}";{shot.settings}', str(CAD / f"{shot.source}.scad")]
        subprocess.run(command, check=True)
        with Image.open(raw) as opened:
            image = opened.convert("RGB")
    # crop the picture to what differs from its background, whose colour is that of a corner
    paper = Image.new("RGB", image.size, image.getpixel((0, 0)))
    outline = ImageChops.difference(image, paper).getbbox() or (0, 0, width, height)
    margin = _SUPERSAMPLING * _MARGIN_PX
    left = max(0, outline[0] - margin)
    top = max(0, outline[1] - margin)
    right = min(width, outline[2] + margin)
    bottom = min(height, outline[3] + margin)
    image = image.crop((left, top, right, bottom))
    image = image.resize(
        (image.width // _SUPERSAMPLING, image.height // _SUPERSAMPLING), Image.Resampling.LANCZOS
    )
    image.quantize(96).save(PICTURES / f"{shot.name}.png", optimize=True)


def main(names: Sequence[str]) -> None:
    """Draw the pictures with these names, or all if there are no names."""
    PICTURES.mkdir(exist_ok=True)
    for shot in SHOTS:
        if not names or shot.name in names:
            print(shot.name, flush=True)
            draw_picture(shot)


if __name__ == "__main__":
    main(sys.argv[1:])
