"""Maintenance of the installation: settings, backup, housekeeping.

May import everything below: `core` up to `archive` and `printing`, not `diagnostics`.
"""
