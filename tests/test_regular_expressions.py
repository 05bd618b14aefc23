"""Test that no regular expression takes long on the worst 100 kB that a stranger can send.

A pattern such as `(a+)+b` tries exponentially many ways to match a text such as `aaaa!`. It would
keep the service busy for ever. So every pattern in a call of `re` searches long texts that are made
of the pattern's own characters. A pattern that backtracks too much is slow on at least one of them.
"""

from __future__ import annotations

import ast
import itertools
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

from companion.games.kahmate import actions as kahmate_actions
from companion.games.scouts import state as scouts_state
from web.security import host_names

ROOT = Path(__file__).parent.parent
PACKAGES = ("companion", "web", "vision", "hardware")
# Number of characters of a text.
TEXT_LENGTH = 100_000
# Processor time that a search may take. A good pattern takes milliseconds.
LIMIT_S = 1.0
# Number of texts, each of one repeated word, that each pattern is tried with at most.
MAX_TEXTS = 60
# Files whose patterns search no text of strangers, or only short ones, and why.
FILES_WITHOUT_STRANGERS_TEXT = {
    "companion/core/drawings.py": "reads the drawings of this project",
    "web/routes/route.py": "reads the addresses of this project",
    "companion/games/binmat/real_cards.py": "reads lines of 200 letters at most",
    "web/rendering/game_film.py": "reads the style sheets and drawings of this project",
    "companion/diagnostics/probes.py": "reads files of the kernel and of Debian",
    "companion/core/resources.py": "reads a file of the kernel",
    "companion/core/catalogue_file.py": "reads the catalogues of this project",
    "companion/cli/hotspot.py": "reads what NetworkManager prints",
}
FUNCTIONS = {"compile", "fullmatch", "match", "search", "findall", "finditer", "split", "sub"}


def patterns() -> Iterator[tuple[str, str | bytes]]:
    """Yield every pattern that is written as a constant, with its file."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name in FILES_WITHOUT_STRANGERS_TEXT:
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                is_call = (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.args
                )
                if is_call and isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                    pattern = node.args[0]
                    if node.func.attr in FUNCTIONS and isinstance(pattern, ast.Constant):
                        yield name, pattern.value


def compiled_patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Yield every pattern with its place.

    The last ones are those that a call of `re` names by a variable, so that `patterns` misses them.
    """
    for name, pattern in patterns():
        yield f"{name} {pattern!r}", re.compile(pattern)
    yield "host names", host_names._HOST
    for game in (kahmate_actions, scouts_state):
        for pattern in game._PATTERNS.values():
            yield f"{game.__name__} {pattern!r}", re.compile(pattern)


def worst_texts(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[str]:
    """Yield long texts of the pattern's own characters, some of which nearly match it.

    First come single characters and pairs of them, repeated, then random characters.
    """
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    letters = sorted({*re.sub(r"[^\x20-\x7e]", "", source)} | {*"aA0 \n"})
    rng = Random(source)
    words = [*letters, *(a + b for a, b in itertools.product(letters, repeat=2)), source]
    rng.shuffle(words)
    for word in [*letters, *words][:MAX_TEXTS]:
        yield word * (TEXT_LENGTH // len(word))
    for _ in range(5):
        yield "".join(rng.choices(letters, k=TEXT_LENGTH))


def is_slow(pattern: re.Pattern[str] | re.Pattern[bytes]) -> bool:
    """Return whether a search of one of its worst texts takes more than `LIMIT_S`."""

    def stop_search(*_: object) -> None:
        raise TimeoutError

    previous_handler = signal.signal(signal.SIGVTALRM, stop_search)
    try:
        for text, ending in itertools.product(worst_texts(pattern), ("\x00", "!")):
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
            # no pattern accepts the ending, so that it must try all other ways before it
            searched = text + ending
            if isinstance(pattern.pattern, bytes):
                pattern.search(searched.encode("latin-1"))  # type: ignore[arg-type]
            else:
                pattern.search(searched)  # type: ignore[arg-type]
    except TimeoutError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous_handler)
    return False


def test_no_pattern_is_slow() -> None:
    assert [place for place, pattern in compiled_patterns() if is_slow(pattern)] == []
