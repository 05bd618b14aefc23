"""One stylesheet a surface: a phone, the table screen, or a document such as the host's page.

Each is served as one file, `phone.css`, and is made of some in `web/static`, in the order in which they apply. Games of
pieces and of cards need more of their surface: `phone-cards` comes on top of `phone`, `phone-dealt` once it is over. A
document loads `document` and a sheet of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

_BASE = ("tokens", "pages", "parts")
STYLESHEETS: Mapping[str, tuple[str, ...]] = {
    "phone": (*_BASE, "forms", "phone"),
    "phone-join": ("phone-join",),
    "phone-cards": ("cards", "hand"),
    "phone-dealt": ("cards",),
    "phone-pieces": ("pieces",),
    "phone-guide": ("phone-guide",),
    "phone-end": ("phone-end",),
    "phone-pass": ("phone-pass",),
    "phone-slots": ("phone-slots",),
    "wall": (*_BASE, "wall"),
    "wall-cards": ("cards", "wall-cards"),
    "wall-pieces": ("pieces", "wall-pieces"),
    "wall-guide": ("wall-guide",),
    "wall-end": ("wall-end",),
    "document": (*_BASE, "forms"),
    "host": ("host",),
    "rules": ("rules",),
    "rules-cards": ("cards", "rules"),
    "history": ("history",),
    "camera": ("camera",),
    "check": ("check",),
    "workbench": ("workbench",),
    "here": ("tokens", "here"),
    "hub-wall": (*_BASE, "cards", "wall", "hub-wall"),
    "hub-watch": ("cards", "hub-watch"),
    "hub-overlay": (*_BASE, "cards", "wall", "hub-overlay"),
    "hub-host": ("hub-host",),
    "hub-league": ("hub-league",),
}
"""The sheets that are served, without their ending, and the files of each."""


def stylesheets(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every sheet by the name that pages ask for, put together from the files of `web/static` by name."""
    return {f"{name}.css": b"\n".join(files[f"{part}.css"] for part in parts) for name, parts in STYLESHEETS.items()}
