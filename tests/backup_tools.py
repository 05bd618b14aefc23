"""Helpers: installations with games and photographs, and their backups."""

from __future__ import annotations

import io
from pathlib import Path

from companion.archive.photographs import PhotographAlbum
from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.kit import Seat
from companion.maintenance.backup import make_backup, stage_restore
from companion.storage.journal import Journal
from companion.table.table import Table

# Sealed orders of an unfinished game and their salt, which no backup may contain.
SECRET = "RLI"
SECRET_SALT = "5a175a17"


def fill_installation(folder: Path, games: int = 2, unfinished: bool = False) -> Settings:
    """Make an installation with finished games of Mara, and a photograph of each game.

    :param games: number of finished games
    :param unfinished: whether there is one more game, in which orders are sealed
    """
    settings = Settings(state_dir=str(folder))
    with Journal(settings.journal_path) as journal, Table(journal, FakeClock()) as table:
        journal.key("signing")
        table.take_seat(Seat.SOUTH, "Mara")
        for _ in range(games):
            table.new_game("outbuffered", {}, seed=1)
            table.confirm("host", table.view().moment, 0)
            table.abandon()
        if unfinished:
            table.new_game("outbuffered", {}, seed=1)
            table.confirm("host", table.view().moment, 0)
            table.hand_in(Seat.SOUTH, table.view().moment, SECRET, SECRET_SALT)
    album = PhotographAlbum(settings.photographs_path)
    for game in range(1, games + 1 + unfinished):
        album.store(game, f"{game}.0", b"picture")
    # A link to nothing stands for a photograph that is deleted while the backup is made.
    album.path(1, "1.9").symlink_to("gone")
    (folder / "lenses.json").write_text("{}")
    (folder / "choices.json").write_text('{"last": "scouts"}')
    (folder / "settings.toml").write_text(
        f'state_dir = "{folder}" # here\n[table]\ntheme = "dark"\n'
    )
    return settings


def backup_bytes(settings: Settings, photographs: bool = True) -> bytes:
    """Return a backup of an installation."""
    target = io.BytesIO()
    make_backup(
        settings,
        Path(settings.state_dir) / "settings.toml",
        FakeClock(),
        with_photographs=photographs,
        target=target,
    )
    return target.getvalue()


def stage(settings: Settings, content: bytes) -> None:
    """Stage the restore of a backup for the next start."""
    file = Path(settings.state_dir) / "uploaded.zip"
    file.write_bytes(content)
    try:
        stage_restore(file, settings, Path(settings.state_dir) / "settings.toml")
    finally:
        file.unlink()
