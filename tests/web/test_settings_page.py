"""Tests of the settings page and its API, through Flask's client on the rig of a service.

A change is checked and written to the settings file at once. It takes effect at once, or after a
restart when no game is on.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import tempfile
import time
import zipfile
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from setup_tools import HOST_KEY, ServiceRig, open_service_rig
from web_fixtures import error_of, single_spaced

from companion.archive.photographs import PhotographAlbum
from companion.core.config import parse_settings
from companion.core.kit import Seat
from companion.maintenance.upkeep import RESTART_AFTER_S
from companion.table.session import Phase

# A settings file that an owner has written by hand.
OWNERS_FILE = '# ours\n[table]\ntheme = "light" # as the wall\n[web]\nviewers = 20\n'


def page_of(rig: ServiceRig) -> str:
    """Return the settings page as the owner gets it, without escapes and double blanks."""
    return single_spaced(unescape(rig.host.get("/settings").text))


def save(rig: ServiceRig, **fields: str) -> Any:
    """Change settings as the owner. In their names, `__` stands for a dot. Return the answer."""
    values = {key.replace("__", "."): text for key, text in fields.items()}
    return rig.host.post("/api/settings/change", json={"values": values})


def refusal(answer: Any) -> str:
    """Return the message of an answer that has to be a refusal."""
    assert answer.status_code == 400
    return str(error_of(answer)["message"])


def notices_after(rig: ServiceRig, seconds: float) -> tuple[str, ...]:
    """Advance the clock, restart the service if the table is idle, and return the notices."""
    rig.clock.advance(seconds)
    rig.upkeep.restart_when_idle()
    rig.table.step()
    return rig.table.view().devices.notices


def test_only_the_owner_sees_the_settings(tmp_path: Path) -> None:
    """Others are asked for the owner key. It leads back to the settings, but to no other site."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        page = rig.browser().get("/settings").text
        assert "Enter the owner’s key" in page
        assert 'name="back" value="/settings"' in page
        for back, location in (("//evil", "/host"), ("/settings", "/settings")):
            form = {"key": HOST_KEY, "back": back}
            assert rig.browser().post("/host", data=form).location == location


def test_eight_rows_offer_the_common_settings(tmp_path: Path) -> None:
    """Each choice of a row has its settings in `data-values`. All other settings are in a fold."""
    with open_service_rig(tmp_path, f"{OWNERS_FILE}[panel]\nsilent = true\n") as rig:
        front = page_of(rig).partition('id="tinkerers"')[0]
        rows = re.findall(r'class="line"[^>]*>(?:<summary>)?<b>([^<]+)</b>', front)
        assert ", ".join(rows) == (
            "Language, Colours, Sound, Time to read, Left of the screen, Wi-Fi, "
            "Who may sit down, Backup"
        )
        choices = dict(re.findall(r"name=\"row-(\w+)\" data-values='([^']+)' checked", front))
        assert " ".join(choices) == "language colours sound reading left join"
        assert json.loads(choices["colours"]) == {"table.theme": "light"}
        # the buzzer is silent but the voice is not, so the sound is soft instead of off
        assert re.search(r"name=\"row-sound\" data-values='[^']+' checked><span>Soft<", front)


def test_all_other_settings_are_in_the_fold(tmp_path: Path) -> None:
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        page = page_of(rig)
        assert 'name="panel.north.lamps_active_low"' in page
        for name in ("state_dir", "web.host", "web.certificate", "mqtt.ca_file"):
            assert f'name="{name}"' not in page, "the page must not change a path or an address"
            assert f'<output class="in" id="{name}"' in page
        assert 'name="web.viewers" value="20"' in page
        rig.host.set_cookie("language", "es")
        page = page_of(rig)
        assert "De 0 a 1. Por defecto: 0,6." in page
        assert 'name="voice.volume" value="0,6"' in page, "the number must be written as in Spanish"


def test_a_change_works_at_once_if_possible(tmp_path: Path) -> None:
    """A change is put into the settings file, which keeps its comments, and takes effect."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        # pin 0, no pin, and a list of lamps in which `up` is no lamp
        south_panel = {
            "panel__south__up": "0",
            "panel__south__down": "",
            "panel__south__lamps_active_low": "lamp_1 up",
        }
        assert save(rig, table__theme="dark", voice__volume="0,5").json == {"note": ""}
        assert save(rig, **south_panel, quiet__from="22:00", quiet__to="08:00").status_code == 200

        # the file has the changes, and they are in use
        text = rig.path.read_text()
        assert '# ours\n[table]\ntheme = "dark" # as the wall\n' in text
        south = parse_settings(text).panel.south
        used = rig.used[-1]
        assert (south.up, south.down, south.lamps_active_low) == (0, "", ("lamp_1",))
        assert (used.voice.volume, used.quiet.begin) == (0.5, "22:00")
        assert rig.table.settings.theme == "dark"
        assert rig.host.get("/").text.count('data-theme="dark"') == 1


def test_a_needed_restart_comes_after_the_game(tmp_path: Path) -> None:
    """The first time that the table is idle, it shows a notice. The next time it restarts."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        # the number of viewers is changed during a game, which must not be interrupted
        rig.table.new_game("outbuffered", {}, 1)
        note = save(rig, web__viewers="30").json["note"]
        assert note == "After the game the table starts again: then it works."
        for _ in range(3):
            notices_after(rig, RESTART_AFTER_S)
        assert rig.restarts == [], "the table must not restart during a game"

        # the game is over
        rig.table.abandon()
        notices_after(rig, 0)
        assert notices_after(rig, RESTART_AFTER_S) == (
            "New settings: the table starts again in a moment.",
        )
        assert rig.restarts == [], "the table must not restart without a notice"
        notices_after(rig, 0)
        assert rig.restarts == [True]


def test_a_new_game_removes_the_restart_notice(tmp_path: Path) -> None:
    """The restart waits for the end of the game, and is announced again after it."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        words = "New settings: the table starts again in a moment."
        save(rig, web__viewers="30")
        assert notices_after(rig, RESTART_AFTER_S) == (words,)

        # a game begins just before the restart
        rig.table.new_game("outbuffered", {}, 1)
        assert notices_after(rig, 2 * RESTART_AFTER_S) == ()

        # the game is over: the notice returns, and then the table restarts
        rig.table.abandon()
        assert notices_after(rig, 1) == ()
        assert notices_after(rig, RESTART_AFTER_S) == (words,), "the notice must return"
        assert rig.restarts == []
        notices_after(rig, 1)
        assert rig.restarts == [True]


def test_a_new_game_keeps_the_notice_of_deletion(tmp_path: Path) -> None:
    """All games are deleted at the next start. That notice replaces the one of the restart."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        save(rig, web__viewers="30")
        notices_after(rig, RESTART_AFTER_S)
        rig.upkeep.reset(delete_games=True)
        rig.table.new_game("outbuffered", {}, 1)
        assert notices_after(rig, 0) == (rig.upkeep.staged_sentence(),)


@pytest.mark.parametrize(("hour", "theme"), [(19, "light"), (20, "dark"), (6, "dark")])
def test_the_night_theme_follows_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hour: int, theme: str
) -> None:
    """With the theme `night` the table screen is dark from 20 to 7 o'clock."""
    # a Saturday (5), day 332 of the year, without daylight saving time (0)
    now = time.struct_time((2026, 11, 28, hour, 0, 0, 5, 332, 0))
    monkeypatch.setattr("web.routes.pages.time.localtime", lambda _: now)
    with open_service_rig(tmp_path, '[table]\ntheme = "night"\n') as rig:
        assert f'data-theme="{theme}"' in rig.host.get("/").text


def test_invalid_values_are_explained_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        for fields, words in (
            (
                {"table__theme": "dark", "web__port": "hello"},
                "Enter a whole number from 0 to 65535.",
            ),
            ({"wifi__password": "short"}, "Enter 8 to 63 letters, digits and signs"),
            ({"quiet__from": "22:00"}, "Enter both times, or neither."),
            ({"quiet__at": "22:00"}, "no setting"),
            ({"panel__south__up": "6"}, "Pin 6 already has another job"),
        ):
            assert words in refusal(save(rig, **fields))

        # a valid change cannot be written, because the disk is read-only
        with monkeypatch.context() as disk:
            disk.setattr("os.fsync", partial(_raise_os_error, errno.EROFS))
            answer = save(rig, web__viewers="33")
        assert answer.status_code == 503
        words = "cannot be written (Read-only file system): nothing has changed."
        assert words in error_of(answer)["message"]
        assert rig.path.read_text() == OWNERS_FILE

        # the owner has broken the file: the page says so, and does not replace it
        rig.path.write_text("[web\n")
        assert "not TOML" in page_of(rig)
        assert save(rig, table__theme="dark").status_code == 503
        assert rig.path.read_text() == "[web\n"


def _raise_os_error(number: int, *_: Any, **__: Any) -> None:
    raise OSError(number, os.strerror(number))


def test_a_backup_is_saved_and_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Download a backup, then upload it: it replaces all games at the next start."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:

        def restore(content: bytes) -> str:
            sent = {"backup": (io.BytesIO(content), "it.zip")}
            return unescape(rig.host.post("/settings/restore", data=sent).text)

        def notices() -> tuple[str, ...]:
            rig.table.step()
            return rig.table.view().devices.notices

        # download a backup of one game
        rig.table.new_game("outbuffered", {}, 1)
        rig.table.abandon()
        with rig.host.get("/settings/backup.zip") as answer:
            assert answer.headers["Content-Disposition"].startswith(
                "attachment; filename=tabletop-companion-"
            )
            content = answer.get_data()
        assert rig.upkeep.last_backup_s() is not None
        assert "settings.toml" in zipfile.ZipFile(io.BytesIO(content)).namelist()

        # photographs are in a backup only if they are wanted
        PhotographAlbum(rig.upkeep.running.photographs_path).store(1, "1.0", b"picture")
        for query, has_photograph in (("", False), ("?photographs=yes", True)):
            with rig.host.get(f"/settings/backup.zip{query}") as answer:
                names = zipfile.ZipFile(io.BytesIO(answer.get_data())).namelist()
            assert ("photographs/1/1.0.jpg" in names) is has_photograph

        # an upload fails if it is no backup, or if the disk is full
        assert "damaged or not a backup" in restore(b"PK rubbish")
        with monkeypatch.context() as full:
            full.setattr(tempfile, "NamedTemporaryFile", partial(_raise_os_error, errno.ENOSPC))
            assert "free some space on the disk" in restore(content)

        # upload the backup, with more bytes than other routes accept: it waits for the next start
        rig.table.new_game("outbuffered", {}, 1)
        page = restore(content + b"\0" * 20_000)
        assert "The backup is in order. 1 game and 0 photographs." in page
        warning = "At the next start a backup replaces all games."
        assert warning in page
        assert warning in " ".join(notices())

        # the owner changes their mind
        assert rig.post("/api/settings/unstage")[0] == 200
        assert notices() == ()
        assert not rig.upkeep.staged_sentence()


def test_a_reset_restores_settings_and_frees_seats(tmp_path: Path) -> None:
    """The first reset keeps the games, the second one also deletes them."""
    with open_service_rig(tmp_path, OWNERS_FILE) as rig:
        rig.sit(Seat.SOUTH, "Mara")
        rig.table.new_game("outbuffered", {}, 1)
        for games in (False, True):
            assert rig.post("/api/settings/reset", games=games)[0] == 200
            assert bool(rig.upkeep.staged_sentence()) is games, (
                "games must be deleted at the next start, but only if that is wanted"
            )

        # seats are free and settings are the defaults, while the old settings are kept in a file
        view = rig.table.view()
        assert (view.phase, view.seats[Seat.SOUTH].name) == (Phase.LOBBY, None)
        assert rig.table.settings.theme == "system"
        assert rig.path.with_name("settings.before-reset.toml").exists()
        assert "<b>At the next start all games are deleted.</b>" in page_of(rig)
