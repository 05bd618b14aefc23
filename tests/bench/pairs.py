"""One game at two tables while everything is killed: either whole service, the hub, its NATS, and the lines between.

Each table is `companion play` as a process of its own, with a phone at its seat over HTTP that plays at random; the hub
is `companion hub`; each table's line to it is a process, too. In the end both journals must have the same game, with
every acknowledged order once, and none that was heard before the own one was sealed.
"""

from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from bench.hub import HubProcess
from bench.kills import first_page_ms, free_port
from bench.line import CuttableLine
from bench.processes import compiled
from companion.archive.replay import game_file, play_again
from companion.core.kit import SEATS, Seat
from companion.hub.membership import write_membership
from companion.storage.journal import Journal
from companion.table.records import HandIn, RemoteSaid
from companion.table.remote.messages import OrderOpened
from companion.table.session import Session
from companion.tools.selfplay.people import Phone, Stuck

GAMES = ("outbuffered", "arena", "scouts", "kahmate")
PAUSE_S = (0.2, 1.5)
HANGS_S, CUT_S = 0.4, (0.1, 3.0)
"""So long the hub hangs, and a line that was cut is away."""
TURN_S = 0.02
_WAIT_S = 300.0
_LOST = (OSError, http.client.HTTPException, ValueError)


class PairService:
    """A table: its service, which may be killed and started anew, and the phone that plays its seat meanwhile."""

    def __init__(self, folder: Path, seat: Seat, hub: HubProcess) -> None:
        self.folder, self.seat = folder, seat
        self.line = CuttableLine(hub.nats_port)
        self.port = free_port()
        self.acknowledged: Counter[str] = Counter()
        """Orders that the phone was told are in, by their salt."""
        self._rng = Random(f"pairs/{seat}")
        self._phone = Phone(f"http://127.0.0.1:{self.port}", seat)
        self._end = threading.Event()
        self._player: threading.Thread | None = None
        folder.mkdir()
        settings = (
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n[table]\nreading_time_s = 0.1\n'
        )
        camera = '[camera]\nsource = "none"\n[voice]\nby = "off"\n'
        (folder / "settings.toml").write_text(settings + camera, encoding="utf-8")

    @property
    def journal(self) -> Journal:
        """What the service has written, to be read alone."""
        return Journal(self.folder / "journal.sqlite", read_only=True)

    @property
    def phase(self) -> str:
        """Of the table, as everybody sees it; empty: nobody answers."""
        with contextlib.suppress(Stuck, *_LOST):
            return str(self._phone.get("view")["phase"])
        return ""

    @property
    def is_over(self) -> bool:
        """Is the game over?"""
        return self.phase == "over"

    def start(self) -> None:
        """The service, until its first page."""
        command = [
            sys.executable,
            "-m",
            "companion",
            "play",
            *self._settings,
            "--port",
            str(self.port),
        ]
        with (self.folder / "service.log").open("ab") as log:
            began_s = time.monotonic()
            self._process = subprocess.Popen(
                command, env=compiled(self.folder), stdout=log, stderr=log
            )
        first_page_ms(self._process, self.port, began_s)

    def kill(self) -> None:
        """SIGKILL of the whole service."""
        self._process.kill()
        self._process.wait()

    def sit_down(self) -> None:
        """By phone."""
        self._phone.post("take", {"name": f"Far {self.seat}"})

    def ask(self, *words: str) -> str:
        """What a command of the hub answers."""
        command = [
            sys.executable,
            "-m",
            "companion",
            "hub",
            *words,
            *self._settings,
            "--port",
            str(self.port),
        ]
        done = subprocess.run(
            command, env=compiled(self.folder), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    @property
    def _settings(self) -> list[str]:
        return ["--settings", str(self.folder / "settings.toml")]

    def play(self) -> None:
        """The phone plays until `stop`, whatever becomes of the service."""
        self._end.clear()
        self._player = threading.Thread(target=self._play)
        self._player.start()

    def stop(self) -> None:
        """Nobody plays any more."""
        self._end.set()
        if self._player:
            self._player.join()

    def _play(self) -> None:
        while not self._end.wait(TURN_S):
            with contextlib.suppress(
                Stuck, *_LOST
            ):  # the other table was quicker, or the service is gone
                self._act(self._phone.get("view"))

    def _act(self, view: dict[str, object]) -> None:
        place = {"moment": view["moment"], "stage": view["stage"], "force": True}
        match view["phase"]:
            case "setup" | "stages":
                self._phone.post("confirm", place)
            case "orders" if view["seats"][self.seat]["awaited"]:  # type: ignore[index] # JSON
                clock = view["clock"]
                if clock and clock["paused"]:  # type: ignore[index] # JSON
                    self._phone.post("resume", {})
                with self.journal as journal:
                    session = journal.fold(int(str(view["moment"]).partition(".")[0]))
                if session.moment == view["moment"] and self.seat in session.awaited:
                    game, salt = session.playing, f"{self._rng.getrandbits(128):032x}"
                    action = game.format(game.random_action(session.state, self.seat, self._rng))
                    order = {"moment": view["moment"], "action": action, "salt": salt}
                    if self._phone.post("hand-in", order)[
                        "receipt"
                    ]:  # none while a press waits for the camera
                        self.acknowledged[salt] += 1


def bench_pairs(kills: int, names: Sequence[str] = GAMES, seed: int = 7) -> bool:
    """Whole games of these in turn, until so many SIGKILLs were survived; answers whether all is well."""
    rng, left, games, good = Random(seed), kills, 0, True
    killed = Counter[str]()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        hub = HubProcess(folder / "hub")
        tables = [PairService(folder / seat, seat, hub) for seat in SEATS]
        try:
            for table in tables:
                member = hub.join(str(table.seat))
                member = msgspec.structs.replace(
                    member, servers=(f"nats://127.0.0.1:{table.line.port}",)
                )
                write_membership(table.folder / "hub.json", member)
                table.start()
                table.sit_down()
            while left > 0 or games < len(names):
                game = names[games % len(names)]
                _agree(tables, game)
                gone = _play(tables, hub, rng, min(left, -(-kills // len(names))))
                killed += gone
                left -= gone.total()
                games += 1
                found = _faults(tables)
                good &= not found
                print(
                    f"pairs: {game}, {gone.total()} SIGKILLs: {found or 'the same at both tables'}",
                    flush=True,
                )
        finally:
            for table in tables:
                table.stop()
                table.kill()
                table.line.cut()
            hub.kill()
    orders = sum(table.acknowledged.total() for table in tables)
    is_good = good and left <= 0
    print(
        f"pairs: {games} games at two tables, {kills - left} SIGKILLs "
        f"({', '.join(f'{count} of {what}' for what, count in sorted(killed.items()))}), {orders} orders acknowledged: "
        f"{'none lost, doubled or seen early  ok' if is_good else 'NOT GOOD'}",
        flush=True,
    )
    return is_good


def _agree(tables: list[PairService], game: str) -> None:
    """Both tables begin a game; nothing is killed meanwhile."""
    south, north = tables
    end_s = time.monotonic() + _WAIT_S
    while True:
        try:
            code = south.ask("offer", game).split()[-1]
            north.ask("play", code)
            break
        except RuntimeError:
            if time.monotonic() > end_s:  # else a line is not there yet
                raise
            time.sleep(1)
    while not all(table.phase in ("setup", "orders") for table in tables):
        if time.monotonic() > end_s:
            raise RuntimeError("the tables do not begin")
        time.sleep(TURN_S)


def _play(tables: list[PairService], hub: HubProcess, rng: Random, most: int) -> Counter[str]:
    """One game to its end, with at most so many kills; answers what was killed how often."""
    done, end_s = Counter[str](), time.monotonic() + _WAIT_S
    for table in tables:
        table.play()
    try:
        while True:
            time.sleep(rng.uniform(*PAUSE_S))
            if all(table.is_over for table in tables):
                return done
            if done.total() < most:
                done += _break(rng, hub, tables)
                end_s = time.monotonic() + _WAIT_S
            if time.monotonic() > end_s:
                raise RuntimeError("the game does not end")
    finally:
        for table in tables:
            table.stop()


def _break(rng: Random, hub: HubProcess, tables: list[PairService]) -> Counter[str]:
    """Kill one or several things at once, or let the hub hang; answers what was killed."""
    match rng.randrange(12):
        case 0:
            hub.kill()
            hub.start()
            return Counter({"the hub": 1})
        case 1:
            hub.kill_nats()
            return Counter({"its NATS": 1})
        case 2:
            hub.signal(signal.SIGSTOP)
            time.sleep(HANGS_S)
            hub.signal(signal.SIGCONT)
            return Counter()
        case 3 | 4:
            line = rng.choice(tables).line
            line.cut()
            time.sleep(rng.uniform(*CUT_S))
            line.mend()
            return Counter({"a line": 1})
        case 5:
            gone = tables
        case _:
            gone = [rng.choice(tables)]
    for table in gone:
        table.kill()
    for table in gone:
        table.start()
    return Counter({"a service": len(gone)})


def _faults(tables: list[PairService]) -> str:
    """What is not as it should be in the journals; empty: nothing."""
    sessions: list[Session] = []
    for table in tables:
        with table.journal as journal:
            number = journal.games()[-1]
            sessions.append(journal.fold(number))
            kept = Counter(
                e.record.salt
                for e in journal.entries()
                if isinstance(e.record, HandIn) and e.record.salt
            )
            if lost := set(table.acknowledged) - set(kept):
                return f"{len(lost)} acknowledged orders of {table.seat} are lost"
            if [salt for salt, count in kept.items() if count > 1]:
                return f"an order of {table.seat} is there twice"
            if early := _heard_early(journal, sessions[-1]):
                return f"{table.seat} heard an order of {early} before its own was sealed"
    south, north = sessions
    files = [game_file(session) for session in sessions]
    moments = [turn.moment for turn in south.turns]
    if files[0] != files[1] or south.state != north.state or south.tick != north.tick:
        return "the tables have different games"
    if len(set(moments)) != len(moments) or len(list(play_again(files[0]))) != len(moments):
        return "a turn is there twice, or is missing"
    return ""


def _heard_early(journal: Journal, session: Session) -> str:
    """The moment of which this table heard the other one's order too early; empty: none."""
    sealed: set[str] = set()
    for entry in journal.entries(session.number):
        record = entry.record
        if isinstance(record, HandIn):
            sealed.add(record.moment)
        elif isinstance(record, RemoteSaid) and isinstance(record.message, OrderOpened):
            moment = f"{session.number}.{record.message.tick}"
            turn = next((turn for turn in session.turns if turn.moment == moment), None)
            if turn is not None and len(turn.sealed) == len(SEATS) and moment not in sealed:
                return moment
    return ""
