"""Machines at the table: what they are told, when they hand in, and what happens when their
programs fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from bot_tools import ScriptedPrograms
from inside import live_of
from table_tools import Played, follow_instructions, playing

from companion.bots import machine_players
from companion.bots.bot_process import bot_command, sentence_of
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
BO = {Seat.NORTH: "Bo"}


@dataclass
class Set:
    """A table, a person at South, and a machine at North."""

    played: Played
    programs: ScriptedPrograms
    machines: MachinePlayers

    def round(self, seconds: float = 0.0) -> None:
        self.played.wait(seconds)
        self.machines.step()
        self.played.table.step()

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.programs.received]


@contextmanager
def machines(
    folder: Path, answer: str = "UUS", names: Mapping[Seat, str] = BO, engines: tuple[str, ...] = ()
) -> Iterator[Set]:
    programs = ScriptedPrograms(lambda _: answer)
    with playing(folder) as played:
        for seat, name in names.items():
            played.table.machines.seat_machine(seat, name)
        with MachinePlayers(
            played.table, played.clock, KEY, engines, open_process=programs
        ) as opened:
            yield Set(played, programs, opened)


@pytest.fixture
def against(tmp_path: Path) -> Iterator[Set]:
    with machines(tmp_path) as opened:
        opened.played.table.take_seat(Seat.SOUTH, "Ada")
        yield opened


def test_a_machine_hands_in_after_a_pause(against: Set) -> None:
    table = against.played.table
    against.played.begin()
    against.round()
    assert against.verbs == ["new", "choose"]
    north = table.view().seats[Seat.NORTH]
    assert not north.receipt, "it hands in faster than any person"
    against.played.press(Seat.NORTH, "U", "U", "S", "ready")
    assert "key_refused" in against.played.cues
    north = table.view().seats[Seat.NORTH]
    assert (north.entered_count, north.receipt) == (0, None), "no pad plays its seat"
    with pytest.raises(Illegal, match="Bo plays on: there is no draw against the machine"):
        table.offer_draw(Seat.SOUTH)
    against.round(3.1)
    view = table.view()
    assert view.seats[Seat.NORTH].receipt
    assert view.seats[Seat.NORTH].name == "Bo"
    assert view.sign.text == "Purple: hand in your orders"
    table.hand_in(Seat.SOUTH, view.moment, "IIU")
    view = table.view()
    assert view.phase is Phase.STAGES
    assert view.sign.text == "Purple: Bo’s robot, c4 to c3", "the person opposite moves it"
    assert view.sign.seats == {Seat.SOUTH}
    lamps = {seat: lamps_of(live_of(table), seat) for seat in Seat}
    assert lamps[Seat.SOUTH].turn != lamps[Seat.NORTH].turn
    against.played.finish_stages()
    against.round()
    assert against.verbs == ["new", "choose", "see", "choose"]
    assert against.programs.received[2][1][1], "it was not told what happened"
    against.round(3.1)
    assert table.view().seats[Seat.NORTH].receipt
    table.undo()
    table.confirm("host", table.view().moment, 0)
    against.round()
    assert against.verbs.count("new") == 2, "an undone turn begins the program anew"
    assert against.programs.open == 1, "the former one has ended"


def test_a_machine_gets_its_own_seats_view(against: Set) -> None:
    against.played.begin()
    moment = against.played.table.view().moment
    against.played.table.hand_in(Seat.SOUTH, moment, "URS")
    against.round()
    told = json.dumps(against.programs.received)
    assert "URS" not in told
    assert "seed" not in told
    assert set(against.programs.received[1][1]) == set(
        against.played.table.machines.turns()[0].view
    )


def test_a_chosen_deal_is_not_told(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        played.table.machines.seat_machine(Seat.NORTH, "Zeno")
        played.table.new_game("binmat", {"way": "full", "deck": list(DECK)}, seed=1)
        (turn,) = played.table.machines.turns()
        assert set(turn.options) == {"way"}


def test_a_failing_program_is_restarted_until_chance_decides(against: Set) -> None:
    against.played.begin()
    against.programs.failures = ["it was killed"] * (MAX_ATTEMPTS - 1)
    against.round()
    assert len(against.programs.commands) == MAX_ATTEMPTS
    assert against.programs.open == 1
    assert len({tuple(command) for command in against.programs.commands}) == 1, (
        "not the same opponent"
    )
    against.round(3.1)
    view = against.played.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert view.devices.notices == ()
    against.played.table.hand_in(Seat.SOUTH, view.moment, "RRS")
    against.played.finish_stages()
    against.programs.failures = ["it hung"] * MAX_ATTEMPTS
    against.round()
    against.round(3.1)
    view = against.played.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert [str(notice) for notice in view.devices.notices] == [
        "Bo’s program does not respond: the moves are random."
    ]
    against.played.table.abandon()
    against.round()
    assert against.played.table.view().devices.notices == (), "it is said of a game that is over"


def test_nonsense_is_refused_and_chance_decides(against: Set) -> None:
    against.programs.answers = lambda _: "XYZ"
    against.played.begin()
    for seconds in (0.0, 3.1, 3.1):
        against.round(seconds)
    assert against.played.table.view().seats[Seat.NORTH].receipt


def reasons_of_machine(played: Played) -> tuple[str, ...]:
    """Return the reasons of North's machine for its last action. Empty: nobody can ask it."""
    view, coaching = played.table.view(), played.table.coaching
    if "theirs" not in coaching.subjects(Seat.SOUTH):
        with pytest.raises(Illegal, match="The machine has nothing to explain right now"):
            coaching.reasons(Seat.SOUTH, view.moment)
        return ()
    told = coaching.reasons(Seat.SOUTH, view.moment)
    return (str(told.heading), *(order.whole for order in told.orders), *told.why)


def test_reasons_are_told_with_the_last_step(tmp_path: Path, against: Set) -> None:
    against.programs.why = (sentence_of("This gathers intel."),)
    against.played.begin()
    against.round()
    against.round(3.1)
    view = against.played.table.view()
    assert view.seats[Seat.NORTH].receipt
    assert reasons_of_machine(against.played) == (), "sealed"
    against.played.table.hand_in(Seat.SOUTH, view.moment, "III")
    for stage in range(3):
        view = against.played.table.view()
        assert (view.phase, view.turn.stage) == (Phase.STAGES, stage)
        told = reasons_of_machine(against.played)
        assert bool(told) == (stage == 2), f"step {stage + 1} of 3 is shown"
        against.played.table.confirm("host", view.moment, stage)
    assert (
        told
        == reasons_of_machine(against.played)
        == ("Bo, turn 1", "up", "up", "shoot", "This gathers intel.")
    )
    assert translate(told[-1], "es") == "Esto recoge información."
    against.round()
    against.round(3.1)
    assert reasons_of_machine(against.played) == told, "its next one is sealed"


def test_all_its_actions_in_a_turn_are_explained(tmp_path: Path) -> None:
    """In Kahmate a turn is several actions, the last of them its end: that alone would say
    nothing.
    """
    with playing(tmp_path) as played:
        played.table.machines.seat_machine(Seat.NORTH, "Bo")
        played.table.take_seat(Seat.SOUTH, "Ada")
        played.table.new_game("kahmate", {"starter": "north", "ball_card": 1}, seed=1)
        placed = {
            Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
            Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
        }
        for actions in (placed, {Seat.NORTH: "e10-e9-e8"}, {Seat.NORTH: "."}):
            for seat, action in actions.items():
                moment = played.table.view().moment
                if seat is Seat.NORTH:
                    played.table.machines.store_reasons(
                        seat, moment, (f"Why {action}?", "This scores.")
                    )
                played.table.hand_in(seat, moment, action)
            follow_instructions(played.table)
        told = reasons_of_machine(played)
        assert told[-3:] == ("Why e10-e9-e8?", "This scores.", "Why .?")
        assert len(told) == 6


def test_hidden_cards_are_explained_after_the_game(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        played.table.take_seat(Seat.SOUTH, "Ada")
        played.table.machines.seat_machine(Seat.NORTH, "Bo")
        played.table.new_game("binmat", {"way": "full", "seconds": 0}, seed=1)
        for seat in (Seat.SOUTH, Seat.NORTH):
            moment = played.table.view().moment
            played.table.machines.store_reasons(seat, moment, ("This draws where it costs least.",))
            played.table.hand_in(seat, moment, "d0")
            assert reasons_of_machine(played) == ()
        played.table.resign(Seat.SOUTH)
        assert reasons_of_machine(played)[-1] == "This draws where it costs least."


def test_a_restart_tells_a_new_process_the_past(tmp_path: Path) -> None:
    clock, programs = FakeClock(), ScriptedPrograms(lambda _: "UUS")
    with playing(tmp_path, clock) as played:
        played.table.take_seat(Seat.SOUTH, "Ada")
        played.table.machines.seat_machine(Seat.NORTH, "Bo")
        with MachinePlayers(played.table, clock, KEY, open_process=programs) as machines:
            played.begin()
            machines.step()
            played.wait(3.1)
            machines.step()
            played.table.hand_in(Seat.SOUTH, played.table.view().moment, "RRS")
            played.finish_stages()
    first = programs.commands[0]
    with (
        playing(tmp_path, clock) as played,
        MachinePlayers(played.table, clock, KEY, open_process=programs) as again,
    ):
        again.step()
        assert programs.commands[-1] == first
        assert [verb for verb, _ in programs.received][-3:] == ["new", "see", "choose"]
        assert played.table.view().seats[Seat.NORTH].door == MACHINE
    assert programs.open == 0


def test_it_keeps_clocks_and_awaits_stopped_ones(tmp_path: Path) -> None:
    with machines(tmp_path, PASS, dict.fromkeys(Seat, "Bo")) as both:
        both.played.table.new_game("binmat", {"way": "full"})
        both.machines.step()
        assert both.verbs == [], "it thinks while the clock stands still"
        both.played.table.resume("host")
        both.machines.step()
        assert both.verbs == ["new", "choose"]
        before = both.played.table.view().moment
        both.round(5.0 / 3 + 0.01)
        after = both.played.table.view().moment
        assert after != before, "it takes more than a third of its time for a pause"


def test_people_deal_real_cards_themselves(tmp_path: Path) -> None:
    with machines(tmp_path, PASS) as opened:
        table = opened.played.table
        table.new_game("binmat", {"way": "referee"})
        opened.machines.step()
        assert table.machines.turns() == ()
        assert opened.programs.commands == []
        opened.played.press(None, "table")
        clock = table.view().time.clock
        assert not clock or not clock.paused


def test_an_outside_engine_plays_under_its_name(tmp_path: Path) -> None:
    engines = ("Ada=/opt/ada --fast 'two words'", "Zeno=/opt/other", 'Bad=/opt/"open')
    names = {Seat.SOUTH: "Ada", Seat.NORTH: "Zeno"}
    with machines(tmp_path, names=names, engines=engines) as both:
        characters = [character.name for character in both.machines.characters]
        assert characters == ["Pip", "Bo", "Zeno", "Ada"]
        both.played.begin()
        both.machines.step()
        commands = both.programs.commands
    assert commands[0] == ["/opt/ada", "--fast", "two words", "outbuffered"]
    assert commands[1][:5] == bot_command("outbuffered", 3, 0)[:5]


def test_it_plays_unknown_games_by_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_players, "has_bot", lambda game: game != "outbuffered")
    with machines(tmp_path) as opened:
        opened.played.begin()
        opened.round()
        opened.round(3.1)
        view = opened.played.table.view()
        assert view.seats[Seat.NORTH].receipt
        notices = [str(notice) for notice in view.devices.notices]
        assert notices == ["Bo does not know this game and plays at random."]
        assert opened.programs.commands == []
