"""Tools for developers: benchmarks and self-play with the whole service.

May import everything except `cli`.
"""
