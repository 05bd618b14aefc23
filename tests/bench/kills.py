"""Kill the service a thousand times at random moments, and check that it has lost no input.

Two real services run at once, each with two phones over HTTP. Their games have sealed orders
(handed in, on disk, shown to nobody) or a running clock. Again and again, each service

1. is killed by SIGKILL while both phones tap,
2. must have every input in its journal that it has acknowledged to a phone, and have it once,
3. is restarted on the same files, and must show the same game, with its clock stopped at the time
   that it had, and with sealed orders still sealed.

Killing a process tests that an input is written before it is acknowledged or shown. It does not
test that the disk keeps what it was asked to sync: for that a whole machine has to lose its power
(`make appliance`).
"""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ports import free_port

from bench.bars import RESUMED_BAR
from bench.processes import LOCAL_ONLY, ServerProcess, play_command
from companion.core.kit import SEATS, Seat
from companion.storage.journal import Journal
from companion.table.clocks.deadlines import CLOCK_NOTE_INTERVAL_S
from companion.table.records import (
    Begin,
    HandIn,
    NewGame,
    Resign,
    Resume,
    StageDone,
    TakeBack,
)
from companion.table.session import Phase, Session, receipt_of
from companion.tools.selfplay.people import Phone, Stuck

# Number of services at once.
TABLES = 2
KILLS = 1000
# Longest time in seconds that people play between a restart and the next kill.
MAX_PLAY_S = 0.8
# Probability at each tap that a person resigns instead of playing on. So games end in both ways.
RESIGN_PROBABILITY = 0.03
# Probability at each tap that a person waits instead of handing in orders. North waits longer, so
# that often only South's orders are sealed.
WAIT_PROBABILITY = {Seat.SOUTH: 0.3, Seat.NORTH: 0.85}
# Exceptions that a phone meets when its service goes away.
LOST_SERVICE = (OSError, http.client.HTTPException, ValueError)
SETTINGS = f"""{LOCAL_ONLY}[table]
reading_time_s = 0.1
[camera]
source = "none"
fps = 0.5
"""
# Tolerance in seconds for the time that a clock shows after a restart: the machine is busy.
_CLOCK_SLACK_S = 0.5
# What identifies an input, both when a phone sends it and in the journal. The first part is its
# kind, such as `resign`. The others are its seat, game, moment (the number of the decision) or
# stage, if they matter to that kind. An action that is handed in is identified by its random salt.
Key = tuple[str, ...]


@dataclass
class KillReport:
    """The results of killing one service."""

    kills: int = 0
    acknowledged: int = 0
    """Number of inputs that the service told phones it accepted."""
    lost: int = 0
    """Number of acknowledged inputs that are not in the journal."""
    twice: int = 0
    """Number of inputs that the journal has too often: more often than phones have sent them, or
    more often than the table may accept them."""
    sealed: int = 0
    """Number of kills while an order lay sealed."""
    running: int = 0
    """Number of kills while a clock ran."""
    wrong: list[str] = field(default_factory=list)
    """Sentences on everything else that was wrong."""
    given_back_s: float = 0.0
    """Longest time that a kill gave back to the player whose clock ran."""
    resumed_s: list[float] = field(default_factory=list)
    """Time in seconds from each restart to the first page."""

    @property
    def is_good(self) -> bool:
        """Whether the service was killed, and nothing was lost, doubled or otherwise wrong."""
        return not (self.lost or self.twice or self.wrong) and self.kills > 0

    def sentence(self) -> str:
        """Return the figures in one sentence."""
        return (
            f"{'':<4}{self.kills} SIGKILLs, {self.acknowledged} inputs acknowledged: "
            f"{self.lost} lost, {self.twice} applied twice; "
            f"{self.sealed} kills over sealed orders, {self.running} over a running clock, "
            f"{self.given_back_s:.2f} s given back at most; "
            f"{len(self.wrong)} wrong  {'ok' if self.is_good else 'NOT GOOD ENOUGH'}"
        )


def bench_kills(kills: int = KILLS) -> bool:
    """Kill the services `kills` times in all. Return whether every bar is kept."""
    kills_each = -(-kills // TABLES)  # rounded up
    with ThreadPoolExecutor(TABLES) as pool:
        reports = list(pool.map(lambda seed: _kill_table(kills_each, seed), range(TABLES)))
    good = RESUMED_BAR.judge([time_s for report in reports for time_s in report.resumed_s])
    for report in reports:
        print(report.sentence(), *report.wrong[:10], sep="\n        ", flush=True)
        good &= report.is_good
    return good


def _kill_table(kills: int, seed: int) -> KillReport:
    with tempfile.TemporaryDirectory() as folder:
        return KilledTable(Path(folder), Random(seed)).run(kills)


# ---- people --------------------------------------------------------------------------------------


@dataclass
class PhoneRecord:
    """The inputs that one phone has sent, and the answers to them."""

    acknowledged: Counter[Key] = field(default_factory=Counter)
    """How often each input was acknowledged."""
    unknown: Counter[Key] = field(default_factory=Counter)
    """How often each input was sent without being acknowledged or refused, so that it may be in the
    journal or not."""
    unanswered: tuple[str, dict[str, Any], Key] | None = None
    """Path, body and key of the request that was cut off. It is sent again after the restart."""


class Tapper:
    """A person who taps whatever is possible on a phone, as fast as the table answers."""

    def __init__(self, url: str, seat: Seat, rng: Random) -> None:
        self.seat = seat
        self.phone = Phone(url, seat)
        self.record = PhoneRecord()
        self._rng = rng

    def play(self, stop: threading.Event) -> None:
        """Tap until the service is gone, or until `stop` is set."""
        while not stop.is_set():
            try:
                view = self.phone.get("view")
            except (*LOST_SERVICE, Stuck):
                return
            if not self._tap(view):
                return
            stop.wait(self._rng.uniform(0.0, 0.02))

    def send_again(self) -> None:
        """Repeat the request that got no answer, as a phone does."""
        if self.record.unanswered:
            path, body, key = self.record.unanswered
            self.record.unanswered = None
            self.send(path, body, key)

    def send(self, path: str, body: dict[str, Any], key: Key) -> bool:
        """Send an input, and note whether it is acknowledged.

        Return False if no answer tells whether the service has accepted the input. It is then kept
        for `send_again`.
        """
        try:
            answer = self.phone.post(path, body)
        except Stuck as refusal:
            # A refused input is not in the journal. Only the answer "late" does not tell: the table
            # was too busy to answer in time, but may still accept the input.
            if '"late"' not in refusal.message:
                return True
        except LOST_SERVICE:
            pass  # the service went away, perhaps after it had written the input
        else:
            # An empty receipt is no acknowledgement: the press still waits for the camera.
            if answer.get("receipt") == "":
                self.record.unknown[key] += 1
                return True
            self.record.acknowledged[key] += 1
            return True
        self.record.unknown[key] += 1
        self.record.unanswered = (path, body, key)
        return False

    def _tap(self, view: dict[str, Any]) -> bool:
        """Do one thing that is possible in this view. Return False as `send` does."""
        place = {"moment": view["moment"], "stage": view["stage"], "force": True}
        me = str(self.seat)
        match view["phase"]:
            case "lobby" | "over":
                # South begins a game, with sealed orders or with a clock
                if me != "south":
                    return True
                game = self._rng.choice(({"game": "outbuffered"}, {"game": "binmat", "preset": 1}))
                return self.send("start", game, ("start",))
            case "setup":
                return self.send("confirm", place, ("begin", view["moment"].partition(".")[0]))
            case "stages":
                return self.send("confirm", place, ("stage", view["moment"], str(view["stage"])))
        if self._rng.random() < RESIGN_PROBABILITY:
            return self.send("resign", {}, ("resign", me, view["moment"].partition(".")[0]))
        return self._press_clock(view) if view["clock"] else self._order(view)

    def _press_clock(self, view: dict[str, Any]) -> bool:
        """Let a stopped clock run, or end one's own turn (in notation: a full stop)."""
        me, moment = str(self.seat), view["moment"]
        if view["clock"]["paused"]:
            return self.send("resume", {}, ("resume", me, moment.partition(".")[0]))
        if not view["seats"][me]["awaited"]:
            return True
        return self._hand_in(moment, ".")

    def _order(self, view: dict[str, Any]) -> bool:
        """Hand in orders, take them back, or wait."""
        me, moment = str(self.seat), view["moment"]
        if view["sealed"][me]:
            if self._rng.random() < 0.7:
                return True
            return self.send("take-back", {"moment": moment}, ("take-back", me, moment))
        if self._rng.random() < WAIT_PROBABILITY[self.seat]:
            return True
        return self._hand_in(moment, "".join(self._rng.choices("UDLRIS", k=3)))

    def _hand_in(self, moment: str, action: str) -> bool:
        salt = f"{self._rng.getrandbits(128):032x}"
        return self.send(
            "hand-in", {"moment": moment, "action": action, "salt": salt}, ("hand-in", salt)
        )


# ---- what the journal holds ----------------------------------------------------------------------

# Kinds of input that the table may accept only once with the same key, whoever sends them.
_ONCE_ONLY = ("hand-in", "begin", "stage", "resign", "new game")


def keys_of(journal: Journal) -> Counter[Key]:
    """Count the inputs of a journal by the keys that `Tapper` gives them."""
    counts: Counter[Key] = Counter()
    for entry in journal.entries():
        record, game = entry.record, str(entry.game)
        match record:
            case HandIn() if record.salt:
                counts["hand-in", record.salt] += 1
            case TakeBack():
                counts["take-back", str(record.seat), record.moment] += 1
            case StageDone():
                counts["stage", record.moment, str(record.stage)] += 1
            case Resume() if record.by in SEATS:
                counts["resume", record.by, game] += 1
            case Resign():
                counts["resign", str(record.seat), game] += 1
            case Begin():
                counts["begin", game] += 1
            case NewGame():
                counts["new game", game] += 1
                # a phone that starts a game does not know its number
                counts["start",] += 1
    return counts


class KilledTable:
    """A service that is killed and restarted on the same files, and the two people who play."""

    def __init__(self, folder: Path, rng: Random) -> None:
        self._folder = folder
        self._rng = rng
        self._port = free_port()
        url = f"http://127.0.0.1:{self._port}"
        self.people = [Tapper(url, seat, Random(rng.random())) for seat in SEATS]
        self.report = KillReport()

    def run(self, kills: int) -> KillReport:
        """Play, kill and compare `kills` times. Return the results."""
        process = ServerProcess(play_command(self._folder, SETTINGS), self._folder, self._port)
        try:
            process.wait_for_page()  # not timed: the first start compiles everything
            for person in self.people:
                person.phone.post("take", {"name": "Bench"})
            for _ in range(kills):
                session, killed_at_s = self._play_and_kill(process)
                process.start()
                self.report.resumed_s.append(process.wait_for_page())
                self._compare_with_pages(process, session, killed_at_s)
                for person in self.people:
                    person.send_again()
        finally:
            process.kill()
        self.report.acknowledged = sum(person.record.acknowledged.total() for person in self.people)
        return self.report

    def _play_and_kill(self, process: ServerProcess) -> tuple[Session, float]:
        """Let both people tap for a random time, kill the service, and check the journal.

        Return the session of the table as the journal restores it, and the moment of the kill in
        monotonic seconds.
        """
        stop = threading.Event()
        threads = [threading.Thread(target=person.play, args=(stop,)) for person in self.people]
        for thread in threads:
            thread.start()
        time.sleep(self._rng.uniform(0.0, MAX_PLAY_S))

        killed_at_s = time.monotonic()
        process.kill()
        stop.set()
        for thread in threads:
            thread.join()
        self.report.kills += 1

        with Journal(self._folder / "journal.sqlite", read_only=True) as journal:
            self.compare_with_journal(keys_of(journal))
            session = journal.restore()
            if journal.notice:
                self.report.wrong.append(journal.notice)
        return session, killed_at_s

    def compare_with_journal(self, in_journal: Counter[Key]) -> None:
        """Count the acknowledged inputs that the journal lacks, and those that it has too often.

        An input without an answer may be there or not. Inputs of the kinds `_ONCE_ONLY` may be
        there once even if no phone has sent them with this key: phones do not know the number of a
        new game.
        """
        acknowledged = sum((person.record.acknowledged for person in self.people), Counter[Key]())
        unknown = sum((person.record.unknown for person in self.people), Counter[Key]())
        self.report.lost = (acknowledged - in_journal).total()
        allowed = acknowledged + unknown
        for key in in_journal:
            if key[0] in _ONCE_ONLY:  # the first part of a key is its kind
                allowed[key] = 1
        too_often = in_journal - allowed
        # the key of a start does not say which game it began, so games are counted by "new game"
        too_often.pop(("start",), None)
        self.report.twice = too_often.total()

    def _compare_with_pages(
        self, process: ServerProcess, before: Session, killed_at_s: float
    ) -> None:
        """Compare what the pages say after a restart with the table at the kill."""
        views = {person.seat: person.phone.get("view") for person in self.people}
        view, wrong = views[Seat.SOUTH], self.report.wrong
        # after a finished game, the restarted table is in the lobby
        was_on = before.phase is not Phase.OVER
        if (
            before.game_number
            and was_on
            and view["moment"].partition(".")[0] != str(before.game_number)
        ):
            wrong.append(f"game {before.game_number} came back as {view['moment']}")
        if any(seat["name"] is None for seat in view["seats"].values()):
            wrong.append("a seat lost its player")
        if view["moment"] == before.moment:
            self._check_clock(before, view["clock"], killed_at_s)
            if before.sealed and before.phase is Phase.ORDERS:
                self._check_sealed(process, before, views)

    def _check_clock(self, before: Session, clock: dict[str, Any], killed_at_s: float) -> None:
        """Check that a clock that ran at the kill is stopped, and shows the time that it had then.

        It may show more time, up to the interval at which the journal notes the clock.
        """
        countdown = before.countdown
        if (
            not clock
            or countdown is None
            or countdown.started_at_s is None
            or countdown.due_s is None
        ):
            return
        self.report.running += 1
        given_back_s = clock["left_s"] - max(0.0, countdown.due_s - killed_at_s)
        self.report.given_back_s = max(self.report.given_back_s, given_back_s)
        is_right = -_CLOCK_SLACK_S <= given_back_s <= CLOCK_NOTE_INTERVAL_S + _CLOCK_SLACK_S
        if clock["paused"] != "restart" or not is_right:
            fault = f"the clock came back as {clock}, {given_back_s:.2f} s more than at the kill"
            self.report.wrong.append(fault)

    def _check_sealed(
        self, process: ServerProcess, before: Session, views: dict[Seat, dict[str, Any]]
    ) -> None:
        """Check that sealed orders came back, and are in no page, answer or log."""
        self.report.sealed += 1
        pages = [process.get(path) or b"" for path in ("/api/view", "/", "/watch", "/health")]
        texts = [json.dumps(views).encode(), *pages, process.log.read_bytes()]
        for seat, sealed in before.sealed.items():
            own = views[seat]
            receipt = receipt_of(before.moment, seat, sealed.action, sealed.salt)
            if own["sealed"][seat] != receipt:
                self.report.wrong.append(
                    f"the order of {seat} at {before.moment} did not come back"
                )
            if any(sealed.salt.encode() in text for text in texts) or any(
                opened["moment"] == before.moment for opened in own["opened"]
            ):
                self.report.wrong.append(f"the order of {seat} at {before.moment} was revealed")
