"""Another release in the place of the one in use: built beside, tried on a copy, switched to, taken back if need be.

Nothing here looks at the clock or starts a program but through `HostMachine`, so that tests can be the machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from companion.core.clock import RealClock
from companion.core.config import Settings
from companion.core.errors import CompanionError, Malformed, SystemTrouble
from companion.core.files import open_file
from companion.core.i18n import joined, say, say_n
from companion.maintenance.backup import BEFORE_UPDATE, make_backup
from companion.maintenance.releases.install import Package, build, keep_watch, read_package
from companion.maintenance.releases.releases import Home, ReleaseTrouble, SwitchedBack, as_owner_of, told
from companion.maintenance.releases.signature import has_key, is_signed, signature_of

UNIT = "companion.service"
START_S = 240.0
"""So long systemd may take to stop the service and to start it once, with all the unit's limits."""
HEALTHY_S = 30.0
"""So long it may take, once its pages answer, to say that it is well and which version it is."""
_INCOMING = ".incoming-"
"""How the name of a folder begins in which a package is checked."""
_LARGEST = 500_000_000
"""Bytes of a package, or of one it depends on."""
_VERSION = re.compile(r"(?P<numbers>[0-9]{1,9}(\.[0-9]{1,9})*)(\.?(?P<kind>dev|a|b|rc|post)(?P<count>[0-9]{1,9})?)?")


class HostMachine(Protocol):
    """What an update does to the machine around it."""

    def runs(self) -> bool:
        """Is the service running, about to, or tried again and again?"""

    def begin(self) -> bool:
        """Start it, and wait until it is ready; False: it has not come up at once, and may be tried again."""

    def end(self) -> None:
        """Stop it."""

    def health(self) -> Mapping[str, Any] | None:
        """What the service says of itself; None: it does not answer."""

    def check(self, program: Path) -> str:
        """Have a release check itself against a copy of the games; answers what is wrong, empty: nothing."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


@dataclass(frozen=True)
class Updater:
    """One installation and the machine it runs on; `say` tells whoever waits, `python` builds environments."""

    home: Home
    settings: Settings
    settings_file: Path
    machine: HostMachine
    python: str
    say: Callable[[str], None]

    @property
    def _journal(self) -> Path:
        return self.settings.journal_path

    def update(self, package: Package) -> None:
        """Install a package and use it; raises `SystemTrouble`, and then the release of before is in use as it was."""
        with _words():
            was = self._settled()
            name = build(self.home, package, self.python, self.say)
            if name == was:
                self.say(f"{name} is in use already.")
                return
            self.say(f"{name} checks itself against a copy of the games")
            if trouble := self.machine.check(self.home.program(name)):
                self.home.tidy()
                raise SystemTrouble(f"{name} is not used, {was} goes on: {trouble}")
            self.back_up()
            before = self.home.previous
            self.home.try_out(name, self._journal)
            if not self.machine.runs():
                self.say(f"{name} is used from the next start on; if it does not start, {was} is used again.")
                return
            self.say(f"Switching from {was} to {name}: the service restarts, a game goes on")
            if trouble := self._bring_up(name):
                raise SystemTrouble(f"{name} did not start ({trouble}). {self._return_to(was, before)}")
            self.say(f"{name} is in use. Back to {was}: companion update --back")
            keep_watch(self.home, name)
            self.home.tidy()

    def back(self) -> None:
        """Use the release of before again, with the games in a form that it can read; raises `SystemTrouble`."""
        with _words():
            left, name = self._settled(), self.home.previous
            if not name or name == left:
                raise SystemTrouble(f"There is no release before {left}: nothing to go back to")
            ran = self.machine.runs()
            if ran:
                self.machine.end()
            try:
                done = self.home.take_back(name, self._journal)
            except BaseException:  # also the one who waits no longer: no table stays without its referee
                if ran:
                    self.machine.begin()
                raise
            if ran and (trouble := self._bring_up(name)):
                raise SystemTrouble(f"{name} is in use, but it does not start: {trouble}")
            self.say(f"{name} is in use. {lost_words(done, self._journal.parent)}".rstrip())

    def _settled(self) -> str:
        """The name of the release in use, when no switch is under way."""
        current = self.home.current
        if not current:
            raise SystemTrouble(f"There is no release in {self.home.folder}: sudo make install")
        if self.home.pending() is not None:
            raise SystemTrouble(f"{current} has not started yet since you switched to it: start the service first")
        return current

    def back_up(self) -> None:
        state = self._journal.parent
        if not self._journal.exists():
            return
        with as_owner_of(state):
            unfinished = state / f".{BEFORE_UPDATE}.new"
            try:
                unfinished.touch(mode=0o600)
                with unfinished.open("wb") as target:
                    note = make_backup(self.settings, self.settings_file, RealClock(), photographs=False, target=target)
                unfinished.replace(state / BEFORE_UPDATE)
            finally:
                unfinished.unlink(missing_ok=True)  # half of it would only fill the disk
        self.say(f"{state / BEFORE_UPDATE}: {note.sentence()}")

    def _bring_up(self, name: str) -> str:
        """Start the service; answers why it is not well with this release, empty: it is."""
        if not self.machine.begin():
            return "the service did not start"
        version = self.home.release(name).version
        for _ in range(int(HEALTHY_S * 2)):
            health = self.machine.health()
            if health is not None and health.get("version") == version and health.get("ok", True):
                self.home.prove()
                return ""
            self.machine.wait(0.5)
        return "its pages do not answer" if health is None else f"it says it is {health.get('status')}"

    def _return_to(self, was: str, before: str) -> str:
        """Take the release of before again, and with it the one before that; answers what came of it."""
        self.machine.end()
        try:
            done = self.home.give_up(was, before, self._journal)
        except (OSError, sqlite3.Error) as error:
            self.machine.begin()
            return f"{was} cannot be used again: {_why(error)}. {self.home.current} is started once more."
        lost = lost_words(done, self._journal.parent)
        came_up = self.machine.begin()
        with suppress(OSError):  # what is left of the other goes with the next update
            self.home.tidy()
        if not came_up:
            return f"{was} is in use again, but it does not start either: journalctl -u {UNIT}. {lost}".rstrip()
        return f"{was} is in use again. {lost}".rstrip()


def lost_words(done: SwitchedBack, state: Path) -> str:
    """What was played with the newer release and is not in the older one's games; empty: nothing."""
    if not done.inputs:
        return ""
    return f"{done.inputs} inputs that were made with {done.left} are only in {state / done.file}."


def switched_back_words(state: Path) -> str:
    """What the service says when a release was put back with nobody there, once; empty: nothing happened."""
    done = told(state)
    if done is None:
        return ""
    failed = say("The new version {left} did not start: {taken} is in use again.", left=done.left, taken=done.taken)
    if not done.inputs:
        return failed
    lost = say_n(
        "{n} input was made with it and is only in {file}.",
        "{n} inputs were made with it and are only in {file}.",
        done.inputs,
        file=done.file,
    )
    return joined(" ", (failed, lost))


# ---- what is given ---------------------------------------------------------------------------------------------------


@contextmanager
def given(what: str, home: Home, trusted: Callable[[Path], None]) -> Iterator[Package]:
    """The package that was named, as a copy that only root can change; raises `SystemTrouble`, `Malformed`.

    `trusted` is given the copy before anybody has looked into it, and raises for one that is not to be used: what it
    sees is what will be installed, whatever becomes of the file that was named.
    """
    source = Path(what).absolute()
    if not source.name.endswith((".whl", ".tar.gz")):
        raise Malformed(f"{what} is not a release of this program: give a file that ends in .whl or .tar.gz")
    with _words():
        for left in home.folder.glob(f"{_INCOMING}*"):  # the power went
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=home.folder, prefix=_INCOMING) as folder:
            copy = Path(folder) / source.name
            _take(source, copy)
            if (signature := signature_of(source)).exists():
                _take(signature, signature_of(copy))
            trusted(copy)
            try:
                package = read_package(copy)
            except ReleaseTrouble as error:
                raise ReleaseTrouble(str(error).replace(str(copy), what)) from None
            take_dependencies(source.parent, copy, package.lock.decode())
            yield package


def _take(source: Path, copy: Path) -> str:
    """Copy an ordinary file, no link; answers its SHA-256. Raises `SystemTrouble`, and OSError."""
    digest = hashlib.sha256()
    try:
        file = open_file(source, follow_link=False)
    except FileNotFoundError:
        raise SystemTrouble(f"There is no file {source}") from None
    with file, copy.open("xb") as target:
        while piece := file.read(1_000_000):
            if target.tell() > _LARGEST:
                raise SystemTrouble(f"{source} is too large for a release of this program")
            digest.update(piece)
            target.write(piece)
    return digest.hexdigest()


def take_dependencies(folder: Path, copy: Path, lock: str) -> None:
    """Copy the packages beside it that are in its list: then nothing is fetched."""
    for wheel in sorted(folder.glob("*.whl")):
        beside = copy.with_name(wheel.name)
        if beside == copy or wheel.is_symlink():
            continue
        try:
            is_wanted = f"sha256:{_take(wheel, beside)}" in lock
        except OSError:  # whatever lies there under such a name
            is_wanted = False
        if not is_wanted:
            beside.unlink(missing_ok=True)


def demand_signature(home: Home, package: Path, unsigned: bool, tell: Callable[[str], None]) -> None:
    """Raise `SystemTrouble` unless this file is signed by whom the installation trusts, or root says it need not be.

    `unsigned`: root, at a terminal, vouches for it: no page and no service can say so.
    """
    if has_key(home) and is_signed(home, package):
        tell(f"{package.name} is signed by the key of this installation.")
        return
    if unsigned:
        if os.getuid() != 0 or os.geteuid() != 0 or not sys.stdin.isatty():
            raise SystemTrouble("--unsigned is for root alone, typed at a terminal")
        tell(f"{package.name} has no good signature: you vouch for it.")
        return
    advice = "Use --unsigned for a file that you built yourself."
    if not has_key(home):
        raise SystemTrouble(f"This installation trusts no key yet: sudo companion update --trust FILE.pub. {advice}")
    raise SystemTrouble(
        f"{package.name} has no good signature: nothing was changed. {signature_of(package).name} must be beside it, "
        f"made with the key that this installation trusts. {advice}"
    )


def demand_newer(home: Home, package: Package, older: bool) -> None:
    """Raise `SystemTrouble` for a version before the one in use, however well signed, unless that is what is wanted."""
    used = home.release(home.current).version
    if not older and _order(package.version) < _order(used):
        raise SystemTrouble(
            f"{package.version} is older than {used}, which is in use, and may have known faults. "
            "companion update --back goes back to the previous release; to install this one, add --older"
        )


def _order(version: str) -> tuple[tuple[int, ...], int, int]:
    """Versions in the order of PEP 440, as far as this program numbers itself: 1.2, 1.2rc1, 1.2.dev3, 1.2.post1.

    >>> sorted(["1.10", "1.2", "1.2rc1", "1.2.dev3", "1.2.0.post1", "1.2b2"], key=_order)
    ['1.2.dev3', '1.2b2', '1.2rc1', '1.2', '1.2.0.post1', '1.10']
    """
    found = _VERSION.match(version)
    if found is None:
        raise SystemTrouble(f"{version[:80]!r} is no version")
    numbers = [int(part) for part in found["numbers"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rank = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}[found["kind"]]
    return tuple(numbers), rank, int(found["count"] or 0)


@contextmanager
def _words() -> Iterator[None]:
    """What an installation complains of, as an error of this program."""
    try:
        yield
    except CompanionError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise SystemTrouble(_why(error)) from None


def _why(error: OSError | sqlite3.Error) -> str:
    """The words of something that failed; of many files the first one."""
    if isinstance(error, ReleaseTrouble):
        return error.message
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return str(error.args[0][0][-1])
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


# ---- the real machine ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThisMachine:
    """systemd, and the pages of the service; `ask` answers what `/health` says."""

    settings: Settings
    settings_file: Path
    ask: Callable[[], Mapping[str, Any] | None]

    def runs(self) -> bool:
        """Is the service running, about to, or tried again and again? Then it is "activating" most of the time."""
        state = self._systemctl("show", "--property=ActiveState", "--value", UNIT) or ""
        return state.strip() in ("active", "reloading", "refreshing", "activating", "deactivating")

    def begin(self) -> bool:
        """Start it as its unit now says.

        The first start in vain ends the wait, though `Restart=` has systemd go on trying: before a unit is tried again
        it has failed for a moment, and that fails the job (systemd's `service_enter_dead`, versions 252 to 257).
        """
        self._systemctl("daemon-reload")
        started = self._systemctl("restart", UNIT) is not None
        self._systemctl("try-restart", "companion-lamp.service")
        return started

    def end(self) -> None:
        """Stop it, also one that is about to be tried again."""
        self._systemctl("stop", UNIT)

    def health(self) -> Mapping[str, Any] | None:
        """What the pages say."""
        return self.ask()

    def check(self, program: Path) -> str:
        """`companion update --check` of the release, as the owner of the games."""
        state, file = (path.absolute() for path in (self.settings.journal_path.parent, self.settings_file))
        owner = state.stat() if state.exists() else None
        user: dict[str, Any] = {}
        if os.geteuid() == 0 and owner is not None and owner.st_uid != 0:
            user = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        command = [str(program), "update", "--check", "--settings", str(file), "--state-dir", str(state)]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=START_S, cwd="/", **user
            )
        except subprocess.TimeoutExpired:
            return f"its check took longer than {START_S:.0f} s"
        said = (ended.stderr or ended.stdout).strip()
        if said.startswith("Traceback"):  # its last line says what went wrong
            said = said.splitlines()[-1]
        return "" if ended.returncode == 0 else said or "its check failed"

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def _systemctl(self, *arguments: str) -> str | None:
        """What it says, None: it has failed."""
        command = ["systemctl", *arguments]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_S)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return ended.stdout if ended.returncode == 0 else None
