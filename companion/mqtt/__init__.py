"""MQTT for a home or a café: publishes the table's public state, and accepts a few commands.

It is an adapter: it may import everything below it, but no other adapter.
"""
