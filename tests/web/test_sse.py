"""Tests of streams, and of the web server that serves them: in process, and over real connections.

They cover the places for streams, how streams end, and how the server starts and closes.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from service import until
from web_fixtures import WebRig, open_web_rig

from companion.core.kit import Seat
from web.server.server import PortInUse, Server, open_server


# A table with four places for spectators.
@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path, viewers=4) as rig:
        yield rig


def test_a_closed_stream_gives_back_its_place(rig: WebRig) -> None:
    # all four places are taken: page and stream say so
    browser = rig.browser()
    streams = open_streams(browser, "/live/watch", 4)
    refused = browser.get("/live/watch")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "Too many people are watching" in refused.text
    page = browser.get("/watch", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert '"refresh" content="' in page.text
    assert "All spectator places are taken" in page.text

    # closing a stream twice gives back only one place
    for _ in range(2):
        streams[0].close()
    streams[0] = browser.get("/live/watch", buffered=False)
    assert (streams[0].status_code, browser.get("/live/watch").status_code) == (200, 503)
    for answer in streams:
        answer.close()


def test_spectators_leave_places_for_seats(rig: WebRig) -> None:
    south = rig.sit("south")
    host = rig.host()
    guest = rig.browser()
    # a guest opens all streams of spectators and table screens that there may be
    streams = open_streams(guest, "/live/watch", 4) + open_streams(guest, "/live/table", 4)
    assert guest.get("/live/table").status_code == 503

    # seat and owner have places of their own
    streams += open_streams(south, "/live/seat/south", 1) + open_streams(host, "/live/host", 1)
    assert {answer.status_code for answer in streams} == {200}
    assert b'id="host-foot"' in b"".join(islice(streams[-1].response, 2))
    assert guest.get("/live/host").status_code == 403
    for answer in streams:
        answer.close()


def test_freeing_a_seat_ends_its_stream(rig: WebRig) -> None:
    """The last fragment of the stream shows nothing, but leads the page to the form for joining."""
    south = rig.sit("south", "Mara")
    assert rig.browser().get("/live/seat/south").status_code == 403
    with south.get("/live/seat/south", buffered=False) as stream:
        chunks = iter(stream.response)
        assert "Menu" in (next(chunks) + next(chunks)).decode()
        rig.table.free_seat(Seat.SOUTH)
        assert next(chunks) == b'data: <main id="live" data-go="/join/south"></main>\n\n'


# ---- real connections ----------------------------------------------------------------------------


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0) as server:
        server.start()
        yield server


def test_a_viewer_who_leaves_frees_a_place(rig: WebRig, server: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("GET", "/live/watch")
    answer = line.getresponse()
    assert rig.app.extensions["streams"].open_count == 1
    answer.close()
    line.close()
    until("the end of the stream", lambda: rig.app.extensions["streams"].open_count == 0)


def test_closing_ends_all_streams_and_frees_the_port(rig: WebRig) -> None:
    thread_count = threading.active_count()
    server = open_server(rig.app, "127.0.0.1", 0)
    server.start()
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("GET", "/live/watch")
    stream = line.getresponse()
    # closing twice is allowed
    server.close()
    server.close()
    # the stream ends, and so do all threads
    stream.read()
    line.close()
    assert threading.active_count() == thread_count
    with socket.create_server(("127.0.0.1", server.port)):
        pass


def test_a_busy_port_is_reported_in_one_sentence(rig: WebRig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            PortInUse, match=f"Port {port} is in use: choose another one with --port"
        ):
            open_server(rig.app, "127.0.0.1", port)
    with pytest.raises(PortInUse, match=r"Cannot listen on 203\.0\.113\.1"):
        open_server(rig.app, "203.0.113.1", 0)


def open_streams(browser: FlaskClient, path: str, count: int) -> list[Any]:
    """Open several streams of one path. Return their answers, for the caller to close."""
    return [browser.get(path, buffered=False) for _ in range(count)]
