"""Tests of the examples in docs/examples: the small game “pebble”, an engine, and a lamp.

Each example runs as it is. The small game is also changed in many ways, to test what
`selfplay --check` reports to the author of a game that has a fault. The last test is about the
start of the program with games and engines from outside.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from mqtt_tools import Broker, Subscriber, needs_broker
from plugin_tools import ROOT, install_package, run_companion, run_python

from companion.bots.bot_process import BotProcess
from companion.cli import main
from companion.core.kit import Seat
from companion.games import GAMES
from companion.tools.selfplay import check
from companion.tools.selfplay.check import find_faults

EXAMPLES = ROOT / "docs/examples"
# The code of the small game.
PEBBLE = (EXAMPLES / "pebble/pebble.py").read_text(encoding="utf-8")
# Maximum number of lines of the small game, so that it can be read at one sitting.
MAX_PEBBLE_LINES = 60


def make_site(folder: Path) -> Path:
    """Make a folder of packages in which the small game is installed."""
    folder.mkdir()
    install_package(folder, "pebble", PEBBLE, {"pebble": "pebble:Pebble"})
    return folder


@pytest.fixture
def load_pebble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that runs code of the small game and adds the game to those of the program.

    A test may thus load a version of the game that it has changed. No package is installed.
    """

    def load(code: str) -> None:
        module = tmp_path / "pebble.py"
        module.write_text(code, encoding="utf-8")
        monkeypatch.setitem(GAMES, "pebble", runpy.run_path(str(module))["Pebble"]())

    return load


# ---- the small game ------------------------------------------------------------------------------


def test_the_small_game_passes_its_check(
    load_pebble: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The check names no fault, but the parts that the game could have as well."""
    load_pebble(PEBBLE)
    assert main(["selfplay", "--check", "pebble"]) == 0
    report = capsys.readouterr().out
    assert report.endswith("The game “pebble” can be played.\n")
    assert "may    It has no pad: it is played by phones only." in report
    assert len(PEBBLE.splitlines()) <= MAX_PEBBLE_LINES


def test_the_small_game_can_be_played(tmp_path: Path) -> None:
    """An installed package is enough: the program finds the game by its entry point."""
    folder = make_site(tmp_path / "site")
    result = run_companion(folder, "selfplay", "--game", "pebble", "--games", "1")
    assert result.stdout.count("The pebble lies on g1. ") == 1, result.stdout + result.stderr


# Lines of the small game that some faults change, and methods that are put before one of them.
VIEW_HEAD = "    def view(self, state, seat):"
REFUSING_CHECK = """\
    def check(self, state, seat, action):
        from companion.core.errors import Malformed
        raise Malformed('No')
"""
CONSTANT_PARSE = """\
    def parse(self, text):
        return '1'
"""
TARGET_LINE = "target = file + int(actions[seat])"
# Faults by the sentence that the check must report, or a part of it. Each fault is a text of the
# small game and the text that replaces it.
FAULTS = {
    # The rule on turns and the end has no paragraph.
    "Its turn_rule names no paragraph of its rules: going": (
        'turn_rule = end_rule = "moving"',
        'turn_rule = end_rule = "going"',
    ),
    # The lobby has no room for the summary.
    "has 50 letters: 41 at most": ('"Move one pebble to the end"', f'"{"x" * 50}"'),
    # `check` refuses everything, although the actions are listed as legal.
    "A legal action is refused: No": (VIEW_HEAD, f"{REFUSING_CHECK}\n{VIEW_HEAD}"),
    # The pebble lies on the last square, but nobody has won.
    "Nobody is to act and there is no outcome": ("if state[0] < LAST:", "if True:"),
    # An event names a rule that does not exist.
    "An event names a paragraph that is not there: running": ('rule="moving")', 'rule="running")'),
    # The board shows a piece that nobody has printed.
    "A layout has faces that the kit does not have": ('("pebble",)}', '("stone",)}'),
    # Every notation is read as 1, even that of 2.
    "parse and format do not agree": (VIEW_HEAD, f"{CONSTANT_PARSE}\n{VIEW_HEAD}"),
    # The pebble never moves.
    "does not end within 50 turns": (TARGET_LINE, "target = file"),
    # The game's own code fails.
    "It raises ZeroDivisionError": (VIEW_HEAD, f"{VIEW_HEAD}\n        1 / 0"),
    # Chance decides the move, but not by the random numbers that the table gives to the game.
    "lead to different states": (
        TARGET_LINE,
        "target = min(LAST, file + __import__('random').choice((1, 2)))",
    ),
    # The only rule has another id, so that no rule that the game names exists.
    "names no paragraph": ('Rule("moving"', 'Rule("other"'),
}


@pytest.mark.parametrize("report", FAULTS)
def test_a_fault_of_a_game_is_reported(
    load_pebble: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    original, replacement = FAULTS[report]
    assert original in PEBBLE, "the small game no longer has the text that the fault replaces"
    load_pebble(PEBBLE.replace(original, replacement))
    # One fault is a game that never ends. 50 turns are enough to notice it.
    monkeypatch.setattr(check, "MAX_TURNS", 50)
    assert any(report in fault for fault in find_faults("pebble"))


def test_a_missing_game_is_reported() -> None:
    report = "There is no game “nogame”: install its package, then look at its entry point."
    assert find_faults("nogame") == (report,)


@pytest.mark.parametrize("name", ["outbuffered", "arena"])
def test_the_projects_own_games_have_no_faults(name: str) -> None:
    assert find_faults(name) == ()


# ---- the engine and the lamp ---------------------------------------------------------------------


def test_the_example_engine_chooses_legal_actions() -> None:
    """The program starts the engine in a process of its own and speaks with it in JSON lines."""
    game = GAMES["outbuffered"]
    state = game.setup(game.options({}), Random(1))
    engine = BotProcess([sys.executable, str(EXAMPLES / "engine.py"), "outbuffered"])
    try:
        engine.new(Seat.SOUTH, {}, timeout_s=20)
        choice = engine.choose(game.view(state, Seat.SOUTH), timeout_s=20)
        game.check(state, Seat.SOUTH, game.parse(choice.action))
        engine.see(game.view(state, Seat.SOUTH), [], timeout_s=20)
    finally:
        engine.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(tmp_path) as broker:
        yield broker


@needs_broker
def test_the_lamp_shows_whose_turn_it_is(broker: Broker) -> None:
    # The lamp prints the seat and the colour that it shows. Its pins are simulated.
    environment = {**os.environ, "GPIOZERO_PIN_FACTORY": "mock", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(EXAMPLES / "lamp.py"), f"127.0.0.1:{broker.port}", "tabletop"]
    subscriber = Subscriber(broker.port)
    lamp = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        # Publish the turn as a table does. The broker retains the message for a lamp that connects
        # later.
        turn = {"seat": "south", "side": "purple", "colour": "#5b2a9d", "rgb": [91, 42, 157]}
        subscriber.publish("tabletop/turn", json.dumps(turn).encode(), retain=True)
        assert lamp.stdout
        assert lamp.stdout.readline() == "south #5b2a9d\n"
    finally:
        lamp.kill()
        lamp.communicate()  # waits until the process has ended
        subscriber.client.loop_stop()
        subscriber.client.disconnect()


# ---- a start with games and engines from outside -------------------------------------------------

# A program that starts the service with the arguments of the command line. The service itself is
# replaced by a function that prints whether the small game is loaded, and the engines from outside.
START = """
import sys
from companion.cli import main
from companion.games import GAMES
from companion.service import lifecycle

def print_games_and_engines(settings, *_):
    print("pebble" in GAMES, settings().bots.engines)

lifecycle.run_service = print_games_and_engines
main(sys.argv[1:])
"""


def test_a_start_names_broken_games_unless_safe(tmp_path: Path) -> None:
    """A normal start loads the small game, and reports another game that is broken.

    A start with `--safe` loads no game and no engine from outside, so it has nothing to report.
    """
    folder = make_site(tmp_path / "site")
    install_package(folder, "raising", "raise RuntimeError('no luck')", {"raising": "raising:Game"})
    fault = "The game raising from raising-game 1.0 is not loaded: It raises RuntimeError: no luck"
    (tmp_path / "settings.toml").write_text(
        '[bots]\nengines = ["Ada=/opt/ada"]\n', encoding="utf-8"
    )
    for options, output, is_fault_reported in (
        ([], "True ('Ada=/opt/ada',)\n", True),
        (["--safe"], "False ()\n", False),
    ):
        arguments = ("play", *options, "--state-dir", str(tmp_path))
        result = run_python(folder, "-c", START, *arguments, timeout_s=60)
        assert result.stdout == output, result.stderr
        assert (fault in result.stderr) is is_fault_reported
