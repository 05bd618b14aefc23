"""The releases of an installation: beside each other in one folder; which one is in use, and how another takes over.

    /opt/tabletop-companion/
        0.1.0/  0.2.0/       each an environment of its own; `release.json` in it is written last
        current -> 0.2.0     what the service runs
        previous -> 0.1.0    what it ran before
        pending.json         a switch that has not yet proved itself
        releases.py          a copy of this file

Nothing but the standard library is needed here, and no other file of the program: the service's unit runs the copy
before every start, so that a release that cannot even start is put back, whoever pulls the plug meanwhile. The copy
may be older or newer than the program that wrote `pending.json`: it passes over what it does not know there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

CURRENT, PREVIOUS, PENDING, STAMP, COPY = "current", "previous", "pending.json", "release.json", "releases.py"
TRIES = 3
"""So often a new release may begin to start; at the next start the old one is taken again."""
TOLD = "switched-back.json"
"""In the state directory: what happened when a release was put back without anybody there, to be told on the pages."""
HEAD = "-head"
"""What the second place of a journal is called, see `companion.storage.journal_head`."""
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,80}")


class ReleaseTrouble(OSError):
    """Something of the installation does not go; the message is the whole error."""

    @property
    def message(self) -> str:
        """The sentence for people."""
        return str(self.args[0])


@dataclass(frozen=True)
class Release:
    """One installed version. `journal_format` is the newest that it reads; `digest` is of its files, `lock` of its list
    of dependencies (SHA-256), `python` the interpreter's version.
    """

    name: str
    version: str
    journal_format: int
    digest: str
    lock: str
    python: str


@dataclass(frozen=True)
class Pending:
    """A switch from `back` to `release`: how often that has begun to start, and where the games lie.

    `before` was the previous one until then, empty: none.
    """

    release: str
    back: str
    journal: str
    starts: int = 0
    before: str = ""


@dataclass(frozen=True)
class SwitchedBack:
    """What was done: from and to are names. `inputs` were played since; they are kept in `file` (empty: none)."""

    left: str
    taken: str
    inputs: int = 0
    file: str = ""


class Home:
    """The folder of all releases. Every step is one rename, so a power cut leaves the old state or the new one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def current(self) -> str:
        """The name of the release in use, empty: none."""
        return self._link(CURRENT)

    @property
    def previous(self) -> str:
        """The name of the one before, empty: none."""
        return self._link(PREVIOUS)

    def _link(self, name: str) -> str:
        try:
            target = os.readlink(self.folder / name)
        except OSError:
            return ""
        return target if (self.folder / target / STAMP).exists() else ""

    def program(self, name: str) -> Path:
        """The `companion` of a release."""
        return self.folder / name / "bin" / "companion"

    def release(self, name: str) -> Release:
        """What is known of a release; raises `ReleaseTrouble` for one that is not wholly there."""
        try:
            return Release(**json.loads((self.folder / name / STAMP).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise ReleaseTrouble(f"There is no complete release {name} in {self.folder}") from None

    def all(self) -> tuple[Release, ...]:
        """Every release that is wholly there."""
        found = []
        for folder in sorted(self.folder.iterdir()) if self.folder.exists() else ():
            if not folder.is_symlink() and (folder / STAMP).exists():
                with contextlib.suppress(ReleaseTrouble):
                    found.append(self.release(folder.name))
        return tuple(found)

    def pending(self) -> Pending | None:
        """The switch that has not yet proved itself, or None, also when the power went before it."""
        try:
            said = json.loads((self.folder / PENDING).read_text(encoding="utf-8"))
            pending = Pending(**{each.name: said[each.name] for each in fields(Pending) if each.name in said})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            (self.folder / PENDING).unlink(missing_ok=True)  # nobody can tell any more what it meant
            return None
        return None if pending.back == self.current else pending

    # ---- switching ---------------------------------------------------------------------------------------------------

    def switch(self, name: str, before: str | None = None) -> None:
        """Use a release from the next start on; the previous one is then `before` (empty: none), or the one in use."""
        self.release(name)
        left = self.current
        if left == name:
            return
        if before is None:
            before = left or self.previous
        if before:
            self._point(PREVIOUS, before)
        else:
            (self.folder / PREVIOUS).unlink(missing_ok=True)
        self._point(CURRENT, name)

    def try_out(self, name: str, journal: Path) -> None:
        """Switch to a release that is put back unless the service comes up with it within `TRIES` starts."""
        left, trial = self.current, self.pending()
        if not left or left == name:
            self.switch(name)
            return
        if trial is None:
            trial = Pending(name, left, str(journal), before=self.previous)
        else:  # what is in use has not come up: nothing to go back to
            trial = replace(trial, release=name, starts=0)
        if name == trial.back:
            self.take_back(name, journal)
            return
        write_json(self.folder / PENDING, asdict(trial))
        self.switch(name, trial.back)

    def starting(self) -> SwitchedBack | None:
        """The service is about to start: a new release that has had its tries is put back."""
        pending = self.pending()
        if pending is None:
            return None
        if pending.release != self.current:  # the power went before the switch to another that was to be tried, too
            pending = replace(pending, release=self.current, starts=0)
        if pending.starts < TRIES:
            write_json(self.folder / PENDING, asdict(replace(pending, starts=pending.starts + 1)))
            return None
        done = self.take_back(pending.back, Path(pending.journal))
        tell(Path(pending.journal).parent, done)
        return done

    def give_up(self, name: str, before: str, journal: Path) -> SwitchedBack:
        """Take an older release back as if the one in use had had its tries; a power cut leaves it to the next start.

        `before` was the previous one of the older release. Raises as `take_back`.
        """
        write_json(self.folder / PENDING, asdict(Pending(self.current, name, str(journal), TRIES, before)))
        return self.take_back(name, journal)

    def prove(self) -> None:
        """The service has come up: the release in use stays."""
        (self.folder / PENDING).unlink(missing_ok=True)

    def take_back(self, name: str, journal: Path) -> SwitchedBack:
        """Switch to an older release, with the games as it can read them; may be done again after a power cut.

        Raises `ReleaseTrouble` when it cannot read them and no copy in its form was kept; then nothing is changed.
        """
        release, left, failed = self.release(name), self.current, self.pending()
        with as_owner_of(journal.parent):
            inputs, file = older_journal(journal, release.journal_format, left)
        self.switch(name, left if failed is None else failed.before)
        self.prove()
        return SwitchedBack(left, name, inputs, file)

    def tidy(self) -> None:
        """Remove what is neither in use nor the one before, and what was never finished."""
        kept = {self.current, self.previous}
        if (trial := self.pending()) is not None:
            kept |= {trial.back, trial.before}
        for folder in self.folder.iterdir():
            is_release = folder.is_dir() and not folder.is_symlink() and (folder / "pyvenv.cfg").exists()
            if is_release and folder.name not in kept:
                (folder / STAMP).unlink(missing_ok=True)  # first: half of a release is none
                shutil.rmtree(folder)

    def _point(self, link: str, name: str) -> None:
        unfinished = self.folder / f".{link}.new"
        unfinished.unlink(missing_ok=True)
        unfinished.symlink_to(name)
        unfinished.replace(self.folder / link)
        sync_folder(self.folder)


def free_name(home: Home, version: str, digest: str) -> str:
    """The folder's name for a version: that of the version, unless another build of it is there already."""
    if not _NAME.fullmatch(version) or version in (CURRENT, PREVIOUS):
        raise ReleaseTrouble(f"{version[:80]!r} is no version")
    folder = home.folder / version
    return f"{version}-{digest[:8]}" if (folder / STAMP).exists() else version


# ---- the games -------------------------------------------------------------------------------------------------------


def kept_copy(journal: Path, form: int) -> Path:
    """Where the journal was kept in an older form, before a newer release brought it into its own."""
    return journal.with_name(f"{journal.stem}.format-{form}{journal.suffix}")


def journal_form(journal: Path) -> int:
    """The form of the journal, 0: there is none, or it cannot be read."""
    if not journal.exists():
        return 0
    try:
        with closing(_open_to_read(journal)) as db:
            return int(db.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return 0


def _open_to_read(journal: Path) -> sqlite3.Connection:
    """A file in which nothing is run: no view of it, no function that it names."""
    db = sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True)
    db.execute("PRAGMA trusted_schema=OFF")
    db.set_authorizer(lambda *asked: sqlite3.SQLITE_OK if asked[4] is None else sqlite3.SQLITE_DENY)
    return db


def older_journal(journal: Path, form: int, left: str) -> tuple[int, str]:
    """Put the copy that was kept in an older form in the place of a newer journal, which is kept under another name.

    Answers how many inputs are only there, and that name; (0, ""): the journal is not newer. Raises `ReleaseTrouble`
    without a copy.
    """
    if journal_form(journal) <= form:
        return 0, ""
    copy = kept_copy(journal, form)
    if not copy.exists():
        raise ReleaseTrouble(
            f"The games in {journal} have been converted to a newer format, and there is no copy in the old one: "
            "the older release could not read them. Nothing was changed."
        )
    inputs = max(0, _inputs(journal) - _inputs(copy))
    with closing(sqlite3.connect(journal)) as db:
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise ReleaseTrouble(f"The games in {journal} are in use by another program: stop that first.")
    ready = journal.with_name(f"{journal.stem}.of-{left}.back{journal.suffix}")
    try:
        copy_database(copy, ready)
        aside = _kept_under(journal, left)
        if not aside.exists():
            os.link(journal, aside)  # at no moment is there no journal
        for suffix in ("-wal", "-shm", HEAD):  # all of it is in the journal, and the head is of that one
            Path(f"{journal}{suffix}").unlink(missing_ok=True)
        sync_folder(journal.parent)
        ready.replace(journal)
    except (OSError, sqlite3.Error):
        ready.unlink(missing_ok=True)
        raise
    sync_folder(journal.parent)
    return inputs, aside.name


def _kept_under(journal: Path, left: str) -> Path:
    """A free name for the journal of a release, or the one that it has already: the power went after that."""
    number, aside = 1, journal.with_name(f"{journal.stem}.of-{left}{journal.suffix}")
    while aside.exists() and not aside.samefile(journal):
        number += 1
        aside = journal.with_name(f"{journal.stem}.of-{left}-{number}{journal.suffix}")
    return aside


def _inputs(journal: Path) -> int:
    try:
        with closing(_open_to_read(journal)) as db:
            return int(db.execute("SELECT COUNT(*) FROM entries").fetchone()[0])
    except sqlite3.Error:
        return 0


def copy_database(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with closing(_open_to_read(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def tell(state: Path, done: SwitchedBack) -> None:
    """Leave word for the service, which says it on the pages."""
    with as_owner_of(state):
        write_json(state / TOLD, asdict(done))


def told(state: Path) -> SwitchedBack | None:
    """The word that was left, which is told once; None: none."""
    path = state / TOLD
    try:
        text = path.read_text(encoding="utf-8")
        path.unlink()
        return SwitchedBack(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return None


# ---- files -----------------------------------------------------------------------------------------------------------


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """Root works in a folder as its owner: nothing there becomes root's, and no link there leads root astray."""
    owner = folder.stat() if folder.exists() else None
    if os.geteuid() != 0 or owner is None or owner.st_uid == 0:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file so that after a power cut it is the old one or the new one."""
    unfinished = path.with_name(f".{path.name}.new")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """As `companion.core.files` has it: this file does without the program."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def main(arguments: list[str]) -> int:
    """`starting`, for the folder that this file lies in; nothing here may keep the service from starting."""
    home = Home(Path(__file__).resolve().parent)
    try:
        if arguments == ["starting"] and (done := home.starting()):
            print(f"<4>{done.left} did not start {TRIES} times: {done.taken} is used again", file=sys.stderr)
    except (OSError, sqlite3.Error) as error:
        print(f"<3>The release could not be looked after: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
