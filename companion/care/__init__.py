"""The installation looked after: settings, backups, restores, and what the host chose last."""
