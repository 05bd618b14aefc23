"""The journal on disk. Read `format`, `opening`, `database`, then `journal`.

May import `core`, `games` and `table`.
"""
