"""The routes: one file per group of pages, and the JSON API.

May import what `web` may, including `rendering`, `security` and `server`.
"""
