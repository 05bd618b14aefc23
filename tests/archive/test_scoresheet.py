"""A finished game as text for people."""

from __future__ import annotations

import pytest
from history_tools import SHORT, made_game

from companion.archive.scoresheet import write_sheet
from companion.core.kit import SEATS


def test_a_sheet_reads_like_a_game() -> None:
    played = made_game("outbuffered", 4, 2, {SEATS[0]: "Ann"}, 1_700_000_000.5)
    first = played.turns[0].orders
    assert write_sheet(played).splitlines()[:12] == [
        '[Game "outbuffered"]',
        "[Options {}]",
        "[Seed 4]",
        '[Begun "2023-11-14T22:13:20Z"]',
        '[South "Ann"]',
        '[Result "north"]',
        '[Reason "Purple resigns."]',
        "",
        f"1. south {first[SEATS[0]].action} | north {first[SEATS[1]].action}",
        f"2. south {played.turns[1].orders[SEATS[0]].action} | north "
        f"{played.turns[1].orders[SEATS[1]].action}",
        "",
        "[Receipts]",
    ]


@pytest.mark.parametrize("name", SHORT)
def test_a_sheet_has_each_order_with_its_proof(name: str) -> None:
    played = made_game(name, 3, 3)
    lines = write_sheet(played).splitlines()
    for number, turn in enumerate(played.turns, start=1):
        acts, proof = (line for line in lines if line.startswith(f"{number}. "))
        assert f"{number}. {turn.moment} | " in proof
        for seat, order in turn.orders.items():
            assert f"{seat} {order.action}" in acts
            assert f"{seat} {order.salt} {order.receipt}" in proof
