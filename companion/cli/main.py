"""The command line: `companion COMMAND …`. Errors are one line and exit status 1, wrong usage is 2."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from companion import __version__
from companion.bots.characters import CHARACTERS
from companion.cli.backup import add_commands as add_upkeep
from companion.cli.history import add_commands as add_history
from companion.cli.hotspot import add_hotspot
from companion.cli.hub.tables import add_hub
from companion.cli.lamp import add_lamp
from companion.cli.printing import add_print_commands
from companion.cli.running import add_host_key
from companion.cli.wifi import add_wifi
from companion.core.config import BotsSettings, Settings, find_settings, load_settings
from companion.core.errors import CompanionError, SystemTrouble
from companion.core.i18n import plain_words
from companion.games import GAMES, game_named
from companion.games.plugins import load_games, plugin_games
from companion.games.tools import count, tools_of
from companion.service import logs

if TYPE_CHECKING:
    from companion.service.app import Companion


log = logging.getLogger(__name__)
SAFE = "--safe"
"""No game and no program from outside is loaded. It is looked for before anything is loaded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if SAFE not in words:
        load_games()
    options = parser().parse_args(arguments)
    logs.begin(options.verbose)
    try:
        return int(options.run(options))
    except CompanionError as error:
        print(f"companion: {error.message}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


class _Parser(argparse.ArgumentParser):
    """Says of what it does not know how its own command is used, not how the program is."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as the base class, which leaves it to the program to refuse what a command does not know."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="companion", description="The referee beside a real board game table.")
    parser.add_argument("--version", action="version", version=f"companion {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="print more on the console")
    commands: Any = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_play(commands)
    add_print_commands(commands)
    _add_read(commands)
    add_history(commands, _add_settings, _settings_of)
    _add_game_commands(commands)
    _add_doctor(commands)
    add_upkeep(
        commands, _add_settings, lambda options: (_settings_of(options), _settings_path(options))
    )
    add_host_key(commands, _add_settings, _settings_of, _port)
    add_hub(commands, _add_settings, _settings_of, _port)
    _add_calibrate(commands)
    _add_selfplay(commands)
    _add_engine(commands)
    _add_bot(commands)
    add_hotspot(commands, _add_settings, _settings_path)
    add_lamp(commands, _add_settings, _settings_of)
    add_wifi(commands)
    return parser


def _settings_path(options: argparse.Namespace) -> Path:
    """Return the file that is named, else the installation's, which its `companion` names in the
    environment."""
    installed = os.environ.get("COMPANION_SETTINGS") if options.state_dir is None else None
    path = find_settings(
        options.settings or (Path(installed) if installed else None), options.state_dir
    )
    try:
        path.exists()
    except PermissionError:
        raise SystemTrouble(
            f"You may not read {path}: use sudo, or --state-dir with a folder of your own"
        ) from None
    except OSError as error:
        raise SystemTrouble(f"{str(path)[:200]} cannot be read: {error.strerror}") from None
    return path


def _settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings file, with what the command line changes."""
    path = _settings_path(options)
    settings = load_settings(path if options.settings or path.exists() else None)
    web, camera = settings.web, settings.camera
    if getattr(options, "port", None) is not None:
        web = msgspec.structs.replace(web, port=options.port)
    if getattr(options, "host", None) is not None:
        web = msgspec.structs.replace(web, host=options.host)
    if getattr(options, "camera", None) is not None:
        camera = msgspec.structs.replace(camera, source=options.camera)
    if getattr(options, "fps", None) is not None:
        camera = msgspec.structs.replace(camera, fps=options.fps)
    state_dir = getattr(options, "state_dir", None) or settings.state_dir
    return msgspec.structs.replace(settings, web=web, camera=camera, state_dir=state_dir)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--settings", type=Path, metavar="FILE", help="a TOML file; else settings.toml in DIR"
    )
    command.add_argument("--state-dir", metavar="DIR", help="where the games are kept")


# ---- play ------------------------------------------------------------------------------------------------------------


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: give a whole number from 0 to 65535"
        )
    return int(text)


def _fps(text: str) -> float:
    try:
        if 0 < (number := float(text)) <= 60:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a frame rate: give a number above 0, 60 at most"
    )


def _add_play(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("play", help="run the table: pages, camera, lamps")
    _add_settings(command)
    command.add_argument(
        "--simulate", action="store_true", help="a rendered table and a panel without pins"
    )
    command.add_argument(SAFE, action="store_true", help="without games and programs from outside")
    command.add_argument(
        "--game", choices=sorted(GAMES), help="start this game at once, unless one is on"
    )
    command.add_argument("--port", type=_port, help="port of the pages (0: any free one)")
    command.add_argument("--host", help="address to listen on")
    command.add_argument(
        "--camera", metavar="SOURCE", help="none, picamera, usb:0, an image, a folder or a video"
    )
    command.add_argument("--fps", type=_fps, help="frames read per second")
    command.set_defaults(run=_play)


def _play(options: argparse.Namespace) -> int:
    from companion.cli.greeting import greeting_of  # noqa: PLC0415 - draws QR codes
    from companion.service.lifecycle import run  # noqa: PLC0415 - brings camera and web libraries, which other commands spare

    def greet(companion: Companion, is_first: bool) -> None:
        if is_first and options.game and companion.table.view().phase in ("lobby", "over"):
            companion.table.new_game(options.game)
        print(greeting_of(companion, sys.stdout.isatty()), flush=True)

    def settings() -> Settings:
        settings_ = _settings_of(options)
        if options.safe:
            settings_ = msgspec.structs.replace(settings_, bots=BotsSettings())
        logs.choose(settings_.log.level, options.verbose)
        return settings_

    for left_out in (game for game in plugin_games() if game.trouble):
        log.warning(
            "The game %s from %s is not loaded: %s",
            left_out.name,
            left_out.package,
            left_out.trouble,
        )
    run(settings, _settings_path(options), True if options.simulate else None, greet)
    return 0


# ---- read, games, doctor ----------------------------------------------------------------------------------------


def _add_read(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("read", help="print what a camera would read in images")
    command.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="files or folders")
    command.add_argument(
        "--dictionary", metavar="NAME", help="dictionary of the markers, such as DICT_6X6_250"
    )
    command.set_defaults(run=_read)


def _read(options: argparse.Namespace) -> int:
    from vision.still_pictures import read_images  # noqa: PLC0415 - brings OpenCV

    kits = {name: game.kit(game.options({})) for name, game in GAMES.items()}
    for answer in read_images(options.images, kits, options.dictionary):
        print(json.dumps(answer, ensure_ascii=False), flush=True)
    return 0


def _add_game_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add what games bring of their own."""
    for game in GAMES.values():
        for brought in tools_of(game).commands:
            command = commands.add_parser(brought.name, help=brought.help)
            brought.add(command)
            command.set_defaults(run=brought.run)


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "doctor",
        help="machine, power, disk, clock, camera, pins, network: what is wrong, what to do",
        epilog="Exit status: 0 nothing to do, 1 something does not work, 3 something needs attention soon.",
    )
    _add_settings(command)
    command.add_argument(
        "--port", type=_port, help="port of the running companion, if not the one in the settings"
    )
    command.add_argument("--json", action="store_true", help="the same as JSON")
    command.add_argument(
        "--save", type=Path, metavar="FILE.zip", help="save what to send when something is wrong"
    )
    command.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from companion.cli.doctor import report, save_bundle  # noqa: PLC0415 - brings camera and web libraries

    if options.save:
        return save_bundle(_settings_of(options), options.save, _settings_path(options))
    return report(_settings_of(options), options.json, _settings_path(options))


def _add_calibrate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "calibrate", help="measure the camera's lens exactly, from a printed page"
    )
    _add_settings(command)
    command.add_argument("--camera", metavar="SOURCE", help="picamera, usb:0")
    task = command.add_mutually_exclusive_group()
    task.add_argument(
        "--print", type=Path, metavar="FILE.pdf", dest="page", help="write the page instead"
    )
    task.add_argument(
        "--from", type=Path, metavar="FOLDER", dest="folder", help="pictures that this camera took"
    )
    command.add_argument("--paper", choices=("a4", "letter"), default="a4")
    command.set_defaults(run=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from companion.cli.calibrate import measure_folder, measure_live, print_page  # noqa: PLC0415 - brings OpenCV

    if options.page:
        print(print_page(options.page, options.paper))
        return 0
    settings = _settings_of(options)
    try:
        measured = (
            measure_folder(settings, options.folder, print)
            if options.folder
            else measure_live(settings, print)
        )
    except KeyboardInterrupt:
        print("Ended; nothing is changed.")
        return 1
    print(
        f"{measured.views} views: {measured.field_of_view_deg:.1f} degrees across, focal length "
        f"{measured.lens.focal_ratio:.4f} of the picture's width to {100 * measured.spread:.2f} %, "
        f"k1 {measured.lens.k1:+.4f}, {measured.rms_px:.2f} px left over."
    )
    return 0


# ---- selfplay, engine ------------------------------------------------------------------------------------------------


def _add_selfplay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("selfplay", help="whole games through the real interfaces")
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
    command.set_defaults(run=_selfplay)


def _selfplay(options: argparse.Namespace) -> int:
    from companion.tools.selfplay import play_games  # noqa: PLC0415

    if options.check:
        return _check_game(options.check)
    good = True
    for report in play_games(options.game, options.games, options.seed, options.against):
        if options.json:
            print(msgspec.json.encode(report, enc_hook=plain_words).decode(), flush=True)
        else:
            print(report.sentence(), flush=True)
        good &= report.is_good()
    return 0 if good else 1


def _check_game(name: str) -> int:
    from companion.tools.selfplay.check import faults_of, missing_parts  # noqa: PLC0415

    faults = faults_of(name)
    for fault in faults:
        print(f"wrong  {fault}")
    for wish in () if faults else missing_parts(name):
        print(f"may    {wish}")
    if not faults:
        print(f"The game “{name}” can be played.")
    return 1 if faults else 0


def _add_engine(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "engine", help="the rules as JSON lines on standard input and output"
    )
    command.add_argument("game", choices=sorted(GAMES))
    command.set_defaults(run=_engine)


def _engine(options: argparse.Namespace) -> int:
    from companion.games.engine import serve_lines  # noqa: PLC0415

    serve_lines(game_named(options.game), sys.stdin.buffer, sys.stdout.buffer)
    return 0


def _add_bot(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from companion.bots.bot_engine import add_options  # noqa: PLC0415

    command = commands.add_parser(
        "bot", help="an opponent as JSON lines on standard input and output"
    )
    add_options(command)
    command.set_defaults(run=_bot)


def _bot(options: argparse.Namespace) -> int:
    from companion.bots.bot_engine import run_bot  # noqa: PLC0415

    return run_bot(options.game, options.level, options.seed)
