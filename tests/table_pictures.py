"""Helpers: simulated tables for tests and benches, whose kits are printed once in a whole run."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
from run_folder import FOLDER_VARIABLE

from companion.core.kit import Kit
from companion.printing.printed_kit import printed_kit
from vision.simulation.printed import PrintedKit
from vision.simulation.table import SimulatedTable
from vision.simulation.view import CameraView

# Printed kits by a hash of the kit.
_printed_kits: dict[str, PrintedKit] = {}


def rendered_table(kit: Kit, view: CameraView | None = None) -> SimulatedTable:
    """Return a simulated table on which this kit lies as it is printed."""
    return SimulatedTable(kit, view, print_kit=print_once)


def print_once(kit: Kit) -> PrintedKit:
    """Return the pictures of a printed kit. Another process of this run may have made them."""
    # the printed pictures do not depend on the height of pieces
    flat = replace(kit, faces=tuple(replace(face, height_mm=2.0) for face in kit.faces))
    key = sha256(repr(flat).encode()).hexdigest()
    if key not in _printed_kits:
        folder = os.environ.get(FOLDER_VARIABLE)
        _printed_kits[key] = (
            _print_for_all(flat, Path(folder) / key) if folder else printed_kit(flat)
        )
    return _printed_kits[key]


def _print_for_all(kit: Kit, path: Path) -> PrintedKit:
    """Return the pictures that are stored at a path, or make them and store them there."""
    if path.exists():
        return msgspec.msgpack.decode(path.read_bytes(), type=PrintedKit)
    pictures = printed_kit(kit)
    # rename the finished file, so that other processes never see a part of it
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(msgspec.msgpack.encode(pictures))
    unfinished.rename(path)
    return pictures
