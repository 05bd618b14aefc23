"""Games of pieces through the doors and on the pages: the drawn board, plays, clocks, sheets, and what stays secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from inside import live_of, store_of
from web_fixtures import HOST_KEY, SALT, Place, error_of, page_of, view_of

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.games.screen import Badge
from companion.table.board_check import HandMove, tops
from companion.table.session import Phase
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture, board_words
from web.rendering.pieces import is_big, picture

PLACES = ("c1", "c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")
PLACINGS = {
    Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
    Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
}


def kit_of(game: str) -> Kit:
    return GAMES[game].kit(GAMES[game].options({}))


def sq(text: str) -> Square:
    return Square.parse(text)


def settle(place: Place) -> None:
    """Hands do what they are told, confirmed by the host."""
    while (view := place.table.view()).phase in (Phase.SETUP, Phase.STAGES):
        place.table.confirm("host", view.moment, view.turn.stage, force=True)


def start(place: Place, game: str, **options: Any) -> None:
    place.table.new_game(game, options, 1)
    settle(place)


def play(place: Place, *actions: str) -> None:
    """The seat on turn plays, hands follow."""
    for action in actions:
        view = place.table.view()
        (seat,) = (seat for seat in Seat if view.seats[seat].awaited)
        place.table.hand_in(seat, view.moment, action)
        settle(place)


def both(place: Place, actions: Mapping[Seat, str]) -> None:
    moment = place.table.view().moment
    for seat, action in actions.items():
        place.table.hand_in(seat, moment, action, SALT)


def to_scouts(place: Place, **options: Any) -> None:
    """All scouts stand, the clock runs."""
    start(place, "scouts", **options)
    play(place, *(f"@{square}" for square in PLACES))
    clock = place.table.view().time.clock
    if clock and clock.paused:
        place.table.resume("host")


def to_duel(place: Place) -> None:
    """A run into a standing opponent waits for both cards."""
    start(place, "kahmate", starter="south", ball_card=1)
    both(place, PLACINGS)
    settle(place)
    for action in ("d2-d3-d4", ".", "e10-e9-e8", ".", "d4-d5-d6", ".", "e8-e7-e6", ".", "d6-e6-e5"):
        view = place.table.view()
        (seat,) = (seat for seat in Seat if view.seats[seat].awaited)
        legal = {each.text for each in place.table.coaching.plays(seat, view.moment)}
        play(
            place,
            action
            if action in legal
            else next(text for text in sorted(legal) if text.startswith("d6-e6")),
        )
    assert place.table.view().board.standing is not None


def see(place: Place, layout: Layout, game: str) -> None:
    place.clock.advance(0.1)
    place.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
    place.table.saw(
        Reading(tops(layout), frozenset(), quiet=True, game=game, at_s=place.clock.monotonic_s())
    )
    place.table.step()


# ---- the drawn board ---------------------------------------------------------------------------------------------------


def numbers(pattern: str, svg: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, found)) for found in re.findall(pattern, svg)]


AT = r' x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)"'


def test_letters_stand_on_pieces_and_lie_on_those_turned_over() -> None:
    kit = kit_of("kahmate")
    svg = board_svg(
        BoardPicture(kit, {sq("a1"): ("blue big",), sq("b1"): ("pink fast turned over",)})
    )
    assert re.search(r'<text class="letter side-blue"[^>]*>B</text>', svg)
    assert re.search(r'<text class="letter lying"[^>]*rotate\(90[^>]*>F</text>', svg)
    assert 'class="side-pink lying"' in svg


def test_the_ball_lies_small_at_its_carrier_and_in_the_middle_when_loose() -> None:
    kit = kit_of("kahmate")
    carried = numbers(
        f'href="#ball"{AT}', board_svg(BoardPicture(kit, {sq("a1"): ("blue big", "ball")}))
    )
    loose = numbers(f'href="#ball"{AT}', board_svg(BoardPicture(kit, {sq("a1"): ("ball",)})))
    big = numbers(
        f'href="#disc"{AT}', board_svg(BoardPicture(kit, {sq("a1"): ("blue big", "ball")}))
    )
    assert carried[0][2] < loose[0][2] < big[0][2]
    middle = [x + size / 2 for x, _, size in (*carried, *loose, *big)]
    assert middle[0] > middle[2] + 20
    assert abs(middle[1] - 50) < 10


def test_goals_lie_beyond_the_board_south_s_plain_and_north_s_dotted() -> None:
    kit = kit_of("kahmate")
    straight, turned = (
        board_svg(BoardPicture(kit, {})),
        board_svg(BoardPicture(kit, {}), quarters=2),
    )
    for svg, below in ((straight, "blue"), (turned, "pink")):
        goals = {
            side: float(y)
            for side, y in re.findall(r'class="goal side-(\w+)"><rect x="0" y="([-\d.]+)"', svg)
        }
        assert max(goals, key=lambda side: goals[side]) == below
        assert svg.count('fill="url(#dots)"') == 1
        assert re.search(r'class="goal side-pink">(?:<rect[^>]*>)+<rect class="frame"', svg)
    assert "goal" not in board_svg(BoardPicture(kit_of("scouts"), {}))


def test_a_boulder_is_drawn_once_over_its_squares_and_a_rock_either_way() -> None:
    kit = kit_of("scouts")
    boulder = {sq(text): ("white boulder",) for text in ("d5", "e5", "d6", "e6")}
    drawn = numbers(f'href="#boulder"{AT}', board_svg(BoardPicture(kit, boulder)))
    assert drawn == [(300.0, 400.0, 200.0)]
    assert board_words(BoardPicture(kit, boulder)) == "white boulder d5 to e6"
    across, along = ({sq("a1"): ("black rock",), sq(end): ("black rock",)} for end in ("b1", "a2"))
    assert "rotate(90" in board_svg(BoardPicture(kit, across))
    assert "rotate(90" not in board_svg(BoardPicture(kit, along))
    for layout, middle in ((across, (100.0, 950.0)), (along, (50.0, 900.0))):
        ((x, y, size),) = numbers(f'href="#rock"{AT}', board_svg(BoardPicture(kit, layout)))
        assert (x + size / 2, y + size / 2, size) == (*middle, 200.0)


def test_a_boulder_alone_carries_its_owners_shape() -> None:
    kit = GAMES["scouts"].kit(GAMES["scouts"].options({}))
    stones = [face for face in kit.faces if is_big(kit, face.name)]
    assert len(stones) == 4
    for face in stones:
        assert face.seat
        assert f'href="#{kit.sides[face.seat].drawing}"' in picture(kit, face.name)


def test_a_boulder_that_hands_lay_is_shown_on_all_its_squares() -> None:
    kit = kit_of("scouts")
    target = {sq(text): ("white boulder",) for text in ("d5", "e5", "d6", "e6")}
    svg = board_svg(
        BoardPicture(kit, {}, moves=(HandMove(("white boulder",), None, sq("d5")),), target=target)
    )
    assert svg.count('class="target"') == 4
    assert numbers(f'href="#boulder"{AT}', svg) == [(300.0, 400.0, 200.0)]


def test_the_upper_piece_of_a_stack_lies_up_and_right_of_the_lower_one() -> None:
    svg = board_svg(BoardPicture(kit_of("scouts"), {sq("d4"): ("black scout", "white scout")}))
    (lower,), (upper,) = (
        numbers(f'href="#{drawing}"{AT}', svg) for drawing in ("scout-n", "scout-s")
    )
    assert upper[0] - lower[0] == 12
    assert upper[1] - lower[1] == -12
    assert svg.index("#scout-n") < svg.index("#scout-s")


def test_hit_points_stand_under_a_robot() -> None:
    kit = kit_of("arena")
    scene = BoardPicture(kit, {sq("b1"): ("petrol robot 1",)}, badges={sq("b1"): Badge("12", 0.4)})
    svg = board_svg(scene)
    x, y = (
        float(number)
        for number in re.findall(r'class="points" x="([^"]+)" y="([^"]+)">12<', svg)[0]
    )
    assert (x, y) == (150, 895)
    assert board_words(scene) == "petrol robot 1 b1 (12)"


@pytest.mark.parametrize(
    ("quarters", "left", "bottom"),
    [
        (0, "10 9 8 7 6 5 4 3 2 1", "a b c d e f g h"),
        (1, "a b c d e f g h", "1 2 3 4 5 6 7 8 9 10"),
        (2, "1 2 3 4 5 6 7 8 9 10", "h g f e d c b a"),
        (3, "h g f e d c b a", "10 9 8 7 6 5 4 3 2 1"),
    ],
)
def test_coordinates_stand_in_the_edge_squares_and_turn(
    quarters: int, left: str, bottom: str
) -> None:
    svg = board_svg(BoardPicture(kit_of("scouts"), {}), quarters)
    _, _, width, height = map(float, re.search(r'viewBox="(.*?)"', svg)[1].split())  # type: ignore[index] # it has one
    names = re.findall(r'<text( class="last")? x="([\d.]+)" y="([\d.]+)">(\w+)</text>', svg)
    assert all(0 < float(x) < width and 0 < float(y) < height for _, x, y, _ in names), "inside"
    beside = sorted((float(y), name) for last, _, y, name in names if not last)
    below = sorted((float(x), name) for last, x, _, name in names if last)
    assert " ".join(name for _, name in beside) == left
    assert " ".join(name for _, name in below) == bottom
    assert f'data-grid="8 10 100 {quarters}"' in svg


@pytest.mark.parametrize(("quarters", "side"), [(1, "blue"), (3, "pink")])
def test_a_board_on_its_side_has_south_s_goal_where_south_sits(quarters: int, side: str) -> None:
    svg = board_svg(BoardPicture(kit_of("kahmate"), {sq("a1"): ("blue big",)}), quarters)
    goals = {
        name: float(x)
        for name, x in re.findall(r'class="goal side-(\w+)"><rect x="([-\d.]+)" y="0"', svg)
    }
    assert min(goals, key=lambda name: goals[name]) == side
    ((x, y, size),) = numbers(f'href="#disc"{AT}', svg)
    first, last = (50.0, 53.0), (1050.0, 753.0)
    assert (x + size / 2, y + size / 2) == (first if quarters == 1 else last), (
        "file a is above where South sits left"
    )


def test_a_broken_rule_has_a_ring_a_cross_and_the_way_back(place: Place) -> None:
    place.sit("south"), place.sit("north")
    to_scouts(place)
    board = dict(place.table.view().board.layout)
    see(place, board, "scouts")
    wrong = {square: faces for square, faces in board.items() if square != sq("c1")} | {
        sq("c3"): ("white scout",)
    }
    see(place, wrong, "scouts")
    plain = view_of(place)["why_not"]
    assert (plain["square"], plain["rule"]) == ("c2", "jump")
    assert plain["message"].startswith("c1 can’t jump: c2 is empty.")
    page = page_of(place.browser(), "/")
    assert f'href="/rules/scouts#{plain["rule"]}"' in page
    assert f'id="{plain["rule"]}"' in page_of(place.browser(), "/rules/scouts")
    assert "<h2>c1 can’t jump: c2 is empty.</h2>" in page
    for mark in ('class="ring"', 'href="#cross"', 'class="target"', 'class="way"'):
        assert mark in page, mark


# ---- doors -------------------------------------------------------------------------------------------------------------


def test_plays_are_told_to_the_seat_on_turn_alone(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    to_scouts(place)
    told = south.get("/api/seat/south/plays").get_json()
    assert told["moment"] == place.table.view().moment
    assert ["c1-c2", ["c1", "c2"], "Dash c1 to c2", "", ["c1", "c2"], []] in told["plays"]
    assert ["R@a5-a6", ["a5", "a6"], "Rock on a5 and a6", "rock", ["a5", "a6"], []] in told["plays"]
    assert north.get("/api/seat/north/plays").get_json()["plays"] == []
    assert north.get("/api/seat/south/plays").status_code == 403
    assert place.browser().get("/api/seat/south/plays").status_code == 403


def test_both_clocks_and_the_key_of_the_table_are_told_to_everybody(place: Place) -> None:
    place.sit("south"), place.sit("north")
    to_scouts(place, increment=5)
    place.clock.advance(30)
    view = view_of(place)
    assert view["standing"]["open_action"] == "."
    assert (view["clocks"]["north"]["left_s"], view["clocks"]["north"]["due_s"]) == (600.0, None)
    assert view["clocks"]["south"]["due_s"] is not None
    page = page_of(place.browser(), "/")
    assert len(re.findall(r"data-time=", page)) == 2
    assert "Press your clock" in page
    early = place.browser().post("/api/table/act", json={"moment": view["moment"], "action": "."})
    assert early.status_code == 409
    assert "still to move" in error_of(early)["message"]
    play(place, "c1-c2")
    done = place.browser().post(
        "/api/table/act", json={"moment": view_of(place)["moment"], "action": "."}
    )
    assert done.status_code == 200
    clocks = view_of(place)["clocks"]
    assert (clocks["south"]["left_s"], clocks["south"]["due_s"]) == (575.0, None)
    assert "Press your clock" in page_of(place.browser(), "/")


def test_a_lesson_draws_who_goes_on_where_the_last_step_ends(place: Place) -> None:
    """A runner with its ball, a scout after two jumps: neither stands, in part, where it only comes through."""
    for seat in ("south", "north"):
        place.sit(seat)
    for game, pieces in (("kahmate", 2), ("scouts", 1)):
        place.table.begin_lesson(game)
        settle(place)
        lying, standing = re.findall(
            r'<svg class="board".*?</svg>', page_of(place.browser(), "/"), re.DOTALL
        )
        assert lying.count("ghost") == standing.count("ghost")
        ghosts = re.findall(r'<g class="ghost">(.*?)</g>', lying)
        assert [ghost.count("<use") for ghost in ghosts] == [0] * (len(ghosts) - 1) + [pieces]
        place.table.abandon()


def test_a_lesson_has_no_clock_to_press_and_its_table_screen_no_key_that_is_not_asked_for(
    place: Place,
) -> None:
    south = place.sit("south")
    place.sit("north")
    place.table.begin_lesson("scouts")
    settle(place)
    assert "Press your clock" not in page_of(south, "/seat/south")
    assert "End turn" not in page_of(place.browser(), "/"), "the lesson asks for a jump"
    play(place, "c6^c8^c10")
    assert "End turn" in page_of(south, "/seat/south")
    assert "End turn" in page_of(place.browser(), "/")


def test_without_a_clock_the_turn_is_ended(place: Place) -> None:
    place.sit("south"), place.sit("north")
    to_scouts(place, seconds=0)
    page = page_of(place.browser(), "/")
    assert "data-time" not in page
    assert "End turn" in page


def test_a_question_has_one_key_for_each_play_in_words(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    to_scouts(place)
    asked = replace(live_of(place.table), choices=("c1-c2", "c1-b2"))
    store_of(place.table).publish(asked)
    page = page_of(south, "/seat/south")
    assert "Which move is it?" in page
    assert re.search(r'"action":"c1-b2"[^>]*>Dash c1 to b2<small class="mono">c1-b2</small>', page)
    assert "Dash c1 to b2" not in page_of(north, "/seat/north")
    assert south.get("/api/seat/south/view").get_json()["choices"] == ["c1-c2", "c1-b2"]


def test_the_host_sees_an_own_board_before_the_game_starts(place: Place) -> None:
    host = {"X-Host-Key": HOST_KEY}
    body = {"game": "arena", "options": {"board": ".n.\n.#.\n.s."}}
    assert place.browser().post("/api/host/preview", json=body).status_code == 403
    svg = place.browser().post("/api/host/preview", json=body, headers=host).get_json()["svg"]
    assert 'data-grid="3 3 100 0"' in svg
    assert 'href="#wall"' in svg
    bad = place.browser().post(
        "/api/host/preview", json={"game": "arena", "options": {"board": "..\n.s"}}, headers=host
    )
    assert bad.status_code == 400
    assert "no start for North" in error_of(bad)["message"]


# ---- secrets -----------------------------------------------------------------------------------------------------------


def test_sheet_and_placing_are_there_for_their_seat_alone(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    start(place, "arena")
    for seat, browser in (("south", south), ("north", north)):
        mine = browser.get(f"/api/seat/{seat}/view").get_json()["standing"]
        first = {"south": "b1", "north": "b9"}[seat]
        assert mine["sheet"]["units"][0] == {"name": "1", "square": first, "note": "30 points"}
    assert view_of(place)["standing"]["sheet"] is None
    assert view_of(place)["standing"]["badges"]["b1"] == {"text": "30", "share": 1.0}
    place.table.abandon()
    start(place, "kahmate")
    assert view_of(place)["standing"]["placing"] is None
    mine = south.get("/api/seat/south/view").get_json()["standing"]["placing"]
    assert mine["pieces"][2] == ["B", "blue big"]
    assert "R@" not in page_of(south, "/seat/south")


def test_the_own_sheet_comes_back_as_text_when_its_owner_looks(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    start(place, "arena")
    body = {"moment": place.table.view().moment, "action": "1:N 3:D", "salt": SALT}
    south.post("/api/seat/south/hand-in", json=body)
    assert south.post("/api/seat/south/mine", json={}).get_json() == {
        "action": "1:N 3:D",
        "orders": [],
    }
    assert north.post("/api/seat/south/mine", json={}).status_code == 403


# ---- pages -------------------------------------------------------------------------------------------------------------


def test_the_table_screen_shows_both_hands_and_closed_cards(place: Place) -> None:
    place.sit("south"), place.sit("north")
    to_duel(place)
    page = page_of(place.browser(), "/")
    assert page.count("a card, not open yet") == 0
    both(place, {Seat.SOUTH: "6"})
    assert page_of(place.browser(), "/").count("a card, not open yet") == 1
    both(place, {Seat.NORTH: "1"})
    page = page_of(place.browser(), "/")
    assert page.count('class="f tally') == 2
    assert page.count('class="figure num"') == 2, "the same places, now with the totals"
    settle(place)
    spent = re.findall(r'<li class="spent">(\d)<', page_of(place.browser(), "/"))
    assert sorted(spent) == ["1", "6"]
