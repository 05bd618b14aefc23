"""The command line: `companion COMMAND …`.

`make_parser` lists all commands, of which this module has those that fit in no other module of the
package. An error is one line on standard error and exit status 1. Wrong usage is exit status 2.
Libraries that are slow to load are imported by the commands that need them, so that the other
commands start at once.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from companion import __version__
from companion.bots import bot_engine
from companion.cli.backup import backup, restore
from companion.cli.history import export, history, import_game, replay
from companion.cli.hotspot import hotspot, wifi
from companion.cli.hub import hub
from companion.cli.lamp import lamp
from companion.cli.options import (
    PORT,
    SETTINGS,
    add_commands,
    argument,
    command,
    number_type,
    port_type,
    settings_from_options,
    settings_path,
)
from companion.cli.printing import card, kit
from companion.cli.running import host_key
from companion.core.config import BotsSettings, Settings
from companion.core.errors import CompanionError
from companion.core.i18n import translate_for_json
from companion.games import GAMES, game_named
from companion.games.plugins import load_games, plugin_games
from companion.games.tools import parse_count
from companion.service import logs

if TYPE_CHECKING:
    from companion.service.app import Companion


log = logging.getLogger(__name__)
# Option that loads no games and programs from outside. `main` looks for it before it loads games,
# and so before the options can be parsed.
SAFE = "--safe"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return the exit status.

    Wrong usage raises `SystemExit`. The command `play` does not return, since it ends the process.

    :param arguments: words of the command line without the program, or None for those of this
        process
    """
    words = sys.argv[1:] if arguments is None else arguments
    if SAFE not in words:
        load_games()
    options = make_parser().parse_args(arguments)
    logs.set_up_logging(options.verbose)
    try:
        return options.run(options) or 0
    except CompanionError as error:
        print(f"companion: {error.message}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, including those of games."""
    parser = argparse.ArgumentParser(
        prog="companion", description="The referee beside a real board game table."
    )
    parser.add_argument("--version", action="version", version=f"companion {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more on the console")
    tools = [tool for game in GAMES.values() for tool in game.tools()]
    commands = (
        # to play, to print, and to read what was played
        play,
        kit,
        card,
        read,
        history,
        export,
        import_game,
        replay,
        *tools,
        # to look after an installation
        doctor,
        backup,
        restore,
        host_key,
        hub,
        calibrate,
        # to develop games and opponents
        selfplay,
        engine,
        bot,
        # for the machine itself, run as root or by systemd
        hotspot,
        lamp,
        wifi,
    )
    add_commands(parser, commands, required=True)
    return parser


# ---- play ----------------------------------------------------------------------------------------


@command(
    "play",
    "run the table: pages, camera, lamps",
    *SETTINGS,
    argument("--simulate", action="store_true", help="a rendered table and a panel without pins"),
    argument(SAFE, action="store_true", help="without games and programs from outside"),
    argument("--game", choices=GAMES, help="start this game at once, unless one is on"),
    argument("--port", type=port_type, help="port of the pages (0: any free one)"),
    argument("--host", help="address to listen on"),
    argument(
        "--camera", metavar="SOURCE", help="none, picamera, usb:0, an image, a folder or a video"
    ),
    argument(
        "--fps", type=number_type("frame rate", 0.1, 60, float), help="frames read per second"
    ),
)
def play(options: argparse.Namespace) -> None:
    from companion.cli.greeting import format_greeting  # noqa: PLC0415 - draws QR codes
    from companion.service.lifecycle import run_service  # noqa: PLC0415 - brings camera and web libraries, which other commands do without

    def greet(companion: Companion, is_first: bool) -> None:
        """Print the greeting. At the first start, begin the game of the command line before that.

        A game that is on is not replaced.
        """
        if is_first and options.game and companion.table.view().phase in ("lobby", "over"):
            companion.table.new_game(options.game)
        print(format_greeting(companion, sys.stdout.isatty()), flush=True)

    def reload_settings() -> Settings:
        """Return the settings for the next start, and use their log level."""
        settings = settings_from_options(options)
        # With `--safe` no external engines are used.
        if options.safe:
            settings = msgspec.structs.replace(settings, bots=BotsSettings())
        logs.set_level(settings.log.level, options.verbose)
        return settings

    for game in plugin_games():
        if game.trouble:
            log.warning(
                "The game %s from %s is not loaded: %s", game.name, game.package, game.trouble
            )
    # Without `--simulate` (None) the table is simulated only if there is neither a camera nor a
    # panel.
    run_service(reload_settings, settings_path(options), True if options.simulate else None, greet)
    # Everything is closed. End the process at once: threads of libraries may still run native code,
    # and would crash while Python ends in the usual way.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


# ---- read, doctor, calibrate ---------------------------------------------------------------------


@command(
    "read",
    "print what a camera would read in images",
    argument("images", nargs="+", type=Path, metavar="IMAGE", help="files or folders"),
    argument(
        "--dictionary", metavar="NAME", help="dictionary of the markers, such as DICT_6X6_250"
    ),
)
def read(options: argparse.Namespace) -> None:
    from vision.still_pictures import read_images  # noqa: PLC0415 - brings OpenCV

    kits = {name: game.kit(game.options({})) for name, game in GAMES.items()}
    for answer in read_images(options.images, kits, options.dictionary):
        print(json.dumps(answer, ensure_ascii=False), flush=True)


def _add_exit_statuses(parser: argparse.ArgumentParser) -> None:
    # shown at the end of the command's help
    parser.epilog = (
        "Exit status: 0 nothing to do, 1 something does not work, 3 something needs attention soon."
    )


@command(
    "doctor",
    "machine, power, disk, clock, camera, pins, network: what is wrong, what to do",
    *SETTINGS,
    PORT,
    argument("--json", action="store_true", help="the same as JSON"),
    argument(
        "--save", type=Path, metavar="FILE.zip", help="save what to send when something is wrong"
    ),
    _add_exit_statuses,
)
def doctor(options: argparse.Namespace) -> int:
    from companion.cli.doctor import print_findings, save_bundle  # noqa: PLC0415 - brings camera and web libraries

    settings, path = settings_from_options(options), settings_path(options)
    if options.save:
        save_bundle(settings, options.save, path)
        return 0
    return print_findings(settings, options.json, path)


@command(
    "calibrate",
    "measure the camera's lens exactly, from a printed page",
    *SETTINGS,
    argument("--camera", metavar="SOURCE", help="picamera, usb:0"),
    argument("--print", type=Path, metavar="FILE.pdf", dest="page", help="write the page instead"),
    argument("--paper", choices=("a4", "letter"), default="a4"),
)
def calibrate(options: argparse.Namespace) -> int:
    from companion.cli.calibrate import measure_lens, write_calibration_page  # noqa: PLC0415 - brings OpenCV

    if options.page:
        write_calibration_page(options.page, options.paper)
        return 0
    try:
        fit = measure_lens(settings_from_options(options))
    except KeyboardInterrupt:
        print("Ended; nothing is changed.")
        return 1
    print(
        f"{fit.views} views: {fit.field_of_view_deg:.1f} degrees across, focal length "
        f"{fit.lens.focal_ratio:.4f} of the picture's width to {100 * fit.focal_sigma:.2f} %, "
        f"k1 {fit.lens.k1:+.4f}, {fit.rms_px:.2f} px left over."
    )
    return 0


# ---- selfplay, engine, bot -----------------------------------------------------------------------


def _add_task(parser: argparse.ArgumentParser) -> None:
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--game", choices=GAMES, help="game to play")
    task.add_argument("--check", metavar="GAME", help="say what a game lacks, for its author")


@command(
    "selfplay",
    "whole games through the real interfaces",
    _add_task,
    argument("--games", type=parse_count, default=1, metavar="N"),
    argument("--seed", type=int, default=1, metavar="S"),
    argument("--json", action="store_true", help="one JSON line per game"),
)
def selfplay(options: argparse.Namespace) -> int:
    from companion.tools.selfplay import play_games  # noqa: PLC0415

    if options.check:
        return _check_game(options.check)
    are_all_good = True
    for report in play_games(options.game, options.games, options.seed):
        as_json = msgspec.json.encode(report, enc_hook=translate_for_json).decode()
        print(as_json if options.json else report.sentence(), flush=True)
        are_all_good &= report.is_good()
    return 0 if are_all_good else 1


def _check_game(name: str) -> int:
    """Print what is wrong with a game, or else which optional parts it lacks, for its author.

    Return the exit status: 1 if something is wrong.
    """
    from companion.tools.selfplay.check import find_faults, missing_parts  # noqa: PLC0415

    faults = find_faults(name)
    if faults:
        print(*(f"wrong  {fault}" for fault in faults), sep="\n")
        return 1
    for part in missing_parts(name):
        print(f"may    {part}")
    print(f"The game “{name}” can be played.")
    return 0


@command(
    "engine",
    "the rules as JSON lines on standard input and output",
    argument("game", choices=GAMES),
)
def engine(options: argparse.Namespace) -> None:
    from companion.games.engine import Engine, serve_lines  # noqa: PLC0415

    serve_lines(Engine(game_named(options.game)).answer, sys.stdin.buffer, sys.stdout.buffer)


@command("bot", "an opponent as JSON lines on standard input and output", bot_engine.add_options)
def bot(options: argparse.Namespace) -> int:
    return bot_engine.run_bot(options.game, options.level, options.seed)
