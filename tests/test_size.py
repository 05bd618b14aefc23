"""How large the program is: syntax nodes by package, and how many stand on a line. `pytest -s
tests/test_size.py`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("companion", "hardware", "vision", "web", "systemd", "docs")
# Limits on the number of nodes. A person should be able to hold the program in their head: what
# is new has to replace something else.
MAX_SOURCE, MAX_TESTS = 305_000, 270_000
MAX_NODES_A_LINE = 4.2
_CONTEXTS = (ast.Load, ast.Store, ast.Del)


def sizes(*folders: str) -> Iterator[tuple[str, int, int]]:
    """Yield the package, the nodes and the lines of every module."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).parts
            package = (
                "/".join(parts[:2]) if parts[0] == "companion" and len(parts) > 2 else parts[0]
            )
            text = path.read_text(encoding="utf-8")
            nodes = sum(not isinstance(node, _CONTEXTS) for node in ast.walk(ast.parse(text)))
            yield package, nodes, text.count("\n")


def test_nothing_grows() -> None:
    nodes, lines = Counter[str](), Counter[str]()
    for package, more_nodes, more_lines in sizes(*SOURCES, "tests"):
        nodes[package] += more_nodes
        lines[package] += more_lines
    for package, count in nodes.most_common():
        print(f"{package:24} {count:7,} nodes {count / lines[package]:5.2f} a line")
    source = nodes.total() - nodes["tests"]
    density = source / (lines.total() - lines["tests"])
    print(f"{'source':24} {source:7,} nodes {density:5.2f} a line")
    assert source <= MAX_SOURCE
    assert nodes["tests"] <= MAX_TESTS
    assert density <= MAX_NODES_A_LINE
