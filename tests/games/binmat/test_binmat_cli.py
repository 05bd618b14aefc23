"""The commands `combat`, `binlog` and `replay --binlog`, as people and machines call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from binmat_tools import GAME, RULE_IDS

from companion.archive.replay import GameFile, PlayedOrder, PlayedTurn, retell
from companion.cli.history import resolved
from companion.cli.main import main
from companion.core.errors import Malformed
from companion.games.base import plain_outcome
from companion.games.binmat.state import State
from companion.games.binmat.tools import RULE_TITLES, write_log
from companion.table.session import chance, receipt

LOG = "V000 n------\nd0 d3 / 2! hd0\nV001 n------\na0 d0 / X ha0\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def played_game(seed: int = 5, **options: Any) -> GameFile:
    """A full game of random actions in the form of the journal's file."""
    state: State = GAME.setup(GAME.options(options), chance(seed, 0))
    turns, tick = [], 0
    while state.outcome is None:
        tick += 1
        rng = chance(seed, 1000 + tick)
        seat, moment = state.seat, f"1.{tick}"
        action = rng.choice(list(GAME.legal_actions(state, seat)))
        order = PlayedOrder(action, "salt", receipt(moment, seat, action, "salt"))
        turns.append(PlayedTurn(moment, {seat: order}))
        state = GAME.apply(state, {seat: action}, chance(seed, tick)).state
    return GameFile("binmat", dict(options), seed, tuple(turns), plain_outcome(state.outcome))


def kept(path: Path, played: GameFile) -> str:
    path.write_bytes(msgspec.json.encode(played))
    return str(path)


# ---- combat ----------------------------------------------------------------------------------------------------------


def test_combat_explains_step_by_step_with_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "combat", "5& 3% >+", "4^ 2#")
    assert status == 0
    assert out.splitlines() == [
        "Cards open",
        "  Attacker opens 5& 3% >+.  [Combat]",
        "  Defender opens 4^ 2#.  [Combat]",
        "Powers",
        "  Attacker has 8: power 3. 5 + 3 = 8.  [Attack power]",
        "  Defender has 6: power 0. 4 + 2 = 6, 6 is not a power of two.  [Attack power]",
        "Damage",
        "  Attacker does 3 damage. A BREAK in the attacker stack: damage is its power, 3.  [Damage]",
        "  Defender’s 2# 4^ go to the attacker discard.  [Damage]",
        "  Lane deck owes the attacker 1 card. The defender stack is empty.  [Damage]",
        "  Attacker’s 5& 3% >+ go to the attacker discard.  [Damage]",
        "Afterwards",
        "  Defender stack      none",
        "  Attacker discard    2# 4^ 5& 3% >+",
        "  Lane discard        none",
        "  Lane deck owes      1 card",
    ]


def test_combat_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "combat", "5& 3% >+", "4^ 2# 9!", "--edition", "hackmud", "--json")
    found = json.loads(out)
    steps = found.pop("steps")
    assert found == {
        "edition": "hackmud",
        "initiator": "attacker",
        "defender_open": False,
        "attacker_open": [],
        "attacker": ["5&", "3%", ">+"],
        "defender": ["4^", "2#", "9!"],
        "bounced": False,
        "attacker_power": 3,
        "defender_power": 0,
        "attacker_sum": 8,
        "defender_sum": 15,
        "damage": 3,
        "due": 0,
        "attacker_stack": [],
        "defender_stack": [],
        "attacker_discard": ["9!", "2#", "4^", "5&", "3%", ">+"],
        "lane_discard": [],
    }
    assert [step["title"] for step in steps] == ["Cards open", "Powers", "Damage"]
    assert steps[0]["sentences"][0] == {"text": "Attacker opens 5& 3% >+.", "why": None, "rule": "Combat"}


def test_combat_that_bounces_has_no_powers(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "combat", "5& ?+", "4^", "--json")
    found = json.loads(out)
    assert (found["bounced"], found["attacker_power"], found["defender_power"]) == (True, None, None)
    assert (found["lane_discard"], found["attacker_discard"], found["defender_stack"]) == (["?+"], ["5&"], ["4^"])


def test_who_began_and_what_lay_open_matters(capsys: pytest.CaptureFixture[str]) -> None:
    stacks = ("@& 5%", "4^ @!")
    _, first, _ = run(capsys, "combat", *stacks)
    _, second, _ = run(capsys, "combat", *stacks, "--initiator", "defender")
    _, opened, _ = run(capsys, "combat", *stacks, "--defender-open")
    assert "Attacker’s @& takes @! to the attacker discard" in first
    assert "Defender’s @! takes 5% to the lane discard" in second
    assert "Defender’s 4^ @! lay face up before." in opened


def test_in_the_hackmud_edition_attacker_cards_may_lie_open_and_the_stack_may_be_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "combat", "@& 8%", "4^ 2!", "--edition", "hackmud", "--attacker-open", "@&")
    assert "Attacker’s @& does nothing. It lay face up before the combat." in out
    _, out, _ = run(capsys, "combat", "", "4^ ?!", "--edition", "hackmud")
    assert "Attacker has no stack here." in out
    assert "Defender’s ?! goes to the attacker discard." in out
    for arguments, words in (
        (("8%", "4^", "--edition", "hackmud", "--attacker-open", "9%"), "9% is not in the attacker stack"),
        (("8%", "4^", "--attacker-open", "8%"), "In the rulebook edition no card of an attacker stack lies face up"),
        (("", "4^"), "Combat needs at least one card in the attacker stack"),
        (("", "", "--edition", "hackmud"), "Combat needs a card in one of the two stacks"),
    ):
        code, _, error = run(capsys, "combat", *arguments)
        assert code == 1
        assert words in error


def test_an_empty_defender_stack_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "combat", "8&", "")
    assert "Lane deck owes      4 cards" in out


@pytest.mark.parametrize(
    ("attacker", "defender", "words"),
    [
        ("5& 11%", "4^", "“11%” is not a card"),
        ("", "4^", "Combat needs at least one card in the attacker stack"),
        ("5& 5&", "4^", "5& is named twice: there is one of each card"),
        ("5&", "5&", "5& appears twice: there is one of each card"),
        ("5& X", "4^", "“X” is not a card"),
    ],
)
def test_wrong_cards_are_one_line(attacker: str, defender: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "combat", attacker, defender)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert words in err


def test_every_rule_has_a_title() -> None:
    assert set(RULE_TITLES) == RULE_IDS


# ---- binlog ----------------------------------------------------------------------------------------------------------


def test_binlog_reports_what_it_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.log"
    file.write_text(LOG, encoding="utf-8")
    status, out, _ = run(capsys, "binlog", str(file))
    assert status == 0
    assert out.splitlines() == [
        "Lane  deck  discard  defender stack / attacker stack",
        "   0    12        0  - / -",
        "   1    13        0  - / -",
        "   2    13        0  - / -",
        "   3    12        0  - / -",
        "   4    13        0  - / -",
        "   5    13        0  - / -",
        "Attacker deck 0, attacker discard 0",
        "Hand of a0: X",
        "Hand of d0: 2!",
        "2 turns, 2 moves, 0 combats: 0 agree, 0 differ, 0 not checkable.",
        "Log and rules agree.",
    ]


def test_binlog_says_where_log_and_rules_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.log"
    file.write_text(f"{LOG}nonsense\nV002 n------\nd0 pX0\nV003 n------\na0 d0 / X ha0\n", encoding="utf-8")
    status, out, _ = run(capsys, "binlog", str(file))
    assert status == 1
    lines = out.splitlines()
    assert lines[0].startswith("line 5    unread    turn 1, “nonsense” is no turn")
    assert lines[1] == (
        "line 9    differs   turn 3, a0 d0: the rules refuse it. "
        "A defender stack lies in front of the deck of lane 0: draw from a lane without one"
    )
    assert lines[-2:] == ["1 line could not be read and was skipped.", "Log and rules differ in 1 point."]


def test_binlog_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.log"
    file.write_bytes(b"\xef\xbb\xbf" + LOG.replace("\n", "\r\n").encode())
    _, out, _ = run(capsys, "binlog", str(file), "--json")
    found = json.loads(out)
    assert found["state"]["hands"] == {"a0": ["X"], "d0": ["2!"]}
    del found["state"]
    assert found == {
        "agrees": True,
        "turns": 2,
        "moves": 2,
        "combats": {"agree": 0, "differ": 0, "unchecked": 0},
        "findings": [],
        "followed": True,
        "outcome": None,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (bytes(range(256)), "is no text"),
        (b"V000 n------\n\0", "is no text"),
        (b"Dear diary,\n", "is no log of this game"),
        (b"x" * 1_000_001, "is too large for a log: more than 1 MB"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_log_is_one_line(
    content: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.log"
    if content is not None:
        file.write_bytes(content)
    status, out, err = run(capsys, "binlog", str(file))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert words in err


def test_a_wrong_number_of_turns_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.log"
    file.write_text(LOG, encoding="utf-8")
    status, _, err = run(capsys, "binlog", str(file), "--turns", "0")
    assert (status, err.count("\n")) == (1, 1)
    assert "turns" in err


# ---- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", ["hackmud", "rulebook"])
@pytest.mark.parametrize("shape", [["--binlog"], ["--binlog", "hidden"]])
def test_a_kept_game_becomes_a_log_that_agrees(
    edition: str, shape: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = played_game(edition=edition, way="full", turns=60)
    status, log, _ = run(capsys, "replay", kept(tmp_path / "game.json", played), *shape)
    assert status == 0
    assert log.count("n------") == len(played.turns)
    assert ("pX" in log) == (shape[-1] == "hidden")
    file = tmp_path / "game.log"
    file.write_text(log, encoding="utf-8")
    status, out, _ = run(capsys, "binlog", str(file), "--edition", edition, "--turns", "60")
    assert status == 0, out
    assert played.outcome
    assert out.splitlines()[-2:] == [played.outcome["reason"], "Log and rules agree."]


def test_the_same_game_is_still_told_in_sentences() -> None:
    played = played_game()
    chance, *told = retell(played)
    assert chance == "Chance: no commitment (older version)."
    assert told[0].startswith("Turn 1: south ")
    assert played.outcome
    assert told[-1] == played.outcome["reason"]


def log_lines(played: GameFile) -> list[str]:
    return list(write_log(GAME, resolved(played), "open"))


def test_a_file_that_does_not_keep_the_rules_makes_no_log() -> None:
    played = played_game()
    first = played.turns[0]
    wrong = PlayedTurn(first.moment, {seat: PlayedOrder("c3", "s", "r") for seat in first.orders})
    with pytest.raises(Malformed, match="Turn 1 cannot be played"):
        log_lines(msgspec.structs.replace(played, turns=(wrong,)))


def test_only_full_games_of_cards_have_a_log() -> None:
    for played in (GameFile("outbuffered", {}, 1, (), None), GameFile("binmat", {"way": "clock"}, 1, (), None)):
        with pytest.raises(Malformed, match="Only a full game of BINMAT can be saved as a log"):
            log_lines(played)
