"""The panel: two pads of keys and lamps, a buzzer and the table button.

Four kinds of threads meet here:

1. The pin factory's thread notices an edge, which is a change of a key's line. It only puts the
   edge with its time into a queue.
2. `panel-input` takes edges from that queue, debounces them and calls `on_press`. A slow listener
   delays keys, but no key is lost, and each keeps the time of its press.
3. Any thread says what lamps and buzzer should do. `show` sets the lasting lamps, `signal` plays a
   cue (the tone and lights of one event), and `set_alarms` plays cues later. All this goes into
   another queue.
4. `panel-output` takes it from there and drives the pins (`hardware.outputs`). No other thread
   does, so no two threads drive the same lamp.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from gpiozero import Device

from companion.core.clock import Clock
from companion.core.config import PanelSettings
from companion.core.errors import PanelError, format_trace
from companion.core.i18n import say
from companion.core.ports import Closeable, PadKey, Press, Signal
from hardware.debounce import Debouncer, KeyEvent
from hardware.outputs import PanelOutputs
from hardware.pin_factory import open_pin_factory
from hardware.wiring import (
    Button,
    ButtonPin,
    Buzzer,
    Lamp,
    LampPin,
    button_pins,
    buzzer_pin,
    lamp_pins,
)

_log = logging.getLogger(__name__)

_Device = TypeVar("_Device", Button, Lamp, Buzzer)

# Minimum time in seconds for which the input thread waits, so that it never spins.
_MIN_PAUSE_S = 0.0005
# Interval in seconds at which the line of a pressed key is read, because edges can get lost.
_POLL_INTERVAL_S = 0.02
# Maximum age in seconds of an edge's time stamp. The kernel decides from which clock the stamps
# come that lgpio passes on. A stamp that is older, or in the future, does not come from the
# monotonic clock, and is replaced by the present time.
MAX_STAMP_AGE_S = 1.0

# Maximum time in seconds for which `close` waits for a thread.
_JOIN_TIMEOUT_S = 2.0


class _Key(NamedTuple):
    """An open button with its wiring, and the debouncer that decides what is a press."""

    pin: ButtonPin
    button: Button
    debouncer: Debouncer


class _Edge(NamedTuple):
    """A change of a key's line, with its time stamp in monotonic seconds."""

    key: _Key
    is_down: bool
    stamp_s: float


class Panel(Closeable):
    """Buttons, lamps and buzzer as wired in the settings.

    The service opens one, and connects it to the table. It is a context manager whose `close` may
    be called twice. A pin that cannot be used is named in `problems`, and the rest works without
    it. `start` starts the threads. Without them nothing happens by itself, and `step` does all that
    is due.

    :param on_press: gets a `Press` when a key is pressed, again when it has been held, and once
        more when Back has been held for long. It is called in the panel's own thread. Exceptions
        that it raises are logged
    :param pin_factory: where the pins come from. None opens the machine's own pins, which may raise
        `PanelError`
    """

    def __init__(
        self,
        settings: PanelSettings,
        clock: Clock,
        on_press: Callable[[Press], None],
        pin_factory: Any = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._on_press = on_press
        self.on_table_button: Callable[[KeyEvent, Press], None] | None = None
        """Listener for the table button instead of `on_press`. It gets every event of the button,
        with the press that the event belongs to (see `hardware.power`).
        """
        # Edges that are not debounced yet. None ends the thread.
        self._edges: SimpleQueue[_Edge | None] = SimpleQueue()
        self.problems: tuple[str, ...] = ()
        """A sentence for every pin that could not be opened or has failed, with what to do."""
        # Names of the buttons whose line can no longer be read.
        self._failed: set[str] = set()
        # Monotonic time at which the owner's check of the panel ends.
        self._checked_until_s = -math.inf
        self.checked_buttons: frozenset[str] = frozenset()
        """Names of the buttons that were pressed, held or released during a check.

        `PanelChecker.begin` empties it.
        """
        self._close_lock = threading.Lock()
        self._is_closed = False

        factory = open_pin_factory() if pin_factory is None else pin_factory
        is_own_factory = pin_factory is None and factory is not Device.pin_factory
        # The factory that this panel has opened itself, which is lgpio's. None if it has another
        # one. The difference matters twice:
        # - The panel closes only its own factory. `Device.pin_factory` belongs to the whole
        #   process, and gpiozero closes it at exit.
        # - The panel uses only the time stamps of its own factory (see `_open_key`). Another
        #   factory may have a clock of its own.
        self._own_factory = factory if is_own_factory else None
        # The devices that could be opened: buttons by their names, lamps by their wiring, and the
        # buzzer.
        self._keys: dict[str, _Key] = {}
        self._lamps: dict[LampPin, Lamp] = {}
        self._buzzer: Buzzer | None = None
        self._open_pins(factory)
        self.buttons = tuple(self._keys)
        """Names of the buttons that could be opened, such as `south_up` and `table`."""
        self.lamps = tuple(pin.name for pin in self._lamps)
        """Names of the lamps that could be opened, such as `south_1` and `north_turn`."""
        self.has_buzzer = self._buzzer is not None

        self._outputs = outputs = PanelOutputs(
            self._lamps, self._buzzer, settings, clock, self._report_failure
        )

        # Methods of `PanelOutputs` (`hardware/outputs.py`) that belong to the panel as well. Any
        # thread may call them, as the table does.
        self.signal = outputs.signal
        self.show = outputs.show
        self.set_alarms = outputs.set_alarms
        self.set_silent = outputs.set_silent
        self._threads = (
            threading.Thread(target=self._read_keys, name="panel-input", daemon=True),
            threading.Thread(target=self._outputs.run, name="panel-output", daemon=True),
        )

    def start(self) -> None:
        """Read keys and drive the outputs in threads of their own from now on."""
        for thread in self._threads:
            thread.start()

    # ---- what others call, from any thread ----

    def show_check(
        self, until_s: float, lamps: frozenset[str], signal: Signal | None = None
    ) -> None:
        """Start or extend the owner's check, until a monotonic time.

        Before `until_s` keys have no effect, and lamps and buzzer show only these `lamps` and the
        last `signal` of a check, nothing of the table. A time that is past ends the check.
        """
        self._checked_until_s = until_s
        self._outputs.show_check(until_s, lamps, signal)

    @property
    def pressed_buttons(self) -> frozenset[str]:
        """Names of the buttons that are pressed now.

        Only for a check or before a game. During a game a player's keys are secret.
        """
        return frozenset(
            name
            for name, key in self._keys.items()
            if key.debouncer.is_latched and name not in self._failed
        )

    def step(self) -> None:
        """Do what the threads of `start` would do now: process edges, drive lamps and buzzer.

        Only for a panel without threads.
        """
        if self._is_closed:
            return
        while not self._edges.empty():
            edge = self._edges.get()
            if edge is not None:
                self._handle_edge(edge)
        self._poll_pressed_keys()
        self._outputs.step()

    def close(self) -> None:
        """End the threads, switch everything off and release the pins.

        A thread that has not ended after `_JOIN_TIMEOUT_S` is left behind and logged.
        """
        with self._close_lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._edges.put(None)
        self._outputs.end()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(_JOIN_TIMEOUT_S)
                if thread.is_alive():
                    _log.error("The thread %s does not end: a listener is stuck", thread.name)
        for name, key in self._keys.items():
            self._release(name, key.button.close)
        for pin, lamp in self._lamps.items():
            self._release(pin.name, lamp.close)
        if self._buzzer is not None:
            self._release("the buzzer", self._buzzer.close)
        if self._own_factory is not None:
            self._release("the pins", self._own_factory.close)

    # ---- opening and losing pins ----

    def _open_pins(self, factory: Any) -> None:
        """Open all wired pins. One that cannot be used is left out, and named in `problems`."""
        for button_pin in button_pins(self._settings):
            self._open_key(button_pin, factory)
        for pin in lamp_pins(self._settings):
            if (lamp := self._open(pin.name, pin.gpio, partial(Lamp, pin, factory))) is not None:
                self._lamps[pin] = lamp
        if (gpio := buzzer_pin(self._settings)) is not None:
            self._buzzer = self._open("buzzer", gpio, partial(Buzzer, gpio, factory))

    def _open(self, name: str, gpio: int, open_pin: Callable[[], _Device]) -> _Device | None:
        """Open a device and return it. If that fails, report the problem and return None."""
        try:
            return open_pin()
        except Exception as error:
            # Every pin library has its own errors. One bad pin must not take the rest with it.
            self._report_problem(
                say(
                    "{name} on GPIO {pin} cannot be used: {remedy}",
                    name=name,
                    pin=gpio,
                    remedy=_remedy(error),
                )
            )
            return None

    def _open_key(self, pin: ButtonPin, factory: Any) -> None:
        """Open a button. Its edges go into the queue with their times."""

        def queue_edge(is_down: bool, stamp_s: float) -> None:
            now_s = self._clock.monotonic_s()
            # A stamp can be used if it comes from the panel's own factory and fits the monotonic
            # clock.
            has_good_stamp = (
                self._own_factory is not None and 0 <= now_s - stamp_s < MAX_STAMP_AGE_S
            )
            # An edge that comes before the button is fully open is ignored.
            if (key := self._keys.get(pin.name)) is not None:
                self._edges.put(_Edge(key, is_down, stamp_s if has_good_stamp else now_s))

        button = self._open(pin.name, pin.gpio, partial(Button, pin.gpio, queue_edge, factory))
        if button is not None:
            debouncer = Debouncer(self._settings.debounce_ms / 1000, button.is_down())
            self._keys[pin.name] = _Key(pin, button, debouncer)

    def _report_problem(self, problem: str) -> None:
        self.problems = (*self.problems, problem)
        _log.warning("%s", problem)

    def _report_failure(self, name: str, error: Exception) -> None:
        """Report a lamp or buzzer that has failed in use."""
        self._report_problem(
            say("{name} no longer works: {remedy}", name=name, remedy=_remedy(error))
        )

    def _release(self, name: str, close_pin: Callable[[], None]) -> None:
        try:
            close_pin()
        except Exception:  # the other devices must be released all the same
            _log.exception("%s could not be released", name)

    # ---- keys: the thread panel-input ----

    def _read_keys(self) -> None:
        while True:
            try:
                edge = self._edges.get(timeout=self._seconds_until_next_read())
            except Empty:
                self._poll_pressed_keys()
                continue
            if edge is None or self._is_closed:
                return
            self._handle_edge(edge)

    def _handle_edge(self, edge: _Edge) -> None:
        self._handle_key_events(
            edge.key, edge.key.debouncer.process_edge(edge.is_down, edge.stamp_s)
        )

    def _seconds_until_next_read(self) -> float | None:
        """Return the seconds until the line of a key has to be read. None while no key is down.

        A key that is down is read at regular intervals. If an edge has just come that may be only a
        spike, the key is read when the debouncer has to decide that.
        """
        pauses_s = []
        now_s = self._clock.monotonic_s()
        for name, key in self._keys.items():
            if name in self._failed:
                continue
            if key.debouncer.is_latched:
                pauses_s.append(_POLL_INTERVAL_S)
            if key.debouncer.is_waiting:
                until_due_s = key.debouncer.due_at_s - now_s
                # The debouncer still cannot decide: the edge that ended a pulse is on its way, or
                # lost. Then read the line at regular intervals instead of all the time.
                is_late = until_due_s < -_POLL_INTERVAL_S
                pauses_s.append(_POLL_INTERVAL_S if is_late else max(_MIN_PAUSE_S, until_due_s))
        return min(pauses_s, default=None)

    def _poll_pressed_keys(self) -> None:
        """Read the lines of keys that are down, because an edge may have been lost."""
        for key in self._keys.values():
            is_active = key.debouncer.is_latched or key.debouncer.is_waiting
            if not is_active or key.pin.name in self._failed or self._is_closed:
                continue
            try:
                is_down = key.button.is_down()
            except Exception as error:
                # Only keys that are down are read. So a message that named the key would reveal
                # which key a player is pressing.
                self._failed.add(key.pin.name)
                remedy = _remedy(error)
                problem = say("The table button no longer works: {remedy}", remedy=remedy)
                if key.pin.seat:
                    problem = say(
                        "A key of the {pad} pad no longer works: {remedy}",
                        pad=key.pin.seat,
                        remedy=remedy,
                    )
                self._report_problem(problem)
                continue
            self._handle_key_events(key, key.debouncer.poll(is_down, self._clock.monotonic_s()))

    def _handle_key_events(self, key: _Key, events: Sequence[KeyEvent]) -> None:
        """Pass a key's events on to the listeners. During a check only remember the button."""
        if events and self._clock.monotonic_s() < self._checked_until_s:
            self.checked_buttons |= {key.pin.name}
            return
        for event in events:
            is_long = event is KeyEvent.HELD_LONG
            is_held = is_long or event is KeyEvent.HELD
            press = Press(key.pin.seat, key.pin.key, key.debouncer.pressed_at_s, is_held, is_long)
            try:
                if key.pin.key is PadKey.TABLE and self.on_table_button:
                    self.on_table_button(event, press)
                elif event in (KeyEvent.PRESSED, KeyEvent.HELD) or (
                    is_long and key.pin.key is PadKey.BACK
                ):
                    self._on_press(press)
            except Exception as error:
                # Whatever the table does with a press, the next one must count. The log does not
                # name the key, which is its player's secret.
                _log.error("The listener failed on a press: %s", format_trace(error))


def _remedy(error: Exception) -> str:
    """Return what is wrong with a pin and what to do, as a part of a sentence."""
    return say(
        "{error}. Check that nothing else uses the pin, or leave it out in [panel]",
        error=str(error) or type(error).__name__,
    )


def open_panel(settings: PanelSettings, clock: Clock, on_press: Callable[[Press], None]) -> Panel:
    """Open the panel on the machine's own pins.

    Raises `PanelError`, with what to do about it, if the pins cannot be opened or the panel is
    switched off.
    """
    if settings.enabled == "no":
        raise PanelError(say("The panel is switched off: set enabled to auto or yes in [panel]."))
    return Panel(settings, clock, on_press)
