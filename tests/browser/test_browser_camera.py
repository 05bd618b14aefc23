"""Test the owner's page about the camera in a browser, at a simulated table.

The page shows the camera's picture, and says what the camera sees on each square.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import in_process_service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, browser, until, wait_for_phase
from window_tools import assert_no_errors, text_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def label_of(window: WebDriver, selector: str) -> str:
    """Return the accessible label of an element, or an empty text if there is none."""
    script = "return document.querySelector(arguments[0])?.getAttribute('aria-label') ?? ''"
    return str(window.execute_script(script, selector))


def test_the_camera_page_follows_the_table(tmp_path: Path) -> None:
    """Move a piece and hold a hand over the board. The page must show both without a reload."""
    with (
        in_process_service(tmp_path, "outbuffered") as service,
        browser((1024, 768)) as window,
    ):
        # The owner enters the key, and follows the link to the camera page.
        client = Client(service.url)
        wait_for_phase(client, "orders")
        window.get(f"{service.url}/host")
        window.find_element(By.ID, "key").send_keys(service.host_key)
        window.find_element(By.CSS_SELECTOR, "form button").click()
        until("the host's page", lambda: window.find_elements(By.ID, "options"))
        window.get_log("browser")  # drop the note of the 403 that asked for the key
        until(
            "the link to the camera page",
            lambda: window.find_elements(By.LINK_TEXT, "What it sees"),
        )
        window.find_element(By.LINK_TEXT, "What it sees").click()

        # The page says that the camera sees well, names the pieces, and shows a live picture.
        until(
            "the verdict",
            lambda: text_of(window, "#health-look") == "Every square is sharp and bright",
        )
        until("the robot on a1", lambda: "purple robot a1" in label_of(window, "svg.seen"))
        script = "return document.getElementById('frame').naturalWidth"
        until("the live picture", lambda: window.execute_script(script) == 960)

        # Hands move the robot from a1 to b2, and then stay over b3.
        pieces = client.get("/workbench/state")["pieces"]
        robot = next(piece["id"] for piece in pieces if piece["face"] == "purple robot")
        client.post("/workbench/piece", id=robot, square="b2")
        until(
            "the piece on its new square", lambda: "purple robot b2" in label_of(window, "svg.seen")
        )
        client.post("/workbench/hand", square="b3")
        until("squares that are not read", lambda: "Not read:" in label_of(window, "svg.seen"))
        assert_no_errors(window)
