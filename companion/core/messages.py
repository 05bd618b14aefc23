"""JSON messages from other machines and programs: bounded in size, and decoded strictly.

Whoever sends them is not trusted. The bounds keep a small message from taking much memory.
"""

from __future__ import annotations

from typing import Any

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import say

# Maximum size of a message in bytes. The view of a game with a custom map has some 5 kB.
MAX_MESSAGE_BYTES = 32 * 1024


def has_too_many_brackets(content: bytes) -> bool:
    """Return whether JSON has suspiciously many lists and objects for its length.

    An empty list has two bytes as JSON and takes eighty in memory, so a small message could fill
    the memory. A real message has names and values between its brackets: one opening bracket in
    eight bytes is already too many. The first thousand are always allowed.
    """
    return content.count(b"[") + content.count(b"{") > 1000 + len(content) // 8


def decode_message(
    decoder: msgspec.json.Decoder[Any], payload: bytes, max_bytes: int = MAX_MESSAGE_BYTES
) -> Any:
    """Decode a message. Raises `Malformed` if it is too large or not what the decoder expects."""
    if len(payload) > max_bytes or has_too_many_brackets(payload):
        raise Malformed(say("This message is too large"))
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(say("This message cannot be read: {error}", error=str(error))) from None
