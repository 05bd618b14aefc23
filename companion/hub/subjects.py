"""NATS subjects and streams that tables and their hub share.

The subjects of a table have the id that it got when it joined, and those of a game at two tables (a
pair) the id of the pair. Tables may use only the subjects that the hub's permissions allow them:
`publishable_subjects`, `subscribable_subjects` and `publishable_pair_subjects`. JetStream is the
store in NATS.
"""

from __future__ import annotations

# Name of the stream of all inputs that tables have accepted, in order.
RECORDS = "RECORDS"
# Name of the stream of messages between the two tables of a game, by number.
PAIRS = "PAIRS"

# Subjects of all tables, where `*` is any one word. The functions below return those of one table.
ALL_RECORDS = "tables.*.record"
ALL_STATES = "tables.*.state"
ALL_REQUESTS = "tables.*.pair"
ALL_PAIRS = "pairs.*.*.*"
ALL_PRESENCE = "near.*.*"
# Last word of an announcement (`announcement_subject`) that the other table is there. The table
# itself reports that on `presence_subject`.
PRESENCE = "near"
# Header with the sequence number that must be the last of the subject, 0 for none. Otherwise
# JetStream rejects the message. This replaces `Nats-Msg-Id`: ids are shared within a stream, so one
# table could use up another's next id, and that table's message would be dropped as a duplicate.
SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
# JetStream's error code for a message whose `SEQUENCE` is not that of the last one.
WRONG_SEQUENCE = 10071

# Beginnings of the subjects on which JetStream is asked for the last message of a subject.
_GET_RECORDS = f"$JS.API.DIRECT.GET.{RECORDS}."
_GET_PAIRS = f"$JS.API.DIRECT.GET.{PAIRS}."
# Requests that JetStream answers itself.
_STORE_REQUESTS = (f"{_GET_RECORDS}{ALL_RECORDS}", f"{_GET_PAIRS}{ALL_PAIRS}")
# All subjects on which tables publish. Each table may use only its own.
PUBLISHED_SUBJECTS = (
    ALL_RECORDS,
    ALL_STATES,
    ALL_REQUESTS,
    ALL_PAIRS,
    ALL_PRESENCE,
    *_STORE_REQUESTS,
)


def record_subject(table: str) -> str:
    """Return the subject of a table's accepted inputs."""
    return f"tables.{table}.record"


def state_subject(table: str) -> str:
    """Return the subject of a table's state."""
    return f"tables.{table}.state"


def command_subject(table: str) -> str:
    """Return the subject of the hub's commands to a table."""
    return f"commands.{table}"


def request_subject(table: str) -> str:
    """Return the subject of a table's requests about games at two tables."""
    return f"tables.{table}.pair"


def message_subject(pair: str, table: str, number: int | str) -> str:
    """Return the subject of one message of a pair. It holds at most one message.

    `number` counts the messages of that table from 1, and `*` stands for all of them.
    """
    return f"pairs.{pair}.{table}.{number}"


def presence_subject(pair: str, table: str) -> str:
    """Return the subject on which a table of a pair reports its presence."""
    return f"near.{pair}.{table}"


def announcement_subject(table: str, pair: str, what: int | str) -> str:
    """Return the subject on which the hub announces something about the other table of a pair.

    `table` gets the announcement. `what` is the number of a message of the other table, `PRESENCE`,
    or `*` for both.
    """
    return f"news.{table}.{pair}.{what}"


def inbox_prefix(table: str) -> str:
    """Return the prefix of the subjects of answers to a table.

    Other tables may not subscribe to them.
    """
    return f"_INBOX_{table}"


def table_of(subject: str) -> str:
    """Return the table in a subject of `tables.*`. Subjects of pairs have it elsewhere."""
    return subject.split(".")[1]


def publishable_subjects(table: str) -> tuple[str, ...]:
    """Return all subjects on which a table may publish.

    They are its own, and the request for its last record.
    """
    get_last_record = f"{_GET_RECORDS}{record_subject(table)}"
    return record_subject(table), state_subject(table), request_subject(table), get_last_record


def subscribable_subjects(table: str) -> tuple[str, ...]:
    """Return all subjects to which a table may subscribe, in addition to its answers."""
    return (command_subject(table), announcement_subject(table, "*", "*"))


def publishable_pair_subjects(pair: str, table: str, other: str) -> tuple[str, ...]:
    """Return the further subjects on which a table of a pair may publish.

    They are its own messages and presence, and requests for messages of both tables.
    """
    get_messages = [
        f"{_GET_PAIRS}{message_subject(pair, member, '*')}" for member in (table, other)
    ]
    return (message_subject(pair, table, "*"), presence_subject(pair, table), *get_messages)
