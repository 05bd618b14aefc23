"""Helpers: a machine with the real Picamera2 on two virtual cameras of libcamera.

The machine runs the contract test of the cameras. It has the source of the project, but no
installation. Its first process is `init.sh`, which runs the tests, prints the result of each on the
console, and switches the machine off.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from appliance import build
from appliance.machine import ACCELERATOR

HERE = Path(__file__).resolve().parent
PACKAGES = ("python3-libcamera", "libcamera-ipa", "python3-pip")
WHEELS = (
    "numpy==2.4.6",
    "opencv-python-headless==5.0.0.93",
    "msgspec",
    "pytest",
    "pillow",
    "videodev2",
    "gpiozero",
    "tomlkit",
)
PICAMERA2 = "picamera2==0.3.38"
# Files and folders of the project that the contract test of the cameras needs.
COPIED = (
    "companion",
    "hardware",
    "vision",
    "tests/vision",
    "tests/camera_tools.py",
    "tests/picamera_tools.py",
    "pyproject.toml",
)
DISK_BYTES = 3 * 1024**3
MEMORY_MB = 1536


def camera_disk() -> build.Disk:
    """Return the disk of that machine, with the working tree as it is now. Raises `CannotBuild`."""
    began_at_s = time.monotonic()
    base = build.base()
    root = (
        build.cache_folder()
        / f"cameras-{build.content_hash(base.name, *PACKAGES, *WHEELS, PICAMERA2)}"
    )
    if not root.exists():
        build.delete_old("cameras-", keep=0)
        with build.finished_folder(root) as made:
            _install(base, made)
    shutil.rmtree(root / "opt/project", ignore_errors=True)
    for name in COPIED:
        target = root / "opt/project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = build.ROOT / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    shutil.copyfile(HERE / "init.sh", root / "opt/init.sh")
    (root / "opt/init.sh").chmod(0o755)
    settings = root / "usr/share/libcamera/pipeline/virtual/virtual.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "virtual.yaml", settings)
    image = build.cache_folder() / "cameras.img"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    build.run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(image))
    kernel, initrd = (next((base / "boot").glob(f"{kind}-*")) for kind in ("vmlinuz", "initrd.img"))
    return build.Disk(image, kernel, initrd, time.monotonic() - began_at_s)


def _install(base: Path, root: Path) -> None:
    build.run("cp", "-a", "--reflink=auto", str(base), str(root))
    with build.chroot(root) as inside:
        inside(
            "apt-get update -qq && apt-get install -y -qq --no-install-recommends "
            f"{' '.join(PACKAGES)}"
        )
        pip = "python3 -m pip install -q --no-warn-script-location --target /opt/cameras"
        inside(f"{pip} {' '.join(WHEELS)}")
        inside(f"{pip} --no-deps {PICAMERA2}")
        inside("apt-get clean")


def run_contract(disk: build.Disk, folder: Path, timeout_s: float) -> str:
    """Run the contract test on the machine, and return all that its console has printed."""
    console = folder / "console"
    line = (
        "console=ttyS0 root=/dev/vda rw init=/opt/init.sh panic=-1"
        " mitigations=off net.ifnames=0 quiet"
    )
    command = [
        "qemu-system-x86_64", *ACCELERATOR, "-M", "q35", "-m", str(MEMORY_MB), "-smp", "2",
        "-kernel", str(disk.kernel), "-initrd", str(disk.initrd), "-append", line,
        "-drive", f"file={disk.image},format=raw,if=none,id=d0,cache=unsafe",
        "-device", "virtio-blk-pci,drive=d0", "-device", "virtio-rng-pci", "-nic", "none",
        "-display", "none", "-nodefaults", "-no-reboot", "-serial", f"file:{console}",
    ]  # fmt: skip
    subprocess.run(command, timeout=timeout_s, check=True, capture_output=True)
    return console.read_text(errors="replace")
