"""Tests of the coach, at a table on a fake clock with scripted bots.

They show what it may know, who may ask it, what the table keeps of its advice, and how it fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from bot_tools import ScriptedProcesses, bot_of, is_legal, random_states
from history_tools import GAME_OPTIONS
from internals import session_of
from table_tools import TableRig, open_table_rig

from companion.archive.game_file import build_game_file
from companion.bots import binmat
from companion.bots.coach import MAX_ATTEMPTS, Coach, CoachFailure
from companion.core.config import TableSettings
from companion.core.errors import Illegal, Stale
from companion.core.i18n import translate_for_json
from companion.core.kit import Seat
from companion.games import game_named

KEY = b"k" * 32


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TableRig]:
    """A table at which Ada plays South against a machine."""
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        rig.begin()
        yield rig


def scripted_coach(failures: int = 0) -> ScriptedProcesses:
    """Return processes that always advise UUS: up, up, shoot.

    They judge that any other action loses 0.3 against it. The first `failures` requests fail.
    """
    return ScriptedProcesses(
        why=("This gathers intel.",), loss=0.3, failures=["it was killed"] * failures
    )


def test_it_advises_from_the_seats_own_view(rig: TableRig) -> None:
    programs = scripted_coach()
    rig.hand_in(Seat.NORTH, "LRS")
    advice = Coach(rig.table, KEY, programs).ask(Seat.SOUTH, rig.view.moment, "now")
    assert [order.label for order in advice.orders] == ["U", "U", "S"]
    assert (advice.why, advice.judgement, programs.open_count) == (("This gathers intel.",), "", 0)
    assert "LRS" not in repr(programs.received)
    assert "seed" not in repr(programs.received)
    assert Seat.SOUTH in session_of(rig.table).awaited_seats, "the coach has handed in an action"


def test_it_judges_by_the_view_at_that_time(rig: TableRig) -> None:
    """A finished turn's action is judged by what the seat knew when it chose the action."""
    programs = scripted_coach()
    moment = rig.view.moment
    coach = Coach(rig.table, KEY, programs)
    with pytest.raises(Illegal, match="nothing to ask"):
        coach.ask(Seat.SOUTH, moment, "last")
    rig.table.hand_in(Seat.SOUTH, moment, "UII")
    before = msgspec.to_builtins(rig.table.machines.turns()[0].view)
    rig.table.hand_in(Seat.NORTH, moment, "UII")
    rig.finish_stages()

    advice = coach.ask(Seat.SOUTH, rig.view.moment, "last")
    (_, view), (_, judged_action) = programs.received[-2:]
    assert judged_action == "UII"
    assert (view["turn"], view["robots"]) == (before["turn"], before["robots"])
    assert advice.judgement == "This would have been much better."

    # a loss that is too small to matter, and a program that cannot tell the loss
    programs.loss = 0.01
    assert coach.ask(Seat.SOUTH, rig.view.moment, "last").is_best
    programs.loss = None
    unsure = coach.ask(Seat.SOUTH, rig.view.moment, "last").judgement
    assert unsure == "The coach would have done something else."


def test_advice_is_not_stored_but_marked(rig: TableRig, tmp_path: Path) -> None:
    """The file of the game tells that South was coached, but no file tells what the coach said."""
    coach = Coach(rig.table, KEY, scripted_coach())
    assert not rig.view.seats[Seat.SOUTH].is_coached
    coach.ask(Seat.SOUTH, rig.view.moment, "now")
    assert rig.view.seats[Seat.SOUTH].is_coached
    for seat in Seat:
        rig.hand_in(seat, "UII")
    rig.table.undo()
    # undoing the turn does not remove the mark
    assert rig.view.seats[Seat.SOUTH].is_coached
    rig.confirm()
    rig.table.resign(Seat.SOUTH)
    assert build_game_file(session_of(rig.table)).coached == (Seat.SOUTH,)
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"gathers" not in files


def test_only_people_to_act_may_ask(rig: TableRig) -> None:
    """North is a machine. South may ask while South has to act, if the settings allow it."""
    table = rig.table
    coach = Coach(table, KEY, scripted_coach())
    assert table.coaching.subjects(Seat.SOUTH) == ("now",)
    assert table.coaching.subjects(Seat.NORTH) == ()
    with pytest.raises(Stale):
        coach.ask(Seat.SOUTH, "1.99", "now")
    table.use_settings(TableSettings(coach="never"))
    assert table.coaching.subjects(Seat.SOUTH) == ()
    with pytest.raises(Illegal, match="nothing to ask"):
        coach.ask(Seat.SOUTH, rig.view.moment, "now")
    table.use_settings(TableSettings())
    rig.hand_in(Seat.SOUTH, "UII")
    assert table.coaching.subjects(Seat.SOUTH) == (), "somebody who has handed in may ask"


def test_two_people_are_coached_if_the_owner_allows(tmp_path: Path) -> None:
    """Against a person the coach would be unfair, unless the owner allows it to both."""
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.take_seat(Seat.NORTH, "Ben")
        rig.begin()
        assert rig.table.coaching.subjects(Seat.SOUTH) == ()
        rig.table.use_settings(TableSettings(coach="always"))
        assert rig.table.coaching.subjects(Seat.SOUTH) == ("now",)

        # somebody else takes the seat after the first turn
        for seat in Seat:
            rig.hand_in(seat, "UII")
        rig.finish_stages()
        rig.table.free_seat(Seat.SOUTH)
        rig.table.take_seat(Seat.SOUTH, "Cleo")
        assert rig.table.coaching.subjects(Seat.SOUTH) == ("now",), (
            "a new player may not ask about the turn of the player before"
        )


@pytest.mark.parametrize("fault", ["killed", "illegal"])
def test_a_failing_coach_does_not_stop_the_game(rig: TableRig, fault: str) -> None:
    # its process fails at both attempts, or advises an action that is not legal
    programs = ScriptedProcesses(lambda _: "XYZ")
    if fault == "killed":
        programs = scripted_coach(failures=MAX_ATTEMPTS)
    with pytest.raises(CoachFailure, match="The coach does not respond"):
        Coach(rig.table, KEY, programs).ask(Seat.SOUTH, rig.view.moment, "now")
    assert programs.open_count == 0
    rig.hand_in(Seat.SOUTH, "UII")


def test_it_answers_one_question_at_a_time(rig: TableRig) -> None:
    coach = Coach(rig.table, KEY, scripted_coach())
    with coach._lock, pytest.raises(Illegal, match="The coach is busy"):
        coach.ask(Seat.SOUTH, rig.view.moment, "now")


@pytest.mark.parametrize("name", GAME_OPTIONS)
def test_its_own_choice_loses_nothing_when_judged(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random action may lose something against the best one, but the best one loses nothing.

    In BINMAT a random action may be as good as any.
    """
    # BINMAT's search plays fewer games out, to save time
    monkeypatch.setitem(
        binmat.PARAMETERS_BY_LEVEL, 3, binmat.PARAMETERS_BY_LEVEL[3]._replace(deals=(1, 1, 1))
    )
    game = game_named(name)
    losses = []
    # BINMAT takes longest, so it is tried in fewer states
    count = 2 if name == "binmat" else 4
    for state in random_states(name, count, max_decisions=30, **GAME_OPTIONS[name]):
        seat = sorted(game.to_act(state))[0]
        view = json.loads(msgspec.json.encode(game.view(state, seat), enc_hook=translate_for_json))
        random_action = game.format(game.random_action(state, seat, Random(2)))
        verdict = bot_of(name, seat, level=3, **GAME_OPTIONS[name]).judge(view, random_action)
        assert is_legal(name, state, seat, verdict.best.action)
        assert verdict.loss is None or 0 <= verdict.loss <= 1
        # a new bot, because a bot remembers what it has chosen
        of_best = bot_of(name, seat, level=3, **GAME_OPTIONS[name]).judge(view, verdict.best.action)
        assert of_best.loss is not None
        assert of_best.loss <= 0.01
        losses.append(verdict.loss or 0.0)
    assert name == "binmat" or max(losses) > 0, "random actions are as good as any"
