"""Ports: small interfaces between the table and its adapters, one file for each.

A port is a protocol and the values that pass through it. What stands behind it, such as a real
camera or a simulated one, is chosen once, at the start, in `companion/service/app.py`.
"""

from companion.core.ports.camera import Camera, CameraState, CameraStatus, Frame, Reading
from companion.core.ports.closeable import Closeable
from companion.core.ports.diagnosis import (
    Advice,
    BoardSeen,
    CameraOffer,
    Outline,
    SettledFrame,
    SquareSeen,
    Weakness,
)
from companion.core.ports.panel import (
    Alarm,
    Cue,
    PadKey,
    Press,
    SeatLamps,
    Signal,
    TurnLamp,
    signal_to,
)
from companion.core.ports.simulation import PanelHands, PanelView, WorldPiece
from companion.core.ports.speech import Spoken, Utterance

__all__ = [
    "Advice",
    "Alarm",
    "BoardSeen",
    "Camera",
    "CameraOffer",
    "CameraState",
    "CameraStatus",
    "Closeable",
    "Cue",
    "Frame",
    "Outline",
    "PadKey",
    "PanelHands",
    "PanelView",
    "Press",
    "Reading",
    "SeatLamps",
    "SettledFrame",
    "Signal",
    "Spoken",
    "SquareSeen",
    "TurnLamp",
    "Utterance",
    "Weakness",
    "WorldPiece",
    "signal_to",
]
