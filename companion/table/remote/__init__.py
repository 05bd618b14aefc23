"""One game at two tables: each table folds the same game and owns one of its seats.

The messages may travel by any connection.

May import what `companion.table` may.
"""
