"""Helpers: check the disk of a machine that has lost its power, without mounting it.

The journal is then opened by the program itself. It is compared with the inputs that people at the
table were told are accepted before the cut.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.kit import SEATS
from companion.storage.journal import Journal
from companion.table.records import HandIn
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.table_view import TableView
from web.rendering.json_view import view_json

STATE = "/var/lib/tabletop-companion"


class SentInput(NamedTuple):
    """An input that somebody has sent to the service."""

    seat: str
    """The seat, or `table`."""
    moment: str
    """The number of the decision, such as `3.2`."""
    action: str
    salt: str


@dataclass
class Promises:
    """The inputs that people have sent, and those that the service must therefore keep."""

    sent: list[SentInput] = field(default_factory=list)
    """All inputs. Those that were not acknowledged may have arrived or not."""
    accepted: list[SentInput] = field(default_factory=list)
    """The inputs that were acknowledged by status 200."""


@dataclass
class CutReport:
    """What is wrong on a disk after a cut. All texts and lists must be empty.

    `inputs` is the number of records in the journal.
    """

    file_system: str = ""
    journal: str = ""
    lost: list[SentInput] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    revealed: list[str] = field(default_factory=list)
    inputs: int = 0

    @property
    def is_whole(self) -> bool:
        return not (self.file_system or self.journal or self.lost or self.doubled or self.revealed)


def examine(image: Path, folder: Path, promises: Promises, state_dir: str = STATE) -> CutReport:
    """Check file system, journal, inputs and secrets of a disk after a cut.

    The check of the file system repairs the image. `state_dir` is the service's folder on the disk.
    """
    report = CutReport(file_system=_check_file_system(image))
    state = _copy_state(image, folder, state_dir)
    path = state / "journal.sqlite"
    if not path.exists():
        report.journal = "there is no journal"
        return report
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            verdict = db.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.DatabaseError as error:
            report.journal, report.lost = str(error), list(promises.accepted)
            return report
    with Journal(path) as journal:
        entries = [entry.record for entry in journal.entries()]
        report.inputs = len(entries)
        hand_ins = [record for record in entries if isinstance(record, HandIn)]
        report.lost = [
            sent
            for sent in promises.accepted
            if not any(_is_same(record, sent) for record in hand_ins)
        ]
        report.doubled = _find_doubled(hand_ins, promises)
        report.revealed = _find_revealed(journal)
        if verdict != "ok" or journal.notice:
            report.journal = f"{verdict} {journal.notice}"
    return report


def _is_same(record: HandIn, sent: SentInput) -> bool:
    is_seat = sent.seat in ("table", str(record.seat))
    is_action = (record.moment, record.action) == (sent.moment, sent.action)
    return is_seat and is_action and sent.salt in ("", record.salt)


def _find_doubled(hand_ins: list[HandIn], promises: Promises) -> list[str]:
    """Return the inputs that are stored more often than they were sent, or that nobody has sent."""
    doubled: list[str] = []
    for sent in promises.sent:
        times = sum(_is_same(record, sent) for record in hand_ins)
        if times > promises.sent.count(sent):
            doubled.append(f"{sent} {times} times")
    unknown = [
        record for record in hand_ins if not any(_is_same(record, sent) for sent in promises.sent)
    ]
    return doubled + [str(record) for record in unknown]


def _find_revealed(journal: Journal) -> list[str]:
    """Return the seats whose sealed action anybody else is shown after the cut, with the moment.

    An action is shown if its salt is in the view of the other seat or of a spectator.
    """
    session = journal.restore()
    with Table(journal, FakeClock(), TableSettings()) as table:
        texts = {seat: json.dumps(_plain(table.view(seat))) for seat in (None, *SEATS)}
    shown = []
    for owner in SEATS:
        sealed = session.find_sealed_action(owner, session.moment)
        texts_of_others = [text for viewer, text in texts.items() if viewer is not owner]
        if (
            sealed
            and session.phase is Phase.ORDERS
            and any(sealed.salt in text for text in texts_of_others)
        ):
            shown.append(f"{owner} {session.moment}")
    return shown


def _plain(view: TableView) -> Any:
    return msgspec.to_builtins(view_json(view), enc_hook=str, str_keys=True)


# ---- the disk ------------------------------------------------------------------------------------


def _check_file_system(image: Path) -> str:
    """Replay the file system's own journal as the next start would, then check the file system.

    Return what is wrong, or an empty string. Status 1 of the first run is a repair that succeeded.
    """
    first = subprocess.run(
        ["e2fsck", "-p", str(image)], capture_output=True, text=True, check=False
    )
    second = subprocess.run(
        ["e2fsck", "-fn", str(image)], capture_output=True, text=True, check=False
    )
    if first.returncode <= 1 and second.returncode == 0:
        return ""
    return f"{first.returncode} {first.stdout} {second.returncode} {second.stdout}"


def _copy_state(image: Path, folder: Path, state_dir: str) -> Path:
    """Copy the service's state from the image to a folder, and return that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(
        ["debugfs", "-R", f"rdump {state_dir} {folder}", str(image)],
        capture_output=True,
        check=True,
    )
    return folder / Path(state_dir).name
