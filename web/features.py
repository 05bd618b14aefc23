"""What the application of the pages is given: where it is served, and what the installation has
beside its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from companion.archive.history import History
from companion.archive.photographs import PhotographFolder
from companion.bots.characters import Character
from companion.bots.coach import Coach
from companion.core.clock import Clock
from companion.core.config import WebSettings
from companion.core.kit import Seat
from companion.core.network import Wifi
from companion.core.ports import CameraStatus, PanelHands, Spoken
from companion.diagnostics.findings import HealthRoom
from companion.maintenance.own_wifi import OwnWifi
from companion.maintenance.requests import CheckRoom
from companion.maintenance.upkeep import Upkeep
from companion.printing.kit_printer import KitPrinter
from companion.table.seats.staff_call import StaffBell
from vision.network.phone import PHONE, PhoneLine
from web.security.codes import PhonePairing

if TYPE_CHECKING:
    from vision.diagnosis import BoardEye
    from vision.simulation.table import SimulatedTable


@dataclass(frozen=True)
class Site:
    """Where the pages are served, and the secrets by which they know people.

    `join_urls` answers the addresses of the table screen, the best one for phones first.
    `signing_key` signs the cookies of seats and host; `host_key` is what a person types to become
    the host, `make_host_key` makes another one and keeps it. `compiled` is a folder for compiled
    templates. `key_command` shows the host key on the machine.
    """

    settings: WebSettings
    join_urls: Callable[[], tuple[str, ...]]
    signing_key: bytes
    host_key: str
    make_host_key: Callable[[], str] | None = None
    compiled: Path | None = None
    key_command: str = "companion host-key"
    is_key_used: Callable[[], bool] = lambda: True
    """Whether anybody has become the host by the key. Until then the own screen tells it."""
    note_key_used: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Workbench:
    """The simulated table and panel, where there is no hardware."""

    world: SimulatedTable
    hands: PanelHands


@dataclass(frozen=True)
class Welcome:
    """What helps people in and along: the Wi-Fi (None: no code for it), a screen’s voice, whether
    there are pads.
    """

    wifi: Callable[[], Wifi | None] = lambda: None
    voice: Spoken | None = None
    has_pads: bool = False


@dataclass(frozen=True)
class PhoneRoom:
    """What an old phone needs to be the camera.

    `eye` is None while no camera is watched, `status` tells how the camera is. `urls` are the
    addresses of all pages, `address` opens the way by HTTPS and returns its address; it raises a
    `CompanionError`. `is_open` tells whether that way is there already.
    """

    line: PhoneLine
    pairing: PhonePairing
    eye: Callable[[], BoardEye | None]
    status: Callable[[], CameraStatus]
    urls: Callable[[], tuple[str, ...]]
    address: Callable[[], str]
    is_open: Callable[[], bool]
    clock: Clock

    @property
    def is_camera(self) -> bool:
        """Return whether an old phone is the camera now."""
        return bool(self.pairing.phone)

    def use(self) -> None:
        """Have the paired phone watched, or the camera of the settings when there is none."""
        self.line.phone = self.pairing.phone
        eye = self.eye()
        if eye:
            eye.choose(PHONE if self.is_camera else "")

    def remove(self) -> None:
        """Let the phone be the camera no longer."""
        self.pairing.remove()
        self.use()


@dataclass(frozen=True)
class CameraRoom:
    """The camera for pages: the eye (None: no camera), the photographs, and what an old phone
    needs.
    """

    eye: BoardEye | None
    album: PhotographFolder
    phone: PhoneRoom | None = None


class HubSeat(Protocol):
    """The table's place at a hub."""

    @property
    def is_member(self) -> bool:
        """Return whether this table has joined a hub."""

    @property
    def sentence(self) -> str:
        """Return how the line to the hub is. Empty: this table has joined none."""

    @property
    def address(self) -> str:
        """Return where the hub's pages are. Empty: this table has joined none."""

    def join(self, address: str, code: str, names: bool, ca: str = "") -> None:
        """Join the hub at this address and leave the one of before. Raises a `CompanionError`."""

    def show_card(self, seat: Seat, code: str, sitting: str) -> None:
        """Show the card of whoever sits there.

        An empty code takes it away. Raises a `CompanionError`.
        """

    def leave(self) -> None:
        """Leave the hub. Raises `Illegal` while a game at two tables is on."""

    @property
    def offered(self) -> str:
        """Return the code under which this table offers a game at two tables.

        Empty: it offers none.
        """

    def offer_game(self, game: str, options: Mapping[str, Any], seat: Seat, name: str) -> str:
        """Offer a game of which this table plays a seat, and return its code.

        Raises a `CompanionError`.
        """

    def take_game(self, code: str, name: str) -> None:
        """Play the game that another table offers under this code. Raises a `CompanionError`."""

    def withdraw_game(self) -> None:
        """Withdraw the game that is offered. Raises a `CompanionError`."""


@dataclass(frozen=True)
class Features:
    """What an installation has beside its table. None: it has no such pages.

    `upkeep` is what the settings page writes, `check` tries pads and lamps, `past` are the games
    that were played, `health` says how the service is, `staff` is the key that calls somebody.
    `workbench` is there in simulation only. `opponents` are the characters that the machine can
    play as, `coach` is who advises people, `hub` joins a room of many tables, `own_wifi` changes
    the machine's Wi-Fi.
    """

    welcome: Welcome = field(default_factory=Welcome)
    workbench: Workbench | None = None
    camera: CameraRoom | None = None
    printer: KitPrinter | None = None
    upkeep: Upkeep | None = None
    check: CheckRoom | None = None
    past: History | None = None
    health: HealthRoom | None = None
    staff: StaffBell | None = None
    opponents: tuple[Character, ...] = ()
    coach: Coach | None = None
    hub: HubSeat | None = None
    own_wifi: OwnWifi | None = None
    has_first_evening: bool = False
    """Whether a new owner is asked four questions first."""
