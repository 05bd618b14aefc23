"""Does the broker of the settings let the table in? For the doctor."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

from companion.core.config import MqttSettings
from companion.diagnostics.findings import Finding, Grade
from companion.mqtt.connection import Hooks, MqttConnection

TRIAL_S = 8.0
"""So long a trial lasts at most."""


def examine_broker(settings: MqttSettings) -> Iterator[Finding]:
    """Connect once, tell nothing, and say how that went; nothing where MQTT is switched off."""
    if not settings.enabled:
        return
    is_over = threading.Event()
    line = MqttConnection(settings, None, Hooks(on_state=lambda _: is_over.set(), on_lost=is_over.set))
    with closing(line):
        line.start()
        is_over.wait(TRIAL_S)
        yield broker_finding(line.is_connected, line.sentence)


def broker_finding(is_connected: bool, sentence: str) -> Finding:
    """What the doctor says of a connection."""
    return Finding("broker", Grade.OK if is_connected else Grade.WARN, sentence)
