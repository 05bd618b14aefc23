"""Test fair chance: the commitment before a game, what is published after it, and chosen chance.

Before a game the table publishes a commitment, which is the SHA-256 of a secret. The seed of the
game comes from the secret, which is published when the game is over. Tests ask the table's pages
through Flask's client. `recompute` and `deal` of `chance_tools` compute the chance again, without
the program.
"""

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
    play_first_actions,
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
from companion.table.records import SEATS_GAME, Commit
from companion.table.seats.machine_seats import state_after_turns

HOST = {"X-Host-Key": HOST_KEY}
# 32 bytes in hexadecimal digits.
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
# BINMAT on phones with all of its cards, without a clock.
BINMAT_ON_PHONES = {"way": "full", "seconds": 0}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as opened:
        yield opened


def seat_two_phones(rig: WebRig) -> tuple[Any, Any, str]:
    """Seat two phones. Return both, and the commitment to the next game."""
    south = rig.sit("south", "Ann")
    north = rig.sit("north", "Bob")
    return south, north, next_commitment(rig)


def begin(rig: WebRig, game: str, **body: Any) -> None:
    """Begin a game as the owner. `body` has more fields of the request, such as `options`."""
    answer = rig.browser().post("/api/host/new-game", json={"game": game, **body}, headers=HOST)
    assert answer.status_code == 200, answer.get_json()


# ---- the seed ------------------------------------------------------------------------------------


@given(HEX, st.one_of(st.none(), HEX), st.one_of(st.none(), HEX))
def test_outsiders_compute_the_same_seed(secret: str, south: str | None, north: str | None) -> None:
    """Commitment and seed follow from what is published, and a forged one is noticed.

    A seat may have contributed to the seed (64 hexadecimal digits) or not (None).
    """
    values = {seat: value for seat, value in zip(SEATS, (south, north), strict=True) if value}
    contributions = {seat: Contribution(value, "phone") for seat, value in values.items()}
    fair = FairChance(commitment_of(secret), secret, contributions)
    opened = {"secret": secret, "contributions": values}
    assert (fair.commitment, f"{fair.seed:064x}") == recompute(opened)
    assert list(fair.find_faults(fair.seed)) == []

    # The commitment is to another secret, and the game was played with another seed.
    forged = FairChance(commitment_of("00" + secret), secret, contributions)
    faults = " ".join(forged.find_faults(fair.seed + 1))
    assert "The seed does not come from the secret." in faults
    assert "The secret does not match the commitment" in faults


# ---- the commitment ------------------------------------------------------------------------------


def test_the_commitment_is_published_before_the_game(rig: WebRig) -> None:
    """The commitment to a game is known before the game, and proves its cards afterwards."""
    # Before the game, the commitment is on the pages and in the journal.
    commitment = next_commitment(rig)
    committed = [entry.record for entry in journal_of(rig.table).entries(SEATS_GAME)]
    assert committed == [Commit(commitment)], (
        "the journal must have no other record before the game"
    )

    # During the game, the commitment is shown, and its secret is not. One turn is played.
    begin(rig, "binmat", options=BINMAT_ON_PHONES)
    first_state = session_of(rig.table).state
    assert next_commitment(rig) == ""
    chance = view_of(rig)["chance"]
    assert (chance["commitment"], chance["opened"]) == (commitment, None)
    assert chance["words"] == "The table was bound to its chance before the game began."

    play_first_actions(rig)

    # After the game, anybody can compute its seed and its cards from the secret.
    rig.table.resign(Seat.SOUTH)
    opened = view_of(rig)["chance"]["opened"]
    assert recompute(opened) == (commitment, opened["seed"])
    assert opened["faults"] == []
    assert [card for deck in first_state.decks for card in deck] == deal(opened["seed"])

    # The next game has another commitment. The turn of this one can no longer be undone, because
    # everything that the game hid has been shown.
    assert next_commitment(rig) not in ("", commitment)
    with pytest.raises(Illegal, match="no turn"):
        rig.table.undo()


def test_a_restart_keeps_the_commitment(tmp_path: Path) -> None:
    """Otherwise the owner could restart the table until a secret makes a convenient game."""
    with open_web_rig(tmp_path) as rig:
        _, _, commitment = seat_two_phones(rig)
    with open_web_rig(tmp_path) as rig:
        assert next_commitment(rig) == commitment
        begin(rig, "kahmate")
        assert journal_of(rig.table).restore() == session_of(rig.table)


# ---- what is secret ------------------------------------------------------------------------------

# Pages and addresses that could show the secret.
PATHS = (
    "/", "/watch", "/host", "/api/view", "/history", "/api/history", "/history/1", "/join",
    "/pass", "/doctor", "/api/seat/south/view", "/seat/south", "/seat/north", "/health",
    "/history/1.json", "/history/1.txt", "/api/seat/south/mine", "/nowhere",
)  # fmt: skip


def all_answers(browsers: tuple[Any, ...]) -> list[str]:
    """Return the path and the text of every answer, for each browser with the owner key."""
    return [
        f"{path} {browser.get(path, headers=HOST).get_data(as_text=True)}"
        for browser in browsers
        for path in PATHS
    ]


@pytest.mark.parametrize("game", ["binmat", "kahmate"])
def test_secret_and_seed_stay_hidden_until_the_end(
    rig: WebRig, game: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    south, north, _ = seat_two_phones(rig)
    next_secret = journal_of(rig.table).key("chance").hex()

    # Collect all answers before the game, after its set-up, and after its first turn.
    texts = all_answers((south, north, rig.browser()))
    begin(rig, game, options=BINMAT_ON_PHONES if game == "binmat" else {})
    follow_instructions(rig.table)
    texts += all_answers((south, north, rig.browser()))
    play_first_actions(rig)
    texts += all_answers((south, north, rig.browser()))

    # Neither they nor the log may contain the secret, or what is made of it.
    fair = session_of(rig.table).chance
    assert fair is not None
    assert fair.secret == next_secret
    texts.append(caplog.text)
    for hidden in (next_secret, f"{fair.seed:064x}", str(fair.seed), fair.seed_text):
        assert not [text[:40] for text in texts if hidden in text]


# ---- undo ----------------------------------------------------------------------------------------


def test_a_repeated_turn_draws_the_same_card(rig: WebRig) -> None:
    """Otherwise the players could undo the turn until they like the card."""
    begin(rig, "kahmate")
    follow_instructions(rig.table)
    play_first_actions(rig)
    first = session_of(rig.table)
    rig.table.undo()
    follow_instructions(rig.table)
    play_first_actions(rig)
    session = session_of(rig.table)
    assert session.state == first.state == state_after_turns(session, 1)
    assert journal_of(rig.table).restore().state == first.state


# ---- chosen chance -------------------------------------------------------------------------------

# A game, what the owner has chosen of it, and what the table says of its chance.
CHOSEN = [
    (
        "binmat",
        {"options": BINMAT_ON_PHONES, "seed": 7},
        "The chance of this game was chosen by the owner.",
    ),
    (
        "binmat",
        {"options": {**BINMAT_ON_PHONES, "deck": list(DECK)}},
        "The start of this game was chosen.",
    ),
    ("kahmate", {"options": {"starter": "south"}}, "The start of this game was chosen."),
    ("kahmate", {"options": {"ball_card": 3}}, "The start of this game was chosen."),
]


@pytest.mark.parametrize(("game", "body", "words"), CHOSEN)
def test_a_chosen_chance_is_announced(
    rig: WebRig, game: str, body: dict[str, Any], words: str
) -> None:
    """Whoever follows the table, or reads the file of the game later, learns of the choice."""
    begin(rig, game, **body)
    follow_instructions(rig.table)
    chance = state_message(rig.table.view(), "en")["chance"]
    assert chance
    assert chance["words"].startswith(words)
    assert chance["is_chosen"]

    # The same is in the file of the game when it is over.
    rig.table.resign(Seat.SOUTH)
    game_file = build_game_file(session_of(rig.table))
    assert game_file.is_seed_chosen is ("seed" in body)
    assert words in "\n".join(transcript_lines(game_file))


# ---- game files and backups ----------------------------------------------------------------------


def test_the_documented_check_finds_forged_chance(
    rig: WebRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the code of docs/security.md on a game file, and on one with a forged contribution."""
    # Play a game, and take the code from the documentation.
    begin(rig, "kahmate")
    follow_instructions(rig.table)
    play_first_actions(rig)
    rig.table.resign(Seat.SOUTH)
    game_file = build_game_file(session_of(rig.table))
    assert game_file.chance is not None
    security = Path(__file__).parents[2] / "docs/security.md"
    text = security.read_text(encoding="utf-8")
    code = re.search(r"## Fair chance.*?```python\n(.*?)```", text, re.DOTALL)
    assert code is not None

    # The code accepts the file. It has to find the card that the game has drawn.
    monkeypatch.chdir(tmp_path)
    Path("game-1.json").write_bytes(msgspec.json.encode(game_file))
    names: dict[str, Any] = {}
    exec(code[1], names)
    # The documentation's `first` is the generator of the first draw, which is the ball's card.
    assert f"Card {names['first'].randint(1, 6)}: the ball lies on" in "\n".join(
        transcript_lines(game_file)
    )

    # The code and the program both refuse a file with a contribution that was added later.
    contributions = {Seat.SOUTH: Contribution("11" * 32, "phone")}
    forged_chance = msgspec.structs.replace(game_file.chance, contributions=contributions)
    forged = msgspec.structs.replace(game_file, chance=forged_chance)
    Path("game-1.json").write_bytes(msgspec.json.encode(forged))
    with pytest.raises(AssertionError):
        exec(code[1], names)
    with pytest.raises(Malformed, match="does not come from"):
        list(transcript_lines(forged))


def test_backups_contain_no_secret_of_a_game(rig: WebRig, tmp_path: Path) -> None:
    """Whoever makes a backup during a game could otherwise read its hidden cards in it."""
    begin(rig, "kahmate")
    target = io.BytesIO()
    settings = Settings(state_dir=str(tmp_path))
    make_backup(
        settings, tmp_path / "settings.toml", rig.clock, with_photographs=False, target=target
    )
    with zipfile.ZipFile(target) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    fair = session_of(rig.table).chance
    assert fair is not None
    # The journal of the backup has the commitment, but not the secret, as text or as bytes.
    assert b"commit" in content
    assert fair.secret.encode() not in content
    assert bytes.fromhex(fair.secret) not in content
