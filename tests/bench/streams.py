"""Measure how fast the live pages of a table or a hub show a change, compared with bare Flask.

The smallest possible Flask application, behind the same server (waitress), is called the peer. It
stores an order in SQLite as safely as the table does, and puts 8 kB into a queue of each viewer. It
draws nothing, hides nothing and checks nothing. The program and the peer run at the same time, as
processes of their own, and are measured in turn.
"""

from __future__ import annotations

import contextlib
import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.bars import PHONE_TO_SCREENS_BAR
from bench.processes import LOCAL_ONLY, memory_mb, running_service
from bench.visitors import Viewers, begin_orders, toggle_order
from companion.core.kit import SEATS
from companion.tools.selfplay.people import Phone

# Numbers of viewers with which a table is measured, one after the other, and number of viewers with
# which a hub is measured.
TABLE_VIEWERS = (3, 64)
HUB_VIEWERS = 1000
# Number of events that are measured.
EVENTS = 30
# Pauses before each event of a table and of a hub.
TABLE_PAUSE_S = 0.25
HUB_PAUSE_S = 1.5
# Maximum ratio of our median time to that of the peer, each until the last viewer has an event. The
# ratio may be more than 1, because the peer draws nothing.
MAX_RATIO = 5.0
# Program of the peer. Its arguments are the path of its database and the number of viewers.
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

server = create_server(
    app, host="127.0.0.1", port=0, threads=int(sys.argv[2]) + 16,
    channel_request_lookahead=1, asyncore_use_poll=True, connection_limit=2000,
)
print(server.effective_port, flush=True)
server.run()
"""
# Program of the hub. Its argument is the number of viewers.
HUB = """
import sys
from bench.streams import serve_hub
serve_hub(int(sys.argv[1]))
"""


def serve_hub(viewers: int) -> None:
    """Serve a hub with one table, until standard input ends or the table has no record left.

    For each line on standard input, the hub receives the table's next record and shows it.
    """
    from hub_room import RecordingHost, open_league, played_records  # noqa: PLC0415 - of the child process alone

    from companion.core.clock import RealClock  # noqa: PLC0415
    from companion.core.config import WebSettings  # noqa: PLC0415
    from companion.core.resources import tune_allocator  # noqa: PLC0415
    from web.features import SiteConfig  # noqa: PLC0415
    from web.hub.app import create_hub_app  # noqa: PLC0415
    from web.hub.room import HubRoom, HubTable  # noqa: PLC0415
    from web.server.server import open_server  # noqa: PLC0415

    tune_allocator()
    clock, records = RealClock(), played_records("outbuffered", 99, 1)
    room = HubRoom("Bench", clock)
    room.add(HubTable("id1", 1, "Table"))
    web = WebSettings(host="127.0.0.1", viewers=viewers)
    site = SiteConfig(web, lambda: ("http://127.0.0.1/",), b"k" * 32, "abcde-fghij")
    with tempfile.TemporaryDirectory() as folder, open_league(Path(folder), clock) as league:
        app = create_hub_app(room, league, RecordingHost(), clock, site)
        with open_server(app, "127.0.0.1", 0) as server:
            server.start()
            print(server.port, flush=True)
            for record, _ in zip(records, sys.stdin, strict=False):
                room.receive_record("id1", record)


def _start_program(
    stack: ExitStack, program: str, *arguments: str
) -> tuple[subprocess.Popen[str], int]:
    """Start a Python program, which prints its port first. It is ended when the stack closes.

    Return the process and the port.
    """
    command = [sys.executable, "-c", program, *arguments]
    process = stack.enter_context(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    )
    stack.callback(process.terminate)
    assert process.stdout
    return process, int(process.stdout.readline())


def bench_streams() -> bool:
    """Measure tables and a hub. Return whether every bar is kept."""
    good = True
    for viewers in TABLE_VIEWERS:
        good &= _bench_table(viewers)
    good &= _bench_hub(HUB_VIEWERS)
    return good


def _bench_table(viewers: int) -> bool:
    """Measure from an order on a phone to the screens of all viewers of a table."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = f'{LOCAL_ONLY}viewers = {max(TABLE_VIEWERS)}\n[camera]\nsource = "none"\n'
        service = stack.enter_context(running_service(folder, settings))
        phones = [Phone(f"http://127.0.0.1:{service.port}", seat) for seat in SEATS]
        moment = begin_orders(phones)
        ours = stack.enter_context(Viewers(service.port, ["/live/watch"] * viewers))
        times_ms, is_good = _time_beside_peer(
            stack,
            ours,
            lambda index: toggle_order(phones[1], moment, index),
            viewers,
            TABLE_PAUSE_S,
        )
        print(f"    {viewers} viewers, {memory_mb(service.pid):.0f} MB", flush=True)
    is_good &= PHONE_TO_SCREENS_BAR.judge(times_ms)
    return is_good


def _bench_hub(viewers: int) -> bool:
    """Measure from a record that the hub receives to the screens of all viewers of that table."""
    with ExitStack() as stack:
        hub, port = _start_program(stack, HUB, str(viewers))

        def show_record(_: int) -> None:
            assert hub.stdin
            hub.stdin.write("\n")
            hub.stdin.flush()

        ours = stack.enter_context(Viewers(port, ["/live/watch/1"] * viewers))
        _, is_good = _time_beside_peer(stack, ours, show_record, viewers, HUB_PAUSE_S)
        print(f"    hub, {viewers} viewers, {memory_mb(hub.pid):.0f} MB", flush=True)
    return is_good


def _time_beside_peer(
    stack: ExitStack, ours: Viewers, cause: Callable[[int], None], viewers: int, pause_s: float
) -> tuple[list[float], bool]:
    """Cause events on our server and on the peer in turn, `EVENTS` on each.

    `cause` is called with the index of the event, and causes it on our server. `ours` are the
    `viewers` of our server. The peer is started with as many.

    Return the milliseconds until the last of our viewers had each event, and whether their median
    is at most `MAX_RATIO` times that of the peer.
    """
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    _, port = _start_program(stack, PEER, f"{folder}/peer.sqlite", str(viewers))
    theirs = stack.enter_context(Viewers(port, ["/live"] * viewers))

    def post_order(_: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.closing(connection):
            connection.request("POST", "/order", "UUU")
            connection.getresponse().read()

    own_ms, peer_ms = list[float](), list[float]()
    for index in range(EVENTS):
        for samples_ms, watchers, act in ((own_ms, ours, cause), (peer_ms, theirs, post_order)):
            time.sleep(pause_s)
            began_at_s = time.monotonic()
            act(index)
            samples_ms.append((watchers.wait_for_event(began_at_s) - began_at_s) * 1000)
    own_median_ms, peer_median_ms = statistics.median(own_ms), statistics.median(peer_ms)
    ratio = own_median_ms / peer_median_ms
    is_good = ratio <= MAX_RATIO
    print(
        f"event -> {viewers} screens: the last has it after {own_median_ms:.1f} ms (median), "
        f"bare Flask {peer_median_ms:.1f} ms: {ratio:.1f} x (at most {MAX_RATIO:g})  "
        f"{'ok' if is_good else 'TOO SLOW'}",
        flush=True,
    )
    return own_ms, is_good
