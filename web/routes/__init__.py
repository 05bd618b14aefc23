"""The addresses: one file for each group of pages, and the JSON API.

May import what `web` may, `rendering`, `security` and `server` included.
"""
