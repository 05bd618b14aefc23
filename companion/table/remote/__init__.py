"""One game at two tables: each table folds the same game and owns one of its seats. A line of any
kind carries the messages.

May import what `companion.table` may.
"""
