"""What a seat says beside its orders: that a machine is to play, that a lesson begins, that its order tiles are down.

May import what `web.routes` may.
"""
