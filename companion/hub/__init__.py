"""A table's side of a hub: it joins one, and sends what everybody may know, each input once and in
order.

Imported only where a table has joined a hub or is about to. The hub itself is
`companion.hub_server`.
"""
