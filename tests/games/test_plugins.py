"""Tests of games from other packages, which processes of their own load by entry points.

The game is the one of docs/a-new-game.md, put together from the code on that page. Others are
broken on purpose.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from companion.core.kit import SIDE_COLOURS

ROOT = Path(__file__).parents[2]
# The page that shows how to write a game, its Python code, and its pyproject.toml.
PAGE = (ROOT / "docs/a-new-game.md").read_text(encoding="utf-8")
CLASH_CODE = "\n\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
(PYPROJECT,) = (
    tomllib.loads(text)
    for text in re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)
# Name of the group of entry points by which games are found.
ENTRY_POINT_GROUP = "tabletop_companion.games"


def install(folder: Path, module: str, code: str, entry_points: dict[str, str]) -> None:
    """Write the files that pip installs of a package with one module and entry points."""
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}_game-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}-game\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = "\n".join(f"{name} = {value}" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{lines}\n", encoding="utf-8")


def companion(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program's command line in a process that finds the packages of a folder."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    call = [sys.executable, "-m", "companion", *arguments]
    return subprocess.run(
        call, env=environment, capture_output=True, text=True, timeout=150, check=False
    )


def run_python(folder: Path, code: str) -> str:
    """Run code in a process that finds the packages of a folder, and return its output."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}{os.pathsep}{ROOT / 'tests'}",
    }
    call = [sys.executable, "-c", code]
    result = subprocess.run(
        call, env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def clash(tmp_path: Path) -> Path:
    """Return a folder of packages in which the game of the page, “clash”, is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "clash", CLASH_CODE, PYPROJECT["project"]["entry-points"][ENTRY_POINT_GROUP])
    return folder


@pytest.mark.slow
def test_the_pages_game_plays_with_rendered_camera(clash: Path) -> None:
    result = companion(clash, "selfplay", "--game", "clash", "--games", "1", "--seed", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"rank 5.* 0 layouts misread", result.stdout)) == 1, result.stdout


# A program that plays a turn of the game through the web interface. It prints what page, sign, cues
# and settings show of the game's own drawing, event and sound.
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
from web.routes.owner.check import cues
from web_fixtures import open_web_rig

with open_web_rig(Path(mkdtemp())) as rig:
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
    moment = browser.get("/api/view").get_json()["moment"]
    for seat in SEATS:
        body = {"moment": moment, "action": "2", "salt": "0" * 32}
        assert browser.post(f"/api/seat/{seat}/hand-in", json=body).status_code == 200
    page = browser.get("/").get_data(as_text=True)
    print("drawing", page.count('href="#clash-sparks"'), page.count('<symbol id="clash-sparks"'))
    print(
        "sentence",
        page.count("Both choose 2: nobody runs."),
        browser.get("/api/view").get_json()["sign"]["text"],
    )
    rig.clock.advance(2.0)
    rig.table.step()
    (cue,) = [signal.cue for signal in signals if str(signal.cue) == "clash"][:1]
    print(
        "cue",
        [note.name for note in properties_of(cue).tone if note.name],
        sorted(cue_patterns(Signal(cue), SEATS[0])),
    )
    print("choices", cues()[cue], "clash" in event_types())
    assert browser.get("/rules/clash").status_code == 200
"""


def test_drawing_event_and_sound_reach_all_parts(clash: Path) -> None:
    assert run_python(clash, PLAY_A_TURN).splitlines() == [
        "drawing 4 1",
        "sentence 1 Both choose 2: nobody runs.",
        "cue ['A4', 'A4', 'C6'] ['1', '2', '3']",
        "choices A clash True",
    ]


# By name: the code of a package, its entry point, and how the report of its fault begins.
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
    for name, (code, entry_point, _) in BROKEN_GAMES.items():
        install(clash, name, code, {name: entry_point})
    output = run_python(
        clash,
        "from companion.games.plugins import load_games\n"
        "from companion.games import GAMES\n"
        "for plugin in load_games(): print(f'{plugin.name}|{plugin.package}|{plugin.trouble}')\n"
        "load_games()\n"
        "print(*GAMES)\n",
    ).splitlines()
    assert output[-1].split() == ["outbuffered", "scouts", "arena", "kahmate", "binmat", "clash"]
    reports = {line.split("|")[0]: line.split("|")[1:] for line in output[:-1]}
    assert reports.pop("clash") == ["clash-game 1.0", ""]
    assert set(reports) == set(BROKEN_GAMES)
    for name, (_, _, fault) in BROKEN_GAMES.items():
        package, report = reports[name]
        assert package == f"{name}-game 1.0"
        assert report.startswith(fault), report


def test_the_doctor_names_loaded_and_broken_games(clash: Path, tmp_path: Path) -> None:
    code, entry_point, _ = BROKEN_GAMES["raising"]
    install(clash, "raising", code, {"raising": entry_point})
    result = companion(clash, "doctor", "--state-dir", str(tmp_path / "state"), "--port", "1")
    assert "games    The game “clash” comes from clash-game 1.0." in result.stdout
    assert (
        "warn  games    The game “raising” from raising-game 1.0 is not loaded: It raises "
        "RuntimeError" in result.stdout
    )


def test_style_sheets_have_the_colours_of_sides() -> None:
    tokens = (ROOT / "web/static/base.css").read_text(encoding="utf-8")
    styled = set(re.findall(r"\.side-(\w+) \{ color: var\(--\1\); --face: var\(--on-", tokens))
    assert set(SIDE_COLOURS) == styled


# A program that opens a table in a folder and asks for its pages. If the game is installed, it
# first plays two turns, to the end. If not, it installs the game last and asks for its page again.
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
    if "clash" in GAMES:
        rig.table.new_game("clash", {}, 1)
        rig.table.confirm("host", rig.table.view().moment, 0)
        for _ in range(2):
            moment = rig.table.view().moment
            for seat, action in zip(SEATS, "21"):
                rig.table.hand_in(seat, moment, action)
            rig.table.confirm("host", moment, 0)
    print(rig.table.view().phase, *rig.table.view().devices.notices)
    pages = ["/", "/watch", "/history", "/history/1", "/rules/outbuffered"]
    print(*[browser.get(page).status_code for page in pages])
    if "clash" not in GAMES:
        sys.path.append(sys.argv[2])
        load_games()
        print(browser.get("/history/1").status_code)
"""


def test_an_uninstalled_package_breaks_only_its_games(clash: Path, tmp_path: Path) -> None:
    """A finished game stays in the journal. Its page shows again when the package is back."""
    state = tmp_path / "state"
    state.mkdir()
    code = PLAY_OR_LOOK.replace("sys.argv[1]", repr(str(state))).replace(
        "sys.argv[2]", repr(str(clash))
    )
    assert run_python(clash, code).splitlines() == ["over", "200 200 200 200 200"]
    phase, *rest = run_python(tmp_path, code).splitlines()
    assert rest == ["200 200 200 400 200", "200"]
    assert phase.startswith("lobby")
