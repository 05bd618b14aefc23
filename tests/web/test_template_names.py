"""Templates name only what a view has: Jinja draws nothing where a name is wrong, and says nothing."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from jinja2 import Environment, nodes

from companion.table.table_view import TableView
from web.static_files import STATIC

TEMPLATES = sorted((STATIC.parent / "templates").rglob("*.html"))


def chain(node: nodes.Node) -> list[str]:
    """`view.board.layout` as its names; empty for anything else."""
    if isinstance(node, nodes.Name):
        return [node.name]
    return (
        [*before, node.attr]
        if isinstance(node, nodes.Getattr) and (before := chain(node.node))
        else []
    )


def wrong(names: list[str], kind: Any = TableView) -> str:
    """The first name that is none of its dataclass; empty where all are."""
    for name in names:
        if not is_dataclass(kind):
            return ""
        known = {each.name for each in fields(kind)} | {
            name for name in dir(kind) if not name.startswith("_")
        }
        if name not in known:
            return name
        kind = get_type_hints(kind).get(name)
    return ""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_name_what_a_view_has(path: Path) -> None:
    tree = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
    named = [
        names for each in tree.find_all(nodes.Getattr) if (names := chain(each))[:1] == ["view"]
    ]
    assert not [".".join(names) for names in named if wrong(names[1:])]
