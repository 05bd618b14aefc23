"""Games of pieces in real browsers, by taps alone: two phones and the table screen, no camera, no pads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import (
    Client,
    Served,
    main_key,
    says,
    sit_down,
    tap,
    tap_square,
    too_wide,
    until,
)
from window_tools import Windows, no_errors, text_of, texts_of

pytestmark = pytest.mark.browser


def floor(folder: Path) -> str:
    """What a camera that sees no board is shown: everything is tapped."""
    picture = folder / "floor.png"
    assert cv2.imwrite(str(picture), np.full((360, 640), 120, np.uint8))
    return str(picture)


def to_lobby(service: Served, windows: Windows) -> Client:
    """Both sit down, the table screen is on."""
    south, north, wall = windows
    sit_down(south, service, "south", "Mara")
    sit_down(north, service, "north", "Jonas")
    wall.get(service.url)
    for window in windows:
        window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; what an earlier test left there
    return Client(service.url)


def passes(client: Client, moment: str) -> dict[str, Any]:
    """The view once a decision has been handed in."""

    def look() -> dict[str, Any] | None:
        view = client.get("/api/view")
        return view if view["moment"] != moment or view["phase"] != "orders" else None

    return dict(until("the next decision", look))


def play(phone: WebDriver, client: Client, words: str) -> None:
    """Hand in what is tapped once the main key says so."""
    moment = client.get("/api/view")["moment"]
    main_key(phone, words)
    passes(client, moment)


def hands_are_done(client: Client, *phones: WebDriver) -> None:
    """Say that hands have followed, stage by stage, on the phones in turn; stages without moves pass by themselves."""

    def look() -> bool:
        view = client.get("/api/view")
        if view["phase"] not in ("setup", "stages"):
            return True
        phone = phones[view["stage"] % len(phones)]
        phone.execute_script("document.querySelector('.act.hands .key.go')?.click()")
        return False

    until("the stages", look)


def no_sideways_scroll(*windows: WebDriver) -> None:
    for window in windows:
        assert too_wide(window) <= 0, window.current_url


# ---- plays by taps, both clocks ----------------------------------------------------------------------------------------


# ---- orders for each piece ---------------------------------------------------------------------------------------------


def test_orders_on_a_sheet_are_drawn_changed_and_sealed(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with served(tmp_path, picture=floor(tmp_path)) as service:
        client = to_lobby(service, windows)
        service.new_game("arena")
        hands_are_done(client, south, north)
        says(south, "Orders for your robots")
        until("the units", lambda: texts_of(south, ".unit b") == ["1:", "2:", "3:"])
        until("who does nothing", lambda: text_of(south, "#commit") == "No orders yet: 1, 2, 3")
        tap(south, "[data-way=N]")
        until("the next one", lambda: texts_of(south, ".unit b") == ["1:N", "2:", "3:"])
        tap(south, "[data-kind='1']")
        until("neighbours", lambda: south.find_elements(By.CSS_SELECTOR, "#under .dots"))
        tap_square(south, "f1")
        until("the blow", lambda: texts_of(south, ".unit b") == ["1:N", "2:aE", "3:"])
        ActionChains(south).send_keys("d").perform()
        until("the shield", lambda: texts_of(south, ".unit b") == ["1:N", "2:aE", "3:D"])
        drawings = {
            each.get_attribute("href")
            for each in south.find_elements(By.CSS_SELECTOR, "#plan use, #under use")
        }
        assert drawings == {"#order-up", "#blade", "#shield"}
        tap_square(south, "h1")
        tap(south, "[data-kind='2']")  # once more: away with it
        until("taken away", lambda: texts_of(south, ".unit b") == ["1:N", "2:aE", "3:"])
        assert text_of(south, "#commit") == "No orders yet: 3"
        south.refresh()
        until("kept over a reload", lambda: texts_of(south, ".unit b") == ["1:N", "2:aE", "3:"])
        for window in (north, wall):
            assert "aE" not in window.page_source
        tap(south, "#commit")
        until("a question", lambda: "No orders yet: 3" in text_of(south, "dialog[open]"))
        assert client.get("/api/view")["phase"] == "orders"
        tap(south, ".sure [data-no]")
        tap(south, "[data-kind='2']")
        until("the shield", lambda: text_of(south, "#commit") == "Hand in")
        tap(south, "#clear")
        until("no order", lambda: text_of(south, "#commit") == "No orders yet: 1, 2, 3")
        for order in ("[data-way=N]", "[data-kind='1']", "[data-way=E]"):
            tap(south, order)
        until("two orders", lambda: text_of(south, "#commit") == "No orders yet: 3")
        tap(south, "#commit")
        tap(south, ".sure [data-yes]")
        until("the shutter", lambda: south.find_elements(By.ID, "shutter"))
        assert not south.find_elements(By.CSS_SELECTOR, "#sheet, .unit")
        assert south.execute_script(
            "return sessionStorage.length"
        ) == 0 or "aE" not in south.execute_script("return JSON.stringify(sessionStorage)")
        for window in windows:
            assert "2:aE" not in window.page_source
        look = south.find_element(By.ID, "look")
        ActionChains(south).click_and_hold(look).perform()
        until("the own sheet", lambda: text_of(south, ".peek") == "1:N 2:aE")
        ActionChains(south).release().perform()
        until("closed again", lambda: not south.find_elements(By.CSS_SELECTOR, ".peek"))
        says(north, "Orders for your robots")
        until("the units", lambda: texts_of(north, ".unit b") == ["1:", "2:", "3:"])
        tap_square(north, "e9", "e8")  # towards the other side: South on the board
        until("a move", lambda: texts_of(north, ".unit b") == ["1:", "2:S", "3:"])
        tap(north, "#commit")
        until("a question", lambda: "No orders yet: 1, 3" in text_of(north, "dialog[open]"))
        tap(north, ".sure [data-yes]")
        until("the reveal", lambda: client.get("/api/view")["phase"] == "stages")
        hands_are_done(client, south, north)
        says(wall, "Both: orders for your robots")
        layout = client.get("/api/view")["layout"]
        assert (layout["b2"], layout["e8"]) == (["petrol robot 1"], ["coral robot 2"])
        no_sideways_scroll(*windows)
        no_errors(*windows)


# ---- placing and face-off ----------------------------------------------------------------------------------------------

RUN = "const [seat, done] = arguments; fetch(`/api/seat/${seat}/plays`).then(answer => answer.json()).then(done)"


def plays_of(window: WebDriver, seat: str) -> list[list[Any]]:
    return list(until("plays", lambda: window.execute_async_script(RUN, seat)["plays"]))


def play_on(client: Client, phones: dict[str, WebDriver]) -> str:
    """One decision by taps: a tackle or a run into somebody where there is one, else a run ahead; answers its words."""
    view = client.get("/api/view")
    (seat,) = (seat for seat, shown in view["seats"].items() if shown["awaited"])
    phone, ahead = phones[seat], 1 if seat == "south" else -1
    legal = plays_of(phone, seat)

    def worth(play: list[Any]) -> tuple[bool, int]:
        _, squares, label, *_ = play
        ranks = [int(square[1:]) for square in squares]
        return "against" in label, (ranks[-1] - ranks[0]) * ahead if ranks else -99

    text, squares, label, _, touches, _ = max(
        (play for play in legal if play[3] == ""), key=worth, default=legal[-1]
    )
    if not squares:
        play(phone, client, "End turn")
        return str(label)
    tap_square(phone, *touches)
    ways = [play[0] for play in legal if play[3] == "" and play[4] == touches]
    for _ in range(ways.index(text)):
        tap(phone, "#other-path")
    main_key(phone, label)
    passes(client, view["moment"])
    return str(label)


def test_placing_a_run_and_a_face_off_by_taps(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    phones = {"south": south, "north": north}
    with served(tmp_path, picture=floor(tmp_path)) as service:
        client = to_lobby(service, windows)
        service.new_game("kahmate")
        hands_are_done(client, south)
        says(south, "Place your six pieces")
        until("the proposal", lambda: len(south.find_elements(By.CSS_SELECTOR, "#plan text")) == 6)
        tap_square(south, "d2", "d1")  # big and smart change places
        tap_square(south, "a2")
        until("chosen", lambda: "blue fast a2" in text_of(south, "#told"))
        tap_square(south, "a1")
        assert "side-blue" not in re.sub(
            r'class="goal[^>]*>',
            "",
            str(north.find_element(By.CSS_SELECTOR, ".view .board").get_attribute("outerHTML")),
        )
        tap(south, "#commit")
        until("the shutter", lambda: south.find_elements(By.ID, "shutter"))
        for window in windows:
            assert "B@d1" not in window.page_source
        tap(north, "#commit")
        until("both in", lambda: client.get("/api/view")["phase"] == "stages")
        hands_are_done(client, south, north)
        layout = client.get("/api/view")["layout"]
        assert (layout["d1"], layout["d2"], layout["a1"]) == (
            ["blue big"],
            ["blue smart"],
            ["blue fast"],
        )
        for _ in range(60):
            view = client.get("/api/view")
            if view["standing"]["duel"]:
                break
            if view["phase"] == "stages":
                hands_are_done(client, south)
                continue
            play_on(client, phones)
        assert view["standing"]["duel"], "nobody met anybody"
        says(south, "Choose a card")
        until("six cards", lambda: len(south.find_elements(By.CSS_SELECTOR, "[data-card]")) == 6)
        tap(south, "[data-card='4']")
        until("the sum", lambda: "with card 4 makes" in text_of(south, "#told"))
        tap(south, "[data-card='5']")
        main_key(south, "Hand in 5")
        until(
            "a closed card", lambda: len(wall.find_elements(By.CSS_SELECTOR, ".of-hand.shut")) == 1
        )
        assert len(north.find_elements(By.CSS_SELECTOR, ".of-hand.shut")) == 1
        tap(north, "[data-card='2']")
        main_key(north, "Hand in 2")
        until("the reveal", lambda: client.get("/api/view")["phase"] == "stages")
        until(
            "the sums", lambda: len(wall.find_elements(By.CSS_SELECTOR, ".tally .figure.num")) == 2
        )
        hands_are_done(client, south, north)
        hands = client.get("/api/view")["standing"]["hands"]
        assert [card["value"] for card in hands["south"] if card["is_spent"]] == ["5"]
        assert [card["value"] for card in hands["north"] if card["is_spent"]] == ["2"]
        no_sideways_scroll(*windows)
        no_errors(*windows)
