"""The opponent for Outbuffered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from companion.bots.base import Bot, Choice


class OutbufferedBot(Bot):
    """Any three orders."""

    def choose(self, view: Mapping[str, Any]) -> Choice:  # noqa: ARG002
        """Every buffer is legal."""
        return Choice("".join(self.rng.choices("UDLRIS", k=3)), 1)
