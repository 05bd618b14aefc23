"""Helpers: root folders with a plain Debian, in which the project's package is installed offline.

Each is cached like the machine's base, under a name with a hash of its contents.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from appliance import build

# Debian's distributions, each with its version of Python.
SUITES = {"bookworm": "3.11", "trixie": "3.13"}
# Packages that a Raspberry Pi has already, and that the project's package depends on.
PACKAGES = ("python3", "systemd", "udev", "zlib1g", "libstdc++6")
NEEDED = ("mmdebstrap", "unshare", "ip")


def distribution(suite: str, architecture: str = "amd64") -> Path:
    """Return the root folder of a Debian without the program. Raises `CannotBuild`."""
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        raise build.CannotBuild(
            f"{', '.join(missing)} not found: sudo apt install mmdebstrap iproute2"
        )
    if os.geteuid():
        raise build.CannotBuild("a root is built as root")
    folder = build.cache() / f"root-{suite}-{architecture}-{build.content_mark(*PACKAGES)}"
    if not folder.exists():
        print(f"Building a root of {suite}, some minutes …", file=sys.stderr, flush=True)
        try:
            with build.finished_folder(folder) as made:
                _make(made, suite, architecture)
        except subprocess.CalledProcessError as error:
            raise build.CannotBuild(build.command_output(error)) from None
    return folder


def _make(root: Path, suite: str, architecture: str) -> None:
    options = ['--aptopt=APT::Install-Recommends "false"', f"--architectures={architecture}"]
    options += [f'--aptopt={key} "{value}"' for key, value in build.apt_settings()]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")]
    build.run(
        "mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(PACKAGES)}",
        *options, suite, str(root), f"deb {build.mirror()} {suite} main",
    )  # fmt: skip


@contextmanager
def copy_of(root: Path, target: Path) -> Iterator[IsolatedRoot]:
    """Copy a root folder to install in. It has `/proc`, `/dev` and `/run` until the block ends."""
    build.run("cp", "-a", "--reflink=auto", str(root), str(target))
    with ExitStack() as stack:
        for kind, name in (("proc", "proc"), ("tmpfs", "dev"), ("tmpfs", "run")):
            build.run("mount", "-t", kind, kind, str(target / name))
            stack.callback(build.run, "umount", "--lazy", str(target / name))
        for device in ("null", "zero", "random", "urandom"):
            build.run("cp", "-a", f"/dev/{device}", str(target / "dev"))
        yield IsolatedRoot(target)


class IsolatedRoot:
    """Runs scripts in a root folder, without a network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
        }

    def __call__(self, script: str, status: int = 0, **environment: str) -> str:
        """Run a script, require its exit status, and return both its outputs."""
        start = 'ip link set lo up && exec chroot "$0" /bin/sh -ec "$1"'
        command = ["unshare", "--net", "sh", "-c", start, str(self.root), script]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment | environment
        )
        output = done.stdout + done.stderr
        assert done.returncode == status, f"{script}\nended with {done.returncode}:\n{output}"
        return output
