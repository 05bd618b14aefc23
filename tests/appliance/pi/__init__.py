"""An emulated Raspberry Pi 3B: a card as `make image` makes it, and the machine that boots from it.

The image below the card is Debian's, laid out like Raspberry Pi OS Lite. Debian's arm64 kernel with
its own drivers for the board: pins (`pinctrl-bcm2835`), card slot, USB network. The device tree is
the kernel's own, with the revision that a board's firmware writes into it. Pins read low, as
nothing drives them; the firmware's mailbox is missing. Emulated times say nothing about a Raspberry
Pi.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from pathlib import Path

from ports import free_port

from appliance import build, package
from appliance.machine import Machine, MachineError, until

HERE = Path(__file__).resolve().parent
SUITE = "bookworm"
PACKAGES = ("linux-image-arm64", "busybox-static", "kmod")
# Revision code of a Raspberry Pi 3 Model B, 1.2.
REVISION = "a02082"
BOARD = "bcm2837-rpi-3-b.dtb"
# Kernel modules without which there is no root file system: the card's driver and its file
# system.
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
TOOL = build.ROOT / "systemd/image"
MIB = 1024**2
# Offsets of the boot partition and of the root partition, in bytes.
BOOT_AT, ROOT_AT = MIB, 32 * MIB
# Units that the test does not need. Each of them takes an emulated processor seconds.
IDLE_UNITS = (
    "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "getty-static.service",
    "getty.target", "serial-getty@ttyAMA0.service", "systemd-pstore.service",
    "systemd-repart.service", "e2scrub_all.timer", "dev-hugepages.mount",
    "dev-mqueue.mount", "sys-kernel-tracing.mount", "kmod-static-nodes.service",
)  # fmt: skip
# Size of the card. QEMU takes a power of two.
CARD_BYTES = 2 * 1024**3
AGENT_PORT = 8090
# What the kernel says when QEMU's USB does not answer in time. The network then is gone until the
# next start.
USB_LOST = "dwc2 3f980000.usb: Not connected"
BOOT_S = 900.0


def require_tools() -> None:
    """Raise `CannotBuild` where no card can be made, or arm64 is not run."""
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        raise build.CannotBuild(
            f"{', '.join(missing)} not found: sudo apt install {NEEDED_PACKAGES}"
        )
    if not Path("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists():
        raise build.CannotBuild(
            "programs for arm64 do not run here: sudo apt install qemu-user-static"
        )


def card(deb: Path) -> build.Disk:
    """Return the card with the package, its kernel, and its initrd. Raises `CannotBuild`."""
    require_tools()
    began_s = time.monotonic()
    bare = package.distribution(SUITE, "arm64")
    base = (
        build.cache() / f"pi-base-{build.content_mark(bare.name, HERE, build.GUEST / 'agent.py')}"
    )
    folder = build.cache() / f"pi-card-{build.content_mark(base.name, deb, TOOL)}"
    if not base.exists():
        build.delete_old("pi-base-", keep=0)
        with build.finished_folder(base) as made:
            _make(bare, made)
    if not folder.exists():
        build.delete_old("pi-card-", keep=0)
        with build.finished_folder(folder) as made:
            made.mkdir()
            image = made / "card.img"
            build.run(str(TOOL / "make-image"), str(base / "base.img"), str(image), str(deb))
            with image.open("r+b") as file:
                file.truncate(CARD_BYTES)
    built_s = time.monotonic() - began_s
    return build.Disk(folder / "card.img", base / "vmlinuz", base / "initrd", built_s)


def _make(bare: Path, folder: Path) -> None:
    folder.mkdir()
    root = folder / "root"
    build.run("cp", "-a", "--reflink=auto", str(bare), str(root))
    taken = folder / "taken"
    _fetch(taken)
    (modules,) = (taken / "lib/modules").iterdir()
    for drivers in build.IDLE_DRIVERS:
        if drivers not in ("usb", "net/ethernet"):
            shutil.rmtree(modules / "kernel/drivers" / drivers, ignore_errors=True)
    build.run("depmod", "-b", str(taken), modules.name)
    build.run("cp", "-a", str(taken / "lib/modules"), str(root / "lib"))
    shutil.copy(taken / "bin/kmod", root / "bin/kmod")
    (root / "sbin/modprobe").symlink_to("/bin/kmod")  # by which the kernel loads vfat
    _add_guest(root)
    _make_initrd(taken, modules.name, folder)
    shutil.copyfile(taken / f"boot/vmlinuz-{modules.name}", folder / "vmlinuz")
    shutil.copyfile(
        next(taken.glob(f"usr/lib/linux-image-*/broadcom/{BOARD}")), folder / "board.dtb"
    )
    _as_firmware(folder / "board.dtb")
    shutil.rmtree(taken)
    _lay_out(root, str(folder / "base.img"))
    shutil.rmtree(root)


def _lay_out(root: Path, image: str) -> None:
    """Make two partitions as a downloaded image has them, with little room left."""
    used = int(build.run("du", "-sm", str(root)).split()[0])
    build.run("truncate", "-s", str((used * 5 // 4 + 32) * MIB), image)
    build.run(
        "mke2fs", "-q", "-t", "ext4", "-E", f"offset={ROOT_AT}", "-d", str(root),
        image, f"{used * 5 // 4}M",
    )  # fmt: skip
    build.run("/bin/sh", "-ec", f"sfdisk -q {image} <{HERE / 'partitions.sfdisk'}")
    build.run("mformat", "-i", f"{image}@@{BOOT_AT}", "-T", str((ROOT_AT - BOOT_AT) // 512), "::")


def _fetch(taken: Path) -> None:
    """Unpack the distribution's kernel and first tools. Configuring them by emulation takes half an
    hour.
    """
    options = [f'--aptopt={key} "{value}"' for key, value in build.apt_settings()]
    build.run(
        "mmdebstrap", "--variant=extract", "--mode=root", "--architectures=arm64",
        f"--include={','.join(PACKAGES)}", '--aptopt=APT::Install-Recommends "false"',
        *options, SUITE, str(taken), f"deb {build.mirror()} {SUITE} main",
    )  # fmt: skip


def _add_guest(root: Path) -> None:
    """Add what a card for a real board would not have: the test's hands, an address, patience."""
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


def _make_initrd(taken: Path, kernel: str, folder: Path) -> None:
    """Make an initrd: a shell, the drivers of card and file system, and a script that changes to
    the card.
    """
    early = folder / "early"
    for name in ("bin", "proc", "sys", "dev", "root"):
        (early / name).mkdir(parents=True)
    shutil.copy(taken / "bin/busybox", early / "bin/busybox")
    shutil.copy(HERE / "init.sh", early / "init")
    (early / "init").chmod(0o755)
    modules = taken / "lib/modules" / kernel
    wanted = [line.split(":")[0] for line in (modules / "modules.dep").read_text().splitlines()]
    depends = dict(line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    files = [file for name in EARLY for file in wanted if Path(file).name.split(".")[0] == name]
    for file in {part for own in files for part in (own, *depends[own].split())}:
        target = early / "lib/modules" / kernel / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(modules / file, target)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(modules / name, early / "lib/modules" / kernel)
    build.run("depmod", "-b", str(early), kernel)
    build.run(
        "/bin/sh", "-ec", f"cd {early} && find . | cpio -o -H newc --quiet >{folder / 'initrd'}"
    )
    shutil.rmtree(early)


def _as_firmware(board: Path) -> None:
    """Write into the device tree what a real board's firmware writes, and free the console of
    Bluetooth.
    """
    build.run("fdtput", "-c", str(board), "/system")
    build.run("fdtput", "-t", "x", str(board), "/system", "linux,revision", REVISION)
    build.run("fdtput", "-r", str(board), "/soc/serial@7e201000/bluetooth")


class UsbLost(MachineError):
    """The emulated USB was too slow for its driver, as happens where other programs share the
    processors.
    """


def switch_on(card: build.Disk, image: Path, folder: Path, retries: int = 3) -> Pi:
    """Switch a machine on, and wait until its agent answers.

    If its USB is lost, pull the plug and try again, up to `retries` times.
    """
    machine = Pi(card, image, folder / f"start-{retries}")
    try:
        machine.wait_for_hands()
    except UsbLost:
        machine.pull_the_plug()
        if retries:
            return switch_on(card, image, folder, retries - 1)
        raise
    except BaseException:
        machine.close()
        raise
    return machine


class Pi(Machine):
    """An emulated Raspberry Pi 3B with a card of its own. Its agent is reached over its network."""

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

    def _join_hands(self) -> None:
        """Do nothing: the hands are connected by `wait_for_hands` once somebody answers."""

    def require_running(self) -> None:
        """Raise `MachineError` when QEMU has ended, or the network is gone."""
        super().require_running()
        if USB_LOST in self.console():
            raise UsbLost(f"the emulated USB is gone: {self.console(5)}")

    def wait_for_hands(self) -> None:
        """Wait until the agent inside answers. Raises `MachineError`."""
        until("the agent's answer", self._try_to_connect, BOOT_S, 2.0)

    def _try_to_connect(self) -> bool:
        self.require_running()
        try:
            self._agent = socket.create_connection(("127.0.0.1", self.agent_port), 20)
            self._agent_file = self._agent.makefile("r")
            return bool(self.ask("read", "/proc/uptime", timeout_s=20))
        except (OSError, MachineError):  # QEMU answers for a machine that does not listen yet
            for name in ("_agent_file", "_agent"):
                with contextlib.suppress(OSError, AttributeError):  # it may not have come so far
                    getattr(self, name).close()
            return False
