"""Logs of hackmud's game: lines are read, tampering is found and named, games written here read without a difference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.core.errors import Malformed
from companion.games.binmat.combat import ATTACKER, DEFENDER, Edition
from companion.games.binmat.logs.ledger import Ledger
from companion.games.binmat.logs.log import FindingKind, LogReport, read_log
from companion.games.binmat.logs.notation import MANY, CombatStacks, Header, Move, Part, Result, Sprung, parse_line

# Both players take turns over a deck in which lane 0 holds & from 2 up, lane 1 %, lane 2 +, 3 !, 4 ^ and 5 #.
GAME_LOG = """\
`V000` `n------`
d0 d3 / 2! hd0
`V001` `n------`
a0 d0 / X ha0
`V002` `n------`
d0 pX3 / X d3
`V003` `n------`
a0 d5 / 2# ha0
`V004` `n------`
d0 d3 / 3! hd0
`V005` `n------`
a0 pX3 / X a3
`V006` `n------`
d0 pX3 / X d3
`V007` `n------`
a0 pX3 / X a3
`V008` `n------`
d0 `n--`
`V009` `n------`
a0 c3
`n--` c3 / 2& 2# / 2! 3!
`n--` 2 0 3 / 2& 2# xa / 3! 2! xa / 4! ha0
`V010` `n------`
d0 d3 / 5! hd0
`V011` `n------`
a0 x4!a / 4! xa / X X ha0
`V012` `n------`
d0 x52 / 5! x2
`V013` `n------`
a0 `n--`
`V014` `n------`
d0 `n--`
`V015` `n------`
a0 `n--`
`V016` `n------`
d0 d4 / 2^ hd0
"""


def read(text: str, edition: Edition = Edition.HACKMUD, turns: int | None = None) -> LogReport:
    return read_log(text.splitlines(), edition, turns)


def said(reading: LogReport, kind: FindingKind = FindingKind.DIFFERS) -> list[str]:
    return [finding.text for finding in reading.findings if finding.kind is kind]


def followed(reading: LogReport) -> Ledger:
    assert reading.ledger
    return reading.ledger


def combat(*lines: str, op: str = "a0 c3", turn: int = 13) -> LogReport:
    """A log that begins with this combat."""
    return read("\n".join([f"V{turn:03} n------", op, *(f"n-- {line}" for line in lines)]))


# ---- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("V012 n------", Header(12)),
        ("`V012` `n------`", Header(12)),
        ("012 ------", Header(12)),
        ("a0 d3 / *% ha0", Move("a0", "d", "", 3, (Part(("*%",), "ha0", (False,)),))),
        ("d0 pX0 / X d0", Move("d0", "p", "X", 0, (Part(("X",), "d0", (False,)),))),
        ("a0 uX5 …", Move("a0", "u", "X", 5)),
        ("a0 uX5 / … a5", Move("a0", "u", "X", 5, (Part((MANY,), "a5", (False,)),))),
        ("a0 u55 / 5& a5", Move("a0", "u", "5", 5, (Part(("5&",), "a5", (False,)),))),
        ("af xaa", Move("af", "x", "a", 6)),
        ("a1 c3", Move("a1", "c", "", 3)),
        ("d0 `n--`", Move("d0", "-")),
        ("d0 --", Move("d0", "-")),
        ("n-- c3 / 5%u 3& / 4^ /", CombatStacks(3, Part(("5%", "3&"), "", (True, False)), Part(("4^",), "", (False,)))),
        ("`n--` c2 / 8^ / ", CombatStacks(2, Part(("8^",), "", (False,)), Part())),
        ("-- c0 /  / ?%", CombatStacks(0, Part(), Part(("?%",), "", (False,)))),
        ("n--   a@/4!6&xa", Sprung("a@", Part(("4!", "6&"), "xa", (False, False)))),
        ("n-- d? / ?% xa", Sprung("d?", Part(("?%",), "xa", (False,)))),
        ("n-- 0 2 - / 3# x1", Result(0, 2, None, (Part(("3#",), "x1", (False,)),))),
        (
            "n-- 3 0 4 / … x3 / … xa / … ha0",
            Result(3, 0, 4, tuple(Part((MANY,), place, (False,)) for place in ("x3", "xa", "ha0"))),
        ),
        ("", None),
        (" ` ", None),
    ],
)
def test_lines_are_read(text: str, line: object) -> None:
    assert parse_line(text) == line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello there", "“hello there” is no turn, no move"),
        ("a0 d7", "“d7” is no operation"),
        ("a0 p1&3", "“p1&3” is no operation"),
        ("a0 d3 / 11& ha0", "“11& ha0” is neither a card"),
        ("a0 d3 / X ha0 X", "After the place ha0"),
        ("a0 d3 / X hb0", "“hb0” is neither"),
        ("n-- c3 / 2& xa / 3&", "After c3 expected the attacker stack"),
        ("n-- c3 / 2& / 3& / 4&", "After c3 expected the attacker stack"),
        ("n-- a@", "After a@ expected a slash"),
        ("n-- 3 0", "“3 0” is no line of the system"),
        ("V12345 n------", "is no turn"),
        ("a0 \x07\x07", "“??” is no operation"),
        ("X " * 600, "1199 characters"),
        ("no " * 50, "“no no no no no no no no no no no no no …” is no turn"),
    ],
)
def test_lines_that_cannot_be_read_say_why(text: str, words: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_line(text)
    assert words in caught.value.message


def test_colours_and_spacing_do_not_matter() -> None:
    bare = GAME_LOG.replace("`n", "").replace("`V", "").replace("`", "")
    assert read(bare).plain() == read(GAME_LOG.replace(" / ", "/")).plain() == read(GAME_LOG).plain()


# ---- replaying -------------------------------------------------------------------------------------------------------


def test_a_log_is_replayed_as_far_as_it_shows() -> None:
    reading = read(GAME_LOG)
    assert reading.findings == ()
    assert (reading.turns, reading.moves, reading.agree) == (17, 17, 1)
    assert reading.outcome is None
    plain = followed(reading).plain()
    assert [lane["deck"] for lane in plain["lanes"]] == [12, 13, 13, 9, 12, 12]
    assert plain["lanes"][2]["discard"] == ["5!"]
    assert plain["attacker_deck"] == 3
    assert plain["attacker_discard"] == ["X", "X"], "the second pass in a row cost the hand"
    assert plain["hands"] == {"a0": [], "d0": ["2^"]}


def test_a_defender_who_passes_twice_loses_his_hand_to_the_smallest_piles() -> None:
    turns = ["d0 d3 / 2! hd0", "a0 d0", "d0 d3 / 3! hd0", "a0 d0", "d0 --", "a0 d0", "d0 --"]
    ledger = followed(read("\n".join(f"V{at:03} n------\n{move}" for at, move in enumerate(turns))))
    assert (ledger.cards("x0"), ledger.cards("x1"), ledger.cards("hd0")) == (("3!",), ("2!",), ())


def test_a_hidden_card_that_is_played_makes_the_hand_uncertain() -> None:
    turns = ["d0 d3 / 2! hd0", "a0 d0", "d0 d0", "a0 d0", "d0 pX2 / X d2", "a0 d0", "d0 x2!1 / 2! x1"]
    reading = read("\n".join(f"V{at:03} n------\n{move}" for at, move in enumerate(turns)))
    assert reading.findings == (), "2! may be the card in hand"
    assert followed(reading).cards("hd0") == ()


def test_a_log_from_the_middle_is_checked_combat_by_combat() -> None:
    reading = combat("c3 / 8& / ", "3 0 4 / 8& xa / X X X X ha0")
    assert said(reading, FindingKind.UNCHECKED) == [
        "the log begins here; from here on hands, decks and stacks are not followed"
    ]
    assert (reading.agree, reading.is_right, reading.ledger) == (1, True, None)


def test_known_sample_lines_are_understood_and_their_sums_checked() -> None:
    lines = [
        "V012 n------", "d0 pX0 / X d0", "V013 n------", "a0 d3 / *% ha0", "V014 n------", "d0 n--", "V015 n------",
        "a0 uX5 …", "V016 n------", "d0 --", "V017 n------", "a0 c3", "n-- c3 / 5%u 3& / 4^ /",
        "n-- 3 0 4 / … x3 / … xa / … ha0",
    ]  # fmt: skip
    reading = read_log(lines)
    assert said(reading) == [
        "a0 c3: defence power: the log says 0, the rules say 2",
        "a0 c3: damage: the log says 4, the rules say 2",
    ]
    assert not said(reading, FindingKind.UNREAD)


# ---- combat ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ("c3 / 2& 2# / 2! 3!", "2 0 3 / 2& 2# xa / 3! 2! xa / 4! ha0"),
        ("c3 / 8% / 7! *&", "3 3 1 / 8% xa / *& "),
        ("c3 / @# 8% / 7& 4!", "a@ / 4! xa", "3 0 4 / @# 8% xa / 7& xa / 2& 3& 5& ha0"),
        ("c3 / @# 8% / 7& @!", "a@ / @! xa", "3 0 4 / @# 8% xa / 7& xa / 2& 3& 5& ha0"),
        ("c3 / 8% 2& / 4& @!", "d@ / 2& x3", "3 2 2 / 8% xa / @! 4& xa"),
        ("c3 / 8% 2& / 4&u @!u", "0 2 - / 8% 2& x3"),
        ("c3 / 3& / 4^", "0 2 - / 3& x3"),
        ("c3 / 3& / 5^", "0 0 0 / 3& xa"),
        ("c3 / 2# ?& / ", "a? / ?& x3", "0 0 0 / 2# xa"),
        ("c3 / 2# ?& / ", "a? / ?& x3", "1 0 - / 2# xa"),
        ("c3 / 3# / ?% ?! 2^", "d? / ?! ?% xa", "0 1 - / 3# xa"),
        ("c3 / 2# / 4^ >^", "1 2 - / 2# x3"),
        ("c3 / 8# / 3^ 4! >^", "3 0 3 / 8# xa / >^ 4! 3^ xa"),
        ("c3 / 3# / @^", "d@ / 3# x3", "0 0 0 /  xa"),
        ("c3 / 3# / 4^ @^", "d@ / 3# x3", "0 2 - /  x3"),
        ("c3 / @#u 3& / 4^", "0 2 - / @# 3& x3"),
        ("c3 /  / 4!", "0 2 - /  x3"),
        ("c3 /  / 5!", "0 0 0 /  xa"),
        ("c3 /  / 4! ?%", "d? / ?% xa", "0 2 - /  xa"),
        ("c3 /  / 4! @%", "0 2 - /  x3"),
    ],
)
def test_combats_that_keep_the_rules(lines: tuple[str, ...]) -> None:
    reading = combat(*lines)
    assert said(reading) == []
    assert reading.agree == 1


def test_cards_played_face_up_begin_combat() -> None:
    assert combat("c3 / 2# >&u / ", "1 0 1 / 2# >&u xa / X ha0", op="a0 u>3 / >& a3").agree == 1
    assert combat("c3 / ?&u / 4^ ?!", "a? / ?&u x3", "d? / ?! xa", "0 2 - /  xa", op="a0 u?&3").agree == 1
    own = combat("c3 / @# 2# / 3! >!u", "a@ / >! xa", "1 0 2 / @# 2# xa / 3! xa / X ha0", op="d0 u>!3", turn=14)
    assert (own.agree, said(own)) == (1, [])
    assert said(combat("c3 / … / 4^", op="a0 u>3 / >& a3")) == [], "what lies on top is hidden"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("c3 / X 3& / 4^", "2 2 1 / X 3& xa / 4^ xa"), "cards that matter are hidden"),
        (("c3 / … / 4^", "2 2 1 / … xa / 4^ xa"), "cards that matter are hidden"),
        (("c3 / 2# / 4^",), "the log does not show its result"),
        ((), "the log does not show its stacks"),
    ],
)
def test_combats_that_cannot_be_checked_say_why(lines: tuple[str, ...], why: str) -> None:
    reading = combat(*lines)
    assert reading.is_right
    assert reading.unchecked == 1
    assert f"a0 c3: the combat is not checkable: {why}" in said(reading, FindingKind.UNCHECKED)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("c3 / 8# / 4!", "4 2 2 / 8# xa / 4! xa / X ha0"), "attack power: the log says 4, the rules say 3"),
        (("c3 / 8# / 4!", "3 1 2 / 8# xa / 4! xa / X ha0"), "defence power: the log says 1, the rules say 2"),
        (("c3 / 8# / 4!", "3 2 3 / 8# xa / 4! xa / X ha0"), "damage: the log says 3, the rules say 2"),
        (("c3 / 8# / 4!", "3 2 - / 8# xa / 4! xa / X ha0"), "damage: the log says none, the rules say 2"),
        (("c3 / 8# / 4!", "3 2 2 / 8# x3 / 4! xa / X ha0"), "cards to x3: the log says 8#, the rules say none"),
        (("c3 / 8# / 4!", "3 2 2 / 8# xa / X ha0"), "cards to xa: the log says 8#, the rules say 8# 4!"),
        (("c3 / 8# / 4!", "3 2 2 / 8# xa / 5! xa / X ha0"), "cards to xa: the log says 8# 5!, the rules say 8# 4!"),
        (("c3 / 8# / 4!", "3 2 2 / 8# xa / 4! xa / X X ha0"), "cards drawn: the log says 2, the rules say 1"),
        (("c3 / 8# @! / 4!", "3 0 4 / 8# @! xa / X X X X ha0"), "the attacker’s TRAPs took: the log says none, the rules say 4!"),
        (("c3 / 8# @! / 4!", "a@ / 4! x3", "3 0 4 / 8# @! xa / X X X X ha0"), "TRAPs took: the log sends them to x3, the rules to xa"),
        (("c3 / 8# / 4!u @^u", "d@ / 8# x3", "0 2 - /  x3"), "the defender’s TRAPs took: the log says 8#, the rules say none"),
        (("c3 / 8# / 4! ?^", "3 2 2 / 8# xa / ?^ 4! xa"), "BOUNCEs of the defender: the log says none, the rules say ?^"),
        (("c3 / 8# ?^ / 4!", "a? / ?^ xa", "0 0 0 / 8# xa"), "BOUNCEs of the attacker: the log sends them to xa, the rules to x3"),
        (("c4 / 8# / 4!", "3 2 2 / 8# xa / 4! xa / X ha0"), "the log shows the stacks of lane 4"),
        (("c3 / 8# 8# / 4!", "4 2 3 / 8# 8# xa / 4! xa / X X ha0"), "8# appears twice"),
        (("c3 /  / ", "0 0 0 /  xa"), "Combat needs a card in one of the two stacks"),
        (("c3 / @#u 3& / 4^", "a@ / 4^ xa", "0 0 0 / @# 3& xa"), "TRAPs took: the log says 4^, the rules say none"),
        (("c3 / 8# / 4!u 5!", "3 0 4 / 8# xa / 5! 4! xa / X X ha0"), "marks defender cards face up that lay face down"),
        (("3 2 2 / 8# xa / 4! xa / X ha0",), "a combat has a result, but no stacks are shown"),
        (("c3 / 2# / 4!", "1 2 - / 2# x3", "1 2 - / 2# x3"), "more than one combat"),
    ],
)  # fmt: skip
def test_a_tampered_combat_is_found_and_named(lines: tuple[str, ...], words: str) -> None:
    reading = combat(*lines)
    assert not reading.is_right
    assert reading.agree == (1 if words == "more than one combat" else 0)
    assert any(words in text for text in said(reading)), said(reading)


def test_too_few_cards_drawn_are_a_difference_unless_the_game_ended_so() -> None:
    short = ["V013 n------", "a0 c3", "n-- c3 / 8# / ", "n-- 3 0 4 / 8# xa / X X ha0"]
    assert read_log(short).is_right, "the deck may have had no more: then the attacker has won"
    assert said(read_log([*short, "V014 n------", "d0 d0"])) == ["a0 c3: cards drawn: the log says 2, the rules say 4"]


# ---- tampering with a whole game -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("V004", "V005", "it follows turn 3, expected turn 4"),
        ("`V012` `n------`\nd0 x52 / 5! x2\n", "", "it follows turn 11, expected turn 12"),
        ("a0 d5 / 2# ha0", "d0 d5 / 2# hd0", "turn 3 is the attacker’s"),
        ("a0 d5 / 2# ha0\n", "a0 d5 / 2# ha0\na0 d1 / X ha0\n", "a0 has acted in turn 3 already"),
        ("a0 d5 / 2# ha0", "a0 d3 / 3! ha0", "A defender stack lies in front of the deck of lane 3"),
        ("a0 d5 / 2# ha0", "a0 d5 / 2! ha0", "2! cannot come from the deck of lane 5: 2! lay in the defender stack of lane 3"),
        ("a0 d5 / 2# ha0", "a0 d5 / 2# hd0", "its cards go to ha0, the log says hd0"),
        ("a0 d5 / 2# ha0", "a0 d5 / 2# X ha0", "1 card go to ha0, the log shows 2"),
        ("a0 d5 / 2# ha0", "a0 da / X ha0", "The attacker deck and its discard pile are empty"),
        ("d0 d4 / 2^ hd0", "d0 d4 / 5! hd0", "5! cannot come from the deck of lane 4: 5! lay in the discard pile of lane 2"),
        ("d0 x52 / 5! x2", "d0 x52 / 6! x2", "it names 5, but 6! goes to x2"),
        ("d0 x52 / 5! x2", "d0 x4^2 / 4^ x2", "4^ cannot come from the hand: the hand of d0 holds only 5!"),
        ("d0 x52 / 5! x2", "d0 x52 / 5! x3", "its cards go to x2, the log says x3"),
        ("d0 x52 / 5! x2", "d0 x5a / 5! xa", "The defender discards to a lane"),
        ("d0 x52 / 5! x2", "d0 c3", "Only the attacker declares combat in the hackmud edition"),
        ("d0 x52 / 5! x2", "d0 -- / 5! x2", "nothing goes to x2 by it"),
        ("/ X X ha0", "/ X ha0", "2 cards go to ha0, the log shows 1"),
        ("c3 / 2& 2# / 2! 3!", "c3 / 2& 2^ / 2! 3!", "cards to xa: the log says 2& 2# 3! 2!"),
        ("c3 / 2& 2# / 2! 3!", "c3 / 2& 2# / 2! 3! 4&", "the defender stack of lane 3: the log shows 2! 3! 4&"),
        ("c3 / 2& 2# / 2! 3!", "c3 / 2& 2# / 2!u 3!u", "marks defender cards face up that lay face down"),
        ("a0 c3\n", "a0 d0 / X ha0\n", "no combat begins by it, but the log shows one"),
    ],
)  # fmt: skip
def test_a_tampered_game_is_found_and_named(old: str, new: str, words: str) -> None:
    assert old in GAME_LOG
    reading = read(GAME_LOG.replace(old, new, 1))
    assert not reading.is_right
    assert any(words in text for text in said(reading)), said(reading)


def test_a_draw_of_a_card_that_lies_elsewhere_names_the_place() -> None:
    (text, *_) = said(read(GAME_LOG.replace("a0 d5 / 2# ha0", "a0 d5 / 2& ha0\n`V004` `n------`\nd0 d1 / 2& hd0", 1)))
    assert text == "d0 d1: 2& cannot come from the deck of lane 1: 2& lay in the hand of a0"


def test_a_move_after_the_end_is_a_difference_said_once() -> None:
    reading = read(GAME_LOG, turns=10)
    assert sum("the game was over before. All 10 turns are over" in text for text in said(reading)) == 1
    assert reading.outcome
    assert reading.outcome.winners == {DEFENDER}


def test_lines_that_cannot_be_read_are_named_and_skipped() -> None:
    reading = read(GAME_LOG.replace("`V006` `n------`\n", "`V006` `n------`\n<someone> nice move\n"))
    assert [(finding.line, finding.kind) for finding in reading.findings] == [(14, FindingKind.UNREAD)]
    assert reading.is_right
    lost = read(GAME_LOG.replace("d0 d3 / 3! hd0", "d0 ??"))
    assert lost.ledger is None
    assert said(lost, FindingKind.UNCHECKED) == [
        "turn 4 before it has no move that can be read; from here on hands, decks and stacks are not followed"
    ]
    assert lost.agree == 1, "a combat can still be checked"
    assert said(read("n-- c3 / 2& / 3&"), FindingKind.UNREAD) == ["This line of the system belongs to no move"]


def test_teams_act_in_one_turn_each_player_once() -> None:
    lines = [
        "V000 n------",
        "d0 d0",
        "d1 d1",
        "V001 n------",
        "a0 d0",
        "a1 d5 / 2# ha1",
        "V002 n------",
        "d1 d1",
        "d0 --",
    ]
    reading = read_log(lines)
    assert reading.findings == ()
    assert followed(reading).plain()["hands"] == {"a0": ["X"], "a1": ["2#"], "d0": ["X"], "d1": ["X", "X"]}


# ---- what recorded games of hackmud show -----------------------------------------------------------------------------

RECORDED = """\
V000 n------
d0 d3 / 2! hd0
V001 n------
a0 d5 / 2# ha0
V002 n------
d0 u2!0 / 2! d0
V003 n------
a0 u21 / 2# a1
V004 n------
d0 d3 / ?! hd0
V005 n------
a0 d5 / @# ha0
V006 n------
d0 u?!2 / ?! d2
V007 n------
a0 u@1 / @# a1
V008 n------
d0 d4 / 4^ hd0
V009 n------
a0 d5 / 8# ha0
V010 n------
d0 p4^1 / 4^ d1
V011 n------
a0 pX1 / X a1
V012 n------
d0 d3 / 3! hd0
V013 n------
a0 c0
n-- c0 /  / 2!u
n-- 0 1 - /  x0
V014 n------
d0 d3 / 5! hd0
V015 n------
a0 c2
n-- c2 /  / ?!u
n-- d? / ?! xa
n-- 0 0 - /  xa
V016 n------
d0 d3 / 7! hd0
V017 n------
a0 c1
n-- c1 / 2#u @#u 8# / 4^
n-- 0 2 - / 2# @# 8# x1
V018 n------
d0 d3 / 9! hd0
"""


def test_what_recorded_games_show_is_legal_in_the_hackmud_edition() -> None:
    """The attacker plays face up, the defender too onto an empty stack, open TRAPs rest, combats without attackers."""
    reading = read(RECORDED)
    assert reading.findings == ()
    assert (reading.turns, reading.agree) == (19, 3)
    plain = followed(reading).plain()
    assert (plain["lanes"][0]["defender"], plain["lanes"][0]["defender_open"]) == (["2!"], True)
    assert (plain["lanes"][1]["discard"], plain["attacker_discard"]) == (["2#", "@#", "8#"], ["?!"])
    assert not any(any(lane["attacker_open"]) for lane in plain["lanes"])
    other = read(RECORDED, Edition.RULEBOOK)
    assert not other.is_right
    assert any("the attacker’s @# lay face up" in text for text in said(other, FindingKind.UNCHECKED))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("c1 / 2#u @#u 8# / 4^", "c1 / 2#u @# 8# / 4^", "the log marks the attacker’s @# face down, it lay the other way"),
        ("c1 / 2#u @#u 8# / 4^", "c1 / 2#u @#u 8#u / 4^", "the log marks the attacker’s 8# face up, it lay the other way"),
        ("c0 /  / 2!u", "c0 /  / 2!", "the log marks defender cards face down that lay face up"),
        ("a0 c0\n", "a0 c5\n", "Lane 5 has no stack: combat needs one"),
    ],
)  # fmt: skip
def test_tampering_with_open_cards_is_found(old: str, new: str, words: str) -> None:
    assert old in RECORDED
    assert any(words in text for text in said(read(RECORDED.replace(old, new, 1))))


def test_a_log_of_hackmud_tells_its_own_number_of_turns() -> None:
    def passes(count: int) -> str:
        return "".join(f"V{turn:03} n------\n{'ad'[turn % 2 == 0]}0 --\n" for turn in range(count))

    reading = read_log(passes(132).splitlines())
    assert reading.findings == ()
    assert reading.outcome
    assert reading.outcome.reason == "All 132 turns are over: the defender wins."
    assert read_log(passes(109).splitlines()).outcome is None
    for limited in (read(passes(132), turns=110), read_log(passes(132).splitlines(), Edition.RULEBOOK)):
        assert any("the game has 110 turns, the last is turn 109" in text for text in said(limited))


# ---- what is known of the cards --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hand", "card", "complaint", "lost"),
    [
        ("", "X", "the hand of d0 is empty", "4!"),
        ("", "2!", "the hand of d0 is empty", "4!"),
        ("3!", "2!", "the hand of d0 holds only 3!", "4!"),
        ("X 3!", "2!", None, "4! 3!"),
        ("X X X", "2!", None, "4! X X"),
        ("X X 3!", "2!", None, "X X X"),  # which of both it was is not known, and so is the order of the others
        ("", "9!", "9! lay in the attacker stack of lane 3", "4!"),
        ("3!", "9!", "9! lay in the attacker stack of lane 3", "4!"),
    ],
)
def test_a_card_that_leaves_a_hand_is_held_against_what_is_known(
    hand: str, card: str, complaint: str | None, lost: str
) -> None:
    ledger = Ledger()
    ledger.put("hd0", hand.split())
    ledger.put("a3", ["9!"])
    assert ledger.take("hd0", card) == complaint
    assert ledger.cards("a3") == (("X",) if card == "9!" else ("9!",))
    ledger.put("hd0", ["4!"])
    ledger.lose_hand("d0")
    assert [kept for lane in range(6) for kept in ledger.cards(f"x{lane}")] == lost.split()
    ledger.put("hd0", ["5!"])
    ledger.lose_hand("d0")
    assert "5!" in sum((ledger.cards(f"x{lane}") for lane in range(6)), ()), "an empty hand is in order again"


@pytest.mark.parametrize(
    ("known", "shown", "complaint"),
    [
        ("2&", "2& 3&", "the turns before make 2&"),
        ("", "2&", "the turns before make none"),
        ("2&", "3&", "the turns before make 2&"),
        ("2& X", "2& 3&", None),
        ("2&", "X", None),
        ("X", "9!", "9! lay in the defender stack of lane 1"),
    ],
)
def test_a_stack_that_is_shown_is_held_against_what_is_known(known: str, shown: str, complaint: str | None) -> None:
    ledger = Ledger()
    ledger.put("a0", known.split())
    ledger.put("d1", ["9!"])
    assert ledger.show("a0", tuple(shown.split())) == complaint
    assert ledger.cards("a0") == tuple(shown.split())


def test_a_deck_that_runs_out_takes_its_discard_pile_and_the_position_says_which_cards_lie_open() -> None:
    ledger = Ledger()
    ledger.put("x0", ["2!"])
    assert [ledger.draw("l0", "X") for _ in range(14)] == [None] * 14
    assert (ledger.draw("l0", "X"), ledger.cards("x0")) == ("the deck of lane 0 is empty", ())
    ledger.put("a0", ["2&", "3&"])
    ledger.attack_up.add("3&")
    lane = ledger.plain()["lanes"][0]
    assert (lane["deck"], lane["attacker"], lane["attacker_open"]) == (0, ["2&", "3&"], [False, True])


@pytest.mark.parametrize(
    ("deck", "edition", "last", "reason"),
    [
        ("0", Edition.HACKMUD, "", "Lane 0 has no card left to draw: the attacker wins."),
        ("0", Edition.HACKMUD, " / 2& ha0", None),  # it was no end, and is said to be impossible
        ("0", Edition.RULEBOOK, "", None),
        ("a", Edition.HACKMUD, "", None),
    ],
)
def test_who_draws_where_a_deck_has_run_out_wins_in_hackmud_alone(
    deck: str, edition: Edition, last: str, reason: str | None
) -> None:
    turns = [f"V{turn:03} n------\n{f'a0 d{deck}' if turn % 2 else 'd0 d1'}" for turn in range(28)]
    reading = read("\n".join(turns) + last, edition)
    assert (reading.outcome.reason if reading.outcome else None) == reason
    assert ("a0 d0: there was no card to draw" in said(reading)) is bool(last)


# ---- garbage ---------------------------------------------------------------------------------------------------------

PIECES = ["V000 n------", "V001 n------", "a0", "d0", "a1", " ", "/", "c3", "u>&3", "u?3", "pX3", "p5&3", "d3", "da", "x5&a",
          "x53", "n--", "a@", "d?", "5&", ">&", "?&", "@&", "X", "X X", "…", "2!u", "xa", "x3", "ha0", "hd0", "a3", "d3",
          "3 0 4", "0 0 0", "1 2 -", "\n", "\n", "\n", "`", "zz"]  # fmt: skip
LINES = ["V000 n------", "V001 n------", "V002 n------", "V003 n------", "a0 c3", "d0 u>3 / >! d3", "a0 u?&3 / ?& a3", "a0 da",
         "a0 pX3", "d0 pX3 / X d3", "a0 d3 / 5! ha0", "a0 x5!a / 5! xa / X X ha0", "d0 x5!3", "d0 --", "a0 --", "a1 u>&3",
         "n-- c3 / 5! X / ?& 2!u", "n-- c3 / 8! @& / 4^ @!", "n-- a@ / 4^ xa", "n-- d@ / X x3", "n-- d? / ?& xa",
         "n-- 3 0 4 / 8! xa / … ha0", "n-- 0 0 0 /  xa", "n-- 1 2 - / X xa / 2! / X X"]  # fmt: skip


@settings(max_examples=200)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join),
        st.lists(st.sampled_from(LINES), max_size=40).map("\n".join),
    ),
    st.sampled_from(Edition),
)
def test_garbage_never_crashes(text: str, edition: Edition) -> None:
    reading = read_log(text.split("\n"), edition)
    assert reading.plain()["agrees"] is reading.is_right


def test_a_seat_is_known_by_its_player() -> None:
    assert Move("a3", "-").seat is ATTACKER
    assert Move("d0", "-").seat is DEFENDER
