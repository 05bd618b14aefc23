"""Helpers: check the disk of a machine that has lost its power, without mounting the disk.

1. The file system is checked, and repaired as the next start would.
2. The service's folder is copied from the disk.
3. The program itself opens the journal in that copy.
4. The journal is compared with the inputs that the service had acknowledged before the cut.
5. What the other viewers are sent is searched for the salts of actions that were sealed at the cut.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.kit import SEATS
from companion.storage.journal import Journal
from companion.table.records import HandIn
from companion.table.session import Phase
from companion.table.table import Table
from web.rendering.json_view import view_json

# The service's folder on the disk.
STATE = "/var/lib/tabletop-companion"


class SentInput(NamedTuple):
    """An input that somebody has sent to the service."""

    seat: str
    """The seat, or `table` for the table button, which acts for the seat whose turn it is."""
    moment: str
    """The number of the decision, such as `3.2`."""
    action: str
    """The action in notation."""
    salt: str
    """The salt of a sealed action, or an empty string."""


@dataclass
class Promises:
    """The inputs that were sent before the cut, and those of them that the journal must have."""

    sent: list[SentInput] = field(default_factory=list)
    """All inputs. Those that were not acknowledged may have arrived or not."""
    accepted: list[SentInput] = field(default_factory=list)
    """The inputs that were acknowledged by status 200."""


@dataclass
class CutReport:
    """What is wrong on a disk after a cut. All texts and lists are empty if nothing is."""

    file_system: str = ""
    """What is wrong with the file system."""
    journal: str = ""
    """What is wrong with the journal."""
    lost: list[SentInput] = field(default_factory=list)
    """Acknowledged inputs that are not in the journal."""
    doubled: list[str] = field(default_factory=list)
    """Inputs that the journal has more often than they were sent."""
    revealed: list[str] = field(default_factory=list)
    """Seats and moments of sealed actions that the table shows to others."""
    records: int = 0
    """Number of records in the journal."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
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
            # nothing can be read, so everything is lost
            report.journal = str(error)
            report.lost = list(promises.accepted)
            return report
    with Journal(path) as journal:
        records = [entry.record for entry in journal.entries()]
        report.records = len(records)
        hand_ins = [record for record in records if isinstance(record, HandIn)]
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
    """Return whether a record of the journal stores this input."""
    is_seat = sent.seat in ("table", str(record.seat))
    is_action = (record.moment, record.action) == (sent.moment, sent.action)
    return is_seat and is_action and sent.salt in ("", record.salt)


def _find_doubled(hand_ins: list[HandIn], promises: Promises) -> list[str]:
    """Return the inputs that are stored more often than they were sent, or that nobody has sent."""
    doubled: list[str] = []
    for sent in promises.sent:
        stored = sum(_is_same(record, sent) for record in hand_ins)
        if stored > promises.sent.count(sent):
            doubled.append(f"{sent} {stored} times")
    never_sent = [
        record for record in hand_ins if not any(_is_same(record, sent) for sent in promises.sent)
    ]
    return doubled + [str(record) for record in never_sent]


def _find_revealed(journal: Journal) -> list[str]:
    """Return the seats whose sealed action is shown to anybody else after the cut, with the moment.

    An action is shown if its salt is in the view of the other seat or of a spectator.
    """
    session = journal.restore()
    with Table(journal, FakeClock(), TableSettings()) as table:
        texts = {
            viewer: msgspec.json.encode(view_json(table.view(viewer)), enc_hook=str).decode()
            for viewer in (None, *SEATS)
        }
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


# ---- the disk ------------------------------------------------------------------------------------


def _check_file_system(image: Path) -> str:
    """Repair the file system as the next start would, then check it.

    Return what is wrong, or an empty string. The repair replays the journal that ext4 itself keeps.
    Its status is 0 or, if something was repaired, 1.
    """
    repair = subprocess.run(
        ["e2fsck", "-p", str(image)], capture_output=True, text=True, check=False
    )
    check = subprocess.run(
        ["e2fsck", "-fn", str(image)], capture_output=True, text=True, check=False
    )
    if repair.returncode <= 1 and check.returncode == 0:
        return ""
    return f"{repair.returncode} {repair.stdout} {check.returncode} {check.stdout}"


def _copy_state(image: Path, folder: Path, state_dir: str) -> Path:
    """Copy the service's folder from the image into another folder, and return the copy."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(
        ["debugfs", "-R", f"rdump {state_dir} {folder}", str(image)],
        capture_output=True,
        check=True,
    )
    return folder / Path(state_dir).name
