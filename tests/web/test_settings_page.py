"""The settings page: what is chosen is checked, saved at once, and works at once where it can."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from setup_tools import Kept, kept
from web_fixtures import error_of, flat

from companion.core.config import read_settings
from companion.core.kit import Seat
from companion.maintenance.upkeep import RESTART_AFTER_S
from companion.storage.journal import Journal
from companion.table.session import Phase

OURS = '# ours\n[table]\ntheme = "light" # as the wall\n[web]\nviewers = 20\n'


def page_of(place: Kept) -> str:
    return flat(unescape(place.host.get("/settings").get_data(as_text=True)))


def save(place: Kept, **fields: str) -> Any:
    values = {key.replace("__", "."): text for key, text in fields.items()}
    return place.host.post("/api/settings/change", json={"values": values})


def refusal(answer: Any) -> str:
    assert answer.status_code == 400
    return str(error_of(answer)["message"])


def test_it_is_the_hosts_alone(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        stranger = place.browser()
        page = stranger.get("/settings").get_data(as_text=True)
        assert "Enter the owner’s key" in page
        assert 'name="back" value="/settings"' in page
        assert (
            stranger.post("/host", data={"key": "abcdefghij", "back": "/settings"}).location
            == "/settings"
        )
        assert (
            place.browser().post("/host", data={"key": "abcdefghij", "back": "//evil"}).location
            == "/host"
        )
        other = place.browser()
        for door in ("restart", "unstage", "reset"):
            assert other.post(f"/api/settings/{door}", json={}).status_code == 403
        assert (
            other.post("/api/settings/change", json={"values": {"table.theme": "dark"}}).status_code
            == 403
        )
        assert other.post("/settings/restore", data={}).status_code == 403
        assert other.get("/settings/backup.zip").status_code == 403
        assert "light" in place.path.read_text()


def test_eight_rows_have_what_everybody_wants(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        page = page_of(place)
        front = page.partition('id="tinkerers"')[0]
        rows = re.findall(r'class="line"[^>]*>(?:<summary>)?<b>([^<]+)</b>', front)
        assert rows == [
            *(
                "Language",
                "Colours",
                "Sound",
                "Time to read",
                "Left of the screen",
                "Wi-Fi",
                "Who may sit down",
            ),
            "Backup",
        ]
        chosen = re.findall(r"name=\"row-(\w+)\" data-values='([^']+)' checked", front)
        assert [name for name, _ in chosen] == [
            "language",
            "colours",
            "sound",
            "reading",
            "left",
            "join",
        ]
        assert json.loads(dict(chosen)["colours"]) == {"table.theme": "light"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[panel]\nsilent = true\n[voice]\nby = 'off'", "Off"),
        ("[panel]\nsilent = true", "Soft"),
        ("[voice]\nvolume = 0.9", "Loud"),
    ],
)
def test_the_sound_is_one_choice_of_three_settings(tmp_path: Path, text: str, words: str) -> None:
    with kept(tmp_path, text) as place:
        assert re.search(
            rf"name=\"row-sound\" data-values='[^']+' checked><span>{words}<", page_of(place)
        )


def test_every_other_setting_is_in_the_fold(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        page = flat(place.host.get("/settings").get_data(as_text=True))
        for name in (
            "web.viewers",
            "camera.fps",
            "panel.south.up",
            "panel.north.lamps_active_low",
            "camera.source",
        ):
            assert f'name="{name}"' in page
        for name in (
            "state_dir",
            "web.host",
            "web.names",
            "web.certificate",
            "web.key",
            "mqtt.ca_file",
        ):
            assert f'name="{name}"' not in page, "what leads to files and addresses is only shown"
            assert f'<output class="in" id="{name}"' in page
        assert re.search(r'name="web.viewers" value="20"', page)
        assert " style=" not in page
        spanish = place.host.get("/settings", headers={"Accept-Language": "es"}).get_data(
            as_text=True
        )
        assert "De 0 a 1. Por defecto: 0,6." in flat(spanish)
        assert re.search(r'name="voice.volume" value="0,6"', flat(spanish)), (
            "as the sentence beside it writes it"
        )


@pytest.mark.parametrize(("language", "shown"), [("en", "0.6"), ("es", "0,6"), ("fr", "0,6")])
def test_a_broken_number_that_is_sent_as_it_was_shown_changes_nothing(
    tmp_path: Path, language: str, shown: str
) -> None:
    with kept(tmp_path, OURS) as place:
        place.host.set_cookie("language", language)
        assert save(place, voice__volume=shown).status_code == 200
        assert "volume" not in place.path.read_text()


def test_a_change_is_written_and_works_at_once_where_it_can(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        assert save(place, table__theme="dark", voice__volume="0,5").get_json() == {"note": ""}
        assert '# ours\n[table]\ntheme = "dark" # as the wall\n' in place.path.read_text()
        assert place.used[-1].voice.volume == 0.5
        assert place.table.settings.theme == "dark"
        assert place.host.get("/").get_data(as_text=True).count('data-theme="dark"') == 1


def test_what_needs_a_restart_restarts_by_itself_after_the_game(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.table.new_game("outbuffered", {}, 1)
        note = save(place, web__viewers="30").get_json()["note"]
        assert note == "After the game the table starts again: then it works."
        assert "After a restart. Until then: 20." in page_of(place)
        for _ in range(3):
            place.clock.advance(RESTART_AFTER_S)
            place.upkeep.restart_when_idle()
        assert place.restarts == [], "a game is on"
        place.table.abandon()
        place.upkeep.restart_when_idle()
        place.clock.advance(RESTART_AFTER_S)
        place.upkeep.restart_when_idle()
        place.table.step()
        assert place.table.view().devices.notices == (
            "New settings: the table starts again in a moment.",
        )
        assert place.restarts == [], "it is said first"
        place.upkeep.restart_when_idle()
        assert place.restarts == [True]
    with kept(tmp_path) as place:
        assert place.upkeep.waiting() == 0
        place.clock.advance(2 * RESTART_AFTER_S)
        place.upkeep.restart_when_idle()
        assert place.restarts == []


def test_no_restart_by_itself_deletes_games(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.upkeep.reset(games=True)
        save(place, web__viewers="30")
        for _ in range(3):
            place.clock.advance(RESTART_AFTER_S)
            place.upkeep.restart_when_idle()
        assert place.restarts == []
        page = page_of(place)
        assert "<b>At the next start all games are deleted.</b>" in page
        assert re.search(r'data-post="/api/settings/unstage"[^>]*>Keep them<', page)


@pytest.mark.parametrize(
    ("hour", "theme"), [(12, "light"), (19, "light"), (20, "dark"), (2, "dark"), (7, "light")]
)
def test_dark_at_night_goes_by_the_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hour: int, theme: str
) -> None:
    now = time.struct_time((2026, 11, 28, hour, 0, 0, 5, 332, 0))
    monkeypatch.setattr("web.routes.pages.time.localtime", lambda _: now)
    with kept(tmp_path, '[table]\ntheme = "night"\n') as place:
        assert f'data-theme="{theme}"' in place.host.get("/").get_data(as_text=True)


def test_an_open_table_screen_is_loaded_anew_for_other_colours(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        look = re.search(r'data-live="([^"]+)"', place.host.get("/").get_data(as_text=True))
        assert look
        for changed in (False, True):
            if changed:
                save(place, table__theme="dark")
            with place.host.get(unescape(look[1]), buffered=False) as stream:
                events = iter(stream.response)
                next(events)
                text = next(events)
            assert (
                b'data-page="other"' in (text if isinstance(text, bytes) else str(text).encode())
            ) is changed


def test_what_is_wrong_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        told = refusal(save(place, table__theme="dark", web__port="hello"))
        assert told == "Enter a whole number from 0 to 65535."
        assert place.path.read_text() == OURS
        assert "Enter 8 to 63 letters, digits and signs without accents" in refusal(
            save(place, wifi__password="short")
        )
        assert refusal(save(place, quiet__from="22:00")) == "Enter both times, or neither."
        assert "no setting" in refusal(save(place, quiet__at="22:00"))


def test_pins_are_told_apart_and_lamps_at_3v3_are_ticked(tmp_path: Path) -> None:
    with kept(tmp_path) as place:
        assert "Pin 6 already has another job" in refusal(save(place, panel__south__up="6"))
        fields = {
            "panel__south__up": "0",
            "panel__south__down": "",
            "panel__south__lamps_active_low": "lamp_1 up",
        }
        assert save(place, **fields).status_code == 200
        south = read_settings(place.path.read_text()).panel.south
        assert (south.up, south.down, south.left, south.lamps_active_low) == (
            0,
            "",
            13,
            ("lamp_1",),
        )
        assert save(place, quiet__from="22:00", quiet__to="08:00").status_code == 200
        assert place.used[-1].quiet.begin == "22:00"


def test_a_broken_file_is_told_and_left_alone(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.path.write_text("[web\n")
        assert "not TOML" in page_of(place)
        assert save(place, table__theme="dark").status_code == 503
        assert place.path.read_text() == "[web\n"


def test_a_disk_that_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept(tmp_path, OURS) as place:

        def full(*_: object, **__: object) -> None:
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr("os.fsync", full)
        answer = save(place, web__viewers="33")
        assert answer.status_code == 503
        assert (
            "cannot be written (Read-only file system): nothing has changed."
            in error_of(answer)["message"]
        )
        assert place.path.read_text() == OURS
        monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
        sent = {"backup": (io.BytesIO(b"PK"), "it.zip")}
        answer = place.host.post("/settings/restore", data=sent, headers={"Accept-Language": "es"})
        assert "el disco es de solo lectura" in unescape(answer.get_data(as_text=True)), (
            "the system says it in English"
        )


def test_how_large_a_backup_may_be_is_known_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what is free: it is here twice while it is checked."""
    with kept(tmp_path, OURS) as place:
        assert 'data-most="67108864"' in page_of(place)
        monkeypatch.setattr("web.routes.owner.settings.free_bytes", lambda _: 42_000_000)
        assert 'data-most="21000000"' in page_of(place)
        assert "there is room for at most 21 MB." in page_of(place)


def test_what_the_command_line_says_is_told(tmp_path: Path) -> None:
    with kept(tmp_path, 'state_dir = "/elsewhere"\n') as place:
        assert f"The command line says {tmp_path} for this run." in page_of(place)
        assert "After a restart." not in page_of(place)


def test_the_page_says_what_a_start_has_restored(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.upkeep.done = "The backup is restored. 2 games and 0 photographs."
        assert "The backup is restored. 2 games and 0 photographs." in place.host.get(
            "/settings"
        ).get_data(as_text=True)


def test_a_backup_is_saved_checked_laid_ready_and_called_off(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.table.new_game("outbuffered", {}, 1)
        place.table.abandon()
        answer = place.host.get("/settings/backup.zip")
        assert answer.headers["Content-Disposition"].startswith(
            "attachment; filename=tabletop-companion-"
        )
        content = answer.get_data()
        answer.close()
        assert place.upkeep.backed_up_s() is not None
        assert "settings.toml" in zipfile.ZipFile(io.BytesIO(content)).namelist()
        assert place.host.post("/settings/restore", data={}).status_code == 400
        wrong = place.host.post(
            "/settings/restore", data={"backup": (io.BytesIO(b"PK rubbish"), "it.zip")}
        )
        assert wrong.status_code == 400
        assert "sudo apt install ./FILE.deb" in page_of(place)
        assert "damaged or not a backup" in wrong.get_data(as_text=True)
        place.table.new_game("outbuffered", {}, 1)
        big = (
            content + b"\0" * 20_000
        )  # more than other doors take; a ZIP file may have something behind it
        right = unescape(
            place.host.post(
                "/settings/restore", data={"backup": (io.BytesIO(big), "it.zip")}
            ).get_data(as_text=True)
        )
        assert "The backup is in order. 1 game and 0 photographs." in right
        assert "At the next start a backup replaces all games." in right
        place.table.step()
        told = " ".join(place.table.view().devices.notices)
        assert (
            "At the next start a backup replaces all games. The current game ends with it." in told
        )
        assert place.post("/api/settings/unstage")[0] == 200
        place.table.step()
        assert place.table.view().devices.notices == ()
        assert not place.upkeep.staged()
        assert (
            sorted(
                each.name
                for each in tmp_path.iterdir()
                if each.name.startswith(("upload", "restore"))
            )
            == []
        )


def test_all_as_delivered(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.sit(Seat.SOUTH, "Mara")
        place.table.new_game("outbuffered", {}, 1)
        assert place.post("/api/settings/reset", games=False)[0] == 200
        view = place.table.view()
        assert (view.phase, view.seats[Seat.SOUTH].name, place.table.settings.theme) == (
            Phase.LOBBY,
            None,
            "system",
        )
        assert not place.path.exists() or "theme" not in place.path.read_text()
        assert place.path.with_name("settings.before-reset.toml").read_text() == OURS
        assert place.post("/api/settings/reset", games=True)[0] == 200
        assert place.upkeep.staged()
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert journal.games() == [1], "they go at the next start"
