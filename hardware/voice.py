"""The machine's voice: `espeak-ng` speaks one sentence after the other, in a thread of its own."""

from __future__ import annotations

import logging
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from companion.core.config import VoiceSettings
from companion.core.i18n import say
from companion.core.ports import Closeable

_log = logging.getLogger(__name__)

ESPEAK = "espeak-ng"
WAITING = 3
"""Maximum number of waiting sentences. A newer one replaces the oldest."""
SENTENCE_S = 20.0
"""Timeout in seconds for one sentence. A longer one means that the sound device is stuck."""
WORDS_A_MINUTE = 150
LOUDEST = 200
"""Amplitude of `espeak-ng -a` at full volume."""
_JOIN_S = 2.0


class MachineVoice(Closeable):
    """Speaks through `espeak-ng`. A context manager whose `close` may be called twice.

    `on_trouble` is called once with a sentence when speaking fails. Without `start` the caller does
    the work with `step`.
    """

    def __init__(
        self,
        settings: VoiceSettings,
        on_trouble: Callable[[str], None],
        command: str = ESPEAK,
    ) -> None:
        self._settings = settings
        self._on_trouble = on_trouble
        self._command = command
        self._waiting: deque[tuple[str, str]] = deque(maxlen=WAITING)
        self._changed = threading.Condition()
        self._speaking: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._has_complained = False
        self._thread = threading.Thread(target=self._run, name="voice", daemon=True)

    def start(self) -> None:
        """Speak in a thread of its own from now on."""
        self._thread.start()

    @property
    def is_there(self) -> bool:
        """Return whether `espeak-ng` is installed."""
        return shutil.which(self._command) is not None

    def say(self, text: str, language: str) -> None:
        """Queue a sentence and return at once."""
        with self._changed:
            if not self._is_closed:
                self._waiting.append((text, language))
                self._changed.notify()

    def hush(self) -> None:
        """Stop speaking and empty the queue."""
        with self._changed:
            self._waiting.clear()
            if self._speaking:
                self._speaking.kill()

    def change(self, settings: VoiceSettings) -> None:
        """Set volume and speed from the next sentence on."""
        self._settings = settings

    def step(self) -> None:
        """Speak all waiting sentences."""
        while self._waiting:
            with suppress(IndexError):  # `hush` has just emptied the queue
                text, language = self._waiting.popleft()
                self._speak(text, language)

    def close(self) -> None:
        """Stop speaking and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self.hush()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    # ---- the thread ----

    def _run(self) -> None:
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
            self.step()

    def _speak(self, text: str, language: str) -> None:
        settings = self._settings
        arguments = [
            self._command, "-v", language, "-s", str(round(WORDS_A_MINUTE * settings.speed)),
            "-a", str(round(LOUDEST * settings.volume)), "--stdin",
        ]  # fmt: skip
        try:
            with self._changed:
                if self._is_closed:
                    return
                self._speaking = subprocess.Popen(
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            self._await(self._speaking, text)
        except OSError as error:
            _log.info("No voice: %s", error)
            self._complain(say("No voice: install espeak-ng (sudo apt install espeak-ng)."))
        finally:
            self._speaking = None

    def _await(self, speaking: subprocess.Popen[bytes], text: str) -> None:
        """Wait until a sentence is spoken, at most `SENTENCE_S`."""
        with speaking:
            try:
                speaking.communicate(text.encode(), timeout=SENTENCE_S)
            except subprocess.TimeoutExpired:
                speaking.kill()
            except BrokenPipeError:
                pass  # it ended without hearing us out: its exit status tells
        if speaking.returncode > 0:
            self._complain(say("The voice cannot be heard: check the machine’s sound device."))

    def _complain(self, sentence: str) -> None:
        if not self._has_complained:
            self._has_complained = True
            self._on_trouble(sentence)
