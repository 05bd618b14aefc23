"""Tests of the coach on the pages, through Flask's client with a scripted coach.

They cover whom it answers, that nobody else sees its advice, and that a coached game is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from table_tools import follow_instructions
from web_fixtures import WebRig, error_of, open_web_rig, page_text, view_of

from companion.bots.base import Choice, Verdict
from companion.bots.bot_process import parse_sentence
from companion.core.config import TableSettings
from companion.core.kit import Seat

# The coach's advice, which only the player who asked may see.
SECRET = "This brings intel home."


class ScriptedCoach:
    """A fake of a coach's process, which always advises the same action at once."""

    def __init__(self, command: Sequence[str]) -> None:
        pass

    def new(self, *arguments: Any) -> None:
        pass

    def see(self, *arguments: Any) -> None:
        pass

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        # left, right, shoot
        return Choice("LRS", 1, (SECRET,))

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        # any other action is a little worse
        return Verdict(self.choose(view, timeout_s), 0.05)

    def close(self) -> None:
        pass


# A table with the scripted coach.
@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path, open_coach=ScriptedCoach) as rig:
        yield rig


def question(rig: WebRig, about: str = "now") -> dict[str, str]:
    """Return the body of a question to the coach at the current moment."""
    return {"moment": rig.table.view().moment, "about": about}


def test_asking_the_coach_marks_the_game(rig: WebRig) -> None:
    ada = rig.sit("south", "Ada")
    ada.post("/api/seat/north/machine", json={"name": "Bo"})
    moment = rig.start_game()

    # Ada's help has a key for the coach, and warns her of the mark
    html = ada.post("/api/seat/south/help", json={"moment": moment, "entered": ""}).json["html"]
    assert 'data-coach="now"' in html
    assert "the score will say so" in html

    # she asks, and from now on everybody sees that she has
    advice = ada.post("/api/seat/south/coach", json=question(rig)).json
    assert (advice["action"], advice["why"], advice["judgement"]) == ("LRS", [SECRET], "")
    assert "order-left" in advice["html"]
    assert view_of(rig)["seats"]["south"]["coached"] is True
    assert "with the coach" in page_text(rig.browser(), "/")
    assert view_of(rig)["seats"]["south"]["sealed_at"] is None, (
        "the coach must not hand in its advice"
    )


def test_nobody_else_sees_the_coachs_advice(rig: WebRig, caplog: pytest.LogCaptureFixture) -> None:
    ada = rig.sit("south", "Ada")
    ben = rig.sit("north", "Ben")
    host = rig.host()
    rig.table.use_settings(TableSettings(coach="always"))
    rig.start_game()

    # Ada asks the coach: neither Ben nor the owner can see what it said, on any page or in the log
    assert ada.post("/api/seat/south/coach", json=question(rig)).status_code == 200
    for browser, paths in (
        (ben, ("/", "/watch", "/seat/north", "/api/seat/north/view")),
        (ada, ("/seat/south",)),
        (host, ("/host", "/api/view")),
    ):
        for path in paths:
            page = browser.get(path).text
            assert SECRET not in page
            assert "LRS" not in page
    assert SECRET not in caplog.text


def test_a_game_of_two_people_has_no_coach(rig: WebRig) -> None:
    """By default the coach helps only against a machine."""
    ada = rig.sit("south", "Ada")
    rig.sit("north", "Ben")
    rig.start_game()
    refused = ada.post("/api/seat/south/coach", json=question(rig))
    assert refused.status_code == 409
    assert error_of(refused)["message"] == "There is nothing to ask the coach now"


def test_a_machine_explains_its_last_action(rig: WebRig) -> None:
    """A machine's reasons are shown when the turn is over. Markup in its words is escaped."""
    ada = rig.sit("south", "Ada")
    ada.post("/api/seat/north/machine", json={"name": "Bo"})
    moment = rig.start_game()
    known_reason = parse_sentence("This wins whatever the other side does.")
    rig.table.machines.store_reasons(Seat.NORTH, moment, (known_reason, "<i>flag</i>"))

    # its action is not revealed yet, and the reasons would tell it
    early = ada.post("/api/seat/south/coach", json=question(rig, "theirs"))
    assert error_of(early)["message"] == "The machine has nothing to explain right now"

    # the turn is over
    play_turn(rig, "LIS", "LIS")
    reasons = ada.post("/api/seat/south/coach", json=question(rig, "theirs")).json
    assert (reasons["action"], reasons["judgement"]) == ("LIS", "Bo, turn 1")
    assert "&lt;i&gt;flag&lt;/i&gt;" in reasons["html"]
    assert not rig.table.view().seats[Seat.SOUTH].is_coached, (
        "a question to the machine must not count as coaching"
    )


def test_a_replay_shows_better_actions(rig: WebRig) -> None:
    """Ask the coach about turn 1. It finds both actions a little worse than its own."""
    rig.sit("south", "Ada")
    rig.sit("north", "Ben")
    rig.start_game()
    play_turn(rig, "UII", "III")
    path = "/history/1/turn/1/better"
    assert rig.browser().get(path).status_code == 409, "the coach must not help during a game"

    # the game is over: scene 3 is the end of turn 1, where its replay offers the coach's actions
    rig.table.resign(Seat.NORTH)
    assert f'data-better="{path}"' in page_text(rig.browser(), "/history/1/scene/3")
    page = page_text(rig.browser(), path)
    assert page.count("That was fine. This would have been a little better.") == 2
    assert "Left, right, shoot" in page
    assert rig.browser().get("/history/1/turn/2/better").status_code == 404
    assert not rig.table.view().seats[Seat.SOUTH].is_coached


def play_turn(rig: WebRig, *actions: str) -> None:
    """Hand in South's and North's actions, and let hands carry them out."""
    moment = rig.table.view().moment
    for seat, action in zip(Seat, actions, strict=True):
        rig.table.hand_in(seat, moment, action)
    follow_instructions(rig.table)
