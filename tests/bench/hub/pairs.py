"""Play games between two tables over a hub, while the processes of all of them are killed.

Each table is `companion play` as a process of its own, and a phone over HTTP plays its seat at
random. The hub is `companion hub`, which has its NATS server as a child process. The line from each
table to the hub is a process, too. In the end

- both journals must have the same game, with every acknowledged order once,
- no table may have received an order before its own was sealed (handed in and on disk),
- the hub must have every input of both tables once and in order, and the result of every game once.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hub_tools import read_stored_records
from nats.errors import Error as NatsError

from bench.hub import HubProcess
from bench.hub.line import CuttableLine
from bench.kills import LOST_SERVICE
from bench.processes import LOCAL_ONLY, TIMEOUT_S, ServerProcess, play_command
from bench.visitors import confirm_stage
from companion.archive.game_file import build_game_file, replay_turns
from companion.cli.running import ask_running
from companion.core.config import Settings, WebSettings
from companion.core.errors import SystemTrouble
from companion.core.kit import SEATS, Seat
from companion.hub.membership import write_membership
from companion.hub_server.folder import HubFolder
from companion.league.league_file import LeagueFile
from companion.storage.journal import Journal
from companion.table.records import HandIn, ReceiveMessage
from companion.table.remote.messages import ActionOpened
from companion.table.session import Session
from companion.tools.selfplay.people import Phone, Stuck

KILLS = 200
GAMES = ("outbuffered", "arena", "scouts", "kahmate")
# Shortest and longest pause between two kills.
PAUSE_RANGE_S = (0.2, 1.5)
# How long the hub hangs.
HANG_S = 0.4
# Shortest and longest time that a line stays cut.
CUT_RANGE_S = (0.1, 3.0)
# Pause between two taps of a phone.
TURN_S = 0.02
SETTINGS = f'{LOCAL_ONLY}[table]\nreading_time_s = 0.1\n[camera]\nsource = "none"\n'
# Timeout for a game to begin, and for a game to end after the last kill.
_GAME_TIMEOUT_S = 300.0


class PairService:
    """A table: its service, its line to the hub, and a phone that plays its seat."""

    def __init__(self, folder: Path, seat: Seat, hub: HubProcess) -> None:
        self.folder, self.seat = folder, seat
        self.line = CuttableLine(hub.nats_port)
        self.acknowledged: Counter[str] = Counter()
        """How often the phone was told that an order is accepted, by the order's salt."""
        self._rng = Random(f"pairs/{seat}")
        folder.mkdir()
        self.member = hub.join(str(seat))
        servers = (f"nats://127.0.0.1:{self.line.port}",)
        membership = msgspec.structs.replace(self.member, servers=servers)
        write_membership(folder / "hub.json", membership)
        self.process = ServerProcess(play_command(folder, SETTINGS), folder)
        self.process.wait_for_page()
        self._phone = Phone(f"http://127.0.0.1:{self.process.port}", seat)
        self._phone.post("take", {"name": f"Far {seat}"})
        self._end = threading.Event()
        self._player: threading.Thread | None = None

    def open_journal(self) -> Journal:
        """Open the service's journal for reading only."""
        return Journal(self.folder / "journal.sqlite", read_only=True)

    def fetch_phase(self) -> str:
        """Return the phase of the table's game, or an empty string if nobody answers."""
        with contextlib.suppress(Stuck, *LOST_SERVICE):
            return str(self._phone.get("view")["phase"])
        return ""

    def ask(self, what: str, **body: str) -> dict[str, Any]:
        """Send a request about games at two tables, as the owner. Return the answer.

        Raises SystemTrouble.
        """
        web = WebSettings(host="127.0.0.1", port=self.process.port)
        settings = Settings(state_dir=str(self.folder), web=web)
        return ask_running(settings, f"/api/host/hub/{what}", body)

    def resign(self) -> None:
        """Resign, which ends the game at both tables."""
        with contextlib.suppress(Stuck, *LOST_SERVICE):
            self._phone.post("resign", {})

    def play(self) -> None:
        """Start a thread in which the phone plays until `stop`, even while the service is gone."""
        self._end.clear()
        self._player = threading.Thread(target=self._play)
        self._player.start()

    def stop(self) -> None:
        """Stop the thread in which the phone plays."""
        self._end.set()
        if self._player:
            self._player.join()

    def _play(self) -> None:
        while not self._end.wait(TURN_S):
            # refused if the other table has ended the moment, lost if the service is gone
            with contextlib.suppress(Stuck, *LOST_SERVICE):
                self._act(self._phone.get("view"))

    def _act(self, view: dict[str, object]) -> None:
        """Do what the table waits for at this seat, if anything."""
        match view["phase"]:
            case "setup" | "stages":
                confirm_stage(self._phone, view)
            case "orders" if view["seats"][self.seat]["awaited"]:  # type: ignore[index] # JSON
                clock = view["clock"]
                if clock and clock["paused"]:  # type: ignore[index] # JSON
                    self._phone.post("resume", {})
                self._order(str(view["moment"]))

    def _order(self, moment: str) -> None:
        """Hand in a random action that is legal in the game as the journal restores it.

        Do nothing if the journal has moved on from this moment.
        """
        with self.open_journal() as journal:
            session = journal.fold(int(moment.partition(".")[0]))
        if session.moment != moment or self.seat not in session.awaited_seats:
            return
        game, salt = session.require_game(), f"{self._rng.getrandbits(128):032x}"
        action = game.format(game.random_action(session.state, self.seat, self._rng))
        answer = self._phone.post("hand-in", {"moment": moment, "action": action, "salt": salt})
        # the receipt is empty while a press waits for the camera
        if answer["receipt"]:
            self.acknowledged[salt] += 1


def bench_pairs(kills: int = KILLS) -> bool:
    """Play each game at least once, until `kills` SIGKILLs are done. Return whether all is well."""
    rng = Random(7)
    game_count, faults = 0, list[str]()
    # how often each thing was killed
    killed = Counter[str]()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        hub = HubProcess(folder / "hub")
        stack.callback(hub.kill)
        tables = list[PairService]()
        for seat in SEATS:
            tables.append(PairService(folder / seat, seat, hub))
            for close in (tables[-1].line.cut, tables[-1].process.kill, tables[-1].stop):
                stack.callback(close)  # called in the reverse order
        while killed.total() < kills or game_count < len(GAMES):
            game = GAMES[game_count % len(GAMES)]
            _begin_game(tables, game)
            # at most an equal share of all kills (rounded up) in one game
            max_kills = min(kills - killed.total(), -(-kills // len(GAMES)))
            killed += _play(tables, hub, rng, max_kills)
            game_count += 1
            fault = _find_fault(tables)
            faults += [fault] if fault else []
            print(f"pairs: {game}: {fault or 'the same at both tables'}", flush=True)
        faults += _find_faults_at_hub(hub, tables, game_count)
    orders = sum(table.acknowledged.total() for table in tables)
    print(
        f"pairs: {game_count} games at two tables, {killed.total()} SIGKILLs ({dict(killed)}), "
        f"{orders} orders acknowledged: {faults or 'none lost, doubled or seen early  ok'}",
        flush=True,
    )
    return not faults


def _begin_game(tables: list[PairService], game: str) -> None:
    """Let one table offer a game and the other one take it. Nothing is killed meanwhile."""
    south, north = tables
    end_s = time.monotonic() + _GAME_TIMEOUT_S
    while True:
        try:
            north.ask("take", code=south.ask("offer", game=game, seat="south")["code"])
            break
        except SystemTrouble:
            # a line to the hub may not be up yet
            if time.monotonic() > end_s:
                raise
            time.sleep(1)
    while not all(table.fetch_phase() in ("setup", "orders") for table in tables):
        if time.monotonic() > end_s:
            raise RuntimeError("the tables do not begin")
        time.sleep(TURN_S)


def _play(tables: list[PairService], hub: HubProcess, rng: Random, max_kills: int) -> Counter[str]:
    """Play one game while things are killed. After `max_kills`, one table resigns.

    Return how often each thing was killed. Raises RuntimeError if the game does not end.
    """
    killed, end_s = Counter[str](), time.monotonic() + _GAME_TIMEOUT_S
    for table in tables:
        table.play()
    try:
        while True:
            time.sleep(rng.uniform(*PAUSE_RANGE_S))
            if all(table.fetch_phase() == "over" for table in tables):
                return killed
            if killed.total() < max_kills:
                killed += _break_something(rng, hub, tables)
                end_s = time.monotonic() + _GAME_TIMEOUT_S
            else:
                tables[0].resign()
            if time.monotonic() > end_s:
                raise RuntimeError("the game does not end")
    finally:
        for table in tables:
            table.stop()


def _break_something(rng: Random, hub: HubProcess, tables: list[PairService]) -> Counter[str]:
    """Kill the hub, its NATS server, one service or both, cut a line, or let the hub hang.

    What was killed is started again. Return how often each thing was killed: hanging does not
    count.
    """
    match rng.randrange(12):
        case 0:
            hub.kill()
            hub.start()
            return Counter({"the hub": 1})
        case 1:
            hub.kill_nats()
            return Counter({"its NATS": 1})
        case 2:
            hub.hang(HANG_S)
            return Counter()
        case 3 | 4:
            line = rng.choice(tables).line
            line.cut()
            time.sleep(rng.uniform(*CUT_RANGE_S))
            line.mend()
            return Counter({"a line": 1})
        case 5:
            killed_tables = tables
        case _:
            killed_tables = [rng.choice(tables)]
    for table in killed_tables:
        table.process.kill()
    for table in killed_tables:
        table.process.start()
        table.process.wait_for_page()
    return Counter({"a service": len(killed_tables)})


def _find_fault(tables: list[PairService]) -> str:
    """Return what is wrong in the journals of the last game, or an empty string."""
    sessions: list[Session] = []
    for table in tables:
        with table.open_journal() as journal:
            sessions.append(journal.fold(journal.games()[-1]))
            records = [entry.record for entry in journal.entries()]
            salts = Counter(
                record.salt for record in records if isinstance(record, HandIn) and record.salt
            )
            if lost := set(table.acknowledged) - set(salts):
                return f"{len(lost)} acknowledged orders of {table.seat} are lost"
            if max(salts.values(), default=0) > 1:
                return f"an order of {table.seat} is there twice"
            if early := _find_early_order(journal, sessions[-1]):
                return f"{table.seat} received the order of {early} before its own was sealed"
    south, north = sessions
    files = [build_game_file(session) for session in sessions]
    moments = [turn.moment for turn in south.turns]
    if files[0] != files[1] or south.state != north.state or south.tick != north.tick:
        return "the tables have different games"
    if len(set(moments)) != len(moments) or len(list(replay_turns(files[0]))) != len(moments):
        return "a turn is there twice, or is missing"
    return ""


def _find_early_order(journal: Journal, session: Session) -> str:
    """Return the first moment at which a table received the order of the other one too early.

    That is before its own order was sealed. Return an empty string if there is no such moment.
    Moments at which only one seat acts do not count.
    """
    # moments at which this table's own order is sealed
    sealed: set[str] = set()
    for entry in journal.entries(session.game_number):
        record = entry.record
        if isinstance(record, HandIn):
            sealed.add(record.moment)
        elif isinstance(record, ReceiveMessage) and isinstance(record.message, ActionOpened):
            moment = f"{session.game_number}.{record.message.tick}"
            turn = next((turn for turn in session.turns if turn.moment == moment), None)
            if turn is not None and len(turn.sealed) == len(SEATS) and moment not in sealed:
                return moment
    return ""


# ---- what the hub has ----------------------------------------------------------------------------


def _find_faults_at_hub(hub: HubProcess, tables: list[PairService], game_count: int) -> list[str]:
    """Compare the hub's inputs with the journals, and its results with the games played.

    Return a sentence for each fault. The hub may lack the oldest inputs, because it keeps only the
    newest ones.
    """
    faults = []
    for table in tables:
        with table.open_journal() as journal:
            wanted = [
                entry.id for entry in journal.entries() if entry.id > table.member.start_after
            ]
        entry_ids, end_s = list[int](), time.monotonic() + TIMEOUT_S
        server = f"nats://127.0.0.1:{hub.nats_port}"
        private_key = HubFolder(hub.folder).file.private_key
        # the hub may still have to receive the last inputs
        while entry_ids[-1:] != wanted[-1:] and time.monotonic() < end_s:
            time.sleep(1)
            # the hub may have been killed just before, and be starting
            with contextlib.suppress(OSError, TimeoutError, NatsError):
                records = asyncio.run(
                    read_stored_records(server, private_key, table.member.table_id)
                )
                entry_ids = [record.entry for record in records]
        if not entry_ids or entry_ids != wanted[-len(entry_ids) :]:
            faults.append(f"the hub has {len(entry_ids)} of {len(wanted)} inputs of {table.seat}")
    league_file = LeagueFile(hub.folder)
    result_count = len(league_file.results(1000))
    league_file.close()
    if result_count != game_count:
        faults.append(f"{result_count} results of {game_count} games")
    return faults
