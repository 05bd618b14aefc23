"""Test games of Outbuffered in browsers: a whole one, one whose service is killed, and a reveal.

In each turn both sides seal three orders for their robots: up, down, left, right (U, D, L, R),
shoot (S) or wait (I). South's robot is purple and North's is lime. Simulated hands move the pieces
by the workbench, and the camera sees them there.
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
from window_tools import Windows, hand_in, texts_of

pytestmark = pytest.mark.browser


def carry_out_stage(service: Client, wrong_square: str | None = None) -> list[str]:
    """Let hands carry out one stage as instructed. Return the sentences about wrong placements.

    With `wrong_square`, the first piece is put there before it is put where it belongs.
    """
    sentences = []
    view = service.get("/api/view")
    stage = (view["moment"], view["stage"])
    for item in view["instructions"]:
        if item["done"]:
            continue
        for face in item["faces"]:
            piece = piece_on(service, face, item["origin"])
            if wrong_square:
                service.post("/workbench/piece", id=piece, square=wrong_square)
                problem = until("the problem", partial(problem_on, service, wrong_square))
                sentences.append(problem["text"])
                wrong_square = None
            service.post("/workbench/piece", id=piece, square=item["target"])
    until("the end of the stage", lambda: has_moved_on(service, stage))
    return sentences


def piece_on(service: Client, face: str, square: str | None) -> int:
    """Return the id of a piece with this face on a square, or beside the board."""
    pieces = service.get("/workbench/state")["pieces"]
    return int(
        next(piece["id"] for piece in pieces if piece["face"] == face and piece["square"] == square)
    )


def problem_on(service: Client, square: str | None) -> dict[str, Any] | None:
    """Return what the camera reports about a square, or None if it reports nothing."""
    problems = service.get("/api/view")["problems"]
    return next((problem for problem in problems if problem["square"] == square), None)


def has_moved_on(service: Client, stage: tuple[str, int]) -> bool:
    """Return whether this stage, given by its moment and its index, is over."""
    view = service.get("/api/view")
    return (view["moment"], view["stage"]) != stage or view["phase"] == "over"


def carry_out_turn(service: Client) -> None:
    """Let hands carry out all stages of a turn that are left."""
    while service.get("/api/view")["phase"] == "stages":
        carry_out_stage(service)


# Orders of purple and lime for each of three turns, by which purple wins. Purple goes from a1 by a2
# and a3 to a4, takes the flag on b4, and brings it home by b3 and b2 to b1.
WINNING_ORDERS = [("UUU", "SIR"), ("RDD", "IIU"), ("DII", "III")]


def test_two_phones_play_a_whole_game(tmp_path: Path, windows: Windows) -> None:
    """Play to a rematch. The table screen must show no order before its reveal."""
    south, north, wall = windows
    with in_process_service(tmp_path) as service:
        # Both players sit down. South chooses a game, and North starts it.
        client = Client(service.url)
        wall.get(service.url)
        wait_for_sign(wall, "Scan the code")
        sit_down(south, service, "south", "Mara")
        sit_down(north, service, "north", "Jonas")
        wait_for_sign(wall, "Choose a game")
        tap(south, ".game")
        tap(north, ".starts .go")
        wait_for_phase(client, "orders")

        for turn, (purple, lime) in enumerate(WINNING_ORDERS, start=1):
            # South's orders are secret until North has handed in, too.
            hand_in(south, purple)
            wait_for_sign(south, "Waiting for Jonas")
            assert purple not in wall.page_source
            wait_for_sign(wall, "Jonas: hand in")
            hand_in(north, lime)
            # Hands move the pieces. In the first turn they first put the robot on a wrong square.
            wait_for_phase(client, "stages")
            wait_for_sign(wall, "Mara: robot")
            if turn == 1:
                sentences = carry_out_stage(client, wrong_square="c2")
                assert sentences == ["Purple robot expected on a2, seen on c2: move it to a2."]
            carry_out_turn(client)

        # South has won the first game of the evening. North's phone checks what was sealed.
        wait_for_sign(south, "You win")
        wait_for_sign(north, "Mara wins")
        wait_for_sign(wall, "Once more")
        assert client.get("/api/view")["score"] == [1, 0, 0]
        check_receipts(north)

        # In the rematch the players change seats.
        tap(north, ".rematch")
        until("the other seat", lambda: north.current_url.endswith("/seat/south"))
        for window in windows:
            severe = [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined] # Chrome has it
            assert not severe


def check_receipts(window: WebDriver) -> None:
    """Let the phone verify both receipts of the last turn, and verify them here as well.

    A receipt is the SHA-256 of a sealed action, its moment and its salt. All are on the page.
    """
    window.execute_script("document.getElementById('menu').open = true")
    tap(window, "[data-check]")
    until(
        "two verdicts",
        lambda: len([text for text in texts_of(window, ".verdict") if text]) == 2,
    )
    for proof in window.find_elements(By.CSS_SELECTOR, ".proof"):
        text = proof.get_attribute("data-text")
        receipt = proof.get_attribute("data-receipt")
        assert hashlib.sha256(text.encode()).hexdigest() == receipt
        assert "matches" in proof.find_element(By.CSS_SELECTOR, ".verdict").text.lower()


def test_a_turn_goes_on_after_a_kill(tmp_path: Path, windows: Windows) -> None:
    """Kill the service (SIGKILL) when one of two orders is sealed, and start it again.

    All pages must reconnect by themselves. No page and no log may contain an order of the turn.
    """
    south, north, wall = windows
    with service_process(tmp_path, "--simulate", "--port", "0", "--game", "outbuffered") as service:
        client = Client(service.url)
        port = str(service.port)
        wall.get(service.url)
        sit_down(south, service, "south", "Mara")
        sit_down(north, service, "north", "Jonas")
        wait_for_phase(client, "orders")
        hand_in(south, "UUS")
        wait_for_sign(south, "Waiting for Jonas")
        before = client.get("/api/view")
        service.kill()

        # The next service finds the same game in the journal, and has the same owner key.
        with service_process(tmp_path, "--simulate", "--port", port) as restarted:
            after = until("the same game", lambda: client.get("/api/view"))
            kept = ("moment", "phase", "turn", "sealed", "seats", "expected", "score")
            assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
            assert restarted.host_key == service.host_key

            # South's order is still sealed. With North's the turn is revealed, and goes on.
            wait_for_sign(south, "Waiting for Jonas")
            hand_in(north, "RIS")
            for window in (south, north, wall):
                wait_for_sign(window, "obot, a1 to a2")  # “Robot” or “Mara: robot”
                assert "UUS" not in window.page_source
                assert "RIS" not in window.page_source
            for process in (service, restarted):
                assert "UUS" not in process.log


def test_a_reveal_is_animated_once_a_step(tmp_path: Path, windows: Windows) -> None:
    """Reveal a turn in which a robot slides and another bumps into something.

    A key ends the animations of a step, and a page that is loaded again repeats none.
    """
    _, _, wall = windows
    # Lists what is animated now: each element that moves has a `data-` attribute with the name of
    # its movement, such as `slide`.
    animations = (
        "document.getAnimations().map(animation => animation.effect.target)"
        ".filter(target => target?.dataset).flatMap(target => Object.keys(target.dataset))"
    )
    with in_process_service(tmp_path, "outbuffered") as service:
        client = Client(service.url)
        north = Client(service.url)
        client.post("/api/seat/south/take", name="")
        north.post("/api/seat/north/take", name="")
        wait_for_phase(client, "orders")
        wall.get(service.url)
        wait_for_sign(wall, "Both: hand in")

        # Purple's robot slides to a2. Lime's bumps into what is in its way.
        note_animations = (
            "window.moved = []; document.addEventListener('shown', "
            f"() => setTimeout(() => window.moved.push(...{animations})))"
        )
        wall.execute_script(note_animations)
        client.post("/api/seat/south/hand-in", moment="1.1", action="UUI", salt="0")
        north.post("/api/seat/north/hand-in", moment="1.1", action="RII", salt="0")
        wait_for_sign(wall, "Purple: robot, a1 to a2")
        moves = until("an animation", lambda: wall.execute_script("return window.moved"))
        assert {"slide", "bump"} <= set(moves)

        # Press a key as soon as the next step is drawn, and note how many animations there are just
        # before and just after. There must be some before, and none after.
        wall.execute_script(
            "window.skipped = []; document.addEventListener('shown', () => setTimeout(() => {"
            f" const before = {animations}.length;"
            " document.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }));"
            f" window.skipped.push([before, {animations}.length]); }}))"
        )
        service.post_as_host("confirm", moment="1.1", stage=0, force=True)
        animated_step = "return window.skipped.find(([before]) => before > 0)"
        _, after = until("an animated next step", lambda: wall.execute_script(animated_step))
        assert after == 0, "animations go on after a key"

        # A page that is loaded again shows the step as it is, without an animation.
        wall.refresh()
        until("the table screen", lambda: wall.find_elements(By.ID, "live"))
        assert wall.execute_script(f"return {animations}") == []
