"""Fair chance: the commitment, what the seats give, and what may be known of it.

May import what `table` may.
"""
