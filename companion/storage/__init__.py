"""The journal on disk, and what is stored in the same file.

- `journal`: every accepted input. Begin here.
- `database`: its open file, and the links by which damage is found.
- `opening`, `format`: how the file is opened and checked, and the tables in it.
- `archive_tables`: what the archive of games stores in the same file.
- `outbox`: the messages to a hub, which are made of the journal.
- `disk_space`: whether there is room for another game.

May import `core`, `games` and `table`.
"""
