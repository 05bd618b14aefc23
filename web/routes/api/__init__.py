"""The JSON API for pages and programs, one file per kind of client. Bodies are parsed strictly.

May import what `web.routes` may.
"""
