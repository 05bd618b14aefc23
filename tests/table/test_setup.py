"""Test how a key starts the last game, what is remembered of it, and how seats are swapped."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from setup_tools import open_service_rig

from companion.core.errors import JournalError
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey
from companion.storage.journal import Journal
from companion.table.last_choices import LastChoices
from companion.table.listeners import TableListener
from companion.table.session import Phase


@pytest.mark.parametrize("key", [PadKey.TABLE, PadKey.READY])
def test_a_key_starts_the_last_game(tmp_path: Path, key: PadKey) -> None:
    by = None if key is PadKey.TABLE else Seat.NORTH
    with open_service_rig(tmp_path) as rig:
        rig.sit(Seat.NORTH, "Jonas")
        rig.press(by, key)
        assert rig.table.view().phase is Phase.LOBBY
    # In this file the last game has an option that this version does not know.
    (tmp_path / "choices.json").write_text('{"last": "arena", "options": {"arena": {"wind": 1}}}')
    with open_service_rig(tmp_path) as rig:
        rig.press(by, key)
        assert rig.table.view().game == "arena", (
            "an unknown option must not prevent the start of the last game"
        )


def test_a_broken_file_of_choices_is_ignored(tmp_path: Path) -> None:
    # Not complete, not UTF-8, of the wrong type, and nested too deeply.
    path = tmp_path / "choices.json"
    too_nested = b'{"options": {"scouts": {"a": ' + b"[" * 8000
    for content in (b"{", b"\xff", b'{"last": 3}', too_nested):
        path.write_bytes(content)
        assert LastChoices(path).game == ""

    # In a folder that is missing nothing can be written. A broken file is replaced.
    choices = LastChoices(tmp_path / "missing" / "choices.json")
    choices.remember("scouts", {})
    assert choices.game == "scouts", "a choice that cannot be written must be remembered"
    LastChoices(path).remember("scouts", {"a": [1]})
    assert json.loads(path.read_text())["options"] == {"scouts": {"a": [1]}}


def test_swapped_seats_follow_their_phones(tmp_path: Path) -> None:
    """A phone shows the seat of its player, and not what the other one does."""
    with open_service_rig(tmp_path) as rig:
        # Somebody has left South before Mara and Jonas sit down.
        former = rig.sit(Seat.SOUTH, "Gone")
        rig.table.free_seat(Seat.SOUTH)
        mara = rig.sit(Seat.SOUTH, "Mara")
        jonas = rig.sit(Seat.NORTH, "Jonas")

        # Only the owner may swap seats. The phone of each player follows to the other seat.
        assert rig.browser().post("/api/host/swap-seats", json={}).status_code == 403
        assert rig.post("/api/host/swap-seats")[0] == 200
        seats = rig.table.view().seats
        assert (seats[Seat.SOUTH].name, seats[Seat.NORTH].name) == ("Jonas", "Mara")
        assert mara.get("/seat/south").location == "/seat/north"
        assert mara.get("/seat/north").status_code == 200
        assert jonas.get("/join/north").location == "/seat/south"
        for seat in SEATS:
            assert former.get(f"/seat/{seat}").status_code == 403, (
                "an old token must not open a seat"
            )

        # During a game nobody changes seats.
        rig.table.new_game("outbuffered", {}, seed=1)
        status, answer = rig.post("/api/host/swap-seats")
        assert status == 409
        assert "between games" in json.dumps(answer)


def test_no_seat_is_free_during_a_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A free seat would send its phone to the page for joining.

    So the names of both seats are noted after every change, also while the disk is full.
    """
    with open_service_rig(tmp_path) as rig:
        rig.sit(Seat.SOUTH, "Mara")
        rig.sit(Seat.NORTH, "Jonas")
        names: list[str] = []

        def note_names(*_: object) -> None:
            names.append(" ".join(f"{seat.name}" for seat in rig.table.view().seats.values()))

        rig.table.connect(TableListener(on_lamps=note_names))
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", Mock(side_effect=JournalError("full")))
            assert rig.post("/api/host/swap-seats")[0] == 503
        assert rig.post("/api/host/swap-seats")[0] == 200
        assert list(dict.fromkeys(names)) == ["Mara Jonas", "Jonas Mara"]
