"""A game of cards at two tables: a dealer keeps the cards, and neither table has more than its seat may know."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from remote_tools import DealtLine, dealt, play_roughly, same

from companion.core.kit import Seat
from companion.table.session import Phase


@pytest.mark.parametrize("edition", ["rulebook", "hackmud"])
def test_a_rough_game_is_the_same_at_both_tables_once_the_cards_are_opened(tmp_path: Path, edition: str) -> None:
    with dealt(tmp_path, {"edition": edition}) as line:
        play_roughly(line, Random(edition))
        same(line)
        assert not line.south.session.is_covered


@pytest.mark.parametrize("seed", range(6))
def test_both_end_a_game_of_cards_in_the_same_way_whatever_they_ask_at_once(tmp_path: Path, seed: int) -> None:
    with dealt(tmp_path, {"seconds": 5 * (seed % 2), "timeout": ("pass", "alarm")[seed // 2 % 2]}) as line:
        play_roughly(line, Random(seed), ends=0.01)
        same(line)
