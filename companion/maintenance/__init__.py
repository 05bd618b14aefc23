"""The installation looked after: settings, releases, backup, housekeeping.

May import everything below: `core` up to `archive` and `printing`, not `diagnostics`.
"""
