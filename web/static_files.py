"""Routes that every web application has: static files, and the choice of a language.

Static files are style sheets, scripts and the favicon.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flask import Response, make_response, redirect, request
from werkzeug.exceptions import NotFound

from companion.core import i18n
from companion.core.i18n import LANGUAGES, script_translations
from web.routes.route import form, get

STATIC = Path(__file__).parent / "static"
# Seconds for which browsers may cache files and remember a language.
YEAR_S = 365 * 24 * 3600
# A path on this machine. Browsers take `//` and `/\` for the start of another host's address.
_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")


def redirect_in_language(path: str, code: str) -> Response:
    """Redirect to a path, and set the language in which this browser gets all pages.

    Raises `NotFound` for a language that the pages do not have.
    """
    if code not in LANGUAGES:
        raise NotFound
    answer = make_response(redirect(path, 303))
    answer.set_cookie("language", code, max_age=YEAR_S, samesite="Lax", httponly=True)
    return answer


class StaticFiles:
    """The routes that are the same for everybody. Every application has them."""

    name = "pages"

    def __init__(self) -> None:
        self._version = static_version()

    @form("/language")
    def language(self, code: str, back: str) -> Any:
        """Set the language of this browser, and redirect to the page `back` that asked.

        Raises `NotFound` for a language that the pages do not have.
        """
        return redirect_in_language(back if _OWN_PATH.fullmatch(back) else "/", code)

    @get("/favicon.svg")
    @get("/favicon.ico", answer="image/svg+xml")
    def favicon(self) -> Response:
        """Return the favicon."""
        return self.static("", "favicon.svg")

    @get("/static/<version>/<name>", answer="*/*")
    def static(self, version: str, name: str) -> Response:
        """Return a style sheet, a script or a script's sentences. Raises `NotFound`.

        Browsers may cache it forever under the address of its version.
        """
        content = static_files().get(name) or translations_module(name)
        if content is None:
            raise NotFound
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        answer = Response(content, mimetype=media_type)
        # a page of an older version gets the current file, which must not stay under that address
        is_current = version == self._version
        answer.headers["Cache-Control"] = (
            f"public, max-age={YEAR_S}, immutable" if is_current else "no-cache"
        )
        answer.add_etag()
        answer.make_conditional(request)
        return answer


def static_version() -> str:
    """Return the version in static files' addresses: a digest of these files and the catalogues."""
    digest = hashlib.sha256()
    for name, content in static_files().items():
        digest.update(name.encode() + content)
    for catalogue in sorted(i18n.LOCALE.glob("*.po")):
        digest.update(catalogue.read_bytes())
    return digest.hexdigest()[:10]


@cache
def static_files() -> Mapping[str, bytes]:
    """Return stylesheets, scripts and the favicon by name."""
    return {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.is_file()}


def translations_module(name: str) -> bytes | None:
    """Return a script module with the translations of the scripts' sentences.

    Its name is `words.es.js`, or the same with another language. Return None for any other name.
    """
    code = name.removeprefix("words.").removesuffix(".js")
    if code not in LANGUAGES or name != f"words.{code}.js":
        return None
    words = json.dumps(script_translations(code), ensure_ascii=False, separators=(",", ":"))
    return f"export default {words};\n".encode()
