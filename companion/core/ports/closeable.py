"""Base class of everything that holds a thread, a pin, a camera or a file until it is closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """A context manager that closes at the end of its `with` block.

    A subclass must implement `close`, which may be called twice.
    """

    @abstractmethod
    def close(self) -> None:
        """Release what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
