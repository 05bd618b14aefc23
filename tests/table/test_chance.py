"""Fair chance: bound by a commitment, opened at the end; a chosen one is announced."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chance_tools import (
    deal,
    next_commitment,
    place_pieces,
    recompute,
)
from hypothesis import given
from hypothesis import strategies as st
from internals import journal_of, session_of
from table_tools import follow_instructions
from web_fixtures import HOST_KEY, WebRig, open_web_rig, view_of

from companion.archive.game_file import build_game_file, transcript_lines
from companion.core.config import Settings
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import DECK
from companion.maintenance.backup import make_backup
from companion.mqtt.topics import state_message
from companion.table.chance.fairness import Contribution, FairChance, commitment_of
from companion.table.records import Commit
from companion.table.seats.machine_seats import state_after_turns

HOST = {"X-Host-Key": HOST_KEY}
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
FULL = {"way": "full", "seconds": 0}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as opened:
        yield opened


def both_sit(rig: WebRig) -> tuple[Any, Any, str]:
    """Seat two phones. Return them and the commitment to the next game."""
    south, north = rig.sit("south", "Ann"), rig.sit("north", "Bob")
    return south, north, next_commitment(rig)


def begin(rig: WebRig, game: str, **body: Any) -> None:
    answer = rig.browser().post("/api/host/new-game", json={"game": game, **body}, headers=HOST)
    assert answer.status_code == 200, answer.get_json()


# ---- the seed ------------------------------------------------------------------------------------


@given(HEX, st.one_of(st.none(), HEX), st.one_of(st.none(), HEX))
def test_the_seed_is_what_outsiders_compute(
    secret: str, south: str | None, north: str | None
) -> None:
    parts = {seat: value for seat, value in zip(SEATS, (south, north), strict=True) if value}
    given = {seat: Contribution(value, "phone") for seat, value in parts.items()}
    fair = FairChance(commitment_of(secret), secret, given)
    opened = {"secret": secret, "contributions": parts}
    assert (fair.commitment, f"{fair.seed:064x}") == recompute(opened)
    assert list(fair.find_faults(fair.seed)) == []
    forged = FairChance(commitment_of("00" + secret), secret, given)
    words = " ".join(forged.find_faults(fair.seed + 1))
    assert "The seed does not come from the secret." in words
    assert "The secret does not match the commitment" in words


# ---- in what order -------------------------------------------------------------------------------


def test_the_commitment_is_published_before_the_game(rig: WebRig) -> None:
    commitment = next_commitment(rig)
    committed = [entry.record for entry in journal_of(rig.table).entries(0)]
    assert committed == [Commit(commitment)], "in the journal before anybody sat down"
    begin(rig, "binmat", options=FULL)
    assert next_commitment(rig) == ""
    told = view_of(rig)["chance"]
    assert (told["commitment"], told["opened"]) == (commitment, None)
    assert told["words"] == "The table was bound to its chance before the game began."
    rig.table.resign(Seat.SOUTH)
    opened = view_of(rig)["chance"]["opened"]
    assert recompute(opened) == (commitment, opened["seed"])
    assert opened["faults"] == []
    state = session_of(rig.table).state
    assert [card for deck in state.decks for card in deck] == deal(opened["seed"])
    assert next_commitment(rig) not in ("", commitment)
    with pytest.raises(Illegal, match="no turn"):
        rig.table.undo()


def test_a_restart_keeps_the_commitment(tmp_path: Path) -> None:
    with open_web_rig(tmp_path) as rig:
        _, _, commitment = both_sit(rig)
    with open_web_rig(tmp_path) as rig:
        assert next_commitment(rig) == commitment
        begin(rig, "kahmate")
        assert journal_of(rig.table).restore() == session_of(rig.table)


# ---- what is secret ------------------------------------------------------------------------------

CHANNELS = (
    "/", "/watch", "/host", "/api/view", "/history", "/api/history", "/history/1", "/join",
    "/pass", "/doctor", "/api/seat/south/view", "/seat/south", "/seat/north", "/health",
    "/history/1.json", "/history/1.txt", "/api/seat/south/mine", "/nowhere",
)  # fmt: skip


def everything(rig: WebRig, browsers: tuple[Any, ...]) -> list[str]:
    return [
        f"{path} {browser.get(path, headers=HOST).get_data(as_text=True)}"
        for browser in browsers
        for path in CHANNELS
    ]


@pytest.mark.parametrize("game", ["binmat", "kahmate"])
def test_secret_and_seed_are_nowhere_before_the_end(
    rig: WebRig, game: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    south, north, _ = both_sit(rig)
    lobby = journal_of(rig.table).key("chance").hex()
    seen = everything(rig, (south, north, rig.browser()))
    begin(rig, game, options=FULL if game == "binmat" else {})
    follow_instructions(rig.table)
    seen += everything(rig, (south, north, rig.browser()))
    place_pieces(rig)
    seen += everything(rig, (south, north, rig.browser()))
    fair = session_of(rig.table).chance
    assert fair is not None
    assert fair.secret == lobby
    seen.append(caplog.text)
    for hidden in (lobby, f"{fair.seed:064x}", str(fair.seed), fair.text):
        assert not [text[:40] for text in seen if hidden in text]


# ---- taking back ---------------------------------------------------------------------------------


def test_a_take_back_draws_the_same_again(rig: WebRig) -> None:
    begin(rig, "kahmate")
    follow_instructions(rig.table)
    place_pieces(rig)
    first = session_of(rig.table)
    rig.table.undo()
    follow_instructions(rig.table)
    place_pieces(rig)
    session = session_of(rig.table)
    assert session.state == first.state == state_after_turns(session, 1)
    assert journal_of(rig.table).restore().state == first.state


# ---- chosen --------------------------------------------------------------------------------------

CHOSEN = [
    ("binmat", {"options": FULL, "seed": 7}, "The chance of this game was chosen by the owner."),
    ("binmat", {"options": {**FULL, "deck": list(DECK)}}, "The start of this game was chosen."),
    ("kahmate", {"options": {"starter": "south"}}, "The start of this game was chosen."),
    ("kahmate", {"options": {"ball_card": 3}}, "The start of this game was chosen."),
]


@pytest.mark.parametrize(("game", "body", "words"), CHOSEN)
def test_a_chosen_chance_is_announced(
    rig: WebRig, game: str, body: dict[str, Any], words: str
) -> None:
    begin(rig, game, **body)
    follow_instructions(rig.table)
    told = state_message(rig.table.view(), "en")["chance"]
    assert told
    assert told["words"].startswith(words)
    assert told["is_chosen"]
    rig.table.resign(Seat.SOUTH)
    played = build_game_file(session_of(rig.table))
    assert played.is_seed_chosen is ("seed" in body)
    assert words in "\n".join(transcript_lines(played))


# ---- files and older versions --------------------------------------------------------------------


def test_the_check_for_outsiders_is_all_it_takes(
    rig: WebRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(rig, "kahmate")
    follow_instructions(rig.table)
    place_pieces(rig)
    rig.table.resign(Seat.SOUTH)
    played = build_game_file(session_of(rig.table))
    assert played.chance is not None
    security = Path(__file__).parents[2] / "docs/security.md"
    text = security.read_text(encoding="utf-8")
    block = re.search(r"## Fair chance.*?```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    Path("game-1.json").write_bytes(msgspec.json.encode(played))
    known: dict[str, Any] = {}
    exec(block[1], known)
    assert f"Card {known['first'].randint(1, 6)}: the ball lies on" in "\n".join(
        transcript_lines(played)
    )
    given = {Seat.SOUTH: Contribution("11" * 32, "phone")}
    fair = msgspec.structs.replace(played.chance, contributions=given)
    forged = msgspec.structs.replace(played, chance=fair)
    Path("game-1.json").write_bytes(msgspec.json.encode(forged))
    with pytest.raises(AssertionError):
        exec(block[1], known)
    with pytest.raises(Malformed, match="does not come from"):
        list(transcript_lines(forged))


def test_backups_hold_no_secret_of_a_game(rig: WebRig, tmp_path: Path) -> None:
    begin(rig, "kahmate")
    target = io.BytesIO()
    settings = Settings(state_dir=str(tmp_path))
    make_backup(settings, tmp_path / "settings.toml", rig.clock, False, target)
    with zipfile.ZipFile(target) as archive:
        kept = b"".join(archive.read(name) for name in archive.namelist())
    fair = session_of(rig.table).chance
    assert fair is not None
    assert b"commit" in kept
    assert fair.secret.encode() not in kept
    assert bytes.fromhex(fair.secret) not in kept
