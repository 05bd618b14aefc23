"""Test that the program and its tests stay within their sizes, counted in nodes of syntax trees.

A node is a name, a number, a call, a statement and so on. Unlike a count of lines, a count of nodes
does not grow by comments, docstrings and line breaks. `pytest -s tests/test_size.py` prints the
nodes of each package, and its nodes on a line.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("companion", "hardware", "vision", "web", "systemd", "docs")
# Limits on the number of nodes. One person should be able to know the whole program, so new code
# has to replace some of the old.
MAX_SOURCE_NODES = 305_000
MAX_TEST_NODES = 270_000
# Limit on how much a line of the program says on average, so that it can be read at once.
MAX_NODES_A_LINE = 4.2
# Kinds of nodes that stand for no text of their own: whether a name is read, set or deleted.
_CONTEXTS = (ast.Load, ast.Store, ast.Del)


def sizes(*folders: str) -> Iterator[tuple[str, int, int]]:
    """Yield the package of every module in these folders, with its nodes and its lines."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).parts
            package = (
                "/".join(parts[:2]) if parts[0] == "companion" and len(parts) > 2 else parts[0]
            )
            text = path.read_text(encoding="utf-8")
            nodes = sum(not isinstance(node, _CONTEXTS) for node in ast.walk(ast.parse(text)))
            yield package, nodes, text.count("\n")


def test_nodes_stay_within_limits() -> None:
    nodes = Counter[str]()
    lines = Counter[str]()
    for package, more_nodes, more_lines in sizes(*SOURCES, "tests"):
        nodes[package] += more_nodes
        lines[package] += more_lines
    for package, count in nodes.most_common():
        print(f"{package:24} {count:7,} nodes {count / lines[package]:5.2f} a line")
    source = nodes.total() - nodes["tests"]
    density = source / (lines.total() - lines["tests"])
    print(f"{'source':24} {source:7,} nodes {density:5.2f} a line")
    assert source <= MAX_SOURCE_NODES
    assert nodes["tests"] <= MAX_TEST_NODES
    assert density <= MAX_NODES_A_LINE
