"""People, results, ratings and tournaments of a room of tables: values and functions, no file and
no network.

`companion.hub_server` keeps them, `web.hub` shows them.
"""
