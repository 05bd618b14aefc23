"""Helpers: the rig of a table with its pages, and short ways to request them.

Flask's client asks the application directly, so that a test needs neither a network nor threads: a
"browser" here is such a client, with cookies of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

from flask import Flask
from flask.testing import FlaskClient
from jinja2 import Undefined
from run_folder import templates_folder
from werkzeug.test import Cookie

from companion.archive.history import History
from companion.bots.bot_process import BotProcess
from companion.bots.characters import all_characters
from companion.bots.coach import Coach
from companion.core.clock import FakeClock
from companion.core.config import PanelSettings, TableSettings, WebSettings
from companion.diagnostics.findings import Finding, Grade, Health, Status
from companion.games import GAMES
from companion.printing.kit_printer import KitPrinter
from companion.printing.printed_kit import printed_table
from companion.storage.journal import Journal
from companion.table.table import Table
from hardware.simulated import simulated_panel
from web.app import create_app
from web.features import CameraFeature, Features, SimulationFeature, SiteConfig, TableEquipment
from web.rendering.game_film import game_film

# The owner key of every rig.
HOST_KEY = "abcde-fghij"
# A salt for sealed actions.
SALT = "0123456789abcdef" * 2


class FakeHealth:
    """A fake of the health feature. Tests set its answers, `now` and `findings`."""

    def __init__(self) -> None:
        self.now = Health(
            Status.OK,
            version="1.2.3",
            uptime_s=61.26,
            late={},
            journal="ok",
            camera="none",
            pins="none",
            disk_free_mb=4321,
            machine=Grade.OK,
        )
        self.findings: tuple[Finding, ...] = ()

    def health(self) -> Health:
        return self.now

    def run_checks(self) -> tuple[Finding, ...]:
        return self.findings

    def support_zip(self) -> bytes:
        return b"PK bundle"

    def worst_finding(self) -> str:
        return next(
            (
                finding.text
                for finding in self.findings
                if finding.grade in (Grade.WARN, Grade.FAIL)
            ),
            "",
        )


@dataclass
class WebRig:
    """A table with its pages, and browsers that visit it."""

    table: Table
    app: Flask
    clock: FakeClock
    health: FakeHealth

    def browser(self) -> FlaskClient:
        """Return a new browser without cookies."""
        return self.app.test_client()

    def sit(self, seat: str, name: str = "") -> FlaskClient:
        """Return a browser that has taken a seat."""
        browser = self.browser()
        assert browser.post(f"/api/seat/{seat}/take", json={"name": name}).status_code == 200
        return browser

    def host(self) -> FlaskClient:
        """Return a browser that has entered the owner key."""
        browser = self.browser()
        assert browser.post("/host", data={"key": HOST_KEY}).status_code == 303
        return browser

    def cookie(self, browser: FlaskClient, name: str) -> Cookie | None:
        """Return a browser's cookie of this table. `name` is short, without that of the table."""
        return browser.get_cookie(self.app.extensions["auth"].cookie_name(name))

    def start_game(self) -> str:
        """Start a game of Outbuffered, and confirm its board. Return the moment, such as `1.1`."""
        self.table.new_game("outbuffered", {}, seed=1)
        view = self.table.view()
        self.table.confirm("host", view.moment, view.turn.stage)
        return self.table.view().moment

    def start_card_game(self, way: str = "referee", **options: Any) -> str:
        """Start a game of BINMAT, and its clock if it has one. Return the moment, such as `1.1`."""
        self.table.new_game("binmat", {"way": way, **options}, seed=1)
        if self.table.view().time.clock:
            self.table.resume("host")
        return self.table.view().moment


class _NoSuchAttribute(Undefined):
    """Fails a test when a template asks a dataclass for an attribute that it does not have.

    Jinja itself would render an empty text.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert not is_dataclass(kwargs.get("obj")), self._undefined_message


@contextmanager
def open_web_rig(
    folder: Path,
    viewers: int = 16,
    workbench: SimulationFeature | None = None,
    camera: CameraFeature | None = None,
    table_settings: TableSettings | None = None,
    equipment: TableEquipment | None = None,
    join: Literal["open", "code"] = "open",
    open_coach: Callable[[Sequence[str]], Any] = BotProcess,
) -> Iterator[WebRig]:
    """Open a table with its pages, which work in the caller's thread.

    `viewers` is the maximum number of streams, and `join` says whether a seat needs the join code.
    By default there is neither a workbench nor a camera. The coach asks what `open_coach` opens.
    """
    clock = FakeClock()
    health = FakeHealth()
    with (
        Journal(folder / "journal.sqlite") as journal,
        Table(journal, clock, table_settings) as table,
    ):
        urls = ("http://192.0.2.7:8080/", "http://table.local:8080/")
        features = Features(
            equipment=equipment or TableEquipment(),
            workbench=workbench,
            camera=camera,
            printer=KitPrinter(GAMES),
            history=History(
                journal,
                folder / "history",
                clock,
                find_current_game=lambda: table.progress().number,
                paint=game_film,
            ),
            health=health,
            opponents=all_characters(()),
            coach=Coach(table, b"k" * 32, open_coach),
        )
        site = SiteConfig(
            WebSettings(viewers=viewers, join=join),
            lambda: urls,
            b"k" * 32,
            HOST_KEY,
            template_cache=templates_folder(),
            is_key_used=lambda: False,
        )
        app = create_app(table, GAMES, clock, site, features)
        app.jinja_env.undefined = _NoSuchAttribute
        yield WebRig(table, app, clock, health)
        app.extensions["streams"].close()
        app.extensions["worker"].close()


@contextmanager
def open_workbench_rig(folder: Path, **more: Any) -> Iterator[WebRig]:
    """Open a rig with a workbench: a printed table, and a panel on mock pins."""
    game = GAMES["outbuffered"]
    panel, hands = simulated_panel(PanelSettings(), FakeClock(), lambda _: None)
    bench = SimulationFeature(printed_table(game.kit(game.options({}))), hands)
    with panel, open_web_rig(folder, workbench=bench, **more) as rig:
        yield rig


def page_text(browser: FlaskClient, path: str) -> str:
    """Return a page's HTML with single spaces, so that line breaks do not matter."""
    return single_spaced(browser.get(path).text)


def single_spaced(page: str) -> str:
    """Return a text with each run of white space replaced by one space."""
    return " ".join(page.split())


def view_of(rig: WebRig) -> dict[str, Any]:
    """Return the public view from the API."""
    return dict(rig.browser().get("/api/view").json)


def error_of(answer: Any) -> dict[str, Any]:
    """Return the error of a refused JSON request."""
    error: dict[str, Any] = answer.json["error"]
    return error
