"""Games of clocks through the doors: who may act for whom, and by which time it counts."""

from __future__ import annotations

from typing import Any

from web_fixtures import HOST_KEY, WebRig, page_text, view_of

HOST = {"X-Host-Key": HOST_KEY}


# ---- anybody at the table ------------------------------------------------------------------------


def test_anybody_works_the_clock_at_the_table(rig: WebRig) -> None:
    anybody, moment = rig.browser(), rig.start_card_game()

    def act(door: str, **body: object) -> dict[str, Any]:
        assert anybody.post(f"/api/table/{door}", json=body).status_code == 200
        return view_of(rig)

    rig.clock.advance(2)
    assert act("act", moment=moment, action=".")["tableau"]["count"]["number"] == 109
    rig.clock.advance(1)
    act("pause")
    rig.clock.advance(60)
    assert view_of(rig)["clock"] == {
        "limit_s": 5.0, "left_s": 4.0, "due_s": None, "paused": "table", "has_run_out": False,
    }  # fmt: skip
    view = act("resume")
    assert view["clock"]["due_s"] == 67.0
    view = act("back", moment=view["moment"])
    assert view["tableau"]["count"]["number"] == 110
    assert (view["clock"]["left_s"], view["clock"]["paused"]) == (3.0, "undo")


def test_seat_and_host_stop_and_start_clocks(rig: WebRig) -> None:
    south, other = rig.sit("south"), rig.browser()
    rig.start_card_game("full")
    for base, headers, by in (("seat/south", {}, "south"), ("host", HOST, "host")):
        for door, paused in (("pause", by), ("resume", "")):
            path = f"/api/{base}/{door}"
            assert other.post(path, json={}).status_code == 403
            assert south.post(path, json={}, headers=headers).status_code == 200
            assert view_of(rig)["clock"]["paused"] == paused
            assert ("Resume" in page_text(south, "/seat/south")) is bool(paused)


# ---- time ----------------------------------------------------------------------------------------


def test_a_press_counts_from_when_it_came_in(rig: WebRig) -> None:
    """Also when the clock ran out before the table heard of it."""
    south, moment = rig.sit("south"), rig.start_card_game()
    rig.clock.advance(4.9)
    rig.app.before_request_funcs[None].append(lambda: rig.clock.advance(1.1))
    body = {"moment": moment, "action": "."}
    late = south.post("/api/seat/south/hand-in", json=body)
    assert late.status_code == 200
    assert view_of(rig)["log"][0] == "1. Defender is done."
    assert view_of(rig)["clock"]["due_s"] == 9.9
