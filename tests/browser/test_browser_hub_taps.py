"""Whoever taps twice on a page of a hub takes nothing away, nor back what the first tap did."""

from __future__ import annotations

import re

import pytest
from flask import request
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from test_browser_double_taps import (
    _FIND,
    _STANDS,
    _WHERE,
    PARTS,
    PAUSES_MS,
    RESTED_MS,
    own_clock,
)
from tour import SIZES, Stop, cdp, dress, visit
from tour_hub import HubTour, touring_hub

__all__ = ["own_clock"]
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]


_FILE = re.compile(r"\.(csv|json)\b")
"""Keys that fetch a file and show no page."""


def facts(tour: HubTour) -> set[str]:
    """What there is at the hub: tables, cards, tournaments with who plays in them, and how their boards ended."""
    league = tour.league
    there = {f"table {table.number}" for table in tour.room.tables()}
    there |= {f"card {person.number}" for person in league.cards.people() if person.name}
    for cup in league.tournaments.all():
        there.add(f"tournament {cup.id}")
        for entrant in cup.entrants:
            there.add(f"{cup.id}: {entrant.number} has entered")
            if entrant.until:
                there.add(f"{cup.id}: {entrant.number} has withdrawn")
        for drawn in cup.rounds:
            there.add(f"{cup.id}: round {drawn.number}")
            there |= {
                f"{cup.id}: {board.key}: {board.verdict}"
                for match in drawn.matches
                for board in match.boards
                if board.verdict
            }
    return there


class Finger:
    """Taps one new key of a hub's pages, as often as a hasty person does."""

    def __init__(self, window: WebDriver) -> None:
        self.window = window
        self.lost: list[str] = []
        self._known: set[tuple[str, str]] = set()
        self._posts: list[str] = []

    def walk(self, tour: HubTour) -> bool:
        """Go through all pages until a tap has changed something; answers whether one has."""
        tour.server.app.before_request(self._note)
        return any(self._taps_something(tour, stop) for stop in tour.stops())

    def _note(self) -> None:
        if request.method == "POST":
            self._posts.append(f"{request.path} {request.get_data(as_text=True)}")

    def _taps_something(self, tour: HubTour, stop: Stop) -> bool:
        dress(self.window, SIZES["laptop" if stop.path.startswith("/host") else "phone"], "light")
        page = PARTS.sub("", stop.path)
        for is_open in (False, True):
            for number, key in enumerate(self._open(tour, stop, is_open)):
                if key.startswith("BUTTON||code"):  # languages are on every page
                    continue
                if (page, key) in self._known or _FILE.search(key):
                    continue
                self._known.add((page, key))
                self._open(tour, stop, is_open)
                if self._changes(tour, stop, number, is_open):
                    return True
        return False

    def _open(self, tour: HubTour, stop: Stop, is_open: bool) -> list[str]:
        visit(self.window, tour, stop)
        self._rest(RESTED_MS)
        return list(self.window.execute_script(_FIND, is_open))

    def _rest(self, pause_ms: int) -> None:
        script = self.window.execute_script
        until("all answers", lambda: script(_STANDS, False, pause_ms))

    def _changes(self, tour: HubTour, stop: Stop, number: int, is_open: bool) -> bool:
        """Tap a key again and again; answers whether anything was posted."""
        at = self.window.execute_script(_WHERE, number)
        if not at:
            return False
        self._posts.clear()
        # who withdraws can enter again
        before = {fact for fact in facts(tour) if not fact.endswith("has entered")}
        self._tap(at, PAUSES_MS[0])
        after_one_tap = facts(tour)
        for pause_ms in PAUSES_MS[1:]:
            self._tap(at, pause_ms)
        # what a fold holds was asked for by opening it
        must_stay = after_one_tap if is_open else before | after_one_tap
        if lost := must_stay - facts(tour):
            self.lost.append(f"{stop.name}, {at[2]}: {lost} by {self._posts}")
        return bool(self._posts)

    def _tap(self, at: tuple[float, float, str], pause_ms: int) -> None:
        where = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            cdp(self.window, "Input.dispatchMouseEvent", type=kind, **where)
        self._rest(pause_ms)


def test_no_key_of_a_hub_takes_anything_away_when_it_is_tapped_twice(own_clock: WebDriver) -> None:
    finger, is_changed = Finger(own_clock), True
    while is_changed:
        with touring_hub() as tour:
            is_changed = finger.walk(tour)
    assert "\n".join(finger.lost) == ""
