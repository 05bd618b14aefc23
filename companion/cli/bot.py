"""`companion bot GAME`: an opponent as JSON lines on standard input and output."""

from __future__ import annotations

import argparse


def add_bot(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `companion bot` with its options."""
    from companion.bots.bot_engine import add_options  # noqa: PLC0415

    command = commands.add_parser("bot", help="an opponent as JSON lines on standard input and output")
    add_options(command)
    command.set_defaults(run=_bot)


def _bot(options: argparse.Namespace) -> int:
    from companion.bots.bot_engine import run_bot  # noqa: PLC0415

    return run_bot(options.game, options.level, options.seed)
