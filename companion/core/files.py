"""Files that people name: read only where they are ordinary files, without waiting for anybody, and
never too much.

A path in a setting or on the command line may lead to a device or a pipe (`/dev/zero`): reading
such a thing never ends, or never begins.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from companion.core.i18n import say

MAX_TEXT = 1_000_000
"""Bytes of a file that a person writes or a certificate has: settings, board maps, PEM files."""
MAX_GAME = 50_000_000
"""Bytes of a game that is brought in."""
V4L2_MAJOR = 81
"""The number of video devices (Linux, Documentation/admin-guide/devices.txt)."""

_REASONS = {
    errno.EACCES: say("Permission denied"),
    errno.EDQUOT: say("Disk quota exceeded"),
    errno.EIO: say("Input/output error"),
    errno.ENOENT: say("No such file or directory"),
    errno.ENOSPC: say("No space left on device"),
    errno.EPERM: say("Operation not permitted"),
    errno.EROFS: say("Read-only file system"),
}
"""What the system says in English alone."""


def why_refused(error: OSError) -> str:
    """Return why the system refused, in the reader's language where it is known."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def open_file(path: str | Path, follow_link: bool = True) -> BinaryIO:
    """Return an ordinary file, open for reading.

    Raises OSError, also for anything else that has this name.

    `follow_link=False`: a link in the last part of the path is refused, too. A device is not even
    opened, because some of them act on that alone.
    """
    path = expanded(path)
    _demand_regular(os.stat(path, follow_symlinks=follow_link), path)
    # a pipe that has taken its place since is not waited for
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    if not follow_link:
        flags |= os.O_NOFOLLOW
    handle = os.open(path, flags)
    try:
        _demand_regular(os.fstat(handle), path)  # it may have been exchanged since
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_file(path: str | Path, most: int) -> bytes:
    """Return the content of an ordinary file of at most `most` bytes.

    Raises OSError, also for a longer one.
    """
    with open_file(path) as file:
        _demand_size(os.fstat(file.fileno()).st_size, most, path)
        # one byte more shows a file that has grown since
        content = file.read(most + 1)
    _demand_size(len(content), most, path)
    return content


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power cut from now on."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file so that after a power cut it is the old one or the new one. Raises OSError."""
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    try:
        # O_EXCL: a link that somebody lays there in between is not followed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(unfinished, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(mode)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    # the new name has to survive, too
    sync_folder(path.parent)


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """Let root work in a folder as its owner: nothing there becomes root's, and no link there leads
    root astray.
    """
    owner = folder.stat() if folder.exists() else None
    if os.geteuid() != 0 or owner is None or owner.st_uid == 0:
        yield
        return
    groups = os.getgroups()
    # groups first: whoever is not root any more may not change them
    os.setgroups([])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def expanded(path: str | Path) -> Path:
    """Return a path with `~` replaced.

    Raises OSError for what can be no path, such as one with the home of nobody.
    """
    try:
        if "\0" in str(path):
            raise ValueError(path)
        return Path(path).expanduser()
    except (ValueError, RuntimeError):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None


def is_video_device(path: str | Path) -> bool:
    """Return whether this is a device of Video4Linux. It is not opened."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) == V4L2_MAJOR


def _demand_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))


def _demand_size(size: int, most: int, path: str | Path) -> None:
    if size > most:
        words = f"Longer than {most} bytes"
        if most >= 1_000_000:
            words = f"Larger than {most // 1_000_000} MB"
        raise OSError(errno.EFBIG, words, str(path))


def is_dense(content: bytes) -> bool:
    """Return whether JSON from elsewhere holds more lists and objects than its length can be meant
    for.

    Each `[]` of two bytes becomes eighty in memory.
    """
    return content.count(b"[") + content.count(b"{") > 1000 + len(content) // 8
