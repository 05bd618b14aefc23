"""What tests look at behind the public surface of things: every private name that they need stands
here, once.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from typing import TYPE_CHECKING

from flask import Flask

from companion.storage.journal import Journal
from companion.table.session import Session
from companion.table.state import TableState
from companion.table.store import TableStore
from companion.table.table import Table
from vision.simulation.render import LitTable
from vision.simulation.table import SimulatedTable
from web.server.server import Server

if TYPE_CHECKING:
    from companion.hub_server.app import Hub
    from companion.league.league import League
    from companion.league.league_file import LeagueFile


def store_of(table: Table) -> TableStore:
    """The whole state, and its lock."""
    return table._store


def live_of(table: Table) -> TableState:
    """All that the table knows, what is sealed included."""
    return store_of(table).live


def session_of(table: Table) -> Session:
    """All that the table's journal can make again, what is sealed included."""
    return live_of(table).session


def app_of(server: Server) -> Flask:
    """The application behind a server."""
    return server.app


def journal_of(table: Table) -> Journal:
    """Where the table keeps its records."""
    journal = store_of(table).journal
    assert isinstance(journal, Journal)
    return journal


def database_of(kept: Journal | LeagueFile) -> sqlite3.Connection:
    """The open file of a journal, or of a league."""
    return kept.database.connection if isinstance(kept, Journal) else kept._db


def fill_disk(kept: Journal | LeagueFile) -> None:
    """From now on the file and its log cannot grow."""
    pages = database_of(kept).execute("PRAGMA page_count").fetchone()[0]
    database_of(kept).execute(f"PRAGMA max_page_count={pages}")


def nats_of(hub: Hub) -> str:
    """Where its NATS is."""
    return hub.nats.url


def league_file_of(league: League) -> LeagueFile:
    """Where a league keeps what tables have told."""
    return league._file


# The latest bare tables that were rendered: each takes a tenth of a second.
_STAGES: deque[LitTable] = deque(maxlen=6)


def share_stage(table: SimulatedTable) -> SimulatedTable:
    """Give a rendered table what another one of the same kit and view looks like without pieces."""
    for stage in tuple(_STAGES):
        if (stage.kit, stage.view) == (table._kit, table._view):
            table._lit_table = stage
            return table
    _STAGES.append(table.lit_table())
    return table
