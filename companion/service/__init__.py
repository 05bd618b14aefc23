"""The running service: the one place that wires everything, its life, its health and its log.

May import everything but `cli` and `tools`.
"""
