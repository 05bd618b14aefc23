"""A hub at a cluster of NATS servers: the file that tells them who may do what, and what has them read it anew."""

from __future__ import annotations

import json
import logging
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

from companion.hub.subjects import may_ever_publish
from companion.hub_server.nats_server import (
    OWN_ACCOUNT,
    USERS_FILE,
    TableKey,
    account_of,
    own_account,
    table_account,
    user_of,
    write_private,
)

log = logging.getLogger(__name__)
TOLD_S = 10.0
"""So long the servers may take to be told."""


def cluster_text(own_key: str, tables: Iterable[TableKey], spare: Iterable[str]) -> str:
    """Who may do what, as the servers of a cluster read it; `spare` are the names of tables that may still join.

    A server of a cluster drops what the others tell it of an account that it does not know yet, for good: an account
    that comes by a reload stays deaf (nats-server issue 8560). So there is one for every table that may join, from the
    beginning, and it takes all that any table with its name may ever use. Only its people change, whose rights narrow
    that to what the table may do now.
    """
    users = {each.table: [] if each.shut else [user_of(each)] for each in tables} | {name: [] for name in spare}
    accounts = {OWN_ACCOUNT: own_account(own_key, users)}
    for name, people in users.items():
        accounts[account_of(name)] = table_account(name, people, may_ever_publish(name))
    return f"accounts: {json.dumps(accounts)}\n"


def tell_cluster(folder: Path, text: str, command: str) -> None:
    """Write the file, and have the owner's command take it to the servers (empty: somebody does that by hand)."""
    path = folder / USERS_FILE
    write_private(path, text)
    if not command:
        return
    try:
        words = [*shlex.split(command), str(path)]
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TOLD_S, check=True)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        log.warning("Hub: the cluster was not told who may come in: %s", said[-1] if said else error)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        log.warning("Hub: the cluster was not told who may come in: %s", error)
