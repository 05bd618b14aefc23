"""Helpers: access to private parts of the program that several tests need.

They are all in this file, so that a change of these parts has to change one place only.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from flask import Flask

from companion.storage.journal import Journal
from companion.table.session import Session
from companion.table.state import TableState
from companion.table.store import TableStore
from companion.table.table import Table
from vision.simulation.render import LitTable
from vision.simulation.table import SimulatedTable
from vision.simulation.view import CameraView
from web.server.server import Server

# imported for annotations only, because the parts of a hub take long to import
if TYPE_CHECKING:
    from companion.hub_server.app import Hub
    from companion.league.league import League
    from companion.league.league_file import LeagueFile


def store_of(table: Table) -> TableStore:
    """Return the table store, with the whole state of the table and its lock."""
    return table._store


def live_of(table: Table) -> TableState:
    """Return the whole state of a table, including sealed actions before their reveal."""
    return store_of(table).live


def session_of(table: Table) -> Session:
    """Return the session of a table, including sealed actions before their reveal."""
    return live_of(table).session


def app_of(server: Server) -> Flask:
    """Return the application behind a server."""
    return server.app


def journal_of(table: Table) -> Journal:
    """Return the journal to which a table writes its records."""
    journal = store_of(table).journal
    assert isinstance(journal, Journal)
    return journal


def database_of(store: Journal | LeagueFile) -> sqlite3.Connection:
    """Return the open database of a journal or of a league."""
    return store.database.connection if isinstance(store, Journal) else store._db


def simulate_full_disk(store: Journal | LeagueFile) -> None:
    """Let a database grow no more, as if the disk were full."""
    pages = database_of(store).execute("PRAGMA page_count").fetchone()[0]
    database_of(store).execute(f"PRAGMA max_page_count={pages}")


def nats_url(hub: Hub) -> str:
    """Return the address of a hub's NATS server."""
    return hub.nats_server.url


def league_file_of(league: League) -> LeagueFile:
    """Return the file in which a league keeps results."""
    return league._file


# The last rendered tables without pieces. Rendering one takes a tenth of a second.
_bare_tables: deque[LitTable] = deque(maxlen=8)


def share_bare_table(table: SimulatedTable) -> SimulatedTable:
    """Give a table the picture of an earlier one without pieces, if kit and view are the same.

    Return the table.
    """
    view = _bare_view(table.view)
    for bare in tuple(_bare_tables):
        if (bare.kit, _bare_view(bare.view)) == (table.kit, view):
            table._lit_table = replace(bare, view=table.view)
            return table
    _bare_tables.append(table.lit_table())
    return table


def _bare_view(view: CameraView) -> CameraView:
    """Return the view without what changes only a later step of rendering.

    Noise, blur, flicker and JPEG come last, and skin is only that of hands. So two views that
    differ only in these share one picture of the table without pieces.
    """
    return replace(
        view,
        noise=0.0,
        defocus_px=0.0,
        motion_px=0.0,
        motion_deg=0.0,
        jpeg_quality=None,
        flicker=0.0,
        skin_bgr=(0, 0, 0),
    )
