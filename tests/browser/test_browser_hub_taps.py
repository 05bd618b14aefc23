"""Whoever taps twice on a page of a hub takes nothing away, nor back what the first tap did."""

from __future__ import annotations

import pytest
from finger_tools import PAUSES_MS, Finger, alike
from selenium.webdriver.remote.webdriver import WebDriver
from tour import Stop
from tour_hub import HubTour, touring_hub

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]


def facts(tour: HubTour) -> set[str]:
    """What there is at the hub: tables, cards, tournaments with who plays in them, and how their
    boards ended.
    """
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


class HubFinger(Finger):
    """Taps one new key of a hub's pages after the other, until one of them has changed
    something.
    """

    def __init__(self, window: WebDriver) -> None:
        super().__init__(window)
        self._done = 0

    def walk(self, tour: HubTour) -> bool:
        """Go on through the pages until a tap has changed something; answers whether one has."""
        self.listen(tour.server.app)
        for number, stop in enumerate(tour.stops()):
            if number >= self._done and self._taps_something(tour, stop):
                return True
            self._done = max(self._done, number + 1)
        return False

    def _taps_something(self, tour: HubTour, stop: Stop) -> bool:
        has_folds = "return Boolean(document.querySelector('details'))"
        for is_open in (False, True):
            if is_open and not self.window.execute_script(has_folds):
                break
            keys = self.open(tour, stop, is_open)
            while (number := self._new_key(stop, keys)) is not None:
                at = self.place(number)
                if at and self._changes(tour, stop, at, is_open):
                    return True
                if self.posts or self.keys(is_open) != keys:
                    keys = self.open(tour, stop, is_open)
        return False

    def _new_key(self, stop: Stop, keys: list[str]) -> int | None:
        """The place of the first key that was not tapped so far."""
        page = alike(stop.path)
        return next((place for place, key in enumerate(keys) if self.is_new(page, key)), None)

    def _changes(
        self, tour: HubTour, stop: Stop, at: tuple[float, float, str], is_open: bool
    ) -> bool:
        """Tap a place again and again; answers whether there is anything else now."""
        self.posts.clear()
        at_first = facts(tour)
        # who withdraws can enter again
        before = {fact for fact in at_first if not fact.endswith("has entered")}
        self.tap(at, PAUSES_MS[0])
        after_one_tap = facts(tour)
        for pause_ms in PAUSES_MS[1:]:
            self.tap(at, pause_ms)
        # what a fold holds was asked for by opening it
        must_stay = after_one_tap if is_open else before | after_one_tap
        if lost := must_stay - facts(tour):
            self.lost.append(f"{stop.name}, {at[2]}: {lost} by {self.posts}")
        return facts(tour) != at_first


def test_no_key_of_a_hub_takes_anything_away_when_tapped_twice(own_clock: WebDriver) -> None:
    finger, is_changed = HubFinger(own_clock), True
    while is_changed:
        with touring_hub() as tour:
            is_changed = finger.walk(tour)
    assert "\n".join(finger.lost) == ""
