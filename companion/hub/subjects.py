"""NATS subjects and streams that tables and their hub share.

The subjects of a table contain the id that the table got when it joined. The subjects of a game at
two tables (a pair) contain the id of the pair. Tables may use only the subjects that the hub's
permissions allow them: `publishable_subjects`, `subscribable_subjects` and
`publishable_pair_subjects`. JetStream is the store in NATS.
"""

from __future__ import annotations

# Name of the stream of all inputs that tables have accepted, in order.
RECORDS_STREAM = "RECORDS"
# Name of the stream of messages between the two tables of a game, by number.
PAIRS_STREAM = "PAIRS"

# Subjects of all tables, where `*` is any one word. The functions below return the subjects of one
# table.
ALL_RECORDS = "tables.*.record"
ALL_STATES = "tables.*.state"
ALL_REQUESTS = "tables.*.pair"
ALL_PAIRS = "pairs.*.*.*"
ALL_PRESENCE = "near.*.*"
# Last word of the subject on which the hub announces that the other table is there
# (`announcement_subject`). The other table reports its presence to the hub on `presence_subject`.
PRESENCE = "near"
# Header with the sequence number that the last message of the subject must have, or 0 if there must
# be none. Otherwise JetStream rejects the message. This header is used and not `Nats-Msg-Id`,
# because message ids are shared within a stream. One table could use up the next id of another
# table, whose message would then be dropped as a duplicate.
EXPECTED_SEQUENCE_HEADER = "Nats-Expected-Last-Subject-Sequence"
# JetStream's error code for a message whose `EXPECTED_SEQUENCE_HEADER` does not fit.
WRONG_SEQUENCE_CODE = 10071

# Beginnings of the subjects on which JetStream is asked for the last message of a subject.
_GET_RECORDS = f"$JS.API.DIRECT.GET.{RECORDS_STREAM}."
_GET_PAIRS = f"$JS.API.DIRECT.GET.{PAIRS_STREAM}."
# Requests for stored messages, which JetStream itself answers.
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


def record_subject(table_id: str) -> str:
    """Return the subject of a table's accepted inputs."""
    return f"tables.{table_id}.record"


def state_subject(table_id: str) -> str:
    """Return the subject of a table's state."""
    return f"tables.{table_id}.state"


def command_subject(table_id: str) -> str:
    """Return the subject of the hub's commands to a table."""
    return f"commands.{table_id}"


def request_subject(table_id: str) -> str:
    """Return the subject of a table's requests about games at two tables."""
    return f"tables.{table_id}.pair"


def message_subject(pair_id: str, table_id: str, number: int | str) -> str:
    """Return the subject of one message of a pair. Each subject holds at most one message.

    `number` counts the messages of the table from 1, or is `*` for all of its messages.
    """
    return f"pairs.{pair_id}.{table_id}.{number}"


def presence_subject(pair_id: str, table_id: str) -> str:
    """Return the subject on which a table of a pair reports its presence."""
    return f"near.{pair_id}.{table_id}"


def announcement_subject(table_id: str, pair_id: str, item: int | str) -> str:
    """Return the subject on which the hub announces something about the other table of a pair.

    Table `table_id` gets the announcement. `item` is the number of a message of the other table,
    `PRESENCE`, or `*` for both.
    """
    return f"news.{table_id}.{pair_id}.{item}"


def inbox_prefix(table_id: str) -> str:
    """Return the prefix of the subjects of answers to a table.

    Other tables may not subscribe to them.
    """
    return f"_INBOX_{table_id}"


def table_id_of(subject: str) -> str:
    """Return the table's id in a subject of `tables.*`. Subjects of pairs have it elsewhere."""
    return subject.split(".")[1]


def publishable_subjects(table_id: str) -> tuple[str, ...]:
    """Return all subjects on which a table may publish.

    They are its own, and the request for its last record.
    """
    get_last_record = f"{_GET_RECORDS}{record_subject(table_id)}"
    return (
        record_subject(table_id),
        state_subject(table_id),
        request_subject(table_id),
        get_last_record,
    )


def subscribable_subjects(table_id: str) -> tuple[str, ...]:
    """Return all subjects to which a table may subscribe, in addition to its answers."""
    return (command_subject(table_id), announcement_subject(table_id, "*", "*"))


def publishable_pair_subjects(pair_id: str, table_id: str, other_table_id: str) -> tuple[str, ...]:
    """Return the further subjects on which a table of a pair may publish.

    They are its own messages and presence, and requests for messages of both tables.
    """
    get_messages = [
        f"{_GET_PAIRS}{message_subject(pair_id, sender, '*')}"
        for sender in (table_id, other_table_id)
    ]
    return (
        message_subject(pair_id, table_id, "*"),
        presence_subject(pair_id, table_id),
        *get_messages,
    )
