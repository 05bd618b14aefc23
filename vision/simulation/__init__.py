"""Simulated tables: rendered pictures with their ground truth.

May import `companion.core` and `vision`.
"""
