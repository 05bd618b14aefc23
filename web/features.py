"""The configuration of the web application: where it is served, and which optional parts it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from companion.archive.history import History
from companion.archive.photographs import PhotographAlbum
from companion.bots.characters import Character
from companion.bots.coach import Coach
from companion.core.clock import Clock
from companion.core.config import WebSettings
from companion.core.kit import Seat
from companion.core.network import Wifi
from companion.core.ports import CameraStatus, PanelHands, Spoken
from companion.diagnostics.findings import HealthSource
from companion.maintenance.own_wifi import OwnWifi
from companion.maintenance.panel_check import PanelCheckFeature
from companion.maintenance.upkeep import Upkeep
from companion.printing.kit_printer import KitPrinter
from companion.table.seats.staff_call import StaffBell
from vision.network.phone import PHONE, PhoneLink
from web.security.codes import PhonePairing

if TYPE_CHECKING:
    from vision.diagnosis import BoardEye
    from vision.simulation.table import SimulatedTable


@dataclass(frozen=True)
class SiteConfig:
    """How the pages of a table or a hub are served, and the secrets that identify people.

    The service makes it once, when it starts.
    """

    settings: WebSettings
    join_urls: Callable[[], tuple[str, ...]]
    """Returns the addresses of the first page, the best one for phones first."""
    signing_key: bytes
    """Key that signs the cookies of seats and owner."""
    host_key: str
    """What a person types to become the owner."""
    make_host_key: Callable[[], str] | None = None
    """Stores a new owner key and returns it. None if the key cannot be changed by a page."""
    template_cache: Path | None = None
    """Folder for compiled templates, or None to compile them at every start."""
    key_command: str = "companion host-key"
    """Command that shows the owner key on the machine."""
    is_key_used: Callable[[], bool] = lambda: True
    """Returns whether anybody has become the owner by the key.

    Until then the machine's own screen shows the key, and so does a browser in the machine's own
    Wi-Fi.
    """
    note_key_used: Callable[[], None] = lambda: None
    """Notes that somebody has become the owner by the key."""


@dataclass(frozen=True)
class SimulationFeature:
    """The simulated table and panel, which replace the hardware."""

    world: SimulatedTable
    """The rendered table, which the simulated camera sees."""
    panel: PanelHands
    """The simulated keys, lamps and buzzer, for hands to press and see."""


@dataclass(frozen=True)
class TableEquipment:
    """What a table has for its players besides their phones: Wi-Fi, a voice, pads."""

    wifi: Callable[[], Wifi | None] = lambda: None
    """Returns the Wi-Fi for guests, or None. Pages show it as a code to scan."""
    voice: Spoken | None = None
    """The sentences that the table speaks, which a table screen may speak instead of it."""
    has_pads: bool = False
    """Whether seats have pads."""


@dataclass(frozen=True)
class PhoneCameraFeature:
    """An old phone as the camera."""

    connection: PhoneLink
    """Passes the phone's pictures to the reader of the board."""
    pairing: PhonePairing
    """Which phone is the camera, and the code for the next one."""
    find_board_eye: Callable[[], BoardEye | None]
    """Returns what reads the board, or None while no camera is in use."""
    status: Callable[[], CameraStatus]
    """Returns the state of the camera."""
    urls: Callable[[], tuple[str, ...]]
    """Returns the addresses of the first page, the best one for phones first."""
    open_address: Callable[[], str]
    """Opens the HTTPS port for the phone's page, and returns the address of that port.

    Raises a `CompanionError` if it cannot be opened.
    """
    is_open: Callable[[], bool]
    """Returns whether the HTTPS port is open already."""
    clock: Clock

    @property
    def is_camera(self) -> bool:
        """Whether an old phone is the camera now."""
        return bool(self.pairing.token)

    def choose_camera(self) -> None:
        """Let the reader of the board use the paired phone, or else the configured camera."""
        self.connection.phone = self.pairing.token
        board_eye = self.find_board_eye()
        if board_eye:
            board_eye.link.choose(PHONE if self.is_camera else "")

    def remove(self) -> None:
        """Stop using the phone as the camera."""
        self.pairing.remove()
        self.choose_camera()


@dataclass(frozen=True)
class CameraFeature:
    """The camera, and what pages show of it."""

    board_eye: BoardEye | None
    """Reads the board in the camera's pictures. None without a camera."""
    album: PhotographAlbum
    """The photographs of turns."""
    phone: PhoneCameraFeature | None = None


class HubPairs(Protocol):
    """Games that are played at two tables of a hub. Every method may raise a `CompanionError`."""

    def offer(self, game: str, options: dict[str, Any], seat: Seat, name: str) -> str:
        """Offer a game in which this table plays one seat, and return its code."""

    def accept(self, code: str, name: str) -> None:
        """Accept the game that another table offers under a code."""

    def withdraw(self) -> None:
        """Withdraw the offered game."""


class HubClient(Protocol):
    """The table's connection to a hub."""

    @property
    def is_member(self) -> bool:
        """Whether this table has joined a hub."""

    @property
    def sentence(self) -> str:
        """The state of the connection in words. Empty if this table has not joined a hub."""

    @property
    def address(self) -> str:
        """The address of the hub's pages. Empty if this table has not joined a hub."""

    def join(self, address: str, join_code: str, sends_names: bool, ca: str = "") -> None:
        """Join a hub and leave the previous one.

        `sends_names` is whether the hub learns the players' names. `ca` is the path of a file: the
        certificate of the authority that has signed the hub's own. Raises a `CompanionError`.
        """

    def show_card(self, seat: Seat, card_code: str, sitting: str) -> None:
        """Tell the hub the code of the player's card of the person at a seat.

        `sitting` identifies that person (`SeatView.sitting`). An empty `card_code` removes the
        card. Raises a `CompanionError`.
        """

    def leave(self) -> None:
        """Leave the hub. Raises `Illegal` while a game at two tables is on."""

    @property
    def offered_code(self) -> str:
        """The code of the game for two tables that this table offers. Empty if it offers none."""

    @property
    def pairs(self) -> HubPairs:
        """What offers and accepts games at two tables. Raises `Illegal` without a hub."""


@dataclass(frozen=True)
class Features:
    """The optional parts of an installation. A part that is None has no pages."""

    equipment: TableEquipment = field(default_factory=TableEquipment)
    workbench: SimulationFeature | None = None
    """The simulated table and panel. None unless the program simulates them."""
    camera: CameraFeature | None = None
    printer: KitPrinter | None = None
    upkeep: Upkeep | None = None
    """What changes the settings, makes backups and restarts the service."""
    panel_check: PanelCheckFeature | None = None
    """The test of keys, lamps and tones."""
    history: History | None = None
    """The archive of all games."""
    health: HealthSource | None = None
    """What examines the machine."""
    staff: StaffBell | None = None
    """What calls the staff of the house."""
    opponents: tuple[Character, ...] = ()
    """The characters that the machine can play."""
    coach: Coach | None = None
    hub: HubClient | None = None
    """The connection to a hub of many tables."""
    own_wifi: OwnWifi | None = None
    """What changes the machine's Wi-Fi."""
    has_first_evening: bool = False
    """Whether a new owner is asked four questions first, see `FirstEveningPages`."""
