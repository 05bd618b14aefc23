"""A phone that wants to go on for a pad's seat: its mark, the line, and what the Back key on its mock pin means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from setup_tools import Kept, kept

from companion.core.errors import Illegal, Stale
from companion.core.kit import SEATS
from companion.core.ports import PadKey, Press
from companion.table.seats.claims import (
    ADDRESSES_KEPT,
    CLAIM_S,
    FORGIVEN_S,
    GONE_S,
    IN_LINE,
    MARKS,
    REST_S,
    SEEN_S,
    WAITS_S,
    Claims,
)
from companion.table.session import Phase
from hardware.debounce import HOLD_S

SOUTH, NORTH = SEATS


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Kept]:
    """Orders are wanted of South, at the pad, and of North, on a phone."""
    with kept(tmp_path) as opened:
        opened.finger("south_ready")
        opened.north = opened.sit("north", "Nora")  # type: ignore[attr-defined]  # for the tests below
        assert opened.post("/api/host/new-game", game="outbuffered", seed=1)[0] == 200
        view = opened.table.view()
        opened.table.confirm("host", view.moment, view.turn.stage)
        assert opened.table.view().phase is Phase.ORDERS
        yield opened


def phone(place: Kept, number: int = 1) -> FlaskClient:
    """A browser with an address of its own."""
    browser = place.browser()
    browser.environ_base = {**browser.environ_base, "REMOTE_ADDR": f"192.0.2.{number}"}
    return browser


def asking(place: Kept, number: int = 1, seat: str = "south") -> FlaskClient:
    """A browser that has just asked for a seat."""
    browser = phone(place, number)
    assert browser.post(f"/join/{seat}/claim").status_code == 303
    return browser


def page(browser: FlaskClient, seat: str = "south") -> str:
    return browser.get(f"/seat/{seat}").get_data(as_text=True)


def mark_on(html: str) -> set[int]:
    """The mark that a page draws; empty: none."""
    return {int(number) for number in re.findall(r'<i class="on">(\d)</i>', html)}


def blinking(place: Kept, seat: str = "south") -> set[int]:
    """The order lamps that come on and go off within the next two seconds, the others being dark."""
    seen: dict[int, set[bool]] = {1: set(), 2: set(), 3: set()}
    for _ in range(40):
        place.clock.advance(0.05)
        place.table.step()
        lit = place.lit()
        for number, states in seen.items():
            states.add(f"{seat}_{number}" in lit)
    assert all(states in ({True, False}, {False}) for states in seen.values())
    return {number for number, states in seen.items() if len(states) == 2}


def passes(place: Kept, seconds: float, *open_pages: FlaskClient) -> None:
    """Time in which these phones stay on their page."""
    while seconds > 0:
        step_s = min(1.0, seconds)
        place.clock.advance(step_s)
        place.table.step()
        place.panel.step()
        for browser in open_pages:
            page(browser)
        seconds -= step_s


def hold(place: Kept, button: str, seconds: float) -> None:
    """A finger on a key for so long, then off again, and a moment more."""
    place.hands.press(button)
    place.panel.step()
    place.table.step()
    for _ in range(round(seconds / 0.02)):
        place.clock.advance(0.02)
        place.panel.step()
        place.table.step()
    place.hands.release(button)
    place.panel.step()
    for _ in range(3):
        place.clock.advance(0.02)
        place.panel.step()
        place.table.step()


def seal(place: Kept) -> str:
    """South hands in three orders by the pad; answers the receipt."""
    for button in ("south_up", "south_up", "south_up", "south_ready"):
        place.finger(button)
    receipt = place.table.view().seats[SOUTH].receipt
    assert receipt
    return receipt


def is_in(place: Kept, browser: FlaskClient, seat: str = "south") -> bool:
    place.table.step()
    return browser.get(f"/api/seat/{seat}/view").status_code == 200


# ---- one phone -----------------------------------------------------------------------------------------------------------


def test_phone_pad_and_table_screen_show_the_same_mark_and_nobody_else_does(place: Kept) -> None:
    browser = asking(place)
    mark = mark_on(page(browser))
    assert frozenset(mark) in MARKS
    assert blinking(place) == mark
    assert blinking(place, "north") == set()
    wall = place.browser().get("/").get_data(as_text=True)
    assert mark_on(wall) == mark
    assert "South: is this your phone’s mark?" in wall
    for other in (phone(place, 2), place.north):  # type: ignore[attr-defined]  # of the fixture
        for path in ("/watch", "/api/view", "/seat/north", "/seat/south", "/join/south"):
            text = other.get(path).get_data(as_text=True)
            assert mark_on(text) == set()
            assert "claim" not in text.replace('action="/join/south/claim"', "")
    assert "192.0.2." not in wall


def test_a_held_back_key_lets_the_phone_in_and_does_nothing_else(place: Kept) -> None:
    receipt = seal(place)
    browser = asking(place)
    passes(place, SEEN_S, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)
    shown = place.table.view().seats[SOUTH]
    assert (shown.receipt, shown.door) == (receipt, "phone")
    assert place.table.view().devices.claims == {}
    assert place.table.view().devices.notices == ()
    for _ in range(20):
        place.clock.advance(0.1)
        assert place.lit() >= {"south_1", "south_2", "south_3"}, "the lamps say again that the orders are sealed"
    hold(place, "south_back", 0.2)
    assert place.table.view().seats[SOUTH].receipt is None, "Back is an ordinary key again"


@pytest.mark.parametrize("ms", [40, 500, 960])
def test_a_short_press_lets_nobody_in_and_takes_back_as_ever(place: Kept, ms: int) -> None:
    seal(place)
    browser = asking(place)
    passes(place, SEEN_S, browser)
    hold(place, "south_back", ms / 1000)
    assert not is_in(place, browser)
    assert place.table.view().seats[SOUTH].receipt is None
    assert place.table.view().devices.claims, "the phone still asks"
    for _ in range(3):
        hold(place, "south_back", ms / 1000)
        assert not is_in(place, browser), "several short ones are no long one"
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)


def test_back_takes_orders_away_one_by_one_while_a_phone_asks(place: Kept) -> None:
    asking(place)
    place.finger("south_up")
    place.finger("south_left")
    place.clock.advance(SEEN_S)
    hold(place, "south_back", 0.2)
    assert place.table.view().seats[SOUTH].entered == 1
    hold(place, "south_back", 0.2)
    assert place.table.view().seats[SOUTH].entered == 0


def test_another_key_ends_the_waiting_of_back(place: Kept) -> None:
    browser = asking(place)
    place.finger("south_up")
    passes(place, SEEN_S, browser)
    place.hands.press("south_back")
    place.panel.step()
    place.table.step()
    place.finger("south_left")
    assert place.table.view().seats[SOUTH].entered == 1, "up went, then left came"
    hold(place, "south_back", HOLD_S + 0.1)
    assert not is_in(place, browser)


def test_what_was_entered_at_the_pad_is_gone_with_it(place: Kept) -> None:
    place.finger("south_up")
    browser = asking(place)
    passes(place, SEEN_S, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)
    assert place.table.view().seats[SOUTH].entered == 0
    place.table.play_by(SOUTH, "pad")
    place.finger("south_left")
    assert place.table.view().seats[SOUTH].entered == 1


def test_a_press_of_before_the_mark_was_to_be_seen_answers_nobody(place: Kept) -> None:
    """Whoever holds Back to clear what he has entered does not let in a phone that asks in this second."""
    place.finger("south_up")
    place.hands.press("south_back")
    place.panel.step()
    place.table.step()
    place.clock.advance(0.3)
    browser = asking(place)
    place.clock.advance(HOLD_S)
    place.panel.step()
    place.table.step()
    assert not is_in(place, browser)
    place.hands.release("south_back")
    passes(place, 0.1)
    place.clock.advance(SEEN_S - 0.5)
    place.finger("south_up")
    assert place.clock.monotonic_s() < 1000 + 60
    assert not is_in(place, browser)


def test_a_press_within_the_first_second_of_a_mark_answers_nobody(place: Kept) -> None:
    browser = asking(place)
    place.clock.advance(SEEN_S - 0.01)
    hold(place, "south_back", HOLD_S + 0.5)
    assert not is_in(place, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)


def test_the_short_press_is_not_played_into_another_turn(place: Kept) -> None:
    seal(place)
    browser = asking(place)
    passes(place, SEEN_S, browser)
    place.hands.press("south_back")
    place.panel.step()
    place.table.step()
    place.table.hand_in(NORTH, place.table.view().moment, "DDD", "5a17")
    assert place.table.view().phase is Phase.STAGES
    before = place.table.view().moment, place.table.view().turn.stage
    place.hands.release("south_back")
    place.clock.advance(0.1)
    place.panel.step()
    place.clock.advance(0.1)
    place.panel.step()
    place.table.step()
    assert (place.table.view().moment, place.table.view().turn.stage) == before


@pytest.mark.parametrize(("button", "entered"), [("south_up", 1), ("south_a", 1), ("south_b", 0)])
def test_a_held_order_key_counts_once(place: Kept, button: str, entered: int) -> None:
    """B that is held asks what can be done, and is no order."""
    hold(place, button, HOLD_S + 0.8)
    assert place.table.view().seats[SOUTH].entered == entered


# ---- several phones ------------------------------------------------------------------------------------------------------


def test_the_first_claim_keeps_its_minute_and_the_second_phone_is_told(place: Kept) -> None:
    first = asking(place, 1)
    mark = mark_on(page(first))
    passes(place, 10, first)
    stranger = phone(place, 2)
    assert "Another phone is asking now, for 50 seconds at most." in stranger.get("/seat/south").get_data(as_text=True)
    stranger.post("/join/south/claim")
    told = page(stranger)
    assert "Another phone is asking" in told
    assert "Do not press Back now" in told
    assert f">{50 + REST_S:.0f}</b> <span>seconds at most until your turn" in told
    assert mark_on(told) == set()
    for _ in range(5):
        stranger.post("/join/south/claim")
    assert blinking(place) == mark == mark_on(page(first))
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, first)
    assert not is_in(place, stranger)
    assert "South is taken" in page(stranger)


def test_the_next_in_line_comes_after_a_pause_with_another_mark(place: Kept) -> None:
    first, second = asking(place, 1), asking(place, 2)
    mark = mark_on(page(first))
    passes(place, CLAIM_S, first, second)
    assert mark_on(page(first)) == set()
    assert mark_on(page(second)) == set(), "for a while the pad shows nothing"
    assert blinking(place) == set()
    passes(place, REST_S, second)
    other = mark_on(page(second))
    assert other
    assert other != mark
    passes(place, SEEN_S, second)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, second)


def test_nobody_is_let_in_by_a_key_that_was_pressed_for_another(place: Kept) -> None:
    first, second = asking(place, 1), asking(place, 2)
    passes(place, SEEN_S, first, second)
    place.hands.press("south_back")
    place.panel.step()
    place.table.step()
    first.post("/join/south/call-off")
    for _ in range(8):
        passes(place, 1, second)
    assert not is_in(place, first)
    assert not is_in(place, second)


def test_a_key_pressed_within_the_minute_still_counts_when_it_is_over(place: Kept) -> None:
    browser = asking(place)
    passes(place, CLAIM_S - 0.5, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)


def test_a_key_that_is_never_held_nor_let_go_does_not_stop_the_clock() -> None:
    claims = Claims()
    nonce = claims.ask(SOUTH, "a", "", 0.0)
    assert claims.takes(Press(SOUTH, PadKey.BACK, CLAIM_S - 0.1), "here")
    for second in range(1, int(CLAIM_S) + 10):
        claims.look(SOUTH, nonce, float(second))
        claims.keep({SOUTH}, float(second))
    assert claims.marks() == {}


def back(at_s: float, held: bool = False) -> Press:
    return Press(SOUTH, PadKey.BACK, at_s, held)


def test_only_the_key_that_was_kept_back_and_is_held_answers() -> None:
    claims = Claims()
    claims.ask(SOUTH, "a", "", 0.0)
    assert not claims.takes(back(SEEN_S, held=True), "here"), "its short press meant something else"
    assert claims.takes(back(SEEN_S), "here")
    assert not claims.answers(back(SEEN_S)), "a short press is no answer"
    assert not claims.answers(back(SEEN_S + 0.1, held=True)), "another press"
    assert claims.admitted(back(SEEN_S)) is None
    moved = claims.admitted(back(SEEN_S, held=True))
    assert moved
    assert (moved.seat, moved.door) == (SOUTH, "phone")
    assert claims.admitted(back(SEEN_S, held=True)) is None, "once"


def test_a_key_answers_the_claim_that_it_was_pressed_for() -> None:
    claims = Claims()
    first = claims.ask(SOUTH, "a", "", 0.0)
    assert claims.takes(back(SEEN_S), "here")
    claims.call_off(SOUTH, first, SEEN_S)
    claims.ask(SOUTH, "b", "", SEEN_S + REST_S)
    assert claims.marks()
    assert claims.answers(back(SEEN_S, held=True))
    assert claims.admitted(back(SEEN_S, held=True)) is None


def test_claims_on_a_seat_that_nobody_is_asked_about_any_more_end_with_the_key_that_is_down() -> None:
    claims = Claims()
    nonce = claims.ask(SOUTH, "a", "", 0.0)
    claims.ask(NORTH, "b", "", 0.0)
    assert claims.takes(back(SEEN_S), "here")
    claims.keep({NORTH}, SEEN_S)
    assert claims.look(SOUTH, nonce, SEEN_S) is None
    assert set(claims.marks()) == {NORTH}
    assert claims.let_go(SOUTH, "here") is None
    assert claims.ask(SOUTH, "a", "", SEEN_S), "it has not asked in vain"


def test_whoever_comes_first_after_a_pause_is_told_how_long_that_lasts() -> None:
    claims = Claims()
    claims.call_off(SOUTH, claims.ask(SOUTH, "a", "", 0.0), 0.0)
    view = claims.look(SOUTH, claims.ask(SOUTH, "b", "", 1.0), 1.0)
    assert view is not None
    assert (view.mark, view.left_s) == (None, REST_S - 1.0)
    third = claims.look(SOUTH, [claims.ask(SOUTH, address, "", 1.0) for address in "cd"][1], 1.0)
    assert third is not None
    assert third.left_s == (REST_S - 1.0) + 2 * (CLAIM_S + REST_S)


def test_a_key_let_go_at_another_place_of_the_game_is_too_late() -> None:
    claims = Claims()
    claims.ask(SOUTH, "a", "", 0.0)
    for place, is_late in (("here", False), ("elsewhere", True)):
        assert claims.takes(back(SEEN_S), "here")
        if is_late:
            with pytest.raises(Stale):
                claims.let_go(SOUTH, place)
        else:
            assert claims.let_go(SOUTH, place) == back(SEEN_S)
        assert claims.let_go(SOUTH, place) is None


def test_a_claim_ends_when_it_is_called_off_or_its_phone_is_gone(place: Kept) -> None:
    browser = asking(place, 1)
    phone(place, 2).post("/join/south/call-off")
    assert place.table.view().devices.claims, "another browser cannot call it off"
    browser.post("/join/south/call-off")
    assert place.table.view().devices.claims == {}
    asking(place, 3)
    passes(place, REST_S)
    assert place.table.view().devices.claims
    passes(place, GONE_S)
    assert place.table.view().devices.claims == {}, "its page is closed"
    asking(place, 4)
    passes(place, REST_S)
    place.table.free_seat(SOUTH)
    place.table.step()
    assert place.table.view().devices.claims == {}
    place.table.take_seat(SOUTH, "", "pad")
    place.table.step()
    assert place.table.view().devices.claims == {}, "a claim is on whoever sits there when it is made"


def test_only_a_seat_that_is_played_by_its_pad_is_asked_for(place: Kept) -> None:
    assert phone(place).post("/join/north/claim").status_code == 409
    assert place.table.view().devices.claims == {}


def test_asking_again_in_the_same_browser_changes_nothing(place: Kept) -> None:
    browser = asking(place)
    mark = mark_on(page(browser))
    passes(place, 10, browser)
    for _ in range(3):
        assert browser.post("/join/south/claim").location == "/seat/south"
    assert mark_on(page(browser)) == mark
    assert ">50</b> <span>seconds left" in page(browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)


def test_the_token_of_a_claim_is_worth_nothing_before_and_after(place: Kept) -> None:
    browser = asking(place)
    assert browser.post("/api/seat/south/mine", json={}).status_code == 403
    passes(place, CLAIM_S + 1, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert browser.post("/api/seat/south/mine", json={}).status_code == 403


def test_an_address_that_asked_in_vain_waits_longer_each_time_and_another_does_not(place: Kept) -> None:
    for wait_s in (*WAITS_S, WAITS_S[-1]):
        browser = asking(place, 1)
        passes(place, CLAIM_S + REST_S, browser)
        refused = browser.post("/join/south/claim")
        assert refused.status_code == 409
        assert f"may ask again in {wait_s - REST_S:.0f} seconds" in refused.get_data(as_text=True)
        other = asking(place, 2)
        assert mark_on(page(other)), "another address asks at once"
        hold_back_and_return(place, other)
        place.clock.advance(wait_s)
        place.table.step()


def hold_back_and_return(place: Kept, browser: FlaskClient) -> None:
    """Let this phone in, and let it go to the pad again."""
    passes(place, SEEN_S, browser)
    hold(place, "south_back", HOLD_S + 0.1)
    assert is_in(place, browser)
    place.table.play_by(SOUTH, "pad")


def test_one_address_has_one_place_in_a_short_line() -> None:
    claims = Claims()
    claims.ask(SOUTH, "first", "", 0.0)
    with pytest.raises(Illegal, match="Another phone is asking for this seat: wait 63 seconds at most"):
        claims.ask(SOUTH, "first", "", 0.0)
    for number in range(1, IN_LINE):
        claims.ask(SOUTH, f"address {number}", "", 0.0)
    with pytest.raises(Illegal, match="Another phone is asking"):
        claims.ask(SOUTH, "one more", "", 0.0)
    claims.ask(NORTH, "one more", "", 0.0)


def test_addresses_are_forgiven_and_few_are_remembered() -> None:
    claims, now_s = Claims(), 0.0
    for number in range(ADDRESSES_KEPT + 5):
        nonce = claims.ask(SOUTH, f"address {number}", "", now_s)
        claims.call_off(SOUTH, nonce, now_s)
        now_s += REST_S
    waits = [claims.in_vain.waits_s(f"address {number}", 0.0) > 0 for number in range(ADDRESSES_KEPT + 5)]
    assert waits == [False] * 5 + [True] * ADDRESSES_KEPT
    last = f"address {ADDRESSES_KEPT + 4}"
    for times in (2, 3):
        now_s += WAITS_S[-1]
        claims.call_off(SOUTH, claims.ask(SOUTH, last, "", now_s), now_s)
        assert claims.in_vain.waits_s(last, now_s) == WAITS_S[times - 1]
    now_s += FORGIVEN_S
    claims.call_off(SOUTH, claims.ask(SOUTH, last, "", now_s), now_s)
    assert claims.in_vain.waits_s(last, now_s) == WAITS_S[0]


def test_marks_are_drawn_by_lot_and_never_one_of_those_that_were_just_there() -> None:
    claims, now_s, shown = Claims(), 0.0, []
    for number in range(200):
        nonce = claims.ask(SOUTH, f"address {number}", "", now_s)
        other = claims.ask(NORTH, f"address {number}", "", now_s)
        marks = claims.marks()
        assert marks[SOUTH] != marks[NORTH], "nobody compares with the wrong pad"
        shown.append(marks[SOUTH])
        claims.call_off(SOUTH, nonce, now_s)
        claims.call_off(NORTH, other, now_s)
        now_s += REST_S
    assert set(shown) == set(MARKS)
    assert all(mark not in shown[place - 2 : place] for place, mark in enumerate(shown) if place >= 2)
    after = {mark: {shown[place + 1] for place in range(199) if shown[place] == mark} for mark in MARKS}
    assert all(len(next_ones) >= 4 for next_ones in after.values()), "what was there does not tell what comes"
    assert all(len(mark) in (1, 2) for mark in MARKS), "all three lamps together mean other things"


# ---- what is confirmed is what was shown ---------------------------------------------------------------------------------


def test_the_host_frees_whom_the_page_showed_and_nobody_else(place: Kept) -> None:
    shown = place.table.view().seats[NORTH].sitting
    assert f'"sitting":"{shown}"' in place.host.get("/host").get_data(as_text=True).replace("&#34;", '"')
    place.table.free_seat(NORTH)
    other = place.sit("north", "Olga")
    status, answer = place.post("/api/host/free-seat", seat="north", sitting=shown)
    assert (status, answer["error"]["kind"]) == (409, "stale")  # type: ignore[index]  # plain JSON
    assert place.table.view().seats[NORTH].name == "Olga"
    assert other.get("/api/seat/north/view").status_code == 200
    now = place.table.view().seats[NORTH].sitting
    assert place.post("/api/host/free-seat", seat="north", sitting=now)[0] == 200
    assert place.table.view().seats[NORTH].name is None


def test_sides_change_places_as_they_were_shown(place: Kept) -> None:
    place.table.abandon()
    seats = {str(seat): shown.sitting for seat, shown in place.table.view().seats.items()}
    place.table.free_seat(NORTH)
    place.sit("north", "Olga")
    assert place.post("/api/host/swap-seats", sittings=seats)[0] == 409
    seats = {str(seat): shown.sitting for seat, shown in place.table.view().seats.items()}
    assert place.post("/api/host/swap-seats", sittings=seats)[0] == 200
    assert place.table.view().seats[SOUTH].name == "Olga"


def test_a_phone_that_was_just_put_out_does_not_move_the_next_one(place: Kept) -> None:
    sitting = place.table.view().seats[NORTH].sitting
    place.table.free_seat(NORTH)
    place.sit("north", "Olga")
    with pytest.raises(Stale, match="Somebody else sits at North by now"):
        place.table.free_seat(NORTH, sitting)
    with pytest.raises(Stale, match="Somebody else sits at North by now"):
        place.table.play_by(NORTH, "pad", sitting)
    assert place.table.view().seats[NORTH].door == "phone"
