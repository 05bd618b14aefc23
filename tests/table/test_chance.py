"""Fair chance: bound by a commitment, mixed with what both seats give, opened at the end; a chosen one is announced."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chance_tools import NORTHS, SOUTHS, dealt, give, place_pieces, pledge_at, recomputed, to_placing
from hypothesis import given
from hypothesis import strategies as st
from inside import journal_of, session_of
from web_fixtures import HOST_KEY, Place, error_of, open_place, page_of, view_of

from companion.archive.replay import GameFile, game_file, retell
from companion.archive.scoresheet import read_sheet, write_sheet
from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.errors import Malformed
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press
from companion.games.binmat.cards import DECK
from companion.maintenance.backup import make_backup
from companion.mqtt.topics import state_of
from companion.storage.journal import Journal
from companion.table.chance.fairness import Contribution, FairChance, checked, commitment_of
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


def both_given(place: Place) -> tuple[Any, Any, str]:
    """Two phones that have sat down and given; answers them and the commitment."""
    south, north = place.sit("south", "Ann"), place.sit("north", "Bob")
    commitment = pledge_at(place)
    assert (give(south, "south", commitment, SOUTHS), give(north, "north", commitment, NORTHS)) == (200, 200)
    return south, north, commitment


def begin(place: Place, game: str, **body: Any) -> None:
    answer = place.browser().post("/api/host/new-game", json={"game": game, **body}, headers=HOST)
    assert answer.status_code == 200, answer.get_json()


# ---- the seed --------------------------------------------------------------------------------------------------------


@given(HEX, st.one_of(st.none(), HEX), st.one_of(st.none(), HEX))
def test_the_seed_is_what_outsiders_compute(secret: str, south: str | None, north: str | None) -> None:
    parts = {seat: value for seat, value in zip(SEATS, (south, north), strict=True) if value}
    fair = FairChance(commitment_of(secret), secret, {seat: Contribution(v, "phone") for seat, v in parts.items()})
    commitment, seed = recomputed({"secret": secret, "contributions": {str(s): v for s, v in parts.items()}})
    assert (fair.commitment, f"{fair.seed:064x}") == (commitment, seed)
    assert list(fair.faults(fair.seed)) == []


@given(HEX, HEX, HEX, st.integers(0, 2))
def test_each_part_changes_the_seed_and_every_forgery_is_named(one: str, other: str, third: str, part: int) -> None:
    texts = [one, other, third]
    changed = [("0" if text[0] != "0" else "1") + text[1:] if at == part else text for at, text in enumerate(texts)]
    true, forged = (
        FairChance(commitment_of(one), s, {Seat.SOUTH: Contribution(a, "phone"), Seat.NORTH: Contribution(b, "phone")})
        for s, a, b in (texts, changed)
    )
    assert true.seed != forged.seed
    words = " ".join(forged.faults(true.seed))
    assert "The seed does not come from the secret and the contributions." in words
    assert ("The secret does not match the commitment" in words) is (part == 0)


def test_a_seat_cannot_pass_its_part_on_to_the_other() -> None:
    """South's `A` and North's nothing is another text than the other way round."""
    sides = [FairChance("c", "s", {seat: Contribution("a", "phone")}).seed for seat in SEATS]
    assert len({*sides, FairChance("c", "s").seed}) == 3


@pytest.mark.parametrize(
    ("value", "by"),
    [("", "phone"), ("AB" * 32, "phone"), ("ab" * 33, "phone"), ("ab" * 31, "phone"), ("a" * 63 + "\n", "phone"),
     ("pad-5", "phone"), ("ab" * 32, "pad"), ("pad-5", "table"), ("table--5", "table"), ("ab" * 32, "host"),
     ("ab" * 31 + "a ", "phone"), ("-", "phone")],
)  # fmt: skip
def test_a_contribution_is_64_digits_or_a_press(value: str, by: str) -> None:
    with pytest.raises(Malformed):
        checked(value, by)


# ---- in what order ---------------------------------------------------------------------------------------------------


def test_two_phones_give_to_what_was_published_before(place: Place, tmp_path: Path) -> None:
    journal = journal_of(place.table)
    before = view_of(place)["pledge"]
    assert before["given"] == {"south": "", "north": ""}
    assert before["opened"] is None
    committed = [entry.record for entry in journal.entries(0)]
    assert committed == [Commit(before["commitment"])], "in the journal before anybody sat down"
    south, _, commitment = both_given(place)
    assert commitment == before["commitment"]
    assert f'data-pledge="0 {commitment}"' in page_of(south, "/seat/south"), "nothing is left to give"
    assert f" {commitment} south" not in page_of(south, "/seat/south")
    begin(place, "binmat", options=FULL)
    told = view_of(place)["chance"]
    assert told["commitment"] == commitment
    assert told["is_drawn"]
    assert told["opened"] is None
    assert told["given"] == {"south": "phone", "north": "phone"}
    assert told["words"] == "Chance is committed, and both seats have contributed."
    kinds = [type(entry.record) for entry in sorted(journal.entries(), key=lambda entry: entry.id)]
    assert kinds.index(Commit) < kinds.index(Contribute) < kinds.index(NewGame)
    place.table.resign(Seat.SOUTH)
    assert view_of(place)["chance"]["opened"] is None, "cards lie hidden: the resignation may be taken back"
    assert south.post("/api/seat/south/disclose", json={}).status_code == 200
    opened = view_of(place)["chance"]["opened"]
    assert recomputed(opened) == (commitment, opened["seed"])
    assert opened["contributions"] == {"south": SOUTHS, "north": NORTHS}
    assert opened["faults"] == []
    first = session_of(place.table).turns or session_of(place.table).state
    assert [card for deck in first.decks for card in deck] == dealt(opened["seed"]), "the deal that was played"
    assert place.browser().post("/api/host/undo", json={}, headers=HOST).status_code == 409, "it is over for good"


def test_the_stream_tells_the_commitment_before_anybody_can_give(place: Place) -> None:
    south = place.sit("south")
    commitment = pledge_at(place)
    stream = south.get("/live/seat/south", buffered=False)
    first = b"".join(islice(stream.response, 2)).decode()
    stream.close()
    assert f'data-pledge="0 {commitment} south"' in first


def test_the_next_game_has_a_secret_of_its_own(place: Place) -> None:
    south, _, commitment = both_given(place)
    begin(place, "kahmate")
    assert pledge_at(place) == commitment, "nothing is drawn before both have placed"
    place.table.abandon()
    after = view_of(place)
    assert after["chance"]["opened"]["secret"]
    assert after["pledge"]["commitment"] != commitment
    assert after["pledge"]["given"] == {"south": "", "north": ""}
    assert give(south, "south", commitment, SOUTHS) == 409, "replayed from the game before"
    assert give(south, "south", pledge_at(place), SOUTHS) == 200


def test_a_restart_keeps_the_commitment_and_what_was_given(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        _, _, commitment = both_given(place)
    with open_place(tmp_path) as place:
        told = view_of(place)["pledge"]
        assert told["commitment"] == commitment
        assert told["given"] == {"south": "phone", "north": "phone"}
        begin(place, "kahmate")
        live = session_of(place.table)
        assert journal_of(place.table).restore() == live
    with open_place(tmp_path) as place:
        assert session_of(place.table).chance == live.chance


def test_without_its_secret_the_table_commits_anew(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        _, _, commitment = both_given(place)
        journal_of(place.table).renew_key("chance")
    with open_place(tmp_path) as place:
        told = view_of(place)["pledge"]
        assert told["commitment"] != commitment
        assert told["given"] == {"south": "", "north": ""}


# ---- who gives -------------------------------------------------------------------------------------------------------


def test_hostile_contributions_change_nothing(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    commitment = pledge_at(place)
    for value in ("", "xy" * 32, "AB" * 32, "ab" * 40, "a" * 5000, 7, None, ["ab" * 32], {"ab": 1}, True):
        assert give(south, "south", commitment, value) in (400, 413), value
    assert give(south, "south", "00" * 32, SOUTHS) == 409
    assert give(south, "south", 7, SOUTHS) == 400
    assert give(south, "north", commitment, SOUTHS) == 403, "the other's seat"
    assert give(place.browser(), "south", commitment, SOUTHS) == 403, "nobody's seat"
    body = {"commitment": commitment, "value": SOUTHS, "by": "pad"}
    assert south.post("/api/seat/south/contribute", json=body).status_code == 400
    assert view_of(place)["pledge"]["given"] == {"south": "", "north": ""}
    assert give(south, "south", commitment, SOUTHS) == 200
    assert give(south, "south", commitment, SOUTHS) == 200, "the same once more"
    answer = south.post("/api/seat/south/contribute", json={"commitment": commitment, "value": NORTHS})
    assert error_of(answer)["message"] == "South has already contributed to the chance of this game"
    begin(place, "binmat", options=FULL)
    late = north.post("/api/seat/north/contribute", json={"commitment": commitment, "value": NORTHS})
    assert error_of(late)["message"] == "It is too late to contribute to the chance of this game"
    fair = session_of(place.table).chance
    assert fair
    assert fair.contributions == {Seat.SOUTH: Contribution(SOUTHS, "phone")}
    assert view_of(place)["chance"]["words"] == "Chance: no contribution from North."


def test_whoever_sits_down_next_gives_anew(place: Place) -> None:
    south, _, commitment = both_given(place)
    south.post("/api/seat/south/leave", json={})
    assert view_of(place)["pledge"]["given"] == {"south": "", "north": "phone"}
    assert give(place.sit("south"), "south", commitment, "11" * 32) == 200


def test_one_phone_for_both_is_named(place: Place) -> None:
    phone = place.browser()
    for seat in SEATS:
        phone.post(f"/api/seat/{seat}/take", json={})
    commitment = pledge_at(place)
    assert [give(phone, seat, commitment, SOUTHS) for seat in SEATS] == [200, 200]
    begin(place, "kahmate")
    assert view_of(place)["chance"]["words"] == "Chance: one phone contributed for both seats."


def test_pads_give_the_times_of_their_first_presses(place: Place) -> None:
    place.table.devices.pressed(Press(Seat.SOUTH, PadKey.UP, at_s=12.5))
    place.clock.advance(20)
    place.table.devices.pressed(Press(Seat.SOUTH, PadKey.UP, at_s=14.0))
    place.table.step()
    assert view_of(place)["pledge"]["given"] == {"south": "pad", "north": ""}
    begin(place, "kahmate")
    place.table.devices.pressed(Press(None, PadKey.TABLE, at_s=18.0))
    place.table.step()
    fair = session_of(place.table).chance
    assert fair
    assert fair.contributions == {Seat.SOUTH: Contribution("pad-12500000000", "pad")}
    place.table.devices.pressed(Press(Seat.NORTH, PadKey.UP, at_s=18.25))
    place.table.step()
    fair = session_of(place.table).chance
    assert fair is not None
    assert fair.contributions[Seat.NORTH] == Contribution("pad-18250000000", "pad"), "nothing is drawn yet"


def test_the_tables_button_gives_for_seats_at_pads(place: Place) -> None:
    phone = place.sit("north")
    place.table.devices.pressed(Press(Seat.SOUTH, PadKey.UP, at_s=1.0))
    place.table.step()
    begin(place, "kahmate")
    place.table.resign(Seat.SOUTH)
    place.table.devices.pressed(Press(None, PadKey.TABLE, at_s=99.0))
    place.clock.advance(100)
    place.table.devices.pressed(Press(None, PadKey.TABLE, at_s=99.5))
    place.table.step()
    fair = session_of(place.table).chance
    assert fair
    assert {seat: each.by for seat, each in fair.contributions.items()} == {Seat.SOUTH: "table"}
    assert give(phone, "north", fair.commitment, NORTHS) == 200


# ---- what is secret --------------------------------------------------------------------------------------------------

CHANNELS = ("/", "/watch", "/host", "/api/view", "/history", "/api/history", "/history/1", "/join", "/pass", "/doctor",
            "/api/seat/south/view", "/seat/south", "/seat/north", "/health", "/history/1.json",
            "/history/1.txt", "/api/seat/south/mine", "/nowhere")  # fmt: skip


def everything(place: Place, browsers: tuple[Any, ...]) -> list[str]:
    return [
        f"{path} {browser.get(path, headers=HOST).get_data(as_text=True)}" for browser in browsers for path in CHANNELS
    ]


@pytest.mark.parametrize("game", ["binmat", "kahmate"])
def test_secret_and_seed_are_nowhere_before_the_end(place: Place, game: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    south, north, _ = both_given(place)
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
    for hidden in (lobby, f"{fair.seed:064x}", str(fair.seed), SOUTHS, NORTHS, fair.text):
        assert not [text[:40] for text in seen if hidden in text]


def test_games_that_differ_only_in_the_secret_look_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def played(number: int) -> list[str]:
        monkeypatch.setattr(Journal, "renew_key", _with_key(bytes([number]) * 32))
        monkeypatch.setattr("secrets.token_urlsafe", lambda _: "nonce")
        monkeypatch.setattr("secrets.token_hex", lambda _: "5a17")
        with open_place(tmp_path / str(number)) as place:
            south, north, commitment = both_given(place)
            seen = everything(place, (south, north, place.browser()))
            begin(place, "kahmate")
            to_placing(place)
            seen += everything(place, (south, north, place.browser()))
            shown = " ".join(commitment[at : at + 4] for at in range(0, 16, 4))
            groups = "".join(f"<span>{commitment[at : at + 4]}</span>" for at in range(0, 64, 4))
            return [text.replace(commitment, "C").replace(shown, "C").replace(groups, "C") for text in seen]

    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    for one, other in zip(played(1), played(2), strict=True):
        assert one == other


def _with_key(value: bytes) -> Any:
    def renew(journal: Journal, name: str, length: int = 32) -> bytes:
        journal.database.write(lambda db: db.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (name, value)))
        return value

    return renew


# ---- taking back -----------------------------------------------------------------------------------------------------


def test_what_was_drawn_is_drawn_again_after_a_take_back(place: Place) -> None:
    south, _, commitment = both_given(place)
    begin(place, "kahmate")
    to_placing(place)
    place_pieces(place)
    first = session_of(place.table)
    place.table.undo()
    assert session_of(place.table).tick > first.tick, "what was given for the turn that was taken back is for no other"
    to_placing(place)
    assert give(south, "south", commitment, "22" * 32) == 409, "it would draw anew"
    assert view_of(place)["chance"]["is_drawn"]
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
    ("binmat", {"options": FULL, "seed": 7}, "The chance of this game was chosen by the host."),
    ("binmat", {"options": {**FULL, "deck": list(DECK)}}, "The deal of this game was chosen by the host."),
    ("binmat", {"options": {**FULL, "deck": list(DECK)}, "seed": 7}, "The deal of this game was chosen by the host."),
    ("kahmate", {"seed": 7}, "The chance of this game was chosen by the host."),
    ("kahmate", {"options": {"starter": "south"}}, "Who begins this game was chosen by the host."),
    ("kahmate", {"options": {"ball_card": 3}}, "The ball’s card of this game was chosen by the host."),
    ("kahmate", {"options": {"ball_card": 3, "starter": "north"}},
     "The ball’s card and who begins were chosen by the host."),
]  # fmt: skip


@pytest.mark.parametrize(("game", "body", "words"), CHOSEN)
def test_a_chosen_chance_is_announced_everywhere(place: Place, game: str, body: dict[str, Any], words: str) -> None:
    south, north, _ = both_given(place)
    begin(place, game, **body)
    to_placing(place)
    places = [(place.browser(), path) for path in ("/", "/watch", "/api/view", "/host", "/history", "/api/history")]
    places += [(south, "/seat/south"), (north, "/seat/north"), (north, "/api/seat/north/view"), (south, "/history/1")]
    for browser, path in places:
        page = browser.get(path, headers=HOST).get_data(as_text=True)
        if path.startswith("/api"):
            page = json.dumps(json.loads(page), ensure_ascii=False)
        assert words in page, path
    told = state_of(place.table.view(), "en")["chance"]
    assert told
    assert told["words"].startswith(words)
    assert "both sealed orders" not in told["words"], "there are two tables only where a hub is"
    assert told["is_chosen"]
    place.table.resign(Seat.SOUTH)
    begin(place, "outbuffered")
    for path in ("/history", "/history/1"):
        assert words in page_of(south, path), path
    assert words in south.get("/api/history").get_json()["games"][1]["chosen"]
    played = msgspec.json.decode(south.get("/history/1.json").data, type=GameFile)
    assert played.is_chosen is ("seed" in body)
    assert words in "\n".join(retell(played))
    assert read_sheet(write_sheet(played)) == played


def test_it_is_announced_on_covers_pads_and_the_workbench(place: Place) -> None:
    phone = place.browser()
    phone.post("/pass", data={"south": "Ann", "north": "Bob"})
    begin(place, "binmat", options=FULL, seed=3)
    words = "The chance of this game was chosen by the host."
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


@pytest.mark.parametrize("game", ["outbuffered", "scouts", "arena"])
def test_where_nothing_is_drawn_no_page_speaks_of_chance(place: Place, game: str) -> None:
    south, north, _ = both_given(place)
    begin(place, game, seed=5)
    for browser, path in ((place.browser(), "/"), (south, "/seat/south"), (north, "/watch"), (north, "/history")):
        assert not _speaks(page_of(browser, path)), path
    assert view_of(place)["chance"] is None
    assert state_of(place.table.view(), "en")["chance"] is None
    place.table.resign(Seat.SOUTH)
    assert not _speaks(page_of(south, "/history/1"))
    assert not _speaks(page_of(south, "/seat/south"))


def _speaks(page: str) -> bool:
    return "Chance" in page or 'class="chance' in page or "data-chance" in page


def test_a_rematch_of_a_chosen_game_is_drawn(place: Place) -> None:
    both_given(place)
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
    """A game of Kahmate to which both phones gave, as a file."""
    both_given(place)
    begin(place, "kahmate")
    to_placing(place)
    place_pieces(place)
    place.table.resign(Seat.SOUTH)
    return game_file(session_of(place.table))


def test_file_and_notation_carry_the_proof(place: Place) -> None:
    played = finished(place)
    assert played.chance is not None
    plain = json.loads(msgspec.json.encode(played))
    opened = {"secret": plain["chance"]["secret"]}
    opened["contributions"] = {seat: each["value"] for seat, each in plain["chance"]["contributions"].items()}
    assert recomputed(opened) == (plain["chance"]["commitment"], f"{plain['seed']:064x}")
    assert read_sheet(write_sheet(played)) == played
    assert "commitment, contributions and seed match" in "\n".join(retell(played))


def test_the_check_for_outsiders_is_all_it_takes(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = finished(place)
    block = re.search(r"## Fair chance.*?```python\n(.*?)```", SECURITY.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    Path("game-1.json").write_bytes(msgspec.json.encode(played))
    known: dict[str, Any] = {}
    exec(block[1], known)
    assert f"Card {known['first'].randint(1, 6)}: the ball lies on" in "\n".join(retell(played))
    forged = _forged(played, "contribution")
    Path("game-1.json").write_bytes(msgspec.json.encode(forged))
    with pytest.raises(AssertionError):
        exec(block[1], known)


def _forged(played: GameFile, what: str) -> GameFile:
    fair = played.chance
    assert fair is not None
    if what == "seed":
        return msgspec.structs.replace(played, seed=played.seed + 1)
    changed: dict[str, Any] = {"secret": "00" * 32} if what == "secret" else {}
    if what == "contribution":
        changed = {"contributions": {**fair.contributions, Seat.SOUTH: Contribution("11" * 32, "phone")}}
    return msgspec.structs.replace(played, chance=msgspec.structs.replace(fair, **changed))


@pytest.mark.parametrize("what", ["seed", "secret", "contribution"])
def test_a_forged_file_is_refused(place: Place, what: str) -> None:
    forged = _forged(finished(place), what)
    with pytest.raises(Malformed, match=r"does not (fit|come from)"):
        list(retell(forged))
    for content in (msgspec.json.encode(forged), write_sheet(forged).encode()):
        answer = place.browser().post("/history", headers=HOST, data={"file": (io.BytesIO(content), "game.json")})
        assert answer.status_code == 400
        assert "The seed does not come from" in answer.get_data(as_text=True)


def test_every_end_opens_it(place: Place) -> None:
    both_given(place)
    for end in ("resign", "abandon", "draw"):
        begin(place, "kahmate")
        to_placing(place)
        if end == "resign":
            place.table.resign(Seat.NORTH)
        elif end == "abandon":
            place.table.abandon()
        else:
            for seat in SEATS:
                place.table.offer_draw(seat)
        opened = view_of(place)["chance"]["opened"]
        assert recomputed(opened)[1] == opened["seed"], end
        assert place.table.view().phase is Phase.OVER


def test_a_table_that_cannot_write_still_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from companion.core.errors import JournalError  # noqa: PLC0415 - named where it is raised

    def full(*_: object, **__: object) -> bytes:
        raise JournalError("full")

    with Journal(tmp_path / "journal.sqlite") as journal:
        monkeypatch.setattr(Journal, "renew_key", full)
        monkeypatch.setattr(Journal, "key", full)
        with Table(journal, FakeClock()) as table:
            assert table.view().fairness.pledge is None
            with pytest.raises(JournalError):
                table.new_game("kahmate")
            monkeypatch.undo()
            table.new_game("kahmate")
            assert table.view().fairness.chance is not None


def test_no_backup_holds_the_secret_of_a_game_that_is_on(tmp_path: Path) -> None:
    settings = Settings(state_dir=str(tmp_path))
    with open_place(tmp_path) as place:
        both_given(place)
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
        _, _, commitment = both_given(place)
    settings = Settings(state_dir=str(first))
    target = io.BytesIO()
    make_backup(settings, first / "settings.toml", FakeClock(), False, target)
    with zipfile.ZipFile(target) as archive:
        (second / "journal.sqlite").write_bytes(archive.read("journal.sqlite"))
    with open_place(second) as place:
        told = view_of(place)["pledge"]
        assert told["commitment"] != commitment
        assert told["given"] == {"south": "", "north": ""}
