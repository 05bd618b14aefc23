"""What templates name is there, nothing in `web/static` is idle, and their lines can be read."""

from __future__ import annotations

import re
from pathlib import Path

import web
from web.static_files import static_files

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


def test_four_stylesheets_are_served_and_every_one_is_named() -> None:
    files = {name for name in static_files() if name.endswith(".css")}
    assert files == {"base.css", "phone.css", "wall.css", "owner.css"}
    assert named("styles") == {"phone", "wall", "owner"}, "base.css is on every page"


def test_every_script_that_is_named_is_there_and_none_is_idle() -> None:
    scripts = {path.stem for path in (WEB / "static").glob("*.js")}
    sources = "".join(path.read_text(encoding="utf-8") for path in (WEB / "static").glob("*.js"))
    imported = set(re.findall(r"from '\./([\w-]+)\.js'", sources))
    assert scripts == named("scripts") | imported | {"early"}


def test_every_import_names_what_a_script_exports() -> None:
    for path in (WEB / "static").glob("*.js"):
        for names, script in re.findall(
            r"import \{([^}]*)\} from '\./([\w-]+)\.js'", path.read_text("utf-8")
        ):
            exported = re.findall(
                r"export (?:async )?(?:function|const) (\w+)",
                (WEB / f"static/{script}.js").read_text("utf-8"),
            )
            wanted = {name.strip() for name in names.split(",") if name.strip()}
            assert wanted <= set(exported), f"{path.name} from {script}"
