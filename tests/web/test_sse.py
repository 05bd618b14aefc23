"""Streams and the web server: what a page gets, how many there may be, and that everything ends when it should."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_fixtures import HOST_KEY, Place, open_place

from companion.core.kit import Seat
from web.server.server import PortInUse, Server, serve
from web.server.sse import message


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path, viewers=4) as opened:
        yield opened


def test_a_message_keeps_its_lines() -> None:
    assert message("<p>\n\n</p>") == "data: <p>\ndata: </p>\n\n"
    assert message("{}", "world") == "event: world\ndata: {}\n\n"


def test_a_stream_begins_with_everything_and_then_follows(place: Place) -> None:
    with place.browser().get("/live/watch", buffered=False) as stream:
        assert (stream.mimetype, stream.headers["Cache-Control"]) == (
            "text/event-stream",
            "no-store",
        )
        chunks = iter(stream.response)
        assert next(chunks) == b"retry: 1000\n\n"
        assert "No game is on yet" in next(chunks).decode()
        place.sit("south", "Mara")
        assert "Mara" in next(chunks).decode()


def test_streams_are_counted_and_give_their_place_back(place: Place) -> None:
    browser = place.browser()
    held = [browser.get("/live/watch", buffered=False) for _ in range(4)]
    refused = browser.get("/live/watch")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "Too many people are watching" in refused.get_data(as_text=True)
    held.pop().close()
    held[0].close()
    held[0].close()
    for _ in range(9):
        with browser.head("/live/watch") as answer:
            assert answer.status_code == 200
    more = [browser.get("/live/watch", buffered=False) for _ in range(2)]
    assert [answer.status_code for answer in more] == [200, 200]
    assert browser.get("/live/watch").status_code == 503
    for answer in (*held[1:], *more):
        answer.close()


def test_spectators_never_take_the_places_of_the_table(place: Place) -> None:
    south, host, guest = place.sit("south"), place.browser(), place.browser()
    host.post("/host", data={"key": HOST_KEY})
    held = [guest.get("/live/watch", buffered=False) for _ in range(4)]
    assert guest.get("/live/watch").status_code == 503
    kept = [(south, "/live/seat/south", 12), (guest, "/live/table", 4)]
    for browser, path, places in kept:
        held += [browser.get(path, buffered=False) for _ in range(places)]
        assert {answer.status_code for answer in held} == {200}, path
        assert browser.get(path).status_code == 503
    held.pop(4).close()
    with host.get("/live/host", buffered=False) as answer:
        assert answer.status_code == 200
    for answer in held:
        answer.close()


def test_who_comes_too_late_to_watch_gets_a_page_that_tries_again(place: Place) -> None:
    guest = place.browser()
    held = [guest.get("/live/watch", buffered=False) for _ in range(4)]
    full = guest.get("/watch")
    assert full.status_code == 503
    assert f'"refresh" content="{full.headers["Retry-After"]}"' in full.text
    assert "All spectator places are taken" in full.text
    assert "4 people are watching already" in full.text
    led = guest.get("/live/watch", headers={"Accept": "text/event-stream"})
    assert 'data-go="/watch"' in led.text, "a page that is open already is led there"
    held.pop().close()
    assert guest.get("/watch").status_code == 200
    for answer in held:
        answer.close()


def test_a_private_stream_ends_its_secrets_when_the_seat_is_freed(place: Place) -> None:
    south = place.sit("south", "Mara")
    assert place.browser().get("/live/seat/south").status_code == 403
    with south.get("/live/seat/south", buffered=False) as stream:
        chunks = iter(stream.response)
        assert "Menu" in (next(chunks) + next(chunks)).decode()
        place.table.free_seat(Seat.SOUTH)
        last = next(chunks).decode()
        assert last == 'data: <main id="live" data-go="/join/south"></main>\n\n'


def test_the_hosts_stream_is_for_the_host(place: Place) -> None:
    browser = place.browser()
    assert browser.get("/live/host").status_code == 403
    browser.post("/host", data={"key": HOST_KEY})
    with browser.get("/live/host", buffered=False) as stream:
        chunks = iter(stream.response)
        assert 'id="host-foot"' in (next(chunks) + next(chunks)).decode()


def test_a_fragment_is_drawn_once_for_every_change(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    real = place.table.view
    monkeypatch.setattr(
        place.table, "view", lambda viewer=None: drawn.append(viewer) or real(viewer)
    )
    browser = place.browser()
    first = browser.get("/watch").get_data()
    assert browser.get("/watch").get_data() == first
    assert drawn == [None]
    place.sit("south", "Mara")
    assert browser.get("/watch").get_data() != first


# ---- a real server -----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(place: Place) -> Iterator[Server]:
    with serve(place.app, "127.0.0.1", 0) as running:
        running.start()
        yield running


def read_event(answer: http.client.HTTPResponse) -> str:
    """The next event of a stream that is not empty."""
    lines = []
    while (line := answer.readline().decode()) not in ("\n", ""):
        lines.append(line)
    return "".join(lines)


def test_pages_and_streams_over_the_network(place: Place, server: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    line.request("GET", "/health")
    assert line.getresponse().read().startswith(b'{"ok":true')
    line.request("GET", "/live/watch")
    stream = line.getresponse()
    assert read_event(stream).startswith("retry:")
    assert "No game is on yet" in read_event(stream)
    place.sit("north", "Jo")
    assert ">Jo<" in read_event(stream)
    stream.close()
    line.close()


def test_a_viewer_who_leaves_frees_the_place(place: Place, server: Server) -> None:
    lines = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=10) for _ in range(4)]
    for line in lines:
        line.request("GET", "/live/watch")
        assert read_event(line.getresponse())
    for line in lines:
        line.close()
    left = threading.Event()
    for _ in range(100):
        late = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        late.request("GET", "/live/watch")
        status = late.getresponse().status
        late.close()
        if status == 200:
            break
        left.wait(0.05)
    assert status == 200


def test_five_hundred_viewers_may_be_allowed(tmp_path: Path) -> None:
    with open_place(tmp_path, viewers=500) as many, serve(many.app, "127.0.0.1", 0) as running:
        running.start()
        line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        line.request("GET", "/health")
        assert line.getresponse().status == 200
        line.close()


def test_closing_ends_all_streams_and_frees_the_port(place: Place) -> None:
    before = threading.active_count()
    running = serve(place.app, "127.0.0.1", 0)
    running.start()
    line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    line.request("GET", "/live/watch")
    stream = line.getresponse()
    read_event(stream)
    running.close()
    running.close()
    stream.read()
    line.close()
    assert threading.active_count() == before
    with socket.create_server(("127.0.0.1", running.port)):
        pass


def test_a_busy_port_is_said_in_one_sentence(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            PortInUse, match=f"Port {port} is in use: choose another one with --port"
        ):
            serve(place.app, "127.0.0.1", port)
    with pytest.raises(PortInUse, match=r"Cannot listen on 203\.0\.113\.1"):
        serve(place.app, "203.0.113.1", 0)


def test_a_server_that_never_started_closes(place: Place) -> None:
    running = serve(place.app, "127.0.0.1", 0)
    running.close()
