"""Helpers: read everything that a table sends to anybody but South.

Tests of secrets search these pages, streams and refusals for what South has entered, or compare
what two tables send that differ only in South's secret.
"""

from __future__ import annotations

import http.client
from collections.abc import Sequence

from service import Client

from companion.core.kit import SEATS, Seat
from companion.service.app import Companion

PUBLIC_PATHS = (
    "/", "/watch", "/join", "/join/south", "/host", "/rules/outbuffered", "/api/view", "/health",
    "/workbench", "/workbench/state", "/seat/south", "/api/seat/south/view",
    "/api/seat/south/mine", "/nowhere", "/history", "/history/1", "/history/1/scene/0",
    "/history/1.webp", "/api/history", "/pass", "/api/photographs", "/api/photograph/1/1.0",
    "/host/health", "/api/doctor", "/host/health/bundle.zip",
)  # fmt: skip
NORTH_PATHS = ("/seat/north", "/api/seat/north/view")
STREAM_PATHS = (
    "/live/table",
    "/live/watch",
    "/live/seat/north",
    "/live/host",
    "/workbench/live",
    "/live/health",
    "/live/pass",
    "/live/table?voice",
)


def first_event(url: str, path: str, cookies: str) -> bytes:
    """Return the first event of a stream, which has the whole changing part of the page.

    If the stream is refused, return the status of the refusal.
    """
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", path, headers={"Cookie": cookies})
    answer = connection.getresponse()
    lines = []
    while line := answer.readline():
        lines.append(line)
        if line == b"\n" and any(earlier.startswith(b"data:") for earlier in lines):
            break
    answer.close()
    connection.close()
    return b"".join(lines) or str(answer.status).encode()


class Outsiders:
    """Clients of everybody but South: the public, and North with its cookie.

    Before that, phones take `seats`. South's client is `south`.
    """

    def __init__(self, companion: Companion, seats: Sequence[Seat] = SEATS) -> None:
        self.url = f"http://127.0.0.1:{companion.server.port}"
        self.south = Client(self.url)
        self.north = Client(self.url)
        self.public = Client(self.url)
        if Seat.SOUTH in seats:
            self.south.post("/api/seat/south/take", name="Mara")
        if Seat.NORTH in seats:
            self.north.post("/api/seat/north/take", name="Jonas")

    def all_answers(self) -> list[tuple[str, bytes]]:
        """Return the path and the whole answer of every page, view, stream and refused request."""
        answers = []
        for client, paths in (
            (self.public, PUBLIC_PATHS),
            (self.north, (*PUBLIC_PATHS, *NORTH_PATHS)),
        ):
            for path in paths:
                status, body, headers = client.send(path)
                # the date and new cookies differ in every answer, whatever South has entered
                stable_headers = {
                    name: value
                    for name, value in headers.items()
                    if name not in ("Date", "Set-Cookie")
                }
                answers.append((path, f"{status} {sorted(stable_headers.items())}".encode() + body))
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.north.jar)
        answers += [(path, first_event(self.url, path, cookies)) for path in STREAM_PATHS]
        refused_requests = (
            ("/api/seat/south/hand-in", b'{"moment": "1.1", "action": "UUU", "salt": "aa"}'),
            ("/api/seat/south/take-back", b'{"moment": "1.1"}'),
            ("/api/seat/south/mine", b"{}"),
            ("/api/seat/south/plan", b'{"moment": "1.1", "entered": "U"}'),
            ("/api/seat/north/confirm", b'{"moment": "1.1", "stage": 0, "force": true}'),
            ("/api/host/undo", b"{}"),
        )
        for path, body in refused_requests:
            status, answer, _ = self.north.send(path, body, {"Content-Type": "application/json"})
            answers.append((f"POST {path}", f"{status} ".encode() + answer))
        return answers
