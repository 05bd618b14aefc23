"""The bench of the reader: its scenes are what they say, its counts count, and its judgement can be lost."""

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from bench import reading
from bench.__main__ import main
from bench.reading import costs, first, pictures, sequences, stillness
from bench.reading.costs import Costs, Photograph, bench_photographs, photographs_folder
from bench.reading.peers import Peer
from bench.reading.pictures import (
    READER,
    Score,
    is_readable,
    judge_peer,
    judge_reading,
    judged,
    wrong_entries,
)
from bench.reading.scenes import Scene, scene
from bench.reading.sensors import RANGES
from bench.reading.sequences import GameTally, bench_games
from bench.reading.stillness import (
    LEARNING,
    SIZES,
    StillTally,
    bench_stillness,
)

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Reading
from vision.detection.markers import Sighting
from vision.simulation.ground_truth import Print

CLEAN = scene("clean-1-1")


def seen(wanted: Scene) -> tuple[Kit, tuple[Print, ...]]:
    return wanted.kit, wanted.table().prints()


def perfect(kit: Kit, prints: tuple[Print, ...]) -> Reading:
    """What a reader without any fault would say."""
    lying = [(square, p) for p in prints for square in p.squares]
    return Reading(
        {square: p.face or "" for square, p in lying},
        beside=tuple(p.face for p in prints if p.face and not p.squares),
        game=kit.game,
        markers={square: p.marker for square, p in lying},
    )


# ---- scenes ------------------------------------------------------------------------------------------------------


def test_a_scene_is_the_same_whenever_it_is_asked_for() -> None:
    one, same, other = scene("mixed-3-1"), scene("mixed-3-1"), scene("mixed-3-2")
    assert one == same
    assert one.view != other.view
    pictures_of = [s.table().render_luma() for s in (one, same)]
    assert (pictures_of[0] == pictures_of[1]).all()


# ---- judging a reader --------------------------------------------------------------------------------------------


def test_a_perfect_reading_has_every_readable_piece_right() -> None:
    kit, prints = seen(CLEAN)
    tally = Score("clean", 1, READER)
    assert judge_reading(perfect(kit, prints), prints, kit, tally) == []
    assert tally.readable == len(kit.pieces)
    assert (tally.found, tally.found_share) == (tally.readable, 1)
    assert tally.on_board == sum(bool(p.squares) for p in prints)
    assert (tally.right, tally.false, tally.wrong_entries) == (tally.on_board, 0, 0)


def test_everything_that_is_told_wrongly_counts() -> None:
    kit, prints = seen(CLEAN)
    good = perfect(kit, prints)
    (one, other), empty = list(good.seen)[:2], next(s for s in kit.board.squares if s not in good.seen)
    faces, markers = dict(good.seen), dict(good.markers)
    lost = faces.pop(one), markers.pop(one)
    faces[empty], markers[empty] = lost
    markers[other], faces[other] = 99, "nobody"
    tally = Score("clean", 1, READER)
    bad = replace(good, seen=faces, markers=markers, strangers=(98,))
    faults = judge_reading(bad, prints, kit, tally)
    assert (tally.wrong_ids, tally.phantoms, tally.wrong_entries) == (1, 2, 3)
    assert tally.on_board - tally.right == 2
    assert f"{one}: WRONG, empty instead of {lost[0]}" in faults
    assert f"{empty}: WRONG, {lost[0]} instead of nothing" in faults
    unsure = replace(good, seen={s: f for s, f in good.seen.items() if s != one}, unknown=frozenset({one}))
    assert wrong_entries(unsure, prints, kit) == [], "unknown is not wrong"
    assert "the board of other" in wrong_entries(replace(good, game="other"), prints, kit)[0]
    assert wrong_entries(Reading({}), prints, kit) == [], "who sees no board says nothing of any square"


def test_what_is_hidden_small_or_under_a_reflection_need_not_be_read() -> None:
    _, prints = seen(CLEAN)
    print_ = next(p for p in prints if p.squares)
    assert is_readable(print_)
    assert not is_readable(replace(print_, shown=0.98))
    assert not is_readable(replace(print_, veil=230.0))
    assert not is_readable(replace(print_, corners_px=print_.corners_px * 0.3))
    hidden = [p for p in seen(scene("hand-3-1"))[1] if p.shown < 0.999]
    assert hidden
    kit, prints = seen(scene("hand-3-1"))
    tally = Score("hand", 3, READER)
    judge_reading(perfect(kit, prints), prints, kit, tally)
    assert tally.readable == sum(p.face is not None for p in prints) - sum(p.face is not None for p in hidden)


# ---- peers -------------------------------------------------------------------------------------------------------


def as_peer(prints: tuple[Print, ...], *more: Sighting, without: int = -1) -> Peer:
    """A detector that finds exactly what is there, but for one marker, and more."""
    found = [Sighting(p.marker, p.corners_px) for p in prints if p.marker != without]
    return Peer("peer", lambda _: [*found, *more])


def test_peers_are_counted_by_the_same_rules() -> None:
    kit, prints = seen(CLEAN)
    luma = np.zeros((1080, 1920), np.uint8)
    lying = next(p for p in prints if p.squares)
    tally = Score("clean", 1, "peer")
    far = Sighting(3, np.array([[5.0, 5], [25, 5], [25, 25], [5, 25]]))
    judge_peer(as_peer(prints, Sighting(98, lying.corners_px), far, without=lying.marker), luma, prints, kit, tally)
    assert tally.readable - tally.found == 1
    assert tally.on_board - tally.right == 1
    assert (tally.wrong_ids, tally.phantoms) == (1, 1)


# ---- judgements --------------------------------------------------------------------------------------------------


def rows(condition: str, right: int, peer: int, wrong: int = 0) -> list[Score]:
    own = Score(condition, 1, READER, 100, right, 100, right, wrong_entries=wrong, ms=[1.0])
    return [own, Score(condition, 1, "ArUco", 100, peer, 100, peer, ms=[1.0])]


def test_a_bound_is_kept_or_falls_short() -> None:
    assert [v.holds for v in judged("clean", rows("clean", 100, 100))] == [True, True]
    assert [v.holds for v in judged("clean", rows("clean", 99, 90))] == [False, True]
    assert [v.holds for v in judged("clean", rows("clean", 100, 90, wrong=1))] == [False, True]
    assert [v.holds for v in judged("mixed", rows("mixed", 97, 98))] == [True, False]
    own, beside = judged("glare", rows("glare", 50, 60))
    assert not own.holds
    assert beside.sentence().endswith("(60.00%), false ids 0 (0)  SHORT")
    severe = [replace(row, severity=3) for row in rows("defocus", 10, 5)]
    assert [v.holds for v in judged("defocus", severe)] == [True, True], "no bound beyond 2 px"


def test_the_judgement_of_games_and_costs() -> None:
    good = GameTally(games=1, pieces=1000, right=996, boards=100, settled=99)
    assert all(v.holds for v in good.verdicts())
    for change in ({"right": 994}, {"settled": 98}, {"wrong": 1}):
        assert sum(v.holds for v in replace(good, **change).verdicts()) == 2  # type: ignore[arg-type]  # replace() checks the names itself
    costs_ = Costs("kahmate", full_ms=20, changed_ms=4, settling_ms=3, still_ms=1.3, peer_ms=24, memory_mb=3)
    assert [v.holds for v in costs_.verdicts()] == [False, True, True]
    assert costs_.verdicts()[0].sentence().endswith("ArUco's 24.0 ms (at most 0.050)  SHORT")
    photograph = Photograph("a.jpg", 5, {READER: 4, "ArUco": 5}, {READER: 0, "ArUco": 0})
    assert not photograph.verdict().holds


# ---- the whole bench ---------------------------------------------------------------------------------------------


def test_the_command_answers_in_json_and_with_its_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["reading", "--quick", "--only", "clean-1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["opencv"] == cv2.__version__
    own = next(row for row in answer["pictures"] if row["method"] == READER)
    assert (own["condition"], own["severity"], own["readable"]) == ("clean", 1, 16)
    assert own["ms"] > 0
    assert {row["method"] for row in answer["pictures"]} == {READER, "ArUco"}
    assert status == (0 if all(v["holds"] for v in answer["verdicts"]) else 1)
    assert status == 0, answer["verdicts"]


def test_pictures_that_are_not_read_are_kept_with_their_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Blind:
        def __init__(self, kits: object) -> None:
            pass

        def read_picture(self, luma: object) -> Reading:
            return Reading({})

    monkeypatch.setattr(pictures, "board_reader", Blind)
    assert not reading.run_vision(quick=True, only="clean-1", keep=tmp_path)
    told = capsys.readouterr().out
    assert "clean-1-1 (arena): " in told
    assert "SHORT" in told
    truth = json.loads((tmp_path / "clean-1-1.json").read_text())
    assert len(truth["faults"]) == 16
    assert {p["face"] for p in truth["prints"] if not p["squares"]} >= {None}
    kept = cv2.imread(str(tmp_path / "clean-1-1.png"), cv2.IMREAD_GRAYSCALE)
    assert kept is not None
    assert (kept == CLEAN.table().render_luma()).all()


# ---- still tables --------------------------------------------------------------------------------------------------


def test_the_judgement_of_still_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [v.holds for v in StillTally("noise", 100, 98, 3, 3).verdicts()] == [True, True]
    assert [v.holds for v in StillTally("noise", 100, 97, 3, 2).verdicts()] == [False, False]
    assert [v.holds for v in StillTally("noise", 100, 98, 3, 3, wrong=1).verdicts()] == [True, False]
    asked: list[str] = []
    monkeypatch.setattr(stillness, "watch", lambda case, tally: asked.append(case.name) or tally.faults.append("x"))
    told: list[str] = []
    assert [tally.condition for tally in bench_stillness(("webcam",), SIZES[:1], told.append)] == ["webcam"]
    assert asked == [f"still-webcam-{game}-720" for game in costs.default_kits()]
    assert told == ["    x"] * len(asked)
    assert LEARNING == 20
    assert set(RANGES) >= {"noise", "low light", "jpeg", "flicker", "bands", "exposure", "drift", "webcam", "mixed"}


def test_a_reader_that_sleeps_settles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Sleeper:
        def __init__(self, kits: object) -> None:
            self._first: Reading | None = None

        def read(self, frame: object) -> Reading:
            return Reading({Square(0, 0): "nobody"}, game="outbuffered", quiet=True)

    monkeypatch.setattr(sequences, "board_reader", Sleeper)
    tally = bench_games(1, tmp_path, lambda line: None)
    assert tally.wrong == tally.frames
    assert tally.settled == tally.right == 0
    assert len(list(tmp_path.glob("game_1-*.png"))) == tally.frames


def test_a_first_picture_has_one_bound_with_a_hidden_corner_too() -> None:
    dear = first.FirstPicture("scouts", 720, 0, {0: 1.1, 3: 4.3}, 3, 3)
    assert not dear.verdict().holds
    assert "1.10 to 4.30 x ArUco's defaults, most with 3 pieces (at most 4); 3 of 3" in dear.verdict().sentence()
    assert not replace(dear, hidden=1).verdict().holds
    assert not replace(dear, ratios={0: 1.0}, read=2).verdict().holds


@pytest.mark.skipif(
    not (photographs_folder() / "truth.json").is_file(),
    reason="no photographs beside the project, nor where COMPANION_PHOTOGRAPHS says",
)
def test_photographs_are_read_as_completely_as_by_the_best_peer() -> None:
    found = bench_photographs(lambda line: None)
    assert len(found) >= 5
    for photograph in found:
        assert photograph.verdict().holds, photograph.verdict().sentence()


def test_without_photographs_it_says_where_they_are_sought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANION_PHOTOGRAPHS", str(tmp_path))
    told: list[str] = []
    assert bench_photographs(told.append) == []
    assert "set COMPANION_PHOTOGRAPHS" in told[0]
