"""Whole games in real browsers against the real service: phones, a killed service, the
workbench.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, service_process, sit_down, tap, until, wait_for_phase, wait_for_sign
from window_tools import Windows, hand_in

pytestmark = pytest.mark.browser


def follow(service: Client, wrong: str | None = None) -> list[str]:
    """Let hands carry out one stage as they are told. Return the signs of wrong placements."""
    signs = []
    view = service.get("/api/view")
    place = (view["moment"], view["stage"])
    for item in view["instructions"]:
        if item["done"]:
            continue
        for face in item["faces"]:
            piece = piece_on(service, face, item["origin"])
            if wrong:
                service.post("/workbench/piece", id=piece, square=wrong)
                signs.append(until("a word about it", partial(problem_on, service, wrong))["text"])
                wrong = None
            service.post("/workbench/piece", id=piece, square=item["target"])
    until("the stage to be ticked off", lambda: has_moved_on(service, place))
    return signs


def piece_on(service: Client, face: str, square: str | None) -> int:
    pieces = service.get("/workbench/state")["pieces"]
    return int(
        next(piece["id"] for piece in pieces if piece["face"] == face and piece["square"] == square)
    )


def problem_on(service: Client, square: str | None) -> dict[str, Any] | None:
    return next((p for p in service.get("/api/view")["problems"] if p["square"] == square), None)


def has_moved_on(service: Client, place: tuple[str, int]) -> bool:
    view = service.get("/api/view")
    return (view["moment"], view["stage"]) != place or view["phase"] == "over"


def play_out(service: Client) -> None:
    """Play all stages of a turn."""
    while service.get("/api/view")["phase"] == "stages":
        follow(service)


# purple: a1 a2 a3 a4, takes the flag on b4, b3, b2, home to b1
WINNING = [("UUU", "SIR"), ("RDD", "IIU"), ("DII", "III")]


def test_two_phones_play_a_whole_game(tmp_path: Path, windows: Windows) -> None:
    south, north, wall = windows
    with in_process_service(tmp_path) as service:
        client = Client(service.url)
        wall.get(service.url)
        wait_for_sign(wall, "Scan the code")
        sit_down(south, service, "south", "Mara")
        sit_down(north, service, "north", "Jonas")
        wait_for_sign(wall, "Choose a game")
        tap(south, ".game")
        tap(north, ".starts .go")
        wait_for_phase(client, "orders")
        for number, (purple, lime) in enumerate(WINNING):
            hand_in(south, purple)
            wait_for_sign(south, "Waiting for Jonas")
            assert purple not in wall.page_source
            wait_for_sign(wall, "Jonas: hand in")
            hand_in(north, lime)
            wait_for_phase(client, "stages")
            wait_for_sign(wall, "Mara: robot")
            if number == 0:
                signs = follow(client, "c2")
                assert signs == ["Purple robot expected on a2, seen on c2: move it to a2."]
            play_out(client)
        for window in windows:
            wait_for_sign(window, {south: "You win", north: "Mara wins"}.get(window, "Once more"))
        assert client.get("/api/view")["score"] == [1, 0, 0]
        check_receipts(north)
        tap(north, ".rematch")
        until("the other seat", lambda: north.current_url.endswith("/seat/south"))
        for window in windows:
            severe = [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined] # Chrome has it
            assert not severe


def check_receipts(window: WebDriver) -> None:
    """Let the phone verify both receipts of the last turn by its own arithmetic."""
    window.execute_script("document.getElementById('menu').open = true")
    tap(window, "[data-check]")
    until(
        "two verdicts",
        lambda: len([v for v in window.find_elements(By.CSS_SELECTOR, ".verdict") if v.text]) == 2,
    )
    for proof in window.find_elements(By.CSS_SELECTOR, ".proof"):
        text, shown = proof.get_attribute("data-text"), proof.get_attribute("data-receipt")
        assert hashlib.sha256(text.encode()).hexdigest() == shown
        assert "matches" in proof.find_element(By.CSS_SELECTOR, ".verdict").text.lower()


def test_a_turn_goes_on_after_a_kill(tmp_path: Path, windows: Windows) -> None:
    """SIGKILL with one order sealed: the phones find back alone, and the turn goes on."""
    south, north, wall = windows
    with service_process(tmp_path, "--simulate", "--port", "0", "--game", "outbuffered") as service:
        client, port = Client(service.url), str(service.port)
        wall.get(service.url)
        sit_down(south, service, "south", "Mara")
        sit_down(north, service, "north", "Jonas")
        wait_for_phase(client, "orders")
        hand_in(south, "UUS")
        wait_for_sign(south, "Waiting for Jonas")
        before = client.get("/api/view")
        service.kill()
        with service_process(tmp_path, "--simulate", "--port", port) as again:
            after = until("the same game", lambda: client.get("/api/view"))
            same = ("moment", "phase", "turn", "sealed", "seats", "expected", "score")
            assert {key: after[key] for key in same} == {key: before[key] for key in same}
            assert again.host_key == service.host_key
            wait_for_sign(south, "Waiting for Jonas")
            hand_in(north, "RIS")
            for window in (south, north, wall):
                wait_for_sign(window, "obot, a1 to a2")
                assert "UUS" not in window.page_source
                assert "RIS" not in window.page_source
            for log in (service, again):
                assert "UUS" not in log.log


def test_the_reveal_moves_once_a_step(tmp_path: Path, windows: Windows) -> None:
    """Robots slide and bounce and a shot grows when a step opens; a reload plays nothing again."""
    _, _, wall = windows
    moving = (
        "document.getAnimations().map(animation => animation.effect.target)"
        ".filter(target => target?.dataset).flatMap(target => Object.keys(target.dataset))"
    )
    with in_process_service(tmp_path, "outbuffered") as service:
        client, north = Client(service.url), Client(service.url)
        client.post("/api/seat/south/take", name="")
        north.post("/api/seat/north/take", name="")
        wait_for_phase(client, "orders")
        wall.get(service.url)
        wait_for_sign(wall, "Both: hand in")
        note = (
            "window.moved = []; document.addEventListener('shown', "
            f"() => setTimeout(() => window.moved.push(...{moving})))"
        )
        wall.execute_script(note)
        client.post("/api/seat/south/hand-in", moment="1.1", action="UUI", salt="0")
        north.post("/api/seat/north/hand-in", moment="1.1", action="RII", salt="0")
        wait_for_sign(wall, "Purple: robot, a1 to a2")
        moves = until("something to move", lambda: wall.execute_script("return window.moved"))
        assert {"slide", "bump"} <= set(moves)
        wall.execute_script(
            "window.skipped = []; document.addEventListener('shown', () => setTimeout(() => {"
            f" const before = {moving}.length;"
            " document.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }));"
            f" window.skipped.push([before, {moving}.length]); }}))"
        )
        service.post_as_host("confirm", moment="1.1", stage=0, force=True)
        before, after = until(
            "the next step", lambda: wall.execute_script("return window.skipped")
        )[0]
        assert before or not after
        assert after == 0, "a key shows the end at once"
        wall.refresh()
        until("the table", lambda: wall.find_elements(By.ID, "live"))
        assert wall.execute_script(f"return {moving}") == []
