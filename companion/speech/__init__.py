"""What the table says aloud, and when it is quiet.

An adapter: may import everything below it, but no other adapter.
"""
