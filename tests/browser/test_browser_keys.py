"""Test in a browser that people with a keyboard and a screen reader can play all games.

Everything is read from Chromium's accessibility tree, as screen readers do. The tests find things
by their role and name, without selectors or a pointer. The other seat plays at the table itself.
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
from window_tools import service_on_still_clock, take_south_seat

from companion.core.kit import SEATS, Seat
from companion.table.table import Table

pytestmark = pytest.mark.browser

# Returns whether anything has the focus, the style and width of its outline, and whether it is in
# sight.
FOCUS = """
const here = document.activeElement;
const { outlineStyle, outlineWidth } = getComputedStyle(here);
const { top, bottom } = here.getBoundingClientRect();
return [
  here !== document.body, outlineStyle, parseFloat(outlineWidth), bottom > 0 && top < innerHeight
];
"""
# Fires the event at which the peek guard closes its shutter again.
CLOSE_SHUTTER = "document.dispatchEvent(new Event('visibilitychange'))"
# Roles that tell a screen reader nothing.
EMPTY_ROLES = ("generic", "none", "unknown", "")


@dataclass(frozen=True)
class Node:
    """An element of the accessibility tree, as a screen reader finds it."""

    role: str
    name: str
    text: str
    """All text in it, also that of the elements in it."""
    states: Mapping[str, Any]
    """Properties such as `focusable` and `disabled`."""
    element: int
    """Id of its DOM node, by which it is compared with the node that has the focus."""

    @property
    def is_tab_stop(self) -> bool:
        """Whether Tab stops here. The page itself and the sign only take the focus from scripts."""
        return bool(self.states.get("focusable")) and self.role not in ("RootWebArea", "status")

    def __str__(self) -> str:
        return f"{self.role} “{self.name}”"


def _state(value: Mapping[str, Any]) -> Any:
    """Return the value of an accessibility state, or the element that it points at."""
    related = value.get("relatedNodes", [])
    return related[0]["backendDOMNodeId"] if related else value.get("value")


class ScreenReaderUser:
    """A person with a keyboard and a screen reader at a seat's page.

    The person knows the page only by what the screen reader reads (`nodes`), and acts only by keys
    (`press`). Most methods wait, as a person does, until the page has what they are to find.
    """

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
            """Append a node and all nodes in it to `found`. Return the text in it."""
            # A node is read before those in it, so keep its place. It stays empty if screen readers
            # ignore the node.
            here = len(found)
            found.append(Node("", "", "", {}, 0))
            inside = [
                read(raw_nodes[child]) for child in raw.get("childIds", []) if child in raw_nodes
            ]
            role, name = (str(raw.get(key, {}).get("value", "")) for key in ("role", "name"))
            text = name if role == "StaticText" else " ".join(filter(None, inside))
            if role == "InlineTextBox":  # a line of the static text around it, which has the whole
                text = ""
            states = {item["name"]: _state(item["value"]) for item in raw.get("properties", [])}
            if not raw.get("ignored"):
                found[here] = Node(role, name, text, states, raw.get("backendDOMNodeId", 0))
            return text

        read(next(node for node in raw_nodes.values() if "parentId" not in node))
        return [node for node in found if node.role]

    def names(self) -> list[str]:
        """Return all names and texts on the page."""
        return [node.name for node in self.nodes() if node.name and node.role != "InlineTextBox"]

    def wait_for_sign(self, *words: str) -> None:
        """Wait until the sign contains all these words. Then check the names on the page.

        The sign is a status and a polite live region: a screen reader reads it when it changes.
        """
        until(f"a sign with {words}", lambda: self._is_sign(words))
        self.check_names()

    def _is_sign(self, words: tuple[str, ...]) -> bool:
        nodes = [
            node
            for node in self.nodes()
            if node.role == "status" and node.states.get("live") == "polite"
        ]
        return any(all(word in node.text for word in words) for node in nodes)

    def wait_for_refusal(self, words: str) -> None:
        """Wait for a refusal, an alert, which screen readers say at once."""
        until(
            f"an alert “{words}”",
            lambda: any(node.role == "alert" and words in node.text for node in self.nodes()),
        )

    def check_names(self) -> None:
        """Check that each stop of Tab has a name and a role."""
        nameless = [
            str(node)
            for node in self.nodes()
            if node.is_tab_stop and not (node.name and node.role not in EMPTY_ROLES)
        ]
        assert not nameless, nameless

    def board_in_words(self) -> str:
        """Return what a screen reader says of the whole board, such as `white scout c1`."""
        return next(
            node.name
            for node in self.nodes()
            if node.role in ("application", "image") and " " in node.name
        )

    def focused_node(self) -> Node:
        """Return the node with the focus. Check that it is in sight and has an outline of 2 px.

        Tests also call it only to check that the focus is not lost.
        """
        has_focus, style, width, is_in_sight = self._window.execute_script(FOCUS)
        assert has_focus, "the focus is lost"
        assert style != "none", "the focus has no outline"
        assert width >= 2, f"the outline of the focus is {width} px wide"
        assert is_in_sight, "the focus is out of sight"
        element = self._focused_element()
        return next(node for node in self.nodes() if node.element == element)

    def _focused_element(self) -> int:
        """Return the id of the DOM node that receives keys.

        The page knows it at once. The accessibility tree only learns of it a little later.
        """
        answer = cdp(self._window, "Runtime.evaluate", expression="document.activeElement")
        node = cdp(self._window, "DOM.describeNode", objectId=answer["result"]["objectId"])["node"]
        return int(node["backendNodeId"])

    # ---- what is pressed ----

    def press(self, *keys: str) -> None:
        """Send keys to the node with the focus."""
        ActionChains(self._window, duration=0).send_keys(*keys).perform()

    def go_to(self, name: str, role: str = "button") -> Node:
        """Press Tab, or Shift and Tab, until a node of this role has the focus. Return the node.

        Its name begins with `name`. Tab stops at nodes in the order in which they are read, so the
        number of presses is the distance between the node and the one with the focus now.
        """
        self.wait_for(name, role)
        stops = [
            node for node in self.nodes() if node.is_tab_stop and not node.states.get("disabled")
        ]
        target = next(index for index, node in enumerate(stops) if self._is(node, name, role))
        elements = [node.element for node in stops]
        focused_element = self._focused_element()
        if focused_element in elements:
            self.press_tab(target - elements.index(focused_element))
        elif self._window.execute_script("return document.activeElement === document.body"):
            self.press_tab(target + 1)  # nothing has the focus, so Tab begins at the first stop
        else:
            self._press_tab_until(len(stops), name, role)
        found = self.focused_node()
        assert self._is(found, name, role), f"Tab leads to {found}, not to {role} “{name}”"
        return found

    def press_tab(self, steps: int) -> None:
        """Press Tab so many times, or Shift and Tab if the number is negative."""
        chain = ActionChains(self._window, duration=0)
        if steps < 0:
            chain.key_down(Keys.SHIFT).send_keys(Keys.TAB * -steps).key_up(Keys.SHIFT).perform()
        else:
            chain.send_keys(Keys.TAB * steps).perform()

    def _press_tab_until(self, max_steps: int, name: str, role: str) -> None:
        """Press Tab until a node of this name and role has the focus, at most `max_steps` times.

        The focus starts at a node that is no stop of Tab itself, which is the sign.
        """
        for _ in range(max_steps):
            self.press(Keys.TAB)
            if self._is(self.focused_node(), name, role):
                return

    @staticmethod
    def _is(node: Node, name: str, role: str) -> bool:
        return node.role == role and node.name.startswith(name)

    def wait_for(self, name: str, role: str = "button") -> None:
        """Wait until the page has a node of this role whose name begins with `name`."""
        until(f"{role} “{name}”", lambda: any(self._is(node, name, role) for node in self.nodes()))

    def activate(self, name: str, key: str = Keys.ENTER) -> None:
        """Go to a key of the page and press it by a key of the keyboard, once its rest is over."""
        self.go_to(name)
        self.press_after_rest(key)

    def press_after_rest(self, key: str) -> None:
        """Press a key of the keyboard once the node with the focus takes taps."""
        script = f"{IS_RESTED} return isRested(document.activeElement)"
        until("the end of the rest", lambda: self._window.execute_script(script))
        self.press(key)

    def cursor_name(self) -> str:
        """Return the square of the board's cursor and what lies there, as `c1, white scout`.

        Before the first arrow there is no cursor, and nothing is returned.
        """
        nodes = self.nodes()
        here = next(
            node.states.get("activedescendant") for node in nodes if node.role == "application"
        )
        return next((str(node.name) for node in nodes if here and node.element == here), "")

    def _is_on(self, square: str) -> bool:
        return self.cursor_name().split(",")[0] == square

    def enter_squares(self, *squares: str) -> None:
        """Go to each of these squares of the board by arrows, and press Enter on it."""
        element = self._focused_element()
        if not any(node.role == "application" and node.element == element for node in self.nodes()):
            self.go_to("", "application")
        if not self.cursor_name():
            self.press(Keys.ARROW_UP)
        for square in squares:
            here = self.cursor_name()
            files = ord(square[0]) - ord(here[0])
            ranks = int(square[1:]) - int(here.split(",")[0][1:])
            across = (Keys.ARROW_RIGHT if files > 0 else Keys.ARROW_LEFT) * abs(files)
            along = (Keys.ARROW_UP if ranks > 0 else Keys.ARROW_DOWN) * abs(ranks)
            self.press(across + along)
            until(f"the cursor on {square}", partial(self._is_on, square))
            self.press(Keys.ENTER)


# ---- the table -----------------------------------------------------------------------------------


def play(user: ScreenReaderUser, seat: Seat, action: str) -> None:
    """Hand in an action of a seat at the table itself, and carry out its instructions."""
    user.table.hand_in(seat, user.table.view().moment, action)
    follow_instructions(user.table)


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Accessibility.enable")
        yield opened


@contextmanager
def open_seat_page(
    window: WebDriver, folder: Path, game: str, **options: Any
) -> Iterator[ScreenReaderUser]:
    """Begin a game, set it up, and open South's page."""
    with service_on_still_clock(folder) as (companion, url):
        user = ScreenReaderUser(window, companion.table, url)
        companion.table.new_game(game, options, seed=1)
        follow_instructions(user.table)
        take_south_seat(window, url)
        yield user


# ---- the games -----------------------------------------------------------------------------------


def test_keys_alone_give_and_change_orders(tmp_path: Path, window: WebDriver) -> None:
    """Enter three orders, swap and replace some, hand in, take back, and hand in again."""
    with open_seat_page(window, tmp_path, "outbuffered") as user:
        # Enter three orders by their keys.
        user.wait_for_sign("Three orders to go", "Nobody sees yours")
        assert "purple robot a1" in user.board_in_words()
        for name in ("up", "right", "S Shoot"):
            user.activate(name)

        # An arrow moves the order in the first slot to the second, and Delete removes it there.
        user.go_to("Slot 1: up")
        user.press(Keys.ARROW_RIGHT)
        assert user.focused_node().name == "Slot 2: up", "the focus does not follow its order"
        user.press(Keys.DELETE)
        assert user.focused_node().name == "Slot 2: free"

        # Two orders are refused. With a third one, typed as a letter, they are handed in.
        user.activate("Hand in: 1 missing")
        user.wait_for_refusal("1 missing")
        user.press("u")
        user.activate("Hand in")
        user.wait_for_sign("Waiting for lime")
        user.focused_node()

        # Take them back, remove them by Backspace, and hand in others by the space bar.
        user.activate("Take back")
        user.wait_for_sign("Hand in, or change your mind")
        user.focused_node()
        user.press(Keys.BACKSPACE * 3)
        user.wait_for_sign("Three orders to go")
        user.press("uus")
        user.activate("Hand in", Keys.SPACE)
        user.wait_for_sign("Waiting for lime")

        # Once North has handed in, hands carry out the stages, and the page says what to do.
        user.table.hand_in(Seat.NORTH, user.table.view().moment, "III")
        user.wait_for_sign("Robot, a1 to a2", "tap Done")
        user.activate("Done")
        user.wait_for_sign("Robot, a2 to a3")
        user.focused_node()


def test_keys_alone_place_and_move_scouts(tmp_path: Path, window: WebDriver) -> None:
    """Place a scout, and when all are placed, dash with it and press the clock."""
    with open_seat_page(window, tmp_path, "scouts") as user:
        # Place the first scout by a square of the board and the main key.
        user.wait_for_sign("Place a scout")
        assert user.board_in_words() == "The board is empty"
        user.enter_squares("c1")
        user.activate("Place a scout on c1")
        user.wait_for_sign("c1")
        user.activate("Done")
        user.wait_for_sign("Black: place a scout")
        user.focused_node()
        assert user.board_in_words() == "white scout c1"

        # At the table, both seats place the other nine scouts by turns. North is next.
        for index, square in enumerate(("c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")):
            play(user, SEATS[(index + 1) % 2], f"@{square}")

        # Start the clock, and dash with the scout. The board says what lies on its squares.
        user.wait_for_sign("Start the clock")
        user.activate("Start the clock")
        user.wait_for_sign("One scout to move")
        assert "white scout c1, black scout c10, white scout d1" in user.board_in_words()
        user.enter_squares("c1")
        assert user.cursor_name() == "c1, white scout"
        user.enter_squares("c2")
        user.activate("Dash c1 to c2")
        user.wait_for_sign("c1 to c2")
        user.activate("Done")

        # The first turn has one move, so now the clock is pressed.
        user.wait_for_sign("Press your clock")
        assert "white scout c2" in user.board_in_words()
        user.activate("Press your clock")
        user.wait_for_sign("Black: two scouts to move")
        user.focused_node()


def test_keys_alone_draw_and_play_cards(tmp_path: Path, window: WebDriver) -> None:
    """Draw a card, and play it in the next turn. The names of lanes say what lies in them."""
    with open_seat_page(window, tmp_path, "binmat", way="full") as user:
        # Draw the top card of lane 3, which is 10^.
        user.wait_for_sign("Start the clock")
        user.activate("Start the clock")
        user.wait_for_sign("Draw a card")
        user.focused_node()
        user.activate("Draw")
        user.activate("Lane 3: Attacker no card, Mara no card. Deck: 13 cards (10^)")
        user.wait_for_sign("Attacker: draw")
        assert "10^" in user.names()

        # North passes (`--`). Play the card to lane 0, whose name then has it for its owner.
        play(user, Seat.NORTH, "--")
        user.wait_for_sign("Draw or play")
        user.activate("10^")
        user.activate("Lane 0")
        user.wait_for_sign("Attacker: draw")
        user.wait_for("Lane 0: Attacker no card, Mara 1 card (10^)")
        user.focused_node()

        # While the hand is hidden, no name on the page has the card.
        user.activate("Hide hand")
        user.wait_for("Lane 0: Attacker no card, Mara 1 card.")
        assert "10^" not in " ".join(user.names())


# ---- the peek guard ------------------------------------------------------------------------------


def switch_peek_guard_on(user: ScreenReaderUser) -> None:
    """Switch the peek guard on in the menu. Its shutter then covers what is entered.

    So people beside the phone cannot see it. A screen reader must not say it aloud, either.
    """
    user.go_to("Menu", "DisclosureTriangle")
    user.press(Keys.ENTER)
    user.activate("Cover what I enter", Keys.SPACE)
    user.press(Keys.ESCAPE)
    assert user.focused_node().name == "Menu"
    user.wait_for("Covered: touch it to look")


def test_orders_under_the_shutter_are_nameless(tmp_path: Path, window: WebDriver) -> None:
    """Enter orders by letters under the shutter, open it with Enter, and let the page close it.

    No name may tell an order while the shutter is closed, and the focus must not get lost.
    """
    with open_seat_page(window, tmp_path, "outbuffered") as user:
        # Two orders that are entered under the shutter add names for their number only, which
        # everybody may know.
        user.wait_for_sign("Three orders to go")
        switch_peek_guard_on(user)
        before = user.names()
        user.press("ul")
        user.wait_for("Hand in: 1 missing")
        new = set(user.names()) - set(before)
        assert new == {"Hand in: 1 missing", "One order to go"}

        # Open the shutter. The focus goes from the shutter's key to the first slot.
        user.activate("Covered: touch it to look")
        user.wait_for("Slot 2: left")
        assert user.focused_node().name == "Slot 1: up"

        # The page closes the shutter. The focus goes back, and no slot has a name.
        window.execute_script(CLOSE_SHUTTER)
        user.wait_for("Covered")
        assert user.focused_node().name == "Covered: touch it to look"
        assert "Slot" not in " ".join(user.names())

        # Enter the third order and hand in, all under the closed shutter.
        user.press("s")
        user.activate("Hand in")
        user.wait_for_sign("Waiting for lime")
        user.focused_node()


def test_pieces_and_sheets_under_the_shutter_are_nameless(
    tmp_path: Path, window: WebDriver
) -> None:
    """Cover the placing of Kahmate's pieces, then a sheet of orders for Arena's robots."""
    with open_seat_page(window, tmp_path, "kahmate") as user:
        # While Kahmate's placing is covered, no name tells a piece or its square, not even of the
        # piece on d2 that was just chosen.
        user.wait_for_sign("Place your six pieces")
        user.enter_squares("d2")
        user.wait_for("", "application")
        switch_peek_guard_on(user)
        user.wait_for("Covered")
        names = " ".join(user.names())
        assert not [word for word in ("blue big", "blue smart", "d2") if word in names], names

        # Once the shutter is open, the focus is on the board, whose name tells all pieces.
        user.activate("Covered")
        assert "blue big d2" in user.focused_node().name

        # In Arena, give robot 1 the order to move north under the closed shutter (keys 1 and N).
        user.table.abandon()
        user.table.new_game("arena", seed=1)
        follow_instructions(user.table)
        user.wait_for_sign("Orders for your robots")
        user.focused_node()
        window.execute_script(CLOSE_SHUTTER)
        user.wait_for("Covered")
        user.press("1", "n")
        covered_names = user.names()

        # The open sheet tells the order. The closed one does not, neither before nor after that.
        user.activate("Covered")
        user.wait_for("1: 30 points, move north")
        window.execute_script(CLOSE_SHUTTER)
        user.wait_for("Covered")
        covered_names += user.names()
        assert "move north" not in " ".join(covered_names)


def test_the_focus_closes_menus_and_keeps_help(tmp_path: Path, window: WebDriver) -> None:
    """Leave an open menu by Tab, which closes it. Then open and close the table screen's help.

    The key of the help must keep the focus, so that the same key opens the help again.
    """
    is_inside = "return Boolean(document.activeElement.closest('#menu'))"
    is_open = "return document.getElementById('menu').open"
    has_help = "return Boolean(document.querySelector('.help-wall'))"
    focused_id = "return document.activeElement.id"
    with open_seat_page(window, tmp_path, "outbuffered") as user:
        # Open the menu on the seat's page, and press Tab until the focus has left it.
        user.wait_for_sign("Three orders to go")
        user.go_to("Menu", "DisclosureTriangle")
        user.press(Keys.ENTER)
        until("the menu", lambda: window.execute_script(is_open))
        while window.execute_script(is_inside):
            user.press(Keys.TAB)
        assert not window.execute_script(is_open)

        # On the table screen, press Tab until the help's key has the focus.
        window.get(f"{user.url}/?screen")
        until(
            "the focus on the help's key",
            lambda: user.press(Keys.TAB) or window.execute_script(focused_id) == "wall-ask",
        )
        # Enter opens the help, and Escape closes it.
        for key, is_open_after in ((Keys.ENTER, True), (Keys.ESCAPE, False)):
            user.press_after_rest(key)
            until(
                "open help" if is_open_after else "closed help",
                lambda expected=is_open_after: window.execute_script(has_help) is expected,
            )
            assert window.execute_script(focused_id) == "wall-ask"
