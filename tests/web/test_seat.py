"""What the pages of a seat and the table screen say in their markup: switches, shutters, codes of free seats, the sign."""

from __future__ import annotations

import re

import pytest
from web_fixtures import Place, page_of

from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.remote.remote_table import REMATCH_HERE, REMATCH_THERE


def begin(place: Place, game: str) -> None:
    """End what is on, begin another game and say that its board is set."""
    if place.table.view().phase in ("orders", "stages"):
        place.table.resign(Seat.SOUTH)
    place.table.new_game(game, {}, 1)
    view = place.table.view()
    if view.phase == "setup":
        place.table.confirm("host", view.moment, view.turn.stage, force=True)


def page(place: Place, path: str, seat: str = "") -> str:
    browser = place.sit(seat) if seat else place.browser()
    return browser.get(path).get_data(as_text=True)


def test_a_seat_has_its_switches_and_languages_in_the_menu(place: Place) -> None:
    place.to_orders()
    html = page(place, "/seat/south", "south")
    assert re.findall(r'data-switch="(\w+)"', html) == ["cover", "signal"]
    assert '<button class="link" name="code" value="fr" lang="fr">' in html
    assert 'name="back" value="/seat/south"' in html
    assert 'class="elsewhere"' not in html


def test_a_fragment_names_the_page_it_fits(place: Place) -> None:
    """Scripts of an older service, or in another language, notice it by this and load the page anew."""
    (body, lobby) = re.findall(r' data-page="([^"]+)"', page(place, "/watch"))
    assert body == lobby
    assert body.endswith("/en")
    browser = place.browser()
    browser.set_cookie("language", "fr")
    assert (
        re.findall(r' data-page="([^"]+)"', browser.get("/watch").get_data(as_text=True))[1]
        == f"{body[:-2]}fr"
    )


def test_all_that_a_seat_enters_lies_where_the_shutter_falls(place: Place) -> None:
    place.to_orders()
    html = page(place, "/seat/south", "south")
    assert '<div class="view veil">' in html
    assert re.search(r'<div class="buffer" data-secret><ol class="slots [^>]*id="slots"', html)
    assert len(re.findall(r'<button class="slot"', html)) == 3
    assert '<div class="view"><svg' in page(place, "/seat/north", "north").replace(" veil", ""), (
        "North has it too"
    )
    for game, secret in (
        ("kahmate", '<div class="view" data-secret>'),
        ("arena", 'class="order-sheet" data-secret'),
    ):
        begin(place, game)
        place.table.free_seat(Seat.SOUTH)
        assert secret in page(place, "/seat/south", "south"), game
    place.table.resign(Seat.SOUTH)
    place.to_clock("full")
    place.table.free_seat(Seat.SOUTH)
    html = page(place, "/seat/south", "south")
    assert '<div class="grip" data-secret><div class="held" id="hand"' in html


def codes(place: Place) -> list[str]:
    """The seats whose codes stand on the table screen while a game is on."""
    found = re.search(r'<aside class="codes".*?</aside>', page(place, "/"), re.S)
    shown = re.findall(r">[^<]*/([sn])</span>", found[0]) if found else []
    assert re.findall(r'<a class="code" href="/([sn])"', found[0] if found else "") == shown, (
        "each sits down by a click"
    )
    return shown


def test_a_free_seat_has_its_code_on_the_table_screen_while_a_game_is_on(place: Place) -> None:
    assert codes(place) == [], "the lobby has its own"
    place.to_orders()
    assert codes(place) == ["s", "n"]
    place.sit("north")
    assert codes(place) == ["s"]
    assert 'class="page orders free1 ' in page(place, "/")
    place.sit("south")
    assert codes(place) == []


def sign(html: str) -> str:
    found = re.search(r'<div class="sign[^"]*"[^>]* role=.*?</div>', html, re.S)
    assert found
    return found[0]


def test_the_sign_shows_the_piece_that_hands_take_next(place: Place) -> None:
    place.table.new_game("outbuffered", {}, 1)
    told = sign(page(place, "/"))
    view = place.table.view()
    assert view.kit is not None
    assert '<svg class="ic piece"' in told
    assert f'href="#{view.kit.face(view.turn.instructions[0].move.faces[-1]).drawing}"' in told
    place.table.confirm("host", view.moment, view.turn.stage, force=True)
    assert "<svg" not in sign(page(place, "/"))


def test_a_longer_language_gets_a_smaller_sign(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 40 characters, or the room of them with a piece's picture, are set smaller: never in two lines."""
    place.sit("south")
    place.sit("north")
    place.table.new_game("outbuffered", {}, 1)
    browser = place.browser()
    assert " long" not in sign(browser.get("/").get_data(as_text=True)).partition(">")[0]
    monkeypatch.setattr(
        "companion.core.i18n.lookup", lambda _language, one, _many, _n: f"{one}{'ñ' * 12}"
    )
    browser.set_cookie("language", "es")
    assert " long" in sign(browser.get("/").get_data(as_text=True)).partition(">")[0]


def test_who_sits_finds_the_way_back_from_the_table_screen(place: Place) -> None:
    ada = place.sit("south", "Ada")
    html = page_of(ada, "/")
    assert '<a class="key tiny" id="to-seat" href="/here">Back to your seat</a>' in html
    assert '<a class="key go" href="/join">Sit down</a>' in html, "on a phone"
    for other in (page_of(ada, "/?screen"), page_of(ada, "/?kiosk"), page_of(place.browser(), "/")):
        assert "Back to your seat" not in other


def test_who_sits_finds_the_way_back_from_every_page(place: Place) -> None:
    ada, there = place.sit("south", "Ada"), '<a href="/seat/south">Back to your seat</a>'
    for path in ("/rules/", "/rules/arena", "/history", "/kit"):
        html = page_of(ada, path)
        assert there in html, path
        assert "Take a seat" not in html, path
    assert there not in page_of(place.browser(), "/rules/")


def test_a_game_that_nobody_has_played_boasts_of_no_receipts(place: Place) -> None:
    browser = place.sit("south", "Ada")
    place.sit("north", "Ben")
    place.to_orders()
    place.table.resign(Seat.NORTH)
    for path in ("/", "/seat/south", "/watch"):
        html = page_of(browser, path)
        assert "0 of 0" not in html
        assert "Ada" in html


def test_whoever_comes_after_a_game_is_not_left_before_its_end(place: Place) -> None:
    place.sit("south", "Ada")
    place.sit("north", "Ben")
    place.to_orders()
    place.table.resign(Seat.NORTH)
    browser = place.browser()
    assert 'data-post="/api/table/rematch"' in page_of(browser, "/")
    place.table.free_seat(Seat.SOUTH)
    html = page_of(browser, "/")
    assert "Scan here to play against Ben" in html
    assert "rematch" not in html
    assert "Nobody wins" not in html


def test_a_notice_has_the_drawing_of_its_kind(place: Place) -> None:
    place.to_orders()
    for sentence, drawing in (
        (REMATCH_HERE, "bell"),
        (REMATCH_THERE, "bell"),
        ("The other table is silent.", "noentry"),
    ):
        place.table.notice("remote", sentence)
        place.table.step()
        for path in ("/", "/watch"):
            (shown,) = re.findall(r'<p class="notice">.*?href="#(\w+)".*?</p>', page(place, path))
            assert shown == drawing, (path, sentence)


def test_who_watches_before_a_game_is_told_that_it_comes_and_what_to_do_meanwhile(
    place: Place,
) -> None:
    page = page_of(place.browser(), "/watch")
    assert "No game is on yet" in page
    assert "Scan a code" not in page, "that is said to players"
    assert all(f'href="/rules/{game}"' in page for game in GAMES)
    assert '<a class="key" href="/join">Sit down</a>' in page
    place.sit("south"), place.sit("north")
    page = page_of(place.browser(), "/watch")
    assert page.count("Sit down</a>") == 1, "in the menu alone: both seats are taken"


def test_who_watches_a_clock_that_stands_reads_why_and_of_no_key(place: Place) -> None:
    place.sit("south"), place.sit("north")
    begin(place, "binmat")
    assert place.table.view().sign.text == "Tap “Start the clock” on a phone"
    (sign,) = re.findall(r'<div class="sign[^>]*>(.*?)</div>', page(place, "/watch"), re.DOTALL)
    assert sign == "<span>The clock has not been started.</span>"


def test_without_scripts_a_page_that_needs_them_says_so(place: Place) -> None:
    """Its keys are pressed by scripts; pages of forms and links work without."""
    told, south = (
        '<noscript><p class="lost" role="status">This page needs JavaScript',
        place.sit("south"),
    )
    assert all(told in page_of(south, path) for path in ("/", "/watch", "/seat/south"))
    assert all(told not in page_of(south, path) for path in ("/join", "/rules/scouts", "/kit"))


def test_a_browser_that_keeps_no_cookies_is_told_so(place: Place) -> None:
    """It has taken the seat and cannot show that it holds it: “another phone” would be a riddle."""
    browser = place.app.test_client(use_cookies=False)
    assert browser.post("/join/south", data={"name": "Mara"}).status_code == 303
    page = browser.get("/seat/south", headers={"Referer": "http://localhost/join/south"})
    assert "This browser keeps no cookies" in page.get_data(as_text=True)
    assert "South is taken" in place.browser().get("/seat/south").get_data(as_text=True)


@pytest.mark.parametrize(
    ("names", "shown"), [(("Ann", "Ben"), ("Ann", "Ben")), (("Ann", "Ann"), ("White", "Black"))]
)
def test_people_are_called_by_their_names(
    place: Place, names: tuple[str, str], shown: tuple[str, str]
) -> None:
    """On the sign, the clocks and the log; two of one name by the words of their sides."""
    place.table.take_seat(Seat.SOUTH, names[0])
    place.table.take_seat(Seat.NORTH, names[1])
    begin(place, "scouts")
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "@a1")
    place.table.confirm("host", place.table.view().moment, 0)
    html = page(place, "/")
    assert f"{shown[1]}: place a scout" in html
    assert f"{shown[0]} places a scout on a1." in html
    for one, other in zip(shown, ("white", "black"), strict=True):
        assert f"<span>{one}</span>" in html
        assert f"{one} {other}" not in html


def test_a_phone_says_you_and_the_name_of_the_other(place: Place) -> None:
    place.table.take_seat(Seat.NORTH, "Ben")
    phone = place.sit("south", "Ann")
    begin(place, "scouts")
    for number in range(5):
        for seat, rank in ((Seat.SOUTH, 1), (Seat.NORTH, 10)):
            place.table.hand_in(seat, place.table.view().moment, f"@{'abcde'[number]}{rank}")
            place.table.confirm("host", place.table.view().moment, 0)
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "a1-a2")
    place.table.confirm("host", place.table.view().moment, 0)
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, ".")
    html = page_of(phone, "/seat/south")
    assert "<span>You</span>" in html
    assert "Waiting for Ben" in html
    assert "Ben: " in html


def test_a_refusal_names_people(place: Place) -> None:
    place.table.take_seat(Seat.NORTH, "Ben")
    phone = place.sit("south", "Ann")
    begin(place, "scouts")
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "@a1")
    view = place.table.view()
    place.table.confirm("host", view.moment, 0)
    answer = phone.post(
        "/api/seat/south/hand-in", json={"moment": place.table.view().moment, "action": "@b1"}
    )
    assert "Ann" in answer.get_json()["error"]["message"]


def test_one_phone_for_both_says_what_its_holder_does(place: Place) -> None:
    phone = place.browser()
    phone.post("/pass", data={"south": "Ann", "north": "Bo"})
    place.table.new_game("outbuffered", {}, 1)
    page = page_of(phone, "/pass")
    assert "pieces to go. Then tap Done.</small>" in page
    assert "on a phone" not in page
    assert place.table.view().sign.small.endswith("Then tap Done on a phone.")
