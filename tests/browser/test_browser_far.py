"""A remote phone in a real browser: a friend elsewhere plays a whole game by the hub, while hub and table come and go."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from far_tools import confirm, far_table
from hub_tools import until
from inside import session_of
from selenium.webdriver.common.by import By
from service import PHONE, browser, tap
from window_tools import text_of

from companion.core.kit import Seat
from companion.table.session import FAR, Phase
from companion.table.table import Table

pytestmark = pytest.mark.browser
_AXE = """
const done = arguments[0];
axe.run(document, { resultTypes: ['violations'], preload: false }).then(
  found => done(found.violations.flatMap(v => v.nodes.slice(0, 3).map(n => `${v.id}: ${n.html.slice(0, 160)}`))));
"""
_PRESS = """
const done = arguments[arguments.length - 1];
import(document.body.dataset.page.replace(/[^/]*$/, 'seat.js')).then(({ handIn }) => handIn('.')).then(() => setTimeout(done, 900));
"""
_TWICE = """
const done = arguments[arguments.length - 1];
const shown = () => [...document.querySelectorAll('#live [data-time]')].map(each => each.textContent).join();
const first = shown();
setTimeout(() => done([first, shown()]), 2500);
"""
_REACH = """
const [hub, done] = arguments;
const form = Object.assign(document.createElement('form'), { method: 'post', action: hub + 'api/hub/new-code' });
document.body.append(form);
form.submit();
fetch(hub + 'api/hub/new-code', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{}' })
  .then(() => done('reached'), () => done('refused'));
"""


def follow(table: Table) -> None:
    """Hands in the room follow what was revealed."""
    while session_of(table).phase in (Phase.SETUP, Phase.STAGES):
        confirm(table)


def test_a_whole_game_from_afar(tmp_path: Path, axe: str) -> None:
    with far_table(tmp_path) as far, browser(PHONE) as window:
        code = far.invite()
        window.get(f"{far.hub.far_url()}{code}")
        window.execute_script(axe)
        assert window.execute_async_script(_AXE) == []
        assert far.companion.table.view().seats[Seat.NORTH].name is None  # a link that is opened takes nothing
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        until("the seat is offered", lambda: window.find_elements(By.NAME, "name"))
        window.find_element(By.NAME, "name").send_keys("Ines")
        window.execute_script(axe)
        assert window.execute_async_script(_AXE) == []
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        until("it sits", lambda: far.companion.table.view().seats[Seat.NORTH].door == FAR)
        far.companion.table.take_seat(Seat.SOUTH, "Mara")
        far.companion.table.new_game("outbuffered")
        until("the page follows", lambda: "Outbuffered" in text_of(window, "#live"))
        for turn, orders in enumerate(("UUU", "RDD", "DII"), start=1):
            follow(far.companion.table)
            until("its keys", lambda turn=turn: f"turn {turn}" in text_of(window, "#live .top"))
            for letter in orders:
                tap(window, f".order[data-letter='{letter}']")
            tap(window, "#hand-in")
            until("a receipt", lambda: window.find_elements(By.CSS_SELECTOR, "#shutter"))
            sealed = session_of(far.companion.table).sealed[Seat.NORTH]
            assert sealed.action == orders
            if turn == 1:
                far.restart_hub()
            elif turn == 2:
                far.restart_table()
                assert session_of(far.companion.table).sealed[Seat.NORTH] == sealed
            session = session_of(far.companion.table)
            far.companion.table.hand_in(Seat.SOUTH, session.moment, "III")
        until("it is said who moves", lambda: "Somebody at the table moves the pieces." in text_of(window, "#live"))
        assert not window.find_elements(By.CSS_SELECTOR, "[data-post$='confirm'], [data-post$='by-pad']")
        follow(far.companion.table)
        until("it has won", lambda: window.find_elements(By.CSS_SELECTOR, ".finale"))
        assert "6 of 6 match" in text_of(window, "#live")
        assert session_of(far.companion.table).outcome.winners == {Seat.NORTH}  # type: ignore[union-attr] # it is over
        window.execute_script(axe)
        assert window.execute_async_script(_AXE) == []


def test_a_page_whose_table_or_hub_is_away_stops_its_clocks_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with far_table(tmp_path) as far, browser(PHONE) as window:
        window.get(f"{far.hub.far_url()}{far.invite()}")
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        until("the seat is offered", lambda: window.find_elements(By.NAME, "name"))
        window.find_element(By.NAME, "name").send_keys("Ines")
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        table = far.companion.table
        until("it sits", lambda: table.view().seats[Seat.NORTH].door == FAR)
        table.take_seat(Seat.SOUTH, "Mara")
        table.new_game("scouts")
        while not ((session := session_of(table)).awaited == {Seat.NORTH} and session.countdown):
            if session.phase in (Phase.SETUP, Phase.STAGES):
                confirm(table)
            else:
                (seat,) = session.awaited
                action = session.playing.random_action(session.state, seat, Random(session.tick))
                table.hand_in(seat, session.moment, session.playing.format(action))
        if session_of(table).paused:
            table.resume("host")
        until(
            "its clock runs",
            lambda: window.find_elements(By.CSS_SELECTOR, "#live [data-time][data-due]:not([data-due=''])"),
        )
        with monkeypatch.context() as waits:
            waits.setattr(table, "hand_in", lambda *_, **__: "")  # until the board lies still
            window.execute_async_script(_PRESS, session.moment)
            assert text_of(window, "#said") == ""
        for leave, come_back, told in (
            (far.companion.close, far.start_table, "its clocks stand still"),
            (far.hub.close, far.start_hub, "this page shows what it knew last"),
        ):
            leave()
            until("it is said", lambda told=told: told in text_of(window, "#lost"), 60)
            one, other = window.execute_async_script(_TWICE)
            assert one == other
            come_back()
            until("it goes on", lambda: not window.find_element(By.ID, "lost").is_displayed(), 60)
            until("clocks run", lambda: len(set(window.execute_async_script(_TWICE))) == 2, 60)


def test_no_page_of_a_table_reaches_the_hubs_host(tmp_path: Path) -> None:
    """Whoever runs the hub's host page in the same browser: what a table shows there can do nothing with it."""
    with far_table(tmp_path) as far, browser(PHONE) as window:
        hub = far.hub.urls()[0]
        window.get(f"{hub}host")
        window.find_element(By.NAME, "key").send_keys(far.hub.host_key)
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        until("the host is let in", lambda: not window.find_elements(By.NAME, "key"))
        before = far.hub.door.code
        window.get(f"{far.hub.far_url()}{far.invite()}")
        window.find_element(By.CSS_SELECTOR, "form.join button").click()
        until("the table’s page", lambda: window.find_elements(By.NAME, "name"))
        assert window.execute_async_script(_REACH, hub) == "refused"
        assert window.execute_script("return document.cookie") == ""
        assert far.hub.door.code == before
