"""The journal on the disk. Read `format`, `checksums`, `opening`, `recovery`, `database`, then `journal`.

May import `core`, `games` and `table`.
"""
