"""`companion update --check`: what a release does before it is trusted with the games; it does it to a copy of them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from companion import __version__
from companion.core.clock import FakeClock
from companion.core.config import Settings, VoiceSettings, WebSettings
from companion.core.errors import SystemTrouble
from companion.games import GAMES
from companion.maintenance.games_copy import whole_copy
from companion.service.app import Companion
from companion.storage.journal import Journal
from companion.table.session import Phase, chance
from companion.table.table import Table

SEED = 1
PAGES = ("/", "/health")


def try_games(settings: Settings) -> str:
    """Open a copy of the games, go on with what is on, serve pages, play a turn, and read it back.

    Without hardware and on a port of its own, so that it may be done beside the running service; nothing of the copy is
    left afterwards. Answers a sentence; raises `SystemTrouble` and what else the program complains of.
    """
    with _copy(settings) as copy:
        with Companion(copy, simulate=True, clock=FakeClock(), threads=False) as companion:
            if companion.journal.notice:
                raise SystemTrouble(companion.journal.notice)
            games = len(companion.journal.games())
            for page in PAGES:
                _fetch(companion.server.port, page)
            number = _play_a_turn(companion.table)
        with Journal(copy.journal_path) as journal:
            session = journal.restore()
            if journal.notice or session.number != number or session.phase is not Phase.STAGES:
                raise SystemTrouble(f"What was played is not read back. {journal.notice}".rstrip())
    return f"companion {__version__}: {games} games are read, pages answer, a turn is played and kept."


@contextmanager
def _copy(settings: Settings) -> Iterator[Settings]:
    """The state beside which nothing is changed; keys and sealed orders are in it, so nobody else may read it."""
    here = settings.journal_path.parent
    with tempfile.TemporaryDirectory(prefix="companion-check-") as folder:
        there = Settings(
            state_dir=folder,
            web=WebSettings(host="127.0.0.1", port=0),
            table=settings.table,
            voice=VoiceSettings(by="off"),
        )
        if settings.journal_path.exists():
            try:
                whole_copy(settings.journal_path, there.journal_path)
            except sqlite3.Error as error:
                raise SystemTrouble(f"The games in {settings.journal_path} cannot be copied: {error}") from None
        for name in ("choices.json", "lenses.json"):
            if (here / name).exists():
                shutil.copyfile(here / name, Path(folder) / name)
        yield there


def _fetch(port: int, page: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}{page}", timeout=20) as answer:
            answer.read()
    except OSError as error:
        raise SystemTrouble(f"The page {page} does not answer: {error}") from None


def _play_a_turn(table: Table) -> int:
    """A game of sealed orders begins, both sides hand in, and the orders are revealed; answers the game's number."""
    if table.view().phase not in (Phase.LOBBY, Phase.OVER):
        table.abandon()
    name, game = next(iter(GAMES.items()))
    table.new_game(name, {}, SEED)
    table.confirm("host", table.view().moment, 0, force=True)
    state = game.setup(game.options({}), chance(SEED, 0))
    moment = table.view().moment
    for seat in sorted(game.to_act(state)):
        table.hand_in(seat, moment, str(next(iter(game.legal_actions(state, seat)))))
    if (phase := table.view().phase) is not Phase.STAGES:
        raise SystemTrouble(f"A turn was played and not revealed: the table is in {phase}")
    return table.progress().number
