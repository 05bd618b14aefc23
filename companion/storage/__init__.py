"""The journal on disk. Read `format`, `opening`, `recovery`, `database`, then `journal`.

May import `core`, `games` and `table`.
"""
