"""Maintenance of the installation, while the service runs or from the command line.

- `settings`: the settings file, and the words for every setting.
- `backup`, `games_file`: backup, restore, and the deletion of all games.
- `upkeep`: offers both to the pages, and restarts the service for new settings.
- `housekeeping`: background work on disk space, old games and memory.
- `own_wifi`: the hotspot that opens if the machine has no network.
- `panel_check`: the interface of the check of keys and lamps.

May import everything below: `core` up to `archive` and `printing`, not `diagnostics`.
"""
