"""Tests of the command `combat`, called through `main`: its output, its options and its errors."""

from __future__ import annotations

import pytest
from binmat_tools import RULE_IDS

from companion.cli.main import main
from companion.games.binmat.tools import RULE_TITLES


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Call the program. Return its status, its output and its errors."""
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# ---- combat --------------------------------------------------------------------------------------


def test_combat_explains_each_step_with_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    # The arguments are the attacker stack and the defender stack. `>+` is a BREAK.
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
        "  Attacker does 3 damage. Attacker has a BREAK: damage is the power, 3.  [Damage]",
        "  Defender’s 2# 4^ go to the attacker discard.  [Damage]",
        "  The lane deck owes 1 card. Defender has no card left in this lane.  [Damage]",
        "  Attacker’s 5& 3% >+ go to the attacker discard.  [Damage]",
        "Afterwards",
        "  Defender stack      none",
        "  Attacker discard    2# 4^ 5& 3% >+",
        "  Lane discard        none",
        "  Lane deck owes      1 card",
    ]


def test_initiator_and_open_stacks_change_the_combat(capsys: pytest.CaptureFixture[str]) -> None:
    """Each stack has a TRAP (`@`), and the TRAP of the side that began the combat springs first.

    In an open defender stack the TRAP does nothing.
    """
    stacks = ("@& 5%", "4^ @!")
    _, by_attacker, _ = run(capsys, "combat", *stacks)
    _, by_defender, _ = run(capsys, "combat", *stacks, "--initiator", "defender")
    _, with_open_defence, _ = run(capsys, "combat", *stacks, "--defender-open")
    assert "Attacker’s @& takes @! to the attacker discard" in by_attacker
    assert "Defender’s @! takes 5% to the lane discard" in by_defender
    assert "Defender’s 4^ @! lay face up before." in with_open_defence


def test_hackmud_allows_open_cards_and_empty_stacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(
        capsys, "combat", "@& 8%", "4^ 2!", "--edition", "hackmud", "--attacker-open", "@&"
    )
    assert "Attacker’s @& does nothing. It lay face up before the combat." in out
    _, out, _ = run(capsys, "combat", "", "4^ ?!", "--edition", "hackmud")
    assert "Attacker has no stack here." in out
    assert "Defender’s ?! goes to the attacker discard." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("5& 11%", "4^"), "“11%” is not a card"),
        (("5& 5&", "4^"), "5& is named twice: there is one of each card"),
        (("5&", "5&"), "5& appears twice: there is one of each card"),
        (("", "4^"), "Combat needs at least one card in the attacker stack"),
        (("", "", "--edition", "hackmud"), "Combat needs a card in one of the two stacks"),
        (
            ("8%", "4^", "--edition", "hackmud", "--attacker-open", "9%"),
            "9% is not in the attacker stack",
        ),
        (
            ("8%", "4^", "--attacker-open", "8%"),
            "In the rulebook edition no card of an attacker stack lies face up",
        ),
    ],
)
def test_wrong_cards_are_reported_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "combat", *arguments)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_every_rule_has_a_title() -> None:
    assert set(RULE_TITLES) == RULE_IDS
