"""Live parts of pages, and what a page around one needs of scripts and sheets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from flask import render_template
from markupsafe import Markup


class Needs:
    """What a template names while it is drawn because its markup needs it: scripts, and a sheet of its game's kind.

    A page loads them at once; of what comes later by the stream the page's scripts fetch what is not there yet.
    """

    def __init__(self, modules: Iterable[str] = (), sheets: Iterable[str] = ()) -> None:
        self.modules, self.sheets = list(modules), list(sheets)

    def module(self, name: str) -> Markup:
        """The attribute of an element that a script of `web/static` works on."""
        if name not in self.modules:
            self.modules.append(name)
        return Markup(' data-needs="{}"').format(name)

    def later(self, name: str) -> Markup:
        """The attribute of an element whose script may come when everything else is there."""
        return Markup(' data-needs="{}"').format(name)

    def sheet(self, name: str) -> Markup:
        """The attribute of a fragment that needs one of `STYLESHEETS` beside that of its surface."""
        if name not in self.sheets:
            self.sheets.append(name)
        return Markup(' data-sheet="{}"').format(name)


class Fragment(NamedTuple):
    """The live part of a page, and what it needs."""

    html: str
    needs: Needs


def render_fragment(template: str, fragment: Fragment, **more: Any) -> str:
    """A page around its live part, with everything that this needs."""
    needs = Needs(fragment.needs.modules, fragment.needs.sheets)
    return render_template(template, fragment=fragment.html, needs=needs, **more)
