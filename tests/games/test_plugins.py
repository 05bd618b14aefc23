"""Tests of games from other packages, which processes of their own load by entry points.

The game is “clash”, put together from the code on the page docs/a-new-game.md, so that these tests
also show that the page is right. Other games are broken on purpose.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from plugin_tools import ENTRY_POINT_GROUP, ROOT, install_package, run_code, run_companion

from companion.core.kit import SIDE_COLOURS

# The page that shows how to write a game, its Python code, and its pyproject.toml.
PAGE = (ROOT / "docs/a-new-game.md").read_text(encoding="utf-8")
CLASH_CODE = "\n\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
(PYPROJECT,) = (
    tomllib.loads(text)
    for text in re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)


@pytest.fixture
def clash(tmp_path: Path) -> Path:
    """Return a folder of packages in which the game of the page, “clash”, is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    install_package(
        folder, "clash", CLASH_CODE, PYPROJECT["project"]["entry-points"][ENTRY_POINT_GROUP]
    )
    return folder


@pytest.mark.slow
def test_the_pages_game_plays_with_rendered_camera(clash: Path) -> None:
    """The camera sees rendered pictures of the table, and reads the pieces of this game, too."""
    result = run_companion(clash, "selfplay", "--game", "clash", "--games", "1", "--seed", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"rank 5.* 0 layouts misread", result.stdout)) == 1, result.stdout


# A program that plays a turn of the game through the web interface. The game declares a drawing
# “clash-sparks” and an event “clash” with a cue. The program prints how often the page contains the
# drawing and the sentence of the event, which sign follows, what the cue sounds and lights, and
# whether the owner's list of cues and the broker's list of events have it.
PLAY_A_TURN = """
from pathlib import Path
from tempfile import mkdtemp
from companion.games.plugins import load_games
load_games()
from companion.core.kit import SEATS
from companion.core.ports import Signal
from companion.mqtt.topics import event_types
from companion.table.listeners import TableListener
from hardware.cues import cue_patterns, properties_of
from web.routes.owner.check import cue_labels
from web_fixtures import open_web_rig

with open_web_rig(Path(mkdtemp())) as rig:
    # Take both seats, start a game, and confirm its set-up.
    browser = rig.browser()
    for seat in SEATS:
        assert browser.post(f"/api/seat/{seat}/take", json={"name": seat}).status_code == 200
    signals = []
    rig.table.connect(TableListener(on_signal=signals.append))
    assert browser.post("/api/seat/south/start", json={"game": "clash"}).status_code == 200
    view = browser.get("/api/view").get_json()
    browser.post(
        "/api/seat/south/confirm", json={"moment": view["moment"], "stage": 0, "force": False}
    )

    # Both choose 2, which is a clash.
    moment = browser.get("/api/view").get_json()["moment"]
    for seat in SEATS:
        body = {"moment": moment, "action": "2", "salt": "0" * 32}
        assert browser.post(f"/api/seat/{seat}/hand-in", json=body).status_code == 200

    # The page shows the drawing of the event and its sentence.
    page = browser.get("/").get_data(as_text=True)
    print("drawing", page.count('href="#clash-sparks"'), page.count('<symbol id="clash-sparks"'))
    print(
        "sentence",
        page.count("Both choose 2: nobody runs."),
        browser.get("/api/view").get_json()["sign"]["text"],
    )

    # After some seconds the cue of the event has sounded.
    rig.clock.advance(2.0)
    rig.table.step()
    (cue,) = [signal.cue for signal in signals if str(signal.cue) == "clash"][:1]
    print(
        "cue",
        [note.name for note in properties_of(cue).tone if note.name],
        sorted(cue_patterns(Signal(cue), SEATS[0])),
    )
    print("choices", cue_labels()[cue], "clash" in event_types())
    assert browser.get("/rules/clash").status_code == 200
"""


def test_drawing_event_and_sound_reach_all_parts(clash: Path) -> None:
    """No part of the program knows the game, but each shows what the game declares."""
    assert run_code(clash, PLAY_A_TURN).splitlines() == [
        "drawing 4 1",
        "sentence 1 Both choose 2: nobody runs.",
        "cue ['A4', 'A4', 'C6'] ['1', '2', '3']",
        "choices A clash True",
    ]


# Broken games by the name of their entry point: the code of the package's module, the object that
# the entry point names, and how the report of the fault begins. Most change one thing in “clash”.
BROKEN_GAMES = {
    "raising": ("raise RuntimeError('no luck')", "raising:Game", "It raises RuntimeError: no luck"),
    "leaving": ("raise SystemExit(7)", "leaving:Game", "It raises SystemExit: 7"),
    "number": (
        "answer = 42",
        "number:answer",
        "It is no game: expected a Game of companion.games.base, found int",
    ),
    "missing": ("", "missing:Game", "It raises AttributeError"),
    "scouts": (
        CLASH_CODE.replace('name = "clash"', 'name = "scouts"'),
        "scouts:Clash",
        "There is a game “scouts” already",
    ),
    "other": (CLASH_CODE, "other:Clash", "It calls itself “clash”, its entry point “other”"),
    "corner": (
        CLASH_CODE.replace('name = "clash"', 'name = "corner"').replace(
            "(24, 25, 26, 27)", "(3, 25, 26, 27)"
        ),
        "corner:Clash",
        "Marker 3 of its board's corners belongs to outbuffered: free are ",
    ),
    "plain": (
        CLASH_CODE.replace('name = "clash"', 'name = "plain"').replace(
            'LAST), "clash-line"', 'LAST), "plain-line"'
        ),
        "plain:Clash",
        "There is no drawing “plain-line”",
    ),
    "mauve": (
        CLASH_CODE.replace('name = "clash"', 'name = "mauve"').replace(
            '"petrol", "petrol"', '"mauve", "mauve"'
        ),
        "mauve:Clash",
        "There is no colour “mauve”",
    ),
    "again": (
        CLASH_CODE.replace('name = "clash"', 'name = "again"').replace(
            'CLASH = (\n        "clash"', 'CLASH = (\n        "move"'
        ),
        "again:Clash",
        "The event “move” is one of CommonEvent",
    ),
}


def test_broken_games_are_named_with_their_fault(clash: Path) -> None:
    """A broken game is left out, and the program and all other games work all the same."""
    # Install all broken games beside “clash”, and load them. The second call must change nothing.
    for name, (code, entry_point, _) in BROKEN_GAMES.items():
        install_package(clash, name, code, {name: entry_point})
    output = run_code(
        clash,
        "from companion.games.plugins import load_games\n"
        "from companion.games import GAMES\n"
        "for plugin in load_games(): print(f'{plugin.name}|{plugin.package}|{plugin.trouble}')\n"
        "load_games()\n"
        "print(*GAMES)\n",
    ).splitlines()

    # The last line lists the games that can be played.
    assert output[-1].split() == ["outbuffered", "scouts", "arena", "kahmate", "binmat", "clash"]

    # Each line before it is NAME|PACKAGE|FAULT, without a fault for “clash”.
    reports = {line.split("|")[0]: line.split("|")[1:] for line in output[:-1]}
    assert reports.pop("clash") == ["clash-game 1.0", ""]
    assert set(reports) == set(BROKEN_GAMES)
    for name, (_, _, fault) in BROKEN_GAMES.items():
        package, report = reports[name]
        assert package == f"{name}-game 1.0"
        assert report.startswith(fault), report


def test_the_doctor_names_loaded_and_broken_games(clash: Path, tmp_path: Path) -> None:
    code, entry_point, _ = BROKEN_GAMES["raising"]
    install_package(clash, "raising", code, {"raising": entry_point})
    result = run_companion(clash, "doctor", "--state-dir", str(tmp_path / "state"), "--port", "1")
    assert "games    The game “clash” comes from clash-game 1.0." in result.stdout
    assert (
        "warn  games    The game “raising” from raising-game 1.0 is not loaded: It raises "
        "RuntimeError" in result.stdout
    )


def test_style_sheets_have_the_colours_of_sides() -> None:
    """A game may choose the colours of its sides only among those that pages can draw."""
    tokens = (ROOT / "web/static/base.css").read_text(encoding="utf-8")
    styled = set(re.findall(r"\.side-(\w+) \{ color: var\(--\1\); --face: var\(--on-", tokens))
    assert set(SIDE_COLOURS) == styled


# A program that opens a table, whose files are in the folder of its first argument, and prints the
# phase of the table and the status of some pages. `/history/1` is the page of the first game.
#
# If “clash” is installed, the program first plays two turns, in which South always plays 2 and
# North 1. This ends the game. If “clash” is not installed, the program finally installs it from the
# folder of its second argument, and asks for the page of the game again.
PLAY_OR_LOOK = """
import sys
from pathlib import Path
from companion.games.plugins import load_games
load_games()
from companion.core.kit import SEATS
from companion.games import GAMES
from web_fixtures import open_web_rig

with open_web_rig(Path(sys.argv[1])) as rig:
    browser = rig.browser()
    # Play the game to its end, if it is installed.
    if "clash" in GAMES:
        rig.table.new_game("clash", {}, 1)
        rig.table.confirm("host", rig.table.view().moment, 0)
        for _ in range(2):
            moment = rig.table.view().moment
            for seat, action in zip(SEATS, "21"):
                rig.table.hand_in(seat, moment, action)
            rig.table.confirm("host", moment, 0)
    # Ask for the pages.
    print(rig.table.view().phase, *rig.table.view().devices.notices)
    pages = ["/", "/watch", "/history", "/history/1", "/rules/outbuffered"]
    print(*[browser.get(page).status_code for page in pages])
    # Install the game, if it is not installed yet.
    if "clash" not in GAMES:
        sys.path.append(sys.argv[2])
        load_games()
        print(browser.get("/history/1").status_code)
"""


def test_an_uninstalled_package_breaks_only_its_games(clash: Path, tmp_path: Path) -> None:
    """A finished game stays in the journal. Its page shows again when the package is back.

    Without the package, only the page of its game is refused (400).
    """
    state = tmp_path / "state"
    state.mkdir()
    arguments = (str(state), str(clash))

    # With the package the game is played to its end.
    assert run_code(clash, PLAY_OR_LOOK, *arguments).splitlines() == ["over", "200 200 200 200 200"]

    # Without the package the table waits in its lobby. Then the package is installed again.
    phase_and_notices, *statuses = run_code(tmp_path, PLAY_OR_LOOK, *arguments).splitlines()
    assert statuses == ["200 200 200 400 200", "200"]
    assert phase_and_notices.startswith("lobby")
