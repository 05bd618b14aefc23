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
# Maximum number of waiting sentences. A newer one replaces the oldest.
MAX_WAITING = 3
# Timeout in seconds for one sentence. A longer one means that the sound device is stuck.
SENTENCE_TIMEOUT_S = 20.0
# Words per minute at speed 1, for `espeak-ng -s`. Slower than its default of 175, which is harder
# to follow across a table.
WORDS_PER_MINUTE = 150
# Amplitude at full volume, for `espeak-ng -a`. It is the largest that espeak-ng takes.
MAX_AMPLITUDE = 200

# Maximum time in seconds for which `close` waits for the thread.
_JOIN_TIMEOUT_S = 2.0


class MachineVoice(Closeable):
    """Speaks through `espeak-ng`. A context manager whose `close` may be called twice.

    `companion.speech` decides what is said and when. `start` starts the thread. Without it nothing
    happens by itself, and `step` speaks what waits.

    :param on_trouble: called with a sentence for people when speaking fails for the first time
    :param command: name or path of the program. Tests replace it
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
        # Sentences that are still to be spoken, each with its language.
        self._queue: deque[tuple[str, str]] = deque(maxlen=MAX_WAITING)
        # Wakes the thread up when there is a new sentence, or when it has to end. Its lock also
        # guards `_process`.
        self._changed = threading.Condition()
        # The process that speaks now. None while nothing is spoken.
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._is_trouble_reported = False
        self._thread = threading.Thread(target=self._run, name="voice", daemon=True)

    def start(self) -> None:
        """Speak in a thread of its own from now on."""
        self._thread.start()

    @property
    def is_installed(self) -> bool:
        """Whether `espeak-ng` is installed."""
        return shutil.which(self._command) is not None

    def say(self, text: str, language: str) -> None:
        """Queue a sentence and return at once."""
        with self._changed:
            if not self._is_closed:
                self._queue.append((text, language))
                self._changed.notify()

    def hush(self) -> None:
        """Stop speaking and empty the queue."""
        with self._changed:
            self._queue.clear()
            if self._process:
                self._process.kill()

    def use_settings(self, settings: VoiceSettings) -> None:
        """Use other settings of volume and speed, from the next sentence on."""
        self._settings = settings

    def step(self) -> None:
        """Speak all waiting sentences."""
        while self._queue:
            with suppress(IndexError):  # `hush` has just emptied the queue
                text, language = self._queue.popleft()
                self._speak(text, language)

    def close(self) -> None:
        """Stop speaking and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self.hush()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT_S)

    # ---- the thread ----

    def _run(self) -> None:
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
            self.step()

    def _speak(self, text: str, language: str) -> None:
        settings = self._settings
        arguments = [
            self._command, "-v", language, "-s", str(round(WORDS_PER_MINUTE * settings.speed)),
            "-a", str(round(MAX_AMPLITUDE * settings.volume)), "--stdin",
        ]  # fmt: skip
        try:
            with self._changed:
                if self._is_closed:
                    return
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            self._wait_until_spoken(self._process, text)
        except OSError as error:
            _log.info("No voice: %s", error)
            self._report_trouble(say("No voice: install espeak-ng (sudo apt install espeak-ng)."))
        finally:
            with self._changed:
                self._process = None

    def _wait_until_spoken(self, process: subprocess.Popen[bytes], text: str) -> None:
        """Give a sentence to espeak-ng and wait until it ends, at most `SENTENCE_TIMEOUT_S`."""
        with process:
            try:
                process.communicate(text.encode(), timeout=SENTENCE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            except BrokenPipeError:
                # The program has ended before it had read the whole sentence.
                pass
        # The status is negative if the program was killed, by `hush` or by the timeout above. That
        # is no trouble of the sound device.
        if process.returncode > 0:
            self._report_trouble(
                say("The voice cannot be heard: check the machine’s sound device.")
            )

    def _report_trouble(self, sentence: str) -> None:
        if not self._is_trouble_reported:
            self._is_trouble_reported = True
            self._on_trouble(sentence)
