"""The installation looked after: settings, backup, housekeeping.

May import everything below: `core` up to `archive` and `printing`, not `diagnostics`.
"""
