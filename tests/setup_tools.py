"""Helpers: the rig of a service, which is a table with its pages, settings file and panel.

Everything runs in the test's own thread, and the panel is wired to mock pins. Tests use it to
change settings, to try out keys and lamps, and to begin the first evening.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flask.testing import FlaskClient
from msgspec import structs
from run_folder import templates_folder
from web_fixtures import HOST_KEY, FakeHealth

from companion.core.clock import FakeClock
from companion.core.config import Settings, load_settings
from companion.core.kit import Seat
from companion.core.ports import PadKey, Press, SeatLamps
from companion.games import GAMES
from companion.maintenance.panel_check import PanelCheckFeature
from companion.maintenance.upkeep import Upkeep
from companion.storage.journal import Journal
from companion.table.last_choices import LastChoices
from companion.table.listeners import TableListener
from companion.table.session import Phase
from companion.table.table import Table
from hardware.check import PanelChecker
from hardware.panel import Panel
from hardware.simulated import SimulatedPanelHands, simulated_panel
from web.app import create_app
from web.features import Features, SiteConfig


@dataclass
class ServiceRig:
    """The parts of a service that tests check, and short ways to do what people do with it.

    `host` is the owner's browser, `path` the settings file, and `hands` press the panel's keys.
    """

    table: Table
    host: FlaskClient
    clock: FakeClock
    path: Path
    upkeep: Upkeep
    panel: Panel
    hands: SimulatedPanelHands
    check: PanelChecker
    used: list[Settings] = field(default_factory=list)
    """The settings that were put to use without a restart, in their order."""
    restarts: list[bool] = field(default_factory=list)
    """True for each restart that was asked for."""

    def browser(self) -> FlaskClient:
        return self.host.application.test_client()

    def sit(self, seat: Seat, name: str) -> FlaskClient:
        browser = self.browser()
        assert browser.post(f"/api/seat/{seat}/take", json={"name": name}).status_code == 200
        return browser

    def lit(self) -> set[str]:
        """Return the names of the panel's lamps that are lit."""
        self.panel.step()
        return {name for name, is_lit in self.hands.view().lamps.items() if is_lit}

    def press(self, seat: Seat | None, key: PadKey) -> None:
        self.table.press(Press(seat, key, self.clock.monotonic_s()))
        self.table.step()

    def tap_key(self, button: str) -> None:
        """Press and release a key of the mock panel."""
        for move in (self.hands.press, self.hands.release):
            move(button)
            self.panel.step()
            self.clock.advance(0.1)
            self.panel.step()
        self.table.step()

    def post(self, path: str, **body: object) -> tuple[int, dict[str, object]]:
        """Post JSON as the owner. Return the status and the JSON of the answer."""
        answer = self.host.post(path, json=body)
        return answer.status_code, answer.get_json() or {}


@contextmanager
def open_service_rig(
    folder: Path, text: str = "", with_panel: bool = True, has_first_evening: bool = False
) -> Iterator[ServiceRig]:
    """Open a service in a folder. To restart it, open another one in the same folder.

    `text` is the content of its settings file, which does not exist if the text is empty.
    """
    path = folder / "settings.toml"
    clock = FakeClock(1000.0)
    if text:
        path.write_text(text)
    settings = load_settings(path if path.exists() else None)
    settings = structs.replace(settings, state_dir=str(folder))
    with (
        Journal(folder / "journal.sqlite") as journal,
        Table(journal, clock, settings.table, LastChoices(folder / "choices.json")) as table,
    ):
        panel, hands = simulated_panel(settings.panel, clock, table.press)
        with panel:
            check = PanelChecker(panel, clock)
            used = []
            restarts = []

            def use_settings(changed: Settings) -> None:
                used.append(changed)
                table.use_settings(changed.table)

            def show_lamps(lamps: Mapping[Seat, SeatLamps], trouble: bool) -> None:
                panel.show(lamps, trouble)
                # as in the service, a game ends the trying out of keys
                if table.progress().phase not in (Phase.LOBBY, Phase.OVER):
                    check.end()

            table.connect(TableListener(on_lamps=show_lamps))
            upkeep = Upkeep(
                settings,
                path,
                table,
                clock,
                use=use_settings,
                restart=lambda: restarts.append(True),
            )
            site = SiteConfig(
                settings.web,
                lambda: ("http://192.0.2.7:8080/",),
                journal.key("signing"),
                HOST_KEY,
                template_cache=templates_folder(),
            )
            panel_check = PanelCheckFeature(
                settings.panel,
                check if with_panel else None,
                "" if with_panel else "No pins here.",
                with_panel,
            )
            features = Features(
                upkeep=upkeep,
                panel_check=panel_check,
                health=FakeHealth(),
                has_first_evening=has_first_evening,
            )
            app = create_app(table, GAMES, clock, site, features)
            host = app.test_client()
            host.post("/host", data={"key": HOST_KEY})
            yield ServiceRig(table, host, clock, path, upkeep, panel, hands, check, used, restarts)
            app.extensions["worker"].close()
            app.extensions["streams"].close()
