"""Helpers: build the machine's disk, a Debian on which the project is installed by `make install`.

The kernel simulates pins and a camera. The disk is built in two layers, each of which is cached
under a name with a hash of its contents:

- The base has the distribution, the kernel and the module of the camera. It takes some minutes.
- The disk has the project on top. It takes less than a minute and a half.

Packages come from the archives that apt and pip of this computer use. The settings for that do not
stay in the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).resolve().parent / "guest"
SUITE = "trixie"
# Only the kernels of backports have the module gpio-sim, which simulates pins.
BACKPORTS = "trixie-backports"
PACKAGES = (
    "linux-image-amd64", "linux-headers-amd64", "initramfs-tools", "systemd-sysv", "udev", "kmod",
    "dbus", "iproute2", "procps", "python3", "python3-venv", "python3-dev", "python3-pip", "swig",
    "e2fsprogs", "libeatmydata1", "make", "gcc", "polkitd", "ca-certificates", "network-manager",
    "wpasupplicant", "dnsmasq-base", "nftables", "iw", "udhcpc",
)  # fmt: skip
# Packages that are removed again once the base is built.
BUILD_ONLY = ("linux-headers-amd64", "gcc", "python3-dev", "python3-pip", "swig")
# Library of the pins. Raspberry Pi OS has it as the package python3-lgpio. Debian has no such
# package and PyPI no wheel for Debian's Python, so it is built.
LGPIO = "lgpio==0.2.2.0"
# Kernel modules of the initrd.
MODULES = ("virtio_pci", "virtio_mmio", "virtio_blk", "ext4")
# Folders of kernel drivers that a machine under QEMU does not need. They take half of the disk.
IDLE_DRIVERS = (
    "gpu",
    "infiniband",
    "scsi",
    "isdn",
    "iio",
    "net/wireless",
    "net/ethernet",
    "staging",
    "usb",
    "hwmon",
)
# Kernel module of the simulated Wi-Fi. It stays, although its folder is one of `IDLE_DRIVERS`.
RADIO = "mac80211_hwsim"
# Units that the machine does not need and that would delay its boot.
IDLE_UNITS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "e2scrub_reap.service",
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "NetworkManager-wait-online.service",
)
# Only the tests of the hotspot start these units.
DISABLED_UNITS = ("NetworkManager.service", "wpa_supplicant.service", "nftables.service")
# Programs of this computer that are needed to build and boot the disk, and Debian's packages that
# bring them.
NEEDED = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "e2fsck", "debugfs")
NEEDED_PACKAGES = "qemu-system-x86 qemu-utils seabios ipxe-qemu mmdebstrap e2fsprogs"
# Files of this computer that are lent to a chroot, so that apt and pip in it reach packages.
COPIED_SETTINGS = tuple(
    Path("/etc") / name for name in ("resolv.conf", "pip.conf", "ssl/certs/ca-certificates.crt")
)
DISK_BYTES = 2 * 1024**3
# Shell command that installs the project as its README says.
INSTALL = "cd /usr/src/tabletop-companion && make install"
# Shell command that removes what only the building of the package needed.
TIDY = (
    "apt-get purge -y -qq debhelper && apt-get autoremove --purge -y -qq"
    " && apt-get clean && rm -rf /root/.cache"
)
# Files and folders of the project that are copied to the disk.
SOURCES = (
    "companion",
    "hardware",
    "vision",
    "web",
    "systemd",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "Makefile",
)


class CannotBuild(Exception):
    """The machine cannot be built on this computer. The message says what is missing."""


@dataclass(frozen=True)
class Disk:
    """The image of a disk, and the kernel and initrd that it is booted with."""

    image: Path
    kernel: Path
    initrd: Path
    build_s: float
    """How long the build took in seconds, or 0 if the disk was in the cache."""


def cache_folder() -> Path:
    """Return the folder with finished bases and disks.

    The environment variable `APPLIANCE_CACHE` names it. Otherwise it is in the user's cache.
    """
    return Path(
        os.environ.get("APPLIANCE_CACHE") or "~/.cache/tabletop-companion-appliance"
    ).expanduser()


def disk() -> Disk:
    """Return the disk with the working tree as it is now. Build it if it is not in the cache.

    Raises `CannotBuild`.
    """
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        raise CannotBuild(f"{', '.join(missing)} not found: sudo apt install {NEEDED_PACKAGES}")
    if os.geteuid():
        raise CannotBuild("a disk can be built only as root")
    began_at_s = time.monotonic()
    base_folder = base()
    folder = (
        cache_folder()
        / f"disk-{content_hash(base_folder.name, *_sources(), GUEST, Path(__file__))}"
    )
    if not (folder / "disk.img").exists():
        delete_old("disk-", keep=1)
        with finished_folder(folder) as made:
            _make_disk(base_folder, made)
    kernel, initrd = (
        next((base_folder / "boot").glob(f"{kind}-*")) for kind in ("vmlinuz", "initrd.img")
    )
    build_s = time.monotonic() - began_at_s
    # looking into the cache takes less than 5 seconds
    return Disk(folder / "disk.img", kernel, initrd, build_s if build_s > 5 else 0.0)


# ---- the base ------------------------------------------------------------------------------------


def base() -> Path:
    """Return the folder of the base. Build it if it is not in the cache. Raises `CannotBuild`."""
    folder = (
        cache_folder()
        / f"base-{content_hash(*PACKAGES, LGPIO, SUITE, BACKPORTS, *MODULES, *IDLE_DRIVERS, RADIO)}"
    )
    if not folder.exists():
        print("Building the machine's base, some minutes …", file=sys.stderr, flush=True)
        delete_old("base-", keep=0)
        try:
            with finished_folder(folder) as made:
                _make_base(made)
        # as when the archive is out of reach, or mounting is not permitted
        except subprocess.CalledProcessError as error:
            raise CannotBuild(describe_failure(error)) from None
    return folder


def _make_base(root: Path) -> None:
    archive = debian_archive()
    options = [
        f'--aptopt=APT::Default-Release "{BACKPORTS}"',
        '--aptopt=APT::Install-Recommends "false"',
    ]
    options += [f'--aptopt={key} "{value}"' for key, value in apt_settings()]
    options += [
        f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "locale", "man")
    ]
    run(
        "mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(PACKAGES)}",
        *options, SUITE, str(root),
        *(f"deb {archive} {suite} main" for suite in (SUITE, BACKPORTS)),
    )  # fmt: skip
    _finish_base(root, archive)


def _finish_base(root: Path, archive: str) -> None:
    """Build the camera's module and lgpio, which no package brings. Then make the base small.

    Remove the build tools and the drivers of `IDLE_DRIVERS`, and make a small initrd.
    """
    with chroot(root) as inside:
        _build_camera_module(root, archive, inside)
        inside(
            f"PYPI=1 python3 -m pip install -q --break-system-packages --no-binary lgpio {LGPIO}"
        )
        inside(
            f"apt-get purge -y -qq {' '.join(BUILD_ONLY)}"
            " && apt-get autoremove --purge -y -qq && apt-get clean"
        )
        kernel = next((root / "lib/modules").iterdir())
        # saved from the folders that are deleted next
        for radio in kernel.rglob(f"{RADIO}.ko*"):
            radio.rename(kernel / "updates" / radio.name)
        for drivers in IDLE_DRIVERS:
            shutil.rmtree(kernel / "kernel/drivers" / drivers, ignore_errors=True)
        shutil.rmtree(kernel / "kernel/sound", ignore_errors=True)
        initrd_settings = root / "etc/initramfs-tools"
        (initrd_settings / "modules").write_text("\n".join(MODULES) + "\n")
        (initrd_settings / "initramfs.conf").write_text(
            "MODULES=list\nCOMPRESS=zstd\nBUSYBOX=auto\n"
        )
        inside(f"depmod {kernel.name} && update-initramfs -u -k {kernel.name}")


def _build_camera_module(root: Path, archive: str, inside: Chroot) -> None:
    """Build v4l2loopback, the module of the simulated camera, from Debian's newest sources.

    Older sources do not build for this kernel.
    """
    kernel = next((root / "lib/modules").iterdir()).name
    newest = root / "etc/apt/sources.list.d/newest.list"
    newest.write_text(f"deb {archive} sid main\n")
    inside(
        "cd /tmp && apt-get update -qq && apt-get download v4l2loopback-dkms/sid"
        " && dpkg-deb -x v4l2*.deb v4l2"
    )
    newest.unlink()
    inside(
        "cd /tmp/v4l2/usr/src/v4l2loopback-*"
        f" && make KERNELRELEASE= -C /lib/modules/{kernel}/build M=$PWD modules"
        f" && install -D -m644 v4l2loopback.ko /lib/modules/{kernel}/updates/v4l2loopback.ko"
        " && rm -r /tmp/v4l2*"
    )
    inside("apt-get update -qq")


def debian_archive() -> str:
    """Return the address of the Debian archive that this computer's apt uses.

    Raises `CannotBuild`.
    """
    addresses = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"
    ).split()
    archives = [
        address for address in addresses if "debian" in address and "security" not in address
    ]
    if not archives:
        raise CannotBuild(
            "this computer's apt knows no Debian archive: the machine is made of Debian's packages"
        )
    return archives[0]


def apt_settings() -> list[tuple[str, str]]:
    """Return name and value of the settings by which this computer's apt reaches archives."""
    result = []
    for line in run("apt-config", "dump").splitlines():
        key, _, value = line.partition(" ")
        if key.startswith(
            ("Acquire::Check-", "Acquire::http::", "Acquire::https::")
        ) and value.strip('";'):
            result.append((key, value.strip('";')))
    return result


# ---- the disk ------------------------------------------------------------------------------------


def _make_disk(base: Path, folder: Path) -> None:
    folder.mkdir()
    root = folder / "root"
    run("cp", "-a", "--reflink=auto", str(base), str(root))
    source = root / "usr/src/tabletop-companion"
    source.mkdir(parents=True)
    for path in _sources():
        run("cp", "-a", str(path), str(source))
    with chroot(root) as inside:
        inside(INSTALL)
        inside(TIDY)
    shutil.rmtree(source)
    _add_guest(root)
    image = folder / "disk.new"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(image))
    shutil.rmtree(root)
    image.rename(folder / "disk.img")


def _add_guest(root: Path) -> None:
    """Add the simulated hardware and the agent. Also add settings that Raspberry Pi OS brings."""
    for script in (*GUEST.glob("*.py"), *GUEST.glob("*.sh")):
        _copy(script, root / "opt/appliance" / script.name)
    for unit in GUEST.glob("*.service"):
        _copy(unit, root / "etc/systemd/system" / unit.name)
        run("systemctl", f"--root={root}", "enable", unit.name)
    for name in ("companion", "companion-lamp"):
        _copy(GUEST / "emulated.conf", root / f"etc/systemd/system/{name}.service.d/emulated.conf")
    _copy(GUEST / "idle.conf", root / "etc/modprobe.d/idle.conf")
    settings = root / "etc/tabletop-companion/settings.toml"
    settings.write_text((GUEST / "settings.toml").read_text())
    (root / "etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
    (root / "etc/hostname").write_text("table\n")
    (root / "etc/machine-id").write_text(hashlib.md5(b"appliance").hexdigest() + "\n")
    _copy(GUEST / "network.conf", root / "etc/NetworkManager/conf.d/network.conf")
    run("systemctl", f"--root={root}", "disable", *DISABLED_UNITS)
    for unit in IDLE_UNITS:
        (root / "etc/systemd/system" / unit).symlink_to("/dev/null")
    for folder in ("etc", "var"):
        # newer than `/usr`, so that systemd does not bring its caches up to date at the first boot
        (root / folder / ".updated").touch()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


# ---- tools ---------------------------------------------------------------------------------------


class Chroot:
    """Runs shell scripts in a chroot, from which apt and pip reach packages.

    `Chroot(root)("make install")` runs one. Get it from `chroot`, which mounts what it needs.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, script: str) -> None:
        network = {
            key: value
            for key, value in os.environ.items()
            if key.startswith(("PIP_", "UV_", "SSL_")) or "proxy" in key.lower()
        }
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        environment |= {"PIP_CACHE_DIR": "/var/cache/pip", "LC_ALL": "C.UTF-8"}
        run("chroot", str(self._root), "/bin/sh", "-ec", script, env=environment | network)


@contextmanager
def chroot(root: Path) -> Iterator[Chroot]:
    """Open a chroot until the end of the block. It has `/proc`, and reaches packages.

    For that, the files `COPIED_SETTINGS` of this computer replace those of the chroot, which come
    back afterwards, and the folders in which pip keeps or looks for packages are mounted.
    """
    copied = [path for path in COPIED_SETTINGS if path.exists()]
    own_content = {
        path: (root / f".{path}").read_bytes() for path in copied if (root / f".{path}").is_file()
    }
    wheels = cache_folder() / "pip"
    with contextlib.ExitStack() as stack:
        for folder, target in (
            (wheels, "var/cache/pip"),
            *((path, str(path)[1:]) for path in _pip_folders()),
        ):
            folder.mkdir(parents=True, exist_ok=True)
            (root / target).mkdir(parents=True, exist_ok=True)
            run("mount", "--bind", str(folder), str(root / target))
            stack.callback(run, "umount", "--lazy", str(root / target))
            if folder != wheels:  # only the cache may be written
                run("mount", "-o", "remount,bind,ro", str(root / target))
        run("mount", "-t", "proc", "proc", str(root / "proc"))
        stack.callback(run, "umount", "--lazy", str(root / "proc"))
        for path in copied:
            _copy(path, root / f".{path}")
        yield Chroot(root)
        for path in copied:
            (root / f".{path}").unlink(missing_ok=True)
            if path in own_content:
                (root / f".{path}").write_bytes(own_content[path])
    # the empty folders on which pip's folders were mounted
    for folder in _pip_folders():
        with contextlib.suppress(OSError):
            os.removedirs(root / str(folder)[1:])


def _pip_folders() -> list[Path]:
    """Return the folders in which pip looks for packages by its settings, without the system's.

    Each is cut to its first two parts, such as `/srv/wheels`.
    """
    output = run(sys.executable, "-m", "pip", "config", "list")
    words = output.replace("'", " ").replace("file://", " ").split()
    folders = [Path(word) for word in words if word.startswith("/") and Path(word).is_dir()]
    system = ("etc", "usr", "bin", "sbin", "lib", "var", "tmp")
    return sorted({Path(*path.parts[:3]) for path in folders if path.parts[1] not in system})


@contextmanager
def finished_folder(target: Path) -> Iterator[Path]:
    """Yield the path of a folder to make. It is renamed to `target` only if the block succeeds."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield unfinished
        unfinished.rename(target)
    finally:
        # A folder in which something is still mounted stays, because deleting it would delete the
        # mounted files as well.
        if unfinished.exists() and str(unfinished) not in Path("/proc/self/mountinfo").read_text():
            shutil.rmtree(unfinished)


def delete_old(prefix: str, keep: int) -> None:
    """Delete the folders of the cache whose names begin with `prefix`.

    Keep the newest ones, as many as `keep` says.
    """
    old = sorted(cache_folder().glob(f"{prefix}*"), key=lambda path: path.stat().st_mtime)
    for folder in old[: len(old) - keep]:
        shutil.rmtree(folder)


def _sources() -> list[Path]:
    return [ROOT / name for name in SOURCES]


def content_hash(*parts: str | Path) -> str:
    """Return a hash of strings, and of the names and contents of files and folders."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode() + b"\0")
            continue
        files = [part] if part.is_file() else sorted(p for p in part.rglob("*") if p.is_file())
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(
                    str(file.relative_to(part.parent)).encode() + b"\0" + file.read_bytes() + b"\0"
                )
    return digest.hexdigest()[:16]


def run(*command: str, env: dict[str, str] | None = None) -> str:
    """Run a command, and return its standard output.

    Raises `CalledProcessError` with the end of both outputs.
    """
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise subprocess.CalledProcessError(done.returncode, command[:4], tail, tail)
    return done.stdout


def describe_failure(error: subprocess.CalledProcessError) -> str:
    """Return the beginning of a command that failed, and the end of its output."""
    return f"{' '.join(error.cmd)}: {error.output}"


def main() -> None:
    """Build the disk, and print where it is and how long the build took."""
    try:
        result = disk()
    except subprocess.CalledProcessError as error:
        sys.exit(describe_failure(error))
    print(result.image, f"{result.build_s:.0f} s")


if __name__ == "__main__":
    main()
