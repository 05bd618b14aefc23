"""Games that were played: kept, listed, replayed, exported, counted.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
