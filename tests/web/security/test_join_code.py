"""The code to sit down where strangers share the network: who needs it, who is shown it, and how long guessing takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from security_tools import code_of, guarded, host_of, stranger
from web_fixtures import Place, error_of, page_of

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.core.network import ALPHABET, plain_code, shown_code
from companion.core.ports import PadKey, Press
from web.security.join_code import EACH, LENGTH
from web.security.rate_limit import MAX_NAMES, Buckets, Guesses, Rate

EVENING_S = 6 * 3600


@pytest.fixture
def cafe(tmp_path: Path) -> Iterator[Place]:
    with guarded(tmp_path, join="code") as opened:
        yield opened


def test_nobody_sits_down_without_the_code(cafe: Place) -> None:
    phone = stranger(cafe)
    assert 'id="code"' in page_of(phone, "/join/south")
    ways = (
        phone.post("/join/south", data={"name": "Eve"}),
        phone.post("/join/south", data={"name": "Eve", "code": "aaaaaa"}),
        phone.post("/pass", data={}),
        phone.post("/api/seat/south/take", json={}),
        phone.post("/api/seat/south/take", json={"code": "zzz-zzz"}),
    )
    assert [answer.status_code for answer in ways] == [403] * 5
    assert error_of(ways[-1])["reason"] == "join_code"
    assert cafe.table.view().seats[Seat.SOUTH].name is None
    assert (
        phone.post("/join/south", data={"name": "Mara", "code": code_of(cafe).upper()}).status_code
        == 303
    )
    other = stranger(cafe)
    assert other.post("/api/seat/north/take", json={"code": code_of(cafe)}).status_code == 200
    assert other.post("/api/seat/north/start", json={"game": "scouts"}).status_code == 200
    assert stranger(cafe).post("/api/seat/north/start", json={"game": "scouts"}).status_code == 403


def test_one_code_gets_one_phone_into_both_seats(cafe: Place) -> None:
    phone = stranger(cafe)
    assert 'id="code"' in page_of(phone, "/pass")
    assert phone.post("/pass", data={"code": code_of(cafe)}).status_code == 303
    assert cafe.table.view().seats[Seat.NORTH].name is not None


def test_an_open_pad_seat_is_not_for_strangers(cafe: Place) -> None:
    cafe.table.take_seat(Seat.SOUTH, "", "pad")
    cafe.table.press(Press(Seat.SOUTH, PadKey.BACK, cafe.clock.monotonic_s(), True, True))
    cafe.table.step()
    phone = stranger(cafe)
    assert 'id="code"' in page_of(phone, "/seat/south")
    assert phone.post("/join/south/move").status_code == 403
    assert cafe.table.view().seats[Seat.SOUTH].door == "pad"
    assert phone.post("/join/south/move", data={"code": code_of(cafe)}).status_code == 303


def test_what_was_typed_stays_and_only_a_wrong_code_is_called_wrong(cafe: Place) -> None:
    phone, code = stranger(cafe), plain_code(code_of(cafe))
    for path, name in (("/join/south", "name"), ("/pass", "south")):
        page = phone.post(path, data={name: "\x07", "code": code}).get_data(as_text=True)
        assert f'value="{code}" required>' in page, "the name was refused, not the code"
    for path in ("/join/south", "/pass"):
        page = phone.post(path, data={"code": "zzzzzz"}).get_data(as_text=True)
        assert 'value="zzzzzz" required data-wrong>' in page
    cafe.table.take_seat(Seat.SOUTH, "", "pad")
    answer = phone.post("/join/south/move", data={"code": "zzzzzz"})
    page = answer.get_data(as_text=True)
    assert answer.status_code == 403
    assert "That is not the code" in page
    assert "data-wrong" in page


def test_strangers_watch_and_touch_nothing(cafe: Place) -> None:
    guest = stranger(cafe)
    moment = cafe.to_clock()
    assert guest.get("/watch").status_code == 200
    for door, body in (
        ("act", {"moment": moment, "action": "."}),
        ("back", {"moment": moment}),
        ("pause", {}),
        ("resume", {}),
    ):
        assert guest.post(f"/api/table/{door}", json=body).status_code == 403
    assert (
        cafe.browser().post("/api/table/act", json={"moment": moment, "action": "."}).status_code
        == 200
    )


def test_the_code_is_shown_to_who_stands_at_the_table(cafe: Place) -> None:
    code, guest = code_of(cafe), stranger(cafe)
    seen = "".join(
        page_of(guest, path)
        for path in ("/", "/watch", "/join", "/join/south", "/pass", "/kit", "/api/view")
    )
    assert code not in seen
    assert plain_code(code) not in seen
    assert "Code on the table’s own screen" in seen
    assert code in page_of(host_of(cafe), "/host")
    assert code in page_of(host_of(cafe), "/")
    assert 'id="code"' not in page_of(host_of(cafe), "/join"), "the host needs none"


def test_the_code_is_behind_the_sharp_of_an_address_that_no_server_sees(
    cafe: Place, monkeypatch: Any
) -> None:
    drawn: list[str] = []
    monkeypatch.setitem(cafe.app.jinja_env.globals, "qr", lambda text: drawn.append(text) or "")
    code = plain_code(code_of(cafe))
    page_of(stranger(cafe), "/")
    assert f"http://192.0.2.7:8080/s#{code}" in drawn
    assert "http://192.0.2.7:8080/s" in drawn


def test_a_new_game_and_a_freed_seat_make_another_code(cafe: Place) -> None:
    codes = [code_of(cafe)]
    phone = stranger(cafe)
    phone.post("/api/seat/south/take", json={"code": codes[0]})
    assert code_of(cafe) == codes[0], "who sits down changes nothing for the next one"
    phone.post("/api/seat/south/start", json={"game": "scouts"})
    codes.append(code_of(cafe))
    cafe.table.free_seat(Seat.SOUTH)
    cafe.table.take_seat(Seat.SOUTH, "Eve")
    codes.append(code_of(cafe))
    assert len(set(codes)) == 3
    assert stranger(cafe).post("/api/seat/north/take", json={"code": codes[0]}).status_code == 403
    page = page_of(phone, "/")
    assert codes[-1] not in page, "whoever was freed does not learn the next one"


def test_an_evening_of_guessing_is_hopeless() -> None:
    """Computed from the limits; and sixty phones that guess as often as they may for an hour keep within them."""
    assert (MAX_NAMES + 1) * EACH.most_in(EVENING_S) / len(ALPHABET) ** LENGTH < 1 / 1000
    clock, hour_s, looked_at = FakeClock(), 3600, 0
    guesses = Guesses(EACH, clock.monotonic_s)
    for _ in range(0, hour_s, 6):
        looked_at += sum(
            guesses.check(f"192.0.2.{phone}", lambda: False) is False for phone in range(64)
        )
        clock.advance(6)
    assert 64 * EACH.most_in(hour_s) * 0.9 < looked_at <= 64 * EACH.most_in(hour_s)


def test_right_guesses_cost_nobody_anything() -> None:
    guesses = Guesses(Rate(1, 0), FakeClock().monotonic_s)
    assert [guesses.check("192.0.2.1", lambda: True) for _ in range(5)] == [True] * 5


def test_strangers_who_guess_keep_nobody_out() -> None:
    guesses = Guesses(EACH, FakeClock().monotonic_s)
    for stranger_address in (f"192.0.2.{number}" for number in range(200)):
        for _ in range(10):
            guesses.check(stranger_address, lambda: False)
    assert [guesses.check(f"198.51.100.{number}", lambda: True) for number in range(12)] == [
        True
    ] * 12


def test_a_name_that_has_its_own_bucket_keeps_it_when_there_are_too_many() -> None:
    buckets = Buckets(Rate(2, 0), FakeClock().monotonic_s, most=1)
    assert [buckets.take(name) for name in ("first", "second", "third", "third")] == [
        True,
        True,
        True,
        False,
    ]
    assert buckets.take("first")


def test_one_phone_that_guesses_does_not_keep_the_others_out(cafe: Place) -> None:
    bad = stranger(cafe)
    refused = [bad.post("/api/seat/south/take", json={"code": "zzzzzz"}) for _ in range(40)]
    assert "Too many wrong codes" in error_of(refused[-1])["message"]
    assert "Too many wrong codes" not in error_of(refused[int(EACH.burst) - 1])["message"]
    friend = cafe.browser()
    friend.environ_base = {**friend.environ_base, "REMOTE_ADDR": "192.0.2.45"}
    assert friend.post("/api/seat/south/take", json={"code": code_of(cafe)}).status_code == 200


def test_codes_are_typed_as_people_type_and_are_never_alike(tmp_path: Path) -> None:
    assert shown_code("k7m2qx") == "k7m-2qx"
    assert shown_code("") == ""
    assert not set("01ilo") & set(ALPHABET)
    with guarded(tmp_path, join="open") as home:
        assert home.app.extensions["join_code"] is None
        assert stranger(home).post("/api/seat/south/take", json={}).status_code == 200


# ---- buckets -------------------------------------------------------------------------------------------------------------


def test_many_names_use_no_memory_and_bring_nobody_fresh_tokens() -> None:
    clock, chance = FakeClock(), Random(1)
    buckets = Buckets(Rate(3, 1.0), clock.monotonic_s, most=10)
    assert [buckets.take("bad") for _ in range(5)] == [True] * 3 + [False] * 2
    for number in range(1000):
        buckets.take(f"name {number}")
        buckets.take(f"name {chance.randrange(1000)}")
    assert len(buckets) <= 11
    assert not buckets.take("bad")
    assert not buckets.take("newcomer"), "newcomers share one bucket while all are in use"
    clock.advance(1)
    assert [buckets.take(name) for name in ("newcomer", "bad", "bad")] == [True, True, False], (
        "none is swept while in use"
    )
    clock.advance(2)
    assert buckets.take("bad")
    assert [buckets.take("newcomer") for _ in range(4)] == [True] * 3 + [False], (
        "it has a bucket of its own again"
    )
    clock.advance(60)
    buckets.take("name 1")
    buckets.take("another")
    assert len(buckets) <= 11
