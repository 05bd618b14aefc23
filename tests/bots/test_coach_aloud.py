"""The coach by the pad: a held A asks it, and everybody hears the answer; only where that tells nobody's secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from table_tools import Played, playing
from test_coach import KEY, Scripted, moment_of

from companion.bots.base import Choice, Verdict
from companion.bots.coach import Coach
from companion.bots.coach_aloud import CoachAloud
from companion.core.config import TableSettings
from companion.core.errors import Illegal
from companion.core.kit import Seat
from companion.speech.announcer import Announcer
from companion.table.session import Phase

SOUTH, NORTH = Seat


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """South is at the pad, the machine at North."""
    with playing(tmp_path) as played:
        played.press(SOUTH, "up")
        played.table.machines.seat(NORTH, "Bo")
        played.begin()
        yield played


def hold(played: Played, key: str) -> None:
    """A key goes down, and is held."""
    played.press(SOUTH, key)
    played.press(SOUTH, key, held=True)


def lines(played: Played) -> tuple[str, ...] | None:
    advice = played.table.view().advice
    return advice and advice.lines


def test_a_held_is_a_question_and_no_order(played: Played) -> None:
    coach = CoachAloud(played.table, Coach(played.table, KEY, Scripted()))
    played.press(SOUTH, "U")
    hold(played, "a")
    view = played.table.view()
    assert (view.seats[SOUTH].entered, lines(played)) == (1, ())
    coach.step()
    assert lines(played) == ("The coach would do this: up, up, shoot.", "This gathers intel.")
    assert played.table.view().seats[SOUTH].coached
    assert played.table.view().seats[SOUTH].awaited, "nothing was handed in"
    played.press(SOUTH, "R", "S", "ready")
    assert not played.table.view().seats[SOUTH].awaited, "U R S"


def test_asked_again_it_judges_the_last_action_and_then_the_next(played: Played) -> None:
    process = Scripted()
    coach = CoachAloud(played.table, Coach(played.table, KEY, process))
    for seat in Seat:
        played.table.hand_in(seat, moment_of(played), "UII")
    played.finish_stages()
    told = []
    for _ in range(3):
        hold(played, "a")
        coach.step()
        told.append(lines(played))
    now = ("The coach would do this: up, up, shoot.", "This gathers intel.")
    assert told == [now, ("This would have been much better.", "Better: up, up, shoot.", "This gathers intel."), now]
    process.verdict = Verdict(Choice("UUS", 1), 0.0)
    hold(played, "a")
    coach.step()
    assert lines(played) == ("That was as good as anything the coach can think of.",)


def test_a_new_turn_help_and_the_key_of_the_table_screen_take_it_away(played: Played) -> None:
    coach = CoachAloud(played.table, Coach(played.table, KEY, Scripted()))
    hold(played, "a")
    hold(played, "b")
    assert (lines(played), bool(played.table.view().help)) == (None, True)
    coach.step()
    assert lines(played) is None, "nobody asks any more"
    hold(played, "a")
    assert not played.table.view().help
    played.table.help(False)
    assert lines(played) is None
    hold(played, "a")
    for seat in Seat:
        played.table.hand_in(seat, moment_of(played), "UII")
    assert lines(played) is None
    played.press(SOUTH, "a", held=True)
    assert (played.table.view().phase, lines(played)) == (Phase.STAGES, None), "hands have something else to do"


@pytest.mark.parametrize("opponent", ["a person", "the machine, who sees no cards"])
def test_where_others_would_learn_something_it_says_where_to_ask(tmp_path: Path, opponent: str) -> None:
    with playing(tmp_path) as played:
        played.press(SOUTH, "up")
        if opponent == "a person":
            played.table.take_seat(NORTH, "Ben")
            played.table.use(TableSettings(coach="always"))
            played.begin()
        else:
            played.table.machines.seat(NORTH, "Bo")
            played.table.new_game("binmat", {"way": "full", "seconds": 0}, seed=1)
        process = Scripted()
        hold(played, "a")
        CoachAloud(played.table, Coach(played.table, KEY, process)).step()
        assert lines(played) == ("Everybody would hear the coach: ask it on a phone, at the same seat.",)
        assert not process.told
        assert not played.table.view().seats[SOUTH].coached


def test_the_machine_says_why_by_the_pad_and_at_the_key_of_the_table_screen(played: Played) -> None:
    """Asked a third time, or where there is no coach at once; and on the table screen instead of what can be done."""
    process = Scripted()
    coach = CoachAloud(played.table, Coach(played.table, KEY, process))
    moment = moment_of(played)
    played.table.machines.keep_reasons(NORTH, moment, ("This gathers intel.", "b", "c" * 400, "d"))
    with pytest.raises(Illegal):
        played.table.help(True, reasons=True)
    for seat in Seat:
        played.table.hand_in(seat, moment, "UII")
    played.finish_stages()
    theirs = ("Bo, turn 1: up, wait, wait.", "This gathers intel.", "b")
    told = []
    for _ in range(4):
        hold(played, "a")
        coach.step()
        told.append(lines(played))
    assert told[2] == theirs
    assert told[0] == told[3] != told[1]
    played.table.help(False)
    played.table.use(TableSettings(coach="never"))
    hold(played, "a")
    assert played.table.view().seats[SOUTH].entered == 0
    coach.step()
    assert lines(played) == theirs
    played.table.help(True)
    assert played.table.view().help
    played.table.help(True, reasons=True)
    coach.step()
    assert (played.table.view().help, lines(played)) == ((), theirs)


def test_where_there_is_no_coach_a_held_key_is_an_order(played: Played) -> None:
    played.table.use(TableSettings(coach="never"))
    hold(played, "a")
    assert (played.table.view().seats[SOUTH].entered, lines(played)) == (1, None)


def test_a_coach_that_fails_says_so(played: Played) -> None:
    hold(played, "a")
    CoachAloud(played.table, Coach(played.table, KEY, Scripted(failures=2))).step()
    assert lines(played) == ("The coach does not respond. The game goes on without it.",)


def test_the_voice_says_it_each_time_it_is_asked(played: Played) -> None:
    voice = Announcer(lambda: played.table.version, played.table.view, 0.0)
    voice.recent()
    coach = CoachAloud(played.table, Coach(played.table, KEY, Scripted()))
    heard = set()
    for _ in range(2):
        hold(played, "a")
        voice.recent()
        coach.step()
        heard |= {each.number for each in voice.recent() if each.text.startswith("The coach would")}
        hold(played, "b")
        hold(played, "b")
        voice.recent()
    assert len(heard) == 2


def test_by_itself_it_answers_and_ends(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        played.press(SOUTH, "up")
        played.table.machines.seat(NORTH, "Bo")
        played.begin()
        with CoachAloud(played.table, Coach(played.table, KEY, Scripted())) as coach:
            hold(played, "a")
            played.table.start()
            coach.start()
            version = played.table.version
            for _ in range(100):
                if lines(played):
                    break
                version = played.table.wait(version, 0.2)
            assert lines(played)
        coach.close()
