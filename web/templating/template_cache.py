"""Templates kept compiled between two starts: to compile those of the first page is most of what that page takes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

_DIGEST_BYTES = 32


class CompiledTemplates(BytecodeCache):
    """A file for each template in a folder of the service's own. One that is not whole is made anew.

    Jinja's own cache trusts what it finds; after a cut of the power that may be anything, hence the digest.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket from its file, if that is whole and belongs to the template as it is."""
        with contextlib.suppress(OSError):
            kept = self._file(bucket).read_bytes()
            digest, code = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
            if hashlib.sha256(code).digest() == digest:
                bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the bucket to its file. On a full disk nothing is written."""
        code = bucket.bytecode_to_string()
        path = self._file(bucket)
        unfinished = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                unfinished.write_bytes(hashlib.sha256(code).digest() + code)
                unfinished.replace(path)
            except OSError:
                unfinished.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all files."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.compiled"
