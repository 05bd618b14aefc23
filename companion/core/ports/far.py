"""A remote phone and the pages of a table: what it asks, what comes back, and who answers; a hub carries both.

Values alone, so that both ends read them strictly. None of them says what is in it when it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from companion.core.errors import CompanionError

MOST_BODY = 16 * 1024
"""What a phone may send at once: as much as a form of the table's own pages."""
PIECE = 48 * 1024
"""So much of an answer goes in one message."""
MOST_ANSWER, MOST_PHOTOGRAPH = 2 * 1024 * 1024, 256 * 1024
"""So large is an answer at most, and a photograph of the board, which has some 30 kB."""
Cookie = Literal["seat_south", "seat_north"]
COOKIES: tuple[Cookie, ...] = ("seat_south", "seat_north")
"""The table's cookies that a remote phone carries; no other one comes or goes."""
Short = Annotated[str, Meta(max_length=200)]
_Cookies = Annotated[dict[Cookie, Annotated[str, Meta(max_length=400)]], Meta(max_length=2)]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of both; what is in it is nobody's but the phone's and the table's."""

    def __repr__(self) -> str:
        return type(self).__name__


class FarRequest(_Message, frozen=True):
    """What a phone asks: `code` is that of its invitation, `language` the one it reads."""

    code: Annotated[str, Meta(max_length=20)]
    method: Literal["GET", "POST"]
    path: Short
    query: Annotated[str, Meta(max_length=400)] = ""
    language: Annotated[str, Meta(max_length=8)] = "en"
    accept: Short = ""
    content_type: Short = ""
    cookies: _Cookies = {}
    body: Annotated[bytes, Meta(max_length=MOST_BODY)] = b""

    __repr__ = _Message.__repr__


class FarAnswer(_Message, frozen=True):
    """A piece of an answer, the first one with its head. A cookie without a value is to be forgotten.

    `number` counts the pieces from 0; of a page that is followed there are ever more, until one is the last.
    """

    number: int = 0
    is_last: bool = True
    status: Annotated[int, Meta(ge=100, le=599)] = 200
    content_type: Short = ""
    location: Short = ""
    cookies: _Cookies = {}
    body: Annotated[bytes, Meta(max_length=PIECE)] = b""

    __repr__ = _Message.__repr__


def most_bytes(content_type: str) -> int:
    """How large an answer of this kind may be.

    >>> most_bytes("image/jpeg") < most_bytes("text/html; charset=utf-8")
    True
    """
    return MOST_PHOTOGRAPH if content_type == "image/jpeg" else MOST_ANSWER


def is_picture(path: str) -> bool:
    """Is this a picture, which takes far more of a line than a page does?

    >>> [is_picture(path) for path in ("/api/photograph/3/3.7", "/history/3.webp", "/history/3")]
    [True, True, False]
    """
    return path.startswith("/api/photograph/") or path.endswith(".webp")


class FarPages(Protocol):
    """The pages of a table for a remote phone."""

    def answer(self, asked: FarRequest, at_s: float, is_gone: Callable[[], bool]) -> Iterator[FarAnswer]:
        """Every piece of the answer; at least one. `at_s` is when it was asked, by the table's clock.

        `is_gone` is true once nobody waits for the rest.
        """


class LineDown(CompanionError, RuntimeError):
    """A table far away does not answer. The message says whether it may have heard what it was asked."""

    kind = "line_down"


class LineBusy(LineDown):
    """The line is there, and has too much to carry."""

    kind = "line_busy"
