"""The printed parts of docs/building.md: their pictures, their sizes, and that they can be printed
without support.
"""

from __future__ import annotations

from hardware_pictures import DOCS, MAX_PICTURE_BYTES, PICTURES, SHOTS

PAGE = DOCS / "building.md"


def test_every_picture_is_there_small_and_shown() -> None:
    shown = PAGE.read_text(encoding="utf-8") + (DOCS / "hardware.md").read_text(encoding="utf-8")
    names = {*(f"{shot.name}.png" for shot in SHOTS), "wiring.svg"}
    assert {path.name for path in PICTURES.iterdir()} == names
    for name in names:
        assert (PICTURES / name).stat().st_size <= MAX_PICTURE_BYTES, name
        assert f'src="pictures/{name}"' in shown, name
