"""`companion hub tournament` and `companion hub export`: what the hub's pages do, by command."""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from companion.core.errors import SystemTrouble
from companion.core.network import host_key_text

ANSWERS_S = 30.0
VERDICTS = {
    "1-0": "south", "0-1": "north", "draw": "draw", "1-0-default": "south_by_default",
    "0-1-default": "north_by_default", "0-0-default": "neither", "open": "",
}  # fmt: skip
"""How results are typed, South's first."""
SHOWN = {
    "south": "1 : 0", "north": "0 : 1", "draw": "½ : ½", "south_by_default": "+ : -", "north_by_default": "- : +",
    "neither": "- : -", None: "",
}  # fmt: skip


def add_league(parts: argparse._SubParsersAction[argparse.ArgumentParser], folder: Path) -> None:
    """Add `companion hub tournament` and `companion hub export`."""
    tournament = parts.add_parser(
        "tournament", help="make and direct tournaments of the hub that runs here"
    )
    what = tournament.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, about: str, run: Callable[[argparse.Namespace], None], *, numbered: bool = True
    ) -> Any:
        subparser = what.add_parser(name, help=about)
        subparser.add_argument(
            "--folder", type=Path, default=folder, metavar="DIR", help="where the hub keeps all"
        )
        if numbered:
            subparser.add_argument("tournament", type=int, metavar="N", help="its number")
        subparser.set_defaults(run=lambda options: _run_and_exit(run, options))
        return subparser

    _add_making(command)
    _add_directing(command)
    _add_let_in(parts, folder)
    _add_export(parts, folder)


def _add_making(command: Callable[..., Any]) -> None:
    """Add the commands that list and make tournaments and enter people."""
    command("list", "all tournaments", _list, numbered=False)
    new = command("new", "make one; answers its number", _new, numbered=False)
    new.add_argument("name")
    new.add_argument(
        "game", help="such as scouts; outbuffered/1 is that game with its preset number 1"
    )
    new.add_argument("--system", choices=("swiss", "round_robin", "knockout"), default="swiss")
    new.add_argument("--rounds", type=int, default=5, metavar="R", help="of the Swiss system (5)")
    new.add_argument("--minutes", type=int, default=0, metavar="M", help="for a round (0: no end)")
    new.add_argument("--team-size", type=int, default=1, metavar="P", help="people in an entry (1)")
    enter = command("enter", "somebody takes part, or a team", _enter)
    enter.add_argument(
        "people",
        nargs="+",
        metavar="WHO",
        help="a name makes a card; #12 is the card of that number",
    )
    enter.add_argument("--team", default="", metavar="NAME", help="what a team is called")
    for name, about in (
        ("withdraw", "an entry plays no further round"),
        ("rest", "an entry rests in the next round, for half a point"),
        ("no-rest", "an entry plays in the next round after all"),
    ):
        entry = command(name, about, _about_entry)
        entry.add_argument("entry", type=int, help="its number in the list of entries")
        entry.set_defaults(do=name.replace("-", "_"))


def _add_directing(command: Callable[..., Any]) -> None:
    """Add the commands of a director: rounds, results, boards."""
    for name, about in (
        ("pair", "pair the next round"),
        ("unpair", "take the last pairing back, as long as nobody has played by it"),
        ("end", "the tournament is over"),
    ):
        command(name, about, _about_all).set_defaults(do=name)
    result = command("result", "enter or correct the result of a board", _result)
    result.add_argument("board", help="as show says it, such as 2.1.1: round, match, board")
    result.add_argument(
        "result", choices=tuple(VERDICTS), help="South first; default: somebody did not come"
    )
    move = command("move", "give a board another table", _move)
    move.add_argument("board", help="as show says it, such as 2.1.1")
    move.add_argument("table", type=int, help="its number; 0: none")
    show = command(
        "show", "entries, pairings and standings as text, for instance for a printer", _show
    )
    show.add_argument(
        "--round", type=int, default=0, metavar="R", help="as it was after that round"
    )
    show.add_argument("--json", action="store_true", help="the same for programs")


def _add_let_in(parts: Any, folder: Path) -> None:
    """Add `companion hub let-in`."""
    let_in = parts.add_parser("let-in", help="let a table in that has joined")
    let_in.add_argument("number", type=int, help="of the table, as the wall shows it")
    let_in.add_argument(
        "--folder", type=Path, default=folder, metavar="DIR", help="where the hub keeps all"
    )
    let_in.set_defaults(run=_let_in)


def _add_export(parts: Any, folder: Path) -> None:
    """Add `companion hub export`."""
    export = parts.add_parser(
        "export", help="print standings, results or cards of the hub that runs here"
    )
    export.add_argument(
        "what",
        choices=("standings", "results", "cards"),
        help="cards have their codes: keep them safe",
    )
    export.add_argument(
        "--folder", type=Path, default=folder, metavar="DIR", help="where the hub keeps all"
    )
    export.add_argument("--game", metavar="GAME", help="of the standings")
    export.add_argument(
        "--season", type=int, metavar="N", help="of the standings; 0 is before the first season"
    )
    export.add_argument("--json", action="store_true", help="JSON instead of CSV")
    export.set_defaults(run=_export)


# ---- the commands ----------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> None:
    for tournament in _ask(options, "/tournaments.json"):
        state = f"round {tournament['paired']}" if tournament["paired"] else "not begun"
        if tournament["over"]:
            state = "over"
        system = tournament["system"].replace("_", " ")
        about = f"({system}, {tournament['game']}; {state})"
        print(f"{tournament['tournament']:>3}  {tournament['name']}  {about}")


def _new(options: argparse.Namespace) -> None:
    fields = {
        "name": options.name, "game": options.game, "system": options.system, "rounds": str(options.rounds),
        "minutes": str(options.minutes), "team_size": str(options.team_size),
    }  # fmt: skip
    tournament = _ask(options, "/api/hub/tournaments", {"given": fields})
    number = tournament["tournament"]
    print(f"Tournament {number} is made. Now:  companion hub tournament enter {number} NAME")


def _enter(options: argparse.Namespace) -> None:
    tournament = _do(options, "enter", people="\n".join(options.people), team=options.team)
    entry = tournament["entries"][-1]
    print(f"{entry['name']} takes part as entry {entry['entry']}.")


def _about_entry(options: argparse.Namespace) -> None:
    _do(options, options.do, entrant=str(options.entry))
    print("Done.")


def _about_all(options: argparse.Namespace) -> None:
    _print(_do(options, options.do))


def _result(options: argparse.Namespace) -> None:
    _do(options, "decide", place=_place(options.board), verdict=VERDICTS[options.result])
    print("Done; the log has what it was and is.")


def _move(options: argparse.Namespace) -> None:
    _do(options, "move", place=_place(options.board), table=str(options.table))
    print("Done.")


def _show(options: argparse.Namespace) -> None:
    tournament = _ask(options, f"/tournament/{options.tournament}.json?round={options.round}")
    if options.json:
        print(json.dumps(tournament, ensure_ascii=False))
    else:
        _print(tournament)


def _export(options: argparse.Namespace) -> int:
    query = {
        name: value for name in ("game", "season") if (value := getattr(options, name)) is not None
    }
    where = "/host/cards" if options.what == "cards" else f"/{options.what}"
    sys.stdout.write(
        _text(options, f"{where}.{'json' if options.json else 'csv'}?{urlencode(query)}")
    )
    return 0


def _run_and_exit(run: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    run(options)
    return 0


def _do(options: argparse.Namespace, what: str, **given: str) -> Any:
    return _ask(
        options, f"/api/hub/tournament/{options.tournament}", {"given": {"do": what, **given}}
    )


def _place(board: str) -> str:
    """Return a board as the hub takes it: round, match and board, each counted from 1."""
    parts = board.split(".")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise SystemTrouble(f"{board} is no board: show says them, such as 2.1.1")
    return board


def _print(tournament: Mapping[str, Any]) -> None:
    """Print a tournament on paper: who sits where, and who stands where."""
    paired = tournament["round"]
    system = tournament["system"].replace("_", " ")
    end = ", over" if tournament["over"] else ""
    print(f"{tournament['name']} ({system}, {tournament['game']}){end}")
    if paired:
        print(f"\nRound {paired['number']}")
        for entry in paired["boards"]:
            table = f"table {entry['table']}" if entry["table"] else "no table yet"
            people = f"{entry['south']:<24}  {entry['north']:<24}  {SHOWN[entry['verdict']]}"
            print(f"{entry['board']:>8}  {table:<13} {people}".rstrip())
        for entry in paired["byes"]:
            print(f"{'':>8}  {'bye':<13} {entry['name']:<24}  {'':<24}  {_points(entry['points'])}")
        print(f"\nAfter round {paired['number']}")
        for row in tournament["standings"]:
            print(
                f"{row['place']:>8}  {row['name']:<38} {_points(row['points']):>5}"
                f"  Buchholz {_points(row['buchholz'])}, Sonneborn-Berger {_points(row['sonneborn'])}"
            )
    print("\nEntries")
    for entry in tournament["entries"]:
        print(
            f"{entry['entry']:>8}  {entry['name']}{'  (withdrawn)' if entry['withdrawn'] else ''}"
        )


def _points(points: float) -> str:
    return f"{points:g}"


# ---- the hub that runs here ------------------------------------------------------------------------------------------


def _ask(options: argparse.Namespace, path: str, body: Mapping[str, Any] | None = None) -> Any:
    return json.loads(_text(options, path, body))


def _let_in(options: argparse.Namespace) -> int:
    _text(options, "/api/hub/let-in", {"number": options.number})
    print(f"Table {options.number} is let in.")
    return 0


def _text(options: argparse.Namespace, path: str, body: Mapping[str, Any] | None = None) -> str:
    """Return what the hub answers.

    Raises `SystemTrouble` where none runs on this folder, or it refuses.
    """
    from companion.hub_server.folder import ADDRESS_FILE, HubFolder  # noqa: PLC0415 - brings what only a hub needs

    folder = options.folder.expanduser()
    try:
        address = urlsplit((folder / ADDRESS_FILE).read_text().strip())
    except OSError:
        raise SystemTrouble(f"No hub has run in {folder}: name its folder with --folder") from None
    key = host_key_text(HubFolder(folder).now.host_key)
    line: http.client.HTTPConnection
    if address.scheme == "https":  # this machine itself, whatever name its certificate bears
        line = http.client.HTTPSConnection(
            address.hostname or "",
            address.port,
            timeout=ANSWERS_S,
            context=ssl._create_unverified_context(),
        )
    else:
        line = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWERS_S)
    headers = {"Content-Type": "application/json", "X-Host-Key": key}
    try:
        line.request("GET", "/health")
        int(
            json.loads(line.getresponse().read())["tables"]
        )  # whatever else listens there is not told the key
        line.request(
            "GET" if body is None else "POST",
            quote(path, safe="/?=&.%+"),
            None if body is None else json.dumps(body).encode(),
            headers,
        )
        answer = line.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        raise SystemTrouble(
            "The hub does not run on this machine: start it with companion hub"
        ) from None
    finally:
        line.close()
    if answer.status == 404:
        raise SystemTrouble("The hub refuses: there is no such tournament, game or season")
    if answer.status != 200:
        raise SystemTrouble(f"The hub refuses: {_why(text)}")
    return text


def _why(text: str) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "its log says more"
