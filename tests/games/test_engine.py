"""Tests of the engine protocol: every request and every kind of error, through `Engine.answer`, and
once through the command `engine`.

Most use Outbuffered, whose actions are three orders such as `UUS`: up, up, shoot.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from bot_tools import ask

from companion.games import game_named
from companion.games.engine import Engine


@pytest.fixture
def engine() -> Engine:
    """Return an engine that plays a new game of Outbuffered."""
    engine = Engine(game_named("outbuffered"))
    assert ask(engine, {"new": {"options": {}, "seed": 1}}) == {"to_act": ["north", "south"]}
    return engine


def test_answers_are_as_documented(engine: Engine) -> None:
    legal = ask(engine, {"legal": "south"})["legal"]
    assert len(legal) == 216  # 6 * 6 * 6: an action is three orders of six kinds
    assert "DDD" in legal
    assert ask(engine, {"is_legal": {"south": "UUS"}}) == {"is_legal": True}
    answer = ask(engine, {"apply": {"south": "UUS", "north": "IRS"}})
    assert answer["to_act"] == ["north", "south"]
    assert answer["outcome"] is None
    first_event = answer["events"][0]
    assert {"kind": "move", "text": "Purple goes up, a1 to a2."}.items() <= first_event.items()
    state = ask(engine, {"state": True})["state"]
    assert state["expected"]["a3"] == ["purple robot"]
    assert state["turn"] == 2
    assert ask(engine, {"view": "north"})["view"] == ask(engine, {"view": None})["view"]


def test_a_win_names_its_winner(engine: Engine) -> None:
    # Purple (South) goes up to lime's flag on b3, and then down to its own base on a1.
    ask(engine, {"new": {"options": {"board": ".N\nsn\nS."}}})
    ask(engine, {"apply": {"south": "URI", "north": "III"}})
    answer = ask(engine, {"apply": {"south": "LDD", "north": "III"}})
    assert answer["to_act"] == []
    assert answer["outcome"]["winners"] == ["south"]


def test_a_limit_picks_legal_actions_at_random(engine: Engine) -> None:
    chance = engine._rng.getstate()
    sample = ask(engine, {"legal": "south", "limit": 20})["legal"]
    assert len(sample) == len(set(sample)) == 20
    # Another request draws other actions. A limit above their number gives all of them.
    assert sample != ask(engine, {"legal": "south", "limit": 20})["legal"]
    assert len(ask(engine, {"legal": "south", "limit": 999})["legal"]) == 216
    assert engine._rng.getstate() == chance, "a question must not change the chance of the game"


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("nonsense", "malformed", "Not a request"),
        ("{}", "malformed", "exactly one of"),
        ('{"legal": "south", "view": null}', "malformed", "exactly one of"),
        ('{"state": true, "limit": 3}', "malformed", "limit goes with legal"),
        ('{"legal": "south", "limit": -1}', "malformed", "from 0 upwards"),
        ('{"legal": "west"}', "malformed", "Invalid enum value 'west'"),
        ('{"apply": {"south": "UUS"}}', "illegal", "north is missing"),
        ('{"is_legal": {}}', "malformed", "names a seat"),
        ('{"new": {"options": {"turn_limit": -1}}}', "malformed", "turn_limit"),
        ('{"new": {"seeds": 1}}', "malformed", "unknown field `seeds`"),
        # The line is sent as Latin-1. This letter then is a byte that is not valid UTF-8.
        ("\u00ff", "malformed", "Not a request"),
        ('{"state": ' + 5000 * "[", "malformed", "Not a request"),
        ('{"new": {"options": {"board": ' + 5000 * "[", "malformed", "Not a request"),
    ],
)
def test_a_wrong_request_changes_nothing(
    engine: Engine, line: str, kind: str, message: str
) -> None:
    before = ask(engine, {"state": True})
    error = json.loads(engine.answer(line.encode("latin-1")))["error"]
    assert error["kind"] == kind
    assert message in error["message"]
    assert error["reason"]
    assert ask(engine, {"state": True}) == before


def test_an_action_against_the_rules_is_not_legal() -> None:
    engine = Engine(game_named("scouts"))
    ask(engine, {"new": {}})
    # A game begins with placings such as `@a1`, so a dash such as `a1-a2` is not legal yet.
    assert ask(engine, {"is_legal": {"south": "@a1"}}) == {"is_legal": True}
    assert ask(engine, {"is_legal": {"south": "a1-a2"}}) == {"is_legal": False}


def test_requests_before_new_are_refused() -> None:
    assert ask(Engine(game_named("outbuffered")), {"state": True})["error"]["reason"] == "no_game"


def test_the_command_speaks_the_protocol() -> None:
    # The empty line in the middle is skipped.
    run = subprocess.run(
        [sys.executable, "-m", "companion", "engine", "outbuffered"],
        input=b'{"new": {}}\n\n{"state": 1}\n',
        capture_output=True,
        timeout=60,
        check=True,
    )
    first, second = run.stdout.splitlines()
    assert json.loads(first) == {"to_act": ["north", "south"]}
    assert json.loads(second)["error"]["kind"] == "malformed"
    assert run.stderr == b""
