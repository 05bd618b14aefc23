"""Opponents: programs that play a seat from its own view.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
