"""Streams and the web server: what a page gets, how many there may be, and that everything ends
when it should.
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


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path, viewers=4) as opened:
        yield opened


def test_streams_are_counted_and_give_their_place_back(rig: WebRig) -> None:
    browser = rig.browser()
    held = places(browser, "/live/watch", 4)
    refused = browser.get("/live/watch")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "Too many people are watching" in refused.text
    full = browser.get("/watch", headers={"Accept": "text/html"})
    assert full.status_code == 503
    assert '"refresh" content="' in full.text
    assert "All spectator places are taken" in full.text
    for _ in range(2):  # closing twice gives one place back
        held[0].close()
    held[0] = browser.get("/live/watch", buffered=False)
    assert (held[0].status_code, browser.get("/live/watch").status_code) == (200, 503)
    for answer in held:
        answer.close()


def test_spectators_never_take_the_places_of_the_table(rig: WebRig) -> None:
    south, host, guest = rig.sit("south"), rig.host(), rig.browser()
    held = places(guest, "/live/watch", 4) + places(guest, "/live/table", 4)
    assert guest.get("/live/table").status_code == 503
    held += places(south, "/live/seat/south", 1) + places(host, "/live/host", 1)
    assert {answer.status_code for answer in held} == {200}
    assert b'id="host-foot"' in b"".join(islice(held[-1].response, 2))
    assert guest.get("/live/host").status_code == 403
    for answer in held:
        answer.close()


def test_freeing_a_seat_ends_its_streams_secrets(rig: WebRig) -> None:
    south = rig.sit("south", "Mara")
    assert rig.browser().get("/live/seat/south").status_code == 403
    with south.get("/live/seat/south", buffered=False) as stream:
        chunks = iter(stream.response)
        assert "Menu" in (next(chunks) + next(chunks)).decode()
        rig.table.free_seat(Seat.SOUTH)
        last = next(chunks).decode()
        assert last == 'data: <main id="live" data-go="/join/south"></main>\n\n'


# ---- a real server -------------------------------------------------------------------------------


@pytest.fixture
def server(rig: WebRig) -> Iterator[Server]:
    with open_server(rig.app, "127.0.0.1", 0) as running:
        running.start()
        yield running


def test_a_viewer_who_leaves_frees_the_place(rig: WebRig, server: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("GET", "/live/watch")
    answer = line.getresponse()
    assert rig.app.extensions["streams"].open_count == 1
    answer.close()
    line.close()
    until("the place", lambda: rig.app.extensions["streams"].open_count == 0)


def test_closing_ends_all_streams_and_frees_the_port(rig: WebRig) -> None:
    before = threading.active_count()
    running = open_server(rig.app, "127.0.0.1", 0)
    running.start()
    line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    line.request("GET", "/live/watch")
    stream = line.getresponse()
    running.close()
    running.close()
    stream.read()
    line.close()
    assert threading.active_count() == before
    with socket.create_server(("127.0.0.1", running.port)):
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


def places(browser: FlaskClient, path: str, times: int) -> list[Any]:
    """Streams that are held open."""
    return [browser.get(path, buffered=False) for _ in range(times)]
