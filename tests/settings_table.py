"""Write the page of settings in the docs from the fields of `companion.core.config`.

`python tests/settings_table.py` writes `docs/settings.md`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import msgspec

from companion.core.config import PadPins, Settings
from web.routes.openapi import attribute_docstrings

PATH = Path(__file__).parent.parent / "docs" / "settings.md"
HEAD = """# Settings

Settings are one TOML file: the one named by `--settings`, else `settings.toml` beside the games. \
An installation has
`/etc/tabletop-companion/settings.toml`. The page `/settings` writes it and keeps its comments. \
Unknown keys are refused
with their place.

```toml
state_dir = "/var/lib/tabletop-companion"

[camera]
source = "usb:0"
fps = 10

[panel.south]          # a table of its own replaces all of South's pins: this is the small wiring
ready = 10
lamp_turn = 4
```
"""


def rows(section: type[msgspec.Struct]) -> Iterator[str]:
    """Yield a table row for each setting of a section: its key, its default and its meaning."""
    texts = attribute_docstrings(section)
    for field in msgspec.structs.fields(section):
        if isinstance(field.default, msgspec.Struct):
            continue
        default = msgspec.json.encode(field.default).decode()
        # a vertical bar would end the cell of the table
        shown = "" if field.default in (None, "", ()) else f"`{default.replace('|', '/')}`"
        words = " ".join(texts[field.name].split()).rstrip(".")
        yield f"| `{field.encode_name}` | {shown} | {words} |"


def settings_page() -> str:
    """Return the whole page."""
    parts = [HEAD, "| setting | as delivered | what it is |\n|---|---|---|", *rows(Settings), ""]
    for field in msgspec.structs.fields(Settings):
        section = type(field.default)
        if not issubclass(section, msgspec.Struct):
            continue
        parts += [f"## `[{field.encode_name}]`", "", str(inspect.getdoc(section)), ""]
        parts += ["| setting | as delivered | what it is |\n|---|---|---|", *rows(section), ""]
    names = ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(PadPins))
    parts += [
        "## `[panel.south]`, `[panel.north]`",
        "",
        str(inspect.getdoc(PadPins)),
        "",
        f"The entries are {names}.",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PATH.write_text(settings_page(), encoding="utf-8")
