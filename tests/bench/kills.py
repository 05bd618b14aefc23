"""The service killed at random moments, a thousand times: is every acknowledged input there afterwards, and once?

Real services as processes of their own, two at once, with two phones each over HTTP: sealed orders in one game, a
running clock in the next. Each is killed by SIGKILL while both phones tap, and begun anew on the same files. Held
against each other are what the phones were answered, what the journal holds, and what the pages tell.

A kill of the process proves the order of writing and showing, not that the disk keeps what it was told to sync: for
that a whole machine has to lose its power (`make appliance`).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from bench.figures import Figure
from bench.processes import compiled
from companion.core.kit import SEATS, Seat
from companion.storage.journal import Journal
from companion.table.clocks.deadlines import NOTE_S
from companion.table.records import (
    Begin,
    HandIn,
    NewGame,
    Pause,
    Resign,
    Resume,
    StageDone,
    TakeBack,
)
from companion.table.session import Phase, Session, receipt
from companion.table.state import TableState
from companion.table.views import view_of
from companion.tools.selfplay.people import Phone, Stuck
from web.rendering.json_view import plain_view

TABLES = 2
KILLS = 1000
RESUMED_MS = 2000.0
LONGEST_PLAY_S = 0.8
RESIGNS = 0.03
"""How often somebody gives up instead of tapping on: games of both kinds come in turn."""
HESITATES = {Seat.SOUTH: 0.3, Seat.NORTH: 0.85}
"""How often a person looks on before an order: one order lies sealed alone for a while."""
_PATIENCE_S = 60.0
_CLOCK_SLACK_S = 0.5
"""So much later than due a running clock may have been noted, on a machine that does other things as well."""
Key = tuple[str, ...]
"""By what an input is known in the journal: its kind, its seat and its moment, a sealed action by its salt."""


@dataclass
class KillReport:
    """What was found; `given_back_s` is how much time a kill gave back to the turn that it hit, at most."""

    kills: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    lost: int = 0
    twice: int = 0
    revealed: int = 0
    sealed: int = 0
    running: int = 0
    wrong: list[str] = field(default_factory=list)
    given_back_s: float = 0.0
    resumed_ms: list[float] = field(default_factory=list)
    worked_ms: list[float] = field(default_factory=list)
    """Time of a core that a start took until the first page: it does not grow with what else runs here."""

    def add(self, other: KillReport) -> None:
        """Count what was found at another table."""
        for name in (
            "kills",
            "acknowledged",
            "unanswered",
            "lost",
            "twice",
            "revealed",
            "sealed",
            "running",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrong += other.wrong
        self.resumed_ms += other.resumed_ms
        self.worked_ms += other.worked_ms
        self.given_back_s = max(self.given_back_s, other.given_back_s)

    @property
    def is_good(self) -> bool:
        """Was nothing lost, doubled, revealed or otherwise wrong?"""
        return not (self.lost or self.twice or self.revealed or self.wrong) and self.kills > 0

    def sentence(self) -> str:
        """The figures for people."""
        return (
            f"{'':<4}{self.kills} SIGKILLs, {self.acknowledged} inputs acknowledged ({self.unanswered} cut off before "
            f"their answer): {self.lost} lost, {self.twice} applied twice; {self.sealed} kills over sealed orders: "
            f"{self.revealed} revealed; {self.running} over a running clock: {self.given_back_s:.2f} s given back at "
            f"most (at most {NOTE_S + _CLOCK_SLACK_S:.1f}); {len(self.wrong)} otherwise wrong  "
            f"{'ok' if self.is_good else 'NOT GOOD ENOUGH'}"
        )


def bench_kills(kills: int = KILLS, seed: int = 1) -> bool:
    """Kill and resume so often, and print what was found; answers whether every bound is kept."""
    total = KillReport()
    with ThreadPoolExecutor(TABLES) as pool:
        for tally in pool.map(
            lambda table: _one_table(-(-kills // TABLES), seed + table), range(TABLES)
        ):
            total.add(tally)
    figure = Figure("killed service -> first page", total.resumed_ms, RESUMED_MS)
    print(figure.sentence(), flush=True)
    worked_ms = sorted(total.worked_ms)[len(total.worked_ms) // 2]
    print(f"{'':<4}of that at work on a core: p50 {worked_ms:.0f} ms", flush=True)
    print(total.sentence(), flush=True)
    for what in total.wrong[:10]:
        print(f"{'':<8}{what}", flush=True)
    return figure.is_met() and total.is_good


def _one_table(kills: int, seed: int) -> KillReport:
    with tempfile.TemporaryDirectory() as folder:
        return KilledTable(Path(folder), Random(seed)).run(kills)


# ---- the process -----------------------------------------------------------------------------------------------------


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def first_page_ms(process: subprocess.Popen[bytes], port: int, began_s: float) -> float:
    """Milliseconds until the table screen is answered; raises RuntimeError when the process ends before."""
    while time.monotonic() - began_s < _PATIENCE_S:
        if process.poll() is not None:
            break
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", "/")
            if connection.getresponse().status == 200:
                return (time.monotonic() - began_s) * 1000
        time.sleep(0.005)
    raise RuntimeError("the service did not come up")


def _worked_ms(process: int) -> float:
    """How long a process has had a core until now, all its threads together."""
    fields = (
        Path(f"/proc/{process}/stat")
        .read_text(encoding="ascii", errors="replace")
        .rpartition(")")[2]
        .split()
    )
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


# ---- people ----------------------------------------------------------------------------------------------------------


@dataclass
class Tapped:
    """What one phone has sent: how often each input was acknowledged, and how often nobody knows.

    `last` is the request that was cut off, to be sent once more.
    """

    acknowledged: Counter[Key] = field(default_factory=Counter)
    unknown: Counter[Key] = field(default_factory=Counter)
    last: tuple[str, dict[str, Any], Key] | None = None


class Tapper:
    """A person at a phone who taps whatever is possible, as fast as the table answers."""

    def __init__(self, url: str, seat: Seat, rng: Random) -> None:
        self.seat = seat
        self.phone = Phone(url, seat)
        self.tapped = Tapped()
        self._rng = rng
        self._url = url

    def play(self, stop: threading.Event) -> None:
        """Tap until the service is gone, or until told to stop."""
        while not stop.is_set():
            try:
                view = self.phone.get("view")
            except (OSError, http.client.HTTPException, ValueError, Stuck):
                return
            if not self._tap(view):
                return
            stop.wait(self._rng.uniform(0.0, 0.02))

    def again(self) -> None:
        """Send what was not answered once more, as a phone does."""
        if self.tapped.last:
            what, body, key = self.tapped.last
            self.tapped.last = None
            self.send(what, body, key)

    def send(self, what: str, body: dict[str, Any], key: Key) -> bool:
        """Send an input and note what became of it; False: nobody knows."""
        try:
            answer = self.phone.post(what, body)
        except Stuck as refused:
            if '"late"' not in refused.message:
                return True
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the service went away: perhaps after it had written
        else:
            if (
                answer.get("receipt") == ""
            ):  # a press that waits for the camera: nothing is promised yet
                self.tapped.unknown[key] += 1
                return True
            self.tapped.acknowledged[key] += 1
            return True
        self.tapped.unknown[key] += 1
        self.tapped.last = (what, body, key)
        return False

    def _tap(self, view: dict[str, Any]) -> bool:
        place = {"moment": view["moment"], "stage": view["stage"], "force": True}
        me = str(self.seat)
        match view["phase"]:
            case "lobby" | "over":
                way = self._rng.choice(({"game": "outbuffered"}, {"game": "binmat", "preset": 1}))
                return me != "south" or self.send("start", way, ("start",))
            case "setup":
                return self.send("confirm", place, ("begin", view["moment"].partition(".")[0]))
            case "stages":
                return self.send("confirm", place, ("stage", view["moment"], str(view["stage"])))
        if self._rng.random() < RESIGNS:
            return self.send("resign", {}, ("resign", me, view["moment"].partition(".")[0]))
        return self._press_clock(view) if view["clock"] else self._order(view)

    def _press_clock(self, view: dict[str, Any]) -> bool:
        me, moment = str(self.seat), view["moment"]
        if view["clock"]["paused"]:
            return self.send("resume", {}, ("resume", me, moment.partition(".")[0]))
        if self._rng.random() < 0.1:
            return self.send("pause", {}, ("pause", me, moment.partition(".")[0]))
        return not view["seats"][me]["awaited"] or self._hand_in(moment, ".")

    def _order(self, view: dict[str, Any]) -> bool:
        me, moment = str(self.seat), view["moment"]
        if view["sealed"][me]:
            return self._rng.random() < 0.7 or self.send(
                "take-back", {"moment": moment}, ("take-back", me, moment)
            )
        if self._rng.random() < HESITATES[self.seat]:
            return True
        return self._hand_in(moment, "".join(self._rng.choices("UDLRIS", k=3)))

    def _hand_in(self, moment: str, action: str) -> bool:
        salt = f"{self._rng.getrandbits(128):032x}"
        return self.send(
            "hand-in", {"moment": moment, "action": action, "salt": salt}, ("hand-in", salt)
        )


# ---- what the journal holds ------------------------------------------------------------------------------------------

_ONCE = ("hand-in", "begin", "stage", "resign", "new game")
"""What can be accepted only once, whoever sends it."""


def keys_of(journal: Journal) -> Counter[Key]:
    """How often each input that a `Tapper` sends is in the journal."""
    found: Counter[Key] = Counter()
    for entry in journal.entries():
        record, game = entry.record, str(entry.game)
        match record:
            case HandIn() if record.salt:
                found["hand-in", record.salt] += 1
            case TakeBack():
                found["take-back", str(record.seat), record.moment] += 1
            case StageDone():
                found["stage", record.moment, str(record.stage)] += 1
            case Pause() | Resume() if record.by in SEATS:
                found["pause" if isinstance(record, Pause) else "resume", record.by, game] += 1
            case Resign():
                found["resign", str(record.seat), game] += 1
            case Begin():
                found["begin", game] += 1
            case NewGame():
                found["new game", game] += 1
                found["start",] += 1
            case _:
                pass
    return found


_OF_THE_MACHINE = frozenset({"version", "camera", "watched", "panel", "suggested", "notices"})
"""What a view tells beside the game."""


def tells(told: dict[str, Any], session: Session, seat: Seat, viewer: Seat | None) -> bool:
    """Is a view, as it was told, another one than if this seat had sealed another order under the same receipt?"""
    sealed = session.sealed[seat]
    action = next(str(play) * len(sealed.action) for play in "UDLRIS" if play not in sealed.action)
    other = replace(
        session, sealed={**session.sealed, seat: replace(sealed, action=action, salt="0" * 32)}
    )
    expected = json.loads(json.dumps(plain_view(view_of(TableState(other), viewer)), default=str))
    return any(
        told.get(name) != expected.get(name) for name in {*told, *expected} - _OF_THE_MACHINE
    )


class KilledTable:
    """One installation: a service that is killed and begun anew, and the two people who play there."""

    def __init__(self, folder: Path, rng: Random) -> None:
        self._folder = folder
        self._rng = rng
        self._port = free_port()
        self._journal = folder / "journal.sqlite"
        self._log = folder / "service.log"
        url = f"http://127.0.0.1:{self._port}"
        self.people = [Tapper(url, seat, Random(rng.random())) for seat in SEATS]
        self.tally = KillReport()
        settings = (
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n[table]\nreading_time_s = 0.1\n'
        )
        camera = '[camera]\nsource = "none"\nfps = 0.5\n[voice]\nby = "off"\n'
        (folder / "settings.toml").write_text(settings + camera, encoding="utf-8")

    def run(self, kills: int) -> KillReport:
        """Play and kill so often; answers what was found."""
        process = self._start()  # no resume: there is nothing yet, and it compiles everything
        self.tally.resumed_ms.clear()
        self.tally.worked_ms.clear()
        try:
            for person in self.people:
                person.phone.post("take", {"name": "Bench"})
            for _ in range(kills):
                session, killed_s = self._play_and_kill(process)
                process = self._start()
                self._look_after(session, killed_s)
                for person in self.people:
                    person.again()
            self.tally.acknowledged = sum(
                person.tapped.acknowledged.total() for person in self.people
            )
            self.tally.unanswered = sum(person.tapped.unknown.total() for person in self.people)
        finally:
            process.kill()
            process.wait()
        return self.tally

    def _start(self) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "companion",
            "play",
            "--settings",
            str(self._folder / "settings.toml"),
        ]
        with self._log.open("ab") as log:
            began_s = time.monotonic()
            process = subprocess.Popen(
                [*command, "--port", str(self._port)],
                env=compiled(self._folder),
                stdout=log,
                stderr=log,
            )
        try:
            self.tally.resumed_ms.append(first_page_ms(process, self._port, began_s))
            self.tally.worked_ms.append(_worked_ms(process.pid))
        except RuntimeError:
            process.kill()
            process.wait()
            raise RuntimeError(
                self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            ) from None
        return process

    def _play_and_kill(self, process: subprocess.Popen[bytes]) -> tuple[Session, float]:
        """Let both tap for a random while, kill, and hold the journal against them; answers the table at the kill."""
        stop = threading.Event()
        threads = [threading.Thread(target=person.play, args=(stop,)) for person in self.people]
        for thread in threads:
            thread.start()
        time.sleep(self._rng.uniform(0.0, LONGEST_PLAY_S))
        process.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
        process.wait()
        stop.set()
        for thread in threads:
            thread.join()
        self.tally.kills += 1
        with Journal(self._journal, read_only=True) as journal:
            self.hold_against(keys_of(journal))
            session = journal.restore()
            if journal.notice:
                self.tally.wrong.append(journal.notice)
        return session, killed_s

    def hold_against(self, kept: Counter[Key]) -> None:
        acknowledged = sum((person.tapped.acknowledged for person in self.people), Counter[Key]())
        unknown = sum((person.tapped.unknown for person in self.people), Counter[Key]())
        self.tally.lost = sum(max(0, count - kept[key]) for key, count in acknowledged.items())
        twice = 0
        for key, count in kept.items():
            most = 1 if key[0] in _ONCE else acknowledged[key] + unknown[key]
            twice += max(0, count - most) if key[0] != "start" else 0
        self.tally.twice = twice

    def _look_after(self, before: Session, killed_s: float) -> None:
        """Hold what the pages tell after a restart against the table at the kill."""
        views = {person.seat: person.phone.get("view") for person in self.people}
        view = views[Seat.SOUTH]
        is_on = before.phase is not Phase.OVER  # after a finished game a start leads home
        if before.number and is_on and (view["moment"].partition(".")[0]) != str(before.number):
            self.tally.wrong.append(f"game {before.number} came back as {view['moment']}")
        running = before.countdown is not None and before.countdown.since_s is not None
        if running:
            self._look_at_clock(before, view, killed_s)
        if before.sealed and before.phase is Phase.ORDERS and view["moment"] == before.moment:
            self._look_at_sealed(before, views)
        if any(seat["name"] is None for seat in view["seats"].values()):
            self.tally.wrong.append("a seat was lost")

    def _look_at_clock(self, before: Session, view: dict[str, Any], killed_s: float) -> None:
        countdown, clock = before.countdown, view["clock"]
        if (
            countdown is None
            or countdown.due_s is None
            or view["moment"] != before.moment
            or not clock
        ):
            return
        self.tally.running += 1
        given_back_s = clock["left_s"] - max(0.0, countdown.due_s - killed_s)
        self.tally.given_back_s = max(self.tally.given_back_s, given_back_s)
        if (
            clock["paused"] != "restart"
            or not -_CLOCK_SLACK_S <= given_back_s <= NOTE_S + _CLOCK_SLACK_S
        ):
            self.tally.wrong.append(
                f"the clock came back as {clock}, {given_back_s:.2f} s more than at the kill"
            )

    def _look_at_sealed(self, before: Session, views: dict[Seat, dict[str, Any]]) -> None:
        """Sealed orders are there, and in nobody's page, answer or log."""
        self.tally.sealed += 1
        texts = [json.dumps(view) for view in views.values()]
        everybody = self._page("/api/view")
        texts += [everybody, *(self._page(path) for path in ("/", "/watch", "/health"))]
        texts.append(self._log.read_text(encoding="utf-8", errors="replace"))
        for seat, sealed in before.sealed.items():
            if views[seat]["sealed"][seat] != receipt(
                before.moment, seat, sealed.action, sealed.salt
            ):
                self.tally.wrong.append(
                    f"the sealed order of {seat} at {before.moment} did not come back"
                )
            self.tally.revealed += any(sealed.salt in text for text in texts)
            self.tally.revealed += tells(views[seat.other], before, seat, seat.other)
            self.tally.revealed += tells(json.loads(everybody), before, seat, None)
            self.tally.revealed += any(
                opened["moment"] == before.moment for opened in views[seat]["opened"]
            )

    def _page(self, path: str) -> str:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_S)
        ) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode(errors="replace")
