"""One game at two tables: each folds the same game, and owns one of its seats; a line of any kind
carries messages.

May import what `companion.table` may.
"""
