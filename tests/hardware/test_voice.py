"""Test what the table says aloud, who speaks it, and its quiet hours.

From top to bottom the tests use a table alone, a fake voice of the machine, a table screen, and a
fake of the program espeak-ng. The game is Outbuffered, in which South is purple and North is lime.
"""

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


def berlin_time(text: str) -> float:
    """Return the Unix time of a local time in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


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
def test_quiet_hours_may_pass_midnight(hours: QuietSettings, time: str, quiet: bool) -> None:
    assert is_in_quiet_hours(hours, berlin_time(time), BERLIN) is quiet


def test_silent_mode_cuts_off_a_tone() -> None:
    # A tone is playing when silence begins.
    rig = PanelRig()
    rig.show(SeatLamps(turn=TurnLamp.ON))
    rig.signal(Cue.PAUSED)
    assert rig.tone_hz() is not None
    rig.panel.set_silent(True)
    rig.panel.step()
    assert rig.tone_hz() is None

    # The next cue is seen instead of heard: the turn lamp, which is on, goes out for the note.
    rig.after(1000)
    rig.signal(Cue.PAUSED)
    assert rig.tone_hz() is None
    assert "south_turn" not in rig.lit(), "the lamp must play the rhythm"
    rig.panel.close()


# ---- sentences of a table ------------------------------------------------------------------------


@dataclass
class SpeechRig:
    """A table with an announcer, and the number of the last sentence that was read."""

    table: Table
    clock: FakeClock
    announcer: Announcer
    last_number: int = 0

    def new_sentences(self) -> list[str]:
        """Return the sentences since the last call."""
        utterances = [new for new in self.announcer.recent() if new.number > self.last_number]
        if utterances:
            self.last_number = utterances[-1].number
        return [utterance.text for utterance in utterances]

    def begin(self) -> None:
        """Begin a new game whose board is to be set up."""
        self.table.new_game("outbuffered", {}, 1)


@pytest.fixture
def speech_rig(tmp_path: Path) -> Iterator[SpeechRig]:
    """A table between games, whose announcer says only what is needed to play."""
    clock = FakeClock()
    with (
        Journal(tmp_path / "journal.sqlite") as journal,
        Table(journal, clock, TableSettings(reading_time_s=1.0)) as table,
    ):
        speech_rig = SpeechRig(
            table, clock, Announcer(lambda: table.version, table.view, clock.wall_s())
        )
        speech_rig.new_sentences()
        yield speech_rig


def test_a_turn_is_announced_in_few_words(speech_rig: SpeechRig) -> None:
    # The board is set up, and both seats hand in their orders.
    speech_rig.begin()
    assert speech_rig.new_sentences() == ["Set up the board."]
    follow_instructions(speech_rig.table)
    assert speech_rig.new_sentences() == ["Both: hand in your orders"]
    speech_rig.table.hand_in(Seat.SOUTH, "1.1", "UUS")
    assert speech_rig.new_sentences() == ["Lime: hand in your orders"]

    # At the reveal the headline comes first, and once it is read, what hands have to move.
    speech_rig.table.hand_in(Seat.NORTH, "1.1", "RII")
    assert speech_rig.new_sentences() == ["Lime’s own flag is in the way"]
    speech_rig.table.read_headline("table", "1.1", 0, 0)
    assert speech_rig.new_sentences() == ["Purple: robot, a1 to a2"]


def test_nothing_is_spoken_twice_a_turn(speech_rig: SpeechRig) -> None:
    speech_rig.begin()
    follow_instructions(speech_rig.table)
    speech_rig.new_sentences()

    # South hands in, takes its orders back, and does both once more. Only the first time is said.
    sentences = []
    for _ in range(2):
        speech_rig.table.hand_in(Seat.SOUTH, "1.1", "UUS")
        sentences += speech_rig.new_sentences()
        speech_rig.table.take_back(Seat.SOUTH, "1.1")
        sentences += speech_rig.new_sentences()
    assert sentences == ["Lime: hand in your orders"]

    # Trouble, an offer and the end of the game are said whenever they come.
    speech_rig.table.set_camera_status(
        CameraStatus(CameraState.TROUBLE, "The camera was unplugged: plug it in again.")
    )
    speech_rig.table.step()
    assert speech_rig.new_sentences() == ["The camera was unplugged: plug it in again."]
    speech_rig.table.offer_draw(Seat.SOUTH)
    assert speech_rig.new_sentences() == ["Purple offers a draw."]
    speech_rig.table.resign(Seat.NORTH)
    assert speech_rig.new_sentences() == ["Purple wins", "Lime resigns."]


def test_the_announcer_refuses_a_seats_view(speech_rig: SpeechRig) -> None:
    """A seat's view may contain secrets, so a sentence must never be made from one."""
    announcer = Announcer(
        lambda: speech_rig.table.version, lambda: speech_rig.table.view(Seat.SOUTH), 0.0
    )
    announcer.recent()
    speech_rig.begin()
    with pytest.raises(ValueError, match="everybody"):
        announcer.recent()


def test_speech_does_not_depend_on_sealed_orders(tmp_path: Path) -> None:
    """Two games that differ only in South's orders sound the same, even if everything is said."""
    runs = []
    for order in ("UUS", "DRI"):
        folder = tmp_path / order
        folder.mkdir()
        clock = FakeClock()
        with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:
            speech_rig = SpeechRig(
                table,
                clock,
                Announcer(lambda t=table: t.version, table.view, 0.0, says_everything=True),
            )
            speech_rig.new_sentences()
            speech_rig.begin()
            follow_instructions(speech_rig.table)

            # South hands in its orders, takes them back, and hands them in again.
            table.hand_in(Seat.SOUTH, "1.1", order)
            table.take_back(Seat.SOUTH, "1.1")
            table.hand_in(Seat.SOUTH, "1.1", order)
            runs.append(speech_rig.announcer.recent())
    assert runs[0] == runs[1]


# ---- who speaks ----------------------------------------------------------------------------------


@dataclass
class FakeVoice:
    """A voice that records what it should say."""

    is_installed: bool = True
    sentences: list[tuple[str, str]] = field(default_factory=list)
    hush_count: int = 0
    settings: VoiceSettings = field(default_factory=VoiceSettings)

    def say(self, text: str, language: str) -> None:
        self.sentences.append((text, language))

    def hush(self) -> None:
        self.hush_count += 1

    def use_settings(self, settings: VoiceSettings) -> None:
        self.settings = settings


def open_policy(
    table: Table, clock: FakeClock, **changes: Any
) -> tuple[SpeechPolicy, FakeVoice, list[bool]]:
    """Return a policy, its voice, and a list of what the policy tells the panel.

    :param changes: settings by section. The others have their defaults
    :return: the list has True each time the panel becomes silent, and False when it may sound
    """
    voice = FakeVoice()
    silences: list[bool] = []
    policy = SpeechPolicy(table, Settings(**changes), clock, silences.append, voice)
    return policy, voice, silences


def test_the_machine_speaks_unless_a_screen_does(speech_rig: SpeechRig) -> None:
    # No screen speaks, so the machine does.
    policy, voice, _ = open_policy(speech_rig.table, speech_rig.clock)
    speech_rig.begin()
    policy.step()
    policy.step()
    assert voice.sentences == [("Set up the board.", "en")]

    # While a screen speaks, the machine is silent. It also does not repeat later what the screen
    # has said.
    policy.note_speaking_screen(True)
    follow_instructions(speech_rig.table)
    policy.step()
    policy.note_speaking_screen(False)
    policy.step()
    assert len(voice.sentences) == 1, "the machine must not repeat what the screen has said"

    # The screen is gone, and the machine says what happens next.
    speech_rig.table.resign(Seat.SOUTH)
    policy.step()
    assert voice.sentences[-1] == ("Purple resigns.", "en")


@pytest.mark.parametrize(
    ("by", "sentence_count", "screen_may_speak"),
    [("auto", 1, True), ("machine", 1, False), ("screen", 0, True), ("off", 0, False)],
)
def test_the_settings_say_who_speaks(
    speech_rig: SpeechRig, by: Any, sentence_count: int, screen_may_speak: bool
) -> None:
    policy, voice, _ = open_policy(speech_rig.table, speech_rig.clock, voice=VoiceSettings(by=by))
    speech_rig.begin()
    policy.step()
    assert len(voice.sentences) == sentence_count
    assert policy.screen_may_speak is screen_may_speak


def test_quiet_hours_begin_and_end_by_the_clock(
    speech_rig: SpeechRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "companion.speech.speech_policy.is_in_quiet_hours",
        lambda hours, wall_s: is_in_quiet_hours(hours, wall_s, BERLIN),
    )
    # A minute before the quiet hours the panel may sound.
    clock = FakeClock(wall_s=berlin_time("2026-03-10 21:59"))
    policy, voice, silences = open_policy(speech_rig.table, clock, quiet=NIGHT)
    assert silences == [False]

    # At ten in the evening everything becomes silent, and the game that begins is not announced.
    clock.advance(60)
    speech_rig.begin()
    policy.step()
    assert (silences[-1], voice.sentences, voice.hush_count) == (True, [], 1)
    assert (policy.screen_may_speak, policy.quiet_until) == (False, NIGHT.end)

    # At eight in the morning the quiet hours are over.
    clock.advance(10 * 3600)
    policy.step()
    assert policy.quiet_until is None
    assert silences == [False, True, False]
    assert voice.sentences == [], "the morning must not repeat what happened at night"


def test_quiet_hours_hush_the_voice(speech_rig: SpeechRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The voice is told once, even if the panel is silent anyway."""
    policy, voice, _ = open_policy(
        speech_rig.table, speech_rig.clock, panel=PanelSettings(silent=True)
    )
    monkeypatch.setattr("companion.speech.speech_policy.is_in_quiet_hours", lambda *_: True)
    policy.step()
    policy.step()
    assert voice.hush_count == 1


def test_changed_settings_apply_at_once(speech_rig: SpeechRig) -> None:
    policy, voice, silences = open_policy(speech_rig.table, speech_rig.clock)
    settings = Settings(
        panel=PanelSettings(silent=True), voice=VoiceSettings("off", "everything", 0.1)
    )
    policy.use_settings(settings)
    assert silences[-1] is True
    assert (voice.settings.volume, voice.hush_count, policy.volume) == (0.1, 1, 0.1)
    speech_rig.begin()
    policy.step()
    assert voice.sentences == []


# ---- the screen ----------------------------------------------------------------------------------


def test_a_listening_table_screen_gets_sentences(tmp_path: Path) -> None:
    equipment = TableEquipment()
    with open_web_rig(tmp_path, equipment=equipment) as rig:
        # The policy needs the rig's table, so it can only be added now.
        policy = SpeechPolicy(rig.table, Settings(), rig.clock)
        object.__setattr__(equipment, "voice", policy)
        rig.start_game()

        # The page of the table screen has the last sentence. A spectator's page has none.
        page = page_text(rig.browser(), "/")
        assert re.search(r'id="voice" hidden[^>]* data-volume="0.6"\s+data-speed="1.0"', page)
        assert ">Both: hand in your orders</p>" in page
        assert 'id="voice"' not in page_text(rig.browser(), "/watch")

        # A screen counts as speaking while it listens with `?voice`.
        stream = rig.browser().get("/live/table?voice", buffered=False)
        assert policy.speaking_screens == 1
        stream.close()
        assert policy.speaking_screens == 0

        # If the settings let nobody speak, the page has no sentence.
        policy.use_settings(Settings(voice=VoiceSettings(by="off")))
        rig.sit("south")
        assert 'id="voice"' not in page_text(rig.browser(), "/")


# ---- espeak-ng -----------------------------------------------------------------------------------


def fake_espeak(folder: Path, status: int = 0) -> str:
    """Write a program that records its arguments and its input. Return its path.

    :param status: its exit status
    """
    program, log = folder / "espeak", folder / "log"
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
    assert (tmp_path / "log").read_text() == "-v es -s 300 -a 100 --stdin\n-x Púrpura gana\n"
    assert troubles == []


def test_only_the_newest_sentences_wait(tmp_path: Path) -> None:
    voice = MachineVoice(VoiceSettings(), pytest.fail, fake_espeak(tmp_path))
    for number in range(10):
        voice.say(f"sentence {number}", "en")
    voice.step()
    sentences = [
        line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("sentence")
    ]
    assert sentences == [f"sentence {number}" for number in range(10 - MAX_WAITING, 10)]


@pytest.mark.parametrize(
    ("exists", "words"), [(False, "install espeak-ng"), (True, "sound device")]
)
def test_a_failing_voice_is_reported_once(tmp_path: Path, exists: bool, words: str) -> None:
    troubles: list[str] = []
    command = fake_espeak(tmp_path, 1) if exists else str(tmp_path / "nothing")
    voice = MachineVoice(VoiceSettings(), troubles.append, command)
    for _ in range(3):
        voice.say("One", "en")
        voice.step()
    assert len(troubles) == 1
    assert words in troubles[0]


def test_closing_cuts_off_a_sentence(tmp_path: Path) -> None:
    """A sentence that hangs in the voice's thread ends with `close`, and `say` does not wait."""
    # The fake program makes the file `begun`, and then waits for a line that never comes.
    program, begun = tmp_path / "espeak", tmp_path / "begun"
    program.write_text(
        f'#!/bin/sh\nmkfifo "{begun}.pipe"\ntouch "{begun}"\nread line < "{begun}.pipe"\n'
    )
    program.chmod(0o755)
    voice = MachineVoice(VoiceSettings(), pytest.fail, str(program))
    voice.start()
    voice.say("One", "en")
    pause = threading.Event()
    while not begun.exists():
        pause.wait(0.01)

    # While it hangs, more sentences come. Then the voice is closed, twice.
    for number in range(100):
        voice.say(f"sentence {number}", "en")
    voice.close()
    voice.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "voice"]
