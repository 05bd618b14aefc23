"""The running service: the one place that wires everything together, its life cycle, health and
log.

May import everything except `cli` and `tools`.
"""
