"""Tests of the clock of a game, through Flask's client on a fake clock.

They cover who may stop and start the clock, and by which time a press counts. The game is BINMAT
with real cards, in which each turn has 5 s. The action `.` presses the clock, which ends the turn.
"""

from __future__ import annotations

from typing import Any

from web_fixtures import HOST_KEY, WebRig, page_text, view_of

# Headers of a request by the owner.
HOST = {"X-Host-Key": HOST_KEY}


# ---- who works the clock ------------------------------------------------------------------------


def test_anybody_works_the_clock_at_the_table(rig: WebRig) -> None:
    """At the table screen, a guest without a seat presses, pauses and resumes the clock."""
    guest = rig.browser()
    moment = rig.start_card_game()

    def act(route: str, **body: object) -> dict[str, Any]:
        assert guest.post(f"/api/table/{route}", json=body).status_code == 200
        return view_of(rig)

    # press it at 2 s: the first of 110 turns is over, and 109 are left
    rig.clock.advance(2)
    assert act("act", moment=moment, action=".")["tableau"]["count"]["number"] == 109

    # pause it at 3 s, for a minute: 1 s of the second turn has passed, so 4 of 5 s are left
    rig.clock.advance(1)
    act("pause")
    rig.clock.advance(60)
    assert view_of(rig)["clock"] == {
        "limit_s": 5.0, "left_s": 4.0, "due_s": None, "paused": "table", "has_run_out": False,
    }  # fmt: skip

    # resume it at 63 s: the turn is due 4 s later
    view = act("resume")
    assert view["clock"]["due_s"] == 67.0

    # take the press back: the first turn, which was ended after 2 s, has 3 s again
    view = act("back", moment=view["moment"])
    assert view["tableau"]["count"]["number"] == 110
    assert (view["clock"]["left_s"], view["clock"]["paused"]) == (3.0, "undo")


def test_seat_and_owner_pause_and_resume_clocks(rig: WebRig) -> None:
    """In the full game only seats and the owner work the clock. Each pause names who made it."""
    south = rig.sit("south")
    guest = rig.browser()
    rig.start_card_game("full")
    for base, headers, by in (("seat/south", {}, "south"), ("host", HOST, "host")):
        for route, paused in (("pause", by), ("resume", "")):
            path = f"/api/{base}/{route}"
            assert guest.post(path, json={}).status_code == 403
            assert south.post(path, json={}, headers=headers).status_code == 200
            assert view_of(rig)["clock"]["paused"] == paused
            assert ("Resume" in page_text(south, "/seat/south")) is bool(paused)


# ---- time ----------------------------------------------------------------------------------------


def test_a_press_counts_from_its_arrival(rig: WebRig) -> None:
    """A press that arrives in time counts, even if the service is too busy to handle it in time."""
    south = rig.sit("south")
    moment = rig.start_card_game()
    # the request arrives after 4.9 of 5 s, and is handled after 6 s
    rig.clock.advance(4.9)
    rig.app.before_request_funcs[None].append(lambda: rig.clock.advance(1.1))
    body = {"moment": moment, "action": "."}
    assert south.post("/api/seat/south/hand-in", json=body).status_code == 200
    assert view_of(rig)["log"][0] == "1. Defender is done."
    # the next turn has 5 s from the arrival of the press
    assert view_of(rig)["clock"]["due_s"] == 9.9
