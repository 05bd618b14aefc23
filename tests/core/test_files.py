"""Test that every file which the program is told to open is ordinary and of bounded size.

Pipes, sockets, devices and endless files are refused at once, by every reader.
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from companion.cli.main import main
from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, MqttSettings, load_settings
from companion.core.errors import CameraError, ConfigError
from companion.core.files import expand_path, is_video_device, open_file, read_file
from companion.mqtt.connection import BrokerError, new_client
from vision.cameras import files
from vision.cameras.catalogue import open_camera
from web.security.tls import BadCertificate, certificate_context

CERTIFICATES = Path(__file__).parents[1] / "certificates"


def make_pipe(folder: Path) -> Path:
    path = folder / "pipe.png"
    os.mkfifo(path)
    return path


def make_socket(folder: Path) -> Path:
    path = folder / "socket.png"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    return path


def make_link_to_itself(folder: Path) -> Path:
    path = folder / "loop.png"
    path.symlink_to(path)
    return path


def make_link_to_zero(folder: Path) -> Path:
    path = folder / "link.png"
    path.symlink_to("/dev/zero")
    return path


def make_sparse_file(folder: Path) -> Path:
    path = folder / "sparse.png"
    with path.open("wb") as file:
        file.truncate(10**12)
    return path


# Everything that is not an ordinary file, or too large to be read.
MAKERS: tuple[Callable[[Path], Path], ...] = (
    make_pipe,
    make_socket,
    make_link_to_itself,
    make_link_to_zero,
    make_sparse_file,
    lambda folder: folder,
    lambda folder: Path("/dev/zero"),
    lambda folder: Path("a\0b"),
    lambda folder: folder / ("n" * 5000),
)


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def hostile_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(request.param(tmp_path))


@pytest.fixture(autouse=True)
def bounded_memory() -> object:
    """Limit the process's memory, which a fault here would otherwise exhaust."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (3_000_000_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@pytest.mark.timeout(20)
def test_special_files_are_refused_at_once(hostile_path: Path) -> None:
    with pytest.raises(OSError, match=r"ordinary|Larger|directory|No such|levels|too long"):
        read_file(hostile_path, 1_000_000)


@pytest.mark.timeout(20)
def test_no_reader_opens_a_special_file(
    hostile_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cameras, certificates, settings and commands all refuse it, with one line of text."""
    with pytest.raises(CameraError):
        open_camera(CameraSettings(source=str(hostile_path)), FakeClock())
    with pytest.raises(CameraError):
        open_camera(CameraSettings(source=f"{hostile_path}/x.mp4"), FakeClock())
    with pytest.raises(BadCertificate):
        certificate_context(str(hostile_path), str(CERTIFICATES / "key.pem"))
    with pytest.raises(BrokerError):
        new_client(MqttSettings(tls=True, ca_file=str(hostile_path)))
    with pytest.raises(ConfigError):
        load_settings(hostile_path)
    if "\0" in str(hostile_path):
        return  # no command line can contain this character
    state = str(tmp_path / "state")
    Path(state).mkdir()
    for command in (
        ["kit", "outbuffered", "--board", str(hostile_path), "-o", str(tmp_path / "x.pdf")],
        ["import", str(hostile_path), "--state-dir", state],
        ["restore", str(hostile_path), "--state-dir", state],
        ["doctor", "--settings", str(hostile_path)],
    ):
        assert main(command) == 1, command
        assert capsys.readouterr().err.startswith("companion: "), (
            "the refusal must be one plain line"
        )


def test_a_folder_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 5)
    for number in range(6):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(CameraError, match="holds more than 5 files: take a smaller folder"):
        files.list_pictures(tmp_path)


def test_ordinary_files_and_links_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    link = tmp_path / "b.txt"
    file.write_bytes(b"12345")
    link.symlink_to(file)
    assert read_file(link, 5) == b"12345"
    with pytest.raises(OSError, match="Longer than 4 bytes"):
        read_file(file, 4)
    with pytest.raises(OSError, match="ordinary"):
        open_file(link, follow_link=False)
    # A program that is started meanwhile does not get the open file.
    with open_file(file, follow_link=False) as handle:
        assert not os.get_inheritable(handle.fileno())
    assert expand_path("~") == Path.home()


def test_only_video_devices_are_cameras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "video0").touch()
    assert not any(
        is_video_device(path) for path in (tmp_path / "video0", "/dev/zero", tmp_path / "none")
    )
    # Where the system has given video devices the number of /dev/zero, that is one.
    monkeypatch.setattr("companion.core.files.V4L2_MAJOR", 1)
    assert is_video_device("/dev/zero")
