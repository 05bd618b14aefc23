"""A single thread for everything that takes long: pictures, PDFs and films."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from flask import request
from werkzeug.exceptions import ServiceUnavailable

from companion.core.ports import Closeable
from web.security.rate_limit import UsageCounts, address_group

T = TypeVar("T")
# Maximum number of waiting requests. Each occupies one of the web server's 16 threads for requests
# (`SPARE_THREADS`), and some of these must stay free for pages.
MAX_WAITING = 12
# Maximum number of waiting requests per address. Six, because a browser opens at most six
# connections to one server.
MAX_WAITING_PER_ADDRESS = 6


class Worker(Closeable):
    """Runs one slow task at a time, in a single thread. The web server starts and closes it.

    There is one thread for all such work, because a thread keeps the memory that its work has freed
    for later. If each of the server's threads did such work, each would keep as much.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._waiting = UsageCounts[str]()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the thread now instead of at the first request."""
        # an executor starts its thread for its first task, so give it one that does nothing
        self._thread.submit(int).result()

    def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread and return its result, once all earlier work is done.

        Raises what `work` raises, and `ServiceUnavailable` if too many requests wait already.
        """
        address = address_group(request.remote_addr or "")
        with self._lock:
            if (
                self._waiting.total() >= MAX_WAITING
                or self._waiting[address] >= MAX_WAITING_PER_ADDRESS
            ):
                raise ServiceUnavailable
            self._waiting[address] += 1
        try:
            # in the context of the request, because drawings need its language
            return self._thread.submit(copy_context().run, work).result()
        finally:
            with self._lock:
                self._waiting.release(address)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)
