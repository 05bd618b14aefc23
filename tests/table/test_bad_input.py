"""What people, phones and strangers send wrongly over HTTP: a clear word each time, nothing changed, nothing told.

Other doors have their lists where they live: settings in `test_config`, command line, ports, journals and cameras in
`test_service`, a full disk and a damaged journal in `test_table`, pins in `test_panel`, the engine in `test_engine`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from unicodedata import normalize

import pytest
from service import Client
from table_tools import Played

from companion.core.clock import FakeClock
from companion.core.config import Settings, WebSettings
from companion.core.errors import Malformed
from companion.core.kit import Seat
from companion.service.app import Companion

SECRET = "RLI"
SALT = "5a17" * 8
JSON = {"Content-Type": "application/json"}


def order(moment: str = "1.1", action: object = "DDD", salt: str = "00") -> bytes:
    return json.dumps({"moment": moment, "action": action, "salt": salt}).encode()


HAND_IN = "/api/seat/north/hand-in"
CASES: dict[str, tuple[str, bytes | None, dict[str, str], int, str]] = {
    "too short": (HAND_IN, order(action="UU"), JSON, 400, "exactly three of"),
    "not JSON": (HAND_IN, b"{action:", JSON, 400, ""),
    "not text": (HAND_IN, b'{"moment": "\xff\xfe"}', JSON, 400, ""),
    "deeply nested": (HAND_IN, b'{"moment":' + b"[" * 4000 + b"]" * 4000 + b"}", JSON, 400, ""),
    "an unknown field": (
        HAND_IN,
        b'{"moment": "1.1", "action": "DDD", "salt": "0", "x": 1}',
        JSON,
        400,
        "unknown field `x`",
    ),
    "a bad salt": (HAND_IN, order(salt="no spaces"), JSON, 400, "salt"),
    "a stale page": (HAND_IN, order(moment="1.0"), JSON, 409, "turn that is over"),
    "the other seat": ("/api/seat/south/hand-in", order(), JSON, 403, "seat"),
    "the other's view": ("/api/seat/south/view", None, {}, 403, "seat"),
    "plain text": (HAND_IN, order(), {"Content-Type": "text/plain"}, 415, ""),
    "an oversize body": (HAND_IN, b"x" * 20_000, JSON, 413, ""),
    "nothing to take back": (
        "/api/seat/north/take-back",
        b'{"moment": "1.1"}',
        JSON,
        409,
        "nothing to take back",
    ),
    "a taken seat": ("/api/seat/south/take", b'{"name": "Eve"}', JSON, 409, "South is taken"),
    "a negative step": (
        "/api/seat/north/confirm",
        b'{"moment": "1.1", "stage": -1, "force": true}',
        JSON,
        409,
        "",
    ),
    "a game while one is on": (
        "/api/seat/north/start",
        b'{"game": "outbuffered"}',
        JSON,
        409,
        "A game is on",
    ),
    "the host's word without the key": ("/api/host/undo", b"{}", JSON, 403, "host"),
    "a wrong host key": ("/api/host/abandon", b"{}", JSON | {"X-Host-Key": "aaaaa-aaaaa"}, 403, ""),
    "no such page": ("/nowhere", None, {}, 404, "table screen"),
    "the wrong method": ("/api/view", b"{}", JSON, 405, ""),
}


class Room:
    """A game in its first turn: South has sealed an order, North is asked, the camera sees the board."""

    def __init__(self, companion: Companion) -> None:
        self.companion = companion
        url = f"http://127.0.0.1:{companion.server.port}"
        self.south, self.north = Client(url), Client(url)
        self.south.post("/api/seat/south/take", name="Mara")
        self.north.post("/api/seat/north/take", name="Jonas")
        companion.table.new_game("outbuffered", seed=1)
        companion.table.confirm("host", companion.table.view().moment, 0, force=True)
        self.south.post("/api/seat/south/hand-in", moment="1.1", action=SECRET, salt=SALT)

    def state(self) -> tuple[object, ...]:
        """Everything that a wrong input must leave alone."""
        view, own = self.north.get("/api/view"), self.companion.table.view(Seat.SOUTH)
        return (
            {key: value for key, value in view.items() if key != "version"},
            own.own.sealed,
            own.sign,
        )


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    settings = Settings(
        state_dir=str(tmp_path_factory.mktemp("room")), web=WebSettings(host="127.0.0.1", port=0)
    )
    with Companion(settings, simulate=True, clock=FakeClock(), threads=False) as companion:
        yield Room(companion)


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_clearly(room: Room, name: str) -> None:
    path, body, headers, status, words = CASES[name]
    before = room.state()
    got, answer, told = room.north.send(path, body, headers)
    text = answer.decode()
    assert got == status, text
    assert words in text
    assert text, "a refusal says something"
    for forbidden in ("Traceback", SECRET, SALT):
        assert forbidden not in text + str(told)
    assert room.state() == before
    assert room.north.get("/health")["ok"] is True


@pytest.mark.parametrize("name", ["x" * 25, "Ann\x07", "one\ntwo", "\u202eAnn"])
def test_a_name_that_cannot_be_shown_is_refused(played: Played, name: str) -> None:
    played.table.free_seat(Seat.SOUTH)
    with pytest.raises(Malformed, match="at most 24 printable characters"):
        played.table.take_seat(Seat.SOUTH, name)
    assert played.view.seats[Seat.SOUTH].name is None


@pytest.mark.parametrize("name", ["\U0001f469\u200d\U0001f680 Mara", "W" * 24, "a\u0301\u0323"])
def test_a_name_of_any_script_is_taken(played: Played, name: str) -> None:
    played.table.free_seat(Seat.SOUTH)
    played.table.take_seat(Seat.SOUTH, name)
    assert played.view.seats[Seat.SOUTH].name == normalize("NFC", name)
