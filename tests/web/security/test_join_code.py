"""Tests of the join code, which strangers on a shared network need to sit down.

Tests through Flask's client show who needs the code, who sees it, and when it changes. The limits
on guessing are tested as values, on a fake clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from security_tools import host_of, join_code_of, open_guarded_table, stranger
from web_fixtures import WebRig, error_of, page_text

from companion.core.clock import FakeClock
from companion.core.kit import SEATS, Seat
from companion.core.network import CODE_ALPHABET, normalise_code
from companion.core.ports import PadKey, Press
from web.security.codes import CODE_GUESS_RATE, JOIN_CODE_LENGTH
from web.security.rate_limit import MAX_BUCKETS, GuessLimit, Rate, TokenBuckets

# An evening is six hours.
EVENING_S = 6 * 3600


# A table whose guests need the code to sit down.
@pytest.fixture
def cafe(tmp_path: Path) -> Iterator[WebRig]:
    with open_guarded_table(tmp_path, join="code") as rig:
        yield rig


def test_nobody_sits_down_without_the_code(cafe: WebRig) -> None:
    phone = stranger(cafe)
    take_path = "/api/seat/south/take"

    # each way to sit down is refused without a code or with a wrong one
    for path in ("/join/south", "/pass"):
        assert 'id="code"' in page_text(phone, path)
    answers = (
        phone.post("/join/south", data={"name": "Eve"}),
        phone.post("/join/south", data={"name": "Eve", "code": "aaaaaa"}),
        phone.post("/pass", data={}),
        phone.post(take_path, json={}),
        phone.post(take_path, json={"code": "zzz-zzz"}),
    )
    assert [answer.status_code for answer in answers] == [403] * 5
    assert error_of(answers[-1])["reason"] == "join_code"
    assert cafe.table.view().seats[Seat.SOUTH].name is None

    # the code lets the phone sit down, also in capital letters
    assert phone.post("/pass", data={"code": join_code_of(cafe).upper()}).status_code == 303
    assert cafe.table.view().seats[Seat.NORTH].name is not None

    # with a seat it needs the code for nothing else
    for browser, status in ((phone, 200), (stranger(cafe), 403)):
        answer = browser.post("/api/seat/south/start", json={"game": "scouts"})
        assert answer.status_code == status


def test_strangers_need_the_code_for_pad_seats(cafe: WebRig) -> None:
    cafe.table.take_seat(Seat.SOUTH, "", "pad")
    # the key Back, held for two seconds, releases the pad's seat for a phone
    cafe.table.press(
        Press(Seat.SOUTH, PadKey.BACK, cafe.clock.monotonic_s(), is_held=True, is_long=True)
    )
    cafe.table.step()
    phone = stranger(cafe)
    assert 'id="code"' in page_text(phone, "/seat/south")
    for code, status in (("", 403), ("zzzzzz", 403), (join_code_of(cafe), 303)):
        assert phone.post("/join/south/move", data={"code": code}).status_code == status


def test_only_the_table_shows_its_code(cafe: WebRig) -> None:
    code = join_code_of(cafe)
    guest = stranger(cafe)
    host = host_of(cafe)

    # a guest sees the code nowhere, but learns where it is shown
    for path in ("/", "/watch", "/join", "/join/south", "/pass", "/kit", "/api/view"):
        page = page_text(guest, path)
        assert code not in page
        assert normalise_code(code) not in page
    assert "Code on the table’s own screen" in page_text(guest, "/join/south")

    # the owner sees it, and does not need it
    for path in ("/host", "/"):
        assert code in page_text(host, path)
    assert 'id="code"' not in page_text(host, "/join"), "the owner must not be asked for the code"


def test_new_games_and_freed_seats_change_the_code(cafe: WebRig) -> None:
    """Somebody who played earlier must not be able to use the code again, or pass it on."""
    phone = stranger(cafe)
    codes = [join_code_of(cafe)]

    # somebody sits down: the code stays, so that a second person can use it
    phone.post("/api/seat/south/take", json={"code": codes[0]})
    assert join_code_of(cafe) == codes[0], "the code must not change when somebody sits down"

    # a game starts, then the player is replaced by Eve: both change the code
    phone.post("/api/seat/south/start", json={"game": "scouts"})
    codes.append(join_code_of(cafe))
    cafe.table.free_seat(Seat.SOUTH)
    cafe.table.take_seat(Seat.SOUTH, "Eve")
    codes.append(join_code_of(cafe))
    assert len(set(codes)) == 3
    assert codes[-1] not in page_text(phone, "/"), "whoever lost the seat must not see the new code"


def test_taking_the_last_seat_keeps_the_code(cafe: WebRig) -> None:
    code = join_code_of(cafe)
    for seat in SEATS:
        cafe.table.take_seat(seat, "Eve")
        assert join_code_of(cafe) == code


def test_an_evening_of_guessing_is_hopeless() -> None:
    """Compute from the limits how likely a code is guessed, then check that the limits hold."""
    # All addresses with a bucket of their own guess all evening, and all others share one more
    # bucket. Even together, their chance is below 1 in 1000.
    guesses_per_address = CODE_GUESS_RATE.burst + CODE_GUESS_RATE.per_s * EVENING_S
    guesses = (MAX_BUCKETS + 1) * guesses_per_address
    assert guesses / len(CODE_ALPHABET) ** JOIN_CODE_LENGTH < 1 / 1000

    # One phone guesses every 6 seconds for an hour. A guess that was checked and is wrong answers
    # False, one over the limit None. Nearly as many are checked as were computed, but not more.
    clock = FakeClock()
    answers = []
    limit = GuessLimit(CODE_GUESS_RATE, clock.monotonic_s)
    for _ in range(600):
        answers.append(limit.check_guess("192.0.2.1", lambda: False))
        clock.advance(6)
    assert 0.9 < answers.count(False) / (CODE_GUESS_RATE.burst + CODE_GUESS_RATE.per_s * 3600) <= 1


# ---- buckets -------------------------------------------------------------------------------------


def test_many_new_names_bring_no_fresh_tokens() -> None:
    # a bucket of three tokens, which somebody bad has used up
    clock = FakeClock()
    buckets = TokenBuckets(Rate(3, 1.0), clock.monotonic_s, max_buckets=10)
    assert [buckets.take_token("bad") for _ in range(5)] == [True] * 3 + [False] * 2

    # a thousand new names cannot push out that empty bucket: beyond ten names all share one bucket
    for number in range(1000):
        buckets.take_token(f"name {number}")
    assert len(buckets) <= 11
    for name in ("bad", "newcomer"):
        assert not buckets.take_token(name)

    # a minute later all buckets are full again, and make room
    clock.advance(60)
    assert [buckets.take_token("newcomer") for _ in range(4)] == [True] * 3 + [False], (
        "after a minute the newcomer must have a bucket of its own"
    )
