"""The hub of many tables. It connects NATS, the state of every table, and the pages of the room.

One machine runs all of it. The tables' side is `companion.hub`, the pages are `web.hub`.
"""
