"""The bench of kills notices what a view tells of a sealed order, in whatever way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.kills import tells
from table_tools import both_seats, playing

from companion.core.kit import Seat
from companion.storage.journal import Journal
from web.rendering.json_view import plain_view

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH


@pytest.mark.parametrize("viewer", [NORTH, None])
def test_it_sees_what_a_page_tells_of_a_sealed_order(viewer: Seat | None, tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        both_seats(played)
        played.begin()
        played.turn("UUS", "DDL")
        played.finish_stages()
        played.table.hand_in(SOUTH, played.table.view().moment, "UDS")

    def told(played_on: Path) -> dict[str, Any]:
        with playing(played_on) as after:
            seen: dict[str, Any] = json.loads(
                json.dumps(plain_view(after.table.view(viewer)), default=str)
            )
            return seen

    with Journal(tmp_path / "journal.sqlite", read_only=True) as journal:
        session = journal.restore()
    view = told(tmp_path)
    assert not tells(view, session, SOUTH, viewer)
    for betrayed in (
        {"orders": [{"south": "UDS"}]},
        {"laid": "up"},
        {"more": "x"},
        {"sealed": {"south": "UDS"}},
    ):
        assert tells(view | betrayed, session, SOUTH, viewer)
