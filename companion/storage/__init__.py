"""The journal on the disk: its format and migrations, checksums, recovery from damage, the space left.

May import `core`, `games` and `table`.
"""
