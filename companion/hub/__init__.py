"""A table's side of a hub.

It joins a hub and sends it the public records, each input exactly once and in order. This package
is imported only if the table has joined a hub or is joining one. The hub itself is
`companion.hub_server`.
"""
