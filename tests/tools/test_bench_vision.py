"""The bench of the reader: its scenes are what they say, its counts count, and its judgement can be lost."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from bench import reading
from bench.__main__ import main
from bench.reading import costs, first, pictures, sequences, stillness
from bench.reading.costs import Costs, Photograph, bench_photographs, photographs_folder
from bench.reading.peers import Peer, aruco, squares_found
from bench.reading.pictures import (
    READER,
    Score,
    is_readable,
    judge_peer,
    judge_reading,
    judged,
    wrong_entries,
)
from bench.reading.scenes import CONDITIONS, SEVERITIES, Scene, scene
from bench.reading.sensors import RANGES, Room, Sensor
from bench.reading.sequences import ROUGH, GameTally, bench_games
from bench.reading.stillness import (
    EVENTS,
    LEARNING,
    SIZES,
    Case,
    StillTally,
    bench_stillness,
    cases,
    watch,
)

from companion.core.grid import Square
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import Reading
from companion.games import GAMES
from vision.detection.markers import Sighting
from vision.simulation.ground_truth import Print

CLEAN = scene("clean-1-1")


def seen(wanted: Scene) -> tuple[Kit, tuple[Print, ...]]:
    return wanted.kit, wanted.table(DICTIONARY).prints()


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


def test_there_are_all_conditions_in_four_severities_on_several_boards() -> None:
    assert set(CONDITIONS) >= {
        "clean",
        "defocus",
        "motion",
        "low light",
        "shadow",
        "glare",
        "jpeg",
        "colour cast",
        "hand",
        "small",
        "tilt",
        "mixed",
    }
    names = [f"{condition}-{severity}-1" for condition in CONDITIONS if condition != "small" for severity in SEVERITIES]
    scenes = [scene(name) for name in names]
    assert len({s.kit.game for s in scenes}) == 4
    assert {face.height_mm for s in scenes for face in s.kit.faces} >= {2.0, 10.0}
    assert {s.view.table for s in scenes} == {"wood", "pale", "cloth", "chequered", "newspaper"}
    assert all(s.view.width == 1920 and s.layout for s in scenes)


def test_a_scene_is_the_same_whenever_it_is_asked_for() -> None:
    one, same, other = scene("mixed-3-1"), scene("mixed-3-1"), scene("mixed-3-2")
    assert one == same
    assert one.view != other.view
    pictures_of = [s.table(DICTIONARY).render_luma() for s in (one, same)]
    assert (pictures_of[0] == pictures_of[1]).all()


@pytest.mark.parametrize(("severity", "module_px"), [(1, 4.0), (4, 2.4)])
def test_small_means_pixels_a_module(severity: int, module_px: float) -> None:
    _, prints = seen(scene(f"small-{severity}-1"))
    sizes = sorted(p.module_px for p in prints if p.squares)
    assert sizes[len(sizes) // 2] == pytest.approx(module_px, rel=0.08)


def test_severities_are_what_they_say() -> None:
    assert [scene(f"tilt-{s}-1").view.tilt_deg for s in SEVERITIES] == [25, 36, 47, 55]
    assert [scene(f"defocus-{s}-2").view.defocus_px for s in SEVERITIES] == [1, 2, 3, 4]
    assert scene("hand-2-1").hand is not None
    assert scene("worn-4-1").view.wear == 1
    assert scene("shadow-4-1").view.blind is not None


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


def test_peers_lose_high_pieces_at_a_slant_to_parallax() -> None:
    flat, steep = (
        replace(CLEAN, view=replace(CLEAN.view, tilt_deg=tilt, turn_deg=0.0, k1=0.0), nudges={}) for tilt in (0.0, 55.0)
    )
    for wanted, least, most in ((flat, 1.0, 1.0), (steep, 0.0, 0.9)):
        high = replace(wanted, kit=replace(CLEAN.kit, faces=tuple(replace(f, height_mm=20.0) for f in CLEAN.kit.faces)))
        kit, prints = seen(high)
        places = squares_found(kit, [Sighting(p.marker, p.corners_px) for p in prints], prints)
        lying = [p for p in prints if p.squares]
        right = sum(places[p.marker] == p.squares for p in lying) / len(lying)
        assert least <= right <= most, f"{right:.2f} right"
    corners = [Sighting(p.marker, p.corners_px) for p in prints if p.face is None]
    assert squares_found(kit, corners[:1], prints) == {}, "one corner marker is not enough"


def test_the_real_peer_reads_a_clean_scene() -> None:
    table = CLEAN.table(DICTIONARY)
    tally = Score("clean", 1, "ArUco")
    judge_peer(aruco(), table.render_luma(), table.prints(), CLEAN.kit, tally)
    assert tally.found == tally.readable > 10
    assert tally.right >= tally.on_board - 1
    assert tally.false == 0


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
    assert (kept == CLEAN.table(DICTIONARY).render_luma()).all()


def test_a_game_has_hands_and_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    tally = bench_games(1, say=told.append)
    kinds = Counter(
        {kind: sum(n for what, n in tally.lags.items() if what.startswith(kind)) for kind in sequences.KINDS}
    )
    assert all(kinds[kind] for kind in ("start", "move", "put", "take", "rest", "bump", "lamp"))
    assert tally.boards == sum(kinds.values())
    assert 30 <= tally.frames <= 45
    assert tally.pieces > 20
    assert "1 games" in told[-1]


def test_games_before_a_rough_camera_are_settled_in_time_too() -> None:
    tally = bench_games(1, say=lambda line: None, rough=ROUGH[0])
    assert tally.games == 1
    assert tally.wrong == 0
    assert tally.boards - tally.settled <= 1, tally.lags
    assert [v.holds for v in replace(tally, settled=0).rough_verdicts(ROUGH[0])] == [False, True]


# ---- still tables --------------------------------------------------------------------------------------------------


def test_every_condition_covers_its_range_with_every_board_in_two_sizes() -> None:
    found = cases("jpeg")
    assert {(case.kit.game, case.size) for case in found} == {(game, size) for game in GAMES for size in SIZES}
    qualities = [case.room.quality or 0 for case in found]
    assert min(qualities) < 24
    assert max(qualities) > 80
    assert cases("jpeg") == found
    assert cases("jpeg", "other") != found
    lights = [case.room.light for case in cases("low light")]
    assert min(lights) < 0.27
    assert max(lights) > 0.9
    assert max(case.room.noise for case in cases("noise")) > 12


def test_a_camera_encodes_every_frame_anew() -> None:
    even = np.full((240, 320), 150, np.uint8)
    even[:, 160:] = 90
    first, second = (sensor.frame(even) for sensor in [Sensor(Room(noise=3.0, quality=20), 1)] for _ in range(2))
    means = [frame.reshape(30, 8, 40, 8).mean(axis=(1, 3)) for frame in (first, second)]
    steps = np.abs(means[0] - means[1])
    assert 0.01 < (steps > 3).mean() < 0.5, "some blocks are rounded otherwise"
    same = [Sensor(Room(noise=3.0, quality=20), 1).frame(even) for _ in range(2)]
    assert (same[0] == same[1]).all()
    dark = Sensor(Room(noise=0.0, light=0.5, bands=0.2), 1).frame(even)
    assert dark.mean() < 0.55 * even.mean()
    assert np.ptp(dark[:, 10].astype(int)) > 8, "bands"
    ghost = Sensor(Room(noise=0.0, smoothing=0.8), 1)
    ghost.frame(even)
    assert 150 < ghost.frame(even + np.uint8(6))[5, 5] < 156


HARD = {
    "noise 8": Room(noise=8.0, shot=0.0),
    "jpeg 16": Room(noise=2.0, quality=16),
    "low light": Room(light=0.2, noise=7.5, shot=0.3),
    "bands": Room(noise=2.0, bands=0.12, beat=0.7),
    "mixture": Room(light=0.5, noise=5.0, quality=30, flicker=0.04, bands=0.04, jitter=0.01, smoothing=0.4),
}


@pytest.mark.slow
@pytest.mark.parametrize("room", HARD)
def test_a_still_table_is_quiet_in_a_room_as_there_are(room: str) -> None:
    kit = costs.default_kits()["scouts" if room == "mixture" else "outbuffered"]
    tally = StillTally(room)
    watch(Case(f"test-{room}", kit, SIZES[0], HARD[room]), tally, still=25)
    assert tally.faults == []
    assert (tally.quiet, tally.seen, tally.wrong) == (25, len(EVENTS), 0)


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


def test_costs_are_measured_beside_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    every = costs.default_kits()
    monkeypatch.setattr(costs, "default_kits", lambda: {"outbuffered": every["outbuffered"]})
    (measured,) = costs.bench_costs(2, lambda line: None)
    assert measured.game == "outbuffered"
    assert 0 < measured.still_ms < measured.full_ms
    assert measured.peer_ms > 0
    assert 0.1 < measured.memory_mb < 100
    assert "memory of the reader" in measured.sentence()


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
