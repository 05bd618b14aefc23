"""What the table and its adapters say to each other, a file a port: devices stand behind them,
chosen once at start.
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
