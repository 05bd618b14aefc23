"""Tests of one phone that both seats share, through Flask's client.

Players pass the phone to each other. A cover page, `/pass`, comes between the pages of their seats.
Only one page is open at a time, and no answer tells what the other player hides.

Actions are in the notation of their games. In Outbuffered an action is three orders: `U`, `D`, `L`
and `R` are steps, `I` waits, and `S` shoots.
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

# Two decks of cards that differ in the order of their first two cards. South draws the first one.
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


def open_page(phone: FlaskClient, seat: str) -> str:
    """Tap the key on the cover that opens the page of a seat. Return that page."""
    assert phone.post("/pass/open", data={"seat": seat}).location == f"/seat/{seat}"
    return page_text(phone, f"/seat/{seat}")


def hand_in(phone: FlaskClient, seat: str, moment: str, action: str) -> int:
    # a fixed salt, so that the receipts of equal actions at two tables are equal, too
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

    # one form takes both seats, unless a name is too long
    assert "Play with one phone" in page_text(phone, "/pass")
    for name, status in (("x" * 25, 400), ("Mara", 303)):
        assert phone.post("/pass", data={"south": name, "north": ""}).status_code == status
    seats = rig.table.view().seats
    assert {seat: shown.name for seat, shown in seats.items()} == {"south": "Mara", "north": ""}

    # North leaves: the phone is an ordinary one, which needs no cover
    phone.post("/api/seat/north/leave", json={})
    assert phone.get("/seat/south").status_code == 200, (
        "the seat that the phone still has must not be covered"
    )

    # another phone can take neither both seats nor the first phone's page
    assert "South is taken by somebody else." in page_text(other_phone, "/pass")
    assert other_phone.post("/pass", data={"north": "Eve"}).status_code == 409
    assert other_phone.post("/pass/open", data={"seat": "south"}).location == "/pass"

    # the first phone takes the missing seat again, then leaves both
    phone.post("/pass", data={"north": "Jo"})
    assert phone.post("/pass/end").location == "/join"
    assert rig.table.nonce_of(Seat.SOUTH) is None


def test_the_cover_opens_one_page_only(rig: WebRig, phone: FlaskClient) -> None:
    moment = rig.start_game()

    # the phone is covered: no page, JSON route or stream of a seat can be used
    cover = page_text(phone, "/pass")
    assert "Hand the phone to Mara" in cover
    assert "I am Jonas: show my side" in cover
    for seat in SEATS:
        assert phone.get(f"/seat/{seat}").location == "/pass"
        assert phone.get(f"/api/seat/{seat}/view").status_code == 403
        assert 'data-go="/pass"' in first_chunks(phone, f"/live/seat/{seat}")

    # South's page is open: everything of North is still covered
    open_page(phone, "south")
    assert phone.get("/seat/north").location == "/pass"
    refused = error_of(phone.post("/api/seat/north/mine", json={}))
    assert refused["message"] == "This phone is covered: tap North’s button first"
    assert hand_in(phone, "north", moment, "III") == 403

    # going back to the cover closes South's page
    page_text(phone, "/pass")
    assert phone.get("/seat/south").location == "/pass", "South’s page must not stay open"


def test_handing_in_covers_the_page(rig: WebRig, phone: FlaskClient) -> None:
    """A stream with `data-go="/pass"` leads the phone to the cover."""
    moment = rig.start_game()

    # South's page stays open until South has handed in
    stream = stream_path_of(open_page(phone, "south"))
    assert 'id="live"' in first_chunks(phone, stream)
    assert 'data-go="/pass"' not in first_chunks(phone, stream)
    assert hand_in(phone, "south", moment, "UUS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, stream)

    # on the cover, South can still open the page to look at the sealed action
    cover = page_text(phone, "/pass")
    assert "Hand the phone to Jonas" in cover
    assert "Mara: look at mine, or take it back" in cover
    reopened_stream = stream_path_of(open_page(phone, "south"))
    assert 'data-go="/pass"' not in first_chunks(phone, reopened_stream), (
        "South must be able to look at their own sealed action"
    )

    # while North has the phone, a stream of South's page that is still open shows nothing
    open_page(phone, "north")
    assert hand_in(phone, "north", moment, "RIS") == 200
    assert 'data-go="/pass"' in first_chunks(phone, reopened_stream)


def test_a_shared_phone_has_the_tables_keys(rig: WebRig, phone: FlaskClient) -> None:
    """While nobody has to enter anything, the cover shows what the table screen shows."""
    # both have handed in: the cover tells hands what to move
    moment = rig.start_game()
    for seat, action in ((Seat.SOUTH, "UII"), (Seat.NORTH, "III")):
        rig.table.hand_in(seat, moment, action)
    page = page_text(phone, "/pass")
    assert "robot, a1 to a2" in page
    assert "Hand the phone" not in page

    # the game ends: the cover shows the result once
    for seat in SEATS:
        rig.table.offer_draw(seat)
    assert page_text(phone, "/pass").count("A draw") == 1, (
        "the page must say the result exactly once"
    )

    # a rematch with swapped sides: both seats have other cookies, and the phone gets them
    assert phone.post("/api/seat/south/rematch", json={"swap": True}).status_code == 200
    assert phone.get("/pass").location.startswith("/seat/"), (
        "the phone must keep its seats when the sides are swapped"
    )


def test_an_open_board_needs_no_cover(rig: WebRig, phone: FlaskClient) -> None:
    """In Scouts nothing is secret, so players pass the phone on without a cover."""
    rig.table.new_game("scouts", {}, 1)
    rig.table.confirm("host", rig.table.view().moment, 0, force=True)

    # South is on turn, so `/pass` leads to South's page, which has a key to the other one
    assert phone.get("/pass").location == "/seat/south"
    assert "Other side" in page_text(phone, "/seat/south")

    # North may look at their own page meanwhile, until South has acted
    stream = stream_path_of(open_page(phone, "north"))
    assert 'data-go="/pass"' not in first_chunks(phone, stream), (
        "the page of the seat that is not on turn must not be covered"
    )
    # South places a scout on a1
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "@a1")
    assert 'data-go="/pass"' in first_chunks(phone, stream)


def without_receipts(page: str) -> str:
    """Return a page without receipts. Receipts are public, and differ from action to action."""
    page = re.sub(r"\b[0-9a-f]{64}\b", "RECEIPT", page)
    return re.sub(r"<span>[0-9a-f]{4}</span>", "<span>XXXX</span>", page)


def answers_to_north(phone: FlaskClient) -> list[str]:
    """Return what North gets with the phone in hand after South has handed in, without receipts.

    North asks for the cover and for everything of South, opens North's page, then asks for
    everything of South again.
    """
    answers = [
        page_text(phone, "/pass"),
        first_chunks(phone, "/live/pass"),
        page_text(phone, "/seat/south"),
    ]
    for path in ("/api/seat/south/mine", "/api/seat/south/take-back"):
        answers.append(phone.post(path, json={}).text)
    north_page = open_page(phone, "north")
    answers += [north_page, first_chunks(phone, stream_path_of(north_page))]
    answers += [page_text(phone, path) for path in ("/seat/south", "/api/seat/south/view", "/pass")]
    return [without_receipts(answer) for answer in answers]


@pytest.mark.parametrize(
    # the options of the games at both tables, and South's actions there
    ("game", "options", "actions"),
    [
        ("outbuffered", ({}, {}), ("UUS", "DRI")),
        # orders for three robots
        ("arena", ({}, {}), ("1:N 2:aE 3:D", "1:E 2:X 3:N")),
        # squares on which South's six pieces begin
        ("kahmate", ({}, {}), ("R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1")),
        # South draws a card from the deck of lane 0: the same action, but another card
        ("binmat", [{"way": "full", "deck": deck} for deck in DECKS], ("d0", "d0")),
    ],
)
def test_north_cannot_see_what_south_hides(
    tmp_path: Path, game: str, options: Sequence[dict[str, Any]], actions: Sequence[str]
) -> None:
    """Play on two tables that differ only in South's sealed action, or in South's hand of cards.

    North gets the same answers at both tables, so no answer tells anything of South's secret. South
    gets different answers, so the secret is on South's own page.
    """
    north_answers = []
    south_answers = []
    for index, action in enumerate(actions):
        (tmp_path / str(index)).mkdir()
        with open_web_rig(tmp_path / str(index)) as rig:
            # begin the game, with its clock if it has one
            phone = rig.browser()
            phone.post("/pass", data={"south": "Mara", "north": "Jonas"})
            rig.table.new_game(game, options[index], 1)
            follow_instructions(rig.table)
            if rig.table.view().time.clock:
                rig.table.resume("host")

            # South hands in and looks at the sealed action, then North gets the phone
            open_page(phone, "south")
            assert hand_in(phone, "south", rig.table.view().moment, action) == 200
            south_page = without_receipts(open_page(phone, "south"))
            own_action = phone.post("/api/seat/south/mine", json={}).text
            south_answers.append((south_page, own_action))
            north_answers.append(answers_to_north(phone))
    assert north_answers[0] == north_answers[1]
    assert south_answers[0] != south_answers[1], "South must see what North must not see"
