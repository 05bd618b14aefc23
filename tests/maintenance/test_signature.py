"""An update is used only when it is signed by whom the installation trusts, and what is checked is what is installed."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_install import wheel
from test_update import FakeMachine, Place, place  # noqa: F401 - the last one is a fixture

from companion.cli.main import main
from companion.core.errors import Malformed, SystemTrouble
from companion.maintenance.releases import signature, update
from companion.maintenance.releases.install import Package
from companion.maintenance.releases.releases import Home
from companion.maintenance.releases.signature import KEY, is_signed, make_key, sign, signature_of, trust
from companion.maintenance.releases.update import demand_newer, demand_signature, given

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not Path("/usr/bin/openssl").exists(), reason="openssl is not installed")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "opt"
    folder.mkdir()
    return Home(folder)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "maker.key")
    return tmp_path / "maker.key"


def told(home: Home, what: Path, unsigned: bool = False) -> list[str]:
    """What is said on the way to a package that is taken."""
    said: list[str] = []
    with given(str(what), home, lambda copy: demand_signature(home, copy, unsigned, said.append)) as package:
        said.append(package.version)
    return said


def test_a_signed_release_is_taken(tmp_path: Path, home: Home, key: Path) -> None:
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    assert signature_of(file) == sign(file, key)
    assert told(home, file) == [f"{file.name} is signed by the key of this installation.", "1.2.3"]
    assert [path.name for path in home.folder.iterdir()] == [KEY], "nothing stays"
    assert (home.folder / KEY).stat().st_mode & 0o777 == 0o644
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("at", [0, 100, -1])
def test_one_changed_byte_is_one_too_many(tmp_path: Path, home: Home, key: Path, at: int) -> None:
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    sign(file, key)
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    with pytest.raises(SystemTrouble, match="has no good signature: nothing was changed"):
        told(home, file)


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"\xff" * 64, b"x" * 63, b"x" * 65, b"x" * 1_000_000, None])
def test_a_signature_that_is_none_is_none(tmp_path: Path, home: Home, key: Path, content: bytes | None) -> None:
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    if content is not None:
        signature_of(file).write_bytes(content)
    with pytest.raises(SystemTrouble, match=r"has no good signature.*\.sig must be beside it"):
        told(home, file)


def test_another_key_is_not_trusted(tmp_path: Path, home: Home, key: Path) -> None:
    file = wheel(tmp_path)
    make_key(tmp_path / "other.key")
    trust(home, key.with_suffix(".pub"))
    sign(file, tmp_path / "other.key")
    with pytest.raises(SystemTrouble, match="has no good signature"):
        told(home, file)
    trust(home, tmp_path / "other.pub")
    assert told(home, file)[-1] == "1.2.3", "the newest key is the only one"


def test_an_installation_without_a_key_trusts_nobody(tmp_path: Path, home: Home, key: Path) -> None:
    file = wheel(tmp_path)
    sign(file, key)
    with pytest.raises(SystemTrouble, match=r"trusts no key yet: sudo companion update --trust FILE\.pub"):
        told(home, file)


def test_nobody_looks_into_a_file_before_it_is_trusted(
    tmp_path: Path, home: Home, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    monkeypatch.setattr(update, "read_package", lambda path: pytest.fail("it was opened"))
    with pytest.raises(SystemTrouble, match="has no good signature"):
        told(home, file)


def test_what_is_checked_is_what_is_installed(tmp_path: Path, home: Home, key: Path) -> None:
    """The file is exchanged in the very moment after the check."""
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    sign(file, key)
    good = hashlib.sha256(file.read_bytes()).digest()
    (tmp_path / "evil").mkdir()
    wheel(tmp_path / "evil", version="6.6.6")

    def check(copy: Path) -> None:
        demand_signature(home, copy, False, lambda _: None)
        shutil.copy(next((tmp_path / "evil").glob("*.whl")), file)

    with given(str(file), home, check) as package:
        assert package.version == "1.2.3"
        assert hashlib.sha256(package.path.read_bytes()).digest() == good
        assert package.path.is_relative_to(home.folder)
        assert package.path.parent.stat().st_mode & 0o077 == 0, "root's alone"


@pytest.mark.parametrize("which", ["package", "signature"])
def test_links_are_not_followed(tmp_path: Path, home: Home, key: Path, which: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    file = wheel(folder)
    trust(home, key.with_suffix(".pub"))
    sign(file, key)
    linked = file if which == "package" else signature_of(file)
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SystemTrouble, match="Not an ordinary file"):
        told(home, file)


@pytest.mark.timeout(20)
def test_a_pipe_and_a_device_are_no_packages(tmp_path: Path, home: Home) -> None:
    os.mkfifo(tmp_path / "pipe.whl")
    for path in (tmp_path / "pipe.whl", Path("/dev/zero")):
        with pytest.raises((SystemTrouble, Malformed)):
            told(home, path)


def test_dependencies_beside_it_are_copied_when_they_are_in_its_list(tmp_path: Path, home: Home) -> None:
    other, stranger = tmp_path / "flask-3.whl", tmp_path / "evil-1.whl"
    other.write_bytes(b"flask")
    stranger.write_bytes(b"evil")
    (tmp_path / "link-1.whl").symlink_to(other)
    os.mkfifo(tmp_path / "pipe-1.whl")
    lock = f"flask==3 --hash=sha256:{hashlib.sha256(b'flask').hexdigest()}\n"
    folder = home.folder / ".incoming-x"
    folder.mkdir()
    update.take_dependencies(tmp_path, folder / "own.whl", lock)
    assert [path.name for path in folder.iterdir()] == ["flask-3.whl"]


# ---- unsigned --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_unsigned_is_for_root_at_a_terminal(
    tmp_path: Path, home: Home, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wheel(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SystemTrouble, match="--unsigned is for root alone, typed at a terminal"):
        told(home, file, unsigned=True)
    monkeypatch.setattr(sys, "stdin", Terminal())
    for real, effective in ((1000, 0), (0, 1000), (1000, 1000)):
        monkeypatch.setattr(os, "getuid", lambda real=real: real)
        monkeypatch.setattr(os, "geteuid", lambda effective=effective: effective)
        with pytest.raises(SystemTrouble, match="--unsigned is for root alone"):
            told(home, file, unsigned=True)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert told(home, file, unsigned=True) == [f"{file.name} has no good signature: you vouch for it.", "1.2.3"]
    trust(home, key.with_suffix(".pub"))
    sign(file, key)
    assert told(home, file, unsigned=True)[0].endswith("is signed by the key of this installation.")


def test_no_page_speaks_of_it() -> None:
    for path in (*(ROOT / "web").rglob("*.py"), *(ROOT / "web/templates").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert "unsigned" not in text, path
        assert "care.update" not in text, path


# ---- older -----------------------------------------------------------------------------------------------------------


def test_an_older_release_is_told_and_wants_a_word(place: Place) -> None:  # noqa: F811 - the fixture
    for version in ("0.9", "1.0rc1", "1.0.dev2"):
        package = Package(Path("x.whl"), version, b"", "")
        with pytest.raises(SystemTrouble, match=rf"{version} is older than 1\.0, which is in use.*--older"):
            demand_newer(place.home, package, older=False)
        demand_newer(place.home, package, older=True)
    for version in ("1.0", "1.0.0", "1.0.post1", "1.1", "1.10", "2.0a1"):
        demand_newer(place.home, Package(Path("x.whl"), version, b"", ""), older=False)


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_openssl_by_hand_agrees(tmp_path: Path, key: Path) -> None:
    file = wheel(tmp_path)
    sign(file, key)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(key.with_suffix(".pub"))]
    command += ["-in", str(file), "-sigfile", str(signature_of(file))]
    assert subprocess.run(command, check=True, capture_output=True).returncode == 0


def test_a_key_of_the_standard_is_understood(tmp_path: Path, home: Home) -> None:
    """RFC 8032, section 7.1, test 3: key, two bytes and their signature."""
    public = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
    signed = "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    text = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + public).decode()
    (tmp_path / "rfc.pub").write_text(f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
    trust(home, tmp_path / "rfc.pub")
    (tmp_path / "x.whl").write_bytes(bytes.fromhex("af82"))
    (tmp_path / "x.whl.sig").write_bytes(bytes.fromhex(signed))
    assert is_signed(home, tmp_path / "x.whl")
    (tmp_path / "x.whl").write_bytes(bytes.fromhex("af83"))
    assert not is_signed(home, tmp_path / "x.whl")


def test_keys_are_neither_overwritten_nor_of_another_kind(tmp_path: Path, home: Home, key: Path) -> None:
    with pytest.raises(Malformed, match="exists already: a key is never overwritten"):
        make_key(key)
    for wrong in (key, ROOT / "tests/certificates/certificate.pem", Path("/dev/zero")):
        with pytest.raises(Malformed, match=r"is not a public Ed25519 key|cannot be read"):
            trust(home, wrong)
    assert not (home.folder / KEY).exists()
    key.chmod(0o644)
    with pytest.raises(Malformed, match="can be read by others: chmod 600"):
        sign(wheel(tmp_path), key)
    key.chmod(0o600)
    with pytest.raises(Malformed, match=r"cannot be read: No such file"):
        sign(tmp_path / "none.whl", key)


def test_a_machine_without_openssl_takes_nothing(
    tmp_path: Path, home: Home, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wheel(tmp_path)
    trust(home, key.with_suffix(".pub"))
    sign(file, key)
    monkeypatch.setattr(signature, "OPENSSL", "/nowhere/openssl")
    with pytest.raises(SystemTrouble, match="is missing or does not work: sudo apt install openssl"):
        told(home, file)


def tracked() -> Iterator[Path]:
    named = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    if not named:
        pytest.skip("no repository here")
    yield from (ROOT / name for name in named.decode().split("\0") if name and (ROOT / name).is_file())


def test_no_private_key_is_in_the_repository() -> None:
    """Ed25519's private keys begin alike (RFC 8410, section 7); those of the tests' certificates are of another kind."""
    start = base64.b64encode(bytes.fromhex("302e020100300506032b657004220420"))[:21]
    any_key = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}")
    for path in tracked():
        content = path.read_bytes()
        assert start not in content, path
        if path.parent != ROOT / "tests/certificates":
            assert any_key.search(content) is None, path


# ---- the commands ----------------------------------------------------------------------------------------------------


def test_the_commands_make_a_key_sign_and_trust(
    tmp_path: Path,
    place: Place,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, key, state = wheel(tmp_path, version="2.0"), tmp_path / "k.key", ["--state-dir", str(tmp_path / "state")]
    monkeypatch.setattr(sys, "prefix", str(place.home.folder / "1.0"))
    monkeypatch.setattr(update, "ThisMachine", lambda *_: FakeMachine(place.home))
    assert main(["sign", "--make-key", str(key)]) == 0
    assert f"sudo companion update --trust {key.with_suffix('.pub')}" in capsys.readouterr().out
    assert main(["update", str(file), *state]) == 1
    assert "trusts no key yet" in capsys.readouterr().err
    assert main(["update", "--trust", str(key.with_suffix(".pub")), *state]) == 0
    assert main(["update", str(file), *state]) == 1
    assert "has no good signature" in capsys.readouterr().err
    assert main(["sign", str(file), "--key", str(key)]) == 0
    capsys.readouterr()
    assert main(["update", str(file), *state]) == 0, capsys.readouterr().err
    assert "2.0 is in use." in capsys.readouterr().out
    assert place.home.current == "2.0"
    old = wheel(tmp_path, version="1.5")
    assert main(["sign", str(old), "--key", str(key)]) == 0
    assert main(["update", str(old), *state]) == 1
    assert "1.5 is older than 2.0" in capsys.readouterr().err
    for wrong in (["sign", "--make-key", str(key), "x.whl"], ["sign", "--key", str(key)]):
        assert main(wrong) == 1


def test_a_terminal_is_a_terminal() -> None:
    """What `--unsigned` asks of the machine: a real one says yes, a pipe says no."""
    main_end, other_end = pty.openpty()
    program = "import sys; print(sys.stdin.isatty())"
    for stdin, says in ((other_end, "True"), (subprocess.DEVNULL, "False"), (subprocess.PIPE, "False")):
        done: Any = subprocess.run([sys.executable, "-c", program], stdin=stdin, capture_output=True, check=True)
        assert done.stdout.decode().strip() == says
    os.close(main_end)
    os.close(other_end)
