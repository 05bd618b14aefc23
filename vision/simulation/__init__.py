"""Tables that do not exist: rendered pictures with their ground truth.

May import `companion.core` and `vision`.
"""
