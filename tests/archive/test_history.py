"""Test the archive of games by values: list, replay, export and import, removal, and statistics.

Games are played at a real table with a journal. The last part uses the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from archive_tools import ArchiveRig, open_archive
from history_tools import GAME_OPTIONS, play, random_game
from internals import database_of

from companion.archive.game_import import MAX_TURNS
from companion.archive.game_summary import MAX_GAP_S
from companion.archive.played_games import Ending
from companion.archive.scoresheet import format_score_sheet
from companion.cli.main import main
from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS

SOUTH, NORTH = SEATS


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[ArchiveRig]:
    """The archive of a table at which Ann plays South and Bob plays North."""
    with open_archive(tmp_path) as opened:
        for seat, name in zip(SEATS, ("Ann", "Bob"), strict=True):
            opened.table.take_seat(seat, name)
        yield opened


def player_names(archive: ArchiveRig, number: int) -> list[str]:
    """Return the names of all who have played a game, first those of South."""
    line = archive.history.line(number)
    assert line is not None
    return [player.name for seat in SEATS for player in line.players.get(seat, ())]


# ---- the list ------------------------------------------------------------------------------------


def test_a_line_has_players_game_time_and_ending(archive: ArchiveRig) -> None:
    """This is what the list of games says of a game that South has resigned."""
    archive.play(turns=2)
    (line,) = archive.history.lines()
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
    assert player_names(archive, 1) == ["Ann", "Bob"]
    assert line.length_s == archive.clock.monotonic_s() - 0.0
    assert not line.options
    assert archive.history.line(2) is None


def test_setting_the_clock_does_not_change_lengths(archive: ArchiveRig) -> None:
    """A machine without a battery for its clock learns the time during a game."""
    archive.clock.set_wall(1_600_000_000.0)
    archive.table.new_game("outbuffered")
    archive.clock.advance(50.0)
    archive.clock.set_wall(1_800_000_000.0)
    archive.table.abandon()
    (line,) = archive.history.lines()
    assert (line.begun, line.length_s) == (0.0, 50.0)


def test_a_running_game_has_no_replay(archive: ArchiveRig) -> None:
    """The replay of a game shows hidden cards, so there is none before the end."""
    archive.play("binmat", turns=6, end="resign")
    assert archive.history.replay(1).scene(3).hands
    archive.play("outbuffered", turns=6, end="on")
    line = archive.history.lines()[0]
    assert (line.ending, line.has_replay) == (Ending.ON, False)
    for read in (
        archive.history.replay,
        archive.history.as_json,
        archive.history.as_text,
        archive.history.picture,
    ):
        with pytest.raises(Illegal, match="still on"):
            read(line.number)


def test_a_game_is_folded_once(archive: ArchiveRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folding takes long, so the list of all games must not do it for each page."""
    archive.play()
    lines_before = archive.history.lines()

    # The second list and a list after a restart come from the cache.
    monkeypatch.setattr(
        archive.journal,
        "entries_until_damage",
        lambda game: pytest.fail(f"game {game} is folded again"),
    )
    assert archive.history.lines() == lines_before
    assert archive.reopened_history().lines() == lines_before

    # A damaged file of the cache is ignored: the game is folded again.
    monkeypatch.undo()
    (cached,) = (archive.folder / "history").glob("1-*.summary")
    cached.write_text("{", encoding="utf-8")
    assert archive.reopened_history().lines() == lines_before


def test_undoing_the_end_reopens_a_listed_game(archive: ArchiveRig) -> None:
    archive.play(turns=2)
    assert archive.history.lines()[0].turns == 2
    archive.table.undo()
    assert archive.history.lines()[0].ending is Ending.ON
    assert archive.history.lines()[0].turns == 1


def test_a_game_lists_those_who_played_it(archive: ArchiveRig) -> None:
    archive.play(turns=1)
    # Cleo replaces Ann between two games.
    archive.table.free_seat(SOUTH)
    archive.table.take_seat(SOUTH, "Cleo")
    # Dan replaces Bob during the second game, so both of them have played it.
    archive.play(turns=1, seed=2, end="on")
    archive.table.free_seat(NORTH)
    archive.table.take_seat(NORTH, "Dan", "pad")
    archive.table.resign(SOUTH)
    assert player_names(archive, 1) == ["Ann", "Bob"]
    assert player_names(archive, 2) == ["Cleo", "Bob", "Dan"]


def test_a_long_break_hardly_counts_as_length(archive: ArchiveRig) -> None:
    archive.play(turns=1, end="on")
    archive.clock.advance(9 * 3600.0)
    archive.table.resign(SOUTH)
    assert MAX_GAP_S < archive.history.lines()[0].length_s < MAX_GAP_S + 60


# Not JSON, and an order for a moment that does not come.
@pytest.mark.parametrize(
    "damage", ["x", '{"is":"hand_in","seat":"south","moment":"1.9","action":"UUU"}']
)
def test_a_damaged_game_is_listed_as_broken(archive: ArchiveRig, damage: str) -> None:
    """The list says so of this game, and shows all others as before."""
    archive.play(turns=2)
    archive.play(turns=1)
    statement = (
        "UPDATE entries SET record = ? WHERE id = (SELECT MAX(id) - 2 FROM entries WHERE game = 1)"
    )
    database_of(archive.journal).execute(statement, (damage.encode(),))
    new, old = archive.history.lines()
    assert (new.ending, old.ending) == (Ending.WON, Ending.BROKEN)
    assert "cannot be read" in old.reason or "rules have changed" in old.reason
    with pytest.raises(Malformed):
        archive.history.replay(1)


# ---- replays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_every_game_is_replayed_to_its_end(archive: ArchiveRig, name: str) -> None:
    archive.history.import_game(msgspec.json.encode(random_game(name, 3, 60)))
    replay = archive.history.replay(1)
    assert replay.trouble == ""

    # The scenes of the turns follow each other without a gap. Scene 0 is the start.
    firsts = [turn.first_scene for turn in replay.turns]
    lasts = [turn.last_scene for turn in replay.turns]
    assert firsts == [1, *(last + 1 for last in lasts[:-1])]
    assert lasts[-1] == replay.scene_count - 1
    scenes = [replay.scene(index) for index in range(replay.scene_count)]
    assert {scene.turn for scene in scenes} == set(range(len(replay.turns) + 1))

    # A game of cards shows lanes and a count, all others moves of pieces.
    if name == "binmat":
        assert scenes[-1].lanes
        assert scenes[1].count
    else:
        assert any(scene.moves for scene in scenes)
    with pytest.raises(IndexError):
        replay.scene(replay.scene_count)


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_a_review_uses_what_the_seat_knew(archive: ArchiveRig, name: str) -> None:
    """The coach must not judge an action by cards that its player could not see."""
    play(archive.table, archive.clock, name, turns=4)
    replay = archive.history.replay(1)
    for turn in replay.turns:
        for seat in SEATS:
            decision_and_action = replay.decision_of(turn.number_in_file, seat)
            assert (decision_and_action is not None) is (seat in turn.actions)
            if decision_and_action is not None:
                decision, action = decision_and_action
                assert (decision.moment, action) == (turn.moment, turn.actions[seat].action)
                # the events of all turns before this one
                assert len(decision.events) == turn.number_in_file - 1


def test_photographs_belong_to_the_end_of_their_turn(archive: ArchiveRig) -> None:
    for moment in ("1.0", "1.2"):
        archive.album.store(1, moment, b"jpeg")
    archive.play(turns=2)
    replay = archive.history.replay(1)
    # of the set-up and of the second turn
    assert [replay.photograph_moment(turn) for turn in range(3)] == ["1.0", "", "1.2"]


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_exported_games_can_be_imported_elsewhere(
    archive: ArchiveRig, tmp_path: Path, name: str
) -> None:
    """A game file has everything that a replay needs, and can be checked anywhere."""
    # Export the first game. A second one has taken its place on the table.
    archive.play(name, turns=3)
    archive.play(turns=1, end="abandon")
    text = archive.history.as_text(1)
    file = archive.history.as_json(1)
    exported_line = archive.history.line(1)

    # Import it at another table. Only its length and its players' doors are not in the file.
    (tmp_path / "other").mkdir()
    with open_archive(tmp_path / "other") as other:
        number = other.history.import_game(file)
        line = other.history.line(number)
        assert line is not None
        assert exported_line is not None
        assert line == replace(exported_line, length_s=0.0, players=line.players, is_imported=True)
        assert [sitters[-1].name for sitters in line.players.values()] == ["Ann", "Bob"]
        assert other.history.as_text(number) == text

        # Version 1.0 said that the host has ended a game.
        abandoned_file = archive.history.as_json(2).replace(b"The owner", b"The host")
        assert other.history.import_game(abandoned_file) == number + 1

        # A game that is here already is not imported again, wherever it was played.
        with pytest.raises(Illegal, match="here already: number 1"):
            other.history.import_game(file)
    with pytest.raises(Illegal, match="here already: number 1"):
        archive.history.import_game(file)


# A part of a valid file, what replaces it, and words of the refusal.
@pytest.mark.parametrize(
    ("old", "new", "reason"),
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
def test_a_file_that_does_not_fit_is_refused(
    archive: ArchiveRig, old: str, new: str, reason: str
) -> None:
    text = msgspec.json.encode(random_game("outbuffered", 4, 2)).decode()
    assert old in text
    with pytest.raises(Malformed) as refused:
        archive.history.import_game(text.replace(old, new).encode())
    assert reason in refused.value.message
    assert archive.history.count() == 0


def test_meaningless_files_are_refused(archive: ArchiveRig) -> None:
    game = random_game("outbuffered", 4, 2)
    too_long = msgspec.structs.replace(game, turns=game.turns * MAX_TURNS)
    action = game.turns[0].actions[SOUTH].action
    unplayable = msgspec.json.encode(game).replace(action.encode(), b"UUX", 1)
    for content, reason in (
        (b"\xff\xd8\xff", "This is not a game file"),
        (b"{" * 5000, "This is not a game file"),
        (b'[Game "outbuffered"]', "choose the game’s JSON file"),
        (msgspec.json.encode(random_game("outbuffered", 4, 0)), "The game has 0 turns"),
        (msgspec.json.encode(too_long), "at most 1000000 bytes"),
        (unplayable, "Turn 1 cannot be played"),
    ):
        with pytest.raises(Malformed, match=reason):
            archive.history.import_game(content)


# ---- removing and forgetting ---------------------------------------------------------------------


def test_a_removed_game_takes_its_photographs_along(archive: ArchiveRig) -> None:
    """Nothing of a removed game is left but its number."""
    # Play two games. The list puts a summary of each into the cache.
    archive.play(turns=1)
    archive.album.store(1, "1.0", b"jpeg")
    archive.play(turns=1, seed=2)
    archive.history.lines()
    (cached,) = (archive.folder / "history").glob("1-*.summary")

    # Only the game that does not lie on the table can be removed.
    with pytest.raises(Illegal, match="Game 2 lies on the table"):
        archive.history.remove(2)
    archive.history.remove(1)
    assert [line.number for line in archive.history.lines()] == [2]
    assert archive.album.moments(1) == ()
    assert not cached.exists()

    # The number of a removed game is not used again.
    number = archive.history.import_game(msgspec.json.encode(random_game("scouts", 1, 3)))
    assert number == 3
    archive.history.remove(3)
    assert archive.journal.next_number() == 4
    with pytest.raises(Malformed, match="no game 3"):
        archive.history.remove(3)


def test_a_player_can_be_forgotten(archive: ArchiveRig) -> None:
    """The name is hidden in the games so far, and can be used again in later ones."""
    # Ann is forgotten in the two games so far. In the third one she plays again.
    archive.play(turns=1)
    archive.history.import_game(msgspec.json.encode(random_game("arena", 1, 2, {NORTH: "ANN"})))
    assert archive.history.forget(" ann ") == 2
    archive.play(turns=1, seed=2)
    assert (player_names(archive, 1), player_names(archive, 2), player_names(archive, 3)) == (
        ["—", "Bob"],
        ["—"],
        ["Ann", "Bob"],
    )

    # Her name is in no export and in no statistics of these games.
    assert '[South "—"]' in archive.history.as_text(1)
    assert b'"ANN"' not in archive.history.as_json(2)
    assert [(record.name, record.total.games) for record in archive.history.statistics()] == [
        ("Bob", 2),
        ("Ann", 1),
    ]

    # What is stored to hide the name does not contain it.
    stored = database_of(archive.journal).execute("SELECT * FROM forgotten").fetchall()
    assert b"ann" not in repr(stored).lower().encode()
    with pytest.raises(Malformed, match="Nobody by that name"):
        archive.history.forget("Zoe")


# ---- statistics ----------------------------------------------------------------------------------


def test_players_are_counted_by_name_and_game(archive: ArchiveRig) -> None:
    # Ann resigns against Bob. A game that the owner ends, and one of Bob against himself, do not
    # count.
    archive.play(turns=2)
    archive.play(turns=2, seed=2, end="abandon")
    archive.table.free_seat(SOUTH)
    archive.table.take_seat(SOUTH, "BOB")
    archive.play(turns=1, seed=3)
    ann, bob = archive.history.statistics()
    assert (ann.name, ann.total.games, ann.total.wins, ann.total.ties) == ("Ann", 1, 0, 0)
    assert (bob.total.games, bob.total.wins) == (1, 1)
    (own,) = bob.by_game
    assert own.name == "Outbuffered"


def test_machines_are_counted_apart_from_players(archive: ArchiveRig) -> None:
    # Ann plays against the machine's character Bo, and then against Bob.
    archive.table.free_seat(NORTH)
    archive.table.machines.seat_machine(NORTH, "Bo")
    archive.play(turns=1)
    archive.table.machines.unseat_machine(NORTH)
    archive.table.take_seat(NORTH, "Bob")
    archive.play(turns=1, seed=2)
    records = {record.name: record for record in archive.history.statistics()}
    assert set(records) == {"Ann", "Bob"}
    assert (records["Ann"].total.games, records["Bob"].total.games) == (1, 1)
    (against,) = records["Ann"].by_character
    assert (against.name, against.games, against.wins, against.ties) == ("Bo", 1, 0, 0)
    assert not records["Bob"].by_character


def test_imported_games_know_machines_and_coached_seats(archive: ArchiveRig) -> None:
    played = msgspec.structs.replace(
        random_game("arena", 1, 2, {SOUTH: "Ann", NORTH: "Bo"}),
        machines=(NORTH,),
        coached=(SOUTH,),
    )
    number = archive.history.import_game(msgspec.json.encode(played))
    line = archive.history.line(number)
    assert line is not None
    assert (line.players[NORTH][0].door, line.coached) == ("machine", (SOUTH,))
    assert archive.history.statistics() == (), "a coached game must not count"
    assert archive.history.file(number).machines == (NORTH,)


# ---- the command line ----------------------------------------------------------------------------


def test_commands_list_export_import_and_replay_games(
    archive: ArchiveRig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive.play(turns=2)
    here, elsewhere = (["--state-dir", str(tmp_path / name)] for name in ("", "elsewhere"))
    file = str(tmp_path / "game.json")
    # The arguments of each command, its status, and words of its output.
    for arguments, status, words in (
        (["export", "1", "--text", *here], 0, '[Game "outbuffered"]'),
        (["export", "1", "-o", file, *here], 0, ""),
        (["import", file, *elsewhere], 0, "is game 1 now"),
        (["import", file, *elsewhere], 1, "here already: number 1"),
        (["history", *elsewhere], 0, "Ann – Bob (from elsewhere): 2 decisions. Purple resigns."),
        (["history", "--json", *here], 0, '{"name":"Ann","door":"phone"}'),
        (["replay", file], 0, "Purple resigns."),
        (["replay", "1", *elsewhere], 0, "Purple resigns."),
        (["export", "1", *here], 0, '"game": "outbuffered"'),
        (["export", "5", *here], 1, "There is no game 5"),
    ):
        assert main(arguments) == status
        output = capsys.readouterr()
        assert words in output.out + output.err


def test_a_score_sheet_has_headers_turns_and_receipts() -> None:
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
def test_a_score_sheet_proves_each_order(name: str) -> None:
    """Anybody can check an order by its moment, its salt and its receipt."""
    played = random_game(name, 3, 3)
    lines = format_score_sheet(played).splitlines()
    for number, turn in enumerate(played.turns, start=1):
        actions_line, proof_line = (line for line in lines if line.startswith(f"{number}. "))
        assert f"{number}. {turn.moment} | " in proof_line
        for seat, order in turn.actions.items():
            assert f"{seat} {order.action}" in actions_line
            assert f"{seat} {order.salt} {order.receipt}" in proof_line
