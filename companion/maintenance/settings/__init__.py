"""The settings file as pages and commands change it, and the words for every setting.

May import what `maintenance` may import.
"""
