"""A ready card: what it takes from a file, and what `make image` says to an image that is none.

`tests/appliance` makes one and boots it.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "systemd/image"
MIB = 1024**2
PATHS = "/usr/bin:/bin:/usr/sbin:/sbin"

pytestmark = pytest.mark.skipif(not shutil.which("sfdisk", path=PATHS), reason="needs fdisk")


def said(base: Path, country: str = "", path: str = PATHS) -> str:
    """Return what the tool refuses an image with; nothing of it may be left."""
    done = subprocess.run(
        ["/bin/sh", FOLDER / "make-image", base, base.parent / "card", base.parent / "no.deb"],
        env={"PATH": path, "COUNTRY": country},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert not list(base.parent.glob("card*"))
    return done.stderr


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("os.img", b"no disk", "it has not its two partitions"),
        ("os.zip", b"PK", "A .zip is to be unpacked first."),
        ("os.img.xz", lzma.compress(bytes(MIB))[:-40], "is damaged: download it again."),
    ],
)
def test_what_is_no_image_is_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in said(tmp_path / name)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    base = tmp_path / "os.img"
    assert f"There is no {base}: download" in said(base)
    base.write_bytes(b"")
    assert "COUNTRY is two capitals, such as DE, not Germany." in said(base, "Germany")
    (tmp_path / "bin").mkdir()
    for tool in ("dirname", "readlink"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    assert "sudo apt install fdisk mtools" in said(base, path=str(tmp_path / "bin"))


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("country = de\r\nname = club-2\r\n", ["hostname club-2", "iw reg set DE"]),
        ("country =\nname = table\n", []),
        ("country = Germany\nname = our $(reboot) table\n# name = x\n", []),
    ],
)
def test_the_cards_text_file_is_read(tmp_path: Path, text: str, run: list[str]) -> None:
    for folder in ("boot/firmware", "etc", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "boot/firmware/tabletop-companion.txt").write_text(text)
    (tmp_path / "etc/hostname").write_text("table\n")
    (tmp_path / "etc/hosts").write_text("127.0.0.1\tlocalhost\n127.0.1.1\ttable\n")
    for command in ("hostname", "iw"):
        path = tmp_path / "bin" / command
        path.write_text(f'#!/bin/sh\necho {command} "$@"\n')
        path.chmod(0o755)
    environment = {"DESTDIR": str(tmp_path), "PATH": f"{tmp_path}/bin:{PATHS}"}
    done = subprocess.run(
        ["/bin/sh", FOLDER / "tabletop-card"], env=environment, check=True, capture_output=True
    )
    assert done.stdout.decode().splitlines() == run
    name = "club-2" if run else "table"
    assert (tmp_path / "etc/hostname").read_text() == f"{name}\n"
    assert f"127.0.1.1\t{name}\n" in (tmp_path / "etc/hosts").read_text()
