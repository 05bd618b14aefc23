"""What the server refuses by itself, before a page is asked: to a browser as a sentence and a way back."""

from __future__ import annotations

from http import HTTPStatus

from waitress.task import ErrorTask
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from companion.core.i18n import best_language, say, translate

_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title} – Tabletop Companion</title></head>
<body><main><h1>{title}</h1><p>{advice}</p><p><a href="/">{home}</a></p></main></body></html>
"""


def refusal_page(code: int, accepted_languages: str) -> bytes:
    """A page without styles: who is refused here has not been let in to ask for any."""
    language = best_language(parse_accept_header(accepted_languages, LanguageAccept).values())
    title, advice = say("This request cannot be read"), say("Go back and try again.")
    if code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        title, advice = say("That is too large for the table"), say("Go back and send something smaller.")
    words = {"title": title, "advice": advice, "home": say("Table screen")}
    page = _PAGE.format(language=language, **{name: translate(text, language) for name, text in words.items()})
    return page.encode()


class RefusedTask(ErrorTask):  # type: ignore[misc]  # waitress comes without types
    """The answer to a request that the server refuses; to a program it stays a line of plain text."""

    def execute(self) -> None:
        """Write it, and close the connection."""
        headers = self.request.headers
        if "text/html" not in headers.get("ACCEPT", ""):
            super().execute()
            return
        error = self.request.error
        body = refusal_page(error.code, headers.get("ACCEPT_LANGUAGE", ""))
        self.status = f"{error.code} {error.reason}"
        self.response_headers += [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", "default-src 'none'"),
            ("Cache-Control", "no-store"),
        ]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
