"""One phone for both seats: the cover between them, and nothing of the one in any answer while the
other holds it.
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

# Two decks that differ in the card that South draws first.
DECKS = [
    [first, below, *(card for card in DECK if card not in (first, below))]
    for first, below in (("5&", "a#"), ("a#", "5&"))
]


@pytest.fixture
def phone(rig: WebRig) -> FlaskClient:
    """A phone that holds both seats."""
    phone = rig.browser()
    assert phone.post("/pass", data={"south": "Mara", "north": "Jonas"}).location == "/pass"
    return phone


def open_side(phone: FlaskClient, seat: str) -> str:
    """Tap the key of a side; answers its page."""
    assert phone.post("/pass/open", data={"seat": seat}).location == f"/seat/{seat}"
    return page_text(phone, f"/seat/{seat}")


def hand_in(phone: FlaskClient, seat: str, moment: str, action: str) -> int:
    body = {"moment": moment, "action": action, "salt": "5a17"}
    return phone.post(f"/api/seat/{seat}/hand-in", json=body).status_code


def first_chunks(phone: FlaskClient, path: str) -> str:
    """Return what a stream sends at once."""
    with phone.get(path, buffered=False) as stream:
        chunks = iter(stream.response)
        return (next(chunks) + next(chunks)).decode()


def live_of(page: str) -> str:
    """Return the stream that a page follows."""
    return page.partition('data-live="')[2].partition('"')[0]


def test_one_form_takes_and_frees_both_seats(rig: WebRig) -> None:
    phone, other = rig.browser(), rig.browser()
    assert "Play with one phone" in page_text(phone, "/pass")
    for name, status in (("x" * 25, 400), ("Mara", 303)):
        answer = phone.post("/pass", data={"south": name, "north": ""})
        assert answer.status_code == status
    seats = rig.table.view().seats
    assert {seat: shown.name for seat, shown in seats.items()} == {"south": "Mara", "north": ""}
    phone.post("/api/seat/north/leave", json={})
    assert phone.get("/seat/south").status_code == 200, "the seat that is left is an ordinary one"
    assert "South is taken by somebody else." in page_text(other, "/pass")
    assert other.post("/pass", data={"north": "Eve"}).status_code == 409
    assert other.post("/pass/open", data={"seat": "south"}).location == "/pass"
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
    assert phone.get("/seat/south").location == "/pass", "who goes back to the cover is under it"


def test_handing_in_covers_the_side(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()
    live = live_of(open_side(phone, "south"))
    assert 'id="live"' in first_chunks(phone, live)
    assert 'data-go="/pass"' not in first_chunks(phone, live)
    assert hand_in(phone, "south", moment, "UUS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, live)
    cover = page_text(phone, "/pass")
    assert "Hand the phone to Jonas" in cover
    assert "Mara: look at mine, or take it back" in cover
    look = live_of(open_side(phone, "south"))
    assert 'data-go="/pass"' not in first_chunks(phone, look), (
        "its owner may look at what is sealed"
    )
    open_side(phone, "north")
    assert hand_in(phone, "north", moment, "RIS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, look)


def test_the_shared_page_has_the_tables_keys(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()
    for seat, action in ((Seat.SOUTH, "UII"), (Seat.NORTH, "III")):
        rig.table.hand_in(seat, moment, action)
    page = page_text(phone, "/pass")
    assert "robot, a1 to a2" in page
    assert "Hand the phone" not in page
    for seat in SEATS:
        rig.table.offer_draw(seat)
    assert page_text(phone, "/pass").count("A draw") == 1, "one word for both"
    assert phone.post("/api/seat/south/rematch", json={"swap": True}).status_code == 200
    assert phone.get("/pass").location.startswith("/seat/"), "its cookies change places, too"


def test_an_open_board_needs_no_cover(rig: WebRig, phone: FlaskClient) -> None:
    rig.table.new_game("scouts", {}, 1)
    rig.table.confirm("host", rig.table.view().moment, 0, force=True)
    assert phone.get("/pass").location == "/seat/south"
    assert "Other side" in page_text(phone, "/seat/south")
    live = live_of(open_side(phone, "north"))
    assert 'data-go="/pass"' not in first_chunks(phone, live), "who is not on turn may look"
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "@a1")
    assert 'data-go="/pass"' in first_chunks(phone, live)


def without_receipts(page: str) -> str:
    """Return a page without receipts, which are public and differ with the order."""
    page = re.sub(r"\b[0-9a-f]{64}\b", "RECEIPT", page)
    return re.sub(r"<span>[0-9a-f]{4}</span>", "<span>XXXX</span>", page)


def everything(phone: FlaskClient) -> list[str]:
    """Return all that a phone gets while South's order is sealed and North holds the phone."""
    got = [
        page_text(phone, "/pass"),
        first_chunks(phone, "/live/pass"),
        page_text(phone, "/seat/south"),
    ]
    got += [phone.post(f"/api/seat/south/{door}", json={}).text for door in ("mine", "take-back")]
    north = open_side(phone, "north")
    got += [north, first_chunks(phone, live_of(north))]
    got += [page_text(phone, path) for path in ("/seat/south", "/api/seat/south/view", "/pass")]
    return [without_receipts(page) for page in got]


@pytest.mark.parametrize(
    ("game", "options", "orders"),
    [
        ("outbuffered", ({}, {}), ("UUS", "DRI")),
        ("arena", ({}, {}), ("1:N 2:aE 3:D", "1:E 2:X 3:N")),
        ("kahmate", ({}, {}), ("R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1")),
        ("binmat", [{"way": "full", "deck": deck} for deck in DECKS], ("d0", "d0")),
    ],
)
def test_whoever_holds_the_phone_gets_nothing_hidden(
    tmp_path: Path, game: str, options: Sequence[dict[str, Any]], orders: Sequence[str]
) -> None:
    """Two tables that differ in South's order alone, or in South's hand of cards."""
    pages, sides = [], []
    for number, order in enumerate(orders):
        (tmp_path / str(number)).mkdir()
        with open_web_rig(tmp_path / str(number)) as rig:
            phone = rig.browser()
            phone.post("/pass", data={"south": "Mara", "north": "Jonas"})
            rig.table.new_game(game, options[number], 1)
            follow_instructions(rig.table)
            if rig.table.view().time.clock:
                rig.table.resume("host")
            open_side(phone, "south")
            assert hand_in(phone, "south", rig.table.view().moment, order) == 200
            sides.append(open_side(phone, "south"))
            pages.append(everything(phone))
    assert pages[0] == pages[1]
    assert sides[0] != sides[1], "its owner sees the own"
