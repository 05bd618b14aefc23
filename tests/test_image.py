"""Test what `make image` refuses, and how a ready memory card is set up from its text file.

`make image` makes a memory card with the program from an image of Raspberry Pi OS. On the card is a
text file, in which its owner can name a country for Wi-Fi and the machine. It is read at each
start. Both are shell scripts of `systemd/image`. `tests/appliance` makes a whole image and boots
it.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "systemd/image"
MIB = 1024**2
# `sfdisk` is in a folder that only root has on its path.
PROGRAM_FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin"

needs_fdisk = pytest.mark.skipif(
    not shutil.which("sfdisk", path=PROGRAM_FOLDERS), reason="needs fdisk"
)


def error_of_make_image(base: Path, country: str = "", path: str = PROGRAM_FOLDERS) -> str:
    """Return the message with which `make-image` refuses to make a card from a base image.

    It must leave no file of a card behind. `path` are the folders in which it finds programs.
    """
    process = subprocess.run(
        ["/bin/sh", FOLDER / "make-image", base, base.parent / "card", base.parent / "no.deb"],
        env={"PATH": path, "COUNTRY": country},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode, "make-image has accepted the image"
    assert not list(base.parent.glob("card*"))
    return process.stderr


@needs_fdisk
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("os.img", b"no disk", "it does not have its two partitions"),
        ("os.zip", b"PK", "Unpack a .zip first."),
        ("os.img.xz", lzma.compress(bytes(MIB))[:-40], "is damaged: download it again."),
    ],
)
def test_files_that_are_no_image_are_refused(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in error_of_make_image(tmp_path / name)


@needs_fdisk
def test_missing_image_country_and_programs_are_named(tmp_path: Path) -> None:
    base = tmp_path / "os.img"
    assert f"There is no {base}: download" in error_of_make_image(base)
    base.write_bytes(b"")
    assert "COUNTRY is two capitals, such as DE, not Germany." in error_of_make_image(
        base, country="Germany"
    )
    # a folder with the two programs that the script needs to look for the others
    (tmp_path / "bin").mkdir()
    for tool in ("dirname", "readlink"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    assert "sudo apt install fdisk mtools" in error_of_make_image(base, path=str(tmp_path / "bin"))


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("country = de\r\nname = club-2\r\n", ["hostname club-2", "iw reg set DE"]),
        ("country =\nname = table\n", []),
        ("country = Germany\nname = our $(reboot) table\n# name = x\n", []),
    ],
)
def test_text_file_sets_country_and_name(tmp_path: Path, text: str, commands: list[str]) -> None:
    """Set up a card in a folder, with fakes of `hostname` and `iw` that only print their arguments.

    The script must run `commands`, and change the machine's name in its files. A country or a name
    that is empty or not valid changes nothing.
    """
    for folder in ("boot/firmware", "etc", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "boot/firmware/tabletop-companion.txt").write_text(text)
    (tmp_path / "etc/hostname").write_text("table\n")
    (tmp_path / "etc/hosts").write_text("127.0.0.1\tlocalhost\n127.0.1.1\ttable\n")
    for command in ("hostname", "iw"):
        path = tmp_path / "bin" / command
        path.write_text(f'#!/bin/sh\necho {command} "$@"\n')
        path.chmod(0o755)

    # DESTDIR is the folder in place of the root of the file system.
    environment = {"DESTDIR": str(tmp_path), "PATH": f"{tmp_path}/bin:{PROGRAM_FOLDERS}"}
    process = subprocess.run(
        ["/bin/sh", FOLDER / "tabletop-card"], env=environment, check=True, capture_output=True
    )
    assert process.stdout.decode().splitlines() == commands
    name = "club-2" if commands else "table"
    assert (tmp_path / "etc/hostname").read_text() == f"{name}\n"
    assert f"127.0.1.1\t{name}\n" in (tmp_path / "etc/hosts").read_text()
