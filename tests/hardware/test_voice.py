"""The table's voice and its quiet hours: what is said, by whom, how loud, and when nothing is."""

from __future__ import annotations

import re
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from panel_tools import PanelRig
from table_tools import follow_instructions
from web_fixtures import open_web_rig, page_text

from companion.core.clock import FakeClock
from companion.core.config import (
    PanelSettings,
    QuietSettings,
    Settings,
    TableSettings,
    VoiceSettings,
)
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, Cue, SeatLamps, TurnLamp
from companion.speech.announcer import Announcer
from companion.speech.speech_policy import SpeechPolicy, is_in_quiet_hours
from companion.storage.journal import Journal
from companion.table.table import Table
from hardware.voice import MAX_WAITING, MachineVoice
from web.features import TableEquipment

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietSettings("22:00", "08:00")


# ---- quiet hours ---------------------------------------------------------------------------------


def at(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).timestamp()


@pytest.mark.parametrize(
    ("hours", "time", "quiet"),
    [
        (NIGHT, "2026-03-10 21:59", False),
        (NIGHT, "2026-03-10 22:00", True),
        (NIGHT, "2026-03-11 07:59", True),
        (NIGHT, "2026-03-11 08:00", False),
        (QuietSettings("13:00", "15:00"), "2026-03-10 14:00", True),
        (QuietSettings("06:00", "06:00"), "2026-03-10 05:59", True),
        (QuietSettings(), "2026-03-10 03:00", False),
    ],
)
def test_quiet_hours_go_over_midnight(hours: QuietSettings, time: str, quiet: bool) -> None:
    assert is_in_quiet_hours(hours, at(time), BERLIN) is quiet


def test_silence_cuts_a_tone() -> None:
    rig = PanelRig()
    rig.show(SeatLamps(turn=TurnLamp.ON))
    rig.signal(Cue.PAUSED)
    assert rig.tone_hz() is not None
    rig.panel.set_silent(True)
    rig.panel.step()
    assert rig.tone_hz() is None
    rig.after(1000)
    rig.signal(Cue.PAUSED)
    assert rig.tone_hz() is None
    assert "south_turn" not in rig.lit(), "the lamp plays the rhythm instead"
    rig.panel.close()


# ---- what is said --------------------------------------------------------------------------------


@dataclass
class Ear:
    """A table and what it has said since somebody listened last."""

    table: Table
    clock: FakeClock
    announcer: Announcer
    heard: int = 0

    def news(self) -> list[str]:
        fresh = [each for each in self.announcer.recent() if each.number > self.heard]
        self.heard = fresh[-1].number if fresh else self.heard
        return [each.text for each in fresh]

    def begin(self) -> None:
        """Begin a new game whose board is to be set up."""
        self.table.new_game("outbuffered", {}, 1)


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    clock = FakeClock()
    with (
        Journal(tmp_path / "journal.sqlite") as journal,
        Table(journal, clock, TableSettings(reading_time_s=1.0)) as table,
    ):
        ear = Ear(table, clock, Announcer(lambda: table.version, table.view, clock.wall_s()))
        ear.news()
        yield ear


def test_a_turn_is_told_in_few_words(ear: Ear) -> None:
    ear.begin()
    assert ear.news() == ["Set up the board."]
    follow_instructions(ear.table)
    assert ear.news() == ["Both: hand in your orders"]
    ear.table.hand_in(Seat.SOUTH, "1.1", "UUS")
    assert ear.news() == ["Lime: hand in your orders"]
    ear.table.hand_in(Seat.NORTH, "1.1", "RII")
    first = ear.news()
    assert first == ["Lime’s own flag is in the way"]
    ear.table.read_headline("table", "1.1", 0, 0)
    assert ear.news() == ["Purple: robot, a1 to a2"]
    assert "UUS" not in " ".join(first)


def test_nothing_is_spoken_twice_a_turn(ear: Ear) -> None:
    ear.begin()
    follow_instructions(ear.table)
    ear.news()
    told = []
    for _ in range(2):
        ear.table.hand_in(Seat.SOUTH, "1.1", "UUS")
        told += ear.news()
        ear.table.take_back(Seat.SOUTH, "1.1")
        told += ear.news()
    assert told == ["Lime: hand in your orders"]
    ear.table.set_camera_status(
        CameraStatus(CameraState.TROUBLE, "The camera was unplugged: plug it in again.")
    )
    ear.table.step()
    assert ear.news() == ["The camera was unplugged: plug it in again."]
    ear.table.offer_draw(Seat.SOUTH)
    assert ear.news() == ["Purple offers a draw."]
    ear.table.resign(Seat.NORTH)
    assert ear.news() == ["Purple wins", "Lime resigns."]


def test_no_voice_knows_a_seats_view(ear: Ear) -> None:
    prying = Announcer(lambda: ear.table.version, lambda: ear.table.view(Seat.SOUTH), 0.0)
    prying.recent()
    ear.begin()
    with pytest.raises(ValueError, match="everybody"):
        prying.recent()


def test_speech_does_not_depend_on_sealed_orders(tmp_path: Path) -> None:
    told = []
    for order in ("UUS", "DRI"):
        folder = tmp_path / order
        folder.mkdir()
        clock = FakeClock()
        with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:
            ear = Ear(
                table,
                clock,
                Announcer(lambda t=table: t.version, table.view, 0.0, says_everything=True),
            )
            ear.news()
            ear.begin()
            follow_instructions(ear.table)
            table.hand_in(Seat.SOUTH, "1.1", order)
            table.take_back(Seat.SOUTH, "1.1")
            table.hand_in(Seat.SOUTH, "1.1", order)
            told.append(ear.announcer.recent())
    assert told[0] == told[1]


# ---- who says it ---------------------------------------------------------------------------------


@dataclass
class FakeVoice:
    is_installed: bool = True
    said: list[tuple[str, str]] = field(default_factory=list)
    hushed: int = 0
    settings: VoiceSettings = field(default_factory=VoiceSettings)

    def say(self, text: str, language: str) -> None:
        self.said.append((text, language))

    def hush(self) -> None:
        self.hushed += 1

    def use_settings(self, settings: VoiceSettings) -> None:
        self.settings = settings


def with_voice(
    table: Table, clock: FakeClock, **changes: Any
) -> tuple[SpeechPolicy, FakeVoice, list[bool]]:
    voice, told = FakeVoice(), []
    return SpeechPolicy(table, Settings(**changes), clock, told.append, voice), voice, told


def test_the_machine_speaks_unless_a_screen_does(ear: Ear) -> None:
    manners, voice, _ = with_voice(ear.table, ear.clock)
    ear.begin()
    manners.step()
    manners.step()
    assert voice.said == [("Set up the board.", "en")]
    manners.note_speaking_screen(True)
    follow_instructions(ear.table)
    manners.step()
    manners.note_speaking_screen(False)
    manners.step()
    assert len(voice.said) == 1, "what the screen has said is not said again"
    ear.table.resign(Seat.SOUTH)
    manners.step()
    assert voice.said[-1] == ("Purple resigns.", "en")


@pytest.mark.parametrize(
    ("by", "machine", "screen"),
    [("auto", 1, True), ("machine", 1, False), ("screen", 0, True), ("off", 0, False)],
)
def test_the_settings_say_who_speaks(ear: Ear, by: Any, machine: int, screen: bool) -> None:
    manners, voice, _ = with_voice(ear.table, ear.clock, voice=VoiceSettings(by=by))
    ear.begin()
    manners.step()
    assert len(voice.said) == machine
    assert manners.screen_may_speak is screen


def test_quiet_hours_begin_and_end_by_the_clock(ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "companion.speech.speech_policy.is_in_quiet_hours",
        lambda hours, wall_s: is_in_quiet_hours(hours, wall_s, BERLIN),
    )
    clock = FakeClock(wall_s=at("2026-03-10 21:59"))
    manners, voice, told = with_voice(ear.table, clock, quiet=NIGHT)
    assert told == [False]
    clock.advance(60)
    ear.begin()
    manners.step()
    assert (told[-1], voice.said, voice.hushed) == (True, [], 1)
    assert (manners.screen_may_speak, manners.quiet_until) == (False, NIGHT.end)
    clock.advance(10 * 3600)
    manners.step()
    assert manners.quiet_until is None
    assert told == [False, True, False]
    assert voice.said == [], "what happened at night is not said in the morning"


def test_quiet_hours_hush_the_voice(ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    manners, voice, _ = with_voice(ear.table, ear.clock, panel=PanelSettings(silent=True))
    monkeypatch.setattr("companion.speech.speech_policy.is_in_quiet_hours", lambda *_: True)
    manners.step()
    manners.step()
    assert voice.hushed == 1


def test_changed_settings_hold_at_once(ear: Ear) -> None:
    manners, voice, told = with_voice(ear.table, ear.clock)
    settings = Settings(
        panel=PanelSettings(silent=True), voice=VoiceSettings("off", "everything", 0.1)
    )
    manners.use_settings(settings)
    assert told[-1] is True
    assert (voice.settings.volume, voice.hushed, manners.volume) == (0.1, 1, 0.1)
    ear.begin()
    manners.step()
    assert voice.said == []


# ---- the screen ----------------------------------------------------------------------------------


def test_a_listening_table_screen_gets_sentences(tmp_path: Path) -> None:
    equipment = TableEquipment()
    with open_web_rig(tmp_path, equipment=equipment) as rig:
        manners = SpeechPolicy(rig.table, Settings(), rig.clock)
        object.__setattr__(equipment, "voice", manners)
        rig.start_game()
        page = page_text(rig.browser(), "/")
        assert re.search(r'id="voice" hidden[^>]* data-volume="0.6"\s+data-speed="1.0"', page)
        assert ">Both: hand in your orders</p>" in page
        assert 'id="voice"' not in page_text(rig.browser(), "/watch")
        stream = rig.browser().get("/live/table?voice", buffered=False)
        assert manners.speaking_screens == 1
        stream.close()
        assert manners.speaking_screens == 0
        manners.use_settings(Settings(voice=VoiceSettings(by="off")))
        rig.sit("south")
        assert 'id="voice"' not in page_text(rig.browser(), "/")


# ---- espeak-ng -----------------------------------------------------------------------------------


def fake_espeak(folder: Path, status: int = 0) -> str:
    """Write a program that notes what it is asked to say."""
    program, log = folder / "espeak", folder / "said"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> "{log}"\ncat >> "{log}"\necho >> "{log}"\nexit {status}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_espeak_is_told_language_speed_and_volume(tmp_path: Path) -> None:
    troubles: list[str] = []
    voice = MachineVoice(
        VoiceSettings(volume=0.5, speed=2.0), troubles.append, fake_espeak(tmp_path)
    )
    assert voice.is_installed
    voice.say("-x Púrpura gana", "es")
    voice.step()
    assert (tmp_path / "said").read_text() == "-v es -s 300 -a 100 --stdin\n-x Púrpura gana\n"
    assert troubles == []


def test_the_newest_sentences_win(tmp_path: Path) -> None:
    voice = MachineVoice(VoiceSettings(), pytest.fail, fake_espeak(tmp_path))
    for number in range(10):
        voice.say(f"sentence {number}", "en")
    voice.step()
    said = [
        line for line in (tmp_path / "said").read_text().splitlines() if line.startswith("sentence")
    ]
    assert said == [f"sentence {number}" for number in range(10 - MAX_WAITING, 10)]


@pytest.mark.parametrize(("there", "words"), [(False, "install espeak-ng"), (True, "sound device")])
def test_a_voice_that_fails_says_so_once(tmp_path: Path, there: bool, words: str) -> None:
    troubles: list[str] = []
    command = fake_espeak(tmp_path, 1) if there else str(tmp_path / "nothing")
    voice = MachineVoice(VoiceSettings(), troubles.append, command)
    for _ in range(3):
        voice.say("One", "en")
        voice.step()
    assert len(troubles) == 1
    assert words in troubles[0]


def test_closing_cuts_a_sentence(tmp_path: Path) -> None:
    """In its own thread: a sentence that hangs is cut off by `close`, and `say` never waits."""
    program, begun = tmp_path / "espeak", tmp_path / "begun"
    program.write_text(
        f'#!/bin/sh\nmkfifo "{begun}.pipe"\ntouch "{begun}"\nread line < "{begun}.pipe"\n'
    )
    program.chmod(0o755)
    voice = MachineVoice(VoiceSettings(), pytest.fail, str(program))
    voice.start()
    voice.say("One", "en")
    wait = threading.Event()
    while not begun.exists():
        wait.wait(0.01)
    for number in range(100):
        voice.say(f"sentence {number}", "en")
    voice.close()
    voice.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "voice"]
