"""Tests of the pages and the API in games of pieces, through Flask's client.

They cover the drawn board, the moves offered to a seat, clocks, order sheets and placings, and what
stays secret of them.

Notation: in Scouts `@c1` places a scout, `c1-c2` is a dash, `R@a5-a6` lays a rock, and `.` ends the
turn. In Kahmate `R@c2` places a runner, `d2-d3-d4` is a run, and `6` is a card.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from table_tools import follow_instructions
from web_fixtures import SALT, WebRig, error_of, page_text, view_of

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.board_check import top_faces
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture, board_words, picture_from_view

# Where both sides of Scouts place their scouts, in turn.
PLACES = ("c1", "c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")
# Where both sides of Kahmate place their players. Nobody stands in the way of the run below.
PLACINGS = {
    Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
    Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
}


def kit_of(game: str) -> Kit:
    return GAMES[game].kit(GAMES[game].options({}))


def start(rig: WebRig, game: str, **options: Any) -> None:
    """Begin a game, and let hands set up its board."""
    rig.table.new_game(game, options, 1)
    follow_instructions(rig.table)


def play(rig: WebRig, *actions: str) -> None:
    """Hand in each action for the seat on turn, and let hands carry it out."""
    for action in actions:
        view = rig.table.view()
        (seat,) = (seat for seat in Seat if view.seats[seat].is_awaited)
        rig.table.hand_in(seat, view.moment, action)
        follow_instructions(rig.table)


def hand_in_all(rig: WebRig, actions: Mapping[Seat, str]) -> None:
    """Hand in these seats' actions for the decision that is due."""
    moment = rig.table.view().moment
    for seat, action in actions.items():
        rig.table.hand_in(seat, moment, action, SALT)


def start_scouts(rig: WebRig, **options: Any) -> None:
    """Begin a game of Scouts, place all scouts, and let the clock run."""
    start(rig, "scouts", **options)
    play(rig, *(f"@{square}" for square in PLACES))
    clock = rig.table.view().time.clock
    if clock and clock.paused:
        rig.table.resume("host")


def start_duel(rig: WebRig) -> None:
    """Play Kahmate until South runs into an opponent. Both seats choose a card for that duel."""
    start(rig, "kahmate", starter="south", ball_card=1)
    hand_in_all(rig, PLACINGS)
    follow_instructions(rig.table)
    # both run towards each other, until South's run leads over e6, where North's piece stands
    play(rig, "d2-d3-d4", ".", "e10-e9-e8", ".", "d4-d5-d6", ".", "e8-e7-e6", ".", "d6-e6-e5")
    assert rig.table.view().board.board_ui is not None


def show_to_camera(rig: WebRig, layout: Layout, game: str) -> None:
    """Let the camera read a layout of the game."""
    rig.clock.advance(0.1)
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
    rig.table.handle_reading(
        Reading(top_faces(layout), frozenset(), quiet=True, game=game, at_s=rig.clock.monotonic_s())
    )
    rig.table.step()


# ---- the drawn board -----------------------------------------------------------------------------


def numbers_in(pattern: str, svg: str) -> list[tuple[float, ...]]:
    """Return the numbers of each place where the pattern matches."""
    return [tuple(map(float, found)) for found in re.findall(pattern, svg)]


# Position and width of a drawn piece.
POSITION = r' x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)"'


@pytest.mark.parametrize(
    # squares are 100 wide, and South's lower left is a1 at x = 0, y = 900
    ("face", "squares", "position"),
    [
        ("white boulder", "d5 e5 d6 e6", (300.0, 400.0, 200.0)),
        ("black rock", "a1 a2", (-50.0, 800.0, 200.0)),
        ("black rock", "a1 b1", (0.0, 850.0, 200.0)),
    ],
)
def test_rocks_and_boulders_are_drawn_once(
    face: str, squares: str, position: tuple[float, ...]
) -> None:
    """One drawing covers all squares of a piece. A rock's drawing has a box of 2 x 2 squares."""
    picture = BoardPicture(
        kit_of("scouts"), {Square.parse(text): (face,) for text in squares.split()}
    )
    assert numbers_in(rf'href="#(?:boulder|rock)"{POSITION}', board_svg(picture)) == [position]
    assert board_words(picture).startswith(f"{face} {squares[:2]} to {squares[-2:]}")


@pytest.mark.parametrize(
    ("quarters", "left", "bottom"),
    [
        (0, "10 9 8 7 6 5 4 3 2 1", "a b c d e f g h"),
        (3, "h g f e d c b a", "10 9 8 7 6 5 4 3 2 1"),
    ],
)
def test_coordinates_turn_with_the_board(quarters: int, left: str, bottom: str) -> None:
    """Names along the left edge are read downwards, and names along the bottom to the right."""
    svg = board_svg(BoardPicture(kit_of("scouts"), {}), quarters)
    names = re.findall(r'<text( class="last")? x="([\d.]+)" y="([\d.]+)">(\w+)</text>', svg)
    # the groups of a name are its class, x, y and the name itself
    for axis, mark, row in ((2, "", left), (1, ' class="last"', bottom)):
        line = sorted((float(name[axis]), name[3]) for name in names if name[0] == mark)
        assert " ".join(text for _, text in line) == row
    assert f'data-grid="8 10 100 {quarters}"' in svg


def test_a_broken_rule_is_marked_on_the_board(rig: WebRig) -> None:
    """Hands jump with a scout from c1 to c3, although there is no scout on c2 to jump over."""
    rig.sit("south")
    rig.sit("north")
    start_scouts(rig)

    # the camera sees the right board, then the wrong jump
    board = dict(rig.table.view().board.layout)
    show_to_camera(rig, board, "scouts")
    board[Square.parse("c3")] = board.pop(Square.parse("c1"))
    show_to_camera(rig, board, "scouts")
    refusal = view_of(rig)["why_not"]
    assert (refusal["square"], refusal["rule"]) == ("c2", "jump")

    # the scout is drawn on c3 in a ring, with an arrow back to c1, and c2 is marked by a cross
    page = page_text(rig.browser(), "/")
    picture = picture_from_view(rig.table.view())
    assert picture
    assert [problem.square for problem in picture.problems] == [Square.parse("c3")]
    assert not picture.layout.get(Square.parse("c1")), (
        "the scout must not also be drawn where it came from"
    )
    for mark in (
        'href="/rules/scouts#jump"',
        "<h2>c1 can’t jump: c2 is empty.</h2>",
        'class="ring"',
        'href="#cross"',
        'class="target"',
        'class="way"',
    ):
        assert mark in page, mark


# ---- the API -------------------------------------------------------------------------------------


def test_only_the_seat_on_turn_gets_moves(rig: WebRig) -> None:
    south = rig.sit("south")
    north = rig.sit("north")
    start_scouts(rig)
    json = south.get("/api/seat/south/plays").json
    assert json["moment"] == rig.table.view().moment
    # notation, squares, label, key that begins it, squares to tap, squares where it can be stopped
    assert ["c1-c2", ["c1", "c2"], "Dash c1 to c2", "", ["c1", "c2"], []] in json["plays"]
    assert ["R@a5-a6", ["a5", "a6"], "Rock on a5 and a6", "rock", ["a5", "a6"], []] in json["plays"]
    assert north.get("/api/seat/north/plays").json["plays"] == []
    assert north.get("/api/seat/south/plays").status_code == 403


def test_everybody_sees_clocks_and_may_press_them(rig: WebRig) -> None:
    """South has 600 s, takes 30 s for a turn and gets 5 s for it: 575 s are left."""
    rig.sit("south")
    rig.sit("north")
    start_scouts(rig, increment=5)
    rig.clock.advance(30)

    def press_clock() -> Any:
        body = {"moment": view_of(rig)["moment"], "action": "."}
        return rig.browser().post("/api/table/act", json=body)

    # South is on turn, so North's clock stands
    clocks = view_of(rig)["clocks"]
    assert (clocks["north"]["left_s"], clocks["north"]["due_s"]) == (600.0, None)
    page = page_text(rig.browser(), "/")
    for words in (">10:00</b>", "Press your clock"):
        assert words in page

    # a guest may press the clock once South has moved, and then South's clock stands
    assert "still to move" in error_of(press_clock())["message"]
    play(rig, "c1-c2")
    assert press_clock().status_code == 200
    clocks = view_of(rig)["clocks"]
    assert (clocks["south"]["left_s"], clocks["south"]["due_s"]) == (575.0, None)


def test_the_owner_previews_a_board_of_their_own(rig: WebRig) -> None:
    """In a map `s` and `n` are where the robots of South and North start, and `#` is a wall."""
    host = rig.host()
    path = "/api/host/preview"
    svg = host.post(path, json={"game": "arena", "options": {"board": ".n.\n.#.\n.s."}}).json["svg"]
    assert 'data-grid="3 3 100 0"' in svg
    assert 'href="#wall"' in svg
    refused = host.post(path, json={"game": "arena", "options": {"board": "..\n.s"}})
    assert "no start for North" in error_of(refused)["message"]


# ---- secrets -------------------------------------------------------------------------------------


def test_only_its_seat_sees_sheet_and_placing(rig: WebRig) -> None:
    south = rig.sit("south")
    rig.sit("north")

    def standing() -> tuple[dict[str, Any], dict[str, Any]]:
        return south.get("/api/seat/south/view").json["standing"], view_of(rig)["standing"]

    # in Robot Arena a seat gets the sheet for its orders, and everybody sees the robots' points
    start(rig, "arena")
    own, public = standing()
    assert own["sheet"]["units"][0] == {"name": "1", "square": "b1", "note": "30 points"}
    assert public["sheet"] is None
    assert public["badges"]["b1"] == {"text": "30", "share": 1.0}

    # in Kahmate a seat gets its pieces to place
    rig.table.abandon()
    start(rig, "kahmate")
    own, public = standing()
    assert own["placing"]["pieces"][2] == ["B", "blue big"]
    assert public["placing"] is None


# ---- pages ---------------------------------------------------------------------------------------


def test_the_table_screen_shows_a_duels_cards(rig: WebRig) -> None:
    rig.sit("south")
    rig.sit("north")
    start_duel(rig)

    # South has chosen a card: the screen shows its back
    hand_in_all(rig, {Seat.SOUTH: "6"})
    assert page_text(rig.browser(), "/").count("a card, not open yet") == 1

    # both have chosen: the screen shows both cards and their sums
    hand_in_all(rig, {Seat.NORTH: "1"})
    page = page_text(rig.browser(), "/")
    assert (page.count('class="f tally'), page.count('class="figure num"')) == (2, 2)

    # after the duel both cards are spent
    follow_instructions(rig.table)
    spent_cards = re.findall(r'<li class="spent">(\d)<', page_text(rig.browser(), "/"))
    assert sorted(spent_cards) == ["1", "6"]
