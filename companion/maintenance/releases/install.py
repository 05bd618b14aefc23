"""A release built beside the others: an environment with the locked dependencies and this program in it.

Used by `systemd/install.sh`, which has nothing but the distribution's Python, and by `companion update`: so this file
needs nothing but the standard library.

    python3 -m companion.maintenance.releases.install HOME JOURNAL SOURCE
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from email.parser import HeaderParser
from pathlib import Path

from companion.maintenance.releases.releases import (
    COPY,
    STAMP,
    Home,
    Release,
    ReleaseTrouble,
    free_name,
    sync_folder,
    write_json,
)

NAME = "tabletop-companion"
LOCK = "companion/requirements.lock"
"""The dependencies with their hashes: in the tree, in a wheel and in an archive of the sources."""
BUILD_LOCK = "companion/build.lock"
"""What makes a wheel of a tree or an archive, with its hashes; it stays out of the release."""
_SOURCES = b"\n--no-binary "
"""How a list says which of its packages are there as sources alone."""
_TOOLS = ".build-"
"""How the folders of those tools begin, beside the releases: they serve the next build, too."""
PARTS = ("companion", "hardware", "vision", "web", "systemd", "pyproject.toml", "README.md", "LICENSE")
"""What of a tree makes the program."""


@dataclass(frozen=True)
class Package:
    """What is to be installed: a tree, a wheel or an archive of the sources. `digest` is SHA-256 of its content.

    `tools` is the list of what makes a wheel of it, and of what the lock names that is there as sources alone; empty:
    an old release, which lists it with the rest.
    """

    path: Path
    version: str
    lock: bytes
    digest: str
    tools: bytes = b""


def read_package(path: Path) -> Package:
    """Look into a package before anything is done with it; raises `ReleaseTrouble` for one of something else."""
    try:
        if path.is_dir():
            return _read_tree(path)
        if path.suffix == ".whl":
            return _read_wheel(path)
        if path.name.endswith(".tar.gz"):
            return _read_sources(path)
    except FileNotFoundError:
        raise ReleaseTrouble(f"There is no file {path}") from None
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, tarfile.TarError, StopIteration) as error:
        raise ReleaseTrouble(f"{path} is damaged or no release of this program ({error})") from None
    raise ReleaseTrouble(f"{path} is not a release: give a file that ends in .whl or .tar.gz")


def _read_tree(path: Path) -> Package:
    project = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(f"{file.relative_to(path)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    package = _package(path, project["name"], project["version"], (path / LOCK).read_bytes(), digest.hexdigest())
    return replace(package, tools=(path / BUILD_LOCK).read_bytes())


def _files(tree: Path) -> Iterator[Path]:
    for part in PARTS:
        whole = tree / part
        for file in [whole] if whole.is_file() else sorted(whole.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file


def _read_wheel(path: Path) -> Package:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        notes = HeaderParser().parsestr(archive.read(_inner(names, "METADATA")).decode())
        record = archive.read(_inner(names, "RECORD"))
        if (bad := archive.testzip()) is not None:
            raise ValueError(f"{bad} in it is damaged")
        digest = hashlib.sha256(record).hexdigest()
        package = _package(path, notes["Name"], notes["Version"], archive.read(LOCK), digest)
        return replace(package, tools=archive.read(BUILD_LOCK) if BUILD_LOCK in names else b"")


def _inner(names: Sequence[str], file: str) -> str:
    return next(name for name in names if re.fullmatch(rf"[^/]+\.dist-info/{file}", name))


def _read_sources(path: Path) -> Package:
    with tarfile.open(path) as archive:
        top = archive.getnames()[0].partition("/")[0]

        def read(name: str) -> bytes:
            member = archive.extractfile(f"{top}/{name}")
            if member is None:
                raise KeyError(name)
            return member.read()

        notes = HeaderParser().parsestr(read("PKG-INFO").decode())
        names = archive.getnames()
        lock, tools = read(LOCK), read(BUILD_LOCK) if f"{top}/{BUILD_LOCK}" in names else b""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(_package(path, notes["Name"], notes["Version"], lock, digest), tools=tools)


def _package(path: Path, name: str | None, version: str | None, lock: bytes, digest: str) -> Package:
    if name is None or version is None or re.sub(r"[-_.]+", "-", name).lower() != NAME:
        raise ReleaseTrouble(f"{path} is a release of {name}, not of {NAME}")
    return Package(path, version, lock, digest)


# ---- building --------------------------------------------------------------------------------------------------------


def build(home: Home, package: Package, python: str, tell: Callable[[str], None], wheels: Path | None = None) -> str:
    """Install a package beside the releases that are there; answers its name, also of one that was there already.

    `wheels` is a folder with packages: then nothing is fetched. Nothing is in use before `switch`; a build that is cut
    off is begun anew the next time. Raises `ReleaseTrouble`.
    """
    lock, version = hashlib.sha256(package.lock).hexdigest(), _version_of(python)
    for release in home.all():
        if (release.digest, release.lock, release.python) == (package.digest, lock, version):
            return release.name
    digest = hashlib.sha256(f"{package.digest} {lock} {version}".encode()).hexdigest()
    name = free_name(home, package.version, digest)
    folder = home.folder / name
    if folder.exists():
        shutil.rmtree(folder)
    tell(f"Building {folder}")
    home.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    try:
        if same := next((each for each in home.all() if (each.lock, each.python) == (lock, version)), None):
            _run([python, "-m", "venv", "--system-site-packages", "--without-pip", str(folder)])
            _link_dependencies(home.folder / same.name, folder)
        else:
            _run([python, "-m", "venv", "--system-site-packages", str(folder)])
            _install_dependencies(home, folder, package, wheels)
        with _wheel(home, package, folder, wheels) as wheel:
            pip(folder, "--no-deps", "--no-build-isolation", "--no-index", str(wheel))
        form = _first_words(home.program(name), package.version)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    os.sync()  # all of it is on the disk before anything points there
    write_json(folder / STAMP, asdict(Release(name, package.version, form, package.digest, lock, version)))
    return name


def _version_of(python: str) -> str:
    return _run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()


def _install_dependencies(home: Home, folder: Path, package: Package, wheels: Path | None) -> None:
    """Exactly those of the list, each checked against its hash."""
    tools = build_tools(home, package, folder, wheels) if package.tools and _SOURCES in package.lock else None
    install_listed(folder, package.lock, _places(package, wheels), tools)


def _places(package: Package, wheels: Path | None) -> list[str]:
    """Where pip looks besides, or alone."""
    places = ["--no-index"] if wheels else []
    for place in (wheels, package.path.parent if package.path.is_file() else None):
        places += ["--find-links", str(place)] if place else []
    return places


def install_listed(folder: Path, lock: bytes, places: Sequence[str], tools: Path | None = None) -> None:
    """What a list names and nothing else: a package that asks for more (colorzero for setuptools) does not use it.

    `tools` is a folder with what makes wheels, for those of the list that are there as sources alone.
    """
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "requirements.lock"
        file.write_bytes(lock)
        made = ["--no-build-isolation"] if tools else []
        arguments = ("--no-deps", "--require-hashes", "--only-binary", ":all:", *made, *places, "-r", str(file))
        pip(folder, *arguments, **({"PYTHONPATH": str(tools)} if tools else {}))


def _link_dependencies(same: Path, folder: Path) -> None:
    """Take the dependencies of a release with the same list, and pip: the same files under second names, in no time."""
    source, target = _packages(same), _packages(folder)
    own = {line.partition("/")[0] for line in _record(source)}

    def own_names(place: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(place) == source and name in own]

    shutil.copytree(source, target, symlinks=True, ignore=own_names, copy_function=os.link, dirs_exist_ok=True)


def _packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python3.*")) / "site-packages"


def _record(packages: Path) -> list[str]:
    info = next(packages.glob(f"{NAME.replace('-', '_')}-*.dist-info"))
    return (info / "RECORD").read_text(encoding="utf-8").splitlines()


@contextmanager
def _wheel(home: Home, package: Package, folder: Path, wheels: Path | None) -> Iterator[Path]:
    """The package as a wheel; of a tree and of an archive one is made, by tools that stay out of the release."""
    if not package.tools or package.path.suffix == ".whl":
        yield package.path
        return
    tools = build_tools(home, package, folder, wheels)
    with _buildable(package) as source, tempfile.TemporaryDirectory() as made:
        command = [str(folder / "bin" / "python3"), "-m", "pip", "wheel", "--quiet", "--no-input", "--no-cache-dir"]
        command += ["--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
        _run([*command, "--wheel-dir", made, str(source)], PYTHONPATH=str(tools))
        yield next(Path(made).glob("*.whl"))


def build_tools(home: Home, package: Package, folder: Path, wheels: Path | None) -> Path:
    """A folder with what makes wheels, kept beside the releases for the next time: that may have no network."""
    kept = home.folder / f"{_TOOLS}{hashlib.sha256(package.tools).hexdigest()[:16]}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=home.folder, prefix=".new-") as scratch:
            unfinished = Path(scratch) / "tools"
            install_listed(folder, package.tools, [*_places(package, wheels), "--target", str(unfinished)])
            unfinished.rename(kept)
        for other in home.folder.glob(f"{_TOOLS}*"):
            if other != kept:
                shutil.rmtree(other)
    return kept


@contextmanager
def _buildable(package: Package) -> Iterator[Path]:
    """What a wheel is made of: of a tree a copy, in which that leaves its traces."""
    if package.path.is_file():
        yield package.path
        return
    with tempfile.TemporaryDirectory() as scratch:
        for file in _files(package.path):
            copy = Path(scratch) / file.relative_to(package.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        yield Path(scratch)


_SAY_FORMAT = """
try:
    from companion.storage.migrations import FORMAT
except ImportError:  # a release of before
    from companion.disk.formats import FORMAT
print(FORMAT)
"""


def _first_words(program: Path, version: str) -> int:
    """Does it start and say its version? Answers the newest form of the journal that it reads."""
    said = _run([str(program), "--version"]).strip()
    if said != f"companion {version}":
        raise ReleaseTrouble(f"{program} says it is {said!r}, not version {version}")
    python = str(program.with_name("python3"))
    return int(_run([python, "-I", "-c", _SAY_FORMAT]))


def pip(folder: Path, *arguments: str, **environment: str) -> None:
    """Let a release's own pip install something."""
    command = [str(folder / "bin" / "python3"), "-m", "pip", "install", "--quiet", "--no-input", "--no-cache-dir"]
    _run([*command, "--disable-pip-version-check", "--no-warn-script-location", *arguments], **environment)


def _run(command: Sequence[str], **environment: str) -> str:
    """What a program says; raises `ReleaseTrouble` with the end of its complaint."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # not this program's
    own |= environment
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    if ended.returncode != 0:
        complaint = "\n  ".join((ended.stderr or ended.stdout).strip().splitlines()[-12:])
        raise ReleaseTrouble(f"This failed: {' '.join(command[:4])} …\n  {complaint}")
    return ended.stdout


def keep_watch(home: Home, name: str) -> None:
    """Lay the file that puts a release back where no release can break it."""
    (source,) = (_packages(home.folder / name) / "companion").rglob("releases.py")  # older releases have it elsewhere
    unfinished = home.folder / f".{COPY}.new"
    with unfinished.open("wb") as file:
        file.write(source.read_bytes())
        file.flush()
        os.fsync(file.fileno())
    unfinished.chmod(0o644)
    unfinished.replace(home.folder / COPY)
    sync_folder(home.folder)


def main(arguments: Sequence[str]) -> int:
    """Build the release of a source and switch to it; for `systemd/install.sh`."""
    folder, journal, source = arguments
    home = Home(Path(folder))
    wheels = os.environ.get("WHEELS")
    try:
        name = build(home, read_package(Path(source)), sys.executable, print, Path(wheels) if wheels else None)
        was = home.current
        has_come_up = name == was and home.pending() is None
        if has_come_up or not (home.folder / COPY).exists():  # a release on trial does not watch itself
            keep_watch(home, name)
        home.try_out(name, Path(journal))
        home.tidy()
    except (OSError, sqlite3.Error) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{name} is in use." if was == name else f"{name} is used from the next start on.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
