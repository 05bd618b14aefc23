"""What templates name is there, nothing in `web/static` is idle, and their lines can be read."""

from __future__ import annotations

import re
from pathlib import Path

import web

WEB = Path(web.__file__).parent
TEMPLATES = sorted((WEB / "templates").glob("*.html"))


def named(call: str) -> set[str]:
    """The words in quotes in every call of one function in all templates."""
    calls = re.findall(
        rf"{re.escape(call)}\(([^{{}}]*?)\) *\}}\}}|{re.escape(call)}\(([^()]*)\)", all_templates()
    )
    return set(re.findall(r'"([\w-]+)"', " ".join("".join(parts) for parts in calls)))


def all_templates() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES)


def test_every_script_that_is_named_is_there_and_none_is_idle() -> None:
    scripts = {path.stem for path in (WEB / "static").glob("*.js")}
    sources = "".join(path.read_text(encoding="utf-8") for path in (WEB / "static").glob("*.js"))
    imported = set(re.findall(r"from '\./([\w-]+)\.js'", sources))
    assert scripts == named("scripts") | imported | {"early"}
