"""Tools for developers: self-play with the whole service, and a check of a game for its author.

This package may import everything except `cli`.
"""
