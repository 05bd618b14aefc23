"""The archive of played games: storage, list, replays, export and statistics.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
