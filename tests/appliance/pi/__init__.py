"""Helpers: an emulated Raspberry Pi 3B that boots from a card as `make image` makes it.

The card is made from an image of Debian that is laid out like Raspberry Pi OS Lite. Its kernel is
Debian's for arm64, which has drivers for the board's pins (`pinctrl-bcm2835`), card slot and USB
network. The device tree comes with that kernel. The revision of the board is added here, as the
firmware of a real board would do.

The emulation differs from a board: all pins read low, because nothing drives them, and the
firmware's mailbox is missing. Emulated times say nothing about a Raspberry Pi.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from pathlib import Path

from ports import free_port

from appliance import build, debian_roots
from appliance.machine import Machine, MachineError, until

HERE = Path(__file__).resolve().parent
SUITE = "bookworm"
PACKAGES = ("linux-image-arm64", "busybox-static", "kmod")
# Revision code of a Raspberry Pi 3 Model B, version 1.2.
REVISION = "a02082"
# Device tree of the board in Debian's package of the kernel.
BOARD = "bcm2837-rpi-3-b.dtb"
# Kernel modules that the initrd needs to mount the card: the driver of its slot, and ext4.
EARLY = ("crc32c_generic", "bcm2835", "ext4")
NEEDED = (
    "qemu-system-aarch64",
    "mmdebstrap",
    "fdtput",
    "cpio",
    "depmod",
    "mke2fs",
    "sfdisk",
    "mcopy",
)
NEEDED_PACKAGES = (
    "qemu-system-arm qemu-user-static device-tree-compiler cpio kmod e2fsprogs"
    " mmdebstrap arch-test fdisk mtools"
)
# Folder of the script that `make image` runs.
TOOL = build.ROOT / "systemd/image"
MIB = 1024**2
# Offsets in bytes of the boot partition and of the root partition on the card.
BOOT_AT = MIB
ROOT_AT = 32 * MIB
# Units that the test does not need. Each of them would take the emulated processor seconds.
IDLE_UNITS = (
    "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "getty-static.service",
    "getty.target", "serial-getty@ttyAMA0.service", "systemd-pstore.service",
    "systemd-repart.service", "e2scrub_all.timer", "dev-hugepages.mount",
    "dev-mqueue.mount", "sys-kernel-tracing.mount", "kmod-static-nodes.service",
)  # fmt: skip
# Size of the card. QEMU accepts only powers of two.
CARD_BYTES = 2 * 1024**3
# TCP port on which the agent listens inside, because this machine has no virtio ports.
AGENT_PORT = 8090
# What the kernel prints if QEMU's USB does not answer in time. The network, which is on USB, is
# then gone until the next start.
USB_LOST = "dwc2 3f980000.usb: Not connected"
# Timeout for booting.
BOOT_S = 900.0
# Number of times that a machine is switched on if it loses its USB.
MAX_STARTS = 4


def require_tools() -> None:
    """Raise `CannotBuild` where a tool for the card is missing, or arm64 programs do not run."""
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        raise build.CannotBuild(
            f"{', '.join(missing)} not found: sudo apt install {NEEDED_PACKAGES}"
        )
    if not Path("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists():
        raise build.CannotBuild(
            "programs for arm64 do not run here: sudo apt install qemu-user-static"
        )


def card(deb: Path) -> build.Disk:
    """Return the card with the project's package, and the kernel and initrd that boot it.

    Build what is not in the cache. Raises `CannotBuild`.
    """
    require_tools()
    began_at_s = time.monotonic()
    bare = debian_roots.plain_debian(SUITE, "arm64")
    base = (
        build.cache_folder()
        / f"pi-base-{build.content_hash(bare.name, HERE, build.GUEST / 'agent.py')}"
    )
    folder = build.cache_folder() / f"pi-card-{build.content_hash(base.name, deb, TOOL)}"
    if not base.exists():
        build.delete_old("pi-base-", keep=0)
        with build.finished_folder(base) as made:
            _make_base(bare, made)
    if not folder.exists():
        build.delete_old("pi-card-", keep=0)
        with build.finished_folder(folder) as made:
            made.mkdir()
            image = made / "card.img"
            build.run(str(TOOL / "make-image"), str(base / "base.img"), str(image), str(deb))
            with image.open("r+b") as file:
                file.truncate(CARD_BYTES)
    built_s = time.monotonic() - began_at_s
    return build.Disk(folder / "card.img", base / "vmlinuz", base / "initrd", built_s)


def _make_base(bare: Path, folder: Path) -> None:
    """Turn a bare Debian into an image like a downloaded one, and extract what boots it.

    What boots it is the kernel, an initrd and the device tree of the board.
    """
    folder.mkdir()
    root = folder / "root"
    build.run("cp", "-a", "--reflink=auto", str(bare), str(root))
    kernel = folder / "kernel"
    _fetch_kernel(kernel)
    (modules,) = (kernel / "lib/modules").iterdir()
    for drivers in build.IDLE_DRIVERS:
        if drivers not in ("usb", "net/ethernet"):
            shutil.rmtree(modules / "kernel/drivers" / drivers, ignore_errors=True)
    build.run("depmod", "-b", str(kernel), modules.name)
    build.run("cp", "-a", str(kernel / "lib/modules"), str(root / "lib"))
    shutil.copy(kernel / "bin/kmod", root / "bin/kmod")
    # the kernel calls modprobe to load vfat for the boot partition
    (root / "sbin/modprobe").symlink_to("/bin/kmod")
    _add_guest(root)
    _make_initrd(kernel, modules.name, folder)
    shutil.copyfile(kernel / f"boot/vmlinuz-{modules.name}", folder / "vmlinuz")
    shutil.copyfile(
        next(kernel.glob(f"usr/lib/linux-image-*/broadcom/{BOARD}")), folder / "board.dtb"
    )
    _write_as_firmware(folder / "board.dtb")
    shutil.rmtree(kernel)
    _make_partitions(root, str(folder / "base.img"))
    shutil.rmtree(root)


def _make_partitions(root: Path, image: str) -> None:
    """Make an image with a boot and a root partition, and with little free space."""
    used_mib = int(build.run("du", "-sm", str(root)).split()[0])
    build.run("truncate", "-s", str((used_mib * 5 // 4 + 32) * MIB), image)
    build.run(
        "mke2fs", "-q", "-t", "ext4", "-E", f"offset={ROOT_AT}", "-d", str(root),
        image, f"{used_mib * 5 // 4}M",
    )  # fmt: skip
    build.run("/bin/sh", "-ec", f"sfdisk -q {image} <{HERE / 'partitions.sfdisk'}")
    build.run("mformat", "-i", f"{image}@@{BOOT_AT}", "-T", str((ROOT_AT - BOOT_AT) // 512), "::")


def _fetch_kernel(folder: Path) -> None:
    """Unpack Debian's kernel and the tools of the initrd, without configuring these packages.

    The emulated processor would take half an hour to configure them.
    """
    options = [f'--aptopt={key} "{value}"' for key, value in build.apt_settings()]
    build.run(
        "mmdebstrap", "--variant=extract", "--mode=root", "--architectures=arm64",
        f"--include={','.join(PACKAGES)}", '--aptopt=APT::Install-Recommends "false"',
        *options, SUITE, str(folder), f"deb {build.debian_archive()} {SUITE} main",
    )  # fmt: skip


def _add_guest(root: Path) -> None:
    """Add what only the tests need: the agent, an address, and long timeouts."""
    (root / "opt/appliance").mkdir(parents=True)
    shutil.copyfile(build.GUEST / "agent.py", root / "opt/appliance/agent.py")
    units = root / "etc/systemd/system"
    for name in ("companion", "companion-lamp"):
        (units / f"{name}.service.d").mkdir()
        shutil.copyfile(HERE / "slow.conf", units / f"{name}.service.d/slow.conf")
    for unit in HERE.glob("*.service"):
        shutil.copyfile(unit, units / unit.name)
    for name, place in (("usb.network", "network"), ("manager.conf", "system.conf.d")):
        (root / "etc/systemd" / place).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / name, root / "etc/systemd" / place / name)
    for unit in ("appliance-agent", "systemd-networkd", "userconfig"):
        build.run("systemctl", f"--root={root}", "enable", f"{unit}.service")
    (root / "boot/firmware").mkdir()
    shutil.copyfile(HERE / "fstab", root / "etc/fstab")
    (root / "etc/hostname").write_text("raspberrypi\n")
    (root / "etc/hosts").write_text("127.0.0.1\tlocalhost\n127.0.1.1\traspberrypi\n")
    for unit in (*build.IDLE_UNITS, *IDLE_UNITS):
        if not (units / unit).exists():
            (units / unit).symlink_to("/dev/null")
    for part in ("etc", "var"):
        (root / part / ".updated").touch()


def _make_initrd(kernel: Path, version: str, folder: Path) -> None:
    """Make an initrd of busybox, the kernel modules `EARLY`, and `init.sh`.

    The script mounts the card and starts the system on it.
    """
    early = folder / "early"
    for name in ("bin", "proc", "sys", "dev", "root"):
        (early / name).mkdir(parents=True)
    shutil.copy(kernel / "bin/busybox", early / "bin/busybox")
    shutil.copy(HERE / "init.sh", early / "init")
    (early / "init").chmod(0o755)
    modules = kernel / "lib/modules" / version
    depends = dict(line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    wanted = [file for name in EARLY for file in depends if Path(file).name.split(".")[0] == name]
    for file in {part for own in wanted for part in (own, *depends[own].split())}:
        target = early / "lib/modules" / version / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(modules / file, target)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(modules / name, early / "lib/modules" / version)
    build.run("depmod", "-b", str(early), version)
    build.run(
        "/bin/sh", "-ec", f"cd {early} && find . | cpio -o -H newc --quiet >{folder / 'initrd'}"
    )
    shutil.rmtree(early)


def _write_as_firmware(board: Path) -> None:
    """Complete the device tree as a board's firmware does: write the revision into it.

    Also remove Bluetooth from it, which would occupy the serial port of the console.
    """
    build.run("fdtput", "-c", str(board), "/system")
    build.run("fdtput", "-t", "x", str(board), "/system", "linux,revision", REVISION)
    build.run("fdtput", "-r", str(board), "/soc/serial@7e201000/bluetooth")


class UsbLost(MachineError):
    """The emulated USB was too slow for its driver.

    That happens where other programs share the processors.
    """


def switch_on(card: build.Disk, image: Path, folder: Path) -> Pi:
    """Switch a machine on, and wait until its agent answers.

    If the machine loses its USB, pull its plug and switch it on again, up to `MAX_STARTS` times in
    all. Raises `MachineError`.
    """
    starts = 0
    while True:
        starts += 1
        machine = Pi(card, image, folder / f"start-{starts}")
        try:
            machine.wait_for_agent()
            return machine
        except UsbLost:
            machine.pull_the_plug()
            if starts == MAX_STARTS:
                raise
        except BaseException:
            machine.close()
            raise


class Pi(Machine):
    """An emulated Raspberry Pi 3B, whose agent is reached over its network."""

    def _command(self, disk: build.Disk, network: bool) -> list[str]:
        self.agent_port = free_port()
        forward = (
            f"user,id=n0,hostfwd=tcp:127.0.0.1:{self.port}-:8080"
            f",hostfwd=tcp:127.0.0.1:{self.agent_port}-:{AGENT_PORT}"
        )
        line = "console=ttyAMA0,115200 rdinit=/init panic=-1 net.ifnames=0 quiet"
        return [
            "qemu-system-aarch64", "-M", "raspi3b", "-accel", "tcg,thread=multi,tb-size=512",
            "-kernel", str(disk.kernel), "-initrd", str(disk.initrd),
            "-dtb", str(disk.kernel.with_name("board.dtb")), "-append", line,
            "-drive", f"file={self.image},format=raw,if=sd,cache=writeback",
            "-device", "usb-net,netdev=n0", "-netdev", forward, "-display", "none", "-no-reboot",
            "-serial", f"file:{self._folder / 'console'}",
            "-qmp", f"unix:{self._folder / 'monitor'},server=on,wait=off",
        ]  # fmt: skip

    def _connect_agent(self) -> None:
        """Do nothing, because the network is not up yet. `wait_for_agent` connects to the agent."""

    def require_running(self) -> None:
        """Raise `MachineError` when QEMU has ended, and `UsbLost` when the network is gone."""
        super().require_running()
        if USB_LOST in self.console():
            raise UsbLost(f"the emulated USB is gone: {self.console(5)}")

    def wait_for_agent(self) -> None:
        """Wait until the agent inside answers. Raises `MachineError`."""
        until("the agent's answer", self._try_to_connect, BOOT_S, 2.0)

    def _try_to_connect(self) -> bool:
        """Connect to the agent, and return whether it answers."""
        self.require_running()
        try:
            self._agent = socket.create_connection(("127.0.0.1", self.agent_port), 20)
            self._agent_file = self._agent.makefile("r")
            return bool(self.ask("read", "/proc/uptime", timeout_s=20))
        # QEMU accepts the connection even if the machine does not listen yet
        except (OSError, MachineError):
            for name in ("_agent_file", "_agent"):
                # an attribute is missing if its line was not reached
                with contextlib.suppress(OSError, AttributeError):
                    getattr(self, name).close()
            return False
