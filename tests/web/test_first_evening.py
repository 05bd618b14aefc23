"""Tests of the first evening, the questions that a new table asks once, through Flask's client."""

from __future__ import annotations

from pathlib import Path

from setup_tools import open_service_rig
from web_fixtures import HOST_KEY, page_text

# A browser elsewhere on the network.
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.44"}


def test_the_machines_own_screen_asks_once(tmp_path: Path) -> None:
    """Only the machine's own screen, which opens `/?kiosk`, and the owner are asked.

    Neither is asked again when all questions are answered, not even after a restart.
    """
    with open_service_rig(tmp_path, has_first_evening=True) as rig:
        kiosk = rig.browser()
        key = {"key": HOST_KEY}

        # the machine's own screen is led to the first question, and no other browser is
        assert kiosk.get("/?screen&kiosk").location == "/host/first/1"
        assert kiosk.get("/").status_code == 200, (
            "a guest’s browser on this machine must not be asked"
        )
        assert kiosk.get("/?kiosk", environ_overrides=ELSEWHERE).status_code == 200
        assert kiosk.get("/host/first/1", environ_overrides=ELSEWHERE).status_code == 403
        assert "Which language?" in page_text(kiosk, "/host/first/1")

        # whoever enters the owner key is led there, too
        assert rig.browser().post("/host", data=key).location == "/host/first/1"

        # the last answer ends the questions: now even the machine's own screen needs the key
        assert kiosk.post("/host/first/done").location == "/?kiosk", (
            "the last answer must lead to the table screen"
        )
        assert kiosk.get("/?kiosk").status_code == 200
        assert rig.browser().get("/host/first/1").status_code == 403

    # the service restarts
    with open_service_rig(tmp_path, has_first_evening=True) as rig:
        assert rig.browser().get("/?kiosk").status_code == 200, (
            "the table must not ask again after a restart"
        )
        assert rig.browser().post("/host", data=key).location == "/host"


def test_the_answers_become_settings_of_the_table(tmp_path: Path) -> None:
    """Each answer changes a setting at once, and the pages follow it."""
    with open_service_rig(tmp_path, has_first_evening=True) as rig:
        # the second question is about the camera, of which this table has none
        page = page_text(rig.host, "/host/first/2")
        assert "No camera: confirm by hand" in page
        assert 'class="sign as-key" href="/host/first/3"' in page

        # the fourth question is about the seats: swap the sides, and turn the table by a quarter
        for turn in ("sides", "table"):
            rig.host.post("/host/first/seats", data={"turn": turn})
        assert (rig.table.settings.tip_south, rig.table.settings.upright) == ("right", True)
        assert "Left of the screen: Pointed" in page_text(rig.host, "/host/first/4")
        home = page_text(rig.browser(), "/?screen")
        assert home.index('href="/n"') < home.index('href="/s"'), "North’s code must be on the left"

        # the first question is about the language
        rig.host.post("/host/first/language", data={"code": "fr"})
        assert rig.table.settings.language == "fr"
        assert '<html lang="fr"' in page_text(rig.host, "/host/first/1")
