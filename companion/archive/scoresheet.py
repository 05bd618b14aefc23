"""A finished game as text: tags as in chess's PGN, then its turns to be read by people, then what
proves them.

    [Game "outbuffered"]
    [Options {}]
    [Seed 7]
    [Begun "2026-11-21T20:15:00Z"]
    [South "Ann"]
    [North "Bob"]
    [Result "south"]
    [Reason "Purple wins: the lime flag is home."]

    1. south UUR | north DDL
    2. south IIS | north SSS

    [Receipts]
    1. 3.1 | south 0f3a… 6b5e… | north 77c1… 09ad…
    2. 3.2 | south …

The grammar, in the notation of RFC 5234. Lines end with LF (CR LF is read as well), blank lines mean nothing:

    sheet   = 1*tag 1*LF *turn LF "[Receipts]" LF *proof
    tag     = "[" name SP json "]" LF       . Name: Game Options Seed Begun South North Chance Chosen
                                            . Machines Coached Result Reason
    turn    = number "." SP act [" | " act] LF          act   = seat SP text
    proof   = number "." SP text " | " sealed [" | " sealed] LF     sealed = seat SP text SP text
    seat    = "south" / "north"
    text    = plain / json                  . Plain: printable ASCII without `|`, `"` and two blanks in a row, not `-`
                                            . In a proof without blanks. An empty text is `-`

A proof's first text is the moment, then follow the salt and the receipt: SHA-256 of `MOMENT SEAT ACTION SALT`. Result
is `"south"`, `"north"`, `"tie"`, `"south north"`, or `"*"` for a game without one. Options is an object, Seed a number,
Begun the time of the first input in UTC to the microsecond. Chance is an object with the
commitment, the secret and the contributions. Chosen is true where the host chose the seed. Machines and Coached are
the seats that a program played and that asked the coach. Game, Options, Seed and Result must be there.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from companion.archive.replay import GameFile, PlayedOrder, PlayedTurn
from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat

PROOFS = "[Receipts]"
_TAG = re.compile(r"\[([A-Z][a-z]+) (.*)\]")
_LINE = re.compile(r"([0-9]{1,9})\. (.*)")
_PLAIN = re.compile(r"[!#-{}~]+(?: [!#-{}~]+)*")
_WORD = re.compile(r"[!#-{}~]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEPARATOR = " | "
_OPTIONAL = {
    "Chance": "chance", "Chosen": "is_chosen", "Machines": "machines", "Coached": "coached",
}  # fmt: skip
"""Tags that are left out where nothing is to be said, and the fields of a game file that they are."""
_Acts = dict[Seat, str]
_Proofs = tuple[str, dict[Seat, tuple[str, str]]]


def write_sheet(played: GameFile) -> str:
    """Return a finished game as text. `read_sheet` answers it again."""
    plain = msgspec.to_builtins(played)
    tags = {"Game": played.game, "Options": played.options, "Seed": played.seed}
    if played.begun:
        tags["Begun"] = _time_text(played.begun)
    tags |= {seat.title(): played.players[seat] for seat in SEATS if seat in played.players}
    tags |= {tag: plain[field] for tag, field in _OPTIONAL.items() if plain[field]}
    outcome = played.outcome
    if outcome is None:
        tags["Result"] = "*"
    else:
        tags["Result"] = " ".join(outcome["winners"]) or "tie"
        tags["Reason"] = outcome["reason"]
    head = [f"[{tag} {_json(value)}]" for tag, value in tags.items()]
    turns = [f"{number}. {_turn(turn)}" for number, turn in enumerate(played.turns, start=1)]
    proofs = [f"{number}. {_proof(turn)}" for number, turn in enumerate(played.turns, start=1)]
    return "\n".join([*head, "", *turns, "", PROOFS, *proofs, ""])


def read_sheet(text: str) -> GameFile:
    """Return the game of a text.

    Raises `Malformed` that names the line and says what was expected.
    """
    tags, acts, proofs = _Reader(text).read()
    if len(acts) != len(proofs):
        raise Malformed(
            say(
                "The text has {turns} turns but receipts for {proofs}: each turn needs its line below [Receipts]",
                turns=len(acts),
                proofs=len(proofs),
            )
        )
    turns = [
        _played(number, *both)
        for number, both in enumerate(zip(acts, proofs, strict=True), start=1)
    ]
    plain: dict[str, Any] = {
        "game": tags["Game"],
        "options": tags["Options"],
        "seed": tags["Seed"],
        "turns": msgspec.to_builtins(turns),
        "outcome": _outcome(tags),
        "players": {seat: tags[seat.title()] for seat in SEATS if seat.title() in tags},
        "begun": _time(tags.get("Begun")),
    }
    plain |= {field: tags[tag] for tag, field in _OPTIONAL.items() if tag in tags}
    try:
        return msgspec.convert(plain, GameFile)
    except msgspec.ValidationError as error:
        raise Malformed(say("The text is not a game: {error}", error=str(error))) from None


# ---- writing ---------------------------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _text(text: str, plain: re.Pattern[str]) -> str:
    if not text:
        return "-"
    return text if plain.fullmatch(text) and text != "-" else _json(text)


def _turn(turn: PlayedTurn) -> str:
    return _SEPARATOR.join(
        f"{seat} {_text(turn.orders[seat].action, _PLAIN)}" for seat in SEATS if seat in turn.orders
    )


def _proof(turn: PlayedTurn) -> str:
    sealed = [
        f"{seat} {_text(turn.orders[seat].salt, _WORD)} {_text(turn.orders[seat].receipt, _WORD)}"
        for seat in SEATS
        if seat in turn.orders
    ]
    return _SEPARATOR.join([_text(turn.moment, _WORD), *sealed])


def _time_text(at: float) -> str:
    """Return Unix time as text.

    >>> _time_text(1763755200.25)
    '2025-11-21T20:00:00.250000Z'
    """
    moment = _EPOCH + timedelta(microseconds=round(at * 1_000_000))
    return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds").replace(
        "+00:00", "Z"
    )


# ---- reading ---------------------------------------------------------------------------------------------------------


MAX_LINE = 40_000
"""Letters of a line: two orders as long as any page takes, or a board map of one's own, have less."""


class _Reader:
    """Goes through the lines. Knows which one it is at."""

    def __init__(self, text: str) -> None:
        self._lines = (line.strip(" \t\r\n") for line in io.StringIO(text, newline="\n"))
        self._at = 0

    def read(self) -> tuple[dict[str, Any], list[_Acts], list[_Proofs]]:
        """Return tags, the actions of each turn, and what proves them."""
        tags: dict[str, Any] = {}
        acts: list[_Acts] = []
        proofs: list[_Proofs] = []
        is_proof = False
        for number, line in enumerate(self._lines, start=1):
            self._at = number
            if not line:
                continue
            if len(line) > MAX_LINE:
                raise self._fail(say("the line is too long"))
            if line == PROOFS and not is_proof:
                is_proof = True
            elif line.startswith("[") and not acts and not is_proof:
                name, value = self._tag(line)
                tags[name] = value
            elif is_proof:
                proofs.append(self._proof(self._numbered(line, len(proofs) + 1)))
            else:
                acts.append(self._acts(self._numbered(line, len(acts) + 1)))
        missing = [name for name in ("Game", "Options", "Seed", "Result") if name not in tags]
        if missing:
            raise Malformed(
                say("The text is not a game: the line [{tag} …] is missing", tag=missing[0])
            )
        return tags, acts, proofs

    def _fail(self, message: str) -> Malformed:
        return Malformed(say("Line {line}: {message}", line=self._at, message=message))

    def _tag(self, line: str) -> tuple[str, Any]:
        match = _TAG.fullmatch(line)
        if match is None:
            raise self._fail(say('expected a tag such as [Game "name"]'))
        try:
            return match[1], msgspec.json.decode(match[2])
        except (msgspec.DecodeError, RecursionError):
            raise self._fail(say("what follows {tag} is not JSON", tag=match[1])) from None

    def _numbered(self, line: str, number: int) -> str:
        match = _LINE.fullmatch(line)
        if match is None or int(match[1]) != number:
            raise self._fail(
                say("expected turn {number}, beginning with “{number}. ”", number=number)
            )
        return match[2]

    def _acts(self, line: str) -> _Acts:
        acts: _Acts = {}
        for part in _parts(line):
            seat, _, text = part.partition(" ")
            acts[self._seat(seat, acts)] = self._text(text)
        return acts

    def _proof(self, line: str) -> _Proofs:
        moment, *sealed = _parts(line)
        proofs: dict[Seat, tuple[str, str]] = {}
        for part in sealed:
            words = _words(part)
            if len(words) != 3:
                raise self._fail(say("expected a seat, its salt and its receipt"))
            proofs[self._seat(words[0], proofs)] = self._text(words[1]), self._text(words[2])
        return self._text(moment), proofs

    def _seat(self, text: str, known: dict[Seat, Any]) -> Seat:
        if text not in tuple(SEATS) or text in known:
            raise self._fail(say("expected south or north, each once"))
        return Seat(text)

    def _text(self, text: str) -> str:
        if text == "-":
            return ""
        if not text.startswith('"'):
            if not _PLAIN.fullmatch(text):
                raise self._fail(say("this is not plain text: write it as JSON"))
            return text
        try:
            return msgspec.json.decode(text, type=str)
        except msgspec.DecodeError:
            raise self._fail(say("this is not plain text: write it as JSON")) from None


def _parts(line: str) -> list[str]:
    """Return the parts of a line between bars. A bar inside a JSON text parts nothing."""
    return [part.strip() for part in _split(line, "|")]


def _words(part: str) -> list[str]:
    return [word for word in _split(part, " ") if word]


def _split(line: str, at: str) -> Iterator[str]:
    start, quoted, escaped = 0, False, False
    for place, character in enumerate(line):
        if escaped:
            escaped = False
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character == at and not quoted:
            yield line[start:place]
            start = place + 1
    yield line[start:]


def _played(number: int, acts: _Acts, proofs: _Proofs) -> PlayedTurn:
    moment, sealed = proofs
    if acts.keys() != sealed.keys():
        raise Malformed(
            say(
                "Turn {number}: its receipts do not belong to the seats that act in it",
                number=number,
            )
        )
    return PlayedTurn(moment, {seat: PlayedOrder(acts[seat], *sealed[seat]) for seat in acts})


def _outcome(tags: dict[str, Any]) -> dict[str, Any] | None:
    result = tags["Result"]
    if result == "*":
        return None
    winners = [] if result == "tie" else str(result).split(" ")
    if any(winner not in tuple(SEATS) for winner in winners) or not isinstance(
        tags.get("Reason"), str
    ):
        raise Malformed(
            say("The result is south, north, tie or *, and any but * has a line [Reason …]")
        )
    return {"winners": winners, "reason": tags["Reason"]}


def _time(text: Any) -> float:
    """Return Unix time from text. Raises `Malformed`."""
    if text is None:
        return 0.0
    try:
        at = datetime.fromisoformat(str(text))
        return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        raise Malformed(say("Begun is a time such as 2026-11-21T20:15:00Z")) from None
