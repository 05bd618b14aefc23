"""The command line: `companion COMMAND …`. Errors are one line and exit status 1, wrong usage
is 2.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from companion import __version__
from companion.bots.bot_engine import add_options as add_bot_options
from companion.bots.characters import CHARACTERS
from companion.cli.backup import add_backup
from companion.cli.history import add_history
from companion.cli.hotspot import add_hotspot
from companion.cli.hub import add_hub
from companion.cli.lamp import add_lamp
from companion.cli.options import (
    Commands,
    add_command,
    add_port_of_running,
    number,
    port,
    settings_of,
    settings_path,
)
from companion.cli.printing import add_print_commands
from companion.cli.running import add_host_key
from companion.cli.wifi import add_wifi
from companion.core.config import BotsSettings, Settings
from companion.core.errors import CompanionError
from companion.core.i18n import plain_words
from companion.games import GAMES, game_named
from companion.games.plugins import load_games, plugin_games
from companion.games.tools import count
from companion.service import logs

if TYPE_CHECKING:
    from companion.service.app import Companion


log = logging.getLogger(__name__)
SAFE = "--safe"
"""Option that loads no games and programs from outside. It is checked before anything is loaded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if SAFE not in words:
        load_games()
    options = parser().parse_args(arguments)
    logs.begin(options.verbose)
    try:
        return options.run(options) or 0
    except CompanionError as error:
        print(f"companion: {error.message}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, including those of games."""
    parser = argparse.ArgumentParser(
        prog="companion", description="The referee beside a real board game table."
    )
    parser.add_argument("--version", action="version", version=f"companion {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more on the console")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_play(commands)
    add_print_commands(commands)
    _add_read(commands)
    add_history(commands)
    for game in GAMES.values():
        for brought in game.tools():
            brought.add(add_command(commands, brought.name, brought.run, brought.help))
    _add_doctor(commands)
    add_backup(commands)
    add_host_key(commands)
    add_hub(commands)
    _add_calibrate(commands)
    _add_selfplay(commands)
    _add_engines(commands)
    add_hotspot(commands)
    add_lamp(commands)
    add_wifi(commands)
    return parser


# ---- play ----------------------------------------------------------------------------------------


def _add_play(commands: Commands) -> None:
    about = "run the table: pages, camera, lamps"
    command = add_command(commands, "play", _play, about, has_settings=True)
    add = command.add_argument
    add("--simulate", action="store_true", help="a rendered table and a panel without pins")
    add(SAFE, action="store_true", help="without games and programs from outside")
    add("--game", choices=sorted(GAMES), help="start this game at once, unless one is on")
    add("--port", type=port, help="port of the pages (0: any free one)")
    add("--host", help="address to listen on")
    add("--camera", metavar="SOURCE", help="none, picamera, usb:0, an image, a folder or a video")
    add("--fps", type=number("frame rate", 0.1, 60, float), help="frames read per second")


def _play(options: argparse.Namespace) -> None:
    from companion.cli.greeting import greeting  # noqa: PLC0415 - draws QR codes
    from companion.service.lifecycle import run  # noqa: PLC0415 - brings camera and web libraries, which other commands spare

    def greet(companion: Companion, is_first: bool) -> None:
        if is_first and options.game and companion.table.view().phase in ("lobby", "over"):
            companion.table.new_game(options.game)
        print(greeting(companion, sys.stdout.isatty()), flush=True)

    def settings() -> Settings:
        settings_ = settings_of(options)
        if options.safe:
            settings_ = msgspec.structs.replace(settings_, bots=BotsSettings())
        logs.choose(settings_.log.level, options.verbose)
        return settings_

    for game in plugin_games():
        if game.trouble:
            words = "The game %s from %s is not loaded: %s"
            log.warning(words, game.name, game.package, game.trouble)
    run(settings, settings_path(options), True if options.simulate else None, greet)


# ---- read, doctor, calibrate ---------------------------------------------------------------------


def _add_read(commands: Commands) -> None:
    command = add_command(commands, "read", _read, "print what a camera would read in images")
    command.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="files or folders")
    command.add_argument(
        "--dictionary", metavar="NAME", help="dictionary of the markers, such as DICT_6X6_250"
    )


def _read(options: argparse.Namespace) -> None:
    from vision.still_pictures import read_images  # noqa: PLC0415 - brings OpenCV

    kits = {name: game.kit(game.options({})) for name, game in GAMES.items()}
    for answer in read_images(options.images, kits, options.dictionary):
        print(json.dumps(answer, ensure_ascii=False), flush=True)


def _add_doctor(commands: Commands) -> None:
    command = add_command(
        commands,
        "doctor",
        _doctor,
        "machine, power, disk, clock, camera, pins, network: what is wrong, what to do",
        has_settings=True,
        end="Exit status: 0 nothing to do, 1 something does not work, 3 something needs attention "
        "soon.",
    )
    add_port_of_running(command)
    command.add_argument("--json", action="store_true", help="the same as JSON")
    command.add_argument(
        "--save", type=Path, metavar="FILE.zip", help="save what to send when something is wrong"
    )


def _doctor(options: argparse.Namespace) -> int:
    from companion.cli.doctor import report, save_bundle  # noqa: PLC0415 - brings camera and web libraries

    settings, path = settings_of(options), settings_path(options)
    if options.save:
        save_bundle(settings, options.save, path)
        return 0
    return report(settings, options.json, path)


def _add_calibrate(commands: Commands) -> None:
    about = "measure the camera's lens exactly, from a printed page"
    command = add_command(commands, "calibrate", _calibrate, about, has_settings=True)
    command.add_argument("--camera", metavar="SOURCE", help="picamera, usb:0")
    task = command.add_mutually_exclusive_group()
    task.add_argument(
        "--print", type=Path, metavar="FILE.pdf", dest="page", help="write the page instead"
    )
    task.add_argument(
        "--from", type=Path, metavar="FOLDER", dest="folder", help="pictures that this camera took"
    )
    command.add_argument("--paper", choices=("a4", "letter"), default="a4")


def _calibrate(options: argparse.Namespace) -> int:
    from companion.cli.calibrate import measure_folder, measure_live, print_page  # noqa: PLC0415 - brings OpenCV

    if options.page:
        print_page(options.page, options.paper)
        return 0
    settings = settings_of(options)
    try:
        folder = options.folder
        measured = measure_folder(settings, folder) if folder else measure_live(settings)
    except KeyboardInterrupt:
        print("Ended; nothing is changed.")
        return 1
    print(
        f"{measured.views} views: {measured.field_of_view_deg:.1f} degrees across, focal length "
        f"{measured.lens.focal_ratio:.4f} of the picture's width to {100 * measured.spread:.2f} %, "
        f"k1 {measured.lens.k1:+.4f}, {measured.rms_px:.2f} px left over."
    )
    return 0


# ---- selfplay, engine, bot -----------------------------------------------------------------------


def _add_selfplay(commands: Commands) -> None:
    about = "whole games through the real interfaces"
    command = add_command(commands, "selfplay", _selfplay, about)
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("--game", choices=sorted(GAMES), help="which one")
    which.add_argument("--check", metavar="GAME", help="say what a game lacks, for its author")
    command.add_argument("--games", type=count, default=1, metavar="N")
    command.add_argument("--seed", type=int, default=1, metavar="S")
    own = [character.name for character in CHARACTERS]
    command.add_argument(
        "--against", choices=own, default="", metavar="NAME", help=f"the machine: {', '.join(own)}"
    )
    command.add_argument("--json", action="store_true", help="one JSON line per game")


def _selfplay(options: argparse.Namespace) -> int:
    from companion.tools.selfplay import play_games  # noqa: PLC0415

    if options.check:
        return _check_game(options.check)
    is_good = True
    for report in play_games(options.game, options.games, options.seed, options.against):
        as_json = msgspec.json.encode(report, enc_hook=plain_words).decode()
        print(as_json if options.json else report.sentence(), flush=True)
        is_good &= report.is_good()
    return 0 if is_good else 1


def _check_game(name: str) -> int:
    from companion.tools.selfplay.check import faults_of, missing_parts  # noqa: PLC0415

    faults = faults_of(name)
    if faults:
        print(*(f"wrong  {fault}" for fault in faults), sep="\n")
        return 1
    for part in missing_parts(name):
        print(f"may    {part}")
    print(f"The game “{name}” can be played.")
    return 0


def _add_engines(commands: Commands) -> None:
    about = "the rules as JSON lines on standard input and output"
    command = add_command(commands, "engine", _engine, about)
    command.add_argument("game", choices=sorted(GAMES))
    about = "an opponent as JSON lines on standard input and output"
    add_bot_options(add_command(commands, "bot", _bot, about))


def _engine(options: argparse.Namespace) -> None:
    from companion.games.engine import serve_lines  # noqa: PLC0415

    serve_lines(game_named(options.game), sys.stdin.buffer, sys.stdout.buffer)


def _bot(options: argparse.Namespace) -> int:
    from companion.bots.bot_engine import run_bot  # noqa: PLC0415

    return run_bot(options.game, options.level, options.seed)
