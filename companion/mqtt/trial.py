"""Does the broker of the settings let the table in? For the doctor."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from companion.core.config import MqttSettings
from companion.diagnostics.findings import Finding, Grade
from companion.mqtt.connection import BrokerLine

TRIAL_S = 8.0
"""Timeout in seconds for one try."""


def examine_broker(settings: MqttSettings) -> Iterator[Finding]:
    """Connect once, tell nothing, and say how that went. Nothing where MQTT is switched off."""
    if not settings.enabled:
        return
    is_over = threading.Event()
    with BrokerLine(settings, on_state=lambda _: is_over.set()) as line:
        line.start()
        is_over.wait(TRIAL_S)
        yield broker_finding(line.is_connected, line.sentence)


def broker_finding(is_well: bool, sentence: str) -> Finding:
    """Return what the doctor says of a connection."""
    return Finding("broker", Grade.OK if is_well else Grade.WARN, sentence)
