"""The archive of played games: list, replays, exports, imports and statistics.

- `history`: the list of all games, and everything that is done with one of them.
- `game_file`, `game_import`, `scoresheet`: a finished game as a file, and as text for people.
- `replay`, `finale`, `photographs`: a finished game scene by scene, its end, and its pictures.
- `game_summary`, `summary_store`, `cache`: the figures of each game, which are made once and kept.
- `statistics`: the results of each player.
- `played_games`: the values in which pages get all of this.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
