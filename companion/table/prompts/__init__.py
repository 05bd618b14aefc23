"""What the table says: the sign of each viewer and the lamps, the guide of a lesson, rows of tiles
that cannot be read.

May import what `companion.table` may.
"""
