"""Tests of the join code, which strangers on a shared network need to sit down.

Through Flask's client: who needs the code, who sees it and when it changes. The limits on guessing
are tested as values, on a fake clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from security_tools import code_of, host_of, open_guarded_table, stranger
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
    assert phone.post("/pass", data={"code": code_of(cafe).upper()}).status_code == 303
    assert cafe.table.view().seats[Seat.NORTH].name is not None
    for browser, status in ((phone, 200), (stranger(cafe), 403)):
        answer = browser.post("/api/seat/south/start", json={"game": "scouts"})
        assert answer.status_code == status


def test_strangers_need_the_code_for_pad_seats(cafe: WebRig) -> None:
    cafe.table.take_seat(Seat.SOUTH, "", "pad")
    # Back, held for two seconds, opens the pad's seat to a phone
    cafe.table.press(Press(Seat.SOUTH, PadKey.BACK, cafe.clock.monotonic_s(), True, True))
    cafe.table.step()
    phone = stranger(cafe)
    assert 'id="code"' in page_text(phone, "/seat/south")
    for code, status in (("", 403), ("zzzzzz", 403), (code_of(cafe), 303)):
        assert phone.post("/join/south/move", data={"code": code}).status_code == status


def test_only_the_table_shows_its_code(cafe: WebRig) -> None:
    code = code_of(cafe)
    guest = stranger(cafe)
    host = host_of(cafe)
    for path in ("/", "/watch", "/join", "/join/south", "/pass", "/kit", "/api/view"):
        page = page_text(guest, path)
        assert code not in page
        assert normalise_code(code) not in page
    assert "Code on the table’s own screen" in page_text(guest, "/join/south")
    for path in ("/host", "/"):
        assert code in page_text(host, path)
    assert 'id="code"' not in page_text(host, "/join"), "the owner is asked for the code"


def test_new_games_and_freed_seats_change_the_code(cafe: WebRig) -> None:
    phone = stranger(cafe)
    codes = [code_of(cafe)]
    phone.post("/api/seat/south/take", json={"code": codes[0]})
    assert code_of(cafe) == codes[0], "the code changed when somebody sat down"
    phone.post("/api/seat/south/start", json={"game": "scouts"})
    codes.append(code_of(cafe))
    cafe.table.free_seat(Seat.SOUTH)
    cafe.table.take_seat(Seat.SOUTH, "Eve")
    codes.append(code_of(cafe))
    assert len(set(codes)) == 3
    assert codes[-1] not in page_text(phone, "/"), "a player without a seat sees the new code"


def test_taking_the_last_seat_keeps_the_code(cafe: WebRig) -> None:
    code = code_of(cafe)
    for seat in SEATS:
        cafe.table.take_seat(seat, "Eve")
        assert code_of(cafe) == code


def test_an_evening_of_guessing_is_hopeless() -> None:
    """Compute the chance of guessing a code from the limits, then check that a phone is held to
    them.

    All addresses that are counted separately guess all evening, and all others share one more
    count. Their chance is below 1 in 1000. Then one phone guesses every 6 seconds for an hour.
    """
    guesses_per_address = CODE_GUESS_RATE.burst + CODE_GUESS_RATE.per_s * EVENING_S
    guesses = (MAX_BUCKETS + 1) * guesses_per_address
    assert guesses / len(CODE_ALPHABET) ** JOIN_CODE_LENGTH < 1 / 1000
    clock = FakeClock()
    answers = []
    limit = GuessLimit(CODE_GUESS_RATE, clock.monotonic_s)
    for _ in range(600):
        answers.append(limit.check_guess("192.0.2.1", lambda: False))
        clock.advance(6)
    # a guess that was checked and is wrong answers False, one over the limit None
    assert 0.9 < answers.count(False) / (CODE_GUESS_RATE.burst + CODE_GUESS_RATE.per_s * 3600) <= 1


# ---- buckets -------------------------------------------------------------------------------------


def test_many_new_names_bring_no_fresh_tokens() -> None:
    clock = FakeClock()
    buckets = TokenBuckets(Rate(3, 1.0), clock.monotonic_s, max_buckets=10)
    assert [buckets.take_token("bad") for _ in range(5)] == [True] * 3 + [False] * 2
    for number in range(1000):
        buckets.take_token(f"name {number}")
    assert len(buckets) <= 11
    for name in ("bad", "newcomer"):  # while all buckets are in use, newcomers share one
        assert not buckets.take_token(name)
    clock.advance(60)
    assert [buckets.take_token("newcomer") for _ in range(4)] == [True] * 3 + [False], (
        "the newcomer has no bucket of its own after a minute"
    )
