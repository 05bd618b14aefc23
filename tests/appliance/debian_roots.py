"""Helpers: root folders with a plain Debian, in which the project's package is installed offline.

`plain_debian` builds a root folder once. Like the machine's base, it is cached under a name with a
hash of its contents. `open_copy` makes a copy of it in which a test may install and remove things.
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

# The version of Python of each of Debian's distributions.
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
# Packages that a Raspberry Pi has already, and that the project's package depends on.
PACKAGES = ("python3", "systemd", "udev", "zlib1g", "libstdc++6")
# Programs of this computer that are needed to build a root folder.
NEEDED = ("mmdebstrap", "unshare", "ip")


def plain_debian(suite: str, architecture: str = "amd64") -> Path:
    """Return the root folder of a Debian without the program. Build it if it is not cached.

    Raises `CannotBuild`.
    """
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        raise build.CannotBuild(
            f"{', '.join(missing)} not found: sudo apt install mmdebstrap iproute2"
        )
    if os.geteuid():
        raise build.CannotBuild("a root folder of Debian can be built only as root")
    folder = build.cache_folder() / f"root-{suite}-{architecture}-{build.content_hash(*PACKAGES)}"
    if not folder.exists():
        print(f"Building a root of {suite}, some minutes …", file=sys.stderr, flush=True)
        try:
            with build.finished_folder(folder) as made:
                _make(made, suite, architecture)
        except subprocess.CalledProcessError as error:
            raise build.CannotBuild(build.describe_failure(error)) from None
    return folder


def _make(root: Path, suite: str, architecture: str) -> None:
    options = ['--aptopt=APT::Install-Recommends "false"', f"--architectures={architecture}"]
    options += [f'--aptopt={key} "{value}"' for key, value in build.apt_settings()]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")]
    build.run(
        "mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(PACKAGES)}",
        *options, suite, str(root), f"deb {build.debian_archive()} {suite} main",
    )  # fmt: skip


@contextmanager
def open_copy(root: Path, target: Path) -> Iterator[IsolatedRoot]:
    """Copy a root folder, and mount `/proc`, `/dev` and `/run` in it until the block ends."""
    build.run("cp", "-a", "--reflink=auto", str(root), str(target))
    with ExitStack() as stack:
        for kind, name in (("proc", "proc"), ("tmpfs", "dev"), ("tmpfs", "run")):
            build.run("mount", "-t", kind, kind, str(target / name))
            stack.callback(build.run, "umount", "--lazy", str(target / name))
        for device in ("null", "zero", "random", "urandom"):
            build.run("cp", "-a", f"/dev/{device}", str(target / "dev"))
        yield IsolatedRoot(target)


class IsolatedRoot:
    """Runs shell scripts in a root folder, without a network.

    `IsolatedRoot(root)("apt-get …")` runs one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
        }

    def __call__(self, script: str, **environment: str) -> str:
        """Run a script, require that it succeeds, and return both its outputs."""
        # the shell gets the root folder as `$0` and the script as `$1`
        start = 'ip link set lo up && exec chroot "$0" /bin/sh -ec "$1"'
        command = ["unshare", "--net", "sh", "-c", start, str(self.root), script]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment | environment
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"{script}\nended with {done.returncode}:\n{output}"
        return output
