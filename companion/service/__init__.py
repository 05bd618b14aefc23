"""The running service: its parts and how they are connected, its life cycle, health and log.

May import everything except `cli` and `tools`.
"""
