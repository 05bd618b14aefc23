"""Helpers: a table on a network with strangers, and browsers that visit it.

A request from the machine's own browser may do more than one from the network. So a stranger's
browser has the address of another computer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from run_folder import templates_folder
from web_fixtures import HOST_KEY, WebRig, page_text

from companion.core.clock import FakeClock
from companion.core.config import WebSettings
from companion.core.network import Wifi, format_code, format_host_key
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.table import Table
from web.app import create_app
from web.features import Features, SiteConfig, TableEquipment

STRANGER_ENVIRON = {"REMOTE_ADDR": "192.0.2.44"}


@contextmanager
def open_guarded_table(folder: Path, **web: Any) -> Iterator[WebRig]:
    """Open a table for anybody on its network, as in a café, with these settings of its pages.

    A renewed owner key is stored in its journal.
    """
    clock = FakeClock()
    with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:

        def renew_host_key() -> str:
            return format_host_key(journal.renew_key("host"))

        urls = ("http://192.0.2.7:8080/",)
        settings = WebSettings(viewers=16, **web)
        compiled = templates_folder()
        site = SiteConfig(settings, lambda: urls, b"k" * 32, HOST_KEY, renew_host_key, compiled)
        equipment = TableEquipment(lambda: Wifi("Table", "wifi-secret"), has_pads=True)
        app = create_app(table, GAMES, clock, site, Features(equipment=equipment))
        yield WebRig(table, app, clock, None)  # type: ignore[arg-type]  # no test asks for its health
        app.extensions["streams"].close()


def stranger(rig: WebRig) -> FlaskClient:
    """Return a browser of another computer on the network."""
    browser = rig.browser()
    browser.environ_base = {**browser.environ_base, **STRANGER_ENVIRON}
    return browser


def host_of(rig: WebRig) -> FlaskClient:
    """Return the owner's browser on another computer of the network."""
    browser = stranger(rig)
    assert browser.post("/host", data={"key": HOST_KEY}).status_code == 303
    return browser


def join_code_of(rig: WebRig) -> str:
    """Return the code that the machine's own screen shows, for joining the table."""
    code = format_code(rig.app.extensions["join_code"].current())
    assert re.fullmatch(r"[2-9a-z]{3}-[2-9a-z]{3}", code)
    assert code in page_text(rig.browser(), "/")
    return code
