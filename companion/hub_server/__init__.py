"""The hub of many tables. It connects NATS, the state of every table, and the pages of the room.

One machine runs all of it. A table's side of the hub is `companion.hub`, and the hub's pages are
`web.hub`.
"""
