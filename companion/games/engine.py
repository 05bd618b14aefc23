"""The engine protocol: the rules as JSON lines, for bots and tests in any language.

`companion engine GAME` serves the protocol on standard input and output. Each request is one line,
and so is each reply. In a game of Outbuffered, for example:

    {"new": {"options": {}, "seed": 1}}           {"to_act": ["north", "south"]}
    {"legal": "south", "limit": 2}                {"legal": ["UUS", "LII"]}
    {"is_legal": {"south": "UUS"}}                {"is_legal": true}
    {"apply": {"south": "UUS", "north": "III"}}   {"to_act": […], "events": […], "outcome": null}
    {"state": true}                               {"state": {…}}
    {"view": "south"}                             {"view": {…}}

A bad request gets an `error` reply and changes nothing. docs/interfaces.md has the details.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, BinaryIO, NamedTuple

import msgspec

from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import translate_for_json
from companion.core.kit import Seat
from companion.games.base import AnyGame, plain_outcome

# Maximum size of a request. It is far above any real one, and only bounds the memory that a request
# takes.
_MAX_LINE_BYTES = 1_000_000
# Maximum number of listed actions, because sealed orders for many pieces can be millions.
_MAX_LEGAL = 50_000


class _NewGame(msgspec.Struct, forbid_unknown_fields=True):
    """The argument of `new`: the game's options, and the seed of its random numbers."""

    options: dict[str, Any] = {}
    seed: int = 0


class _Request(NamedTuple):
    """A request, such as `{"legal": "south", "limit": 10}`."""

    verb: str
    """Kind of the request, a key of `_ARGUMENT_TYPES`."""
    argument: Any
    limit: int | None
    """Number of actions that `legal` returns, drawn at random. None for all of them."""


# Type of the argument of each verb. `limit` stands beside `legal` in the same request.
_ARGUMENT_TYPES: Mapping[str, Any] = {
    "new": _NewGame,
    "legal": Seat,
    "is_legal": dict[Seat, str],
    "apply": dict[Seat, str],
    "state": bool,
    "view": Seat | None,
}

_decode_json = msgspec.json.decode
_encode_json = msgspec.json.Encoder(enc_hook=translate_for_json).encode
Reply = dict[str, Any]


class Engine:
    """One game that is driven by requests, for use by a single thread.

    `answer` never raises because of a request: it replies with an error. Only an exception that the
    game's own code raises by mistake passes through.

    >>> from companion.games import game_named
    >>> engine = Engine(game_named("outbuffered"))
    >>> engine.answer(b'{"new": {}}')
    b'{"to_act":["north","south"]}'
    """

    def __init__(self, game: AnyGame) -> None:
        self._game = game
        self._state: Any = None
        self._rng = Random(0)
        # For samples of legal actions. A question must not change the chance of the game.
        self._sample_rng = Random(0)

    def answer(self, line: bytes) -> bytes:
        """Return the reply to one request, both without a newline."""
        try:
            if len(line) > _MAX_LINE_BYTES:
                raise Malformed(f"A request has at most {_MAX_LINE_BYTES} bytes")
            return _encode_json(self._reply(_parse_request(line)))
        except CompanionError as error:
            return _encode_json({"error": _plain_error(error)})

    def _reply(self, request: _Request) -> Reply:
        argument = request.argument
        if request.verb == "new":
            return self._new(argument)
        if self._state is None:
            raise Illegal(Refusal.NO_GAME, "There is no game yet: send new first")
        match request.verb:
            case "legal":
                return self._legal(argument, request.limit)
            case "is_legal":
                return self._is_legal(argument)
            case "apply":
                return self._apply(argument)
            case "view":
                return {"view": self._game.view(self._state, argument)}
        # The only other verb is `state`. Its argument, a boolean, has no meaning.
        return {"state": self._game.dump(self._state)}

    def _new(self, new: _NewGame) -> Reply:
        options = self._game.options(new.options)
        rng = Random(new.seed)
        self._state = self._game.setup(options, rng)
        self._rng = rng
        return {"to_act": sorted(self._game.to_act(self._state))}

    def _legal(self, seat: Seat, limit: int | None) -> Reply:
        actions = self._game.legal_actions(self._state, seat)
        # One action more than allowed is enough to know that there are too many.
        first_actions = list(itertools.islice(actions, _MAX_LEGAL + 1))
        if limit is None:
            if len(first_actions) > _MAX_LEGAL:
                raise Malformed(f"More than {_MAX_LEGAL:,} actions are legal: name a limit")
        elif limit < 0:
            raise Malformed("limit is a number from 0 upwards")
        else:
            # A random sample, because the beginning of the list may be all of one kind.
            first_actions = self._sample_rng.sample(first_actions, min(limit, len(first_actions)))
        return {"legal": [self._game.format(action) for action in first_actions]}

    def _is_legal(self, texts: Mapping[Seat, str]) -> Reply:
        """Reply whether all these actions are legal. Raises `Malformed` for a malformed action."""
        if not texts:
            raise Malformed("is_legal names a seat and its action")
        actions = self._parse(texts)
        due = self._game.to_act(self._state)
        try:
            for seat, action in actions.items():
                if seat not in due:
                    return {"is_legal": False}
                self._game.check(self._state, seat, action)
        except Illegal:
            return {"is_legal": False}
        return {"is_legal": True}

    def _apply(self, texts: Mapping[Seat, str]) -> Reply:
        actions = self._parse(texts)
        self._game.require(self._state, actions)
        step = self._game.apply(self._state, actions, self._rng)
        self._state = step.state
        return {
            "to_act": sorted(self._game.to_act(step.state)),
            "events": step.events,
            "outcome": plain_outcome(self._game.outcome(step.state)),
        }

    def _parse(self, texts: Mapping[Seat, str]) -> dict[Seat, Any]:
        return {seat: self._game.parse(text) for seat, text in texts.items()}


def _parse_request(line: bytes) -> _Request:
    """Parse a request. Raises `Malformed`."""
    try:
        # The type of the argument depends on the verb, so the argument is decoded second.
        raw = _decode_json(line, type=dict[str, msgspec.Raw])
        limit = raw.pop("limit", None)
        if len(raw) != 1 or not raw.keys() <= _ARGUMENT_TYPES.keys():
            raise Malformed(f"A request has exactly one of {', '.join(_ARGUMENT_TYPES)}")
        ((verb, text),) = raw.items()
        if limit is not None and verb != "legal":
            raise Malformed("limit goes with legal")
        argument = _decode_json(text, type=_ARGUMENT_TYPES[verb])
        return _Request(verb, argument, None if limit is None else _decode_json(limit, type=int))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"Not a request: {error}") from None


def _plain_error(error: CompanionError) -> Reply:
    """Return an error as plain JSON: its kind, reason and message, and the rule if there is one."""
    # The protocol has only two kinds of errors.
    kind = error.kind if error.kind in ("malformed", "illegal") else "malformed"
    plain: Reply = {"kind": kind, "reason": kind, "message": error.message}
    if isinstance(error, Illegal):
        plain["reason"] = error.reason
        if error.rule:
            plain["rule"] = error.rule
    return plain


def serve_lines(answer: Callable[[bytes], bytes], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests line by line until the source ends. Blank lines are skipped.

    :param answer: returns the reply to a request, both without a newline
    """
    for line in source:
        if request := line.strip():
            sink.write(answer(request) + b"\n")
            sink.flush()
