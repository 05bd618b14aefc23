"""The running service: the only place that knows every package and wires them together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from companion import __version__
from companion.archive.history import History
from companion.archive.photographs import PhotographAlbum
from companion.bots.coach import Coach
from companion.bots.machine_players import MachinePlayers
from companion.core.clock import Clock, RealClock
from companion.core.command_line import public_shell_command, shell_command
from companion.core.config import Settings, find_settings
from companion.core.errors import JournalError, PanelError
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Kit
from companion.core.log_fields import log_fields
from companion.core.network import Wifi, format_host_key, page_urls
from companion.core.ports import Camera, Closeable, Cue, Signal
from companion.diagnostics.probes import Machine, is_synchronised
from companion.games import GAMES
from companion.maintenance.housekeeping import Housekeeping
from companion.maintenance.own_wifi import PUBLIC_PASSWORD, OwnWifi
from companion.maintenance.panel_check import PanelCheckFeature
from companion.maintenance.upkeep import Upkeep
from companion.mqtt.adapter import MqttAdapter
from companion.printing.kit_printer import KitPrinter
from companion.service.board_watch import BoardWatch
from companion.service.game_log import GameLog
from companion.service.health import ServiceHealth
from companion.service.hub_link import HubLink
from companion.service.phone_camera_server import PhoneCameraServer
from companion.service.support_bundle import LogBuffer, make_bundle
from companion.service.systemd import ServiceManager, connect_power_key
from companion.speech.speech_policy import SpeechPolicy
from companion.storage.disk_space import DiskSpace
from companion.storage.journal import Journal
from companion.table.last_choices import LastChoices
from companion.table.listeners import TableListener
from companion.table.table import Table
from hardware.check import PanelChecker
from hardware.panel import Panel, open_panel
from hardware.power import PowerKey
from hardware.simulated import SimulatedPanelHands, simulated_panel
from hardware.voice import MachineVoice
from vision.cameras.camera_link import Cameras
from vision.diagnosis import BoardEye
from vision.simulation.printed import PrintedKit
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.watcher import Watcher
from web.app import create_app
from web.features import CameraFeature, Features, SimulationFeature, SiteConfig, TableEquipment
from web.rendering.game_film import game_film
from web.security.codes import JoinCode
from web.server.server import Server, open_server

log = logging.getLogger(__name__)
# Name of a key in the journal. Its value has no meaning: the key exists once somebody has entered
# the owner key (`host` in names and addresses), and thereby become the owner.
_HOST_KEY_USED = "host used"


@dataclass
class Simulation:
    """Simulated table and hands, in a run without hardware. The workbench page uses both."""

    world: SimulatedTable
    """The rendered table, whose pieces can be moved."""
    hands: SimulatedPanelHands
    """Hands that press the keys of a panel without pins."""


class Startable(Protocol):
    """A part of the service with a thread of its own, which `Companion` starts."""

    def start(self) -> None:
        """Start the thread."""


class Steppable(Protocol):
    """A part of the service that does its work in `step` when there are no threads."""

    def step(self) -> None:
        """Do what is due."""


class Companion(Closeable):
    """The running service of one installation: journal, table, camera, panel and pages.

    A context manager whose `close` may be called twice. Parts that an installation may lack are
    None, such as `watcher`, `panel` and `simulation`.

    :param simulate: whether table and panel are simulated. None simulates them only if neither a
        camera nor pins are found
    :param clock: the clock of all parts. Tests replace it by one that they advance
    :param threads: whether the parts run in threads of their own. If False, only the web server
        does: then `step` runs one round of what a game needs, and health checks, housekeeping and
        hub stand still
    :param settings_path: the file that the settings page writes. None stands for the usual one
    :param restart: restarts the service in a moment
    """

    def __init__(
        self,
        settings: Settings,
        simulate: bool | None = None,
        clock: Clock | None = None,
        threads: bool = True,
        *,
        settings_path: Path | None = None,
        restart: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.settings_path = settings_path or find_settings(None, settings.state_dir)
        self._restart = restart
        self.clock = clock or RealClock()
        self.notes: list[str] = []
        """Sentences on what was found at the start."""
        self.simulation: Simulation | None = None
        self.panel: Panel | None = None
        # Sentence on why there is no panel, and what to do. Empty if there is a panel.
        self._panel_trouble = ""
        self.panel_check: PanelChecker | None = None
        """The check of keys, lamps and tones that the owner starts on a page."""
        self.power_key: PowerKey | None = None
        self.disk_space = DiskSpace(settings.journal_path.parent)
        self.album = PhotographAlbum(
            settings.photographs_path,
            settings.camera.photographs_mb,
            lambda: self.disk_space.allows_photographs,
        )
        self.own_wifi: OwnWifi | None = None
        """The table's own Wi-Fi, which only an installed service may open."""
        self._threads = threads
        self._stack = ExitStack()
        try:
            self._open(simulate)
        except BaseException:
            self._stack.close()
            raise

    def _open(self, simulate: bool | None) -> None:
        """Open all parts in the order of their dependencies, then start their threads."""
        began_at_s = self.clock.monotonic_s()
        self.log_buffer = self._stack.enter_context(closing(LogBuffer().open()))
        log.info("Companion %s begins", __version__, extra=log_fields("begin", version=__version__))
        self._open_table()
        if not simulate:
            self._open_devices(may_simulate=simulate is None)
        # Simulate if that is wanted, or if neither camera nor pins were found.
        if simulate or (simulate is None and self.panel is None and self.watcher is None):
            self._open_simulation()
        self.host_key = read_host_key(self.journal)
        self._open_history()
        self._open_speech()
        self._open_own_wifi()
        self._open_upkeep()
        self._open_health()
        self._open_network()
        self._open_machines()
        self._open_servers()
        if self._threads:
            self._start()
        # Start the server last, so that everything works when the first page is served.
        self.server.start()
        fields = log_fields(
            "ready",
            seconds=self.clock.monotonic_s() - began_at_s,
            port=self.server.port,
            camera=self.watcher is not None,
            pads=self.panel is not None,
        )
        log.info("Ready", extra=fields)

    def _start(self) -> None:
        """Start the parts that have a thread of their own, in this order."""
        parts: tuple[Startable | None, ...] = (
            self.health,
            self.table,
            self.panel,
            self.watcher,
            self.board.photographer,
            self.speech,
            self.machines,
            self.housekeeping,
            self.hub,
        )
        for part in filter(None, parts):
            part.start()

    def _open_table(self) -> None:
        """Open the journal and its table, and prepare what watches the board."""
        self.journal = self._stack.enter_context(Journal(self.settings.journal_path))
        folder = self.settings.state_dir
        # The command that prints the owner key. It names the folder only if that is not the usual
        # one, so that people can copy a short command.
        is_usual_folder = folder == Settings().state_dir
        self.key_command = shell_command("host-key", "" if is_usual_folder else folder)
        choices = LastChoices(self.settings.journal_path.with_name("choices.json"))
        self.table = self._stack.enter_context(
            Table(self.journal, self.clock, self.settings.table, choices)
        )
        self.board = BoardWatch(self.settings, self.clock, self.table, self.album)
        if self.journal.notice:
            self.notes.append(self.journal.notice)

    def _open_history(self) -> None:
        """Open the history of games, and the housekeeping that limits it."""
        folder = self.settings.journal_path.with_name("history")
        self.history = History(
            self.journal,
            folder,
            self.clock,
            find_current_game=lambda: self.table.progress().number,
            album=self.album,
            paint=game_film,
        )
        self.housekeeping = self._stack.enter_context(
            Housekeeping(
                self.table,
                self.journal,
                self.history,
                self.disk_space,
                clock=self.clock,
                settings=self.settings.history,
                # Without a network the clock may be years ahead, and every game would seem old
                # enough to be removed. If the system does not know whether its clock is right
                # (None), the date counts as reliable.
                has_reliable_date=lambda: is_synchronised(Machine()) is not False,
            )
        )

    def _open_network(self) -> None:
        """Open the links to other programs: an MQTT broker, and a hub of many tables."""
        self.broker = self._stack.enter_context(
            MqttAdapter(self.table, self.settings, self.clock, threads=self._threads)
        )
        self.hub = self._stack.enter_context(
            HubLink(
                self.table,
                self.journal,
                self.settings,
                self.clock,
                bell=self.broker.bell,
                describe_health=self.health.worst_finding,
                change_settings=self.upkeep.change_for_hub,
            )
        )

    def _open_machines(self) -> None:
        """Open the machine players and the coach."""
        key = self.journal.key("machine")
        self.machines = self._stack.enter_context(
            MachinePlayers(self.table, self.clock, key, self.settings.bots.engines)
        )
        self.coach = Coach(self.table, key)

    def _open_health(self) -> None:
        """Open the health checks of the service, and the log of games."""
        self.health = self._stack.enter_context(
            ServiceHealth(self, Machine(), self.support_zip, threads=self._threads)
        )
        GameLog(self.table)

    @property
    def watcher(self) -> Watcher | None:
        """Watcher of the board. None without a camera."""
        return self.board.watcher

    @property
    def eye(self) -> BoardEye | None:
        """What pages ask about the camera and its pictures. None without a camera."""
        return self.board.eye

    # ---- devices ---------------------------------------------------------------------------------

    def _open_devices(self, may_simulate: bool) -> None:
        """Open the real panel and camera, as far as they exist.

        Raises `PanelError` if the settings require a panel and there is none.

        :param may_simulate: whether the service simulates a table if there is neither panel nor
            camera
        """
        try:
            panel = open_panel(self.settings.panel, self.clock, self.table.press)
        except PanelError as error:
            if self.settings.panel.enabled == "yes":
                raise
            self._panel_trouble = error.message
            self._report(f"No pads: {self._panel_trouble.rstrip('.')}.")
            self.table.set_panel_notice(say("No pads: phones only."))
        else:
            self._connect_panel(panel)
        board = self._stack.enter_context(self.board)
        # A table with a panel is real, so it is not simulated even without a camera.
        self._report(
            board.watch_configured_camera(may_simulate=may_simulate and self.panel is None)
        )

    def _connect_panel(self, panel: Panel) -> None:
        """Connect a real or simulated panel to the table, its power key and its check."""
        self.panel = self._stack.enter_context(panel)
        self.power_key = connect_power_key(
            self.table,
            panel,
            is_simulated=self.simulation is not None,
            has_system_lamp=self.settings.panel.system_lamp != "",
        )
        self.power_key.may_switch_off = self.settings.panel.switch_off
        for problem in panel.problems:
            self._report(problem)
        self._report(f"Pads: {len(panel.buttons)} buttons, {len(panel.lamps)} lamps.")
        self.table.set_panel_notice(joined(" ", panel.problems))
        self.panel_check = checker = PanelChecker(panel, self.clock)

        def end_check(game: int, _turns: int) -> None:
            # Once a game has begun, keys are secret, and a check would show which ones are pressed.
            if game:
                checker.end()

        self.table.connect(
            TableListener(
                on_signal=panel.signal,
                on_lamps=panel.show,
                on_alarms=panel.set_alarms,
                on_game=end_check,
            )
        )
        panel.signal(Signal(Cue.AWAKE, frozenset(SEATS)))

    def _open_simulation(self) -> None:
        """Open a rendered table and a panel without pins. The first game is set up on the table."""
        first_game = next(iter(GAMES.values()))
        options = first_game.options({})
        world = SimulatedTable(first_game.kit(options), print_kit=_print_kit)
        # The PDF library must have no thread left when the process ends.
        self._stack.callback(world.wait_until_drawn)
        set_up = first_game.setup(options, Random(0))
        world.set_up(first_game.expected(set_up) or {})
        panel, hands = simulated_panel(self.settings.panel, self.clock, self.table.press)
        self.simulation = Simulation(world, hands)

        def lay_out(kit: Kit | None) -> None:
            if kit is not None:
                world.use(kit)
                world.set_up(self.table.view().board.layout)

        self.table.connect(TableListener(on_kit=lay_out))
        self._report(
            "Simulation: a rendered table and a panel without pins, on the workbench page."
        )
        self._connect_panel(panel)

        def open_camera(source: str) -> Camera:
            return self.board.open(source) if source else self._simulated_camera(world)

        self._stack.enter_context(self.board).watch(Cameras(open_camera))

    def _simulated_camera(self, world: SimulatedTable) -> Camera:
        """Return the camera of the simulated table. Tests may override this method."""
        return RenderedCamera(world, self.clock)

    def _open_speech(self) -> None:
        """Open voice and quiet hours."""
        voice = MachineVoice(self.settings.voice, log.warning) if self._threads else None
        if voice:
            self._stack.enter_context(voice).start()
            if self.settings.voice.by in ("auto", "machine") and not voice.is_installed:
                self._report(
                    "This machine has no voice: sudo apt install espeak-ng. Table screens speak by "
                    "themselves."
                )
        set_silent = self.panel.set_silent if self.panel else None
        self.speech = self._stack.enter_context(
            SpeechPolicy(self.table, self.settings, self.clock, set_silent, voice)
        )

    def _open_own_wifi(self) -> None:
        """Have the hotspot opened if the machine has started without a network.

        The hotspot is the table's own Wi-Fi (`companion.maintenance.own_wifi`). If the table button
        is held during the start, it opens at once. A service that is not installed has no `folder`
        for the request, and opens none.
        """
        folder = ServiceManager().folder
        if folder is None:
            return
        own_wifi = OwnWifi(folder, self.clock, self._hotspot_password, self.table.set_own_wifi)
        self.own_wifi = own_wifi
        self.housekeeping.tasks.append(own_wifi.step)
        if self.panel and "table" in self.panel.pressed_buttons:
            own_wifi.open(PUBLIC_PASSWORD)

    def _hotspot_password(self) -> str:
        """Return the password of the hotspot: a public one until the table has an owner."""
        if not self._is_key_used():
            return PUBLIC_PASSWORD
        return format_host_key(self.journal.key("own_wifi"))

    def _open_servers(self) -> None:
        """Open the server of the pages, and the one for an old phone as the camera."""
        self.phone_server = self._stack.enter_context(
            PhoneCameraServer(self.settings, self.clock, self.board, self.table, self.urls)
        )
        self.server = self._open_server()
        self.phone_server.app = self.server.app
        if self.phone_server.phone_camera.is_camera:
            self.phone_server.begin()

    def _open_server(self) -> Server:
        """Open the port of the pages, and return their server. The caller starts it."""
        web = self.settings.web
        tls = None
        if web.certificate:
            from web.security.tls import certificate_context  # noqa: PLC0415 - brings what only a certificate needs

            tls = certificate_context(web.certificate, web.key)
        site = SiteConfig(
            web,
            self.urls,
            self.journal.key("signing"),
            self.host_key,
            self._make_host_key,
            self.settings.journal_path.with_name("templates"),
            public_shell_command("host-key"),
            is_key_used=self._is_key_used,
            note_key_used=self._note_key_used,
        )
        app = create_app(self.table, GAMES, self.clock, site, self._features())
        self.join_code: JoinCode | None = app.extensions["join_code"]
        self.housekeeping.tasks.append(app.extensions["presence"].update)
        server = open_server(app, web.host, web.port, tls, proxies=web.proxies, path=web.path)
        self._stack.callback(server.close)
        return server

    def _open_upkeep(self) -> None:
        """Open what changes the settings file and restarts the service."""
        self.upkeep = Upkeep(
            self.settings,
            self.settings_path,
            self.table,
            self.clock,
            use=self.use_settings,
            restart=self._restart,
        )
        self.housekeeping.tasks.append(self.upkeep.restart_when_idle)

    def _features(self) -> Features:
        """Return the features of this installation beside its table."""
        simulation = self.simulation
        check = PanelCheckFeature(
            self.settings.panel,
            self.panel_check,
            self._panel_trouble,
            simulation is not None,
            lambda: self.broker.sentence,
        )
        return Features(
            equipment=TableEquipment(self.wifi, self.speech, self.panel is not None),
            workbench=SimulationFeature(simulation.world, simulation.hands) if simulation else None,
            camera=CameraFeature(self.eye, self.album, self.phone_server.phone_camera),
            printer=KitPrinter(GAMES),
            upkeep=self.upkeep,
            panel_check=check,
            history=self.history,
            health=self.health,
            staff=self.broker.bell,
            hub=self.hub,
            opponents=self.machines.characters,
            coach=self.coach,
            has_first_evening=simulation is None,
            own_wifi=self.own_wifi,
        )

    def use_settings(self, settings: Settings) -> None:
        """Apply changed settings. Those that need a restart apply after it."""
        self.settings = settings
        self.table.use_settings(settings.table)
        self.speech.use_settings(settings)
        if self.power_key:
            self.power_key.may_switch_off = settings.panel.switch_off
        self.broker.use_settings(settings)
        self.housekeeping.settings = settings.history

    def _is_key_used(self) -> bool:
        """Return whether somebody has become the owner by the owner key."""
        return _HOST_KEY_USED in dict(self.journal.keys())

    def _note_key_used(self) -> None:
        """Remember that somebody has become the owner."""
        # On a full disk the key cannot be made. It is made when the owner key is used again.
        with suppress(JournalError):
            self.journal.key(_HOST_KEY_USED)

    def _make_host_key(self) -> str:
        """Replace the owner key by a new one, and return it."""
        self.journal.renew_key("host")
        self.host_key = read_host_key(self.journal)
        return self.host_key

    def _report(self, sentence: str) -> None:
        """Note something that was found at the start, for the greeting and the log."""
        self.notes.append(sentence)
        log.info("%s", sentence)

    # ---- running ---------------------------------------------------------------------------------

    def wifi(self) -> Wifi | None:
        """Return the Wi-Fi that phones should join.

        While the hotspot is open it is the hotspot, otherwise the Wi-Fi that the settings name.
        None if they name none.
        """
        if self.own_wifi and self.own_wifi.hotspot:
            return self.own_wifi.hotspot
        named = self.settings.wifi
        return Wifi(named.name, named.password, named.hidden) if named.name else None

    def urls(self) -> tuple[str, ...]:
        """Return the addresses of the table screen. The first one is meant for phones."""
        return page_urls(self.settings.web, self.server.port)

    def step(self) -> None:
        """Run one round of what a game needs, without threads: one picture, then `step_keys`."""
        if self.watcher:
            self.watcher.step()
        self.step_keys()

    def step_keys(self) -> None:
        """Run one round of keys, table, speech, broker and machines, without a picture."""
        parts: tuple[Steppable | None, ...] = (
            self.panel,
            self.table,
            self.board.photographer,
            self.speech,
            self.broker,
            self.machines,
            # The panel once more, for lamps and tones of what the other parts have just done.
            self.panel,
        )
        for part in filter(None, parts):
            part.step()

    def support_zip(self) -> bytes:
        """Return a support bundle, the ZIP file that an owner sends when something is wrong."""
        frames = self.eye.settled_frames() if self.eye else ()
        source = self.settings.camera.source
        # A camera source with a slash is a path or an address, which may be private.
        private_texts = [str(self.settings.journal_path.parent), source if "/" in source else ""]
        return make_bundle(
            self.health.run_checks(),
            self.log_buffer.text(),
            frames,
            self.table.view(),
            private_texts,
        )

    def close(self) -> None:
        """Close all parts, the last opened first: pages, camera, panel, table and journal."""
        self._stack.close()


def _print_kit(kit: Kit) -> PrintedKit:
    from companion.printing.printed_kit import printed_kit  # noqa: PLC0415 - brings the PDF library

    return printed_kit(kit)


def read_host_key(journal: Journal) -> str:
    """Return the owner key: ten letters and digits with a dash.

    It stays the same until it is renewed (`Companion._make_host_key`).
    """
    return format_host_key(journal.key("host"))
