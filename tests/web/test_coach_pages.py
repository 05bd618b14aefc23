"""The coach on the pages: whom it answers, what nobody else sees, and where its help is marked."""

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

SECRET = "This brings intel home."


class Process:
    """A coach's process that has an answer at once."""

    def __init__(self, command: Sequence[str]) -> None:
        pass

    def new(self, *told: Any) -> None:
        pass

    def see(self, *told: Any) -> None:
        pass

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        return Choice("LRS", 1, (SECRET,))

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        return Verdict(self.choose(view, timeout_s), 0.05)

    def close(self) -> None:
        pass


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path, open_coach=Process) as rig:
        yield rig


def question(rig: WebRig, about: str = "now") -> dict[str, str]:
    return {"moment": rig.table.view().moment, "about": about}


def test_the_coach_answers_owners_and_marks_the_game(rig: WebRig) -> None:
    ada = rig.sit("south", "Ada")
    ada.post("/api/seat/north/machine", json={"name": "Bo"})
    moment = rig.start_game()
    help_ = ada.post("/api/seat/south/help", json={"moment": moment, "entered": ""}).json["html"]
    assert 'data-coach="now"' in help_
    assert "the score will say so" in help_
    told = ada.post("/api/seat/south/coach", json=question(rig)).json
    assert (told["action"], told["why"], told["judgement"]) == ("LRS", [SECRET], "")
    assert "order-left" in told["html"]
    assert view_of(rig)["seats"]["south"]["coached"] is True
    assert "with the coach" in page_text(rig.browser(), "/")
    assert view_of(rig)["seats"]["south"]["sealed_at"] is None, "it handed in by itself"


def test_what_it_says_reaches_nobody_else(rig: WebRig, caplog: pytest.LogCaptureFixture) -> None:
    ada, ben, host = rig.sit("south", "Ada"), rig.sit("north", "Ben"), rig.host()
    rig.table.use_settings(TableSettings(coach="always"))
    rig.start_game()
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


def test_a_wrong_question_is_refused_in_a_sentence(rig: WebRig) -> None:
    ada = rig.sit("south", "Ada")
    rig.sit("north", "Ben")
    rig.start_game()
    refused = ada.post("/api/seat/south/coach", json=question(rig))
    assert refused.status_code == 409
    assert error_of(refused)["message"] == "There is nothing to ask the coach now"


def test_the_machine_says_why_to_who_asks(rig: WebRig) -> None:
    """A program's words are no markup."""
    ada = rig.sit("south", "Ada")
    ada.post("/api/seat/north/machine", json={"name": "Bo"})
    moment = rig.start_game()
    ours = parse_sentence("This wins whatever the other side does.")
    rig.table.machines.store_reasons(Seat.NORTH, moment, (ours, "<i>flag</i>"))
    early = ada.post("/api/seat/south/coach", json=question(rig, "theirs"))
    assert error_of(early)["message"] == "The machine has nothing to explain right now"
    settle(rig, "LIS", "LIS")
    told = ada.post("/api/seat/south/coach", json=question(rig, "theirs")).json
    assert (told["action"], told["judgement"]) == ("LIS", "Bo, turn 1")
    assert "&lt;i&gt;flag&lt;/i&gt;" in told["html"]
    assert not rig.table.view().seats[Seat.SOUTH].is_coached, "the coach was not asked"


def test_a_replay_asks_what_would_have_been_better(rig: WebRig) -> None:
    rig.sit("south", "Ada")
    rig.sit("north", "Ben")
    rig.start_game()
    settle(rig, "UII", "III")
    better = "/history/1/turn/1/better"
    assert rig.browser().get(better).status_code == 409, "the game is still on"
    rig.table.resign(Seat.NORTH)
    assert f'data-better="{better}"' in page_text(rig.browser(), "/history/1/scene/3")
    told = page_text(rig.browser(), better)
    assert told.count("That was fine. This would have been a little better.") == 2
    assert "Left, right, shoot" in told
    assert rig.browser().get("/history/1/turn/2/better").status_code == 404
    assert not rig.table.view().seats[Seat.SOUTH].is_coached


def settle(rig: WebRig, *actions: str) -> None:
    """Hand in for both seats, and let hands follow."""
    moment = rig.table.view().moment
    for seat, action in zip(Seat, actions, strict=True):
        rig.table.hand_in(seat, moment, action)
    follow_instructions(rig.table)
