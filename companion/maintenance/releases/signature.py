"""Is this the maintainer's release? An Ed25519 signature beside the package, checked with the installation's own key.

OpenSSL of the distribution does it (`/usr/bin/openssl`, 3.0 or newer): root's part of an update then runs no code of
Python's index to decide whether it may run code of Python's index, and Debian mends it. The signature is over the whole
file, so over the list of dependencies with their hashes in it as well. By hand:

    openssl pkeyutl -verify -rawin -pubin -inkey KEY.pub -in FILE.whl -sigfile FILE.whl.sig
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

from companion.core.errors import Malformed, SystemTrouble
from companion.core.files import open_file, read_file, sync_folder
from companion.maintenance.releases.releases import Home

KEY = "update-key.pub"
"""The public key, beside the releases; root's alone."""
SIGNATURE_BYTES = 64
"""RFC 8032, section 5.1.6."""
OPENSSL = "/usr/bin/openssl"
_PUBLIC = re.compile(rb"-----BEGIN PUBLIC KEY-----\s+MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=\s+-----END PUBLIC KEY-----\s*")
"""An Ed25519 key and nothing else (RFC 8410, section 4: the same twelve bytes before every one)."""
_MAX_KEY = 4_000


def signature_of(package: Path) -> Path:
    """Where the signature of a package lies."""
    return package.with_name(f"{package.name}.sig")


def has_key(home: Home) -> bool:
    """Does this installation know whose releases to trust?"""
    return (home.folder / KEY).exists()


def trust(home: Home, key: Path) -> None:
    """Keep a public key, from now on the only one; raises `Malformed` for what is none."""
    content = _public_key(key)
    unfinished = home.folder / f".{KEY}.new"
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(home.folder / KEY)
    sync_folder(home.folder)


def is_signed(home: Home, package: Path) -> bool:
    """Is the signature beside this file the maintainer's? Raises `SystemTrouble` where that cannot be told."""
    signature = signature_of(package)
    try:
        if len(read_file(signature, SIGNATURE_BYTES)) != SIGNATURE_BYTES:
            return False
    except OSError:
        return False
    key = home.folder / KEY
    _public_key(key)
    options = ["-verify", "-rawin", "-pubin", "-inkey", str(key), "-in", str(package), "-sigfile", str(signature)]
    return _openssl("pkeyutl", *options).returncode == 0


def make_key(path: Path) -> Path:
    """Make a private key, for its owner alone, and beside it the public one, whose path is answered.

    Raises `Malformed` where there is one already.
    """
    public = path.with_suffix(".pub")
    for each in (path, public):
        if each.exists() or each.is_symlink():
            raise Malformed(f"{each} exists already: a key is never overwritten")
    made = _openssl("genpkey", "-algorithm", "ed25519")
    _demand(made, "A key cannot be made")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(made.stdout)
        told = _openssl("pkey", "-in", str(path), "-pubout")
        _demand(told, "A key cannot be made")
        public.write_bytes(told.stdout)
    except OSError as error:
        raise SystemTrouble(f"{path} cannot be written: {error.strerror or error}") from None
    return public


def sign(package: Path, key: Path) -> Path:
    """Sign a package; answers where the signature lies. Raises `Malformed` for a key that others can read."""
    signature = signature_of(package)
    try:
        with open_file(key) as file:
            mode = os.fstat(file.fileno()).st_mode
        if stat.S_IMODE(mode) & 0o077:
            raise Malformed(f"{key} can be read by others: chmod 600 {key}")
        with open_file(package):
            pass
    except OSError as error:
        raise Malformed(f"{error.filename} cannot be read: {error.strerror}") from None
    options = ["-sign", "-rawin", "-inkey", str(key), "-in", str(package), "-out", str(signature)]
    _demand(_openssl("pkeyutl", *options), f"{package} cannot be signed with {key}")
    if len(read_file(signature, 10_000)) != SIGNATURE_BYTES:
        signature.unlink()
        raise Malformed(f"{key} is not an Ed25519 key: make one with companion sign --make-key FILE")
    return signature


def _public_key(path: Path) -> bytes:
    try:
        content = read_file(path, _MAX_KEY)
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror}") from None
    if not _PUBLIC.fullmatch(content):
        raise Malformed(f"{path} is not a public Ed25519 key: companion sign --make-key FILE makes FILE and its .pub")
    return content


def _openssl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run it with nothing of the caller's environment: that could name other settings and engines."""
    try:
        return subprocess.run(
            [OPENSSL, *arguments], capture_output=True, check=False, stdin=subprocess.DEVNULL, env={}, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        raise SystemTrouble(f"{OPENSSL} is missing or does not work: sudo apt install openssl") from None


def _demand(ended: subprocess.CompletedProcess[bytes], words: str) -> None:
    if ended.returncode != 0:
        complaint = ended.stderr.decode(errors="replace").strip().splitlines() or ["no reason is given"]
        raise SystemTrouble(f"{words}: {complaint[0]}")
