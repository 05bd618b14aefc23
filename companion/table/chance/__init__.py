"""Fair chance: the commitment, the contributions of the seats, and what viewers may know.

May import what `table` may.
"""
