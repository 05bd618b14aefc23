"""Tests of machine players, at a table on a fake clock with scripted bots.

They show what a machine's program is sent, when the machine hands in, how it explains its actions,
and what happens when its program fails.

Actions are written in each game's notation:

- Outbuffered: one letter for each of the turn's three orders. U, R, D and L drive up, right, down
  and left, S shoots, and I idles. So `UUS` drives up twice and then shoots.
- Kahmate: `R@c2` places a piece (R is a regular one) on c2, `e10-e9-e8` runs along these squares,
  and `.` ends the turn.
- BINMAT: `d0` draws from lane 0.
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
from companion.bots.machine_players import DELAY_RANGE_S, MAX_ATTEMPTS, MachinePlayers
from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from companion.core.i18n import translate
from companion.core.kit import Seat
from companion.core.ports import TurnLamp
from companion.games.binmat.actions import PASS
from companion.games.binmat.cards import DECK
from companion.table.listeners import lamps_of
from companion.table.session import MACHINE, Phase
from companion.table.table import Table

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
        self.table.step()

    def choose_and_hand_in(self) -> None:
        """Let the machine choose its action, and hand it in after its pause."""
        self.step()
        self.step(AFTER_PAUSE_S)

    @property
    def table(self) -> Table:
        """The table of the machines."""
        return self.rig.table

    @property
    def verbs(self) -> list[str]:
        """The kinds of all requests to programs, in their order."""
        return [verb for verb, _ in self.programs.received]

    @property
    def has_handed_in(self) -> bool:
        """Whether the machine at North has handed in its action of this turn."""
        return self.rig.view.seats[Seat.NORTH].receipt is not None


@contextmanager
def open_machine_rig(
    folder: Path,
    answer: str = "UUS",
    names: Mapping[Seat, str] = BO_AT_NORTH,
    engines: tuple[str, ...] = (),
    delay_range_s: tuple[float, float] = DELAY_RANGE_S,
) -> Iterator[MachineRig]:
    """Open a table with machines of these names. Their programs always answer the same action."""
    programs = ScriptedProcesses(lambda _: answer)
    with open_table_rig(folder) as rig:
        for seat, name in names.items():
            rig.table.machines.seat_machine(seat, name)
        with MachinePlayers(
            rig.table,
            rig.clock,
            KEY,
            engines,
            delay_range_s=delay_range_s,
            open_process=programs,
        ) as machines:
            yield MachineRig(rig, programs, machines)


@pytest.fixture
def machine_rig(tmp_path: Path) -> Iterator[MachineRig]:
    """The first turn of Outbuffered between Ada, a person at South, and the machine Bo at North."""
    with open_machine_rig(tmp_path) as machine_rig:
        machine_rig.table.take_seat(Seat.SOUTH, "Ada")
        machine_rig.rig.begin()
        yield machine_rig


def test_a_machine_hands_in_after_a_pause(machine_rig: MachineRig) -> None:
    """Its program answers at once. A person would need some seconds, and so does the machine."""
    machine_rig.step()
    assert machine_rig.verbs == ["new", "choose"]
    assert not machine_rig.has_handed_in, "the machine hands in without a pause"

    machine_rig.step(AFTER_PAUSE_S)
    assert machine_rig.has_handed_in
    assert machine_rig.rig.view.seats[Seat.NORTH].name == "Bo"
    assert machine_rig.rig.view.sign.text == "Purple: hand in your orders"


def test_nobody_plays_or_draws_for_a_machine(machine_rig: MachineRig) -> None:
    """The pad at the machine's seat is dead, and a draw needs two people who agree."""
    machine_rig.step()
    machine_rig.rig.press(Seat.NORTH, "U", "U", "S", "ready")
    assert "key_refused" in machine_rig.rig.cues
    north = machine_rig.rig.view.seats[Seat.NORTH]
    assert (north.entered_count, north.receipt) == (0, None), (
        "a pad must not play the machine's seat"
    )

    with pytest.raises(Illegal, match="Bo plays on: there is no draw against the machine"):
        machine_rig.table.offer_draw(Seat.SOUTH)


def test_the_person_moves_the_machines_robot(machine_rig: MachineRig) -> None:
    """A machine has no hands. So sign and lamps ask the person opposite to carry out its orders."""
    machine_rig.choose_and_hand_in()
    machine_rig.rig.hand_in(Seat.SOUTH, "IIU")
    view = machine_rig.rig.view
    assert view.phase is Phase.STAGES
    assert view.sign.text == "Purple: Bo’s robot, c4 to c3"
    assert view.sign.seats == {Seat.SOUTH}
    turn_lamps = {seat: lamps_of(live_of(machine_rig.table), seat).turn for seat in Seat}
    assert turn_lamps == {Seat.SOUTH: TurnLamp.HANDS, Seat.NORTH: TurnLamp.OFF}


def test_a_program_sees_turns_but_none_that_is_undone(machine_rig: MachineRig) -> None:
    # one whole turn, whose events its program is then sent
    machine_rig.choose_and_hand_in()
    machine_rig.rig.hand_in(Seat.SOUTH, "IIU")
    machine_rig.rig.finish_stages()
    machine_rig.step()
    assert machine_rig.verbs == ["new", "choose", "see", "choose"]
    _, events = dict(machine_rig.programs.received)["see"]
    assert events, "the program was not sent the events of the turn"

    # A program cannot forget what it has seen. So a new one plays on after the turn is undone.
    machine_rig.step(AFTER_PAUSE_S)
    assert machine_rig.has_handed_in
    machine_rig.table.undo()
    machine_rig.rig.confirm()
    machine_rig.step()
    assert machine_rig.verbs.count("new") == 2, "the program still knows of the turn undone"
    assert machine_rig.programs.open_count == 1, "the former program has not ended"


def test_a_machine_gets_its_own_seats_view(machine_rig: MachineRig) -> None:
    """The orders that South has sealed and the game's seed stay secret from North's program."""
    machine_rig.rig.hand_in(Seat.SOUTH, "URS")
    machine_rig.step()
    requests = json.dumps(machine_rig.programs.received)
    assert "URS" not in requests
    assert "seed" not in requests
    view = dict(machine_rig.programs.received)["choose"]
    (turn,) = machine_rig.table.machines.turns()
    assert set(view) == set(turn.view)


def test_a_program_is_not_sent_a_chosen_deal(tmp_path: Path) -> None:
    """The option `deck` says where each card lies, so a program that had it could cheat."""
    with open_table_rig(tmp_path) as rig:
        rig.table.machines.seat_machine(Seat.NORTH, "Zeno")
        rig.table.new_game("binmat", {"way": "full", "deck": list(DECK)}, seed=1)
        (turn,) = rig.table.machines.turns()
        assert set(turn.options) == {"way"}


def test_a_failing_program_is_restarted_until_chance_decides(machine_rig: MachineRig) -> None:
    # all attempts but the last one fail, so the program's own action is handed in
    machine_rig.programs.failures = ["it was killed"] * (MAX_ATTEMPTS - 1)
    machine_rig.step()
    assert len(machine_rig.programs.commands) == MAX_ATTEMPTS
    assert machine_rig.programs.open_count == 1
    assert len({tuple(command) for command in machine_rig.programs.commands}) == 1, (
        "another bot was started"
    )
    machine_rig.step(AFTER_PAUSE_S)
    assert machine_rig.has_handed_in
    assert machine_rig.rig.view.devices.notices == ()
    machine_rig.rig.hand_in(Seat.SOUTH, "RRS")
    machine_rig.rig.finish_stages()

    # in the next turn all attempts fail, so its action is random, which the pages say
    machine_rig.programs.failures = ["it hung"] * MAX_ATTEMPTS
    machine_rig.choose_and_hand_in()
    assert machine_rig.has_handed_in
    assert [str(notice) for notice in machine_rig.rig.view.devices.notices] == [
        "Bo’s program does not respond: the moves are random."
    ]

    machine_rig.table.abandon()
    machine_rig.step()
    assert machine_rig.rig.view.devices.notices == (), "the notice outlives its game"


def test_after_wrong_actions_chance_decides(machine_rig: MachineRig) -> None:
    machine_rig.programs.answers = lambda _: "XYZ"
    # the steps in which its program chooses, the action is refused, and a random one is handed in
    for seconds in (0.0, AFTER_PAUSE_S, AFTER_PAUSE_S):
        machine_rig.step(seconds)
    assert machine_rig.has_handed_in


def reasons_of_machine(rig: TableRig) -> tuple[str, ...]:
    """Return the heading, the orders and the reasons of North's last action, as South reads them.

    Return an empty tuple if South cannot ask for them.
    """
    view, coaching = rig.view, rig.table.coaching
    if "theirs" not in coaching.subjects(Seat.SOUTH):
        with pytest.raises(Illegal, match="The machine has nothing to explain right now"):
            coaching.reasons(Seat.SOUTH, view.moment)
        return ()
    explanation = coaching.reasons(Seat.SOUTH, view.moment)
    orders = [order.full_text for order in explanation.orders]
    return (str(explanation.heading), *orders, *explanation.why)


def test_reasons_are_shown_with_the_last_step(machine_rig: MachineRig) -> None:
    machine_rig.programs.why = (parse_sentence("This gathers intel."),)
    machine_rig.choose_and_hand_in()
    assert machine_rig.has_handed_in
    assert reasons_of_machine(machine_rig.rig) == (), "a sealed action is explained"

    # the three steps of the turn are shown one after another. Earlier reasons would reveal the rest
    machine_rig.rig.hand_in(Seat.SOUTH, "III")
    for stage in range(3):
        view = machine_rig.rig.view
        assert (view.phase, view.turn.stage) == (Phase.STAGES, stage)
        reasons = reasons_of_machine(machine_rig.rig)
        assert bool(reasons) == (stage == 2), f"step {stage + 1} of 3 is shown"
        machine_rig.rig.confirm()
    assert reasons == ("Bo, turn 1", "up", "up", "shoot", "This gathers intel.")
    assert reasons_of_machine(machine_rig.rig) == reasons
    assert translate(reasons[-1], "es") == "Esto recoge información."

    # its next action is sealed, so the last one is still explained
    machine_rig.choose_and_hand_in()
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
                if seat is Seat.NORTH:
                    rig.table.machines.store_reasons(
                        seat, rig.view.moment, (f"Why {action}?", "This scores.")
                    )
                rig.hand_in(seat, action)
            follow_instructions(rig.table)
        # the run and the end of the turn have a reason in common, which is said once
        assert reasons_of_machine(rig) == (
            "Bo, turn 1",
            "Run e10 to e8",
            "End turn",
            "Why e10-e9-e8?",
            "This scores.",
            "Why .?",
        )


def test_hidden_cards_are_explained_after_the_game(tmp_path: Path) -> None:
    """Reasons for a card that is still hidden could tell the other side which card it is."""
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        rig.table.new_game("binmat", {"way": "full", "seconds": 0}, seed=1)
        for seat in (Seat.SOUTH, Seat.NORTH):
            rig.table.machines.store_reasons(
                seat, rig.view.moment, ("This draws where it costs least.",)
            )
            rig.hand_in(seat, "d0")
            assert reasons_of_machine(rig) == ()
        rig.table.resign(Seat.SOUTH)
        assert reasons_of_machine(rig)[-1] == "This draws where it costs least."


def test_after_a_restart_programs_learn_the_past(tmp_path: Path) -> None:
    """A new service starts the same program and sends it the events of the turns before."""
    clock = FakeClock()
    programs = ScriptedProcesses(lambda _: "UUS")
    with open_table_rig(tmp_path, clock) as rig:
        rig.table.take_seat(Seat.SOUTH, "Ada")
        rig.table.machines.seat_machine(Seat.NORTH, "Bo")
        with MachinePlayers(rig.table, clock, KEY, open_process=programs) as machines:
            # one whole turn
            rig.begin()
            machines.step()
            rig.wait(AFTER_PAUSE_S)
            machines.step()
            rig.hand_in(Seat.SOUTH, "RRS")
            rig.finish_stages()
    first_command = programs.commands[0]

    # the table opens the same journal again
    with (
        open_table_rig(tmp_path, clock) as rig,
        MachinePlayers(rig.table, clock, KEY, open_process=programs) as machines,
    ):
        machines.step()
        assert programs.commands[-1] == first_command
        assert [verb for verb, _ in programs.received][-3:] == ["new", "see", "choose"]
        assert rig.view.seats[Seat.NORTH].door == MACHINE
    assert programs.open_count == 0


def test_a_machine_keeps_its_time_limit(tmp_path: Path) -> None:
    """Its pause of 3 s is cut to a third of the 5 s that it has for a turn."""
    with open_machine_rig(
        tmp_path, PASS, dict.fromkeys(Seat, "Bo"), delay_range_s=(3.0, 3.0)
    ) as machine_rig:
        machine_rig.table.new_game("binmat", {"way": "full", "seconds": 5.0})
        machine_rig.machines.step()
        assert machine_rig.verbs == [], "it thinks while the clock is stopped"

        machine_rig.table.resume("host")
        machine_rig.machines.step()
        assert machine_rig.verbs == ["new", "choose"]
        before = machine_rig.rig.view.moment
        just_after_a_third_s = 1.68
        machine_rig.step(just_after_a_third_s)
        assert machine_rig.rig.view.moment != before, "its pause is longer than a third of its time"


def test_a_machine_does_not_play_real_cards(tmp_path: Path) -> None:
    """Only people can play them. The machine leaves the turns and the clock to the people."""
    with open_machine_rig(tmp_path, PASS) as machine_rig:
        machine_rig.table.new_game("binmat", {"way": "referee"})
        machine_rig.machines.step()
        assert machine_rig.table.machines.turns() == ()
        assert machine_rig.programs.commands == []

        machine_rig.rig.press(None, "table")
        clock = machine_rig.rig.view.time.clock
        assert clock is not None
        assert not clock.paused, "the button of the table did not start the clock"


def test_an_outside_engine_plays_under_its_name(tmp_path: Path) -> None:
    """An engine cannot take the name of a built-in character, and needs a command that parses."""
    engines = ("Ada=/opt/ada --fast 'two words'", "Zeno=/opt/other", 'Bad=/opt/"open')
    names = {Seat.SOUTH: "Ada", Seat.NORTH: "Zeno"}
    with open_machine_rig(tmp_path, names=names, engines=engines) as machine_rig:
        characters = [character.name for character in machine_rig.machines.characters]
        assert characters == ["Pip", "Bo", "Zeno", "Ada"]
        machine_rig.rig.begin()
        machine_rig.machines.step()
        engine_command, zeno_command = machine_rig.programs.commands
    assert engine_command == ["/opt/ada", "--fast", "two words", "outbuffered"]
    # the seed, which comes last, is different in each installation
    assert zeno_command[:-1] == bot_command("outbuffered", level=3, seed=0)[:-1]


def test_a_machine_plays_unknown_games_at_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_players, "has_bot", lambda game: game != "outbuffered")
    with open_machine_rig(tmp_path) as machine_rig:
        machine_rig.rig.begin()
        machine_rig.choose_and_hand_in()
        assert machine_rig.has_handed_in
        notices = [str(notice) for notice in machine_rig.rig.view.devices.notices]
        assert notices == ["Bo does not know this game and plays at random."]
        assert machine_rig.programs.commands == []
