"""A package is known by what is in it, and a release is built of it beside the others, wholly or not at all."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import setuptools

from companion.core.errors import Malformed, SystemTrouble
from companion.maintenance.releases import install
from companion.maintenance.releases.install import BUILD_LOCK, LOCK, read_package
from companion.maintenance.releases.releases import Home, ReleaseTrouble
from companion.maintenance.releases.update import given


def wheel(path: Path, name: str = "tabletop_companion", version: str = "1.2.3", lock: bool = True) -> Path:
    """As little as makes a release: a program that says its version, a list of nothing."""
    file = path / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        "companion/__init__.py": "",
        "companion/cli/__init__.py": f"def main():\n    print('companion {version}')\n",
        "companion/storage/migrations.py": "FORMAT = 7\n",
        "companion/maintenance/releases/releases.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ncompanion = companion.cli:main\n",
    }
    if lock:
        files[LOCK] = "# none\n"
    with zipfile.ZipFile(file, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{place},,\n" for place in [*files, f"{info}/RECORD"]))
    return file


def test_a_wheel_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    package = read_package(wheel(tmp_path))
    assert (package.version, package.lock) == ("1.2.3", b"# none\n")
    assert package.digest != read_package(wheel(tmp_path, version="1.2.4")).digest


def test_the_tree_is_a_package_too() -> None:
    package = read_package(Path(__file__).parents[2])
    assert package.lock.startswith(b"#")
    assert package.digest == read_package(Path(__file__).parents[2]).digest


def test_an_archive_of_the_sources(tmp_path: Path) -> None:
    file = tmp_path / "tabletop_companion-1.2.3.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, text in (("PKG-INFO", "Name: tabletop-companion\nVersion: 1.2.3\n"), (LOCK, "# none\n")):
            member = tarfile.TarInfo(f"tabletop_companion-1.2.3/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert read_package(file).version == "1.2.3"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(ReleaseTrouble, match="damaged or no release"):
        read_package(file)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: wheel(folder, name="other"), "a release of other, not of tabletop-companion"),
        (lambda folder: wheel(folder, lock=False), "damaged or no release"),
        (lambda folder: folder / "none.whl", "There is no file"),
        (lambda folder: folder, "damaged or no release|There is no file"),
    ],
)
def test_what_is_no_release_is_refused(tmp_path: Path, make: Any, words: str) -> None:
    with pytest.raises(ReleaseTrouble, match=words):
        read_package(make(tmp_path))


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    content = file.read_bytes()
    for broken in (content[: len(content) // 2], content.replace(b"companion 1.2.3", b"companion 6.6.6"), b""):
        file.write_bytes(broken)
        with pytest.raises(ReleaseTrouble, match="damaged or no release"):
            read_package(file)


def test_what_is_no_file_of_a_release_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for what in ("tabletop-companion", "1.2.3", "release.zip", "tabletop-companion==1.3.0"):
        with pytest.raises(Malformed, match=r"give a file that ends in \.whl"), given(what, home, lambda _: None):
            pass
    with pytest.raises(SystemTrouble, match="There is no file"), given(str(tmp_path / "no.whl"), home, lambda _: None):
        pass
    damaged = tmp_path / "half.whl"
    damaged.write_bytes(b"PK")
    with (
        pytest.raises(SystemTrouble, match=f"{damaged} is damaged or no release"),
        given(str(damaged), home, lambda _: None),
    ):
        pass


@pytest.mark.slow
def test_what_builds_a_tree_stays_out_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools are kept beside the releases, so that the next build needs no network; this one finds them there."""
    tree, home = tmp_path / "tree", Home(tmp_path / "opt")
    monkeypatch.setattr("os.sync", lambda: None)  # waits for everybody's files
    text = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\n'
    text += 'name = "tabletop-companion"\nversion = "1.2.3"\n[project.scripts]\ncompanion = "companion.cli:main"\n'
    text += '[tool.setuptools.packages.find]\nnamespaces = true\ninclude = ["companion*"]\n'
    files = {
        "pyproject.toml": text,
        "companion/__init__.py": "",
        "companion/cli/__init__.py": "def main():\n    print('companion 1.2.3')\n",
        "companion/storage/migrations.py": "FORMAT = 7\n",
        "companion/maintenance/releases/releases.py": "",
        LOCK: "# none\n",
        BUILD_LOCK: "# some\n",
    }
    for place, content in files.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(content)
    package = read_package(tree)
    tools = home.folder / f".build-{hashlib.sha256(package.tools).hexdigest()[:16]}"
    lay_setuptools(tools)
    installed = []
    monkeypatch.setattr(install, "install_listed", lambda folder, lock, places, tools: installed.append(lock))
    name = install.build(home, package, sys.executable, lambda line: None)
    assert home.release(name).journal_format == 7
    assert installed == [b"# none\n"], "the tools were there"
    home.switch(name)
    home.tidy()
    assert tools.exists()
    assert [each.name for each in home.all()] == [name]


def lay_setuptools(folder: Path) -> None:
    """What makes wheels, as it is kept beside the releases."""
    packages = Path(setuptools.__file__).parent.parent
    for part in ("setuptools", "_distutils_hack", f"setuptools-{setuptools.__version__}.dist-info"):
        shutil.copytree(packages / part, folder / part)


@pytest.mark.slow
def test_a_dependency_that_is_there_as_sources_alone_is_made_by_the_same_tools(tmp_path: Path) -> None:
    """The real pip, from a folder and without a network: what the list names, checked against its hash, nothing beside."""
    sources, release = tmp_path / "some_keys-0.2.1.tar.gz", tmp_path / "release"
    with tarfile.open(sources, "w:gz") as archive:
        for name, text in (
            (
                "setup.py",
                "from setuptools import setup\nsetup(name='some-keys', version='0.2.1', py_modules=['keys'])\n",
            ),
            ("keys.py", "WORD = 'made here'\n"),
            ("PKG-INFO", "Metadata-Version: 1.0\nName: some-keys\nVersion: 0.2.1\n"),
        ):
            entry = tarfile.TarInfo(f"some_keys-0.2.1/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    lay_setuptools(tmp_path / "tools")
    subprocess.run([sys.executable, "-m", "venv", str(release)], check=True)
    digest = hashlib.sha256(sources.read_bytes()).hexdigest()
    lock = f"# made\n--no-binary some-keys\n\nsome-keys==0.2.1 --hash=sha256:{digest}\n"
    places = ["--no-index", "--find-links", str(tmp_path)]
    with pytest.raises(ReleaseTrouble, match="DO NOT MATCH THE HASHES"):
        install.install_listed(release, lock.replace(digest, "0" * 64).encode(), places, tmp_path / "tools")
    install.install_listed(release, lock.encode(), places, tmp_path / "tools")
    python = str(release / "bin" / "python3")
    said = subprocess.run([python, "-c", "import keys; print(keys.WORD)"], capture_output=True, text=True, check=True)
    assert said.stdout == "made here\n"


@pytest.mark.slow
def test_tools_are_kept_once_and_only_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, asked = Home(tmp_path), []

    def listed(folder: Path, lock: bytes, places: list[str]) -> None:
        asked.append((lock, places[:-1]))
        Path(places[-1]).mkdir()

    monkeypatch.setattr(install, "install_listed", listed)
    for tools in (b"one", b"one", b"two"):
        package = install.Package(tmp_path / "tree", "1.2.3", b"", "", tools)
        kept = install.build_tools(home, package, tmp_path / "1.2.3", tmp_path / "wheels")
    assert list(tmp_path.iterdir()) == [kept]
    places = ["--no-index", "--find-links", str(tmp_path / "wheels"), "--target"]
    assert asked == [(b"one", places), (b"two", places)]


@pytest.mark.slow
def test_a_release_is_really_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real environment, the real pip, nothing fetched; the next one takes its dependencies over by links."""
    home, said = Home(tmp_path / "opt"), list[str]()
    monkeypatch.setattr("os.sync", lambda: None)  # waits for everybody's files
    name = install.build(home, read_package(wheel(tmp_path)), sys.executable, said.append)
    assert (name, home.release(name).journal_format) == ("1.2.3", 7)
    assert install.build(home, read_package(wheel(tmp_path)), sys.executable, said.append) == name, (
        "it is there already"
    )
    home.switch(name)
    install.keep_watch(home, name)
    second = install.build(home, read_package(wheel(tmp_path, version="1.3.0")), sys.executable, said.append)
    pips = [next((home.folder / each).glob("lib/python3*/site-packages/pip/__init__.py")) for each in (name, second)]
    assert pips[0].samefile(pips[1])
    assert [each.name for each in home.all()] == ["1.2.3", "1.3.0"]
    assert home.current == "1.2.3"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of a broken release does not say its version; what it complains of is told."""
    home = Home(tmp_path / "opt")

    def without_pip(folder: Path, *arguments: str) -> None:
        program = home.program(folder.name)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\necho 'No module named flask' >&2\nexit 1\n")
        program.chmod(0o755)

    monkeypatch.setattr(install, "pip", without_pip)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 3.11\n")
    python.chmod(0o755)
    with pytest.raises(ReleaseTrouble, match=r"1\.2\.3/bin/companion --version …\n  No module named flask"):
        install.build(home, read_package(wheel(tmp_path)), str(python), lambda line: None)
    assert list(home.folder.iterdir()) == []
