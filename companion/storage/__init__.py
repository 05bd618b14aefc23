"""The journal on disk, and what is stored in the same file. Read `format`, `opening`, `database`,
then `journal`.

May import `core`, `games` and `table`.
"""
