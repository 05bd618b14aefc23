"""Test requests that a table refuses: the answer says why, shows no secret and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from table_tools import TableRig
from web_fixtures import WebRig, open_web_rig

from companion.core.errors import Malformed
from companion.core.kit import Seat

# South's sealed orders and their salt, which no answer may contain.
SECRET = "RLI"
SALT = "5a17" * 8
JSON = {"Content-Type": "application/json"}


def hand_in_body(action: object = "DDD", salt: str = "00") -> bytes:
    return json.dumps({"moment": "1.1", "action": action, "salt": salt}).encode()


HAND_IN = "/api/seat/north/hand-in"
# Requests by name: the path, the body (None for a GET), the headers, then the status of the answer
# and words in it.
CASES: dict[str, tuple[str, bytes | None, dict[str, str], int, str]] = {
    "too short": (HAND_IN, hand_in_body(action="UU"), JSON, 400, "exactly three of"),
    "not JSON": (HAND_IN, b"{action:", JSON, 400, ""),
    "deeply nested": (HAND_IN, b'{"moment":' + b"[" * 4000 + b"]" * 4000 + b"}", JSON, 400, ""),
    "an unknown field": (
        HAND_IN,
        b'{"moment": "1.1", "action": "DDD", "salt": "0", "x": 1}',
        JSON,
        400,
        "unknown field `x`",
    ),
    "a bad salt": (HAND_IN, hand_in_body(salt="no spaces"), JSON, 400, "salt"),
    "the other seat": ("/api/seat/south/hand-in", hand_in_body(), JSON, 403, "seat"),
    "the other's view": ("/api/seat/south/view", None, {}, 403, "seat"),
    "plain text": (HAND_IN, hand_in_body(), {"Content-Type": "text/plain"}, 415, ""),
    "an oversize body": (HAND_IN, b"x" * 20_000, JSON, 413, ""),
    "nothing to take back": (
        "/api/seat/north/take-back",
        b'{"moment": "1.1"}',
        JSON,
        409,
        "nothing to take back",
    ),
    "a taken seat": ("/api/seat/south/take", b'{"name": "Eve"}', JSON, 409, "South is taken"),
    "the host's word without the key": ("/api/host/undo", b"{}", JSON, 403, "host"),
    "no such page": ("/nowhere", None, {}, 404, "table screen"),
    "the wrong method": ("/api/view", b"{}", JSON, 405, ""),
}


@pytest.fixture(scope="module")
def web_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebRig]:
    """A game of Outbuffered in its first turn, in which South has sealed `SECRET`."""
    with open_web_rig(tmp_path_factory.mktemp("place")) as opened:
        opened.table.take_seat(Seat.SOUTH, "Mara")
        opened.table.hand_in(Seat.SOUTH, opened.start_game(), SECRET, SALT)
        yield opened


@pytest.fixture(scope="module")
def north(web_rig: WebRig) -> FlaskClient:
    return web_rig.sit("north", "Jonas")


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_request_is_refused_with_a_reason(
    web_rig: WebRig, north: FlaskClient, name: str
) -> None:
    path, body, headers, status, words = CASES[name]
    view_before = replace(web_rig.table.view(Seat.SOUTH), version=0)

    # The answer has its status and a reason, and nothing of what South has sealed.
    method = "GET" if body is None else "POST"
    answer = north.open(path, method=method, data=body, headers=headers)
    text = answer.get_data(as_text=True)
    assert answer.status_code == status, text
    assert words in text
    assert text
    for forbidden in ("Traceback", SECRET, SALT):
        assert forbidden not in text + str(answer.headers)

    # Nothing has changed at the table.
    assert replace(web_rig.table.view(Seat.SOUTH), version=0) == view_before


# Too long, with a control character, with a line break, and with one that turns text round.
@pytest.mark.parametrize("name", ["x" * 25, "Ann\x07", "one\ntwo", "\u202eAnn"])
def test_a_name_that_cannot_be_shown_is_refused(rig: TableRig, name: str) -> None:
    rig.table.free_seat(Seat.SOUTH)
    with pytest.raises(Malformed, match="at most 24 printable characters"):
        rig.table.take_seat(Seat.SOUTH, name)
    assert rig.view.seats[Seat.SOUTH].name is None
