"""Test backups and restores: what a backup contains, what is refused, and what a power cut leaves.

An installation is a folder with a journal, photographs and settings. A restore is first staged
(`stage`), and then applied at the next start (`apply`).
"""

from __future__ import annotations

import base64
import errno
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backup_tools import SECRET, SECRET_SALT, backup_bytes, fill_installation, stage

from companion.archive.photographs import PhotographAlbum
from companion.cli.main import main
from companion.core.config import Settings, parse_settings
from companion.core.errors import JournalError, Malformed, SystemTrouble
from companion.core.kit import Seat
from companion.maintenance import backup, games_file
from companion.maintenance.backup import (
    FORMER_FOLDER,
    STAGED_FOLDER,
    apply_staged,
    cancel_staged,
    stage_deletion,
    staged_sentence,
)
from companion.storage.journal import Journal


def apply(settings: Settings) -> str:
    """Carry out what is staged, as a start does. Return the sentence about what was done."""
    return apply_staged(settings, Path(settings.state_dir) / "settings.toml")


def games_of(settings: Settings) -> list[int]:
    with Journal(settings.journal_path, read_only=True) as journal:
        return journal.games()


def test_a_backup_lacks_keys_and_running_games(tmp_path: Path) -> None:
    settings = fill_installation(tmp_path, unfinished=True)
    content = backup_bytes(settings)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert sorted(archive.namelist()) == [
            "backup.json", "choices.json", "games.jsonl", "lenses.json", "photographs/1/1.0.jpg",
            "photographs/2/2.0.jpg", "settings.toml",
        ]  # fmt: skip
        # Game 3 is the unfinished one.
        manifest = json.loads(archive.read("backup.json"))
        counts = (manifest["games"], manifest["photographs"], manifest["left_out"])
        assert counts == (2, 2, 3)
        games = archive.read("games.jsonl")

    # No secret is among the games: neither sealed orders, nor a key (bytes are written in base64),
    # nor a nonce, of which a token could be made.
    assert SECRET.encode() not in games
    assert SECRET_SALT.encode() not in games
    with Journal(settings.journal_path) as journal:
        assert base64.b64encode(journal.key("signing")) not in games
        assert journal.restore().seats[Seat.SOUTH].nonce.encode() not in games

    # Photographs can be left out.
    assert "photographs/1/1.0.jpg" not in str(
        zipfile.ZipFile(io.BytesIO(backup_bytes(settings, photographs=False))).namelist()
    )


def test_a_missing_permission_does_not_ask_for_space() -> None:
    with pytest.raises(SystemTrouble, match="read or written: Permission"), backup.disk_errors():
        raise OSError(errno.EACCES, "")


def test_a_backup_is_restored_on_another_machine(tmp_path: Path) -> None:
    content = backup_bytes(fill_installation(tmp_path / "old"))
    new = Settings(state_dir=str(tmp_path / "new"))
    with Journal(new.journal_path) as journal:
        key = journal.key("host")

    # Staging changes nothing yet. Then the next start applies the backup.
    stage(new, content)
    assert staged_sentence(new)
    assert not (tmp_path / "new" / "settings.toml").exists(), (
        "the settings must not be replaced before the next start"
    )
    assert apply(new) == (
        "The backup is restored. 2 games and 2 photographs. "
        "What was here before is in the folder before-restore."
    )
    assert not staged_sentence(new)

    # The games are there, with this installation's own key. Mara has left her seat, since nobody
    # here has a token for it.
    assert games_of(new) == [1, 2]
    with Journal(new.journal_path) as journal:
        assert journal.key("host") == key, "this installation must keep its key"
        assert journal.restore().seats == {}, "all seats must be free"

    # The settings are those of the backup, with the comments of its file. Only the folder is this
    # installation's own.
    text = (tmp_path / "new" / "settings.toml").read_text()
    assert parse_settings(text) == Settings(
        state_dir=new.state_dir, table=parse_settings("[table]\ntheme='dark'").table
    )
    assert "# here" in text
    assert PhotographAlbum(new.photographs_path).games() == (1, 2)
    assert apply(new) == "", "the restore must not be carried out twice"


def test_restored_files_keep_their_permissions(tmp_path: Path) -> None:
    # With this umask, files that are made without a mode can be read by everybody.
    umask_before = os.umask(0o022)
    try:
        here = fill_installation(tmp_path / "here")
        file = tmp_path / "here" / "settings.toml"
        file.chmod(0o640)
        stage(here, backup_bytes(here))
        assert (tmp_path / "here" / STAGED_FOLDER).stat().st_mode & 0o777 == 0o700
        apply(here)
    finally:
        os.umask(umask_before)
    former = tmp_path / "here" / FORMER_FOLDER
    modes = [path.stat().st_mode & 0o777 for path in (file, former, former / "settings.toml")]
    assert modes == [0o640, 0o700, 0o640]


def test_a_start_finishes_an_interrupted_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut a restore short at its first move of a file, then at its second, and so on.

    After each cut, a second start must finish the restore. Finally a restore has fewer moves than
    `cut_move` and is not cut.
    """
    content = backup_bytes(fill_installation(tmp_path / "old", games=1))
    real_replace = Path.replace
    for cut_move in range(1, 30):
        # A table with three games gets a backup with one.
        folder = tmp_path / f"here-{cut_move}"
        here = fill_installation(folder, games=3)
        stage(here, content)
        move_count = 0

        def replace(path: Path, target: Path, cut_move: int = cut_move) -> Path:
            nonlocal move_count
            move_count += 1
            if move_count == cut_move:
                raise KeyboardInterrupt
            return real_replace(path, target)

        monkeypatch.setattr(Path, "replace", replace)
        # The first start may be cut. The second one finishes the work.
        try:
            apply(here)
            is_cut = False
        except KeyboardInterrupt:
            is_cut = True
        monkeypatch.setattr(Path, "replace", real_replace)
        apply(here)

        # The game of the backup is on the table, and the three others are in `before-restore`.
        assert games_of(here) == [1], cut_move
        former = folder / FORMER_FOLDER
        assert games_of(Settings(state_dir=str(former))) == [1, 2, 3], cut_move
        albums = [PhotographAlbum(state / "photographs").games() for state in (folder, former)]
        assert albums == [(1,), (1, 2, 3)], cut_move
        assert not (folder / STAGED_FOLDER).exists()
        if not is_cut:
            return
    pytest.fail("a restore has more than 29 moves, of which not all were cut")


def test_a_cut_restore_keeps_the_former_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The settings are changed after the backup, which then is staged.
    here = fill_installation(tmp_path, games=1)
    stage(here, backup_bytes(here))
    file = tmp_path / "settings.toml"
    former = file.read_text() + "# changed since\n"
    file.write_text(former)

    # The restore is cut after it has replaced the settings, when it deletes the staged ones.
    real_unlink = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == tmp_path / STAGED_FOLDER / "settings.toml":
            raise KeyboardInterrupt
        real_unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(KeyboardInterrupt):
            apply(here)
    assert file.read_text() != former

    # The second start must not take the restored settings for the former ones.
    apply(here)
    assert (tmp_path / FORMER_FOLDER / "settings.toml").read_text() == former


# ---- damaged backups -----------------------------------------------------------------------------
# A change is a function that gets the files of a backup by their names, and spoils one of them.


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        del files[name]

    return change


def with_file(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files[name] = content

    return change


def with_line(line: str) -> Callable[[dict[str, bytes]], None]:
    """Return a change that adds a line to the games."""
    return lambda files: files.update({"games.jsonl": files["games.jsonl"] + line.encode() + b"\n"})


def without_beginnings(files: dict[str, bytes]) -> None:
    """Remove the line with which each game begins."""
    files["games.jsonl"] = b"".join(
        line for line in files["games.jsonl"].splitlines(keepends=True) if b"new_game" not in line
    )


# One input of a game, as a line of `games.jsonl`.
INPUT_LINE = (
    '{"line":"input","id":900,"game":1,"at":1.0,"run":0,"now_s":0.0,'
    '"record":{"is":"pause","by":"host","now_s":1}}'
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("backup.json"), "not a backup"),
        (without("games.jsonl"), "no games"),
        (
            with_file("journal.sqlite", b"SQLite format 3"),
            "made by version 1.0: restore it with that version",
        ),
        (with_file("../evil", b""), "not a backup: it holds ../evil"),
        (
            with_file("settings.toml", b"[web]\nport = 'x'"),
            "settings in this backup cannot be used",
        ),
        (with_file("games.jsonl", b"rubbish" * 1000), "damaged"),
        (with_line('{"line":"key","name":"host","value":"AAAA"}'), "damaged"),
        (with_line('{"line":"removed","game":1,"sql":"DROP TABLE entries"}'), "damaged"),
        (with_line(INPUT_LINE.replace("900", "1")), "damaged"),
        (with_line(INPUT_LINE.replace('"pause"', '"no such record"')), "damaged"),
        (
            with_line(INPUT_LINE.replace('"pause","by":"host"', f'"pause","by":"{"A" * 200_000}"')),
            "too long",
        ),
        (without_beginnings, "cannot be continued"),
        (
            with_file(
                "backup.json", b'{"format":9,"version":"9","at":1,"games":1,"photographs":0}'
            ),
            "has format 9",
        ),
    ],
)
def test_a_bad_backup_changes_nothing(
    tmp_path: Path, change: Callable[[dict[str, bytes]], None], words: str
) -> None:
    old = fill_installation(tmp_path / "old", games=1)
    here = fill_installation(tmp_path / "here", games=2)

    # Take a good backup of the one installation apart, spoil it, and put it together again.
    with zipfile.ZipFile(io.BytesIO(backup_bytes(old))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)

    # The other installation refuses it.
    names_before = sorted(file.name for file in (tmp_path / "here").iterdir())
    with pytest.raises(Malformed, match=words):
        stage(here, target.getvalue())
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == names_before
    assert games_of(here) == [1, 2]


def test_a_cut_or_damaged_file_is_refused(tmp_path: Path) -> None:
    here = fill_installation(tmp_path)
    content = backup_bytes(here)
    for broken in (
        content[: len(content) // 2],
        b"",
        b"PK",
        content[:300] + b"\0" * 50 + content[350:],
    ):
        with pytest.raises(Malformed):
            stage(here, broken)
    assert not staged_sentence(here)


def test_a_cancelled_restore_is_not_carried_out(tmp_path: Path) -> None:
    here = fill_installation(tmp_path)
    stage(here, backup_bytes(here))
    cancel_staged(here)
    assert apply(here) == ""


def test_a_deletion_removes_games_photographs_and_keys(tmp_path: Path) -> None:
    here = fill_installation(tmp_path)
    with Journal(here.journal_path) as journal:
        key = journal.key("host")
    # Copies of the journal, as an upgrade and a repair leave them.
    for name in ("journal.format-2.sqlite", "journal.damaged-3.sqlite"):
        (tmp_path / name).write_bytes(b"games")
    stage_deletion(here)
    assert "All games were deleted" in apply(here)
    with Journal(here.journal_path) as journal:
        assert journal.games() == []
        assert journal.key("host") != key
    # The calibration of the lens stays, because it belongs to the machine.
    names = ("settings.toml", "lenses.json", "journal.lock", "journal.sqlite")
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    assert not here.photographs_path.exists()


def test_a_running_service_keeps_its_files(tmp_path: Path) -> None:
    here = fill_installation(tmp_path)
    stage(here, backup_bytes(here))
    with Journal(here.journal_path), pytest.raises(JournalError, match="Another companion"):
        apply(here)
    assert (tmp_path / STAGED_FOLDER).exists()


def test_the_command_line_saves_and_restores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = fill_installation(tmp_path / "old"), tmp_path / "new"
    file = tmp_path / "backup.zip"
    state = ["--state-dir", old.state_dir]

    # A backup is saved, and replaced by one with photographs.
    assert main(["backup", str(file), *state]) == 0
    assert "2 games and 0 photographs." in capsys.readouterr().out
    assert main(["backup", str(file), "--photographs", *state]) == 0
    assert "2 games and 2 photographs." in capsys.readouterr().out
    assert file.stat().st_mode & 0o777 == 0o600, "nobody else may read names and the Wi-Fi password"

    # It is restored at once. While a service runs (whose journal is open), it is only staged.
    assert main(["restore", str(file), "--state-dir", str(new)]) == 0
    assert "The backup is restored." in capsys.readouterr().out
    with Journal(new / "journal.sqlite") as journal:
        assert journal.games() == [1, 2]
        assert main(["restore", str(file), "--state-dir", str(new)]) == 0
        assert "A companion is running" in capsys.readouterr().out

    # A file cannot be written into a file.
    assert main(["backup", str(file / "backup.zip"), *state]) == 1
    assert "cannot be written: Not a directory" in capsys.readouterr().err


def test_lines_and_inputs_of_a_backup_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fill_installation(tmp_path)
    content = backup_bytes(here)
    # Each limit is lowered to 2 in turn.
    refusals = {
        "MAX_LINES": "too long: at most 2 lines",
        "MAX_RECORD_BYTES": "An input .* too long: at most 2 bytes",
        "MAX_LINE_BYTES": "A line .* too long: at most 2 bytes",
    }
    for name, refusal in refusals.items():
        with monkeypatch.context() as patch:
            patch.setattr(games_file, name, 2)
            with pytest.raises(Malformed, match=refusal):
                stage(here, content)
    assert not staged_sentence(here)
