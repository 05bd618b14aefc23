"""Dates and catalogues against Babel, which only development needs."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from babel.dates import format_date, format_time
from babel.messages.pofile import read_po

from companion.core.catalogue_file import plural_of, read_catalogue
from companion.core.i18n import LANGUAGES, LOCALE, languages_in, long_date, time_of_day

LOCALES = {"en": "en_GB"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_day_and_hour_is_written_as_the_language_writes_it(language: str) -> None:
    locale = LOCALES.get(language, language)
    for number in range(366):
        at = datetime(2024, 1, 1, number % 24, number % 60) + timedelta(days=number)
        assert long_date(at, language) == format_date(at, "long", locale)
        assert time_of_day(at, language) == format_time(at, "short", locale=locale)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_a_catalogue_is_read_as_gettext_means_it(language: str) -> None:
    path = LOCALE / f"{language}.po"
    with path.open("rb") as file:
        catalog = read_po(file, locale=language)
    header, *messages = read_catalogue(path)
    assert catalog.plural_expr == plural_of(header)
    assert catalog.num_plurals == 2

    def several(text: object) -> tuple[str, ...]:
        return (text,) if isinstance(text, str) else tuple(text or ())  # type: ignore[call-overload] # str or a row

    meant = {several(each.id): several(each.string) for each in catalog if each.id}
    found = {
        (each.one, each.many) if each.many else (each.one,): tuple(each.words) for each in messages
    }
    assert found == meant
    assert {name for each in messages for name in each.files} == {
        name for each in catalog for name, _ in each.locations
    }


def test_a_table_runs_without_babel() -> None:
    code = (
        "import sys; sys.modules['babel'] = None\n"
        "import companion.service.app, web.routes.history\n"
        "from companion.core.i18n import say, translate\n"
        "from web.routes.history import day\n"
        "print(translate(say('A draw'), 'fr'), bool(day(1.0)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "Match nul True\n"


def test_a_language_is_one_catalogue(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr ""\n"Language: xx\\n"\n"Language-Team: Xisch\\n"\n\nmsgid "Stop"\nmsgstr "Xalt"\n'
    (tmp_path / "xx.po").write_text(header, encoding="utf-8")
    (tmp_path / "yy.po").write_text('msgid ""\nmsgstr "Language: yy\\n"\n', encoding="utf-8")
    assert languages_in(tmp_path) == {"en": "English", "xx": "Xisch", "yy": "yy"}
    assert dict(LANGUAGES) == {"en": "English", "es": "Español", "fr": "Français"}
