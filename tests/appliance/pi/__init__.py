"""Helpers: an emulated Raspberry Pi 3B that boots from a card as `make image` makes it.

The card is made from an image of Debian that is laid out like Raspberry Pi OS Lite. Its kernel is
Debian's for arm64, with the kernel's drivers for the board: pins (`pinctrl-bcm2835`), card slot and
USB network. The device tree is the kernel's, too, with the revision that a board's firmware writes
into it. The pins read low, because nothing drives them, and the firmware's mailbox is missing.
Emulated times say nothing about a Raspberry Pi.
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
# Kernel modules that the root file system needs: the card's driver and ext4.
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
    kernel = folder / "kernel"
    _fetch_kernel(kernel)
    (modules,) = (kernel / "lib/modules").iterdir()
    for drivers in build.IDLE_DRIVERS:
        if drivers not in ("usb", "net/ethernet"):
            shutil.rmtree(modules / "kernel/drivers" / drivers, ignore_errors=True)
    build.run("depmod", "-b", str(kernel), modules.name)
    build.run("cp", "-a", str(kernel / "lib/modules"), str(root / "lib"))
    shutil.copy(kernel / "bin/kmod", root / "bin/kmod")
    (root / "sbin/modprobe").symlink_to("/bin/kmod")  # by which the kernel loads vfat
    _add_guest(root)
    _make_initrd(kernel, modules.name, folder)
    shutil.copyfile(kernel / f"boot/vmlinuz-{modules.name}", folder / "vmlinuz")
    shutil.copyfile(
        next(kernel.glob(f"usr/lib/linux-image-*/broadcom/{BOARD}")), folder / "board.dtb"
    )
    _write_as_firmware(folder / "board.dtb")
    shutil.rmtree(kernel)
    _lay_out(root, str(folder / "base.img"))
    shutil.rmtree(root)


def _lay_out(root: Path, image: str) -> None:
    """Make the two partitions of a downloaded image, with little free space."""
    used = int(build.run("du", "-sm", str(root)).split()[0])
    build.run("truncate", "-s", str((used * 5 // 4 + 32) * MIB), image)
    build.run(
        "mke2fs", "-q", "-t", "ext4", "-E", f"offset={ROOT_AT}", "-d", str(root),
        image, f"{used * 5 // 4}M",
    )  # fmt: skip
    build.run("/bin/sh", "-ec", f"sfdisk -q {image} <{HERE / 'partitions.sfdisk'}")
    build.run("mformat", "-i", f"{image}@@{BOOT_AT}", "-T", str((ROOT_AT - BOOT_AT) // 512), "::")


def _fetch_kernel(folder: Path) -> None:
    """Unpack the distribution's kernel and the tools of the initrd, without configuring them.

    The emulation would take half an hour for that.
    """
    options = [f'--aptopt={key} "{value}"' for key, value in build.apt_settings()]
    build.run(
        "mmdebstrap", "--variant=extract", "--mode=root", "--architectures=arm64",
        f"--include={','.join(PACKAGES)}", '--aptopt=APT::Install-Recommends "false"',
        *options, SUITE, str(folder), f"deb {build.mirror()} {SUITE} main",
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
    """Make an initrd: busybox, the modules of `EARLY`, and `init.sh`, which changes to the card."""
    early = folder / "early"
    for name in ("bin", "proc", "sys", "dev", "root"):
        (early / name).mkdir(parents=True)
    shutil.copy(kernel / "bin/busybox", early / "bin/busybox")
    shutil.copy(HERE / "init.sh", early / "init")
    (early / "init").chmod(0o755)
    modules = kernel / "lib/modules" / version
    depends = dict(line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    files = [file for name in EARLY for file in depends if Path(file).name.split(".")[0] == name]
    for file in {part for own in files for part in (own, *depends[own].split())}:
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
    """Write to the device tree what a board's firmware does. Free the console of Bluetooth."""
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
        machine.wait_for_agent()
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

    def _connect_agent(self) -> None:
        """Do nothing: `wait_for_agent` connects once the network is up."""

    def require_running(self) -> None:
        """Raise `MachineError` when QEMU has ended, and `UsbLost` when the network is gone."""
        super().require_running()
        if USB_LOST in self.console():
            raise UsbLost(f"the emulated USB is gone: {self.console(5)}")

    def wait_for_agent(self) -> None:
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
                with contextlib.suppress(OSError, AttributeError):  # they may not exist yet
                    getattr(self, name).close()
            return False
