"""Safe reading and writing of files.

Files that people name are read only if they are regular files, without blocking, and up to a
maximum size. A path in a setting or on the command line may be a device or a pipe (`/dev/zero`),
and reading it may never end, or never begin. Files are written so that a power cut leaves either
the old content or the new.
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

# Maximum size in bytes of a file written by a person, or of a certificate: settings, board maps,
# PEM files. All of them are far smaller, so it only bounds the memory.
MAX_TEXT_BYTES = 1_000_000
# Maximum size in bytes of any other file that a command reads, such as a saved game. It only bounds
# the memory: a game that is imported has far fewer (`companion.archive.played_games`).
MAX_FILE_BYTES = 50_000_000
# Major device number of video devices (Linux, Documentation/admin-guide/devices.txt).
V4L2_MAJOR = 81

# Reasons of frequent errors, which the system gives only in English.
_REASONS = {
    errno.EACCES: say("Permission denied"),
    errno.EDQUOT: say("Disk quota exceeded"),
    errno.EIO: say("Input/output error"),
    errno.ENOENT: say("No such file or directory"),
    errno.ENOSPC: say("No space left on device"),
    errno.EPERM: say("Operation not permitted"),
    errno.EROFS: say("Read-only file system"),
}


def describe_os_error(error: OSError) -> str:
    """Return the reason of a system error as a phrase. Frequent ones can be translated."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def open_file(path: str | Path, follow_link: bool = True) -> BinaryIO:
    """Return a regular file, open for reading.

    Raises OSError, also for anything that is not a regular file. With `follow_link=False`, a
    symbolic link as the last part of the path is refused too. A device is never opened, because
    some devices do something as soon as they are opened.
    """
    path = expand_path(path)
    _require_regular(os.stat(path, follow_symlinks=follow_link), path)
    # O_NONBLOCK: do not wait at a pipe that has replaced the file in the meantime
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    if not follow_link:
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags)
    try:
        # The file may have been replaced since the check above.
        _require_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: str | Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `max_bytes` bytes.

    Raises OSError, also for a longer file.
    """
    with open_file(path) as file:
        # One byte more reveals a file that is too long.
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        words = f"Longer than {max_bytes} bytes"
        if max_bytes >= 1_000_000:
            words = f"Larger than {max_bytes // 1_000_000} MB"
        raise OSError(errno.EFBIG, words, str(path))
    return content


def sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that the names in it survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: after a power cut it is either the old one or the new one.

    `mode` is that of the new file. Raises OSError.
    """
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    try:
        # O_EXCL: do not follow a link that was put there in the meantime
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
    # The new name must survive a power cut, too.
    sync_folder(path.parent)


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """Let root work in a folder as its owner within the `with` block.

    So no new file in the folder belongs to root, and a link in it cannot misdirect root. If another
    user runs the program, or if the folder is root's or does not exist, nothing changes.

    Within the block the whole process runs as the owner, so this is only for commands that have one
    thread.
    """
    owner = folder.stat() if folder.exists() else None
    if os.geteuid() != 0 or owner is None or owner.st_uid == 0:
        yield
        return
    groups = os.getgroups()
    # Groups first: only root may change them.
    os.setgroups([])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def expand_path(path: str | Path) -> Path:
    """Return a path with `~` expanded.

    Raises OSError for an impossible path, such as one with the home of an unknown user.
    """
    try:
        if "\0" in str(path):
            raise ValueError(path)
        return Path(path).expanduser()
    except (ValueError, RuntimeError):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None


def is_video_device(path: str | Path) -> bool:
    """Return whether a path is a Video4Linux device, without opening it."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) == V4L2_MAJOR


def _require_regular(status: os.stat_result, path: Path) -> None:
    """Raise OSError unless a status is that of a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
