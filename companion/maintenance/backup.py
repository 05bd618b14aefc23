"""Backup and restore of an installation in one file.

A backup is a ZIP file with a manifest (`backup.json`), the games as JSON lines, settings, lens
data, last choices, and optionally photographs. It holds no key of the installation and nothing of a
game that is still running. So orders that are handed in but not revealed, and hands of cards, never
leave the machine.

A restore has two steps:

1. Stage it: check the backup completely, and unpack it into a folder of the state directory
   (`stage_restore`).
2. Apply it: the next start puts the files in place before anything is opened, and keeps what they
   replace in the folder `before-restore` (`apply_staged`).

A deletion of all games is staged and applied in the same way (`stage_deletion`).
"""

from __future__ import annotations

import errno
import re
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

import msgspec

from companion import __version__
from companion.archive.photographs import PhotographAlbum
from companion.core.clock import Clock
from companion.core.config import Settings
from companion.core.errors import (
    CompanionError,
    ConfigError,
    JournalError,
    Malformed,
    SystemTrouble,
)
from companion.core.files import MAX_TEXT_BYTES, describe_os_error, open_file, read_file
from companion.core.i18n import joined, say, say_n
from companion.maintenance.games_file import read_games, write_games
from companion.maintenance.settings.file import SettingsFile
from companion.maintenance.settings.rows import unwritable_settings
from companion.storage.disk_space import MIN_GAME_FREE_BYTES, free_bytes
from companion.storage.format import find_copies
from companion.storage.journal import Journal
from companion.storage.opening import lock_journal
from companion.table.records import SEATS_GAME, FreeSeat

# Version of the format of backups that this program writes and reads.
BACKUP_FORMAT = 2
# Maximum size of an unpacked backup in bytes, so that no file fills the disk.
MAX_UNPACKED_BYTES = 2_000_000_000
# Maximum number of files (members) in a backup: a thousand games of twenty turns, with a photograph
# of each turn.
MAX_MEMBERS = 20_000
# Compression methods of a backup. Others are refused. LZMA, for one, takes as much memory as the
# file asks for.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Folder of the state directory with a restore or a deletion that is staged for the next start.
STAGED_FOLDER = "restore"
# Folder of the state directory with what the last restore replaced.
FORMER_FOLDER = "before-restore"
# Members of every backup.
_MANIFEST = "backup.json"
_GAMES = "games.jsonl"
# Optional members: the settings, measured lenses of cameras, and the last choices of options for
# each game.
_SETTINGS = "settings.toml"
_LENSES = "lenses.json"
_CHOICES = "choices.json"
# Name of the journal that the games are restored to. Backups of version 1.0 contain such a file
# themselves.
_JOURNAL = "journal.sqlite"
# Maximum size of each member in bytes. All are far above the usual sizes: the manifest has six
# lines, settings with every comment 30 KB, lenses and choices some KB. A game takes 0.1 MB, so
# there is room for five thousand games, as many as a page accepts.
MAX_MEMBER_BYTES = {
    _MANIFEST: 16_000,
    _SETTINGS: 256_000,
    _LENSES: 1_000_000,
    _CHOICES: 1_000_000,
    _GAMES: 500_000_000,
}
# Maximum size of a photograph in bytes: the largest camera at the best quality.
_MAX_PHOTOGRAPH_BYTES = 4_000_000
# Name of a photograph, such as `photographs/12/3.2.jpg`: game 12, moment (decision) 3.2.
_PHOTOGRAPH = re.compile(r"photographs/[0-9]{1,9}/[0-9]{1,9}\.[0-9]{1,9}\.jpg")
# Folder with the photographs of one journal's games.
_ALBUM = "photographs"
# Folder with summaries and pictures of these games, which the program can make again.
_HISTORY_CACHE = "history"
# Empty file in the staged folder. If it is there, a deletion is staged and not a restore: games and
# photographs are deleted, and nothing replaces them.
_DELETION_MARK = "forget"
# Exceptions of `zipfile` for a file that it cannot read.
_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # an unknown compression
    RuntimeError,  # a file with a password
)


class BackupManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The contents of a backup in figures: its member `backup.json`."""

    format: int
    """The backup's `BACKUP_FORMAT`."""
    version: str
    """Version of the program that wrote it."""
    at: float
    """When it was made, as Unix time."""
    games: int
    """Number of games."""
    photographs: int
    """Number of photographs."""
    left_out: int = 0
    """Number (id) of the game that was left out because it was still running. 0 if none was."""

    def sentence(self) -> str:
        """Return the contents as a sentence."""
        games = say_n("{n} game", "{n} games", self.games)
        pictures = say_n("{n} photograph", "{n} photographs", self.photographs)
        words = say("{games} and {pictures}.", games=games, pictures=pictures)
        if self.left_out:
            words = joined(
                " ",
                (words, say("Game {number} is still on and was left out.", number=self.left_out)),
            )
        return words


# ---- making a backup -----------------------------------------------------------------------------


def make_backup(
    settings: Settings,
    settings_file: Path,
    clock: Clock,
    with_photographs: bool,
    target: IO[bytes],
) -> BackupManifest:
    """Write a backup to `target`, and return its manifest. The service may be running.

    Raises `JournalError` if the games cannot be read, and `SystemTrouble` if the disk refuses.

    :param settings_file: path of the settings file
    :param with_photographs: whether to include the photographs of all turns
    """
    state = settings.journal_path.parent
    with disk_errors(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        with (
            Journal(settings.journal_path, read_only=True) as journal,
            archive.open(_GAMES, "w") as lines,
        ):
            written = write_games(journal, lines)
        optional = {_SETTINGS: settings_file, _LENSES: state / _LENSES, _CHOICES: state / _CHOICES}
        for name, path in optional.items():
            if path.exists():
                archive.write(path, name)
        album = PhotographAlbum(settings.photographs_path)
        count = _write_photographs(archive, album, written.running_id) if with_photographs else 0
        manifest = BackupManifest(
            format=BACKUP_FORMAT,
            version=__version__,
            at=clock.wall_s(),
            games=written.game_count,
            photographs=count,
            left_out=written.running_id,
        )
        archive.writestr(_MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def _write_photographs(archive: zipfile.ZipFile, album: PhotographAlbum, running_id: int) -> int:
    """Write the photographs of all games but the running one into a backup. Return their number.

    If there are more than a restore accepts, the oldest are left out.

    :param running_id: id of the running game, 0 if none is running
    """
    games = [game for game in reversed(album.games()) if game != running_id]
    newest_first = [
        album.path(game, moment) for game in games for moment in reversed(album.moments(game))
    ]
    count = 0
    # This much is left for photographs even if all other members have their maximum size.
    remaining_bytes = MAX_UNPACKED_BYTES - sum(MAX_MEMBER_BYTES.values())
    for path in newest_first[: MAX_MEMBERS - len(MAX_MEMBER_BYTES)]:
        # The running service may delete a photograph at any time.
        with suppress(FileNotFoundError):
            remaining_bytes -= path.stat().st_size
            if remaining_bytes < 0:
                break
            # Stored, because JPEG cannot be compressed any further.
            archive.write(path, f"{_ALBUM}/{path.parent.name}/{path.name}", zipfile.ZIP_STORED)
            count += 1
    return count


# ---- restoring a backup --------------------------------------------------------------------------


def stage_restore(
    source: Path | IO[bytes], settings: Settings, settings_file: Path
) -> BackupManifest:
    """Check a backup completely and stage it for the next start.

    Raises `Malformed` if the backup cannot be used, and `SystemTrouble` if the disk refuses. The
    restored games get the keys of this installation. All seats are free afterwards.

    :param settings_file: path of this installation's settings file
    """
    state = settings.journal_path.parent
    with disk_errors():
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = _make_staging_folder(state)
        # Make both folders, even if they stay empty. They replace those of this machine, which
        # belong to other games with the same ids.
        for name in (_ALBUM, _HISTORY_CACHE):
            (unfinished / name).mkdir()
        try:
            with open_file(source) if isinstance(source, Path) else nullcontext(source) as file:
                manifest = _unpack_all(file, unfinished)
            _check_settings(unfinished / _SETTINGS, settings, settings_file)
            _adopt_games(unfinished / _JOURNAL, settings.journal_path)
        except BaseException:
            _delete(unfinished)
            raise
        _delete(state / STAGED_FOLDER)
        unfinished.replace(state / STAGED_FOLDER)
    return manifest


def stage_deletion(settings: Settings) -> None:
    """Stage the deletion of all games, photographs and keys for the next start."""
    state = settings.journal_path.parent
    with disk_errors():
        unfinished = _make_staging_folder(state)
        (unfinished / _DELETION_MARK).touch()
        _delete(state / STAGED_FOLDER)
        unfinished.replace(state / STAGED_FOLDER)


def _make_staging_folder(state: Path) -> Path:
    """Return an empty folder in which to prepare a restore or a deletion.

    Only this user may read the folder, since it holds keys and passwords.
    """
    folder = state / f"{STAGED_FOLDER}.part"
    _delete(folder)
    folder.mkdir(mode=0o700, parents=True)
    return folder


def staged_sentence(settings: Settings) -> str:
    """Return what is staged for the next start, as a sentence. Empty if nothing."""
    staged = settings.journal_path.parent / STAGED_FOLDER
    if (staged / _DELETION_MARK).exists():
        return say("At the next start all games are deleted.")
    return say("At the next start a backup replaces all games.") if staged.exists() else ""


def cancel_staged(settings: Settings) -> None:
    """Cancel the staged restore or deletion."""
    with disk_errors():
        _delete(settings.journal_path.parent / STAGED_FOLDER)


def apply_staged(settings: Settings, settings_file: Path) -> str:
    """Apply what is staged, before the journal is opened.

    Return what was done as a sentence. It is empty if nothing was staged. Raises `SystemTrouble` if
    the disk refuses or the journal is in use.

    After a power cut the next start does all steps again, which finishes the work: a file that was
    already moved is no longer staged, so its step does nothing, and the settings file may be
    replaced by the same content twice. The staged folder is deleted last.
    """
    state = settings.journal_path.parent
    staged = state / STAGED_FOLDER
    former = state / FORMER_FOLDER
    if not staged.exists():
        return ""
    # The lock makes sure that no journal in use is moved.
    with disk_errors(), lock_journal(settings.journal_path):
        is_deletion = (staged / _DELETION_MARK).exists()
        contents_words = ""
        # A deletion has no manifest. After a power cut that of a restore may be gone, too.
        with suppress(OSError, msgspec.DecodeError):
            content = (staged / _MANIFEST).read_bytes()
            contents_words = msgspec.json.decode(content, type=BackupManifest).sentence()
        _prepare_former(staged, former, settings_file)
        _exchange_files(state, staged, former, is_deletion)
        restored_settings = staged / _SETTINGS
        if restored_settings.exists():
            SettingsFile(settings_file).replace(read_file(restored_settings, MAX_TEXT_BYTES))
            restored_settings.unlink()
        if is_deletion:
            # The owner wants nothing to be left. So delete also the phone that served as the
            # camera, what was replaced before, and old copies of the journal.
            for path in (state / "phone.json", former, *find_copies(settings.journal_path)):
                _delete(path)
        _delete(staged)
    if is_deletion:
        return say("All games were deleted. There is a new owner’s key.")
    former_words = say("What was here before is in the folder {folder}.", folder=FORMER_FOLDER)
    return joined(" ", (say("The backup is restored."), contents_words, former_words))


def _prepare_former(staged: Path, former: Path, settings_file: Path) -> None:
    """Empty the folder for what is replaced, and copy the settings file to it.

    Only the first attempt may do so. In a later attempt, after a power cut, the folder may hold the
    only copy of this table's games, and the settings file may already be the restored one.
    """
    # This folder is the first that is moved. So if it is still staged, nothing was moved.
    is_first_attempt = (staged / _HISTORY_CACHE).exists()
    if is_first_attempt:
        _delete(former)
    former.mkdir(mode=0o700, exist_ok=True)
    if is_first_attempt and (staged / _SETTINGS).exists() and settings_file.exists():
        shutil.copy(settings_file, former / _SETTINGS)  # keeps the mode


def _exchange_files(state: Path, staged: Path, former: Path, is_deletion: bool) -> None:
    """Move the files of this table to `former`, and the staged files into their place.

    The history's cache comes first, on which `_prepare_former` relies.
    """
    for name in (_HISTORY_CACHE, _LENSES, _CHOICES, _ALBUM, _JOURNAL):
        # A deletion keeps the lenses, which belong to the cameras and not to games.
        if is_deletion and name != _LENSES:
            _move_member(state, name, former)
        elif (staged / name).exists():
            _move_member(state, name, former)
            (staged / name).replace(state / name)


def _move_member(state: Path, name: str, folder: Path) -> None:
    """Move a file or folder of the state directory to another folder.

    SQLite has two more files beside the journal, which are moved with it.
    """
    for suffix in ("", "-wal", "-shm") if name == _JOURNAL else ("",):
        path = state / f"{name}{suffix}"
        if path.exists():
            _delete(folder / path.name)
            path.replace(folder / path.name)


# ---- checking ------------------------------------------------------------------------------------


def _max_member_bytes(name: str) -> int:
    """Return the maximum size in bytes of a member of a backup, 0 for an unknown name."""
    return _MAX_PHOTOGRAPH_BYTES if _PHOTOGRAPH.fullmatch(name) else MAX_MEMBER_BYTES.get(name, 0)


def _unpack_all(source: IO[bytes], folder: Path) -> BackupManifest:
    """Check the members of a backup and unpack them, the games as a journal. Raises `Malformed`."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_members(entries, folder)
            for entry in entries:
                if entry.filename != _GAMES:
                    place = folder / entry.filename
                    place.parent.mkdir(parents=True, exist_ok=True)
                    # A member cannot be larger than `_check_members` has allowed: `zipfile` reads
                    # no more than the size in the ZIP directory.
                    with archive.open(entry) as packed, place.open("xb") as target:
                        shutil.copyfileobj(packed, target)
            manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=BackupManifest)
            if manifest.format != BACKUP_FORMAT:
                raise Malformed(
                    say(
                        "This backup has format {theirs}, this program reads {ours}: update the "
                        "program.",
                        theirs=manifest.format,
                        ours=BACKUP_FORMAT,
                    )
                )
            with archive.open(_GAMES) as lines:
                read_games(lines, folder / _JOURNAL, _max_member_bytes(_GAMES))
    except _UNREADABLE:
        raise Malformed(say("This file is damaged or not a backup.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed(say("This is not a backup of this program.")) from None
    return manifest


def _check_members(entries: list[zipfile.ZipInfo], folder: Path) -> None:
    """Raise `Malformed` for members that no backup has, or that are too large.

    Raise `SystemTrouble` if the disk has no room for them. Nothing is unpacked before this check.

    :param folder: where the members are going to be unpacked
    """
    sizes = {entry.filename: entry.file_size for entry in entries}
    if _MANIFEST in sizes and _JOURNAL in sizes:
        raise Malformed(
            say(
                "This backup was made by version 1.0: restore it with that version, then make a "
                "new one."
            )
        )
    unknown = [name for name in sizes if not _max_member_bytes(name)]
    if unknown or len(sizes) != len(entries):
        raise Malformed(
            say("This is not a backup: it holds {name}.", name=[*unknown, *sizes][0][:80])
        )
    if len(entries) > MAX_MEMBERS:
        raise Malformed(
            say("This is not a backup: it holds more than {number} files.", number=MAX_MEMBERS)
        )
    if any(entry.compress_type not in _COMPRESSIONS for entry in entries):
        raise Malformed(say("This file is damaged or not a backup."))
    total = sum(sizes.values())
    # The total has a limit, too. If it is too large, the message names the photographs: only they
    # are many, and only they can be left out.
    sizes[_ALBUM] = total
    for name, size in sizes.items():
        max_bytes = _max_member_bytes(name) or MAX_UNPACKED_BYTES
        if size > max_bytes:
            raise Malformed(
                say(
                    "{name} in this backup is too large: at most {number} KB.",
                    name=name,
                    number=max_bytes // 1000,
                )
            )
    if total + MIN_GAME_FREE_BYTES > free_bytes(folder):
        raise SystemTrouble(
            say(
                "This backup needs {number} MB, more than there is: free some space on the disk.",
                number=max(1, total // 1_000_000),
            )
        )
    if _MANIFEST not in sizes or _GAMES not in sizes:
        raise Malformed(say("This is not a backup: there are no games in it."))


def _check_settings(path: Path, settings: Settings, settings_file: Path) -> None:
    """Check the settings of a backup, and adapt the file to this machine.

    Settings that a page may not write, such as paths, get the values of this machine. Raises
    `Malformed` for settings that cannot be read.

    :param path: the unpacked settings of the backup, which need not exist
    :param settings_file: this machine's own settings file
    """
    if not path.exists():
        return
    file = SettingsFile(path)
    try:
        contents = file.read()
        try:
            on_file = SettingsFile(settings_file).read().settings
        except ConfigError:
            # This machine's own file cannot be read, so use the defaults.
            on_file = Settings()
        own_values = unwritable_settings(on_file, contents.settings)
        file.change({**own_values, "state_dir": settings.state_dir}, contents.digest)
    except ConfigError as error:
        raise Malformed(
            say("The settings in this backup cannot be used: {why}", why=error.message)
        ) from None


def _adopt_games(path: Path, own_path: Path) -> None:
    """Give restored games the keys of this installation, and free their seats.

    The seats were taken on the machine that made the backup. Nobody here has a token for them, so
    nobody could play them. Raises `Malformed` for games that cannot be replayed.

    :param path: the journal with the restored games
    :param own_path: the journal of this installation
    """
    with Journal(path) as journal:
        seats = journal.restore().seats
        if journal.notice:
            raise Malformed(
                say("The games in this backup cannot be used: {why}", why=journal.notice)
            )
        # The seats are freed at the time of the backup's last input, so that the times in the
        # journal never run backwards.
        last_at = journal.database.query("SELECT COALESCE(MAX(at), 0.0) FROM entries")[0][0]
        for seat in seats:
            journal.append(SEATS_GAME, [FreeSeat(seat)], last_at)
        keys: list[tuple[str, bytes]] = []
        # This machine may have no journal yet, or one that cannot be read.
        with suppress(JournalError), Journal(own_path, read_only=True) as own:
            keys = own.keys()
        journal.database.write(
            lambda db: db.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?)", keys)
        )


def _delete(path: Path) -> None:
    """Delete a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn errors of the disk and the database into errors with a sentence for people."""
    try:
        yield
    except CompanionError:
        raise
    except sqlite3.Error as error:
        raise JournalError(say("The games cannot be copied: {why}", why=str(error))) from None
    except OSError as error:
        why = describe_os_error(error)
        words = say("The backup’s files cannot be read or written: {why}.", why=why)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            words = say(
                "Backup and restore cannot write ({why}): free some space on the disk.", why=why
            )
        raise SystemTrouble(words) from None
