"""Test that docs/building.md and docs/hardware.md show every picture of the hardware.

The pictures are drawn by `hardware_pictures.py`, except for that of the wiring.
"""

from __future__ import annotations

from hardware_pictures import DOCS, MAX_PICTURE_BYTES, PICTURES, SHOTS

PAGE = DOCS / "building.md"


def test_pages_show_every_picture_and_pictures_are_small() -> None:
    pages = PAGE.read_text(encoding="utf-8") + (DOCS / "hardware.md").read_text(encoding="utf-8")
    names = {*(f"{shot.name}.png" for shot in SHOTS), "wiring.svg"}
    assert {path.name for path in PICTURES.iterdir()} == names
    for name in names:
        assert (PICTURES / name).stat().st_size <= MAX_PICTURE_BYTES, name
        assert f'src="pictures/{name}"' in pages, f"{name} is on neither page"
