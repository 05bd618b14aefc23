"""Test that catalogues are read as by Babel, and that a new file is a new language."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from words_tools import ROOT

from companion.core.catalogue_file import parse_plural_rule, read_catalogue
from companion.core.i18n import LANGUAGES, LOCALE


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_a_catalogue_is_read_as_by_babel(language: str) -> None:
    """The program has its own reader. Babel, with which catalogues are made, is the standard."""
    path = LOCALE / f"{language}.po"
    with path.open("rb") as file:
        catalog = read_po(file, locale=language)
    header, *messages = read_catalogue(path)
    assert catalog.plural_expr == parse_plural_rule(header)
    assert catalog.num_plurals == 2

    def as_tuple(text: object) -> tuple[str, ...]:
        return (text,) if isinstance(text, str) else tuple(text or ())  # type: ignore[call-overload] # a text or several

    expected = {as_tuple(message.id): as_tuple(message.string) for message in catalog if message.id}
    translations = {
        (message.singular, message.plural) if message.plural else (message.singular,): tuple(
            message.translations
        )
        for message in messages
    }
    assert translations == expected
    assert {name for message in messages for name in message.files} == {
        name for message in catalog for name, _ in message.locations
    }


@pytest.mark.parametrize("line", ["foo bar", '"x"', "msgid 5", "msgid", 'msgctxt "a"'])
def test_a_malformed_line_is_reported(tmp_path: Path, line: str) -> None:
    path = tmp_path / "xx.po"
    path.write_text(f'msgid ""\nmsgstr ""\n\n{line}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.po cannot be read"):
        list(read_catalogue(path))


def test_an_obsolete_message_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "xx.po"
    path.write_text(f'{TOY_CATALOGUE}\n#~ msgid "Gone"\n#~ msgstr "Weg"\n', encoding="utf-8")
    assert [message.singular for message in read_catalogue(path)] == ["", "No game is on yet"]


# A language with the code `xx`, which calls itself Xisch and translates one sentence.
TOY_CATALOGUE = r"""
msgid ""
msgstr ""
"Language-Team: Xisch\n"

msgid "No game is on yet"
msgstr "Xnix"
"""
# Prints the setting of the language `xx`, and one page in English and in `xx`.
SCRIPT = """
import sys
from pathlib import Path
from web_fixtures import open_web_rig
from companion.core.config import parse_settings

print(parse_settings('[table]\\nlanguage = "xx"').table.language)
with open_web_rig(Path(sys.argv[1])) as rig:
    for language in ("en", "xx"):
        print(rig.browser().get("/watch", headers={"Accept-Language": language}).text)
"""


def test_a_catalogue_in_the_folder_is_a_language(tmp_path: Path) -> None:
    """Run the package with two more catalogues: `xx` names its language, `yy` is empty.

    All other files of the package are linked.
    """
    package = tmp_path / "companion"
    (package / "locale").mkdir(parents=True)
    for path in (LOCALE.parent).iterdir():
        if path != LOCALE:
            (package / path.name).symlink_to(path)
    (package / "locale/xx.po").write_text(TOY_CATALOGUE, encoding="utf-8")
    (package / "locale/yy.po").write_text('msgid ""\nmsgstr ""\n', encoding="utf-8")
    paths = (tmp_path, ROOT, ROOT / "tests")
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "state")],
        env=os.environ | {"PYTHONPATH": ":".join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
    )
    setting, english, toy = re.split(r"(?=<!DOCTYPE)", process.stdout, flags=re.IGNORECASE)
    assert setting == "xx\n"
    assert 'value="xx" lang="xx">Xisch<' in english
    assert 'value="yy" lang="yy">yy<' in english
    assert '<html lang="xx"' in toy
    assert "Xnix" in toy
