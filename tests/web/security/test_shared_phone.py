"""Tests of one phone that both seats share, through Flask's client.

A cover page, `/pass`, stands between the two sides. The phone has one side open at a time, and no
answer tells what the other player hides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from table_tools import follow_instructions
from web_fixtures import WebRig, error_of, open_web_rig, page_text

from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import DECK

# Two decks in which the first two cards have changed places: South draws another card first.
DECKS = [
    [first, second, *(card for card in DECK if card not in (first, second))]
    for first, second in (("5&", "a#"), ("a#", "5&"))
]


@pytest.fixture
def phone(rig: WebRig) -> FlaskClient:
    """A phone that holds both seats."""
    phone = rig.browser()
    assert phone.post("/pass", data={"south": "Mara", "north": "Jonas"}).location == "/pass"
    return phone


def open_side(phone: FlaskClient, seat: str) -> str:
    """Tap the key that opens a side. Return the page of that side."""
    assert phone.post("/pass/open", data={"seat": seat}).location == f"/seat/{seat}"
    return page_text(phone, f"/seat/{seat}")


# The salt is fixed, so that answers at two tables can be compared.
def hand_in(phone: FlaskClient, seat: str, moment: str, action: str) -> int:
    body = {"moment": moment, "action": action, "salt": "5a17"}
    return phone.post(f"/api/seat/{seat}/hand-in", json=body).status_code


def first_chunks(phone: FlaskClient, path: str) -> str:
    """Return what a stream sends at once: the time to reconnect and the first fragment."""
    with phone.get(path, buffered=False) as stream:
        chunks = iter(stream.response)
        return (next(chunks) + next(chunks)).decode()


def stream_path_of(page: str) -> str:
    """Return the path of the stream that a page follows."""
    return page.partition('data-live="')[2].partition('"')[0]


def test_one_form_takes_and_frees_both_seats(rig: WebRig) -> None:
    phone = rig.browser()
    other_phone = rig.browser()
    assert "Play with one phone" in page_text(phone, "/pass")
    for name, status in (("x" * 25, 400), ("Mara", 303)):
        answer = phone.post("/pass", data={"south": name, "north": ""})
        assert answer.status_code == status
    seats = rig.table.view().seats
    assert {seat: shown.name for seat, shown in seats.items()} == {"south": "Mara", "north": ""}
    phone.post("/api/seat/north/leave", json={})
    assert phone.get("/seat/south").status_code == 200, (
        "the seat that the phone still has is covered"
    )
    assert "South is taken by somebody else." in page_text(other_phone, "/pass")
    assert other_phone.post("/pass", data={"north": "Eve"}).status_code == 409
    assert other_phone.post("/pass/open", data={"seat": "south"}).location == "/pass"
    phone.post("/pass", data={"north": "Jo"})
    assert phone.post("/pass/end").location == "/join"
    assert rig.table.nonce_of(Seat.SOUTH) is None


def test_the_cover_opens_one_side_only(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()
    cover = page_text(phone, "/pass")
    assert "Hand the phone to Mara" in cover
    assert "I am Jonas: show my side" in cover
    for seat in SEATS:
        assert phone.get(f"/seat/{seat}").location == "/pass"
        assert phone.get(f"/api/seat/{seat}/view").status_code == 403
        assert 'data-go="/pass"' in first_chunks(phone, f"/live/seat/{seat}")
    open_side(phone, "south")
    assert phone.get("/seat/north").location == "/pass"
    refused = error_of(phone.post("/api/seat/north/mine", json={}))
    assert refused["message"] == "This phone is covered: tap North’s button first"
    assert hand_in(phone, "north", moment, "III") == 403
    page_text(phone, "/pass")
    assert phone.get("/seat/south").location == "/pass", "going back to the cover left South open"


def test_handing_in_covers_the_side(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()
    stream = stream_path_of(open_side(phone, "south"))
    assert 'id="live"' in first_chunks(phone, stream)
    assert 'data-go="/pass"' not in first_chunks(phone, stream)
    assert hand_in(phone, "south", moment, "UUS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, stream)
    cover = page_text(phone, "/pass")
    assert "Hand the phone to Jonas" in cover
    assert "Mara: look at mine, or take it back" in cover
    reopened_stream = stream_path_of(open_side(phone, "south"))
    assert 'data-go="/pass"' not in first_chunks(phone, reopened_stream), (
        "South cannot see their own sealed action"
    )
    open_side(phone, "north")
    assert hand_in(phone, "north", moment, "RIS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, reopened_stream)


def test_a_shared_phone_has_the_tables_keys(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()
    for seat, action in ((Seat.SOUTH, "UII"), (Seat.NORTH, "III")):
        rig.table.hand_in(seat, moment, action)
    page = page_text(phone, "/pass")
    assert "robot, a1 to a2" in page
    assert "Hand the phone" not in page
    for seat in SEATS:
        rig.table.offer_draw(seat)
    assert page_text(phone, "/pass").count("A draw") == 1, (
        "the page does not say the result exactly once"
    )
    assert phone.post("/api/seat/south/rematch", json={"swap": True}).status_code == 200
    assert phone.get("/pass").location.startswith("/seat/"), (
        "the phone lost its seats in the exchange of sides"
    )


def test_an_open_board_needs_no_cover(rig: WebRig, phone: FlaskClient) -> None:
    rig.table.new_game("scouts", {}, 1)
    rig.table.confirm("host", rig.table.view().moment, 0, force=True)
    assert phone.get("/pass").location == "/seat/south"
    assert "Other side" in page_text(phone, "/seat/south")
    stream = stream_path_of(open_side(phone, "north"))
    assert 'data-go="/pass"' not in first_chunks(phone, stream), (
        "the side that is not on turn is covered"
    )
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "@a1")
    assert 'data-go="/pass"' in first_chunks(phone, stream)


def without_receipts(page: str) -> str:
    """Return a page without receipts. They are public and differ from action to action."""
    page = re.sub(r"\b[0-9a-f]{64}\b", "RECEIPT", page)
    return re.sub(r"<span>[0-9a-f]{4}</span>", "<span>XXXX</span>", page)


def answers_to_north(phone: FlaskClient) -> list[str]:
    """Return every answer, without receipts, to a North who holds the phone after South handed in.

    North asks for the cover and for South's side, opens North's side, then asks for South's again.
    """
    answers = [
        page_text(phone, "/pass"),
        first_chunks(phone, "/live/pass"),
        page_text(phone, "/seat/south"),
    ]
    for path in ("/api/seat/south/mine", "/api/seat/south/take-back"):
        answers.append(phone.post(path, json={}).text)
    north = open_side(phone, "north")
    answers += [north, first_chunks(phone, stream_path_of(north))]
    answers += [page_text(phone, path) for path in ("/seat/south", "/api/seat/south/view", "/pass")]
    return [without_receipts(answer) for answer in answers]


@pytest.mark.parametrize(
    ("game", "options", "actions"),
    [
        ("outbuffered", ({}, {}), ("UUS", "DRI")),
        ("arena", ({}, {}), ("1:N 2:aE 3:D", "1:E 2:X 3:N")),
        ("kahmate", ({}, {}), ("R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1")),
        ("binmat", [{"way": "full", "deck": deck} for deck in DECKS], ("d0", "d0")),
    ],
)
def test_north_cannot_see_what_south_hides(
    tmp_path: Path, game: str, options: Sequence[dict[str, Any]], actions: Sequence[str]
) -> None:
    """Play on two tables that differ only in South's sealed action, or in South's hand of cards.

    North gets the same answers at both. South, who opens South's side, gets different ones.
    """
    north_answers = []
    south_answers = []
    for number, action in enumerate(actions):
        (tmp_path / str(number)).mkdir()
        with open_web_rig(tmp_path / str(number)) as rig:
            phone = rig.browser()
            phone.post("/pass", data={"south": "Mara", "north": "Jonas"})
            rig.table.new_game(game, options[number], 1)
            follow_instructions(rig.table)
            if rig.table.view().time.clock:
                rig.table.resume("host")
            open_side(phone, "south")
            assert hand_in(phone, "south", rig.table.view().moment, action) == 200
            south_page = without_receipts(open_side(phone, "south"))
            own_action = phone.post("/api/seat/south/mine", json={}).text
            south_answers.append((south_page, own_action))
            north_answers.append(answers_to_north(phone))
    assert north_answers[0] == north_answers[1]
    assert south_answers[0] != south_answers[1], "South cannot see what North must not see"
