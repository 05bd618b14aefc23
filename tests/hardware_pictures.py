"""Draws what docs/hardware.md shows: the wiring, and the printed parts from their OpenSCAD sources.
`make docs-pictures`.

python hardware_pictures.py           everything, into docs/pictures
python hardware_pictures.py wiring    the wiring alone, without OpenSCAD
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment
from PIL import Image, ImageChops

from companion.core.config import PanelSettings
from companion.core.i18n import say
from web.rendering.wiring import PINS, wires

DOCS = Path(__file__).resolve().parents[1] / "docs"
CAD, PICTURES = DOCS / "cad", DOCS / "pictures"
MAX_PICTURE_BYTES = 150_000
_SUPERSAMPLED = 2
_MARGIN_PX = 16
_INK, _INK_2, _PAPER, _PLATE, _WELL = "#111", "#444", "#fff", "#fff", "#eee"


class Shot(NamedTuple):
    """A picture of parts: where the camera stands is (turned about x, about z), degrees; from so
    near (mm).
    """

    name: str
    source: str
    part: str
    turn_deg: tuple[float, float]
    size_px: tuple[int, int] = (480, 400)
    settings: str = ""


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


def wiring_svg() -> str:
    """The drawing of the page Health with the default settings, as a picture of its own."""
    css = (DOCS.parent / "web/static/owner.css").read_text(encoding="utf-8")
    rules = re.findall(
        r"^\.owner ((?:\.wiring|:is\(\.wiring,\.wp\))[^{]*\{[^}]*\})", css, re.MULTILINE
    )
    colours = {
        "ink": _INK,
        "ink-2": _INK_2,
        "paper": _PAPER,
        "plate": _PLATE,
        "well": _WELL,
        "sans": "sans-serif",
    }
    style = "\n".join(rules)
    for name, colour in colours.items():
        style = style.replace(f"var(--{name})", colour)
    source = (DOCS.parent / "web/templates/_wiring.html").read_text(encoding="utf-8")
    page = Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    drawing = page.render(wires=wires(PanelSettings()), pins=PINS, say=say)
    tag = re.search(r"<svg[^>]*>", drawing)
    assert tag is not None
    head = tag[0].replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    paper = f'<path d="M-562 -96H562V680H-562Z" style="fill:{_PAPER};stroke:none"/>'
    return f"{head}\n<style>\n{style}\n</style>\n{paper}\n{drawing[tag.end() :]}\n"


def picture(shot: Shot) -> None:
    """Draw one, cut to what is to be seen, in few colours."""
    width, height = (_SUPERSAMPLED * side for side in shot.size_px)
    x_deg, z_deg = shot.turn_deg
    camera = f"--camera=0,0,0,{x_deg},0,{z_deg},500"
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.png"
        command = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else []
        command += f"openscad -q --autocenter --viewall --colorscheme=Tomorrow {camera}".split()
        command += ["--projection=p", f"--imgsize={width},{height}", "-o", str(raw)]
        if shot.part not in ("all", "head"):
            command.append("--render=1")
        command += ["-D", f'part="{shot.part}";{shot.settings}', str(CAD / f"{shot.source}.scad")]
        subprocess.run(command, check=True)
        with Image.open(raw) as opened:
            found = opened.convert("RGB")
    paper = Image.new("RGB", found.size, found.getpixel((0, 0)))
    box = ImageChops.difference(found, paper).getbbox() or (0, 0, width, height)
    margin = _SUPERSAMPLED * _MARGIN_PX
    left, top = max(0, box[0] - margin), max(0, box[1] - margin)
    found = found.crop((left, top, min(width, box[2] + margin), min(height, box[3] + margin)))
    found = found.resize(
        (found.width // _SUPERSAMPLED, found.height // _SUPERSAMPLED), Image.Resampling.LANCZOS
    )
    found.quantize(96).save(PICTURES / f"{shot.name}.png", optimize=True)


def main(names: Sequence[str]) -> None:
    """Draw those that are named, or everything."""
    PICTURES.mkdir(exist_ok=True)
    if not names or "wiring" in names:
        (PICTURES / "wiring.svg").write_text(wiring_svg(), encoding="utf-8")
    for shot in SHOTS:
        if not names or shot.name in names:
            print(shot.name, flush=True)
            picture(shot)


if __name__ == "__main__":
    main(sys.argv[1:])
