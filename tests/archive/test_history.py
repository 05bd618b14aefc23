"""The games played: listed, told again, given away and brought in, removed, forgotten, counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from history_tools import GAME_OPTIONS, play, random_game
from internals import database_of

from companion.archive.game_import import MAX_TURNS
from companion.archive.game_summary import MAX_GAP_S
from companion.archive.history import History
from companion.archive.photographs import PhotographAlbum
from companion.archive.played_games import Ending
from companion.archive.scoresheet import format_score_sheet
from companion.cli.main import main
from companion.core.clock import FakeClock
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS
from companion.storage.journal import Journal
from companion.table.table import Table

SOUTH, NORTH = SEATS


class Room:
    """A table, its journal and its history."""

    def __init__(self, folder: Path, journal: Journal, table: Table, clock: FakeClock) -> None:
        self.journal, self.table, self.clock, self.folder = journal, table, clock, folder
        self.album = PhotographAlbum(folder / "photographs")
        self.past = self.fresh()

    def fresh(self) -> History:
        """Reopen the history as after a restart."""
        return History(
            self.journal,
            self.folder / "history",
            self.clock,
            current_game=lambda: self.table.progress().number,
            album=self.album,
        )

    def play(
        self, name: str = "outbuffered", turns: int = 2, seed: int = 1, end: str = "resign"
    ) -> None:
        play(self.table, self.clock, name, turns, seed, end)


@contextmanager
def a_room(folder: Path) -> Iterator[Room]:
    clock = FakeClock()
    with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:
        yield Room(folder, journal, table, clock)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with a_room(tmp_path) as opened:
        for seat, name in zip(SEATS, ("Ann", "Bob"), strict=True):
            opened.table.take_seat(seat, name)
        yield opened


def names(room: Room, number: int) -> list[str]:
    line = room.past.line(number)
    assert line is not None
    return [player.name for seat in SEATS for player in line.players.get(seat, ())]


# ---- the list ------------------------------------------------------------------------------------


def test_a_line_tells_players_game_time_and_end(room: Room) -> None:
    room.play(turns=2)
    (line,) = room.past.lines()
    assert (line.number, line.title, line.turns, line.begun) == (
        1,
        "Outbuffered",
        2,
        1_700_000_000.0,
    )
    assert (line.ending, line.winners, line.reason) == (
        Ending.WON,
        (NORTH,),
        "Purple resigns.",
    )
    assert line.players[SOUTH][0].door == "phone"
    assert names(room, 1) == ["Ann", "Bob"]
    assert line.length_s == room.clock.monotonic_s() - 0.0
    assert not line.options
    assert room.past.line(2) is None


def test_setting_the_clock_changes_no_length(room: Room) -> None:
    room.clock.set_wall(1_600_000_000.0)
    room.table.new_game("outbuffered")
    room.clock.advance(50.0)
    room.clock.set_wall(1_800_000_000.0)
    room.table.abandon()
    (line,) = room.past.lines()
    assert (line.begun, line.length_s) == (0.0, 50.0)


def test_a_game_that_is_on_has_no_replay(room: Room) -> None:
    """What cards hide stays so until the end."""
    room.play("binmat", turns=6, end="resign")
    assert room.past.replay(1).scene(3).hands
    room.play("outbuffered", turns=6, end="on")
    line = room.past.lines()[0]
    assert (line.ending, line.has_replay) == (Ending.ON, False)
    for ask in (room.past.replay, room.past.as_json, room.past.as_text, room.past.picture):
        with pytest.raises(Illegal, match="still on"):
            ask(line.number)


def test_a_game_is_folded_once(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.play()
    before = room.past.lines()
    monkeypatch.setattr(
        room.journal,
        "entries_until_damage",
        lambda game: pytest.fail(f"game {game} is folded again"),
    )
    assert room.past.lines() == before
    assert room.fresh().lines() == before
    (room.folder / "history" / "1.json").write_text("{", encoding="utf-8")
    monkeypatch.undo()
    assert room.fresh().lines() == before


def test_turns_reversed_after_the_end_count_anew(room: Room) -> None:
    room.play(turns=2)
    assert room.past.lines()[0].turns == 2
    room.table.undo()
    assert room.past.lines()[0].ending is Ending.ON
    assert room.past.lines()[0].turns == 1


def test_who_sat_there_is_who_sat_there_then(room: Room) -> None:
    room.play(turns=1)
    room.table.free_seat(SOUTH)
    room.table.take_seat(SOUTH, "Cleo")
    room.play(turns=1, seed=2, end="on")
    room.table.free_seat(NORTH)
    room.table.take_seat(NORTH, "Dan", "pad")
    room.table.resign(SOUTH)
    assert names(room, 1) == ["Ann", "Bob"]
    assert names(room, 2) == ["Cleo", "Bob", "Dan"]


def test_time_asleep_does_not_count(room: Room) -> None:
    room.play(turns=1, end="on")
    room.clock.advance(9 * 3600.0)
    room.table.resign(SOUTH)
    assert MAX_GAP_S < room.past.lines()[0].length_s < MAX_GAP_S + 60


@pytest.mark.parametrize(
    "damage", ["x", '{"is":"hand_in","seat":"south","moment":"1.9","action":"UUU"}']
)
def test_a_damaged_game_is_listed_with_a_sentence(room: Room, damage: str) -> None:
    room.play(turns=2)
    room.play(turns=1)
    statement = (
        "UPDATE entries SET record = ? WHERE id = (SELECT MAX(id) - 2 FROM entries WHERE game = 1)"
    )
    database_of(room.journal).execute(statement, (damage.encode(),))
    new, old = room.past.lines()
    assert (new.ending, old.ending) == (Ending.WON, Ending.BROKEN)
    assert "cannot be read" in old.reason or "rules have changed" in old.reason
    with pytest.raises(Malformed):
        room.past.replay(1)


# ---- telling again -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_every_game_is_told_again_to_its_end(room: Room, name: str) -> None:
    room.past.import_game(msgspec.json.encode(random_game(name, 3, 60)))
    replay = room.past.replay(1)
    assert replay.trouble == ""
    firsts = [turn.first_scene for turn in replay.turns]
    lasts = [turn.last_scene for turn in replay.turns]
    assert firsts == [1, *(last + 1 for last in lasts[:-1])]
    assert lasts[-1] == replay.scene_count - 1
    scenes = [replay.scene(index) for index in range(replay.scene_count)]
    assert {scene.turn for scene in scenes} == set(range(len(replay.turns) + 1))
    if name == "binmat":
        assert scenes[-1].lanes
        assert scenes[1].count
    else:
        assert any(scene.moves for scene in scenes)
    with pytest.raises(IndexError):
        replay.scene(replay.scene_count)


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_a_review_uses_what_the_seat_knew(room: Room, name: str) -> None:
    play(room.table, room.clock, name, turns=4)
    replay = room.past.replay(1)
    for turn in replay.turns:
        for seat in SEATS:
            known = replay.known_to(turn.number, seat)
            assert (known is not None) is (seat in turn.actions)
            if known is not None:
                view, action = known
                assert (view.moment, action) == (turn.moment, turn.actions[seat].action)
                assert len(view.events) == turn.number - 1


def test_photographs_belong_to_the_end_of_their_turn(room: Room) -> None:
    for moment in ("1.0", "1.2"):
        room.album.store(1, moment, b"jpeg")
    room.play(turns=2)
    replay = room.past.replay(1)
    assert [replay.photograph_moment(turn) for turn in range(3)] == ["1.0", "", "1.2"]


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_exported_games_can_be_imported_elsewhere(room: Room, tmp_path: Path, name: str) -> None:
    room.play(name, turns=3)
    room.play(turns=0, end="abandon")
    text, plain = room.past.as_text(1), room.past.as_json(1)
    mine = room.past.line(1)
    (tmp_path / "other").mkdir()
    with a_room(tmp_path / "other") as other:
        number = other.past.import_game(plain)
        line = other.past.line(number)
        assert line is not None
        assert mine is not None
        assert line == replace(mine, length_s=0.0, players=line.players, is_imported=True)
        assert [sitters[-1].name for sitters in line.players.values()] == ["Ann", "Bob"]
        assert other.past.as_text(number) == text
        with pytest.raises(Illegal, match="here already: number 1"):
            other.past.import_game(plain)
    with pytest.raises(Illegal, match="here already: number 1"):
        room.past.import_game(plain)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"seed":4', '"seed":4,"x":1', "This is not a game file"),
        ('"outbuffered"', '"chess"', "There is no game “chess”"),
        ('"options":{}', '"options":{"x":1}', "Option of outbuffered"),
        ('"7.2"', '"7.3"', "Turn 2: the receipt of"),
        ('"reason":"Purple resigns."', '"reason":"Moo."', "not over after its last turn"),
        ('"players":{}', '"players":{"south":"' + "n" * 25 + '"}', "A name may have at most 24"),
        ('"begun":0.0', '"begun":1e300', "not a valid date"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(room: Room, old: str, new: str, words: str) -> None:
    text = msgspec.json.encode(random_game("outbuffered", 4, 2)).decode()
    assert old in text
    with pytest.raises(Malformed) as refused:
        room.past.import_game(text.replace(old, new).encode())
    assert words in refused.value.message
    assert room.past.count() == 0


def test_files_of_no_sense_are_refused(room: Room) -> None:
    game = random_game("outbuffered", 4, 2)
    endless = msgspec.structs.replace(game, turns=game.turns * MAX_TURNS)
    action = game.turns[0].actions[SOUTH].action
    changed = msgspec.json.encode(game).replace(action.encode(), b"UUX", 1)
    for content, words in (
        (b"\xff\xd8\xff", "This is not a game file"),
        (b"{" * 5000, "This is not a game file"),
        (b'[Game "outbuffered"]', "choose the game’s JSON file"),
        (msgspec.json.encode(random_game("outbuffered", 4, 0)), "The game has 0 turns"),
        (msgspec.json.encode(endless), "at most 1000000 bytes"),
        (changed, "Turn 1 cannot be played"),
    ):
        with pytest.raises(Malformed, match=words):
            room.past.import_game(content)


# ---- removing and forgetting ---------------------------------------------------------------------


def test_a_removed_game_takes_its_photographs_along(room: Room) -> None:
    room.play(turns=1)
    room.album.store(1, "1.0", b"jpeg")
    room.play(turns=1, seed=2)
    room.past.lines()
    with pytest.raises(Illegal, match="Game 2 lies on the table"):
        room.past.remove(2)
    room.past.remove(1)
    assert [line.number for line in room.past.lines()] == [2]
    assert room.album.moments(1) == ()
    assert not (room.folder / "history" / "1.json").exists()
    number = room.past.import_game(msgspec.json.encode(random_game("scouts", 1, 3)))
    assert number == 3
    room.past.remove(3)
    assert room.journal.next_number() == 4
    with pytest.raises(Malformed, match="no game 3"):
        room.past.remove(3)


def test_a_player_can_be_forgotten(room: Room) -> None:
    room.play(turns=1)
    room.past.import_game(msgspec.json.encode(random_game("arena", 1, 2, {NORTH: "ANN"})))
    assert room.past.forget(" ann ") == 2
    room.play(turns=1, seed=2)
    assert (names(room, 1), names(room, 2), names(room, 3)) == (["—", "Bob"], ["—"], ["Ann", "Bob"])
    assert '[South "—"]' in room.past.as_text(1)
    assert b'"ANN"' not in room.past.as_json(2)
    assert [(record.name, record.total.games) for record in room.past.statistics()] == [
        ("Bob", 2),
        ("Ann", 1),
    ]
    kept = database_of(room.journal).execute("SELECT * FROM forgotten").fetchall()
    assert b"ann" not in repr(kept).lower().encode()
    with pytest.raises(Malformed, match="Nobody by that name"):
        room.past.forget("Zoe")


# ---- statistics ----------------------------------------------------------------------------------


def test_players_are_counted_by_name_and_game(room: Room) -> None:
    room.play(turns=2)
    room.play(turns=2, seed=2, end="abandon")
    room.table.free_seat(SOUTH)
    room.table.take_seat(SOUTH, "BOB")
    room.play(turns=1, seed=3)  # against himself
    ann, bob = room.past.statistics()
    assert (ann.name, ann.total.games, ann.total.wins, ann.total.ties) == ("Ann", 1, 0, 0)
    assert (bob.total.games, bob.total.wins) == (1, 1)
    (own,) = bob.by_game
    assert own.name == "Outbuffered"


def test_machines_are_counted_apart_from_players(room: Room) -> None:
    room.table.free_seat(NORTH)
    room.table.machines.seat_machine(NORTH, "Bo")
    room.play(turns=1)
    room.table.machines.unseat_machine(NORTH)
    room.table.take_seat(NORTH, "Bob")
    room.play(turns=1, seed=2)
    records = {record.name: record for record in room.past.statistics()}
    assert set(records) == {"Ann", "Bob"}
    assert (records["Ann"].total.games, records["Bob"].total.games) == (1, 1)
    (against,) = records["Ann"].by_character
    assert (against.name, against.games, against.wins, against.ties) == ("Bo", 1, 0, 0)
    assert not records["Bob"].by_character


def test_imported_games_know_machines_and_coached_seats(room: Room) -> None:
    played = msgspec.structs.replace(
        random_game("arena", 1, 2, {SOUTH: "Ann", NORTH: "Bo"}),
        machines=(NORTH,),
        coached=(SOUTH,),
    )
    number = room.past.import_game(msgspec.json.encode(played))
    line = room.past.line(number)
    assert line is not None
    assert (line.players[NORTH][0].door, line.coached) == ("machine", (SOUTH,))
    assert room.past.statistics() == (), "with the coach it does not count"
    assert room.past.file(number).machines == (NORTH,)


# ---- the command line ----------------------------------------------------------------------------


def test_the_command_line_lists_exports_imports_and_tells(
    room: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room.play(turns=2)
    here, there = (["--state-dir", str(tmp_path / name)] for name in ("", "there"))
    file = str(tmp_path / "game.json")
    for line, code, words in (
        (["export", "1", "--text", *here], 0, '[Game "outbuffered"]'),
        (["export", "1", "-o", file, *here], 0, ""),
        (["import", file, *there], 0, "is game 1 now"),
        (["import", file, *there], 1, "here already: number 1"),
        (["history", *there], 0, "Ann – Bob (from elsewhere): 2 decisions. Purple resigns."),
        (["history", "--json", *here], 0, '{"name":"Ann","door":"phone"}'),
        (["replay", file], 0, "Purple resigns."),
        (["replay", "1", *there], 0, "Purple resigns."),
        (["export", "1", *here], 0, '"game": "outbuffered"'),
        (["export", "5", *here], 1, "There is no game 5"),
    ):
        assert main(line) == code
        told = capsys.readouterr()
        assert words in told.out + told.err


def test_a_sheet_reads_like_a_game() -> None:
    played = random_game("outbuffered", 4, 2, {SEATS[0]: "Ann"}, 1_700_000_000.5)
    first = played.turns[0].actions
    assert format_score_sheet(played).splitlines()[:12] == [
        '[Game "outbuffered"]',
        "[Options {}]",
        "[Seed 4]",
        '[Begun "2023-11-14T22:13:20Z"]',
        '[South "Ann"]',
        '[Result "north"]',
        '[Reason "Purple resigns."]',
        "",
        f"1. south {first[SEATS[0]].action} | north {first[SEATS[1]].action}",
        f"2. south {played.turns[1].actions[SEATS[0]].action}"
        f" | north {played.turns[1].actions[SEATS[1]].action}",
        "",
        "[Receipts]",
    ]


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_a_sheet_has_each_order_with_its_proof(name: str) -> None:
    played = random_game(name, 3, 3)
    lines = format_score_sheet(played).splitlines()
    for number, turn in enumerate(played.turns, start=1):
        acts, proof = (line for line in lines if line.startswith(f"{number}. "))
        assert f"{number}. {turn.moment} | " in proof
        for seat, order in turn.actions.items():
            assert f"{seat} {order.action}" in acts
            assert f"{seat} {order.salt} {order.receipt}" in proof
