"""One phone for both seats: the cover between them, and nothing of the one in any answer while the other holds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from web_fixtures import Place, error_of, open_place, page_of

from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import DECK


@pytest.fixture
def phone(place: Place) -> FlaskClient:
    """A phone that holds both seats."""
    phone = place.browser()
    assert phone.post("/pass", data={"south": "Mara", "north": "Jonas"}).location == "/pass"
    return phone


def open_side(phone: FlaskClient, seat: str) -> str:
    """Tap the key of a side; answers its page."""
    assert phone.post("/pass/open", data={"seat": seat}).location == f"/seat/{seat}"
    return page_of(phone, f"/seat/{seat}")


def hand_in(phone: FlaskClient, seat: str, moment: str, action: str) -> int:
    body = {"moment": moment, "action": action, "salt": "5a17"}
    return phone.post(f"/api/seat/{seat}/hand-in", json=body).status_code


def streamed(phone: FlaskClient, path: str) -> str:
    """What a stream sends at once."""
    with phone.get(path, buffered=False) as stream:
        chunks = iter(stream.response)
        return (next(chunks) + next(chunks)).decode()


def live_of(page: str) -> str:
    """The stream that a page follows."""
    return page.partition('data-live="')[2].partition('"')[0]


def test_both_seats_by_one_form(place: Place) -> None:
    phone = place.browser()
    assert "Play with one phone" in page_of(phone, "/pass")
    answer = phone.post("/pass", data={"south": "x" * 25, "north": ""})
    assert answer.status_code == 400
    assert "at most 24 printable characters" in answer.get_data(as_text=True)
    assert phone.post("/pass", data={"south": "Mara", "north": ""}).status_code == 303
    assert {seat: shown.name for seat, shown in place.table.view().seats.items()} == {
        "south": "Mara",
        "north": "",
    }


def test_a_browser_that_took_both_seats_by_itself_is_passed_to_nobody(place: Place) -> None:
    """It has asked for no cover, or has left both seats since, so there is none."""
    moment, browser = place.to_orders(), place.browser()
    assert browser.post("/pass", data={"south": "Mara", "north": "Jonas"}).location == "/pass"
    assert browser.post("/pass/end").status_code == 303
    assert browser.post("/api/seat/south/take", json={}).status_code == 200
    assert browser.post("/api/seat/north/take", json={}).status_code == 200
    assert [hand_in(browser, seat, moment, "UUS") for seat in SEATS] == [200, 200]


def test_a_seat_of_somebody_else_is_not_taken_over(place: Place) -> None:
    place.sit("north", "Jonas")
    phone = place.browser()
    assert "North is taken by somebody else." in page_of(phone, "/pass")
    assert phone.post("/pass", data={"south": "Mara"}).status_code == 409
    assert phone.post("/pass/open", data={"seat": "north"}).location == "/pass"


def test_the_cover_comes_first_and_opens_one_side_only(place: Place, phone: FlaskClient) -> None:
    moment = place.to_orders()
    cover = page_of(phone, "/pass")
    assert "Hand the phone to Mara" in cover
    assert "I am Jonas: show my side" in cover
    for seat in ("south", "north"):
        assert phone.get(f"/seat/{seat}").location == "/pass"
        assert phone.get(f"/api/seat/{seat}/view").status_code == 403
        assert 'data-go="/pass"' in streamed(phone, f"/live/seat/{seat}")
    assert "order" in open_side(phone, "south")
    assert phone.get("/seat/north").location == "/pass"
    refused = phone.post("/api/seat/north/mine", json={})
    assert (refused.status_code, error_of(refused)["message"]) == (
        403,
        "This phone is covered: tap North’s button first",
    )
    assert hand_in(phone, "north", moment, "III") == 403
    page_of(phone, "/pass")
    assert phone.get("/seat/south").location == "/pass", "who goes back to the cover is under it"


def test_a_side_that_has_handed_in_goes_under_the_cover(place: Place, phone: FlaskClient) -> None:
    moment = place.to_orders()
    live = live_of(open_side(phone, "south"))
    assert 'id="live"' in streamed(phone, live)
    assert 'data-go="/pass"' not in streamed(phone, live)
    assert hand_in(phone, "south", moment, "UUS") == 200
    assert 'data-go="/pass"' in streamed(phone, live)
    cover = page_of(phone, "/pass")
    assert "Hand the phone to Jonas" in cover
    assert "Mara: look at mine, or take it back" in cover
    look = live_of(open_side(phone, "south"))
    assert 'data-go="/pass"' not in streamed(phone, look), "its owner may look at what is sealed"
    open_side(phone, "north")
    assert hand_in(phone, "north", moment, "RIS") == 200
    assert 'data-go="/pass"' in streamed(phone, look)


def test_what_both_may_see_has_the_keys_of_the_table(place: Place, phone: FlaskClient) -> None:
    assert "Choose a game" in page_of(phone, "/pass")
    moment = place.to_orders()
    for seat, action in ((Seat.SOUTH, "UII"), (Seat.NORTH, "III")):
        place.table.hand_in(seat, moment, action)
    page = page_of(phone, "/pass")
    assert "robot, a1 to a2" in page
    assert "Hand the phone" not in page
    view = place.table.view()
    body = {"moment": view.moment, "stage": view.turn.stage, "force": True}
    assert phone.post("/api/seat/south/confirm", json=body).status_code == 200
    assert place.table.view().turn.stage == 1


def test_alternating_turns_without_secrets_need_no_cover(place: Place, phone: FlaskClient) -> None:
    place.to_clock()
    assert phone.get("/pass").location == "/seat/south"
    view = place.table.view()
    live = live_of(page_of(phone, "/seat/south"))
    place.table.act(view.moment, ".")
    assert 'data-go="/pass"' in streamed(phone, live)
    assert phone.get("/pass").location == "/seat/north"


def test_an_open_board_needs_no_cover_and_lets_both_sides_look(
    place: Place, phone: FlaskClient
) -> None:
    place.table.new_game("scouts", {}, 1)
    while (view := place.table.view()).phase == "setup":
        place.table.confirm("host", view.moment, view.turn.stage, force=True)
    assert phone.get("/pass").location == "/seat/south"
    mine = page_of(phone, "/seat/south")
    assert "Other side" in mine
    assert "cover-now" not in mine
    other = open_side(phone, "north")
    assert 'data-go="/pass"' not in streamed(phone, live_of(other)), (
        "who is not on turn may look, and take back"
    )
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "@a1")
    assert 'data-go="/pass"' in streamed(phone, live_of(other))
    assert "Mara: scout to a1" in page_of(phone, "/pass")


def test_a_hand_of_cards_is_covered(place: Place, phone: FlaskClient) -> None:
    place.to_clock("full")
    cover = page_of(phone, "/pass")
    assert "Hand the phone to Mara" in cover
    mine = open_side(phone, "south")
    assert "Your hand" in mine
    assert "Your hand" not in cover


def test_a_draw_has_one_word_for_both_and_changing_places_keeps_the_phone(
    place: Place, phone: FlaskClient
) -> None:
    place.to_orders()
    for seat in SEATS:
        place.table.offer_draw(seat)
    page = page_of(phone, "/pass")
    assert page.count("A draw") == 1
    assert "You win" not in page
    assert "Good game" not in page
    assert phone.post("/api/seat/south/rematch", json={"swap": True}).status_code == 200
    assert phone.get("/pass").location.startswith("/seat/"), "its cookies change places, too"
    assert phone.get("/seat/south").location == phone.get("/seat/north").location == "/pass"
    assert "This phone holds both seats" in page_of(phone, "/pass")


def test_the_menu_frees_a_seat_or_both(place: Place, phone: FlaskClient) -> None:
    phone.post("/api/seat/north/leave", json={})
    assert place.table.seat_nonce(Seat.NORTH) is None
    assert "Play with one phone" in page_of(phone, "/pass")
    assert phone.get("/seat/south").status_code == 200, "the seat that is left is an ordinary one"
    phone.post("/pass", data={"north": "Jo"})
    assert phone.post("/pass/end").location == "/join"
    assert place.table.seat_nonce(Seat.SOUTH) is None


SECRETS = {
    "outbuffered": ({}, "UUS", "DRI"),
    "arena": ({}, "1:N 2:aE 3:D", "1:E 2:X 3:N"),
    "kahmate": ({}, "R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1"),
}


def without_receipts(page: str) -> str:
    """A page with every receipt struck out: receipts are public, and differ with the order."""
    page = re.sub(r"\b[0-9a-f]{64}\b", "RECEIPT", page)
    return re.sub(r"<span>[0-9a-f]{4}</span>", "<span>XXXX</span>", page)


def everything(phone: FlaskClient) -> list[str]:
    """All that a phone gets while South's order is sealed and North holds it: cover, North's side, doors, streams."""
    got = [page_of(phone, "/pass"), streamed(phone, "/live/pass"), page_of(phone, "/seat/south")]
    got += [
        phone.post(f"/api/seat/south/{door}", json={}).get_data(as_text=True)
        for door in ("mine", "take-back")
    ]
    north = open_side(phone, "north")
    got += [
        north,
        streamed(phone, live_of(north)),
        page_of(phone, "/seat/south"),
        page_of(phone, "/api/seat/south/view"),
    ]
    got += [
        phone.post("/api/seat/south/mine", json={}).get_data(as_text=True),
        page_of(phone, "/pass"),
    ]
    return [without_receipts(page) for page in got]


@pytest.mark.parametrize("game", SECRETS)
def test_nothing_of_the_one_is_sent_while_the_other_holds_the_phone(
    tmp_path: Path, game: str
) -> None:
    options, *orders = SECRETS[game]
    seen = []
    for number, order in enumerate(orders):
        (tmp_path / str(number)).mkdir()
        with open_place(tmp_path / str(number)) as place:
            phone = place.browser()
            phone.post("/pass", data={"south": "Mara", "north": "Jonas"})
            place.table.new_game(game, options, 1)
            view = place.table.view()
            if view.phase == "setup":
                place.table.confirm("host", view.moment, view.turn.stage)
            open_side(phone, "south")
            moment = place.table.view().moment
            assert hand_in(phone, "south", moment, order) == 200
            seen.append(everything(phone))
            for page in seen[-1]:
                assert order not in page
    assert seen[0] == seen[1]


def test_a_hand_of_cards_is_in_no_answer_under_the_cover(tmp_path: Path) -> None:
    seen, sides = [], []
    for number, (first, below) in enumerate((("5&", "a#"), ("a#", "5&"))):
        (tmp_path / str(number)).mkdir()
        with open_place(tmp_path / str(number)) as place:
            phone = place.browser()
            phone.post("/pass", data={"south": "Mara", "north": "Jonas"})
            rest = (card for card in DECK if card not in (first, below))
            place.to_clock("full", deck=[first, below, *rest])
            open_side(phone, "south")
            assert hand_in(phone, "south", place.table.view().moment, "d0") == 200
            sides.append(open_side(phone, "south"))
            seen.append(everything(phone))
    assert seen[0] == seen[1]
    assert sides[0] != sides[1], "the owner sees the card"


def test_a_face_off_and_a_placing_go_round(place: Place, phone: FlaskClient) -> None:
    """Both hand in, one after the other, and the table goes on by itself."""
    place.table.new_game("kahmate", {"starter": "south", "ball_card": 1}, 1)
    while (view := place.table.view()).phase == "setup":
        place.table.confirm("host", view.moment, view.turn.stage)
    placings = {
        "south": "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
        "north": "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
    }
    for seat, placing in placings.items():
        assert f"I am {'Mara' if seat == 'south' else 'Jonas'}" in page_of(phone, "/pass")
        open_side(phone, seat)
        assert hand_in(phone, seat, place.table.view().moment, placing) == 200
    assert place.table.view().phase == "stages"
