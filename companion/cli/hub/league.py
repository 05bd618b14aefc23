"""`companion hub tournament` and `companion hub export`: what the hub's pages do, by command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from companion.cli.options import Commands, Run, add_command
from companion.cli.running import refusal_in
from companion.core.errors import SystemTrouble
from companion.core.network import host_key_text
from companion.diagnostics.own_pages import IS_HUB, ask_address

FOLDER = "~/.local/share/tabletop-hub"
ANSWER_TIMEOUT_S = 30.0
VERDICTS = {
    "1-0": "south", "0-1": "north", "draw": "draw", "1-0-default": "south_by_default",
    "0-1-default": "north_by_default", "0-0-default": "neither", "open": "",
}  # fmt: skip
"""How results are typed, South's first."""
VERDICT_WORDS = {
    "south": "1 : 0", "north": "0 : 1", "draw": "½ : ½", "south_by_default": "+ : -", "north_by_default": "- : +",
    "neither": "- : -", None: "",
}  # fmt: skip
"""How results are printed."""
AddCommand = Callable[[str, str, Run], argparse.ArgumentParser]


def add_folder(command: argparse.ArgumentParser) -> None:
    """Add `--folder`."""
    about = "where the hub keeps all"
    command.add_argument("--folder", type=Path, default=Path(FOLDER), metavar="DIR", help=about)


def add_league(parts: Commands) -> None:
    """Add `companion hub tournament`, `let-in` and `export`."""
    about = "make and direct tournaments of the hub that runs here"
    what = parts.add_parser("tournament", help=about).add_subparsers(
        metavar="COMMAND", required=True
    )

    def add_numbered(name: str, about: str, run: Run) -> argparse.ArgumentParser:
        command = add_command(what, name, run, about)
        add_folder(command)
        command.add_argument("tournament", type=int, metavar="N", help="its number")
        return command

    add_folder(add_command(what, "list", _list, "all tournaments"))
    _add_new(what)
    _add_entries(add_numbered)
    _add_rounds(add_numbered)
    let_in = add_command(parts, "let-in", _let_in, "let a table in that has joined")
    add_folder(let_in)
    let_in.add_argument("number", type=int, help="of the table, as the wall shows it")
    about = "print standings, results or cards of the hub that runs here"
    export = add_command(parts, "export", _export, about)
    add_folder(export)
    add = export.add_argument
    about = "cards have their codes: keep them safe"
    add("what", choices=("standings", "results", "cards"), help=about)
    add("--game", metavar="GAME", help="of the standings")
    about = "of the standings; 0 is before the first season"
    add("--season", type=int, metavar="N", help=about)
    add("--json", action="store_true", help="JSON instead of CSV")


def _add_new(what: Commands) -> None:
    new = add_command(what, "new", _new, "make one; answers its number")
    add_folder(new)
    add = new.add_argument
    add("name")
    add("game", help="such as scouts; outbuffered/1 is that game with its preset number 1")
    add("--system", choices=("swiss", "round_robin", "knockout"), default="swiss")
    add("--rounds", type=int, default=5, metavar="R", help="of the Swiss system (5)")
    add("--minutes", type=int, default=0, metavar="M", help="for a round (0: no end)")
    add("--team-size", type=int, default=1, metavar="P", help="people in an entry (1)")


def _add_entries(add: AddCommand) -> None:
    """Add the commands about who takes part."""
    enter = add("enter", "somebody takes part, or a team", _enter)
    about = "a name makes a card; #12 is the card of that number"
    enter.add_argument("people", nargs="+", metavar="WHO", help=about)
    enter.add_argument("--team", default="", metavar="NAME", help="what a team is called")
    for name, about in (
        ("withdraw", "an entry plays no further round"),
        ("rest", "an entry rests in the next round, for half a point"),
        ("no-rest", "an entry plays in the next round after all"),
    ):
        command = add(name, about, _direct_entry)
        command.add_argument("entry", type=int, help="its number in the list of entries")
        command.set_defaults(do=name.replace("-", "_"))


def _add_rounds(add: AddCommand) -> None:
    """Add the commands of a director: rounds, results, boards."""
    for name, about in (
        ("pair", "pair the next round"),
        ("unpair", "take the last pairing back, as long as nobody has played by it"),
        ("end", "the tournament is over"),
    ):
        add(name, about, _direct_round).set_defaults(do=name)
    result = add("result", "enter or correct the result of a board", _result)
    about = "as show says it, such as 2.1.1: round, match, board"
    result.add_argument("board", help=about)
    about = "South first; default: somebody did not come"
    result.add_argument("result", choices=tuple(VERDICTS), help=about)
    move = add("move", "give a board another table", _move)
    move.add_argument("board", help="as show says it, such as 2.1.1")
    move.add_argument("table", type=int, help="its number; 0: none")
    about = "entries, pairings and standings as text, for instance for a printer"
    show = add("show", about, _show)
    about = "as it was after that round"
    show.add_argument("--round", type=int, default=0, metavar="R", help=about)
    show.add_argument("--json", action="store_true", help="the same for programs")


# ---- the commands ----------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> None:
    for tournament in json.loads(_ask(options, "/tournaments.json")):
        state = f"round {tournament['paired']}" if tournament["paired"] else "not begun"
        if tournament["over"]:
            state = "over"
        system = tournament["system"].replace("_", " ")
        about = f"({system}, {tournament['game']}; {state})"
        print(f"{tournament['tournament']:>3}  {tournament['name']}  {about}")


def _new(options: argparse.Namespace) -> None:
    names = ("name", "game", "system", "rounds", "minutes", "team_size")
    fields = {name: str(getattr(options, name)) for name in names}
    answer = json.loads(_ask(options, "/api/hub/tournaments", {"given": fields}))
    number = answer["tournament"]
    print(f"Tournament {number} is made. Now:  companion hub tournament enter {number} NAME")


def _enter(options: argparse.Namespace) -> None:
    tournament = _direct(options, "enter", people="\n".join(options.people), team=options.team)
    entry = tournament["entries"][-1]
    print(f"{entry['name']} takes part as entry {entry['entry']}.")


def _direct_entry(options: argparse.Namespace) -> None:
    _direct(options, options.do, entrant=str(options.entry))
    print("Done.")


def _direct_round(options: argparse.Namespace) -> None:
    _print(_direct(options, options.do))


def _result(options: argparse.Namespace) -> None:
    _direct(options, "decide", place=options.board, verdict=VERDICTS[options.result])
    print("Done; the log has what it was and is.")


def _move(options: argparse.Namespace) -> None:
    _direct(options, "move", place=options.board, table=str(options.table))
    print("Done.")


def _show(options: argparse.Namespace) -> None:
    path = f"/tournament/{options.tournament}.json?round={options.round}"
    tournament = json.loads(_ask(options, path))
    if options.json:
        print(json.dumps(tournament, ensure_ascii=False))
    else:
        _print(tournament)


def _export(options: argparse.Namespace) -> None:
    query = {"game": options.game, "season": options.season}
    query = {name: value for name, value in query.items() if value is not None}
    page = "/host/cards" if options.what == "cards" else f"/{options.what}"
    ending = "json" if options.json else "csv"
    sys.stdout.write(_ask(options, f"{page}.{ending}?{urlencode(query)}"))


def _let_in(options: argparse.Namespace) -> None:
    _ask(options, "/api/hub/let-in", {"number": options.number})
    print(f"Table {options.number} is let in.")


def _print(tournament: Mapping[str, Any]) -> None:
    """Print a tournament on paper: who sits where, and who stands where."""
    system = tournament["system"].replace("_", " ")
    end = ", over" if tournament["over"] else ""
    print(f"{tournament['name']} ({system}, {tournament['game']}){end}")
    if paired := tournament["round"]:
        print(f"\nRound {paired['number']}")
        for board in paired["boards"]:
            table = f"table {board['table']}" if board["table"] else "no table yet"
            verdict = VERDICT_WORDS[board["verdict"]]
            people = f"{board['south']:<24}  {board['north']:<24}  {verdict}"
            print(f"{board['board']:>8}  {table:<13} {people}".rstrip())
        for bye in paired["byes"]:
            print(f"{'':>8}  {'bye':<13} {bye['name']:<24}  {'':<24}  {bye['points']:g}")
        print(f"\nAfter round {paired['number']}")
        for row in tournament["standings"]:
            ties = f"Buchholz {row['buchholz']:g}, Sonneborn-Berger {row['sonneborn']:g}"
            print(f"{row['place']:>8}  {row['name']:<38} {row['points']:>5g}  {ties}")
    print("\nEntries")
    for entry in tournament["entries"]:
        withdrawn = "  (withdrawn)" if entry["withdrawn"] else ""
        print(f"{entry['entry']:>8}  {entry['name']}{withdrawn}")


# ---- the hub that runs here ------------------------------------------------------------------------------------------


def _direct(options: argparse.Namespace, what: str, **fields: str) -> Any:
    """Have the hub do something about a tournament. Return what it is then."""
    path = f"/api/hub/tournament/{options.tournament}"
    return json.loads(_ask(options, path, {"given": {"do": what, **fields}}))


def _ask(options: argparse.Namespace, path: str, body: Mapping[str, Any] | None = None) -> str:
    """Return what the hub answers.

    Raises `SystemTrouble` where none runs on this folder, or it refuses.
    """
    from companion.hub_server.folder import ADDRESS_FILE, existing_folder  # noqa: PLC0415 - brings what only a hub needs

    folder = existing_folder(options.folder)
    key = host_key_text(folder.now.host_key)
    try:
        address = (folder.folder / ADDRESS_FILE).read_text().strip()
        typed = quote(path, safe="/?=&.%+")
        status, content = ask_address(address, IS_HUB, typed, key, body, timeout_s=ANSWER_TIMEOUT_S)
    except OSError:
        raise SystemTrouble(
            "The hub does not run on this machine: start it with companion hub"
        ) from None
    if status == 404:
        raise SystemTrouble("The hub refuses: there is no such tournament, game or season")
    if status != 200:
        raise SystemTrouble(f"The hub refuses: {refusal_in(content)}")
    return content.decode()
