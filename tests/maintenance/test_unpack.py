"""What unpacks or decodes something from elsewhere: small files that want to become large."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from test_backup import backup_of, fill

from companion.core.config import Settings
from companion.core.errors import CameraError, Malformed, SystemTrouble
from companion.maintenance import backup
from companion.maintenance.backup import stage_restore, staged_sentence
from vision.cameras.files import load_luma

ZEROS = 30_000_000


def replace_member(
    content: bytes, name: str, put: bytes, kind: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a backup with one member replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(target, "w", kind) as new:
        for each in old.namelist():
            if each != name:
                new.writestr(each, old.read(each))
        new.writestr(name, put)
    return target.getvalue()


def stage(here: Settings, content: bytes) -> None:
    stage_restore(io.BytesIO(content), here, Path(here.state_dir) / "settings.toml")


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
def test_a_member_has_a_limit_of_its_own(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fill(tmp_path, games=1)
    content = replace_member(backup_of(here), name, bytes(ZEROS))
    monkeypatch.setitem(backup.MAX_MEMBER_BYTES, "games.jsonl", ZEROS - 1)
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match=f"{name} in this backup is too large"):
            stage(here, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000, f"{peak} bytes of memory for {len(content)}"
    assert not staged_sentence(here)
    assert not list(tmp_path.glob("restore*"))


def test_a_member_longer_than_stated_is_damaged(tmp_path: Path) -> None:
    here = fill(tmp_path, games=1)
    content = bytearray(replace_member(backup_of(here), "lenses.json", bytes(ZEROS)))
    entry = content.rindex(b"PK\x01\x02")
    assert content[entry + 46 :].startswith(b"lenses.json")
    content[entry + 24 : entry + 28] = struct.pack("<L", 100)
    with pytest.raises(Malformed, match="damaged or not a backup"):
        stage(here, bytes(content))
    assert not list(tmp_path.glob("restore*"))


def test_free_space_and_number_are_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fill(tmp_path, games=1)
    content = backup_of(here)
    monkeypatch.setattr(backup, "free_bytes", lambda _: 24_000_100)
    with pytest.raises(SystemTrouble, match="more than there is: free some space"):
        stage(here, content)
    assert not list(tmp_path.glob("restore*"))
    monkeypatch.setattr(backup, "MAX_MEMBERS", 3)
    with pytest.raises(Malformed, match="more than 3 files"):
        stage(here, content)
    monkeypatch.setattr(backup, "MAX_MEMBERS", len(backup.MAX_MEMBER_BYTES))
    assert b"photographs/" not in backup_of(here), "the newest that a restore accepts"


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(tmp_path: Path, kind: int) -> None:
    here = fill(tmp_path, games=1)
    with pytest.raises(Malformed, match="damaged or not a backup"):
        stage(here, replace_member(backup_of(here), "lenses.json", b"{}", kind))


# ---- pictures ------------------------------------------------------------------------------------


class Bomb(NamedTuple):
    """A picture of some kind that says it is huge."""

    name: str
    content: bytes


BOMBS = (
    Bomb("pgm", b"P5\n30000 30000\n255\n" + bytes(100)),
    Bomb(
        "bmp",
        b"BM"
        + struct.pack("<LHHLLllHHLLllLL", 0, 0, 0, 54, 40, 30_000, 30_000, 1, 24, 0, 0, 0, 0, 0, 0),
    ),
    Bomb(
        "jpg",
        b"\xff\xd8\xff\xc0\x00\x0b\x08"
        + struct.pack(">2H", 60_000, 60_000)
        + b"\x01\x01\x11\x00\xff\xd9",
    ),
    Bomb(
        "webp",
        b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (16_000).to_bytes(3, "little") * 2 + bytes(8),
    ),
)


@pytest.mark.parametrize("bomb", BOMBS, ids=[bomb.name for bomb in BOMBS])
def test_a_huge_picture_is_not_decoded(tmp_path: Path, bomb: Bomb) -> None:
    file = tmp_path / f"huge.{bomb.name}"
    file.write_bytes(bomb.content)
    with pytest.raises(CameraError, match=r"is larger than|is not a picture"):
        load_luma(file)
