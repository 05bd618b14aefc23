"""Pages that follow a table or a hub, beside the smallest Flask application behind the same waitress.

The peer keeps an order in SQLite as safely as the table does and sends 8 kB to a queue of each viewer. It draws
nothing, knows no secrets and checks nothing. Both run as processes of their own, at the same time.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.crowd import Crowd, first_orders
from bench.processes import LOCAL, running_service
from companion.core.kit import Seat
from companion.tools.selfplay import Phone

TABLE_VIEWERS, HUB_VIEWERS = (3, 64), 1000
EVENTS = 40
SPACING_S = 0.25
HUB_SPACING_S = 1.5
MAX_RATIO = 5.0
"""Of the medians until the last viewer has it: the peer draws nothing."""

PEER = r"""
import queue, sqlite3, sys, threading
from flask import Flask, Response, request
from waitress import create_server
viewers, lock, app = [], threading.Lock(), Flask("peer")
db = sqlite3.connect(sys.argv[1], check_same_thread=False, isolation_level=None)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE inputs (data TEXT)")
TEXT = "data: " + "x" * 8000 + "\n\n"

@app.post("/order")
def order():
    with lock:
        db.execute("INSERT INTO inputs VALUES (?)", (request.get_data(as_text=True),))
        for viewer in viewers:
            viewer.put(TEXT)
    return {}

@app.get("/live")
def live():
    own, is_gone = queue.Queue(), request.environ["waitress.client_disconnected"]
    viewers.append(own)
    def body():
        yield TEXT
        while not is_gone():
            try:
                yield own.get(timeout=1)
            except queue.Empty:
                pass
        viewers.remove(own)
    return Response(body(), mimetype="text/event-stream")

server = create_server(app, host="127.0.0.1", port=0, threads=int(sys.argv[2]) + 16, channel_request_lookahead=1,
                       asyncore_use_poll=True, connection_limit=2000)
print(server.effective_port, flush=True)
server.run()
"""
HUB = """
import sys
from bench.streams import serve_hub
serve_hub(int(sys.argv[1]))
"""


def serve_hub(viewers: int) -> None:
    """Serve a hub with one table, which tells its next record for every line on the standard input."""
    from hub_room import NoHub, league_of, played_records  # noqa: PLC0415 - of the child process alone

    from companion.core.clock import RealClock  # noqa: PLC0415
    from companion.core.config import WebSettings  # noqa: PLC0415
    from companion.core.resources import save_memory  # noqa: PLC0415
    from web.hub.app import HubSite, create_hub_app  # noqa: PLC0415
    from web.hub.room import Room, RoomTable  # noqa: PLC0415
    from web.server.server import serve  # noqa: PLC0415

    save_memory()
    clock, records = RealClock(), played_records("outbuffered", 99, 1)
    room = Room("Bench", clock)
    room.put(RoomTable("id1", 1, "Table"))
    web = WebSettings(host="127.0.0.1", viewers=viewers)
    site = HubSite(web, lambda: ("http://127.0.0.1/",), b"k" * 32, "abcde-fghij")
    with tempfile.TemporaryDirectory() as folder, league_of(Path(folder), clock) as league:
        app = create_hub_app(room, league, NoHub(), clock, site)
        with serve(app, "127.0.0.1", 0) as server:
            server.start()
            print(server.port, flush=True)
            for record, _ in zip(records, sys.stdin, strict=False):
                room.record("id1", record)


@contextmanager
def child(program: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a program that prints its port first."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield process, int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(timeout=20)


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1000


def last_screen_ms(
    crowd: Crowd, act: Callable[[int], None], number: int, spacing_s: float
) -> float:
    """Return the milliseconds from an act until the last viewer has it."""
    time.sleep(spacing_s)
    began_s = time.monotonic()
    act(number)
    return (max(crowd.arrivals_since(began_s)) - began_s) * 1000


def bench_streams() -> bool:
    """Measure and print it all, and return whether no ratio is above the bar."""
    good = True
    for viewers in TABLE_VIEWERS:
        good &= _bench_table(viewers)
    return _bench_hub(HUB_VIEWERS) and good


def _post(port: int, path: str) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request("POST", path, "UUU")
        line.getresponse().read()


def _bench_table(viewers: int) -> bool:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        settings = f'{LOCAL}viewers = {max(TABLE_VIEWERS)}\n[camera]\nsource = "none"\n'
        service = stack.enter_context(running_service(Path(folder), settings))
        service.until("/", b"</html>")
        peer, peer_port = stack.enter_context(child(PEER, f"{folder}/peer.sqlite", str(viewers)))
        phones = [Phone(f"http://127.0.0.1:{service.port}", seat) for seat in Seat]
        for phone in phones:
            phone.post("take", {"name": "Bench"})
        moment = first_orders(phones)
        ours, theirs = Crowd(service.port, viewers), Crowd(peer_port, viewers, path="/live")
        for crowd in (ours, theirs):
            stack.callback(crowd.close)
            crowd.settle()

        def order(number: int) -> None:
            if number % 2 == 0:
                phones[1].post(
                    "hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"}
                )
            else:
                phones[1].post("take-back", {"moment": moment})

        own_ms, peer_ms = [], []
        for number in range(EVENTS):
            own_ms.append(last_screen_ms(ours, order, number, SPACING_S))
            peer_ms.append(
                last_screen_ms(theirs, lambda _: _post(peer_port, "/order"), number, SPACING_S)
            )
        return _tell(
            f"order -> {viewers} screens", own_ms, peer_ms, service.memory_mb(), memory_mb(peer.pid)
        )


def _bench_hub(viewers: int) -> bool:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        hub, hub_port = stack.enter_context(child(HUB, str(viewers)))
        peer, peer_port = stack.enter_context(child(PEER, f"{folder}/peer.sqlite", str(viewers)))
        ours, theirs = (
            Crowd(hub_port, viewers, path="/live/watch/1"),
            Crowd(peer_port, viewers, path="/live"),
        )
        for crowd in (ours, theirs):
            stack.callback(crowd.close)
            crowd.settle()

        def tell(_: int) -> None:
            assert hub.stdin
            hub.stdin.write("\n")
            hub.stdin.flush()

        own_ms, peer_ms = [], []
        for number in range(EVENTS // 2):
            own_ms.append(last_screen_ms(ours, tell, number, HUB_SPACING_S))
            peer_ms.append(
                last_screen_ms(theirs, lambda _: _post(peer_port, "/order"), number, HUB_SPACING_S)
            )
        return _tell(
            f"hub -> {viewers} screens", own_ms, peer_ms, memory_mb(hub.pid), memory_mb(peer.pid)
        )


def _tell(
    name: str, own_ms: list[float], peer_ms: list[float], own_mb: float, peer_mb: float
) -> bool:
    own, peer = statistics.median(own_ms), statistics.median(peer_ms)
    ratio = own / peer
    verdict = "ok" if ratio <= MAX_RATIO else "TOO SLOW"
    print(
        f"{name:<24} the last has it after {own:7.1f} ms (median; worst {max(own_ms):.0f}), "
        f"bare Flask {peer:7.1f} ms (worst {max(peer_ms):.0f}): {ratio:.1f} x; "
        f"{own_mb:.0f} MB, bare Flask {peer_mb:.0f} MB  {verdict}",
        flush=True,
    )
    return ratio <= MAX_RATIO
