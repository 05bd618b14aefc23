"""The settings page: what is typed is checked, written, and works at once where it can."""

from __future__ import annotations

import io
import re
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from setup_tools import Kept, kept
from web_fixtures import flat

from companion.core.config import read_settings
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.session import Phase

OURS = '# ours\n[table]\ntheme = "light" # as the wall\n[web]\nviewers = 20\n'


def seen_of(page: str) -> str:
    found = re.search(r'name="seen" value="(\w*)"', page)
    assert found
    return found[1]


def page_of(place: Kept) -> str:
    return flat(unescape(place.host.get("/settings").get_data(as_text=True)))


def save(place: Kept, **fields: str) -> Any:
    data = {"seen": seen_of(page_of(place)), **{key.replace("__", "."): text for key, text in fields.items()}}
    return place.host.post("/settings", data=data)


def test_it_is_the_hosts_alone(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        stranger = place.browser()
        page = stranger.get("/settings").get_data(as_text=True)
        assert "Enter the host key" in page
        assert 'name="back" value="/settings"' in page
        assert stranger.post("/host", data={"key": "abcdefghij", "back": "/settings"}).location == "/settings"
        assert place.browser().post("/host", data={"key": "abcdefghij", "back": "//evil"}).location == "/host"
        other = place.browser()
        for door in ("restart", "unstage", "reset"):
            assert other.post(f"/api/settings/{door}", json={}).status_code == 403
        assert other.post("/settings", data={"table.theme": "dark"}).status_code == 403
        assert other.post("/settings/restore", data={}).status_code == 403
        assert other.get("/settings/backup.zip").status_code == 403
        assert "light" in place.path.read_text()


def test_every_setting_is_a_row_with_its_value_and_the_page_is_small(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        page = flat(place.host.get("/settings").get_data(as_text=True))
        for name in (
            "web.viewers",
            "camera.fps",
            "panel.south.up",
            "panel.north.low.lamp_2",
            "quiet.from",
            "camera.source",
        ):
            assert f'name="{name}"' in page
        for name in ("state_dir", "web.host", "web.names", "web.certificate", "web.key", "mqtt.ca_file"):
            assert f'name="{name}"' not in page, "what leads to files and addresses is only shown"
            assert f'<output class="in" id="{name}"' in page
        assert re.search(r'name="web.viewers" value="20"', page)
        assert re.search(r'name="table.theme" value="light" checked', page)
        assert len(page.encode()) < 60_000
        assert " style=" not in page
        spanish = place.host.get("/settings", headers={"Accept-Language": "es"}).get_data(as_text=True)
        assert "De 0 a 1. Por defecto: 0,6." in flat(spanish)
        assert "Por defecto: 1." in flat(spanish)
        assert re.search(r'name="voice.volume" value="0,6"', flat(spanish)), "as the sentence beside it writes it"


@pytest.mark.parametrize(("language", "shown"), [("en", "0.6"), ("es", "0,6"), ("fr", "0,6")])
def test_a_broken_number_that_is_sent_as_it_was_shown_changes_nothing(
    tmp_path: Path, language: str, shown: str
) -> None:
    with kept(tmp_path, OURS) as place:
        place.host.set_cookie("language", language)
        assert save(place, voice__volume=shown).location == "/settings?saved=0"
        assert "volume" not in place.path.read_text()


def test_a_change_is_written_and_works_at_once_where_it_can(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        answer = save(place, table__theme="dark", web__viewers="30", voice__volume="0,5")
        assert answer.location == "/settings?saved=3"
        assert '# ours\n[table]\ntheme = "dark" # as the wall\n[web]\nviewers = 30\n' in place.path.read_text()
        assert place.used[-1].voice.volume == 0.5
        assert (place.table.settings.theme, place.used[-1].web.viewers) == ("dark", 20)
        page = unescape(place.host.get("/settings?saved=3").get_data(as_text=True))
        assert "Saved: 3 settings." in page
        assert "1 setting works after a restart." in page
        assert "After a restart. Until then: 20." in page
        assert place.host.get("/").get_data(as_text=True).count('data-theme="dark"') == 1
        assert place.host.post("/api/settings/restart", json={}).status_code == 200
        assert place.restarts == [True]
    with kept(tmp_path) as place:
        assert "after a restart." not in page_of(place)


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
            assert (b'data-page="other"' in (text if isinstance(text, bytes) else str(text).encode())) is changed


def test_what_is_wrong_is_told_at_its_field_and_nothing_is_written(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        answer = save(place, web__port="hello", camera__fps="99", table__theme="dark")
        page = flat(unescape(answer.get_data(as_text=True)))
        assert answer.status_code == 400
        assert "Nothing was written: 2 fields are not right." in page
        assert "Enter a whole number from 0 to 65535." in page
        assert 'value="hello"' in page
        assert re.search(r'id="web.port"[^>]*aria-invalid="true"', page)
        assert re.search(r'name="table.theme" value="dark" checked', page)
        assert place.path.read_text() == OURS


def test_pins_are_told_apart_and_lamps_at_3v3_are_ticked(tmp_path: Path) -> None:
    with kept(tmp_path) as place:
        answer = save(place, panel__south__up="6")
        assert "Pin 6 already has another job" in answer.get_data(as_text=True)
        assert answer.status_code == 400
        fields = {
            "panel.south.up": "0",
            "panel.south.down": "",
            "panel.south.sent": "yes",
            "panel.south.low.lamp_1": "yes",
        }
        answer = place.host.post("/settings", data={"seen": seen_of(page_of(place)), **fields})
        assert answer.status_code == 303
        south = read_settings(place.path.read_text()).panel.south
        assert (south.up, south.down, south.left, south.lamps_active_low) == (0, "", 13, ("lamp_1",))


def test_what_belongs_together_is_told_where_it_is_missing(tmp_path: Path) -> None:
    with kept(tmp_path) as place:
        answer = save(place, quiet__from="22:00")
        assert answer.status_code == 400
        page = answer.get_data(as_text=True)
        assert "Enter both times, or neither." in page
        assert re.search(r'id="quiet.to"[^>]*aria-invalid="true"', page), "where it is missing"
        assert not place.path.exists()
        sent = {"seen": "", "panel.south.sent": "yes", "panel.north.sent": "yes"}
        sent |= {f"panel.north.low.{lamp}": "yes" for lamp in ("lamp_2", "lamp_3", "lamp_turn")}
        assert place.host.post("/settings", data=sent).location == "/settings?saved=0", "as it was"
        assert not place.path.exists()
        assert save(place, quiet__from="22:00", quiet__to="08:00").status_code == 303
        assert place.used[-1].quiet.begin == "22:00"
        answer = save(place, wifi__password="short")
        assert answer.status_code == 400
        page = answer.get_data(as_text=True)
        assert re.search(r'id="wifi.password"[^>]*aria-invalid="true"', page)
        assert "Enter 8 to 63 letters, digits and signs without accents" in page


def test_a_stale_page_and_a_broken_file_are_told_and_nothing_is_lost(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        seen = seen_of(page_of(place))
        by_hand = OURS.replace("20", "21")
        place.path.write_text(by_hand)
        answer = place.host.post("/settings", data={"seen": seen, "table.theme": "dark"})
        page = flat(answer.get_data(as_text=True))
        assert answer.status_code == 409
        assert "Somebody else has changed" in page
        assert re.search(r'name="web.viewers" value="21"', page)
        assert place.path.read_text() == by_hand
        place.path.write_text("[web\n")
        page = page_of(place)
        assert "not TOML" in page
        assert 'id="settings"' not in page
        assert place.host.post("/settings", data={"seen": seen, "table.theme": "dark"}).status_code == 409
        assert place.path.read_text() == "[web\n"


def test_a_wrong_value_does_not_hide_what_another_tab_has_saved_meanwhile(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        first = seen_of(page_of(place))
        assert save(place, web__viewers="30", table__theme="light").status_code == 303
        sent = {"seen": first, "web.viewers": "20", "table.theme": "dark"}
        wrong = place.host.post("/settings", data={**sent, "table.reading_time_s": "99999"})
        assert wrong.status_code == 400
        mended = place.host.post("/settings", data={**sent, "seen": seen_of(wrong.get_data(as_text=True))})
        assert mended.status_code == 409
        assert "viewers = 30" in place.path.read_text()


def test_a_disk_that_refuses_is_told_and_what_was_typed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept(tmp_path, OURS) as place:

        def full(*_: object, **__: object) -> None:
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr("os.fsync", full)
        answer = save(place, web__viewers="33")
        page = flat(unescape(answer.get_data(as_text=True)))
        assert answer.status_code == 503
        assert "cannot be written (Read-only file system): nothing has changed." in page
        assert re.search(r'name="web.viewers" value="33"', page)
        assert place.path.read_text() == OURS
        monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
        sent = {"backup": (io.BytesIO(b"PK"), "it.zip")}
        answer = place.host.post("/settings/restore", data=sent, headers={"Accept-Language": "es"})
        form = unescape(answer.get_data(as_text=True)).partition('<label for="backup">')[2]
        assert "el disco es de solo lectura" in form, "the system says it in English alone"


def test_how_large_a_backup_may_be_is_known_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what is free: it is here twice while it is checked."""
    with kept(tmp_path, OURS) as place:
        assert 'data-most="67108864"' in page_of(place)
        monkeypatch.setattr("web.routes.settings.free_bytes", lambda _: 42_000_000)
        assert 'data-most="21000000"' in page_of(place)
        assert "there is room for at most 21 MB." in page_of(place)


def test_what_the_command_line_says_is_told(tmp_path: Path) -> None:
    with kept(tmp_path, 'state_dir = "/elsewhere"\n') as place:
        assert f"The command line says {tmp_path} for this run." in page_of(place)
        assert "after a restart." not in page_of(place)


def test_the_page_says_what_a_start_has_restored(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.upkeep.done = "The backup is restored. 2 games and 0 photographs."
        assert "The backup is restored. 2 games and 0 photographs." in place.host.get("/settings").get_data(
            as_text=True
        )


def test_a_backup_is_saved_checked_laid_ready_and_called_off(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.table.new_game("outbuffered", {}, 1)
        place.table.abandon()
        answer = place.host.get("/settings/backup.zip")
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=tabletop-companion-")
        content = answer.get_data()
        answer.close()
        assert "settings.toml" in zipfile.ZipFile(io.BytesIO(content)).namelist()
        assert place.host.post("/settings/restore", data={}).status_code == 400
        wrong = place.host.post("/settings/restore", data={"backup": (io.BytesIO(b"PK rubbish"), "it.zip")})
        assert wrong.status_code == 400
        assert "sudo apt install ./FILE.deb" in page_of(place)
        form = wrong.get_data(as_text=True).partition('<label for="backup">')[2]
        assert "damaged or not a backup" in form, "told where the file is chosen"
        assert 'aria-invalid="true"' in form, "the focus goes there"
        place.table.new_game("outbuffered", {}, 1)
        big = content + b"\0" * 20_000  # more than other doors take; a ZIP file may have something behind it
        right = unescape(
            place.host.post("/settings/restore", data={"backup": (io.BytesIO(big), "it.zip")}).get_data(as_text=True)
        )
        assert "The backup is in order. 1 game and 0 photographs." in right
        assert "takes effect at the next start" in right
        place.table.step()
        told = " ".join(place.table.view().devices.notices)
        assert "A backup replaces all games at the next start. The current game ends with it." in told
        assert place.post("/api/settings/unstage")[0] == 200
        place.table.step()
        assert place.table.view().devices.notices == ()
        assert not place.upkeep.staged()
        assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(("upload", "restore"))) == []


def test_all_as_delivered(tmp_path: Path) -> None:
    with kept(tmp_path, OURS) as place:
        place.sit(Seat.SOUTH, "Mara")
        place.table.new_game("outbuffered", {}, 1)
        assert place.post("/api/settings/reset", games=False)[0] == 200
        view = place.table.view()
        assert (view.phase, view.seats[Seat.SOUTH].name, place.table.settings.theme) == (Phase.OVER, None, "system")
        assert not place.path.exists() or "theme" not in place.path.read_text()
        assert place.path.with_name("settings.before-reset.toml").read_text() == OURS
        assert place.post("/api/settings/reset", games=True)[0] == 200
        assert place.upkeep.staged()
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert journal.games() == [1], "they go at the next start"
