"""Tests of machine players, at a table on a fake clock with scripted opponents.

They show what a machine's program is sent, when the machine hands in, how it explains its actions,
and what happens when its program fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from bot_tools import ScriptedProcesses
from internals import live_of
from table_tools import TableRig, follow_instructions, open_table_rig

from companion.bots import machine_players
from companion.bots.bot_process import bot_command, parse_sentence
from companion.bots.machine_players import MAX_ATTEMPTS, MachinePlayers
from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from companion.core.i18n import translate
from companion.core.kit import Seat
from companion.games.binmat.actions import PASS
from companion.games.binmat.cards import DECK
from companion.table.listeners import lamps_of
from companion.table.session import MACHINE, Phase

KEY = b"k" * 32
BO_AT_NORTH = {Seat.NORTH: "Bo"}
# Longer than the longest pause that a machine makes before it hands in (`DELAY_RANGE_S`).
AFTER_PAUSE_S = 3.1


@dataclass
class MachineRig:
    """A table with machine players, whose programs are scripted."""

    rig: TableRig
    programs: ScriptedProcesses
    machines: MachinePlayers

    def step(self, seconds: float = 0.0) -> None:
        """Let time pass, then let machines and table do what is due."""
        self.rig.wait(seconds)
        self.machines.step()
        self.rig.table.step()

    @property
    def verbs(self) -> list[str]:
        """The kinds of all requests to programs, in their order."""
        return [verb for verb, _ in self.programs.received]


@contextmanager
def open_machine_rig(
    folder: Path,
    answer: str = "UUS",
    names: Mapping[Seat, str] = BO_AT_NORTH,
    engines: tuple[str, ...] = (),
) -> Iterator[MachineRig]:
    """Open a table with machines of these names. Their programs choose the same action always."""
    programs = ScriptedProcesses(lambda _: answer)
    with open_table_rig(folder) as rig:
        for seat, name in names.items():
            rig.table.machines.seat_machine(seat, name)
        with MachinePlayers(rig.table, rig.clock, KEY, engines, open_process=programs) as machines:
            yield MachineRig(rig, programs, machines)


@pytest.fixture
def machine_rig(tmp_path: Path) -> Iterator[MachineRig]:
    """A rig with a person at South and a machine at North."""
    with open_machine_rig(tmp_path) as machine_rig:
        machine_rig.rig.table.take_seat(Seat.SOUTH, "Ada")
        yield machine_rig


def test_a_machine_hands_in_after_a_pause(machine_rig: MachineRig) -> None:
    table = machine_rig.rig.table
    machine_rig.rig.begin()
    machine_rig.step()
    assert machine_rig.verbs == ["new", "choose"]
    north = table.view().seats[Seat.NORTH]
    assert not north.receipt, "the machine hands in without a pause"
    machine_rig.rig.press(Seat.NORTH, "U", "U", "S", "ready")
    assert "key_refused" in machine_rig.rig.cues
    north = table.view().seats[Seat.NORTH]
    assert (north.entered_count, north.receipt) == (0, None), "a pad plays the machine's seat"
    with pytest.raises(Illegal, match="Bo plays on: there is no draw against the machine"):
        table.offer_draw(Seat.SOUTH)
    machine_rig.step(AFTER_PAUSE_S)
    view = table.view()
    assert view.seats[Seat.NORTH].receipt
    assert view.seats[Seat.NORTH].name == "Bo"
    assert view.sign.text == "Purple: hand in your orders"
    table.hand_in(Seat.SOUTH, view.moment, "IIU")
    view = table.view()
    assert view.phase is Phase.STAGES
    # the person opposite moves the machine's robot
    assert view.sign.text == "Purple: Bo’s robot, c4 to c3"
    assert view.sign.seats == {Seat.SOUTH}
    lamps = {seat: lamps_of(live_of(table), seat) for seat in Seat}
    assert lamps[Seat.SOUTH].turn != lamps[Seat.NORTH].turn
    machine_rig.rig.finish_stages()
    machine_rig.step()
    assert machine_rig.verbs == ["new", "choose", "see", "choose"]
    assert machine_rig.programs.received[2][1][1], "its program was not sent the events"
    machine_rig.step(AFTER_PAUSE_S)
    assert table.view().seats[Seat.NORTH].receipt
    table.undo()
    table.confirm("host", table.view().moment, 0)
    machine_rig.step()
    assert machine_rig.verbs.count("new") == 2, "the program still knows of the turn undone"
    assert machine_rig.programs.open == 1, "the former program has not ended"


def test_a_machine_gets_its_own_seats_view(machine_rig: MachineRig) -> None:
    machine_rig.rig.begin()
    moment = machine_rig.rig.table.view().moment
    machine_rig.rig.table.hand_in(Seat.SOUTH, moment, "URS")
    machine_rig.step()
    requests = json.dumps(machine_rig.programs.received)
    assert "URS" not in requests
    assert "seed" not in requests
    view = machine_rig.programs.received[1][1]
    assert set(view) == set(machine_rig.rig.table.machines.turns()[0].view)


def test_a_program_is_not_sent_a_chosen_deal(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.machines.seat_machine(Seat.NORTH, "Zeno")
        rig.table.new_game("binmat", {"way": "full", "deck": list(DECK)}, seed=1)
        (turn,) = rig.table.machines.turns()
        assert set(turn.options) == {"way"}


def test_a_failing_program_is_restarted_until_chance_decides(machine_rig: MachineRig) -> None:
    machine_rig.rig.begin()
    machine_rig.programs.failures = ["it was killed"] * (MAX_ATTEMPTS - 1)
    machine_rig.step()
    assert len(machine_rig.programs.commands) == MAX_ATTEMPTS
    assert machine_rig.programs.open == 1
    assert len({tuple(command) for command in machine_rig.programs.commands}) == 1, (
        "another opponent was started"
    )
    machine_rig.step(AFTER_PAUSE_S)
    view = machine_rig.rig.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert view.devices.notices == ()
    machine_rig.rig.table.hand_in(Seat.SOUTH, view.moment, "RRS")
    machine_rig.rig.finish_stages()
    machine_rig.programs.failures = ["it hung"] * MAX_ATTEMPTS
    machine_rig.step()
    machine_rig.step(AFTER_PAUSE_S)
    view = machine_rig.rig.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert [str(notice) for notice in view.devices.notices] == [
        "Bo’s program does not respond: the moves are random."
    ]
    machine_rig.rig.table.abandon()
    machine_rig.step()
    assert machine_rig.rig.table.view().devices.notices == (), "the notice outlives its game"


def test_after_wrong_actions_chance_decides(machine_rig: MachineRig) -> None:
    machine_rig.programs.answers = lambda _: "XYZ"
    machine_rig.rig.begin()
    for seconds in (0.0, AFTER_PAUSE_S, AFTER_PAUSE_S):
        machine_rig.step(seconds)
    assert machine_rig.rig.table.view().seats[Seat.NORTH].receipt


def reasons_of_machine(rig: TableRig) -> tuple[str, ...]:
    """Return heading, orders and reasons of North's last action. Empty: nobody can ask for them."""
    view, coaching = rig.table.view(), rig.table.coaching
    if "theirs" not in coaching.subjects(Seat.SOUTH):
        with pytest.raises(Illegal, match="The machine has nothing to explain right now"):
            coaching.reasons(Seat.SOUTH, view.moment)
        return ()
    explanation = coaching.reasons(Seat.SOUTH, view.moment)
    orders = [order.full_text for order in explanation.orders]
    return (str(explanation.heading), *orders, *explanation.why)


def test_reasons_are_shown_with_the_last_step(tmp_path: Path, machine_rig: MachineRig) -> None:
    machine_rig.programs.why = (parse_sentence("This gathers intel."),)
    machine_rig.rig.begin()
    machine_rig.step()
    machine_rig.step(AFTER_PAUSE_S)
    view = machine_rig.rig.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert reasons_of_machine(machine_rig.rig) == (), "a sealed action is explained"
    machine_rig.rig.table.hand_in(Seat.SOUTH, view.moment, "III")
    for stage in range(3):
        view = machine_rig.rig.table.view()
        assert (view.phase, view.turn.stage) == (Phase.STAGES, stage)
        reasons = reasons_of_machine(machine_rig.rig)
        assert bool(reasons) == (stage == 2), f"step {stage + 1} of 3 is shown"
        machine_rig.rig.table.confirm("host", view.moment, stage)
    assert reasons == ("Bo, turn 1", "up", "up", "shoot", "This gathers intel.")
    assert reasons_of_machine(machine_rig.rig) == reasons
    assert translate(reasons[-1], "es") == "Esto recoge información."
    machine_rig.step()
    machine_rig.step(AFTER_PAUSE_S)
    # its next action is sealed, so the last one is still explained
    assert reasons_of_machine(machine_rig.rig) == reasons


def test_all_its_actions_in_a_turn_are_explained(tmp_path: Path) -> None:
    """In Kahmate a turn has several actions. The last one only ends it, so its reason alone would
    explain nothing.
    """
    with open_table_rig(tmp_path) as rig:
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.new_game("kahmate", {"starter": "north", "ball_card": 1}, seed=1)
        placed = {
            Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
            Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
        }
        for actions in (placed, {Seat.NORTH: "e10-e9-e8"}, {Seat.NORTH: "."}):
            for seat, action in actions.items():
                moment = rig.table.view().moment
                if seat is Seat.NORTH:
                    rig.table.machines.store_reasons(
                        seat, moment, (f"Why {action}?", "This scores.")
                    )
                rig.table.hand_in(seat, moment, action)
            follow_instructions(rig.table)
        reasons = reasons_of_machine(rig)
        assert reasons[-3:] == ("Why e10-e9-e8?", "This scores.", "Why .?")
        assert len(reasons) == 6


def test_hidden_cards_are_explained_after_the_game(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        rig.table.new_game("binmat", {"way": "full", "seconds": 0}, seed=1)
        for seat in (Seat.SOUTH, Seat.NORTH):
            moment = rig.table.view().moment
            rig.table.machines.store_reasons(seat, moment, ("This draws where it costs least.",))
            rig.table.hand_in(seat, moment, "d0")
            assert reasons_of_machine(rig) == ()
        rig.table.resign(Seat.SOUTH)
        assert reasons_of_machine(rig)[-1] == "This draws where it costs least."


def test_after_a_restart_programs_learn_the_past(tmp_path: Path) -> None:
    clock, programs = FakeClock(), ScriptedProcesses(lambda _: "UUS")
    with open_table_rig(tmp_path, clock) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        with MachinePlayers(rig.table, clock, KEY, open_process=programs) as machines:
            rig.begin()
            machines.step()
            rig.wait(AFTER_PAUSE_S)
            machines.step()
            rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "RRS")
            rig.finish_stages()
    first_command = programs.commands[0]
    with (
        open_table_rig(tmp_path, clock) as rig,
        MachinePlayers(rig.table, clock, KEY, open_process=programs) as machines,
    ):
        machines.step()
        assert programs.commands[-1] == first_command
        assert [verb for verb, _ in programs.received][-3:] == ["new", "see", "choose"]
        assert rig.table.view().seats[Seat.NORTH].door == MACHINE
    assert programs.open == 0


def test_a_machine_keeps_its_time_limit(tmp_path: Path) -> None:
    with open_machine_rig(tmp_path, PASS, dict.fromkeys(Seat, "Bo")) as machine_rig:
        machine_rig.rig.table.new_game("binmat", {"way": "full"})
        machine_rig.machines.step()
        assert machine_rig.verbs == [], "it thinks while the clock is stopped"
        machine_rig.rig.table.resume("host")
        machine_rig.machines.step()
        assert machine_rig.verbs == ["new", "choose"]
        before = machine_rig.rig.table.view().moment
        machine_rig.step(5.0 / 3 + 0.01)
        after = machine_rig.rig.table.view().moment
        assert after != before, "its pause is longer than a third of its time"


def test_a_machine_does_not_play_real_cards(tmp_path: Path) -> None:
    with open_machine_rig(tmp_path, PASS) as machine_rig:
        table = machine_rig.rig.table
        table.new_game("binmat", {"way": "referee"})
        machine_rig.machines.step()
        assert table.machines.turns() == ()
        assert machine_rig.programs.commands == []
        machine_rig.rig.press(None, "table")
        clock = table.view().time.clock
        assert not clock or not clock.paused


def test_an_outside_engine_plays_under_its_name(tmp_path: Path) -> None:
    engines = ("Ada=/opt/ada --fast 'two words'", "Zeno=/opt/other", 'Bad=/opt/"open')
    names = {Seat.SOUTH: "Ada", Seat.NORTH: "Zeno"}
    with open_machine_rig(tmp_path, names=names, engines=engines) as machine_rig:
        characters = [character.name for character in machine_rig.machines.characters]
        assert characters == ["Pip", "Bo", "Zeno", "Ada"]
        machine_rig.rig.begin()
        machine_rig.machines.step()
        commands = machine_rig.programs.commands
    assert commands[0] == ["/opt/ada", "--fast", "two words", "outbuffered"]
    assert commands[1][:5] == bot_command("outbuffered", 3, 0)[:5]


def test_a_machine_plays_unknown_games_at_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_players, "has_bot", lambda game: game != "outbuffered")
    with open_machine_rig(tmp_path) as machine_rig:
        machine_rig.rig.begin()
        machine_rig.step()
        machine_rig.step(AFTER_PAUSE_S)
        view = machine_rig.rig.table.view()
        assert view.seats[Seat.NORTH].receipt
        notices = [str(notice) for notice in view.devices.notices]
        assert notices == ["Bo does not know this game and plays at random."]
        assert machine_rig.programs.commands == []
