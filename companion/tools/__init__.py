"""For developers: benchmarks and self-play, both in front of the whole service.

May import everything but `cli`.
"""
