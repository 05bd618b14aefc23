"""The names by which a table and its hub find each other in NATS.

Both sides take them from here.
"""

from __future__ import annotations

RECORDS, STATES, PAIRS = "RECORDS", "STATES", "PAIRS"
"""The streams: what tables have accepted, kept and in order.

How each table is now, of which the newest is kept. And what two tables of one game tell each other,
each message by its number.
"""
ALL_RECORDS, ALL_STATES = "tables.*.record", "tables.*.state"
ALL_WISHES, ALL_PAIRS, ALL_NEAR = "tables.*.pair", "pairs.*.*.*", "near.*.*"
NEAR = "near"
SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
"""Header of a message: behind which one of its subject it comes, or is refused.

No message has an id by which JetStream would find duplicates. All tables share those ids, so one
table could use up another one's next id, whose message would then be taken for stored.
"""
AGE = "Companion-Age"
"""Header of a record: seconds since the table accepted it, for clocks that are shown elsewhere."""
WRONG_SEQUENCE = 10071
"""JetStream's error for a message that does not come behind the one that it names."""
_ASK_RECORDS, _ASK_PAIRS = f"$JS.API.DIRECT.GET.{RECORDS}.", f"$JS.API.DIRECT.GET.{PAIRS}."
_ASKED = (f"{_ASK_RECORDS}{ALL_RECORDS}", f"{_ASK_PAIRS}{ALL_PAIRS}")
"""Questions that the store itself answers."""
SAID = (ALL_RECORDS, ALL_STATES, ALL_WISHES, ALL_PAIRS, ALL_NEAR, *_ASKED)
"""All that tables may say, each of it only some."""


def record_subject(table: str) -> str:
    """Return where a table tells what it has accepted."""
    return f"tables.{table}.record"


def state_subject(table: str) -> str:
    """Return where a table tells how it is."""
    return f"tables.{table}.state"


def command_subject(table: str) -> str:
    """Return where the hub asks something of a table."""
    return f"commands.{table}"


def wish_subject(table: str) -> str:
    """Return where a table asks the hub for a game at two tables."""
    return f"tables.{table}.pair"


def message_subject(pair: str, table: str, number: int | str) -> str:
    """Return where a table of a pair tells the message of a number: there is one, once."""
    return f"pairs.{pair}.{table}.{number}"


def near_subject(pair: str, table: str) -> str:
    """Return where a table of a pair says that it is there."""
    return f"near.{pair}.{table}"


def news_subject(table: str, pair: str, what: int | str) -> str:
    """Return where the hub tells a table that there is the message of a number, or (`NEAR`) that
    the other one is there."""
    return f"news.{table}.{pair}.{what}"


def inbox_prefix(table: str) -> str:
    """Return where a table gets answers. No other table may listen there."""
    return f"_INBOX_{table}"


def table_of(subject: str) -> str:
    """Return the table that a subject is about."""
    return subject.split(".")[1]


def may_publish(table: str) -> tuple[str, ...]:
    """Return all that a table may say: its own subjects, and the question how far it has come."""
    ask = f"{_ASK_RECORDS}{record_subject(table)}"
    return (record_subject(table), state_subject(table), wish_subject(table), ask)


def may_be_told(table: str) -> tuple[str, ...]:
    """Return all that the hub may tell a table beside the answers that it gets."""
    return (command_subject(table), news_subject(table, "*", "*"))


def may_publish_paired(pair: str, table: str, other: str) -> tuple[str, ...]:
    """Return what a table of a pair may say besides: its own side, and the questions what there is
    on either side."""
    sides = (f"{_ASK_PAIRS}{message_subject(pair, member, '*')}" for member in (table, other))
    return (message_subject(pair, table, "*"), near_subject(pair, table), *sides)
