"""A turn of each game by somebody who neither points nor sees: they find things by name and press
keys.

Everything is read from Chromium's accessibility tree, as a screen reader does, without selectors or
a pointer. The other seat plays at the table itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.remote.webdriver import WebDriver
from service import IS_RESTED, PHONE, browser, until
from table_tools import follow_instructions
from tour import cdp
from window_tools import service_on_still_clock, take_seat

from companion.core.kit import SEATS, Seat
from companion.table.table import Table

pytestmark = pytest.mark.browser

FOCUS = """
const here = document.activeElement;
const { outlineStyle, outlineWidth } = getComputedStyle(here);
const { top, bottom } = here.getBoundingClientRect();
return [
  here !== document.body, outlineStyle, parseFloat(outlineWidth), bottom > 0 && top < innerHeight
];
"""
NAMELESS = ("generic", "none", "unknown", "")


@dataclass(frozen=True)
class Node:
    """An element of the accessibility tree, as a screen reader finds it."""

    role: str
    name: str
    text: str
    """All text in it."""
    states: Mapping[str, Any]
    element: int

    @property
    def is_reached(self) -> bool:
        """Whether Tab stops here."""
        return bool(self.states.get("focusable")) and self.role not in ("RootWebArea", "status")

    def __str__(self) -> str:
        return f"{self.role} “{self.name}”"


def _state(value: Mapping[str, Any]) -> Any:
    """Return the value of an accessibility state, or the element that it points at."""
    related = value.get("relatedNodes", [])
    return related[0]["backendDOMNodeId"] if related else value.get("value")


class Reader:
    """A person with a keyboard and a screen reader, at a seat's page."""

    def __init__(self, window: WebDriver, table: Table, url: str) -> None:
        self._window = window
        self.table = table
        self.url = url

    # ---- what is read ----

    def nodes(self) -> list[Node]:
        """Return everything on the page, in the order in which it is read."""
        raw_nodes = {
            node["nodeId"]: node
            for node in cdp(self._window, "Accessibility.getFullAXTree")["nodes"]
        }
        found: list[Node] = []

        def read(raw: dict[str, Any]) -> str:
            here = len(found)
            found.append(Node("", "", "", {}, 0))
            inside = [
                read(raw_nodes[child]) for child in raw.get("childIds", []) if child in raw_nodes
            ]
            role, name = (str(raw.get(key, {}).get("value", "")) for key in ("role", "name"))
            text = (
                name
                if role == "StaticText"
                else " ".join(filter(None, inside))
                if role != "InlineTextBox"
                else ""
            )
            states = {item["name"]: _state(item["value"]) for item in raw.get("properties", [])}
            if not raw.get("ignored"):
                found[here] = Node(role, name, text, states, raw.get("backendDOMNodeId", 0))
            return text

        read(next(node for node in raw_nodes.values() if "parentId" not in node))
        return [node for node in found if node.role]

    def names(self) -> list[str]:
        """Return all that is named or written on the page."""
        return [node.name for node in self.nodes() if node.name and node.role != "InlineTextBox"]

    def hears(self, *words: str) -> None:
        """Wait for the sign to say so; the focus must still be somewhere, and everything that takes
        it has a name.
        """
        until(f"a sign with {words}", lambda: self._says(words))
        self.is_well()

    def _says(self, words: tuple[str, ...]) -> bool:
        nodes = [
            node
            for node in self.nodes()
            if node.role == "status" and node.states.get("live") == "polite"
        ]
        return any(all(word in node.text for word in words) for node in nodes)

    def refused(self, words: str) -> None:
        """Wait for a refusal, said at once."""
        until(
            f"the refusal “{words}”",
            lambda: any(node.role == "alert" and words in node.text for node in self.nodes()),
        )

    def is_well(self) -> None:
        """Check that no stop of Tab is without a name and a role."""
        bare = [
            str(node)
            for node in self.nodes()
            if node.is_reached and not (node.name and node.role not in NAMELESS)
        ]
        assert not bare, bare

    def twin(self) -> str:
        """Return the board in words."""
        return next(
            node.name
            for node in self.nodes()
            if node.role in ("application", "image") and " " in node.name
        )

    def focus(self) -> Node:
        """Return what has the focus visibly. On a board that is the square."""
        here, style, width, is_seen = self._window.execute_script(FOCUS)
        assert here, "the focus is lost"
        assert style != "none", "nobody sees where the focus is"
        assert width >= 2, "nobody sees where the focus is"
        assert is_seen, "the focus is out of sight"
        held = self._held()
        return next(node for node in self.nodes() if node.element == held)

    def _held(self) -> int:
        """Return the element that receives keys. The tree's own word for it comes later than the
        page's.
        """
        held = cdp(self._window, "Runtime.evaluate", expression="document.activeElement")["result"][
            "objectId"
        ]
        return int(cdp(self._window, "DOM.describeNode", objectId=held)["node"]["backendNodeId"])

    # ---- what is pressed ----

    def press(self, *keys: str) -> None:
        """Send keys to what has the focus."""
        ActionChains(self._window, duration=0).send_keys(*keys).perform()

    def go(self, name: str, role: str = "button") -> Node:
        """Press Tab, or Shift and Tab, until something has this name. The order of Tab is that of
        reading.
        """
        self.waits_for(name, role)
        stops = [
            node for node in self.nodes() if node.is_reached and not node.states.get("disabled")
        ]
        target = next(number for number, node in enumerate(stops) if self._is(node, name, role))
        held = self._held()
        before = [number for number, node in enumerate(stops) if node.element == held]
        if before or self._window.execute_script("return document.activeElement === document.body"):
            self.tab(target - before[0] if before else target + 1)
        else:
            self._tab_on(len(stops), name, role)
        found = self.focus()
        assert self._is(found, name, role), f"Tab leads to {found}, not to {role} “{name}”"
        return found

    def tab(self, steps: int) -> None:
        """Press Tab, or Shift and Tab."""
        chain = ActionChains(self._window, duration=0)
        if steps < 0:
            chain.key_down(Keys.SHIFT).send_keys(Keys.TAB * -steps).key_up(Keys.SHIFT).perform()
        else:
            chain.send_keys(Keys.TAB * steps).perform()

    def _tab_on(self, most: int, name: str, role: str) -> None:
        """Press Tab from the sign on, which is no stop itself, stop by stop."""
        for _ in range(most):
            self.press(Keys.TAB)
            if self._is(self.focus(), name, role):
                return

    @staticmethod
    def _is(node: Node, name: str, role: str) -> bool:
        return node.role == role and node.name.startswith(name)

    def waits_for(self, name: str, role: str = "button") -> None:
        """Wait until there is something of this name."""
        until(f"{role} “{name}”", lambda: any(self._is(node, name, role) for node in self.nodes()))

    def does(self, name: str, key: str = Keys.ENTER) -> None:
        """Go to a key and press it, after its rest."""
        self.go(name)
        self.press_rested(key)

    def press_rested(self, key: str) -> None:
        """Press what has the focus, after its rest."""
        script = f"{IS_RESTED} return isRested(document.activeElement)"
        until("its rest", lambda: self._window.execute_script(script))
        self.press(key)

    def cursor(self) -> str:
        """Return the keyboard's square and what is there, or nothing before the first arrow."""
        nodes = self.nodes()
        here = next(
            node.states.get("activedescendant") for node in nodes if node.role == "application"
        )
        return next((str(node.name) for node in nodes if here and node.element == here), "")

    def _is_on(self, square: str) -> bool:
        return self.cursor().split(",")[0] == square

    def square(self, *squares: str) -> None:
        """Go to each square of the board by arrows, and press Enter on it."""
        held = self._held()
        if not any(node.role == "application" and node.element == held for node in self.nodes()):
            self.go("", "application")
        if not self.cursor():
            self.press(Keys.ARROW_UP)
        for square in squares:
            here = self.cursor()
            across, along = (
                ord(square[0]) - ord(here[0]),
                int(square[1:]) - int(here.split(",")[0][1:]),
            )
            self.press(
                (Keys.ARROW_RIGHT if across > 0 else Keys.ARROW_LEFT) * abs(across)
                + (Keys.ARROW_UP if along > 0 else Keys.ARROW_DOWN) * abs(along)
            )
            until(f"the cursor on {square}", partial(self._is_on, square))
            self.press(Keys.ENTER)


# ---- what the others do --------------------------------------------------------------------------


def play(reader: Reader, seat: Seat, action: str) -> None:
    """Hand in a seat's action, and let hands follow."""
    reader.table.hand_in(seat, reader.table.view().moment, action)
    follow_instructions(reader.table)


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Accessibility.enable")
        yield opened


@contextmanager
def open_table_rig(window: WebDriver, folder: Path, game: str, **options: Any) -> Iterator[Reader]:
    """Open South's page of a game that has been set up."""
    with service_on_still_clock(folder) as (companion, url):
        reader = Reader(window, companion.table, url)
        companion.table.new_game(game, options, 1)
        follow_instructions(reader.table)
        take_seat(window, url)
        yield reader


# ---- the games -----------------------------------------------------------------------------------


def test_keys_alone_give_and_change_orders(tmp_path: Path, window: WebDriver) -> None:
    """Three orders, two of them change places, one is entered anew; in, back, and in again."""
    with open_table_rig(window, tmp_path, "outbuffered") as reader:
        reader.hears("Three orders to go", "Nobody sees yours")
        assert "purple robot a1" in reader.twin()
        for name in ("up", "right", "S Shoot"):
            reader.does(name)
        reader.go("Slot 1: up")
        reader.press(Keys.ARROW_RIGHT)
        assert reader.focus().name == "Slot 2: up", "the focus goes with the order"
        reader.press(Keys.DELETE)
        assert reader.focus().name == "Slot 2: free"
        reader.does("Hand in: 1 missing")
        reader.refused("1 missing")
        reader.press("u")
        reader.does("Hand in")
        reader.hears("Waiting for lime")
        reader.focus()
        reader.does("Take back")
        reader.hears("Hand in, or change your mind")
        reader.focus()
        reader.press(Keys.BACKSPACE * 3)
        reader.hears("Three orders to go")
        reader.press("uus")
        reader.does("Hand in", Keys.SPACE)
        reader.hears("Waiting for lime")
        reader.table.hand_in(Seat.NORTH, reader.table.view().moment, "III")
        reader.hears("Robot, a1 to a2", "tap Done")
        reader.does("Done")
        reader.hears("Robot, a2 to a3")
        reader.focus()


def test_keys_alone_place_and_move_scouts(tmp_path: Path, window: WebDriver) -> None:
    """A scout is placed; when all stand, one of them dashes, and the clock is pressed."""
    with open_table_rig(window, tmp_path, "scouts") as reader:
        reader.hears("Place a scout")
        assert reader.twin() == "The board is empty"
        reader.square("c1")
        reader.does("Place a scout on c1")
        reader.hears("c1")
        reader.does("Done")
        reader.hears("Black: place a scout")
        reader.focus()
        assert reader.twin() == "white scout c1"
        for number, place in enumerate(("c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")):
            play(reader, SEATS[(number + 1) % 2], f"@{place}")
        reader.hears("Start the clock")
        reader.does("Start the clock")
        reader.hears("One scout to move")
        assert "white scout c1, black scout c10, white scout d1" in reader.twin()
        reader.square("c1")
        assert reader.cursor() == "c1, white scout"
        reader.square("c2")
        reader.does("Dash c1 to c2")
        reader.hears("c1 to c2")
        reader.does("Done")
        reader.hears("Press your clock")
        assert "white scout c2" in reader.twin()
        reader.does("Press your clock")
        reader.hears("Black: two scouts to move")
        reader.focus()


def test_keys_alone_draw_and_play_cards(tmp_path: Path, window: WebDriver) -> None:
    """A card is drawn, and in the next turn played; lanes say what lies in them."""
    with open_table_rig(window, tmp_path, "binmat", way="full") as reader:
        reader.hears("Start the clock")
        reader.does("Start the clock")
        reader.hears("Draw a card")
        reader.focus()
        reader.does("Draw")
        reader.does("Lane 3: Attacker no card, Mara no card. Deck: 13 cards (10^)")
        reader.hears("Attacker: draw")
        assert "10^" in reader.names()
        play(reader, Seat.NORTH, "--")
        reader.hears("Draw or play")
        reader.does("10^")
        reader.does("Lane 0")
        reader.hears("Attacker: draw")
        reader.waits_for("Lane 0: Attacker no card, Mara 1 card (10^)")
        reader.focus()
        reader.does("Hide hand")
        reader.waits_for("Lane 0: Attacker no card, Mara 1 card.")
        assert "10^" not in " ".join(reader.names())


# ---- the peek guard ------------------------------------------------------------------------------


def cover(reader: Reader) -> None:
    """Switch the peek guard on, in the menu."""
    reader.go("Menu", "DisclosureTriangle")
    reader.press(Keys.ENTER)
    reader.does("Cover what I enter", Keys.SPACE)
    reader.press(Keys.ESCAPE)
    assert reader.focus().name == "Menu"
    reader.waits_for("Covered: touch it to look")


def test_orders_under_the_shutter_are_nameless(tmp_path: Path, window: WebDriver) -> None:
    """Orders are entered by letters under the shutter; Enter opens it, the page covers again, the
    focus goes along.
    """
    with open_table_rig(window, tmp_path, "outbuffered") as reader:
        reader.hears("Three orders to go")
        cover(reader)
        before = reader.names()
        reader.press("ul")
        reader.waits_for("Hand in: 1 missing")
        new = set(reader.names()) - set(before)
        assert new == {"Hand in: 1 missing", "One order to go"}, "that number is free to all"
        reader.does("Covered: touch it to look")
        reader.waits_for("Slot 2: left")
        assert reader.focus().name == "Slot 1: up"
        window.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
        reader.waits_for("Covered")
        assert reader.focus().name == "Covered: touch it to look"
        assert "Slot" not in " ".join(reader.names())
        reader.press("s")
        reader.does("Hand in")
        reader.hears("Waiting for lime")
        reader.focus()


def test_pieces_and_sheets_under_the_shutter_are_nameless(
    tmp_path: Path, window: WebDriver
) -> None:
    """A placing and a sheet of orders."""
    with open_table_rig(window, tmp_path, "kahmate") as reader:
        reader.hears("Place your six pieces")
        reader.square("d2")
        reader.waits_for("", "application")
        cover(reader)
        reader.waits_for("Covered")
        names = " ".join(reader.names())
        assert not [word for word in ("blue big", "blue smart", "d2") if word in names], names
        reader.does("Covered")
        assert "blue big d2" in reader.focus().name
        reader.table.abandon()
        reader.table.new_game("arena", {}, 1)
        follow_instructions(reader.table)
        reader.hears("Orders for your robots")
        reader.focus()
        window.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
        reader.waits_for("Covered")
        before = reader.names()
        reader.press("1", "n")
        reader.does("Covered")
        reader.waits_for("1: 30 points, move north")
        assert "move north" not in " ".join(before)


def test_the_focus_closes_menus_and_keeps_help(tmp_path: Path, window: WebDriver) -> None:
    """A menu that Tab leaves is closed; the table screen's help opens and closes under its own
    key.
    """
    is_inside = "return Boolean(document.activeElement.closest('#menu'))"
    is_open = "return document.getElementById('menu').open"
    has_help = "return Boolean(document.querySelector('.help-wall'))"
    key = "return document.activeElement.id"
    with open_table_rig(window, tmp_path, "outbuffered") as reader:
        reader.hears("Three orders to go")
        reader.go("Menu", "DisclosureTriangle")
        reader.press(Keys.ENTER)
        until("the menu", lambda: window.execute_script(is_open))
        while window.execute_script(is_inside):
            reader.press(Keys.TAB)
        assert not window.execute_script(is_open)
        window.get(f"{reader.url}/?screen")
        until("the key", lambda: reader.press(Keys.TAB) or window.execute_script(key) == "wall-ask")
        for word, is_wanted in ((Keys.ENTER, True), (Keys.ESCAPE, False)):
            reader.press_rested(word)
            until(
                f"help: {is_wanted}",
                lambda wanted=is_wanted: window.execute_script(has_help) is wanted,
            )
            assert window.execute_script(key) == "wall-ask"
