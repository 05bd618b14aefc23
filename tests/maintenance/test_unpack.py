"""Test that small files are refused if they would unpack to very large ones: backups and pictures.

Otherwise anybody who may upload a file could fill the memory or the disk.
"""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from backup_tools import backup_bytes, fill_installation, stage

from companion.core.errors import CameraError, Malformed, SystemTrouble
from companion.maintenance import backup
from companion.maintenance.backup import staged_sentence
from vision.cameras.files import load_luma

# Size in bytes of a member that is all zeros. It is compressed to some 30 kB.
ZEROS_BYTES = 30_000_000


def replace_member(
    content: bytes, name: str, new_content: bytes, compression: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a backup with one member replaced, and all members compressed in this way."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(target, "w", compression) as new,
    ):
        for member in old.namelist():
            if member != name:
                new.writestr(member, old.read(member))
        new.writestr(name, new_content)
    return target.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        "lenses.json",
        "choices.json",
        "settings.toml",
        "backup.json",
        "photographs/1/1.0.jpg",
        "games.jsonl",
    ],
)
def test_a_too_large_member_is_refused_early(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fill_installation(tmp_path, games=1)
    content = replace_member(backup_bytes(here), name, bytes(ZEROS_BYTES))
    # The games have a limit that is too high for a test.
    monkeypatch.setitem(backup.MAX_MEMBER_BYTES, "games.jsonl", ZEROS_BYTES - 1)

    # The member is refused before it is unpacked, so that little memory is needed.
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match=f"{name} in this backup is too large"):
            stage(here, content)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8_000_000, f"{len(content)} bytes took {peak_bytes} bytes of memory"
    assert not staged_sentence(here)
    assert not list(tmp_path.glob("restore*"))


def test_a_member_longer_than_stated_is_damaged(tmp_path: Path) -> None:
    here = fill_installation(tmp_path, games=1)
    content = bytearray(replace_member(backup_bytes(here), "lenses.json", bytes(ZEROS_BYTES)))
    # Let the ZIP file say that the member has only 100 bytes. The last entry of its directory is
    # that of the replaced member, with the size at offset 24 and the name at offset 46.
    entry = content.rindex(b"PK\x01\x02")
    assert content[entry + 46 :].startswith(b"lenses.json")
    content[entry + 24 : entry + 28] = struct.pack("<L", 100)
    with pytest.raises(Malformed, match="damaged or not a backup"):
        stage(here, bytes(content))
    assert not list(tmp_path.glob("restore*"))


def test_free_space_and_file_count_are_checked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fill_installation(tmp_path, games=1)
    content = backup_bytes(here)

    # The disk has 100 bytes more than a game needs (24 MB), which is not enough for the backup.
    monkeypatch.setattr(backup, "free_bytes", lambda _: 24_000_100)
    with pytest.raises(SystemTrouble, match="more than there is: free some space"):
        stage(here, content)
    assert not list(tmp_path.glob("restore*"))

    # The backup has more than three files.
    monkeypatch.setattr(backup, "MAX_MEMBERS", 3)
    with pytest.raises(Malformed, match="more than 3 files"):
        stage(here, content)

    # If only the other members have room, a new backup has no photographs.
    monkeypatch.setattr(backup, "MAX_MEMBERS", len(backup.MAX_MEMBER_BYTES))
    assert b"photographs/" not in backup_bytes(here), (
        "a backup must not have more files than a restore accepts"
    )


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compression_methods_are_refused(tmp_path: Path, compression: int) -> None:
    here = fill_installation(tmp_path, games=1)
    with pytest.raises(Malformed, match="damaged or not a backup"):
        stage(here, replace_member(backup_bytes(here), "lenses.json", b"{}", compression))


# ---- pictures ------------------------------------------------------------------------------------

# Small files whose headers claim huge pictures, by the suffix of their format. They have more than
# the 179 million pixels that Pillow accepts.
HUGE_PICTURES = {
    "pgm": b"P5\n30000 30000\n255\n" + bytes(100),
    "bmp": b"BM"
    + struct.pack("<LHHLLllHHLLllLL", 0, 0, 0, 54, 40, 30_000, 30_000, 1, 24, 0, 0, 0, 0, 0, 0),
    "jpg": b"\xff\xd8\xff\xc0\x00\x0b\x08"
    + struct.pack(">2H", 60_000, 60_000)
    + b"\x01\x01\x11\x00\xff\xd9",
    "webp": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0"
    + (16_000).to_bytes(3, "little") * 2
    + bytes(8),
}


@pytest.mark.parametrize("suffix", HUGE_PICTURES)
def test_a_huge_picture_is_not_decoded(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"huge.{suffix}"
    file.write_bytes(HUGE_PICTURES[suffix])
    with pytest.raises(CameraError, match="is not a picture"):
        load_luma(file)


def test_a_picture_above_the_limit_is_not_decoded(tmp_path: Path) -> None:
    # Pillow would decode 100 million pixels, but the program's own limit is lower.
    file = tmp_path / "large.pgm"
    file.write_bytes(b"P5\n10000 10000\n255\n" + bytes(100))
    with pytest.raises(CameraError, match="is larger than 67 million pixels"):
        load_luma(file)
