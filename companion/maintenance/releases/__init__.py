"""Releases of the program beside each other: built, signed, tried, switched to, put back.

May import what `maintenance` may.
"""
