"""Fair chance: bound by a commitment, opened at the end; a chosen one is announced."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chance_tools import (
    NORTHS,
    SOUTHS,
    dealt,
    next_commitment,
    place_pieces,
    recomputed,
    to_placing,
)
from hypothesis import given
from hypothesis import strategies as st
from inside import journal_of, session_of
from web_fixtures import HOST_KEY, Place, open_place, page_of, view_of

from companion.archive.replay import GameFile, game_file, retell
from companion.archive.scoresheet import read_sheet, write_sheet
from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.errors import Malformed
from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import DECK
from companion.maintenance.backup import apply_staged, make_backup, stage_restore
from companion.mqtt.topics import state_of
from companion.storage.journal import Journal
from companion.table.chance.fairness import Contribution, FairChance, commitment_of
from companion.table.records import Commit, Contribute, NewGame
from companion.table.seats.machine_seats import state_before
from companion.table.session import Phase, chance
from companion.table.table import Table

SECURITY = Path(__file__).parents[2] / "docs/security.md"
HOST = {"X-Host-Key": HOST_KEY}
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
FULL = {"way": "full", "seconds": 0}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as opened:
        yield opened


def both_sit(place: Place) -> tuple[Any, Any, str]:
    """Two phones that have sat down; answers them and the commitment to the next game."""
    south, north = place.sit("south", "Ann"), place.sit("north", "Bob")
    return south, north, next_commitment(place)


def begin(place: Place, game: str, **body: Any) -> None:
    answer = place.browser().post("/api/host/new-game", json={"game": game, **body}, headers=HOST)
    assert answer.status_code == 200, answer.get_json()


# ---- the seed --------------------------------------------------------------------------------------------------------


@given(HEX, st.one_of(st.none(), HEX), st.one_of(st.none(), HEX))
def test_the_seed_is_what_outsiders_compute(
    secret: str, south: str | None, north: str | None
) -> None:
    parts = {seat: value for seat, value in zip(SEATS, (south, north), strict=True) if value}
    fair = FairChance(
        commitment_of(secret), secret, {seat: Contribution(v, "phone") for seat, v in parts.items()}
    )
    commitment, seed = recomputed(
        {"secret": secret, "contributions": {str(s): v for s, v in parts.items()}}
    )
    assert (fair.commitment, f"{fair.seed:064x}") == (commitment, seed)
    assert list(fair.faults(fair.seed)) == []


@given(HEX, HEX, HEX, st.integers(0, 2))
def test_each_part_changes_the_seed_and_every_forgery_is_named(
    one: str, other: str, third: str, part: int
) -> None:
    texts = [one, other, third]
    changed = [
        ("0" if text[0] != "0" else "1") + text[1:] if at == part else text
        for at, text in enumerate(texts)
    ]
    true, forged = (
        FairChance(
            commitment_of(one),
            s,
            {Seat.SOUTH: Contribution(a, "phone"), Seat.NORTH: Contribution(b, "phone")},
        )
        for s, a, b in (texts, changed)
    )
    assert true.seed != forged.seed
    words = " ".join(forged.faults(true.seed))
    assert "The seed does not come from the secret." in words
    assert ("The secret does not match the commitment" in words) is (part == 0)


# ---- in what order ---------------------------------------------------------------------------------------------------


def test_the_commitment_is_published_before_the_game(place: Place) -> None:
    journal = journal_of(place.table)
    before = next_commitment(place)
    committed = [entry.record for entry in journal.entries(0)]
    assert committed == [Commit(before)], "in the journal before anybody sat down"
    south, _, commitment = both_sit(place)
    assert commitment == before
    begin(place, "binmat", options=FULL)
    told = view_of(place)["chance"]
    assert told["commitment"] == commitment
    assert told["opened"] is None
    assert told["words"] == "The table was bound to its chance before the game began."
    place.table.resign(Seat.SOUTH)
    assert view_of(place)["chance"]["opened"] is None, (
        "cards lie hidden: the resignation may be taken back"
    )
    assert south.post("/api/seat/south/disclose", json={}).status_code == 200
    opened = view_of(place)["chance"]["opened"]
    assert recomputed(opened) == (commitment, opened["seed"])
    assert opened["faults"] == []
    state = session_of(place.table).state
    assert [card for deck in state.decks for card in deck] == dealt(opened["seed"]), (
        "the deal that was played"
    )
    assert place.browser().post("/api/host/undo", json={}, headers=HOST).status_code == 409, (
        "it is over for good"
    )


def test_the_next_game_has_a_secret_of_its_own(place: Place) -> None:
    _, _, commitment = both_sit(place)
    begin(place, "kahmate")
    assert next_commitment(place) == ""
    place.table.resign(Seat.NORTH)
    assert view_of(place)["chance"]["opened"]["secret"]
    assert next_commitment(place) not in ("", commitment)


def test_a_restart_keeps_the_commitment(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        _, _, commitment = both_sit(place)
    with open_place(tmp_path) as place:
        assert next_commitment(place) == commitment
        begin(place, "kahmate")
        live = session_of(place.table)
        assert journal_of(place.table).restore() == live
    with open_place(tmp_path) as place:
        assert session_of(place.table).chance == live.chance


def test_without_its_secret_the_table_commits_anew(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        _, _, commitment = both_sit(place)
        journal_of(place.table).renew_key("chance")
    with open_place(tmp_path) as place:
        assert next_commitment(place) not in ("", commitment)


def test_a_game_with_contributions_of_an_older_version_goes_on(tmp_path: Path) -> None:
    secret = "ab" * 32
    fair = FairChance(commitment_of(secret), secret, {Seat.SOUTH: Contribution(SOUTHS, "phone")})
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.append(0, Commit(fair.commitment), 5.0)
        journal.append(0, Contribute(Seat.SOUTH, fair.commitment, SOUTHS, "phone"), 5.0)
        journal.append(1, NewGame("kahmate", 1, chance=fair), 5.0)
        journal.append(1, Contribute(Seat.NORTH, fair.commitment, NORTHS, "phone"), 6.0)
    with open_place(tmp_path) as place:
        to_placing(place)
        place_pieces(place)
        place.table.resign(Seat.SOUTH)
        opened = view_of(place)["chance"]["opened"]
        assert opened["contributions"] == {"south": SOUTHS, "north": NORTHS}
        assert recomputed(opened) == (fair.commitment, opened["seed"])
        assert "commitment and seed match" in "\n".join(retell(game_file(session_of(place.table))))


# ---- what is secret --------------------------------------------------------------------------------------------------

CHANNELS = ("/", "/watch", "/host", "/api/view", "/history", "/api/history", "/history/1", "/join", "/pass", "/doctor",
            "/api/seat/south/view", "/seat/south", "/seat/north", "/health", "/history/1.json",
            "/history/1.txt", "/api/seat/south/mine", "/nowhere")  # fmt: skip


def everything(place: Place, browsers: tuple[Any, ...]) -> list[str]:
    return [
        f"{path} {browser.get(path, headers=HOST).get_data(as_text=True)}"
        for browser in browsers
        for path in CHANNELS
    ]


@pytest.mark.parametrize("game", ["binmat", "kahmate"])
def test_secret_and_seed_are_nowhere_before_the_end(
    place: Place, game: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    south, north, _ = both_sit(place)
    lobby = journal_of(place.table).key("chance").hex()
    seen = everything(place, (south, north, place.browser()))
    begin(place, game, options=FULL if game == "binmat" else {})
    to_placing(place)
    seen += everything(place, (south, north, place.browser()))
    place_pieces(place)
    seen += everything(place, (south, north, place.browser()))
    fair = session_of(place.table).chance
    assert fair is not None
    assert fair.secret == lobby
    seen.append(caplog.text)
    for hidden in (lobby, f"{fair.seed:064x}", str(fair.seed), fair.text):
        assert not [text[:40] for text in seen if hidden in text]


def test_games_that_differ_only_in_the_secret_look_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(number: int) -> list[str]:
        monkeypatch.setattr(Journal, "renew_key", _with_key(bytes([number]) * 32))
        monkeypatch.setattr("secrets.token_urlsafe", lambda _: "nonce")
        monkeypatch.setattr("secrets.token_hex", lambda _: "5a17")
        with open_place(tmp_path / str(number)) as place:
            south, north, commitment = both_sit(place)
            seen = everything(place, (south, north, place.browser()))
            begin(place, "kahmate")
            to_placing(place)
            seen += everything(place, (south, north, place.browser()))
            shown = " ".join(commitment[at : at + 4] for at in range(0, 16, 4))
            groups = "".join(f"<span>{commitment[at : at + 4]}</span>" for at in range(0, 64, 4))
            return [
                text.replace(commitment, "C").replace(shown, "C").replace(groups, "C")
                for text in seen
            ]

    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    for one, other in zip(played(1), played(2), strict=True):
        assert one == other


def _with_key(value: bytes) -> Any:
    def renew(journal: Journal, name: str, length: int = 32) -> bytes:
        journal.database.write(
            lambda db: db.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (name, value))
        )
        return value

    return renew


# ---- taking back -----------------------------------------------------------------------------------------------------


def test_what_was_drawn_is_drawn_again_after_a_take_back(place: Place) -> None:
    both_sit(place)
    begin(place, "kahmate")
    to_placing(place)
    place_pieces(place)
    first = session_of(place.table)
    place.table.undo()
    assert session_of(place.table).tick > first.tick, (
        "what was given for the turn that was taken back is for no other"
    )
    to_placing(place)
    place_pieces(place)
    assert session_of(place.table).state == first.state
    assert journal_of(place.table).restore().state == first.state


def test_a_chosen_chance_is_drawn_by_turns_however_often_one_is_taken_back(place: Place) -> None:
    for seat in SEATS:
        place.sit(seat)
    begin(place, "binmat", seed=7, options=FULL)
    session = session_of(place.table)
    assert session.state == session.playing.setup(session.options, chance(7, 0))
    place.table.abandon()
    begin(place, "kahmate", seed=8)
    to_placing(place)
    place_pieces(place)
    place.table.undo()
    to_placing(place)
    place_pieces(place)
    session = session_of(place.table)
    assert state_before(session, 1) == session.state


# ---- chosen ----------------------------------------------------------------------------------------------------------

CHOSEN = [
    ("binmat", {"options": FULL, "seed": 7}, "The chance of this game was chosen by the owner."),
    ("binmat", {"options": {**FULL, "deck": list(DECK)}}, "The deal of this game was chosen by the owner."),
    ("binmat", {"options": {**FULL, "deck": list(DECK)}, "seed": 7}, "The deal of this game was chosen by the owner."),
    ("kahmate", {"seed": 7}, "The chance of this game was chosen by the owner."),
    ("kahmate", {"options": {"starter": "south"}}, "Who begins this game was chosen by the owner."),
    ("kahmate", {"options": {"ball_card": 3}}, "The ball’s card of this game was chosen by the owner."),
    ("kahmate", {"options": {"ball_card": 3, "starter": "north"}},
     "The ball’s card and who begins were chosen by the owner."),
]  # fmt: skip


@pytest.mark.parametrize(("game", "body", "words"), CHOSEN)
def test_a_chosen_chance_is_announced(
    place: Place, game: str, body: dict[str, Any], words: str
) -> None:
    south, _, _ = both_sit(place)
    begin(place, game, **body)
    to_placing(place)
    told = state_of(place.table.view(), "en")["chance"]
    assert told
    assert told["words"].startswith(words)
    assert "both sealed orders" not in told["words"], "there are two tables only where a hub is"
    assert told["is_chosen"]
    place.table.resign(Seat.SOUTH)
    begin(place, "outbuffered")
    played = msgspec.json.decode(south.get("/history/1.json").data, type=GameFile)
    assert played.is_chosen is ("seed" in body)
    assert words in "\n".join(retell(played))
    assert read_sheet(write_sheet(played)) == played


def test_every_page_announces_a_chosen_chance(place: Place) -> None:
    south, north, _ = both_sit(place)
    begin(place, "kahmate", seed=7)
    to_placing(place)
    words = "The chance of this game was chosen by the owner."
    places = [
        (place.browser(), path)
        for path in ("/", "/watch", "/api/view", "/host", "/history", "/api/history")
    ]
    places += [
        (south, "/seat/south"),
        (north, "/seat/north"),
        (north, "/api/seat/north/view"),
        (south, "/history/1"),
    ]
    for browser, path in places:
        page = browser.get(path, headers=HOST).get_data(as_text=True)
        if path.startswith("/api"):
            page = json.dumps(json.loads(page), ensure_ascii=False)
        assert words in page, path
    place.table.resign(Seat.SOUTH)
    begin(place, "outbuffered")
    for path in ("/history", "/history/1"):
        assert words in page_of(south, path), path
    assert words in south.get("/api/history").get_json()["games"][1]["chosen"]


def test_it_is_announced_on_covers_pads_and_the_workbench(place: Place) -> None:
    phone = place.browser()
    phone.post("/pass", data={"south": "Ann", "north": "Bob"})
    begin(place, "binmat", options=FULL, seed=3)
    words = "The chance of this game was chosen by the owner."
    assert words in page_of(phone, "/pass")
    place.table.play_by(Seat.SOUTH, "pad")
    app = place.app
    house = app.extensions.get("house", None)
    view = place.table.view()
    with app.test_request_context():
        for name in ("_at_pad.html", "_workbench.html"):
            pads = dict.fromkeys(SEATS)
            shown = app.jinja_env.get_template(name).render(
                view=view, viewer=Seat.SOUTH, pads=pads, tip="", house=house
            )
            assert words in shown, name


def test_where_nothing_is_drawn_no_page_speaks_of_chance(place: Place) -> None:
    south, north, _ = both_sit(place)
    begin(place, "scouts", seed=5)
    for browser, path in (
        (place.browser(), "/"),
        (south, "/seat/south"),
        (north, "/watch"),
        (north, "/history"),
    ):
        assert not _speaks(page_of(browser, path)), path
    assert view_of(place)["chance"] is None
    assert state_of(place.table.view(), "en")["chance"] is None
    place.table.resign(Seat.SOUTH)
    assert not _speaks(page_of(south, "/history/1"))
    assert not _speaks(page_of(south, "/seat/south"))


def _speaks(page: str) -> bool:
    return "Chance" in page or 'class="chance' in page or "data-chance" in page


def test_a_rematch_of_a_chosen_game_is_drawn(place: Place) -> None:
    both_sit(place)
    begin(place, "kahmate", seed=5)
    place.table.resign(Seat.SOUTH)
    place.table.rematch()
    told = view_of(place)["chance"]
    assert told["commitment"]
    assert not told["chosen"]


# ---- files and older versions ----------------------------------------------------------------------------------------


def test_an_older_game_goes_on_and_says_so(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.append(1, NewGame("kahmate", 1, 4711), 5.0)
    with open_place(tmp_path) as place:
        south = place.sit("south")
        assert view_of(place)["chance"]["words"] == "Chance: no commitment (older version)."
        to_placing(place)
        assert "Chance: no commitment (older version)." in page_of(south, "/seat/south")
        place_pieces(place)
        place.table.resign(Seat.SOUTH)
        assert "Chance: no commitment (older version)." in page_of(south, "/history/1")
        played = msgspec.json.decode(south.get("/history/1.json").data, type=GameFile)
        assert played.seed == 4711
        assert played.chance is None
        assert next(iter(retell(played))) == "Chance: no commitment (older version)."


def finished(place: Place) -> GameFile:
    """A game of Kahmate, as a file."""
    both_sit(place)
    begin(place, "kahmate")
    to_placing(place)
    place_pieces(place)
    place.table.resign(Seat.SOUTH)
    return game_file(session_of(place.table))


def test_the_check_for_outsiders_is_all_it_takes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = finished(place)
    assert played.chance is not None
    block = re.search(
        r"## Fair chance.*?```python\n(.*?)```", SECURITY.read_text(encoding="utf-8"), re.DOTALL
    )
    assert block is not None
    monkeypatch.chdir(tmp_path)
    Path("game-1.json").write_bytes(msgspec.json.encode(played))
    known: dict[str, Any] = {}
    exec(block[1], known)
    assert f"Card {known['first'].randint(1, 6)}: the ball lies on" in "\n".join(retell(played))
    given = {**played.chance.contributions, Seat.SOUTH: Contribution("11" * 32, "phone")}
    fair = msgspec.structs.replace(played.chance, contributions=given)
    forged = msgspec.structs.replace(played, chance=fair)
    content = msgspec.json.encode(forged)
    Path("game-1.json").write_bytes(content)
    with pytest.raises(AssertionError):
        exec(block[1], known)
    with pytest.raises(Malformed, match=r"does not (fit|come from)"):
        list(retell(forged))
    answer = place.browser().post(
        "/history", headers=HOST, data={"file": (io.BytesIO(content), "game.json")}
    )
    assert answer.status_code == 400
    assert "The seed does not come from" in answer.get_data(as_text=True)


def test_every_end_opens_it(place: Place) -> None:
    both_sit(place)
    for end in ("resign", "draw"):
        begin(place, "kahmate")
        to_placing(place)
        if end == "resign":
            place.table.resign(Seat.NORTH)
        else:
            for seat in SEATS:
                place.table.offer_draw(seat)
        opened = view_of(place)["chance"]["opened"]
        assert recomputed(opened)[1] == opened["seed"], end
        assert place.table.view().phase is Phase.OVER


def test_a_table_that_cannot_write_still_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from companion.core.errors import JournalError  # noqa: PLC0415 - named where it is raised

    def full(*_: object, **__: object) -> bytes:
        raise JournalError("full")

    with Journal(tmp_path / "journal.sqlite") as journal:
        monkeypatch.setattr(Journal, "renew_key", full)
        monkeypatch.setattr(Journal, "key", full)
        with Table(journal, FakeClock()) as table:
            assert table.view().fairness.next_commitment == ""
            with pytest.raises(JournalError):
                table.new_game("kahmate")
            monkeypatch.undo()
            table.new_game("kahmate")
            assert table.view().fairness.chance is not None


def test_no_backup_holds_the_secret_of_a_game_that_is_on(tmp_path: Path) -> None:
    settings = Settings(state_dir=str(tmp_path))
    with open_place(tmp_path) as place:
        both_sit(place)
        journal = journal_of(place.table)
        for is_on in (False, True):
            if is_on:
                begin(place, "kahmate")
                to_placing(place)
                place_pieces(place)
            secret = journal.key("chance").hex()
            target = io.BytesIO()
            make_backup(settings, tmp_path / "settings.toml", place.clock, False, target)
            with zipfile.ZipFile(target) as archive:
                kept = b"".join(archive.read(name) for name in archive.namelist())
            assert b"commit" in kept
            assert secret.encode() not in kept
            assert bytes.fromhex(secret) not in kept
        fair = session_of(place.table).chance
        assert fair is not None
        assert fair.secret == secret


def test_a_restored_table_commits_to_a_secret_of_its_own(tmp_path: Path) -> None:
    """A backup of a lobby holds a commitment whose secret it does not hold."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with open_place(first) as place:
        _, _, commitment = both_sit(place)
    settings = Settings(state_dir=str(first))
    target = io.BytesIO()
    make_backup(settings, first / "settings.toml", FakeClock(), False, target)
    elsewhere = Settings(state_dir=str(second))
    target.seek(0)
    stage_restore(target, elsewhere, second / "settings.toml")
    apply_staged(elsewhere, second / "settings.toml")
    with open_place(second) as place:
        assert next_commitment(place) not in ("", commitment)
