"""A tournament while its hub is killed: tables play the rounds and tell their results, the director pairs and corrects.

The hub and its NATS are SIGKILLed at random moments. Held against each other in the end: what the director was
answered, the tournament and its log in the hub's file, and what the journals of the tables hold.
"""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from companion.core.errors import CompanionError
from companion.core.kit import SEATS
from companion.core.network import host_key_text
from companion.hub.joining import join
from companion.hub_server.folder import HubFolder
from companion.hub_server.league_file import LeagueFile
from companion.league.pairing import opponents
from companion.league.tournament import Tournament
from companion.league.tournament_keeper import DIRECTOR
from companion.table.session import Phase
from companion.tools.bench.hub import BenchTable, HubProcess, results_told

PEOPLE, TABLES, ROUNDS = 16, 4, 6
GAME = "outbuffered"
HUB_KILLS, NATS_SHARE = 30, 5
PAUSE_S = (0.2, 1.5)
CORRECTED, OPEN_TOO = 0.5, 0.02
"""How often the director corrects a result while the round is on, and enters that of a board that is open."""
_WAIT_S = 300.0
_ANSWER_S = 20.0


class Director:
    """Whoever directs, by the hub's JSON doors; `told` counts what was acknowledged, `unknown` what nobody knows."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self._key = host_key_text(HubFolder(hub.folder).now.host_key)
        self.told: Counter[tuple[str, str]] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()

    def ask(self, path: str, given: dict[str, str] | None = None) -> Any:
        """What the hub answers; None where it refuses or is not there."""
        line = http.client.HTTPConnection("127.0.0.1", self._hub.port, timeout=_ANSWER_S)
        try:
            body = None if given is None else json.dumps({"given": given}).encode()
            headers = {"Content-Type": "application/json", "X-Host-Key": self._key}
            line.request("GET" if given is None else "POST", path, body, headers)
            answer = line.getresponse()
            told = json.loads(answer.read())
            return told if answer.status == 200 else None
        finally:
            line.close()

    def look(self) -> Any:
        """The tournament; None while the hub is gone."""
        try:
            return self.ask("/tournament/1.json")
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def act(self, what: str, about: str = "", **given: str) -> bool:
        """Do something once; answers whether it was acknowledged."""
        try:
            told = self.ask("/api/hub/tournament/1", {"do": what, **given})
        except (OSError, http.client.HTTPException, ValueError):
            self.unknown[what, about] += 1
            return False
        self.told[what, about] += told is not None
        return told is not None


def bench_cup(hub_kills: int = HUB_KILLS) -> bool:
    """Play it and print what was found; answers whether nothing was lost, doubled or wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), Random(3)
        hub = HubProcess(folder / "hub")
        tables = [
            BenchTable(folder / f"table-{n}", join(f"127.0.0.1:{hub.port}", hub.code, f"T{n}", names=False), seed=n)
            for n in range(TABLES)
        ]
        try:
            director = Director(hub)
            wish = {"name": "Cup", "system": "swiss", "game": GAME, "rounds": str(ROUNDS), "minutes": "0"}
            director.ask("/api/hub/tournaments", wish)
            for person in range(PEOPLE):
                director.act("enter", people=f"Name{person + 1}")
            for table in tables:
                table.table.start()
            with _playing(tables), _killing(hub, rng, hub_kills) as killed:
                is_over = _direct(director, rng, killed)
            found = _held_together(hub, tables, director) if is_over else ["it did not come to its end"]
            games = sum(len(results_told(table)) for table in tables)
        finally:
            for table in tables:
                table.close()
            hub.kill()
    for what in found[:10]:
        print(f"{'':<4}{what}", flush=True)
    print(
        f"hub: a tournament of {PEOPLE} people and {ROUNDS} rounds at {TABLES} tables, {killed[0]} SIGKILLs of the hub "
        f"and {killed[1]} of NATS: {director.told.total()} acts of the director acknowledged, "
        f"{director.unknown.total()} cut off; {games} results of games; "
        f"{len(found)} lost, doubled or wrong  {'ok' if not found else 'NOT GOOD'}",
        flush=True,
    )
    return not found


def _direct(director: Director, rng: Random, killed: list[int]) -> bool:
    """Pair round after round, correct boards and let somebody go; answers whether the tournament was ended."""
    end_s = time.monotonic() + _WAIT_S + 10.0 * HUB_KILLS
    has_withdrawn = False
    while time.monotonic() < end_s:
        time.sleep(0.05)
        told = director.look()
        if told is None:
            continue
        if told["over"]:
            return True
        boards = told["round"]["boards"] if told["round"] else []
        if any(board["verdict"] is None for board in boards):
            ended = [board for board in boards if board["verdict"] or rng.random() < OPEN_TOO]
            if ended and rng.random() < CORRECTED:
                board = rng.choice(ended)
                verdict = rng.choice(("south", "north", "draw", "south_by_default"))
                place = ".".join(str(int(part) - 1) for part in board["board"].split("."))
                director.act("decide", f"{place} {verdict}", place=place, verdict=verdict)
        elif told["paired"] < ROUNDS:
            if told["paired"] == 2 and not has_withdrawn:
                has_withdrawn = director.act("withdraw", "1", entrant="1")
            director.act("pair")
        elif not killed[2]:  # it goes on until everything has been killed as often as was asked for
            director.act("end")
    return False


@contextmanager
def _playing(tables: list[BenchTable]) -> Iterator[None]:
    """Every table plays the round's game as soon as one is paired there; somebody gives up after a turn or two."""
    over = threading.Event()

    def play(table: BenchTable, rng: Random) -> None:
        while not over.wait(rng.uniform(0.05, 0.3)):
            view = table.table.view()
            try:
                if view.phase in (Phase.LOBBY, Phase.OVER):
                    if view.match.round:
                        table.table.rounds.begin()
                    continue
                table.step()
                if rng.random() < 0.5:
                    table.table.resign(rng.choice(SEATS))
            except CompanionError:
                continue  # the round has gone meanwhile

    players = [threading.Thread(target=play, args=(table, Random(n))) for n, table in enumerate(tables)]
    for player in players:
        player.start()
    try:
        yield
    finally:
        over.set()
        for player in players:
            player.join()


@contextmanager
def _killing(hub: HubProcess, rng: Random, kills: int) -> Iterator[list[int]]:
    """Kill the hub so often, and its NATS; what is yielded counts both, and whether there is more to come."""
    over, killed = threading.Event(), [0, 0, 1]

    def kill() -> None:
        while killed[0] < kills and not over.wait(rng.uniform(*PAUSE_S)):
            if killed[1] * NATS_SHARE < killed[0]:
                hub.kill_nats()
                killed[1] += 1
            else:
                hub.kill()
                hub.start()
                killed[0] += 1
        killed[2] = 0

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


# ---- what was found --------------------------------------------------------------------------------------------------


def _held_together(hub: HubProcess, tables: list[BenchTable], director: Director) -> list[str]:
    """Whatever is lost, doubled or wrong, in words."""
    wanted = sorted(each for table in tables for each in results_told(table))
    found: list[tuple[str, str]] = []
    end_s = time.monotonic() + _WAIT_S
    while sorted(found) != wanted and time.monotonic() < end_s:
        time.sleep(1)
        file = LeagueFile(hub.folder)
        found = [(kept.result.key, str(kept.result.winner)) for kept in file.results(100_000)]
        file.close()
    wrong = [f"{len(wanted)} results of games, {len(found)} at the hub"] if sorted(found) != wanted else []
    file = LeagueFile(hub.folder)
    (tournament,) = file.read().tournaments
    log = [line for line in file.log(1) if line.who == DIRECTOR]
    file.close()
    kept = Counter((line.what, _about(line)) for line in log)
    for what, times in (director.told | director.unknown).items():
        told, unknown = director.told[what], director.unknown[what]
        if not told <= kept[what] <= told + unknown:
            wrong.append(f"{what}: acknowledged {told}, cut off {unknown}, in the log {kept[what]} of {times}")
    return wrong + _unsound(tournament, {key for key, _ in wanted})


def _about(line: Any) -> str:
    match line.what:
        case "decide":
            return f"{'.'.join(map(str, line.place))} {line.after}"
        case "withdraw":
            return str(line.entrant)
    return ""


def _unsound(tournament: Tournament, games: set[str]) -> list[str]:
    """What must never be there: a rematch, a second bye, a game that counts twice or that nobody has played."""
    wrong = []
    if len(tournament.rounds) != ROUNDS or not all(each.is_decided for each in tournament.rounds):
        wrong.append(f"{len(tournament.rounds)} rounds of {ROUNDS}, or boards are open")
    keys = [board.key for each in tournament.rounds for m in each.matches for board in m.boards if board.key]
    wrong += [f"the game {key} counts for two boards" for key, times in Counter(keys).items() if times > 1]
    wrong += [f"nobody has played the game {key}" for key in keys if key not in games]
    for entrant in tournament.entrants:
        met = Counter(opponents(tournament, entrant.number))
        byes = sum(match.north is None and match.halves == 2 for match in tournament.matches(entrant.number))
        if any(times > 1 for times in met.values()) or byes > 1:
            wrong.append(f"entry {entrant.number} has a rematch or a second bye")
    return wrong
